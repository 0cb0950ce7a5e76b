"""Plug-ins that end the program, print, hang or fail when they are looked at: one line, and the others work."""

from __future__ import annotations

import itertools
import sys
from importlib.metadata import EntryPoint, entry_points

import pytest

from bonwise import plugins as plugin_loading
from bonwise.calls.providers import protocol as providers
from bonwise.errors import UsageError
from bonwise.judges import registry
from bonwise.selection import registry as strategies
from cli.commands import pool_file, typed

HOSTILE = {
    "ends": "import sys\nsys.exit(3)",
    "interrupts": "raise SystemExit('bye\\nbye')",
    "prints": "print('hello \\x1b[31m there')\ndef make(rest): ...",
    "hangs": "import time\ntime.sleep(60)",
    "fails": "def __getattr__(name):\n    raise RuntimeError('no ' + name)",
    "mute": "class E(Exception):\n    def __str__(self):\n        raise ValueError\nraise E",
    "shy": (
        "class Shy:\n    def __getattr__(self, name):\n        raise RuntimeError('no ' + name)\n"
        "    def __call__(self, rest): ...\nmake = Shy()"
    ),
    "coy": (
        "class Coy:\n    def __getattr__(self, name):\n        raise RuntimeError('no ' + name)\n"
        "def make(rest):\n    return Coy()"
    ),
    "late": "import sys\ndef make(rest):\n    sys.exit(0)",
}
NUMBER = itertools.count()


@pytest.fixture(params=HOSTILE)
def hostile(request, monkeypatch, tmp_path):
    """Install one hostile plug-in beside the built-in judges, and a sound one."""
    # Each time under another name: what was imported once prints no second time.
    name = f"hostile_plugin_{next(NUMBER)}"
    (tmp_path / f"{name}.py").write_text(HOSTILE[request.param], encoding="utf-8")
    sound = "class Sound:\n    name, version = 'sound', '1'\n    def __init__(self, rest): ...\n"
    (tmp_path / f"sound_{name}.py").write_text(f"{sound}    def judge(self, prompt, candidates): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(plugin_loading, "LOADING_SECONDS", 0.5)
    for module in (registry, strategies, providers):
        targets = {request.param: f"{name}:make", "sound": f"sound_{name}:Sound"}
        plugged = [EntryPoint(kind, value, module.GROUP) for kind, value in targets.items()]
        found = [*entry_points(group=module.GROUP), *plugged]
        monkeypatch.setattr(module, "entry_points", lambda *, group, found=found: found)  # noqa: ARG005
    providers.provider.cache_clear()
    yield request.param
    providers.provider.cache_clear()


@pytest.mark.parametrize("again", [1, 2])
def test_a_hostile_judge_is_one_line(hostile, capsys, tmp_path, again):
    """Exit code 2, one line without control characters, nothing on standard output; also the second time."""
    pools = pool_file(tmp_path / "p.jsonl", {"p": ["a", "b"]})
    for _ in range(again):
        done = typed(capsys, "select", pools, "--judge", f"{hostile}:x")
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert hostile in done.err
    assert done.err.rstrip("\n").isprintable()
    assert typed(capsys, "select", pools, "--judge", "local:length").code == 0


def test_the_others_are_listed(hostile, capsys):
    """A list shows every kind, the hostile one with what is wrong; nothing else is on standard output."""
    done = typed(capsys, "judges")
    assert done.code == 0
    lines = {line.split()[0]: line for line in done.out.splitlines()}
    assert {"KIND", "pointwise", "local", "sound", hostile} == set(lines) & {
        "KIND", "pointwise", "local", "sound", hostile
    }  # fmt: skip
    assert "cannot be used" not in lines["pointwise"] + lines["sound"]
    if hostile not in ("coy", "late"):  # these can be imported; they fail once they are asked for a judge
        assert "cannot be used" in lines[hostile]
    assert all(line.split()[0].isidentifier() or "-" in line for line in done.out.splitlines())
    assert {"greedy", "sound", hostile} <= {line.split()[0] for line in typed(capsys, "strategies").out.splitlines()}


def test_a_hostile_provider_or_strategy_is_one_line(hostile):
    """Providers and strategies come through the same door."""
    for make in (lambda: providers.provider(hostile), lambda: strategies.strategy_from_spec(hostile)):
        with pytest.raises(UsageError) as caught:
            make()
        assert str(caught.value).isprintable()
    assert providers.known()["openai"] == ""
    assert providers.known()[hostile]


def test_what_other_threads_print_is_heard(capsys, monkeypatch, tmp_path):
    """While a plug-in is imported, standard output stays that of everybody else."""
    (tmp_path / "asking_plugin_of_a_test.py").write_text("import sys\nmake = sys.stdout.isatty()\nmake = int\n")
    monkeypatch.syspath_prepend(tmp_path)
    entry = EntryPoint("asking", "asking_plugin_of_a_test:make", "bonwise.judges")
    before = sys.stdout
    assert plugin_loading.load_plugin(entry) is int
    assert sys.stdout is before

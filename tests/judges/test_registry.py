"""Judges by the texts that name them, with their settings; built in and plugged in, hostile ones too."""

from __future__ import annotations

import itertools
import json
import sys
import types
from importlib.metadata import EntryPoint, entry_points

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import bonwise as bw
from bonwise import plugins as plugin_loading
from bonwise.calls.providers import protocol as providers
from bonwise.errors import BonwiseError, UsageError
from bonwise.judges import registry
from bonwise.judges.calling import FunctionJudge
from bonwise.judges.local import NAMES, Length
from bonwise.judges.protocol import is_asking
from bonwise.judges.registry import Spec, judge_from_spec, read_spec
from bonwise.judges.settings_mapping import checked_mapping, judge_from_values, judge_values
from bonwise.selection import registry as strategies
from bonwise.table.verdicts import Score
from cli.commands import pool_file, typed
from selection.drawn_settings import JUDGES

GROUP = "bonwise.judges"


class Plugged:
    """A judge from a plug-in."""

    version = "1"

    def __init__(self, rest):
        self.name = f"plugged:{rest}"

    def judge(self, _prompt, candidates):
        """Score by place."""
        return [Score(float(place)) for place, _ in enumerate(candidates)]


def failing(rest):
    """Fail as a careless factory does."""
    raise RuntimeError(f"cannot make {rest}\nat all")


@pytest.fixture
def plugged(monkeypatch):
    """Install plug-ins beside the built-in judges: one sound, others broken in different ways."""
    module = types.ModuleType("bonwise_plugin_of_a_test")
    module.make, module.failing, module.nothing = Plugged, failing, lambda _: None
    module.batches = lambda _: FunctionJudge(lambda _prompt, texts: map(len, texts), batch=True)
    broken = types.ModuleType("broken_plugin_of_a_test")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(sys.modules, broken.__name__, broken)
    targets = {
        "plugged": f"{module.__name__}:make",
        "batches": f"{module.__name__}:batches",
        "nothing": f"{module.__name__}:nothing",
        "failing": f"{module.__name__}:failing",
        "absent": "no_such_module_of_a_test:make",
        "nameless": f"{broken.__name__}:make",
    }
    installed = [*entry_points(group=GROUP), *(EntryPoint(name, value, GROUP) for name, value in targets.items())]
    monkeypatch.setattr(registry, "entry_points", lambda *, group: installed if group == GROUP else [])


def test_built_ins_enter_by_the_door_of_plug_ins():
    """The local judges are registered as an entry point of the distribution, and come through it."""
    (entry,) = entry_points(group=GROUP, name="local")
    assert entry.dist.name == "bonwise"
    assert isinstance(judge_from_spec("local:length"), Length)
    for name in NAMES:
        assert judge_from_spec(f"local:{name}").name == f"local:{name}"


@pytest.mark.parametrize("spec", ["stranger", "stranger:x", "Local:length", " local:length"])
def test_an_unknown_kind_is_refused_with_those_there_are(spec):
    """A kind that nobody registered is a usage error that lists the kinds."""
    with pytest.raises(UsageError, match="no kind of judge") as caught:
        judge_from_spec(spec)
    assert "local" in caught.value.hint


@pytest.mark.parametrize("spec", ["", ":", ",bins=5", ":openai/m"])
def test_a_spec_without_a_kind_is_refused_with_its_form(spec):
    """A text that names no kind is a usage error that shows how a judge is written."""
    with pytest.raises(UsageError, match="names no judge") as caught:
        judge_from_spec(spec)
    assert "KIND:provider/model" in caught.value.hint


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("pointwise", "pointwise:openai/m"),
        ("pointwise:anthropic/c", "pointwise:anthropic/c"),
        ("pairwise,orders=1", "pairwise,orders=1:openai/m"),
        ("pointwise,prompt=pointwise-reason,temperature=none", None),
        ("logprob,pairs=true", "logprob,pairs=true:openai/m"),
        ("resampled,draws=3,of=interval", "resampled,draws=3,of=interval:openai/m"),
        ("resampled,draws=3:openai/m", "resampled,draws=3,of=pointwise:openai/m"),
        (
            "quantized,bins=5,of=resampled,draws=2,of=pointwise",
            "quantized,bins=5,of=resampled,draws=2,of=pointwise:openai/m",
        ),
        ("quantized,of=local:length", None),
    ],
)
def test_a_spec_makes_the_judge_that_its_name_makes_again(spec, name):
    """The model is filled in where none is named, and the name of a judge is a spec of it."""
    made = judge_from_spec(spec, model="openai/m", base_url="http://127.0.0.1:9/v1", seed=3)
    assert name is None or made.name == name
    assert judge_from_spec(made.name, base_url="http://127.0.0.1:9/v1", seed=3) == made


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("pointwise", "names no model"),
        ("pointwise,bins=5:openai/m", "no option 'bins'"),
        ("pointwise,prompt:openai/m", "cannot be read"),
        ("pointwise,of=pairwise:openai/m", "made of no other judge"),
        ("pointwise:gpt", "names no model"),
        ("resampled,draws=1:openai/m", "draws"),
        ("resampled,of=stranger:openai/m", "no kind of judge"),
        ("quantized,bins=many:openai/m", "bins"),
    ],
)
def test_a_spec_that_means_nothing_is_refused(spec, said):
    """What cannot be made is a usage error that names the fault."""
    with pytest.raises(UsageError, match=said):
        judge_from_spec(spec)


def test_options_may_stand_beside_the_text():
    """Keywords are options of the outermost judge, as they stand; the text keeps its own."""
    made = bw.judge_from_spec("resampled,of=pointwise:openai/m", draws=3, temperature=0.5)
    assert made == bw.Resampled(bw.Pointwise("openai/m"), draws=3, temperature=0.5)
    assert bw.judge_from_spec("pairwise", model="openai/m", orders=1).name == "pairwise,orders=1:openai/m"


@pytest.mark.parametrize(
    ("spec", "options", "said"),
    [
        ("pointwise:openai/m", {"bins": 5}, "no option 'bins'"),
        ("local:length", {"temperature": 0.5}, "no option 'temperature'"),
        ("pointwise,temperature=0.5:openai/m", {"temperature": 0.5}, "'temperature' twice"),
        ("pointwise:openai/m", {"temperature": 9}, "temperature"),
        (None, {}, "the spec of a judge is None"),
    ],
)
def test_options_beside_the_text_that_mean_nothing_are_refused(spec, options, said):
    """What cannot be made is a usage error that names the option and how to mend it."""
    with pytest.raises(UsageError, match=said) as caught:
        bw.judge_from_spec(spec, **options)
    assert caught.value.hint


@pytest.mark.parametrize("spec", ["local", "local:", "local:stranger", "local:length:x"])
def test_an_unknown_local_judge_is_refused_with_those_there_are(spec):
    """A local judge that does not exist is a usage error that lists the names."""
    with pytest.raises(UsageError) as caught:
        judge_from_spec(spec)
    assert all(name in str(caught.value) for name in NAMES)


def test_a_plug_in_is_one_more_kind(plugged):
    """What a plug-in registers is made by its factory from the rest of the spec, colons and all."""
    assert judge_from_spec("plugged:a:b").name == "plugged:a:b"
    assert judge_from_spec("local:length").name == "local:length"


def test_a_plug_in_may_be_a_function_in_batches(plugged, capsys, tmp_path):
    """On the command line what its factory returns picks and fills tables."""
    pools = pool_file(tmp_path / "p.jsonl", {"p": ["a", "bbb", "cc"]})
    done = typed(capsys, "select", pools, "--judge", "batches:x")
    assert json.loads(done.out)["scores"] == [1.0, 3.0, 2.0]
    done = typed(capsys, "judge", pools, "--judge", "batches:x", "--out", tmp_path / "s.csv")
    assert done.code == 0, done.err
    scores = [row.split(",")[3] for row in (tmp_path / "s.csv").read_text("utf-8").splitlines()[1:]]
    assert list(map(float, scores)) == [1.0, 3.0, 2.0]


@pytest.mark.parametrize("kind", ["absent", "nameless", "nothing", "failing"])
def test_a_broken_plug_in_is_one_line(plugged, kind):
    """A plug-in that cannot be imported, lacks its factory, fails or makes no judge is named in one line."""
    with pytest.raises(UsageError) as caught:
        judge_from_spec(f"{kind}:x")
    assert kind in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["absent", "nameless", "nothing", "failing"])
def test_a_broken_plug_in_harms_nobody_else(plugged, capsys, tmp_path, kind):
    """On the command line a broken plug-in ends in exit code 2 without a traceback, and other judges still work."""
    pools = pool_file(tmp_path / "p.jsonl", {"p": ["a", "b"]})
    done = typed(capsys, "select", pools, "--judge", f"{kind}:x")
    assert done.code == 2
    assert done.err.count("\n") == 1
    for judge in ("local:length", "plugged:x"):
        assert typed(capsys, "select", pools, "--judge", judge).code == 0


WORDS = st.text(alphabet="abcxyz_", min_size=1, max_size=8)
VALUES = st.text(min_size=1, max_size=12)
PLAIN = st.builds(
    Spec, WORDS, st.dictionaries(WORDS.filter(lambda one: one != "of"), VALUES, max_size=3), rest=st.text()
)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("local:length", Spec("local", rest="length")),
        ("pointwise", Spec("pointwise")),
        ("pointwise:openai/org/m:free", Spec("pointwise", rest="openai/org/m:free")),
        ("pairwise,orders=1:openai/m", Spec("pairwise", {"orders": "1"}, rest="openai/m")),
        ("pointwise,prompt=a%2Cb%3Ac.md:x/y", Spec("pointwise", {"prompt": "a,b:c.md"}, rest="x/y")),
        ("resampled,draws=3,of=interval:x/y", Spec("resampled", {"draws": "3"}, of="interval:x/y")),
        ("resampled,of=local:length", Spec("resampled", of="local:length")),
        ("quantized,bins=5,of=resampled,of=pointwise,prompt=p:x/y",
         Spec("quantized", {"bins": "5"}, of="resampled,of=pointwise,prompt=p:x/y")),
        ("pointwise:x/y,of=z", Spec("pointwise", rest="x/y,of=z")),
    ],
    ids=str,
)  # fmt: skip
def test_a_judge_is_read_as_it_is_written(text, spec):
    """Kind, options, and either the rest or the inner judge."""
    assert read_spec(text) == spec


@given(PLAIN, st.lists(PLAIN, max_size=2))
def test_what_is_written_can_be_read(inner, outer):
    """Reading undoes writing, whatever is in the values and however deep judges are nested."""
    spec = inner
    for one in outer:
        spec = Spec(one.kind, one.options, of=str(spec))
    assert read_spec(str(spec)) == spec


@pytest.mark.parametrize("text", ["", ":x/y", "a,b:x/y", "a,b=:x/y", "a,=1:x/y", "a,b=1,b=2:x/y", "a,of=", ",of=b"])
def test_what_cannot_be_read_is_refused(text):
    """No kind, an option without name or value, or one stated twice is a usage error with a hint."""
    with pytest.raises(UsageError) as caught:
        read_spec(text)
    assert caught.value.hint


# Plug-ins that end the program, print, hang or fail when they are looked at: one line, and the others work.


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


def questions(judge):
    """Return what a judge asks about two candidates; of one that asks no model, what it says."""
    return repr(judge.asks("p", ["a", "b"]) if is_asking(judge) else judge.judge("p", ["a", "b"]))


@given(judge=JUDGES)
def test_a_judge_comes_back_from_plain_values(judge):
    """It has the same name and version and asks the same; what is written is what JSON holds."""
    written = judge_values("judge", judge)
    again = judge_from_values("judge", json.loads(json.dumps(written, allow_nan=False)))
    assert (again.name, again.version) == (judge.name, judge.version)
    assert questions(again) == questions(judge)
    assert judge_values("judge", again) == written


@given(model=st.text(max_size=12))
@example("m,of=x")
@example("m,orders=1")
@example("a:b%2Cc")
def test_a_model_of_any_name_comes_back_or_is_refused(model):
    """Never is another judge made of it."""
    try:
        judge = bw.Pairwise(f"openai/{model}")
        written = judge_values("judge", judge)
    except BonwiseError:
        return
    assert judge_from_values("judge", written) == judge


@pytest.mark.parametrize("wrapped", [lambda judge: judge, bw.Quantized, lambda judge: bw.Resampled(judge, draws=2)])
def test_what_no_name_states_stands_beside_it(wrapped):
    """Address and seed, also of an inner judge."""
    judge = wrapped(bw.Pairwise("openai/m", base_url="http://h/v1?api-version=1", seed=5))
    assert judge_values("judge", judge) == {"spec": judge.name, "base_url": "http://h/v1?api-version=1", "seed": 5}


class Doubled:
    """A judge of a plug-in, without equality, made of another judge."""

    def __init__(self, of):
        self.of = of
        self.name, self.version = f"doubled,of={of.name}", of.version

    def judge(self, prompt, candidates):
        """Ask the other one."""
        return self.of.judge(prompt, candidates)


def test_a_judge_that_is_not_installed_is_refused():
    """The hint says how a judge gets a name that makes it."""
    with pytest.raises(UsageError, match="no kind of judge 'doubled'") as caught:
        judge_values("judge", Doubled(bw.judge_from_spec("local:length")))
    assert "plug-in" in caught.value.hint


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        (None, "judge must be a mapping, not NoneType"),
        ({"spec": None}, "judge has no spec"),
        ({"spec": "local:length", "model": "m"}, "judge has no key 'model'"),
    ],
)
def test_what_is_no_such_mapping_is_refused(mapping, said):
    """And its keys are listed, or the one that is missing."""
    with pytest.raises(UsageError, match=said) as caught:
        checked_mapping("judge", mapping, ("spec", "base_url", "seed"), "spec")
    assert "spec" in caught.value.hint

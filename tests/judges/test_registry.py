from __future__ import annotations

import sys
import types
from importlib.metadata import EntryPoint, entry_points

import pytest

import bonwise as bw
from bonwise.errors import UsageError
from bonwise.judges import registry
from bonwise.judges.local import NAMES, Length
from bonwise.judges.registry import judge_from_spec
from bonwise.table.verdicts import Score
from cli.commands import pool_file, typed

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
    broken = types.ModuleType("broken_plugin_of_a_test")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(sys.modules, broken.__name__, broken)
    targets = {
        "plugged": f"{module.__name__}:make",
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

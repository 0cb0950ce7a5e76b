from __future__ import annotations

import subprocess
import sys
import types
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

import pytest

import bonwise as bw
from bonwise.errors import UsageError
from bonwise.judges.comparing import Pairwise
from bonwise.selection import registry
from bonwise.selection.protocol import Strategy
from bonwise.selection.registry import StrategySpec, read_strategy, strategies, strategy_from_spec
from bonwise.selection.strategies.matches import Knockout, RoundRobin, TieBreak
from bonwise.selection.strategies.scores import Adaptive, Greedy, Resample

GROUP = "bonwise.strategies"


@dataclass(frozen=True)
class Plugged(Greedy):
    """A strategy from a plug-in."""

    rounds: int = 1
    seed: int = 0


def failing(rounds=1):
    """Fail as a careless factory does."""
    raise RuntimeError(f"cannot make {rounds}\nat all")


@pytest.fixture
def plugged(monkeypatch):
    """Install plug-ins beside the built-in strategies: one sound, others broken in different ways."""
    module = types.ModuleType("bonwise_strategy_of_a_test")
    module.make, module.failing, module.nothing, module.number = Plugged, failing, lambda: None, 7
    monkeypatch.setitem(sys.modules, module.__name__, module)
    targets = {
        "plugged": f"{module.__name__}:make",
        "greedy": f"{module.__name__}:make",
        "nothing": f"{module.__name__}:nothing",
        "failing": f"{module.__name__}:failing",
        "number": f"{module.__name__}:number",
        "absent": "no_such_module_of_a_test:make",
        "nameless": f"{module.__name__}:missing",
    }
    installed = [*entry_points(group=GROUP), *(EntryPoint(name, value, GROUP) for name, value in targets.items())]
    monkeypatch.setattr(registry, "entry_points", lambda *, group: installed if group == GROUP else [])


@pytest.mark.parametrize(
    ("strategy", "name"),
    [
        (Greedy(), "greedy"),
        (Resample(), "resample"),
        (Resample(draws=3, temperature=None), "resample:draws=3,temperature=none"),
        (Adaptive(), "adaptive"),
        (Adaptive(margin=0.10, max_draws=3), "adaptive"),
        (Adaptive(margin=0.2, max_draws=5, repick=False), "adaptive:margin=0.2,max_draws=5,repick=false"),
        (Adaptive(margin=1, temperature=0), "adaptive:margin=1,temperature=0"),
        (Adaptive(margin=1e-7), "adaptive:margin=1e-07"),
        (RoundRobin(), "round_robin"),
        (RoundRobin(pairs=6), "round_robin:pairs=6"),
        (RoundRobin(pairs="matched"), "round_robin:pairs=matched"),
        (Knockout(), "knockout"),
        (TieBreak(Pairwise("openai/m")), "tie_break:of=pairwise:openai/m"),
        (
            TieBreak(Pairwise("openai/m", orders=1, temperature=None), knockout=True),
            "tie_break:knockout=true,of=pairwise,temperature=none,orders=1:openai/m",
        ),
    ],
)
def test_the_name_of_a_strategy_makes_it_again(strategy, name):
    """Options at their default are left out, and the name is a spec of the same strategy."""
    assert strategy.name == name
    assert strategy_from_spec(name) == strategy
    assert str(read_strategy(name)) == name


def test_a_spec_may_hold_any_text():
    """Commas and percent signs in a value are written out and read back."""
    spec = StrategySpec("mine", {"file": "a,of=b%2C:c", "x": "1"}, of="pairwise,orders=1:openai/m")
    assert read_strategy(str(spec)) == spec


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names no strategy"),
        (":margin=1", "names no strategy"),
        ("adaptive,margin=1", "names no strategy"),
        ("adaptive=1", "names no strategy"),
        ("stranger", "no kind of strategy 'stranger'"),
        ("Greedy", "no kind of strategy"),
        ("greedy:", "cannot be read"),
        ("greedy:margin=1", "has no option 'margin'"),
        ("adaptive:margin", "cannot be read"),
        ("adaptive:margin=", "cannot be read"),
        ("adaptive:margin=1,margin=2", "cannot be read"),
        ("adaptive:margin=wide", "margin is 'wide'"),
        ("adaptive:of=pairwise:openai/m", "made of no judge"),
        ("resample:draws=0", "draws is 0"),
        ("round_robin:pairs=all", "pairs is 'all'"),
        ("tie_break", "names no judge"),
        ("tie_break:knockout=true", "names no judge"),
        ("tie_break:of=", "cannot be read"),
        ("tie_break:pairwise=x,of=pairwise:openai/m", "has no option 'pairwise'"),
        ("tie_break:of=stranger:openai/m", "no kind of judge"),
        ("tie_break:of=pairwise", "names no model"),
    ],
)
def test_a_spec_that_means_nothing_is_refused(text, said):
    """What cannot be made is a usage error of one line that names the fault and how to mend it."""
    with pytest.raises(UsageError, match=said) as caught:
        strategy_from_spec(text)
    assert caught.value.hint
    assert "\n" not in str(caught.value)


def test_an_unknown_kind_is_refused_with_those_there_are():
    """The hint lists every kind."""
    with pytest.raises(UsageError) as caught:
        strategy_from_spec("best")
    for name in ("greedy", "resample", "adaptive", "round_robin", "knockout", "tie_break", "value_of_information"):
        assert name in caught.value.hint


def test_the_judge_of_a_tie_break_gets_the_run_s_settings():
    """Model, address and seed of the run go to the judge that is named without them."""
    made = strategy_from_spec(
        "tie_break:of=pairwise,orders=1", model="openai/m", base_url="http://127.0.0.1:9", seed=4
    )
    assert made.pairwise == Pairwise("openai/m", orders=1, base_url="http://127.0.0.1:9", seed=4)


def test_built_ins_enter_by_the_door_of_plug_ins():
    """Every built-in strategy is an entry point of the distribution, can be listed, and comes through it."""
    listed = {kind.name: kind for kind in strategies()}
    assert listed["adaptive"].options == ("margin", "max_draws", "repick", "temperature")
    assert listed["tie_break"].options == ("knockout",)
    assert listed["greedy"].options == ()
    assert {kind.package for kind in listed.values()} == {"bonwise"}
    for name in ("greedy", "resample", "adaptive", "round_robin", "knockout"):
        assert not listed[name].problem
        assert isinstance(strategy_from_spec(name), Strategy)


def test_a_plug_in_is_one_more_kind(plugged):
    """What a plug-in registers gets its options, and the run's seed where it asks for one."""
    assert strategy_from_spec("plugged:rounds=3", seed=7) == Plugged(rounds=3, seed=7)
    assert strategy_from_spec("plugged:seed=1", seed=7) == Plugged(seed=1)
    assert {kind.name: kind.options for kind in strategies() if not kind.problem}["plugged"] == ("rounds",)


def test_no_package_takes_the_name_of_a_built_in(plugged):
    """A plug-in called greedy is listed with the reason, and greedy stays what it is."""
    assert type(strategy_from_spec("greedy")) is Greedy
    sound, taken = sorted(kind.problem for kind in strategies() if kind.name == "greedy")
    assert not sound
    assert "a built-in strategy has this name" in taken


@pytest.mark.parametrize("kind", ["absent", "nameless", "nothing", "failing", "number"])
def test_a_broken_plug_in_is_one_line(plugged, kind):
    """A plug-in that cannot be imported, lacks its factory, fails or makes no strategy is named in one line."""
    with pytest.raises(UsageError) as caught:
        strategy_from_spec(kind)
    assert kind in str(caught.value)
    assert "\n" not in str(caught.value)
    listed = {one.name: one for one in strategies()}
    if kind in {"absent", "nameless", "number"}:
        assert "failed" in listed[kind].problem
        assert "\n" not in listed[kind].problem
    assert not listed["adaptive"].problem


def test_strategies_load_no_library_of_numbers():
    """Making and listing strategies that only ask loads neither numpy nor a client of a service."""
    code = (
        "import sys; from bonwise.selection.registry import strategy_from_spec as make\n"
        "for one in ('greedy', 'resample', 'adaptive', 'round_robin', 'knockout', 'tie_break:of=local:length'):\n"
        "    make(one).name\n"
        "print(sorted({'numpy', 'scipy', 'pandas', 'sklearn', 'openai', 'anthropic', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_options_and_a_judge_may_stand_beside_the_text():
    """Keywords are options as they stand, and a judge of one's own takes the place of `of=`."""
    assert bw.strategy_from_spec("adaptive:margin=0.2", max_draws=5) == bw.Adaptive(margin=0.2, max_draws=5)
    judge = bw.Pairwise("openai/m")
    assert bw.strategy_from_spec("tie_break:knockout=true", judge=judge) == bw.TieBreak(judge, knockout=True)


@pytest.mark.parametrize(
    ("spec", "given", "said"),
    [
        ("adaptive:margin=0.2", {"margin": 0.2}, "'margin' twice"),
        ("adaptive", {"bins": 5}, "no option 'bins'"),
        ("greedy", {"judge": bw.Pairwise("openai/m")}, "made of no judge"),
        ("tie_break", {}, "names no judge"),
        ("tie_break:of=pairwise:openai/m", {"judge": bw.Pairwise("openai/m")}, "leave one of them out"),
        (5, {}, "the spec of a strategy is 5"),
    ],
)
def test_what_beside_the_text_means_nothing_is_refused(spec, given, said):
    """What cannot be made is a usage error that names the fault and how to mend it."""
    with pytest.raises(UsageError) as caught:
        bw.strategy_from_spec(spec, **given)
    assert said in f"{caught.value.message} {caught.value.hint}"

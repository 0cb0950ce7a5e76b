"""Strategies by the texts that name them: in Python, plugged in, typed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import types
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import numpy as np
import pytest

import bonwise as bw
from bonwise.calls.ask import Choice
from bonwise.cli.lookups import strategies as strategies_of_command
from bonwise.errors import UsageError
from bonwise.judges.comparing import Pairwise
from bonwise.routing.saved import SavedRouter
from bonwise.selection import registry
from bonwise.selection.protocol import Strategy
from bonwise.selection.registry import StrategySpec, read_strategy, strategies, strategy_from_spec
from bonwise.selection.strategies.matches import Knockout, RoundRobin, TieBreak
from bonwise.selection.strategies.scores import Adaptive, Greedy, Resample
from bonwise.testing import Faults
from cli.commands import pool_file, typed
from cli.picked import decisions, picks
from cli.served import served

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


POOLS = {f"p{x:02d}": [f"answer {x}.{i}" for i in range(4)] for x in range(12)} | {"alone": ["one"]}
STRATEGIES = (
    ("pointwise:openai/m", "adaptive:margin=0.5,max_draws=3"),
    ("pointwise:openai/m", "adaptive:margin=0.5,max_draws=3,repick=false"),
    ("pointwise:openai/m", "resample:draws=3"),
    ("quantized,bins=2,of=pointwise:openai/m", "tie_break:of=pairwise:openai/m"),
    ("pairwise:openai/m", "knockout"),
)
ROUTED = ("--strong", "pairwise:anthropic/s", "--route", "interval_width", "--share", "0.25")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with pools of four, and one of one."""
    monkeypatch.chdir(tmp_path)
    pool_file("pools.jsonl", POOLS)
    return tmp_path


def selected(capsys, judge, *more):
    """Select from the pools."""
    return typed(capsys, "select", "pools.jsonl", "--judge", judge, *more)


@pytest.mark.parametrize(("judge", "strategy"), STRATEGIES, ids=lambda spec: spec)
def test_a_strategy_resumes_without_a_call(capsys, folder, monkeypatch, judge, strategy):
    """The same command on the same run folder sends nothing, and its picks and all that led to them are the same."""
    with served(monkeypatch, folder) as script:
        first = selected(capsys, judge, "--strategy", strategy)
        paid = script.counts.paid.total()
        second = selected(capsys, judge, "--strategy", strategy)
        assert script.counts.paid.total() == paid == sum(line["answers"] for line in picks(first))
    assert (first.code, second.code) == (0, 0), first.err
    assert decisions(first) == decisions(second)
    assert [line["prompt_id"] for line in picks(first)] == list(POOLS)
    assert {line["settings"]["strategy"].partition(":")[0] for line in picks(first)} == {strategy.partition(":")[0]}


@pytest.mark.parametrize(("judge", "strategy"), STRATEGIES, ids=lambda spec: spec)
def test_a_run_that_was_cut_off_comes_to_the_same_picks(capsys, folder, monkeypatch, judge, strategy):
    """A run stopped by a limit picks nothing where an answer is pending, and going on ends where a whole run does."""
    command = (judge, "--strategy", strategy)
    with served(monkeypatch, folder) as script:
        whole = selected(capsys, *command, "--run", "whole")
        paid = script.counts.paid.total()
        cut = selected(capsys, *command, "--run", "cut", "--max-calls", "20")
        resumed = selected(capsys, *command, "--run", "cut")
        assert script.counts.paid.total() == 2 * paid
    assert (cut.code, resumed.code) == (4, 0)
    owed = [line for line in picks(cut) if line["decided_by"] == "owed"]
    assert owed
    assert all(line["best"] is None for line in owed)
    assert decisions(resumed) == decisions(whole)


def test_a_dry_run_bounds_what_a_strategy_spends(capsys, folder, monkeypatch):
    """The first pass is foreseen to the call, and what follows it stays below the bound."""
    command = ("pointwise:openai/m", "--strategy", "adaptive:margin=0.5,max_draws=3")
    with served(monkeypatch, folder) as script:
        dry = selected(capsys, *command, "--dry-run")
        assert script.counts.requests == 0
        assert not Path("bonwise-run").exists()
        done = selected(capsys, *command)
        again = selected(capsys, *command, "--dry-run")
    (more,) = (int(found) for found in re.findall(r"after the first pass up to (\d+) more calls", dry.out))
    calls = sum(line["calls"] for line in picks(done))
    assert "in all 48 calls" in dry.out
    assert more == 12 * 2 * 2
    assert 48 < calls <= 48 + more
    assert "in all 0 calls" in again.out


def test_a_dry_run_is_exact_where_the_answers_change_nothing(capsys, folder, monkeypatch):
    """Draws without a condition are all foreseen, and nothing is said to follow."""
    command = ("pointwise:openai/m", "--strategy", "resample:draws=3")
    with served(monkeypatch, folder):
        dry = selected(capsys, *command, "--dry-run")
        done = selected(capsys, *command)
    assert "after the first pass" not in dry.out
    (calls,) = (int(found) for found in re.findall(r"in all (\d+) calls", dry.out))
    assert calls == sum(line["calls"] for line in picks(done)) == 12 * 4 * 3


def test_a_dry_run_foresees_comparisons_after_free_scores(capsys, folder, monkeypatch):
    """Where the first pass asks no model, what a strategy asks later is still bounded."""
    with served(monkeypatch, folder):
        dry = selected(capsys, "local:length", "--strategy", "tie_break:of=pairwise:openai/m", "--dry-run")
        none = selected(capsys, "local:length", "--dry-run")
    assert "the first pass asks no model" in dry.out
    assert f"up to {12 * 4 * 3} more calls" in dry.out
    assert none.out == "no call of a model: these judges ask none\n"


def test_a_dry_run_bounds_what_the_stronger_judge_is_asked(capsys, folder, monkeypatch):
    """With a router the estimate holds at most a share of the pools for the stronger judge."""
    with served(monkeypatch, folder):
        dry = selected(capsys, "interval:openai/m", *ROUTED, "--dry-run")
        done = selected(capsys, "interval:openai/m", *ROUTED)
    said = (
        "pairwise:anthropic/s decides at most 4 of 12 pools: about 48 more calls; at most 96 calls with second asks"
    )
    assert said in dry.out
    assert sum(line["calls"] for line in picks(done)) <= 48 + 48


@pytest.mark.parametrize("among", ["all", "contenders"])
def test_a_router_sends_the_same_pools_again(capsys, folder, monkeypatch, among):
    """Pools pass the router in input order whatever the concurrency: routes and picks are those of the first run."""
    command = ("interval:openai/m", *ROUTED, "--among", among)
    with served(monkeypatch, folder, latency=0.002) as script:
        first = selected(capsys, *command)
        paid = script.counts.paid.total()
        second = selected(capsys, *command)
        assert script.counts.paid.total() == paid
        other = selected(capsys, *command, "--run", "other", "--max-concurrency", "1")
    assert first.code == 0, first.err
    assert decisions(first) == decisions(second) == decisions(other)
    sent = [line["prompt_id"] for line in picks(first) if line["routed"] and line["routed"]["strong"]]
    assert 0 < len(sent) <= 0.25 * 12 + 1
    assert f"pairwise:anthropic/s decided {len(sent)} of 12 pools" in first.err
    assert "the share is 25%" in first.err
    assert "position effect" in first.err


@pytest.mark.parametrize("strategy", ["adaptive:margin=0.2", "value_of_information:mean_calls=6"])
def test_the_signal_is_that_of_the_first_pass_whatever_the_strategy(capsys, folder, monkeypatch, strategy):
    """A strategy that draws again takes nothing from the router: routes and signals are those of single scores."""
    with served(monkeypatch, folder):
        routed = [
            [line["routed"] and (line["routed"]["strong"], line["routed"]["signal"]) for line in picks(done)]
            for done in (
                selected(capsys, "interval:openai/m", *ROUTED),
                selected(capsys, "interval:openai/m", *ROUTED, "--strategy", strategy),
            )
        ]
    assert routed[0] == routed[1]
    assert all(found is None or found[1] is not None for found in routed[0])


def test_a_router_that_was_cut_off_goes_on(capsys, folder, monkeypatch):
    """A pool whose first pass is owed takes no turn from the others, and the finished run is resumed for nothing."""
    with served(monkeypatch, folder) as script:
        cut = selected(capsys, "interval:openai/m", *ROUTED, "--max-calls", "30")
        assert cut.code == 4
        done = selected(capsys, "interval:openai/m", *ROUTED)
        paid = script.counts.paid.total()
        again = selected(capsys, "interval:openai/m", *ROUTED)
        assert script.counts.paid.total() == paid
    assert done.code == 0
    assert decisions(done) == decisions(again)


def test_a_saved_router_names_signal_and_share(capsys, folder, monkeypatch):
    """A file in the place of a signal brings the share, and is not trusted silently about another judge."""
    router = SavedRouter.of("interval_width", 0.5, 0.3, np.linspace(0.1, 0.6, 50), judge="interval:openai/other")
    router.save(Path("router.json"))
    with served(monkeypatch, folder):
        done = selected(capsys, "interval:openai/m", "--strong", "pointwise:anthropic/s", "--route", "router.json")
    assert done.code == 0, done.err
    assert "the share is 50%" in done.err
    assert "was learnt from the first pass of interval:openai/other, not of interval:openai/m" in done.err


def test_a_second_judge_is_asked_where_the_signal_wants_it(capsys, folder, monkeypatch):
    """The disagreement of two judges needs the second one, whose calls are counted with the pool."""
    flags = ("--strong", "pairwise:anthropic/s", "--route", "disagreement")
    with served(monkeypatch, folder):
        alone = selected(capsys, "pointwise:openai/m", *flags)
        both = selected(capsys, "pointwise:openai/m", *flags, "--second", "pointwise:openai/other")
    assert alone.code == 2
    assert "second" in alone.err
    assert both.code == 0
    assert {line["calls"] for line in picks(both) if not (line["routed"] or {}).get("strong")} == {0, 8}


@pytest.mark.parametrize("how", ["first", "random"])
def test_picks_without_a_judge_are_counted_loudly(capsys, folder, monkeypatch, how):
    """Where nothing can be judged and a makeshift is allowed, each line says so, and so does standard error."""
    with served(monkeypatch, folder, faults=Faults(server_error=1.0)):
        done = selected(capsys, "pointwise:openai/m", "--on-failure", how, "--deadline", "0.2")
    lines = [line for line in picks(done) if line["prompt_id"] != "alone"]
    assert done.code == 4
    assert {line["decided_by"] for line in lines} == {how}
    assert all(line["failure"] and line["ranking"] == [] for line in lines)
    assert ({line["index"] for line in lines} == {0}) == (how == "first")
    assert f"WARNING: 12 picks rest on no judgment: {'the first' if how == 'first' else 'a random'}" in done.err


def test_a_failure_that_is_to_end_the_run_ends_it(capsys, folder, monkeypatch):
    """With --on-failure raise the first answer that does not arrive ends the command with 4, in one line."""
    with served(monkeypatch, folder):
        done = selected(capsys, "pointwise:openai/m", "--on-failure", "raise", "--max-calls", "6")
    assert done.code == 4
    assert "was not answered" in done.err
    assert "Traceback" not in done.err


def test_why_asking_stopped_is_counted(capsys, folder, monkeypatch):
    """Where a strategy stops for several reasons each is said with its count."""

    def answer(request):
        return Choice(json.dumps({"score": 90 if "p00" in request.user and ".1" in request.user else 50}))

    with served(monkeypatch, folder, answer=answer):
        done = selected(capsys, "pointwise:openai/m", "--strategy", "adaptive:margin=0.1,max_draws=2")
    assert "12 by" not in done.err.splitlines()[0]
    assert "and adaptive:max_draws=2: " in done.err
    assert [line.partition(":")[2].partition(":")[0] for line in done.err.splitlines() if " stopped " in line] == [
        " stopped 11 times",
        " stopped once",
    ]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--strong", "local:lexical"), "--strong without --route"),
        (("--route", "margin"), "--route without --strong"),
        (("--share", "0.2"), "--share without --route"),
        (("--among", "all"), "--among without --route"),
        (("--strong", "local:lexical", "--route", "no_such_signal"), "no signal"),
        (("--strong", "local:lexical", "--route", "no_such.json"), "no_such.json"),
        (("--strong", "local:lexical", "--route", "margin", "--share", "1.5"), "share"),
        (("--strong", "local:lexical", "--route", "margin", "--among", "some"), "among"),
        (("--strategy", "no_such"), "no_such"),
        (("--strategy", "adaptive:margin=x"), "margin"),
        (("--strategy", "adaptive:widths=2"), "widths"),
        (("--strategy", "tie_break"), "names no judge"),
        (("--strategy", ""), "names no strategy"),
        (("--on-failure", "guess"), "guess"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else "",
)
def test_what_means_nothing_is_refused_in_one_line(capsys, folder, flags, words):
    """An unknown name, half a route or a setting out of range ends with 2 before anything is judged."""
    done = selected(capsys, "local:length", *flags)
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert len(done.err.splitlines()) == 1


def test_a_strategy_that_compares_needs_a_judge_that_does(capsys, folder):
    """A tournament of a judge that scores each candidate alone is refused."""
    done = selected(capsys, "pointwise:openai/m", "--strategy", "knockout")
    assert done.code == 2
    assert "compares candidates" in done.err


def test_the_strategies_are_listed(capsys):
    """Every kind of strategy has a line with its options."""
    assert strategies_of_command() == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "margin max_draws repick temperature" in lines["adaptive"]
    assert lines["greedy"].split() == ["greedy", "-", "bonwise"]

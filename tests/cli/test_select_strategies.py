from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from bonwise.calls.reply import Choice
from bonwise.cli.lookups import strategies
from bonwise.routing.saved import SavedRouter
from bonwise.testing import Faults
from cli.commands import pool_file, typed
from cli.picked import decisions, picks
from cli.served import served

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
    said = "pairwise:anthropic/s decides at most 4 of 12 pools: about 48 more calls, at most "
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
    assert strategies() == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "margin max_draws repick temperature" in lines["adaptive"]
    assert lines["greedy"].split() == ["greedy", "-", "bonwise"]

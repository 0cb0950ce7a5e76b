from __future__ import annotations

import asyncio
import sys
import types
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points

import pytest

from bonwise.judges import registry as judges
from bonwise.selection import registry as strategies
from bonwise.selection.strategies.scores import Greedy
from bonwise.table.verdicts import Score
from calls.held_time import run_held
from cli.commands import pool_file, typed
from cli.picked import decisions, picks
from cli.served import served

POOLS = {f"p{at}": [f"answer {at}.{one}" for one in range(3)] for at in range(6)}
JUDGE = ("--judge", "pointwise:openai/m")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with six pools of three."""
    monkeypatch.chdir(tmp_path)
    pool_file("pools.jsonl", POOLS)
    return tmp_path


class Flaky:
    """A judge that breaks at one prompt."""

    version = "1"

    def __init__(self, name):
        self.name = f"flaky:{name}"

    def judge(self, prompt, candidates):
        """Score by length."""
        if "p2" in prompt:
            raise ValueError("the model file is broken\nat all")
        return [Score(float(len(one))) for one in candidates]


class Broken:
    """A strategy whose contests fail in a method."""

    compares = False

    def __init__(self, method="next"):
        self.method, self.name = method, f"broken:method={method}"

    def contest(self, entrants):
        """Open one."""

        def fails(*_):
            raise KeyError("mine")

        contest = Greedy().contest(entrants)
        setattr(contest, self.method, fails)
        return contest

    def most_calls(self, _judge, _candidates):
        """Return none."""
        return 0


@pytest.fixture
def plugged(monkeypatch):
    """Install a judge and a strategy that fail."""
    module = types.ModuleType("bonwise_failures_of_a_test")
    module.flaky, module.broken = Flaky, Broken
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for registry, group, name in ((judges, "bonwise.judges", "flaky"), (strategies, "bonwise.strategies", "broken")):
        installed = [*entry_points(group=group), EntryPoint(name, f"{module.__name__}:{name}", group)]
        monkeypatch.setattr(registry, "entry_points", lambda *, group, mine=installed: mine if group else [])


def selected(capsys, *more):
    """Select from the pools."""
    return typed(capsys, "select", "pools.jsonl", *more)


@contextmanager
def late(monkeypatch, script, slow, seconds):
    """Let a script never answer what names one of some texts; whenever it is asked that, so much time passes."""
    receive, loops = script.receive, []

    def received(method, path, headers, content, now):
        delivery = receive(method, path, headers, content, now)
        if any(text.encode() in content for text in slow):
            delivery.delay = 3600.0
            loops[0].let_go(seconds)
        return delivery

    async def noting(work):
        loops.append(asyncio.get_running_loop())
        await work

    with monkeypatch.context() as patched:
        patched.setattr(script, "receive", received)
        patched.setattr("asyncio.run", lambda work: run_held(noting(work)))
        yield


def test_a_deadline_is_that_of_a_pool(capsys, folder, monkeypatch):
    """A pool without an answer in time is owed, one with some has the best of them; the same command continues."""
    command = (*JUDGE, "--max-concurrency", "1", "--deadline")
    with served(monkeypatch, folder) as script:
        with late(monkeypatch, script, ["answer 1.", "answer 4.2"], 4.0):
            cut = selected(capsys, *command, "4")
        resumed = selected(capsys, *command, "3600")
        whole = selected(capsys, *command, "3600", "--run", "whole")
    lines = {line["prompt_id"]: line for line in picks(cut)}
    assert cut.code == 4, cut.err
    assert {name: line["decided_by"] for name, line in lines.items()} == {
        **dict.fromkeys(POOLS, "score"),
        "p1": "owed",
        "p4": "deadline",
    }
    assert (lines["p1"]["best"], lines["p1"]["failure"]) == (None, "no answer within 4 s")
    assert lines["p4"]["failure"] == "the time of 4 s was up before every answer was there"
    assert (lines["p4"]["best"] in {"c0", "c1"}, lines["p4"]["scores"][2]) == (True, None)
    assert [line["latency"] for line in lines.values()] == [0.0, 4.0, 0.0, 0.0, 4.0, 0.0]
    assert {line["settings"]["deadline"] for line in lines.values()} == {4.0}
    assert "WARNING: 1 picks are the best that was known when the time of --deadline was up" in cut.err
    assert "incomplete" in cut.err
    assert (resumed.code, decisions(resumed)) == (0, decisions(whole)), resumed.err


def test_the_help_says_whose_deadline_it_is(capsys):
    """Of `select` it is that of a pool, of `judge` that of a question."""
    for command, words in (("select", "Seconds for one pool"), ("judge", "Seconds for one question")):
        shown = " ".join(typed(capsys, command, "--help").out.replace("│", " ").split())
        assert words in shown


def test_a_judge_that_breaks_at_one_pool_costs_that_pool(capsys, folder, plugged):
    """With `owe` the other pools are picked from and the command ends with 4; `first` picks; `raise` ends it."""
    owed = selected(capsys, "--judge", "flaky:x")
    assert owed.code == 4
    assert {line["prompt_id"]: line["decided_by"] for line in picks(owed) if line["decided_by"] == "owed"} == {
        "p2": "owed"
    }
    assert len(picks(owed)) == len(POOLS)
    assert "failed once: judge 'flaky:x' failed: ValueError: the model file is broken" in owed.err
    assert "incomplete: 1 pool has no pick; the same command continues" in owed.err
    first = selected(capsys, "--judge", "flaky:x", "--on-failure", "first")
    assert first.code == 4
    assert [line["decided_by"] for line in picks(first)].count("first") == 1
    raised = selected(capsys, "--judge", "flaky:x", "--on-failure", "raise")
    assert (raised.code, "Traceback" in raised.err) == (2, False)
    assert "judge 'flaky:x' failed: ValueError" in raised.err.splitlines()[-1]


@pytest.mark.parametrize("method", ["next", "hear", "standing"])
def test_a_strategy_that_fails_is_said_in_one_line(capsys, folder, plugged, method):
    """A plug-in's fault owes the picks, or ends the run, in plain words and never with a traceback."""
    command = ("--judge", "local:length", "--strategy", f"broken:method={method}")
    owed = selected(capsys, *command)
    assert (owed.code, {line["decided_by"] for line in picks(owed)}) == (4, {"owed"})
    assert f"failed 6 times: strategy broken:method={method} failed in {method}(): KeyError: 'mine'" in owed.err
    raised = selected(capsys, *command, "--on-failure", "raise")
    assert (raised.code, raised.out) == (2, "")
    assert "Traceback" not in owed.err + raised.err
    assert f"strategy broken:method={method} failed in {method}()" in raised.err.splitlines()[-1]


def test_a_dry_run_of_a_strategy_that_fails_is_one_line(capsys, folder, plugged):
    """The estimate refuses such a plug-in as the run would."""
    done = selected(capsys, *JUDGE, "--strategy", "broken", "--dry-run")
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert "strategy broken:method=next failed in next()" in done.err


def test_a_router_without_a_signal_sends_nothing_and_says_so_once(capsys, folder, monkeypatch):
    """Where no pool has the signal the first picks stand and one line says so; told so, the router sends a share."""
    command = ("--judge", "local:length", "--strong", "local:lexical", "--route", "interval_width", "--share", "0.5")
    kept = selected(capsys, *command)
    lines = picks(kept)
    assert {line["routed"]["strong"] for line in lines if line["routed"]} == {None}
    assert {line["settings"]["router"] for line in lines} == {"interval_width at a share of 50%"}
    assert "WARNING: no pool had the signal interval_width (no score came with an interval): 0 of " in kept.err
    assert kept.err.count("WARNING") == 1
    assert "UserWarning" not in kept.err
    assert "--on-missing random" in kept.err
    sent = selected(capsys, *command, "--on-missing", "random")
    assert any(line["routed"]["strong"] for line in picks(sent) if line["routed"])
    assert "went to the stronger judge, at random" in sent.err
    routed = command[2:]
    with served(monkeypatch, folder):
        assert "WARNING" not in selected(capsys, "--judge", "interval:openai/m", *routed).err

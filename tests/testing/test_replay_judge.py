from __future__ import annotations

import asyncio
import threading

import pytest

import bonwise as bw
from bonwise.calls.engine import Engine
from bonwise.calls.providers.protocol import Connection
from bonwise.calls.reply import Choice
from bonwise.judges.judging import judge_with
from bonwise.judges.protocol import Judge
from bonwise.judges.registry import judge_from_spec
from bonwise.table.verdicts import Score, Unscored
from bonwise.testing import ReplayJudge
from bonwise.testing.script import Script
from bonwise.testing.stand_in import stand_in
from bonwise.testing.transport import FakeTransport

TEXTS = ["one", "two", "three", " "]
SPECS = [
    "pointwise:openai/gpt-5-mini",
    "interval:anthropic/claude-opus-5",
    "pairwise:openai/gpt-5-mini",
    "probability,orders=1:anthropic/claude-opus-5",
    "logprob:openai/gpt-4.1-mini",
    "logprob,pairs=true:openai/gpt-4.1-mini",
    "resampled,draws=3,of=pointwise:openai/gpt-5-mini",
    "quantized,bins=5,of=resampled,draws=2,of=pairwise:anthropic/claude-opus-5",
]


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """Return a function that judges with a key and keeps the answers; afterwards there is no key."""
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)

    def record(spec, script, texts=TEXTS, reask=0):
        async def main():
            connection = Connection(transport=FakeTransport(script))
            async with Engine(tmp_path, connection=connection, reask=reask) as engine:
                return await judge_with(engine, judge_from_spec(spec), "Why?", texts)

        for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
            monkeypatch.setenv(name, "sk-1")
        found = asyncio.run(main())
        for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
            monkeypatch.delenv(name)
        return found

    return record


@pytest.mark.parametrize("spec", SPECS)
def test_a_run_is_replayed_offline(tmp_path, recorded, spec):
    """The verdicts and comparisons of a run come again from its ledger: no key, no call, nothing owed."""
    first = recorded(spec, Script())
    with ReplayJudge(judge_from_spec(spec), tmp_path) as judge:
        again = judge.replay("Why?", TEXTS)
        assert judge.judge("Why?", TEXTS) == first.verdicts
    assert (again.verdicts, again.preferences) == (first.verdicts, first.preferences)
    assert (again.bill.calls, again.bill.owed, again.bill.cost) == (0, 0, 0.0)
    assert again.bill.from_ledger > 0


def test_what_was_refused_is_replayed_as_refused(tmp_path, recorded):
    """An answer that could not be used is replayed with its reason, and is not owed."""

    def answer(request):
        return Choice("", "refusal", "policy") if "two" in request.user else stand_in(request)

    first = recorded(SPECS[0], Script(answer))
    with ReplayJudge(judge_from_spec(SPECS[0]), tmp_path) as judge:
        again = judge.judge("Why?", TEXTS)
    assert again == first.verdicts
    assert isinstance(again[1], Unscored)
    assert not again[1].owed


def test_a_run_that_asked_again_is_replayed_with_what_it_got(tmp_path, recorded):
    """With the same reask as the run, the second answer counts; without it the first, and nothing is owed."""

    def answer(request):
        return Choice("no idea") if "two" in request.user and not request.attempt else stand_in(request)

    first = recorded(SPECS[0], Script(answer), reask=1)
    assert isinstance(first.verdicts[1], Score)
    with ReplayJudge(judge_from_spec(SPECS[0]), tmp_path, reask=1) as judge:
        assert judge.judge("Why?", TEXTS) == first.verdicts
    with ReplayJudge(judge_from_spec(SPECS[0]), tmp_path) as judge:
        plain = judge.judge("Why?", TEXTS)
    assert isinstance(plain[1], Unscored)
    assert not plain[1].owed
    assert (plain[0], plain[2]) == (first.verdicts[0], first.verdicts[2])


def test_what_the_ledger_does_not_hold_is_owed(tmp_path, recorded):
    """A candidate that was not judged is unscored and owed; the others have their scores."""
    first = recorded(SPECS[0], Script(), ["one", "two"])
    with ReplayJudge(judge_from_spec(SPECS[0]), tmp_path) as judge:
        again = judge.judge("Why?", ["new", "two", "one"])
        assert judge.judge("Another?", ["one"]) == (Unscored("owed: not in the ledger", owed=True),)
    assert again == (Unscored("owed: not in the ledger", owed=True), first.verdicts[1], first.verdicts[0])


def test_another_setting_is_not_replayed(tmp_path, recorded):
    """A judge with another temperature, prompt or model asks other questions: their answers are owed."""
    recorded(SPECS[0], Script())
    for spec in (
        "pointwise,temperature=0.5:openai/gpt-5-mini",
        "pointwise,prompt=pointwise-reason:openai/gpt-5-mini",
        "pointwise:openai/gpt-5-nano",
    ):
        with ReplayJudge(judge_from_spec(spec), tmp_path) as judge:
            assert all(one.owed for one in judge.judge("Why?", TEXTS[:3]))


def test_a_parameter_that_was_refused_is_replayed_without_it(tmp_path, recorded):
    """Where the run had to leave a parameter out, so does the replay."""
    first = recorded(SPECS[0], Script(refuses_parameters={"temperature"}))
    with ReplayJudge(judge_from_spec(SPECS[0]), tmp_path) as judge:
        again = judge.replay("Why?", TEXTS)
    assert again.verdicts == first.verdicts
    assert again.effective == first.effective
    assert "temperature" not in again.effective


def test_a_replay_stands_for_its_judge(tmp_path, recorded):
    """It has the name and version of the judge it stands for, and selects the same candidate."""
    first = recorded(SPECS[0], Script())
    of = judge_from_spec(SPECS[0])
    with ReplayJudge(of, tmp_path) as judge:
        assert isinstance(judge, Judge)
        assert (judge.name, judge.version) == (of.name, of.version)
        best = bw.select("Why?", TEXTS[:3], judge=judge).best
    values = [one.value for one in first.verdicts[:3]]
    assert best == TEXTS[values.index(max(values))]


def test_a_replay_works_inside_a_running_loop(tmp_path, recorded):
    """It can be asked from code that a running loop called."""
    first = recorded(SPECS[0], Script())

    async def main(judge):
        return judge.judge("Why?", TEXTS)

    with ReplayJudge(judge_from_spec(SPECS[0]), tmp_path) as judge:
        assert asyncio.run(main(judge)) == first.verdicts


def test_a_replay_leaves_nothing_behind(tmp_path, recorded):
    """Closing ends its thread and closes the ledger, also twice, and also where nothing was asked."""
    recorded(SPECS[0], Script())
    before = set(threading.enumerate())
    judge = ReplayJudge(judge_from_spec(SPECS[0]), tmp_path)
    judge.judge("Why?", TEXTS)
    judge.close()
    judge.close()
    ReplayJudge(judge_from_spec(SPECS[0]), tmp_path).close()
    assert set(threading.enumerate()) <= before

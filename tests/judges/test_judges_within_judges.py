from __future__ import annotations

import asyncio

import pytest

from bonwise.calls.engine import Engine
from bonwise.calls.providers.protocol import Connection
from bonwise.data.verdicts import Score, Unscored
from bonwise.errors import JudgeError, UsageError
from bonwise.judges.judging import judge_with
from bonwise.judges.pointwise import Pointwise
from bonwise.testing import FakeTransport, Script

INNER = Pointwise("openai/m", base_url="http://scripted.test/v1")


class Doubting:
    """A plug-in that asks another judge in its own way, and halves what it says."""

    name, version = "doubting", "1"

    def judge(self, prompt, candidates):
        """Ask, and doubt."""
        return [Score(one.value / 2) for one in INNER.judge(prompt, candidates)]


def judged(script, judge, texts=("a", "b"), **settings):
    """Judge a few candidates by an engine of its own; return the judgment and the engine."""

    async def main():
        async with Engine(connection=Connection(transport=FakeTransport(script)), **settings) as engine:
            return await judge_with(engine, judge, "p", list(texts)), engine

    return asyncio.run(main())


def test_a_judge_asked_by_a_judge_pays_from_the_same_purse():
    """What a plug-in asks by another judge goes through the engine at work, is counted and billed there."""
    script = Script()
    found, engine = judged(script, Doubting())
    plain, _ = judged(Script(), INNER)
    assert [one.value for one in found.verdicts] == [one.value / 2 for one in plain.verdicts]
    assert script.counts.paid.total() == 2 == engine.totals.bill.calls == found.bill.calls


def test_limits_hold_for_judges_within_judges():
    """At a limit the outer verdicts are owed, whatever the plug-in would have made of it."""
    script = Script()
    found, engine = judged(script, Doubting(), max_calls=1)
    assert script.counts.paid.total() == 1
    assert all(isinstance(one, Unscored) and one.owed for one in found.verdicts)
    assert engine.totals.bill.owed == 1


def test_answers_of_judges_within_judges_are_kept(tmp_path):
    """The ledger of the run holds them: a second run pays nothing."""
    script = Script()
    judged(script, Doubting(), ledger=tmp_path)
    judged(script, Doubting(), ledger=tmp_path)
    assert script.counts.paid.total() == 2


def test_an_asynchronous_judge_must_not_wait_for_itself():
    """Asking synchronously from inside the event loop is refused with a remedy, instead of hanging."""

    class Hasty(Doubting):
        async def judge(self, prompt, candidates):
            return INNER.judge(prompt, candidates)

    with pytest.raises(UsageError, match="wait for ever"):
        judged(Script(), Hasty())


def test_a_plug_in_that_fails_is_named():
    """An exception of a plug-in in a run is one line with its name, and the cause is kept."""

    class Broken(Doubting):
        def judge(self, prompt, candidates):
            raise KeyError(prompt, candidates)

    with pytest.raises(JudgeError, match="'doubting' failed: KeyError") as caught:
        judged(Script(), Broken())
    assert isinstance(caught.value.__cause__, KeyError)

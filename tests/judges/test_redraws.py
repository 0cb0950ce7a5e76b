from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bonwise.calls.engine import Engine
from bonwise.calls.providers.protocol import Connection
from bonwise.judges.comparing import Pairwise
from bonwise.judges.judging import judge_with
from bonwise.judges.pointwise import Pointwise
from bonwise.judges.wrappers import Resampled
from bonwise.table.verdicts import Score
from bonwise.testing.script import Script
from bonwise.testing.scripted_judge import ScriptedJudge
from bonwise.testing.transport import FakeTransport

JUDGE = Pointwise("openai/m", base_url="http://scripted/v1")
MESSAGES = Pointwise("anthropic/m", base_url="http://scripted")


def counting():
    """Return a service whose scores count its answers."""
    script = Script()
    script.answer = lambda _request: str(script.counts.answers)
    return script


def drawn(script, folder, *calls):
    """Judge with the same ledger, each call a judge, texts and settings; return the judgments."""

    async def main():
        async with Engine(folder, connection=Connection(transport=FakeTransport(script))) as engine:
            return [await judge_with(engine, judge, "p", texts, **settings) for judge, texts, settings in calls]

    return asyncio.run(main())


def values(judgment):
    """Return the scores of a judgment."""
    return [one.value for one in judgment.verdicts]


@pytest.mark.parametrize("judge", [JUDGE, MESSAGES], ids=str)
def test_redraws_are_further_answers(judge, tmp_path):
    """Draws 0, 1 and 2 are three answers to the same question; the same draw is the same answer."""
    script = counting()
    found = drawn(script, tmp_path, *((judge, ["a"], {"draw": at}) for at in (0, 1, 2, 1, 0)))
    assert [values(one) for one in found] == [[0.01], [0.02], [0.03], [0.02], [0.01]]
    assert script.counts.answers == 3
    assert [one.bill.from_ledger for one in found] == [0, 0, 0, 1, 1]


def test_draw_0_is_a_plain_judgment(tmp_path):
    """Draw 0 at the judge's own temperature costs nothing where the pool was judged before."""
    script = counting()
    first, again = drawn(script, tmp_path, (JUDGE, ["a", "b"], {}), (JUDGE, ["a", "b"], {"draw": 0}))
    assert values(first) == values(again)
    assert script.counts.answers == 2


@pytest.mark.parametrize("judge", [JUDGE, MESSAGES], ids=str)
def test_redraws_share_the_draws_of_a_resampled_judge(judge, tmp_path):
    """Single draws at the temperature of a resampled judge are its draws, in whichever order they were asked."""
    for order in (1, -1):
        script, folder = counting(), tmp_path / str(order)
        single = [(judge, ["a"], {"draw": at, "temperature": 1.0}) for at in range(3)]
        whole = [(Resampled(judge, draws=3), ["a"], {})]
        found = drawn(script, folder, *[*single, *whole][::order])[::order]
        assert list(found[3].verdicts[0].draws) == [values(one)[0] for one in found[:3]]
        paid = 1 if order < 0 and judge is JUDGE else 3
        assert script.counts.requests == paid


def test_another_temperature_is_another_draw(tmp_path):
    """A redraw at a given temperature is not the judge's own draw of that number."""
    script = counting()
    settings = ({"draw": 1}, {"draw": 1, "temperature": 1.0}, {"draw": 1, "temperature": 0.5}, {"temperature": 1.0})
    found = drawn(script, tmp_path, *((JUDGE, ["a"], one) for one in settings))
    assert script.counts.answers == 4
    assert len({values(one)[0] for one in found}) == 4
    assert [one.effective[0].get("temperature") for one in found] == [0.0, 1.0, 0.5, 1.0]
    warm = replace(JUDGE, temperature=1.0)
    (same,) = drawn(script, tmp_path, (warm, ["a"], {"draw": 1}))
    assert values(same) == values(found[1])
    assert script.counts.answers == 4


def test_redraws_of_a_resampled_judge_are_all_new(tmp_path):
    """The next draw of a judge that takes three is the three that follow."""
    script = counting()
    judge = Resampled(JUDGE, draws=3)
    first, second = drawn(script, tmp_path, *((judge, ["a"], {"draw": at}) for at in (0, 1)))
    assert (len(first.verdicts[0].draws), script.counts.requests) == (3, 2)
    ((third,),) = [values(one) for one in drawn(script, tmp_path, (JUDGE, ["a"], {"draw": 5, "temperature": 1.0}))]
    assert third == second.verdicts[0].draws[2]
    assert script.counts.requests == 2


def test_comparisons_are_redrawn_too(tmp_path):
    """Both orders of a comparison have further draws."""
    script = Script(lambda _request: "A")
    pairs = Pairwise("openai/m", base_url="http://scripted/v1")
    drawn(script, tmp_path, *((pairs, ["a", "b"], {"draw": at}) for at in (0, 1, 0)))
    assert script.counts.answers == 4


def test_a_judge_that_asks_no_model_is_just_asked_again():
    """A local judge is called for each draw and knows nothing of its number."""
    judge = ScriptedJudge([0.1, 0.2])
    found = drawn(Script(), None, (judge, ["a"], {"draw": 0}), (judge, ["a"], {"draw": 1, "temperature": 1.0}))
    assert [one.verdicts for one in found] == [(Score(0.1),), (Score(0.2),)]

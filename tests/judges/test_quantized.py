from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.errors import UsageError
from bonwise.judges.comparing import Pairwise
from bonwise.judges.local import Length
from bonwise.judges.pointwise import Interval, Pointwise
from bonwise.judges.protocol import AskingJudge
from bonwise.judges.wrappers import Quantized, Resampled
from bonwise.table.verdicts import Score, Unscored
from judges.replies import answered


def rounded(value, bins):
    """Return what becomes of one score."""
    (found,) = Quantized(lambda _prompt, _text: value, bins=bins).judge("p", ["a"])
    return found


@pytest.mark.parametrize(
    ("value", "bins", "level"),
    [
        (0.0, 2, 0.0),
        (0.49, 2, 0.0),
        (0.5, 2, 1.0),
        (1.0, 2, 1.0),
        (0.25, 3, 0.5),
        (0.24, 3, 0.0),
        (0.75, 3, 1.0),
        (0.5, 20, 10 / 19),
        (0.85, 20, 16 / 19),
        (0.85, 101, 0.85),
    ],
)
def test_a_score_goes_to_the_nearest_level(value, bins, level):
    """Levels are k / (bins - 1); half-way scores go up."""
    assert rounded(value, bins) == Score(level)


@given(st.floats(0, 1), st.integers(2, 200))
def test_rounding_moves_a_score_by_half_a_step_at_most(value, bins):
    """A level is never further away than half a step, and rounding it again changes nothing."""
    level = rounded(value, bins).value
    assert abs(level - value) <= 0.5 / (bins - 1) + 1e-12
    assert 0 <= level <= 1
    assert rounded(level, bins).value == level


@pytest.mark.parametrize("value", [-0.01, 1.01, 85, 1e300])
def test_a_score_off_the_scale_is_unscored(value):
    """What lies beyond 0 or 1 is never moved onto the scale."""
    assert rounded(value, 20).reason == f"{value:g} lies off [0, 1]"


def test_unscored_stays_unscored():
    """A reason passes through."""
    assert Quantized(Length()).judge("p", [""]) == (Unscored("empty answer"),)


def test_questions_and_preferences_are_the_inner_judge_s():
    """Only scores are rounded: 0.75 goes to 1 of three levels, and the comparisons stay."""
    inner, judge = Pairwise("openai/m"), Quantized(Pairwise("openai/m"), bins=3)
    assert isinstance(judge, AskingJudge)
    assert judge.asks("p", ["a", "b"]) == inner.asks("p", ["a", "b"])
    replies = [["A"], ["TIE"]]
    found, plain = (answered(one, "p", ["a", "b"], replies) for one in (judge, inner))
    assert [one.value for one in plain.verdicts] == [0.75, 0.25]
    assert found.verdicts == (Score(1.0), Score(0.5))
    assert found.preferences == plain.preferences


def test_intervals_are_rounded_in_the_same_way():
    """Ends go to levels too, so that they still enclose the score."""
    reply = '{"score": 70, "low": 60, "high": 85}'
    (found,) = answered(Quantized(Interval("openai/m"), bins=11), "p", ["a"], [[reply]]).verdicts
    assert (found.low, found.value, found.high) == (0.6, 0.7, 0.9)


def test_draws_are_rounded_one_by_one():
    """The draws behind a mean go to levels, None stays None, and an end beyond the scale stays beyond it."""
    judge = Quantized(Resampled(Pointwise("openai/m"), draws=3), bins=2)
    (found,) = answered(judge, "p", ["a"], [["40", "none", "90"]]).verdicts
    assert (found.value, found.draws) == (1.0, (0.0, None, 1.0))
    assert found.low < 0
    assert found.high > 1


def test_an_asynchronous_judge_is_awaited():
    """The scores of an asynchronous judge are rounded when they arrive."""

    class Waiting:
        name, version = "waiting", "1"

        async def judge(self, _prompt, candidates):
            return [Score(0.6) for _ in candidates]

    async def main():
        return await Quantized(Waiting(), bins=2).judge("p", ["a", "b"])

    assert asyncio.run(main()) == (Score(1.0), Score(1.0))


def test_the_name_makes_the_judge():
    """The name holds the bins and the inner judge, and the calls are the inner judge's."""
    judge = Quantized(Pointwise("openai/x", prompt="pointwise-reason"))
    assert judge.name == "quantized,bins=20,of=pointwise,prompt=pointwise-reason:openai/x"
    assert judge.version.startswith(judge.of.version)
    assert (judge.calls(4), Quantized(Length()).calls(4)) == (4, 0)


@pytest.mark.parametrize("bins", [1, 0, -3, 2.5, True, "20"])
def test_too_few_levels_are_refused(bins):
    """Fewer than two levels, or what is not a whole number, is a usage error."""
    with pytest.raises(UsageError):
        Quantized(Length(), bins=bins)

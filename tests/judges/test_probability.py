from __future__ import annotations

import pytest

from bonwise.errors import UsageError
from bonwise.judges.comparing import Probability
from bonwise.table.verdicts import Preference, Score, Unscored
from judges.replies import answered

JUDGE = Probability("openai/m")


def test_probabilities_are_turned_round_for_the_other_order():
    """By hand: x is better with 0.8 shown first, 1 - 0.4 shown second; x scores 0.7 and y 0.3."""
    found = answered(JUDGE, "p", ["x", "y"], [['{"probability": 0.8}'], ["40%"]])
    (pair,) = found.preferences
    assert (pair.shown_first, pair.shown_second) == (0.8, pytest.approx(0.6))
    assert pair.order_effect == pytest.approx(0.2)
    assert [one.value for one in found.verdicts] == [pytest.approx(0.7), pytest.approx(0.3)]


def test_scores_are_means_over_pairs():
    """By hand, in one order: 0.9 against y and 0.6 against z; y against z 0.5."""
    replies = [["0.9"], ["0.1"], ["0.6"], ["0.4"], ["0.5"], ["0.5"]]
    found = answered(JUDGE, "p", ["x", "y", "z"], replies).verdicts
    assert [one.value for one in found] == [pytest.approx(0.75), pytest.approx(0.3), pytest.approx(0.45)]


def test_an_unreadable_order_is_kept_as_such():
    """A probability off the scale is unscored in its order, and the other order is the value of the pair."""
    found = answered(JUDGE, "p", ["x", "y"], [["1.5"], ["0.25"]])
    assert found.preferences == (Preference(0, 1, Unscored("off the scale 0 to 1: 1.5", "1.5"), 0.75),)
    assert found.verdicts == (Score(0.75), Score(0.25))


def test_a_single_order_halves_the_calls():
    """Four candidates make twelve questions in both orders, six in one."""
    assert (JUDGE.calls(4), Probability("openai/m", orders=1).calls(4)) == (12, 6)
    with pytest.raises(UsageError):
        Probability("openai/m", orders="both")

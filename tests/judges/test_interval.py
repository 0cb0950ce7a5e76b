from __future__ import annotations

import pytest

from bonwise.judges.pointwise import Interval
from bonwise.table.verdicts import Score, Unscored
from judges.replies import answered


def test_a_score_has_its_interval():
    """All three numbers are divided by 100."""
    replies = [['{"score": 70, "low": 60, "high": 85}'], ['{"score": 0, "low": 0, "high": 0}']]
    found = answered(Interval("openai/m"), "p", ["a", "b"], replies).verdicts
    assert found == (Score(0.7, low=0.6, high=0.85), Score(0.0, low=0.0, high=0.0))
    assert [one.width for one in found] == [pytest.approx(0.25), 0.0]


def test_a_score_outside_its_interval_is_none():
    """A score beyond its own ends, and an end that is missing, leave the candidate unscored."""
    replies = [['{"score": 90, "low": 60, "high": 85}'], ['{"score": 70}']]
    found = answered(Interval("openai/m"), "p", ["a", "b"], replies).verdicts
    assert all(isinstance(one, Unscored) for one in found)
    assert "outside its interval" in found[0].reason


def test_the_prompt_asks_for_whole_numbers():
    """The built-in prompt asks for whole numbers, and fractions are none."""
    (found,) = answered(Interval("openai/m"), "p", ["a"], [['{"score": 70.5, "low": 60, "high": 80}']]).verdicts
    assert found.reason == "score: no whole number: 70.5"

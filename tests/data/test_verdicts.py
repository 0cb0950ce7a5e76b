from __future__ import annotations

import math

import pytest

from bonwise.data.verdicts import Score, Unscored


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_score_is_finite(value):
    """What is no finite number is no score: it has to be said as unscored, with a reason."""
    with pytest.raises(ValueError, match="use Unscored"):
        Score(value)


def test_verdicts_are_values():
    """Equal verdicts are one, and none can be changed afterwards."""
    assert {Score(0.5), Score(0.5), Unscored("blank"), Unscored("blank")} == {Score(0.5), Unscored("blank")}
    with pytest.raises(AttributeError):
        Score(0.5).value = 1.0

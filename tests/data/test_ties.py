from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.stats import sums
from bonwise.table.verdicts import TIE_DECIMALS, Preference, preferred, rounded


def test_decimals_are_those_of_the_audit():
    """What ties when a winner is picked ties in an audit too."""
    assert TIE_DECIMALS == sums.TIE_DECIMALS


@given(st.floats(-1e6, 1e6), st.integers(0, 5))
def test_scores_are_rounded_as_numpy_rounds(value, shift):
    """A score is compared as the audit compares it, to the last bit."""
    value += shift * 10.0**-TIE_DECIMALS / 2
    assert rounded(value) == np.round(value, TIE_DECIMALS)


@pytest.mark.parametrize("value", [1e15, -1e300, 1.7976931348623157e308, 0.0, -0.0, 5e-324])
def test_extreme_scores_stay_numbers(value):
    """No finite score becomes infinite by being rounded."""
    assert np.isfinite(rounded(value))
    assert rounded(value) == pytest.approx(value, abs=1e-9)


@given(st.integers(0, 100))
def test_a_verdict_and_its_mirror_image_prefer_the_same_candidate(hundredths):
    """A judge that says p of one order and 1 - p of the other has one verdict in both orders."""
    stated = hundredths / 100
    assert preferred(stated) == -preferred(1 - stated)
    assert Preference(0, 1, stated, 1 - (1 - stated)).verdict_changes is False


@pytest.mark.parametrize(
    ("first", "second", "changes"),
    [
        (0.9, 0.6, False),  # surer when shown first, for the same candidate
        (0.6, 0.4, True),
        (0.5, 0.6, True),  # a tie is a preference of its own
        (0.5, 0.5 + 1e-12, False),
        (0.5, None, None),
    ],
)
def test_the_verdict_changes_where_another_candidate_is_preferred(first, second, changes):
    """A change of strength alone changes no verdict."""
    assert Preference(0, 1, first, second).verdict_changes is changes

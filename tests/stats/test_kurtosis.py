from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.stats.jackknife import kurtosis_df


@pytest.mark.parametrize(
    ("contributions", "df"),
    [
        ([-1, 1] * 10, 19),  # 3 * 20^2 / 20 - 1 = 59, more than 20 units allow
        ([1] + [0] * 19, 3),  # one prompt alone: 3 * .95^2 / (.95^4 + 19 * .05^4) - 1 < 3
        ([0, 0, 0], 2),  # nothing varies
        ([0, 1], 1),
        ([-2, -1, 0, 0, 0, 0, 0, 0, 0, 1, 2], 3 * 100 / 34 - 1),
    ],
)
def test_worked_by_hand(contributions, df):
    """Degrees of freedom follow from sums of squares and of fourth powers."""
    assert kurtosis_df(np.array(contributions, dtype=float)) == pytest.approx(df)


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=40), st.floats(0.1, 100), st.floats(-100, 100))
def test_bounds(values, scale, shift):
    """Never below 3 nor above the units less 1, whatever the unit of measurement."""
    x = np.array(values)
    df = kurtosis_df(x)
    assert min(3, len(x) - 1) <= df <= len(x) - 1
    if x.std() > 1e-2:
        assert kurtosis_df(scale * x + shift) == pytest.approx(df, rel=1e-4)

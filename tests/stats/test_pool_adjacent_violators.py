from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from bonwise.stats.level_bias import pool_adjacent_violators
from stats.pools import GRID

NUMBERS = st.one_of(st.sampled_from(GRID), st.floats(-1e6, 1e6), st.floats(-1e-12, 1e-12))
CELLS = st.lists(st.tuples(NUMBERS, st.one_of(st.integers(1, 9).map(float), st.floats(1e-3, 1e3))), min_size=1)


def plain(values, weights):
    """Fit by the max-min formula: the largest over starts of the smallest mean over ends."""
    n = len(values)

    def mean(start, end):
        return np.average(values[start:end], weights=weights[start:end])

    return [max(min(mean(i, j) for j in range(k + 1, n + 1)) for i in range(k + 1)) for k in range(n)]


@given(CELLS)
def test_scipy_gives_the_same_bits(cells):
    """Each height is that of scipy's isotonic regression, to the last bit."""
    values, weights = np.array(cells).T
    kept = values.tobytes(), weights.tobytes()
    found = pool_adjacent_violators(values, weights)
    assert found.tobytes() == isotonic_regression(values, weights=weights).x.tobytes()
    assert (values.tobytes(), weights.tobytes()) == kept


@given(st.lists(st.tuples(st.sampled_from(GRID), st.integers(1, 9).map(float)), min_size=1, max_size=12))
def test_a_plain_loop_gives_the_same(cells):
    """Each height is that of the max-min formula."""
    values, weights = np.array(cells).T
    assert pool_adjacent_violators(values, weights).tolist() == pytest.approx(plain(values, weights), abs=1e-12)


@pytest.mark.parametrize("shape", ["falling", "rising", "noise", "saw"])
def test_long_columns_are_fitted_alike(shape):
    """20,000 values in every order that makes blocks long or many have scipy's heights, to the last bit."""
    rng = np.random.default_rng(20261122)
    line, noise = np.arange(20_000.0), rng.normal(size=20_000)
    values = {"falling": -line, "rising": line, "noise": noise, "saw": line % 100 + 0.1 * noise}[shape]
    weights = rng.uniform(0.5, 2.0, size=20_000)
    expected = isotonic_regression(values, weights=weights).x
    assert pool_adjacent_violators(values, weights).tobytes() == expected.tobytes()

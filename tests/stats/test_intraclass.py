"""The correlation within clusters and its upper end."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bonwise.stats.clusters import intraclass_correlation, typical_size, upper_correlation


def test_the_upper_end_by_hand():
    """Three pairs: F is .5 / (2 / 3), over its .2 quantile with 2 and 3 degrees, minus 1, over itself plus m - 1."""
    values, clusters = np.array([1.0, 2.0, 2.0, 3.0, 1.0, 3.0]), np.array([0, 0, 1, 1, 2, 2])
    within = (0.5 + 0.5 + 2.0) / 3
    between = 2 * ((1.5 - 2) ** 2 + (2.5 - 2) ** 2) / 2
    F = between / within / stats.f.ppf(0.2, 2, 3)
    assert upper_correlation(values, clusters, 0.8) == pytest.approx((F - 1) / (F + 1))
    assert intraclass_correlation(values, clusters) == 0.0


def test_where_there_is_nothing_to_tell():
    """Clusters of one prompt each, and a single cluster, have no correlation and no upper end."""
    for clusters in (np.arange(5), np.zeros(5, dtype=int)):
        assert upper_correlation(np.arange(5.0), clusters, 0.8) == 0.0
    assert typical_size(np.array([0, 0, 0, 1])) == 2.5


@pytest.mark.parametrize(("rho", "groups"), [(0.1, 6), (0.4, 9)])
def test_the_upper_end_holds_as_often_as_it_says(rho, groups):
    """Of 1,500 normal tables four in five have an upper end above the truth."""
    rng, clusters = np.random.default_rng(11), np.repeat(np.arange(groups), 3)
    held = 0
    for _ in range(1500):
        common = np.repeat(rng.standard_normal(groups), 3)
        values = np.sqrt(rho) * common + np.sqrt(1 - rho) * rng.standard_normal(3 * groups)
        held += upper_correlation(values, clusters, 0.8) >= rho
    assert held / 1500 == pytest.approx(0.8, abs=0.032)

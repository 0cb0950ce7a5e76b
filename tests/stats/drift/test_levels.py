from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from bonwise.watching.levels import highest_share, level_over, lowest_recovery, lowest_share, neighbour_correlation
from stats.drift.laws import SIX, picks_of


def test_a_mean_of_equal_days_is_student_s_interval():
    """Days of .2, .4, .3, .3 and ten picks each: .3 +- t(3) sd / 2."""
    level = level_over(np.array([2.0, 4.0, 3.0, 3.0]), np.full(4, 10.0), np.full(4, 10.0), 0.95)
    half = stats.t.ppf(0.975, 3) * np.std([0.2, 0.4, 0.3, 0.3], ddof=1) / 2
    assert (level.estimate, level.low, level.high) == pytest.approx((0.3, 0.3 - half, 0.3 + half), rel=1e-9)


def test_a_level_without_an_interval_says_why():
    """Too few days, days that are all alike, and no pick at all."""
    assert (
        level_over(np.array([1.0, 2.0]), np.full(2, 5.0), np.full(2, 5.0), 0.95).reason
        == "an interval needs 3 periods"
    )
    assert level_over(np.zeros(5), np.full(5, 5.0), np.full(5, 5.0), 0.95).reason == "all periods are alike"
    assert level_over(np.zeros(5), np.zeros(5), np.zeros(5), 0.95).estimate is None


def test_bounds_by_hand():
    """No hit of 400: 1 - .025^(1/400); a recovery less t times its standard error, and of no loss in 60 draws."""
    assert highest_share(0.0, 0.0, 400, 0.025) == pytest.approx(1 - 0.025 ** (1 / 400), rel=1e-9)
    assert lowest_share(1.0, 0.0, 400, 0.025) == pytest.approx(0.025 ** (1 / 400), rel=1e-9)
    student = 0.6 + stats.t.ppf(0.025, 99) * 0.08
    assert lowest_recovery(0.6, 0.08, 100, 100.0, 0.025) == pytest.approx(student, rel=1e-9)
    assert lowest_recovery(-0.1, 0.0, 100, 60.0, 0.025) == pytest.approx(-0.1, rel=1e-9)
    assert lowest_recovery(1.0, 0.0, 100, 60.0, 0.025) == pytest.approx(0.025 ** (1 / 60), rel=1e-9)


def test_striking_neighbours_are_told():
    """Blocks of days are; independent days are not."""
    assert neighbour_correlation(np.repeat([1.0, 2.0, 1.0, 2.0], 10)) == pytest.approx(0.9, abs=0.1)
    assert neighbour_correlation(np.random.default_rng(3).normal(size=60)) is None
    assert neighbour_correlation(np.arange(10.0)) is None


@pytest.mark.parametrize("name", ["tie rate", "margin", "order effect", "length"])
def test_intervals_hold_over_correlated_picks(name):
    """With 30 days whose picks depend on each other the intervals hold at the stated rate."""
    law, held = SIX[name], []
    for replication in range(200):
        u, v, day = picks_of(law, 30, np.random.default_rng((11, replication)))
        sums = [np.bincount(day, weights=values) for values in (u, v)]
        level = level_over(*sums, np.bincount(day), 0.95, share=law.kind == "share")
        held.append(level.low <= law.level <= level.high)
    assert np.mean(held) > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 200)

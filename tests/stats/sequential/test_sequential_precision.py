from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bonwise.stats.laws import Fieller
from bonwise.stats.sequential.running_ratio import RunningRatio, influence_kurtosis
from bonwise.stats.sequential.sequential_precision import first_look, looks, precision_limits
from golden_tables import golden
from stats.arrivals import RECOVERY, running
from stats.nominal import clopper_pearson

FULL, THIN = 2000, 200
CELLS = {float(row["half_width"]): row for row in golden("sequential_precision")}
ENOUGH = {0.10: 800, 0.06: 1500}
"""Prompts that are more than enough for a half-width."""

pairs = st.lists(
    st.tuples(st.floats(-1, 1).map(lambda x: round(x, 3)), st.floats(0, 1).map(lambda x: round(x, 3))),
    min_size=2,
    max_size=30,
)


def stopped(half_width, replication):
    """Return the number of labels at the stop, and whether the interval there holds the truth."""
    planned, prompts = int(CELLS[half_width]["fixed"]), ENOUGH[half_width]
    numbers = looks(first_look(planned), prompts)
    low, high = precision_limits(running(prompts, replication).at(numbers), 0.95)
    narrow = (high - low) / 2 <= half_width
    assert narrow.any()
    at = narrow.argmax()
    return numbers[at], low[at] <= RECOVERY <= high[at]


def assert_held(half_width, replications):
    """Fail where the 99 % interval of the coverage lies below .94, or off the golden labels and coverage."""
    labels, held = zip(*(stopped(half_width, one) for one in range(replications)), strict=True)
    print(half_width, np.mean(labels), np.mean(held))  # noqa: T201 - the measured figures
    low, high = clopper_pearson(sum(held), replications)
    assert high >= 0.94
    # The golden coverage is itself of 400 studies: three of its standard errors.
    assert low - 0.033 <= float(CELLS[half_width]["coverage"]) <= high + 0.033
    assert np.mean(labels) == pytest.approx(float(CELLS[half_width]["labels"]), rel=0.05)


@given(pairs)
def test_every_look_is_fieller_on_the_prompts_so_far(values):
    """All looks at once by cumulative sums equal Fieller's interval computed prompt set by prompt set."""
    numerator, denominator = np.array(values).T
    low, high = precision_limits(RunningRatio.of(numerator, denominator).at(np.arange(2, len(values) + 1)), 0.95)
    for m in range(2, len(values) + 1):
        a, b = numerator[:m], denominator[:m]
        if b.mean() == 0:
            assert np.isnan(low[m - 2])
            continue
        covariance = np.cov(a, b) / m * (1 + 10 / m)
        if np.std(a - a.mean() / b.mean() * b) < 1e-4:
            continue  # what does not vary, but for rounding
        ends = Fieller(a.mean(), b.mean(), *covariance.ravel()[[0, 1, 3]], m - 1).at(0.95)
        lead = b.mean() ** 2 - stats.t.ppf(0.975, m - 1) ** 2 * covariance[1, 1]
        if abs(lead) < 1e-6 * b.mean() ** 2:
            continue  # on the verge of unbounded rounding decides
        if ends is None:
            assert np.isnan(low[m - 2])
        else:
            np.testing.assert_allclose([low[m - 2], high[m - 2]], ends, rtol=1e-5, atol=1e-7)


def test_the_interval_by_hand():
    """Constant denominators of 1, numerators 0 and 2 in 20 prompts each: 1 +- t(39) sqrt((40/39)/40 (1 + 10/40))."""
    low, high = precision_limits(RunningRatio.of(np.tile([0.0, 2.0], 20), np.ones(40)).at(np.array([40])), 0.95)
    half = stats.t.ppf(0.975, 39) * np.sqrt(1 / 39 * 1.25)
    np.testing.assert_allclose([low[0], high[0]], [1 - half, 1 + half], rtol=1e-12)


def test_the_first_look_is_late():
    """Never before 30, and not before a tenth of what is planned."""
    assert [first_look(planned) for planned in (None, 30, 300, 301, 5000)] == [30, 30, 30, 31, 500]
    assert looks(31, 60).tolist() == [31, 41, 51]
    assert not looks(31, 30).size


def test_prompts_that_recover_alike_give_no_interval():
    """No spread seen is no spread known: nothing is precise enough without it."""
    low, _ = precision_limits(RunningRatio.of(np.full(40, 0.5), np.full(40, 0.5)).at(np.array([40])), 0.95)
    assert np.isnan(low[0])


def test_heavy_tails_are_seen():
    """One prompt in fifty with all the influence has a kurtosis of about fifty; equal ones have 1, the least."""
    few = np.zeros(50)
    few[7] = 1.0
    assert influence_kurtosis(few, np.ones(50)) == pytest.approx(48.02, abs=0.1)
    assert influence_kurtosis(np.tile([0.0, 1.0], 25), np.ones(50)) == pytest.approx(1.0)
    assert np.isnan(influence_kurtosis(np.zeros(5), np.zeros(5)))


@pytest.mark.parametrize("half_width", list(CELLS))
def test_stopping_on_precision_keeps_the_coverage(half_width):
    """Over 200 simulated studies the interval at the stop is not shown to cover below 94 %."""
    assert_held(half_width, THIN)


@pytest.mark.slow
@pytest.mark.parametrize("half_width", list(CELLS))
def test_stopping_on_precision_keeps_the_coverage_over_many_studies(half_width):
    """Over 2,000 simulated studies the 99 % interval of the coverage at the stop does not lie below 94 %."""
    assert_held(half_width, FULL)

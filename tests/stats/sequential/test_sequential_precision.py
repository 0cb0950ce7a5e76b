from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bonwise.stats.jackknife import kurtosis_df
from bonwise.stats.laws import Fieller
from bonwise.stats.repeated_looks import first_look, looks, precision_limits
from bonwise.stats.running_ratio import RunningRatio
from bonwise.stats.sums import Sums
from golden_tables import golden
from judge_laws import LAWS, sums_of, truth
from stats.arrivals import RECOVERY, running
from stats.nominal import clopper_pearson

FULL, THIN = 2000, 200
CELLS = {float(row["half_width"]): row for row in golden("sequential_precision")}
ENOUGH = {0.10: 800, 0.06: 1500}
"""Prompts that are more than enough for a half-width."""


def tenths(least):
    """Draw numbers that sums keep apart."""
    return st.integers(10 * least, 10).map(lambda x: x / 10)


def stopped(half_width, replication):
    """Return the number of labels at the stop, and whether the interval there holds the truth."""
    planned, prompts = int(CELLS[half_width]["fixed"]), ENOUGH[half_width]
    return stop_of(running(prompts, replication), half_width, RECOVERY, first_look(planned))


def stop_of(arrived, half_width, truth, first=30):
    """Return the same of any prompts as they arrive."""
    numbers = looks(first, arrived)
    low, high = precision_limits(arrived.at(numbers), 0.95)
    narrow = (high - low) / 2 <= half_width
    assert narrow.any()
    at = narrow.argmax()
    return numbers[at], low[at] <= truth <= high[at]


def assert_held(half_width, replications):
    """Fail where the 99 % interval of the coverage lies below .94, or off the golden labels and coverage."""
    labels, held = zip(*(stopped(half_width, one) for one in range(replications)), strict=True)
    print(half_width, np.mean(labels), np.mean(held))  # noqa: T201 - the measured figures
    low, high = clopper_pearson(sum(held), replications)
    assert high >= 0.94
    # The golden coverage is itself of 400 studies: three of its standard errors.
    assert low - 0.033 <= float(CELLS[half_width]["coverage"]) <= high + 0.033
    assert np.mean(labels) == pytest.approx(float(CELLS[half_width]["labels"]), rel=0.05)


@given(st.lists(st.tuples(tenths(-1), tenths(0), st.integers(0, 8)), min_size=2, max_size=30), st.booleans())
def test_every_look_is_fieller_on_the_units_so_far(rows, clustered):
    """All looks at once by cumulative sums equal Fieller's interval computed set by set, of prompts or clusters."""
    numerator, denominator, clusters = np.array(rows).T
    clusters = clusters.astype(np.int64) if clustered else np.arange(len(rows))
    found = RunningRatio.of(numerator, denominator, clusters if clustered else None)
    low, high = precision_limits(found.at(np.arange(2, len(rows) + 1)), 0.95)
    for n in range(2, len(rows) + 1):
        a, b = (
            [side[:n][clusters[:n] == one].sum() for one in set(clusters[:n])] for side in (numerator, denominator)
        )
        assert found.telling[n - 1] == sum(y > 0 and abs(x) > 1e-9 for x, y in zip(a, b, strict=True))
        m = len(a)
        assert found.count[n - 1] == m
        if m < 2 or sum(b) == 0:
            assert np.isnan(low[n - 2])
            continue
        influence = np.array(a) - sum(a) / sum(b) * np.array(b)
        if np.std(influence) < 1e-3:
            continue  # what does not vary, but for rounding
        df = kurtosis_df(influence)
        np.testing.assert_allclose(found.kurtosis[n - 1], kurtosis(influence), rtol=1e-6)
        covariance = np.cov(a, b) / m * (1 + 10 / m)
        ends = Fieller(np.mean(a), np.mean(b), *covariance.ravel()[[0, 1, 3]], df).at(0.95)
        lead = np.mean(b) ** 2 - stats.t.ppf(0.975, df) ** 2 * covariance[1, 1]
        if abs(lead) < 1e-6 * np.mean(b) ** 2:
            continue  # on the verge of unbounded rounding decides
        if ends is None:
            assert np.isnan(low[n - 2])
        else:
            np.testing.assert_allclose([low[n - 2], high[n - 2]], ends, rtol=1e-5, atol=1e-6)


def kurtosis(d):
    """Return the mean fourth power of what differs from its mean over the squared mean square."""
    return len(d) * np.sum((d - d.mean()) ** 4) / np.sum((d - d.mean()) ** 2) ** 2


def test_the_interval_by_hand():
    """Constant denominators of 1, numerators 0 and 2 in 20 prompts each: 1 +- t(39) sqrt((40/39)/40 (1 + 10/40))."""
    low, high = precision_limits(RunningRatio.of(np.tile([0.0, 2.0], 20), np.ones(40)).at(np.array([40])), 0.95)
    half = stats.t.ppf(0.975, 39) * np.sqrt(1 / 39 * 1.25)
    np.testing.assert_allclose([low[0], high[0]], [1 - half, 1 + half], rtol=1e-12)


def test_the_first_look_is_late():
    """Never before 30, and not before a tenth of what is planned."""
    assert [first_look(planned) for planned in (None, 30, 300, 301, 5000)] == [30, 30, 30, 31, 500]
    changing = RunningRatio.of(np.tile([1.0, -1.0], 30), np.ones(60))
    assert looks(31, changing).tolist() == [31, 41, 51]
    assert not looks(31, changing.at(np.arange(1, 31))).size


def test_the_first_look_waits_for_prompts_in_which_the_pick_changes_something():
    """The 20th of them comes with prompt 39 or 77; a gain of rounding size is none."""
    every_other = RunningRatio.of(np.tile([0.0, 1.0], 40), np.ones(80))
    assert looks(30, every_other).tolist() == [40, 50, 60, 70, 80]
    every_fourth = RunningRatio.of(np.tile([0.0, 1e-17, 0.0, -1.0], 25), np.ones(100))
    assert looks(30, every_fourth).tolist() == [80, 90, 100]
    nothing_to_gain = RunningRatio.of(np.ones(100), np.tile([0.0, 1.0], 50))
    assert looks(30, nothing_to_gain).tolist() == [40, 50, 60, 70, 80, 90, 100]


def test_prompts_that_recover_alike_give_no_interval():
    """No spread seen is no spread known: nothing is precise enough without it."""
    low, _ = precision_limits(RunningRatio.of(np.full(40, 0.5), np.full(40, 0.5)).at(np.array([40])), 0.95)
    assert np.isnan(low[0])


def test_heavy_tails_are_seen():
    """One prompt in fifty with all the influence has a kurtosis of about fifty; equal ones have 1, the least."""
    few = np.zeros(50)
    few[7] = 1.0
    seen = [
        RunningRatio.of(*values).kurtosis[-1]
        for values in ((few, np.ones(50)), (np.tile([0.0, 1.0], 25), np.ones(50)))
    ]
    assert seen == [pytest.approx(48.02, abs=0.1), pytest.approx(1.0)]
    assert np.isnan(RunningRatio.of(np.zeros(5), np.zeros(5)).kurtosis[-1])


@pytest.mark.parametrize("half_width", list(CELLS))
def test_stopping_on_precision_keeps_the_coverage(half_width):
    """Over 200 simulated studies the interval at the stop is not shown to cover below 94 %."""
    assert_held(half_width, THIN)


@pytest.mark.slow
@pytest.mark.parametrize("half_width", list(CELLS))
def test_stopping_on_precision_keeps_the_coverage_over_many_studies(half_width):
    """Over 2,000 simulated studies the 99 % interval of the coverage at the stop does not lie below 94 %."""
    assert_held(half_width, FULL)


STOPS = {
    "ties90": (0.1, 2500),
    "rare": (0.2, 2500),
    "likert": (0.1, 1500),
    "binary": (0.15, 1500),
    "graded": (0.15, 2500),
}
"""By law: the half-width, and prompts that are more than enough for it."""


def stop_on_a_law(name, replication):
    """Return labels at the stop and whether its interval holds the recovery of the law."""
    half_width, prompts = STOPS[name]
    rng = np.random.default_rng([20261123, list(STOPS).index(name), replication])
    t = Sums(*sums_of(*LAWS[name](rng, prompts)))
    return stop_of(RunningRatio.of(t.J - t.R, t.M - t.R), half_width, truth(name)["recovery"])


def stops_on_a_law(name, replications):
    """Return the share of stops whose interval holds the truth, the count of them, and the median of labels."""
    labels, held = zip(*(stop_on_a_law(name, one) for one in range(replications)), strict=True)
    print(name, np.median(labels), np.mean(held))  # noqa: T201 - the measured figures
    return sum(held), np.median(labels)


@pytest.mark.parametrize("name", STOPS)
def test_stops_hold_where_few_prompts_tell(name):
    """Over 100 studies the 99 % interval of the coverage at the stop reaches 94 %."""
    held, _ = stops_on_a_law(name, 100)
    assert clopper_pearson(held, 100)[1] >= 0.94


@pytest.mark.slow
@pytest.mark.parametrize("name", STOPS)
def test_stops_hold_where_few_prompts_tell_over_many_studies(name):
    """Over 2,000 studies the coverage at the stop is .92 or more."""
    held, _ = stops_on_a_law(name, FULL)
    assert clopper_pearson(held, FULL)[1] >= 0.93

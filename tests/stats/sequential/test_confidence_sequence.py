from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.stats.repeated_looks import EARLIEST, mixture_variance, sequence_limits, sides, squared_critical
from bonwise.stats.running_ratio import RunningRatio
from golden_tables import golden
from stats.arrivals import running
from stats.nominal import clopper_pearson

FULL, THIN = 2000, 200

(PEEKING,) = (row for row in golden("sequential_naive_peeking") if row["question"] == "recovery")
PROMPTS, STEP, NAIVE = int(PEEKING["until"]), int(PEEKING["every"]), float(PEEKING["false_claims"])


def claims(replications):
    """Return the shares of studies of a blind judge that ever claim something, by rule and first look."""
    found = dict.fromkeys(("from 30", "from 200", "naive"), 0)
    for replication in range(replications):
        blind = running(PROMPTS, replication, blind=True)
        out = sides(blind, 0.0, 400, 0.95) != 0
        found["from 30"] += bool(out[29:].any())
        found["from 200"] += bool(out[EARLIEST - 1 :].any())
        found["naive"] += naive(blind)
    return {rule: count / replications for rule, count in found.items()}


def naive(blind):
    """Peek every ten labels at the ordinary 95 % interval, and claim whatever it once excludes."""
    mean, se = blind.at(np.arange(STEP, PROMPTS + 1, STEP)).gap(0.0)
    return bool((np.abs(mean) > 1.96 * se).any())


def test_the_critical_value_by_hand():
    """The formula in plain numbers: k2 = (5.99146 + ln 6.99146)/400 and m = 200."""
    doubled = -2 * math.log(0.05)
    k2 = (doubled + math.log(1 + doubled)) / 400
    assert mixture_variance(400, 0.95) == pytest.approx(k2, rel=1e-12)
    expected = (200 * k2 + 1) / (200 * k2) * math.log((200 * k2 + 1) / 0.05**2)
    assert squared_critical(np.array([200.0]), 400, 0.95)[0] == pytest.approx(expected, rel=1e-12)
    assert expected == pytest.approx(9.508, abs=5e-4)


@given(st.integers(100, 2000))
def test_the_sequence_is_narrowest_about_its_target(target):
    """At the target the critical value is within 1 % of the least that any mixture reaches there."""
    m = np.array([float(target)])
    others = [squared_critical(m, target * scale, 0.95)[0] for scale in np.geomspace(0.2, 5, 200)]
    assert squared_critical(m, target, 0.95)[0] <= 1.01 * min(others)


@given(st.integers(3, 60), st.integers(0, 10_000), st.floats(-0.5, 0.9))
def test_a_side_is_where_the_interval_lies(prompts, seed, than):
    """Where the interval is bounded, a ratio is left out on one side exactly where it lies beyond that end."""
    chance = np.random.default_rng(seed)
    arrived = RunningRatio.of(chance.normal(0.1, 0.05, prompts), chance.uniform(0.3, 0.7, prompts))
    low, high = sequence_limits(arrived, 40, 0.95)
    side = sides(arrived, than, 40, 0.95)
    for m in range(2, prompts):
        if np.isfinite(low[m]) and min(abs(than - low[m]), abs(than - high[m])) > 1e-9:
            assert side[m] == (1 if than < low[m] else -1 if than > high[m] else 0)


@given(st.integers(2, 40), st.integers(0, 10_000))
def test_the_ends_solve_the_equation(prompts, seed):
    """At an end the mean of psi is the critical value times its standard error, in plain loops."""
    chance = np.random.default_rng(seed)
    numerator, denominator = chance.normal(0.1, 0.2, prompts), chance.uniform(0.3, 0.7, prompts)
    low, high = sequence_limits(RunningRatio.of(numerator, denominator), 100, 0.95)
    for m in range(2, prompts + 1):
        for r in (low[m - 1], high[m - 1]):
            if np.isfinite(r) and abs(r) < 100:
                psi = [numerator[i] - r * denominator[i] for i in range(m)]
                mean = sum(psi) / m
                variance = sum((one - mean) ** 2 for one in psi) / (m - 1)
                critical = float(squared_critical(np.array([float(m)]), 100, 0.95)[0])
                assert mean**2 == pytest.approx(critical * variance / m, rel=1e-5, abs=1e-12)


def test_no_spread_is_no_claim():
    """A judge that ties everything gains nothing on any prompt, and nothing is claimed of it."""
    assert not sides(RunningRatio.of(np.zeros(300), np.full(300, 0.5)), 0.0, 400, 0.95).any()


def test_a_claim_does_not_wait_for_a_bounded_interval():
    """Where the denominator cannot be told from 0 the numerator still can."""
    numerator, denominator = np.tile([0.9, 1.1], 10), np.zeros(20)
    denominator[3] = 1.0
    arrived = RunningRatio.of(numerator, denominator)
    assert np.isnan(sequence_limits(arrived, 20, 0.95)[0][-1])
    assert sides(arrived, 0.0, 20, 0.95)[-1] == 1


def test_a_blind_judge_is_seldom_claimed_to_be_good():
    """Over 200 studies looked at after every label false claims stay rare; peeking at plain intervals makes many."""
    found = claims(THIN)
    assert clopper_pearson(round(THIN * found["from 200"]), THIN)[0] <= 0.05, found
    assert found["from 200"] <= found["from 30"] <= 0.08
    assert found["naive"] == pytest.approx(NAIVE, abs=0.12)


@pytest.mark.slow
def test_a_blind_judge_is_claimed_to_be_good_as_often_as_allowed():
    """Over 2,000 studies at most 5 % from 200 labels on, and 6 % from 30; naive peeking as the golden table."""
    found = claims(FULL)
    print(found)  # noqa: T201 - the measured figures
    assert found["from 200"] <= 0.05
    assert found["from 30"] <= 0.06
    assert found["naive"] == pytest.approx(NAIVE, abs=0.08)

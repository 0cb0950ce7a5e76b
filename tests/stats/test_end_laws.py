"""Gates near the ends of a range, by exact enumeration; rare events and heavy tails, by simulation."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest
from scipy import stats

from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimation import IntervalRule, estimate
from bonwise.stats.laws import EffectiveShare
from bonwise.stats.sums import prompt_sums
from golden_tables import golden
from judge_laws import LAWS, sums_of, truth
from stats.nominal import clopper_pearson

GATES = golden("end_gates")
(HIT_RATE,) = (e for e in ESTIMANDS if e.name == "hit_rate")


@cache
def ends(n, confidence=0.9):
    """Return the hit rate's interval with k of n hits, for every k: its ends at that confidence."""
    found = []
    for hits in range(n + 1):
        # A judge that picks the first of two candidates, and is right as often.
        labels = np.where(np.arange(n) < hits, 1.0, 0.0)
        sums = prompt_sums(np.tile([1.0, 0.0], n), np.column_stack((labels, 1 - labels)).ravel(), np.full(n, 2))
        found.append(estimate([HIT_RATE], sums, IntervalRule(confidence=confidence))["hit_rate"])
    return found


def passed(truth, n, lows):
    """Return the chance that a low end lies above the truth."""
    return float(stats.binom.pmf(np.arange(n + 1), n, truth) @ (np.asarray(lows) > truth + 1e-12))


@pytest.mark.parametrize("row", GATES, ids=lambda row: f"{row['truth']} of {row['n']}")
def test_a_gate_at_the_truth_passes_as_seldom_as_stated(row):
    """Every number of hits, weighed by its chance: by Student's t up to .184 pass, by this interval .05 at most."""
    share, n = float(row["truth"]), int(row["n"])
    found = passed(share, n, [one.low for one in ends(n)])
    assert found == pytest.approx(float(row["effective"]), abs=0.0006)
    assert found <= 0.05
    k = np.arange(n + 1)
    above = np.array([one.high for one in ends(n)]) < share - 1e-12
    assert stats.binom.pmf(k, n, share) @ above == pytest.approx(passed(1 - share, n, [one.low for one in ends(n)]))
    student = k / n - stats.t.ppf(0.95, n - 1) * np.sqrt(k / n * (1 - k / n) / (n - 1))
    student[-1] = ends(n)[-1].low  # all alike: no t interval
    assert passed(share, n, student) == pytest.approx(float(row["student"]), abs=0.0006)


def test_both_sides_hold():
    """Over all shares and numbers of prompts the two-sided 95 % interval holds with a chance of .955 or more."""
    for n in (30, 50, 100, 200):
        both = ends(n, 0.95)
        low, high = (np.array([getattr(one, side) for one in both]) for side in ("low", "high"))
        for share in np.linspace(0.01, 0.99, 99):
            chance = stats.binom.pmf(np.arange(n + 1), n, share) @ ((low <= share) & (share <= high))
            assert chance >= 0.95, (n, share)


def test_the_interval_by_hand():
    """98 of 100: with df 99 the effective draws are 100 less a little, and the ends are quantiles of beta laws."""
    se = np.sqrt(0.98 * 0.02 / 99)
    draws = 0.98 * 0.02 / se**2 * (stats.norm.ppf(0.95) / stats.t.ppf(0.95, 99)) ** 2
    assert draws == pytest.approx(97.156, abs=0.001)
    low, high = EffectiveShare(0.98, se, 99).at(0.9)
    assert low == pytest.approx(stats.beta.ppf(0.05, 0.98 * draws, 0.02 * draws + 1), rel=1e-9)
    assert high == pytest.approx(stats.beta.ppf(0.95, 0.98 * draws + 1, 0.02 * draws), rel=1e-9)


TAILS = [
    ("ties90", 100, {"gain": 0.937, "recovery": 0.945, "attenuation": 0.945}),
    ("rare", 100, {"gain": 0.922, "oracle_between_share": 0.930}),
    ("lognormal", 100, {"value_judge": 0.933, "attenuation": 0.890}),
    ("hetero", 100, {"within_r": 0.905}),
    ("likert", 100, {"gain": 0.945, "recovery": 0.945, "within_r": 0.945}),
]
"""Law, prompts, and by metric the coverage that the degrees of freedom of heavy tails give (600 tables)."""


def covered(law, n, names, replications):
    """Count, by metric, the tables whose interval holds the truth; an interval that is withheld holds it."""
    chosen = [e for e in ESTIMANDS if e.name in names]
    rule = IntervalRule(label_range=(-np.inf, np.inf) if law in {"hetero", "lognormal"} else (0.0, 1.0))
    rng, held = np.random.default_rng([20261123, list(LAWS).index(law), n]), Counter()
    for _ in range(replications):
        found = estimate(chosen, sums_of(*LAWS[law](rng, n)), rule)
        for name in names:
            one = found[name]
            held[name] += one.low is None or one.low <= truth(law)[name] <= one.high
    return held


def assert_covered(law, n, expected, replications):
    """Fail where the coverage lies below that of the table, by more than the errors of both."""
    held = covered(law, n, tuple(expected), replications)
    print(law, n, {name: held[name] / replications for name in expected})  # noqa: T201 - the measured figures
    for name, share in expected.items():
        error = np.sqrt(share * (1 - share) * (1 / 600 + 1 / replications))
        assert held[name] / replications >= share - 3.5 * error, name


@pytest.mark.parametrize(("law", "n", "expected"), TAILS)
def test_heavy_tails_cost_degrees_of_freedom(law, n, expected):
    """Over 100 tables."""
    assert_covered(law, n, expected, 100)


@pytest.mark.slow
@pytest.mark.parametrize(("law", "n", "expected"), TAILS)
def test_coverage_under_heavy_tails(law, n, expected):
    """Over 2,000 tables."""
    assert_covered(law, n, expected, 2000)


def inflation_held(law, n, replications):
    """Count the tables whose set for inflation holds the truth, where it is unbounded too, and those with a set."""
    chosen = [e for e in ESTIMANDS if e.name == "inflation"]
    rng, held, stated = np.random.default_rng([20261123, 3, n]), 0, 0
    for _ in range(replications):
        one = estimate(chosen, sums_of(*LAWS[law](rng, n)), IntervalRule())["inflation"]
        stated += one.low is not None
        held += one.low is None or one.low <= truth(law)["inflation"] <= one.high
    return held, stated


def test_inflation_is_withheld_where_its_denominator_may_be_0():
    """Of rare events few tables of 100 prompts state it, and the sets hold."""
    held, stated = inflation_held("rare", 100, 100)
    assert stated < 60
    assert clopper_pearson(held, 100)[1] >= 0.94


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "n"), [("rare", 100), ("rare", 200), ("likert", 100), ("binary", 100), ("graded", 100)]
)
def test_coverage_of_inflation(law, n):
    """Over 2,000 tables, unbounded sets among them, .93 or more."""
    held, stated = inflation_held(law, n, 2000)
    print(law, n, held / 2000, stated)  # noqa: T201 - the measured figures
    assert clopper_pearson(held, 2000)[1] >= 0.93

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from bonwise.planning.label_counts import Clusters, OneCluster
from bonwise.stats.sample_size import (
    correlation_pairs,
    correlation_power,
    detectable_margin,
    equal_mean_units,
    equal_votes,
    equal_votes_power,
    mean_power,
    mean_units,
    nearest,
    paper_margin,
    paper_votes,
    paper_votes_power,
    votes,
    votes_power,
)
from golden_tables import golden


@pytest.mark.parametrize("row", golden("plan_paper_votes"), ids=lambda row: row["row"])
@pytest.mark.parametrize(("level", "confidence"), [("05", 0.95), ("01", 0.99)])
def test_the_paper_s_table_1_follows_from_equation_8(row, level, confidence):
    """Each printed number is equation 8, to the nearest, at some margin that is printed as the row's."""
    delta, printed = float(row["delta"]), int(row[f"votes_{level}"])
    ends = [paper_votes(delta + shift, 0.9, confidence) for shift in (0.0005, -0.0005)]
    assert ends == pytest.approx([float(row[f"low_{level}"]), float(row[f"high_{level}"])], abs=0.06)
    assert nearest(ends[0]) <= printed <= nearest(ends[1])


def test_the_paper_s_known_margins_give_its_numbers():
    """Unrounded margins give the printed votes exactly, and .072 gives 506.7."""
    known = {0.047274: (1175, 1664), 0.18735: (75, 106), 0.28495: (32, 46), 0.08152: (395, 560)}
    for delta, printed in known.items():
        assert tuple(nearest(paper_votes(delta, 0.9, c)) for c in (0.95, 0.99)) == printed
    assert paper_votes(0.072, 0.9, 0.95) == pytest.approx(506.7, abs=0.05)
    assert paper_votes(0.0373961, 0.9, 0.95) == pytest.approx(1878.38, abs=0.01)
    assert paper_votes(0.5, 0.9, 0.95) == pytest.approx(2.62685576536 * 4, rel=1e-10)


@pytest.mark.parametrize("row", golden("plan_paper_clusters"), ids=lambda row: f"{row['regime']}-{row['rho']}")
def test_the_paper_s_table_3_follows_from_unrounded_votes(row):
    """Equation 10 gives the printed inflation and votes, and no number where the paper prints none."""
    raw = paper_votes(float(row["delta"]), 0.9, 0.95)
    found = OneCluster(float(row["rho"])).inflated(raw)
    assert nearest(raw) == int(row["independent"])
    if not row["votes"]:
        assert found is None
        return
    assert round(found / raw, 3) == float(row["inflation"])
    assert nearest(found) == int(row["votes"])


@pytest.mark.parametrize("row", golden("plan_exact_votes"), ids=lambda row: row["delta"])
def test_the_exact_test_has_the_power_and_the_numbers_of_the_golden_table(row):
    """Power at equation 8 rounded up, the first enough and the one from which on all are."""
    delta, n = float(row["delta"]), int(row["n_paper"])
    assert math.ceil(paper_votes(delta, 0.9, 0.95)) == n
    assert float(votes_power(delta, n, 0.95)) == pytest.approx(float(row["power"]), abs=5e-4)
    if row["first"]:
        assert votes(delta, 0.9, 0.95) == (int(row["first"]), int(row["settled"]))


def exact_power(delta, n, confidence):
    """Sum the probabilities of all counts at which the binomial test rejects."""
    tail = 1 - confidence
    p = 0.5 + delta
    return sum(
        math.comb(n, k) * p**k * (1 - p) ** (n - k)
        for k in range(n + 1)
        if binomtest(k, n, 0.5).pvalue <= tail * (1 + 1e-12)
    )


@settings(max_examples=40)
@given(st.floats(0.01, 0.45), st.integers(1, 60), st.sampled_from([0.9, 0.95, 0.99]))
def test_votes_power_is_the_sum_over_rejecting_counts(delta, n, confidence):
    """The closed form equals the plain loop."""
    assert float(votes_power(delta, n, confidence)) == pytest.approx(exact_power(delta, n, confidence), abs=1e-10)


@pytest.mark.parametrize(("delta", "power"), [(0.3, 0.9), (0.15, 0.8), (0.45, 0.95), (0.12, 0.9)])
def test_the_window_misses_no_number(delta, power):
    """All numbers up to five times the answer, looked at one by one, give the same two."""
    found = votes(delta, power, 0.95)
    enough = votes_power(delta, np.arange(1, 5 * found.settled), 0.95) >= power
    assert found.first == 1 + int(np.argmax(enough))
    assert found.settled == 2 + int(np.flatnonzero(~enough)[-1])


def equal_power(bound, n, confidence):
    """Sum the probabilities under a fair coin of all counts at which both one-sided tests reject."""
    return sum(
        math.comb(n, k) * 0.5**n
        for k in range(n + 1)
        if binomtest(k, n, 0.5 - bound, "greater").pvalue <= 1 - confidence
        and binomtest(k, n, 0.5 + bound, "less").pvalue <= 1 - confidence
    )


@settings(max_examples=40)
@given(st.floats(0.05, 0.45), st.integers(1, 60))
def test_equivalence_power_is_the_sum_over_counts_where_both_tests_reject(bound, n):
    """The closed form equals the plain loop."""
    assert float(equal_votes_power(bound, n, 0.95)) == pytest.approx(equal_power(bound, n, 0.95), abs=1e-9)


def test_equivalence_numbers_are_the_smallest():
    """Every number from `settled` on has the power; the one before has not."""
    found = equal_votes(0.1, 0.9, 0.95)
    later = equal_votes_power(0.1, np.arange(found.settled, 3 * found.settled), 0.95)
    assert later.min() >= 0.9
    assert equal_votes_power(0.1, found.settled - 1, 0.95) < 0.9
    assert equal_votes_power(0.1, found.first, 0.95) >= 0.9


@given(st.floats(0.02, 2.0), st.floats(0.55, 0.98), st.sampled_from([1, 2]))
def test_size_and_power_of_a_mean_are_inverse(standardised, power, sides):
    """At the number asked for the power is what was asked for; the other tail of two adds next to nothing."""
    n = mean_units(standardised, power, 0.95, sides)
    assert mean_power(standardised, n, 0.95, sides) == pytest.approx(power, abs=2e-4)


def test_other_inverses():
    """Margins, correlations and bounds return where they came from."""
    assert paper_margin(paper_votes(0.07, 0.8, 0.9), 0.8, 0.9) == pytest.approx(0.07)
    assert paper_votes_power(0.07, paper_votes(0.07, 0.8, 0.95), 0.95) == pytest.approx(0.8, abs=1e-6)
    pairs = correlation_pairs(np.arctanh(0.5) - np.arctanh(0.4), 0.9, 0.95)
    assert correlation_power(0.5, 0.4, pairs, 0.95) == pytest.approx(0.9)
    assert equal_mean_units(0.2, 0.9, 0.95) == pytest.approx((2 * 1.6448536 / 0.2) ** 2, rel=1e-6)
    margin = detectable_margin(405, 0.9, 0.95)
    assert votes_power(margin, 405, 0.95) >= 0.9 > votes_power(margin - 1e-6, 405, 0.95)
    assert detectable_margin(3, 0.9, 0.95) is None


@given(st.floats(1, 1e5), st.integers(1, 9), st.floats(0, 1))
def test_effective_labels_of_many_clusters_return(independent, size, correlation):
    """Inflated and made effective again is the same."""
    clusters = Clusters(size, correlation)
    assert clusters.effective(clusters.inflated(independent)) == pytest.approx(independent)


@given(st.floats(1, 1e3), st.floats(0, 9e-4))
def test_effective_labels_of_one_cluster_return(independent, correlation):
    """The same for equation 10, as long as it has an answer."""
    one = OneCluster(correlation)
    assert one.effective(one.inflated(independent)) == pytest.approx(independent)


def test_a_cluster_of_raters_has_the_variance_that_the_design_effect_says():
    """Simulated votes of three raters with a shared leaning scatter by 1 + 2 rho as much."""
    chance = np.random.default_rng(20261122)
    leaning = chance.beta(2, 2, size=(4000, 50))  # of votes on one prompt: rho = 1 / (2 + 2 + 1)
    means = chance.binomial(3, leaning).sum(axis=1) / 150
    assert means.var() * 150 / 0.25 == pytest.approx(Clusters(3, 0.2).factor, rel=0.08)

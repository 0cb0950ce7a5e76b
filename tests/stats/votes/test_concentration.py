from __future__ import annotations

import math
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, chi2

from bonwise.votes.concentration import (
    concentration,
    debiased_squares,
    homogeneity,
    kappa,
    kept_types,
    mass_fraction,
    signal,
)

VOTES = st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.integers(0, 5)), min_size=2, max_size=25)


def rates(votes):
    """Return each type's win rate and votes."""
    return [(fmean(mine), len(mine)) for mine in _types(votes)]


def _types(votes):
    return [[v for v, g in votes if g == one] for one in sorted({g for _, g in votes})]


def arrays(votes):
    """Lay votes out as the arrays that the estimators take."""
    return np.array([v for v, _ in votes]), np.array([g for _, g in votes])


@given(VOTES)
def test_debiased_squares_are_those_of_plain_loops(votes):
    """Each is the squared margin less rate (1 - rate) / (n - 1); types with one vote are left out."""
    expected = [(rate - 0.5) ** 2 - rate * (1 - rate) / (n - 1) for rate, n in rates(votes) if n > 1]
    counts = [n for _, n in rates(votes) if n > 1]
    squares, n = debiased_squares(*arrays(votes))
    assert squares.tolist() == pytest.approx(expected)
    assert n.tolist() == counts
    found = signal(*arrays(votes))
    if len(counts) < 2:
        assert found.estimate is None
    else:
        mean = sum(d * n for d, n in zip(expected, counts, strict=True)) / sum(counts)
        assert found.estimate == pytest.approx(mean, abs=1e-12)


@given(VOTES, st.sampled_from([0.1, 0.2, 0.3, 0.5]))
def test_kappa_and_mass_are_those_of_plain_loops(votes, share):
    """Kappa is the part of the largest squares over q; with equal weights the mass is q kappa."""
    squares = sorted(((rate - 0.5) ** 2 for rate, _ in rates(votes)), reverse=True)
    kept = math.ceil(round(share * len(squares), 9))
    found = float(kappa(np.array(squares), share))
    if sum(squares) < 1e-12:
        assert math.isnan(found)
        return
    assert kept_types(len(squares), share) == kept
    assert found == pytest.approx(sum(squares[:kept]) / (share * sum(squares)))
    mass = float(mass_fraction(np.array(squares), np.ones(len(squares)), share))
    assert mass == pytest.approx(share * found)


def test_weights_enter_the_mass():
    """With weights 3, 1 and 1 the one type kept holds 3 x .16 of .48 + .01 + .01; equal ones share a place."""
    assert float(mass_fraction(np.array([0.16, 0.01, 0.01]), np.array([3.0, 1, 1]), 0.3)) == pytest.approx(0.96)
    assert float(mass_fraction(np.array([0.04, 0.04]), np.array([3.0, 1]), 0.5)) == pytest.approx(0.5)


def test_homogeneity_by_hand():
    """Rates .75 and .25 of four votes each: 2 x 4 x .0625 / .25 = 2."""
    assert float(homogeneity(np.array([3.0, 1]), np.array([4.0, 4]))) == pytest.approx(2)
    found = concentration(np.array([1.0, 1, 1, 0, 1, 0, 0, 0]), np.repeat([0, 1], 4), share=0.5, permutations=99)
    assert found.homogeneity.p == pytest.approx(chi2.sf(2, 1))
    assert found.homogeneity.df == 1


def test_debiased_squares_are_unbiased():
    """With 3 votes a type and margins of .1 the mean is .01, where plain squares make it over .08."""
    rng = np.random.default_rng(3)
    values = (rng.random(60_000) < 0.6).astype(float)
    squares, _ = debiased_squares(values, np.arange(60_000) // 3)
    assert squares.mean() == pytest.approx(0.01, abs=3 * squares.std() / len(squares) ** 0.5)
    assert ((values.reshape(-1, 3).mean(axis=1) - 0.5) ** 2).mean() > 0.08


@pytest.mark.parametrize(("types", "each"), [(20, 2), (20, 5), (80, 5), (80, 20), (20, 50)])
def test_the_rule_fires_where_all_prompts_are_alike(types, each):
    """Kappa > 1.5 holds with probability .9 or more although every prompt has the margin .1."""
    rng = np.random.default_rng(7)
    wins = rng.binomial(each, 0.6, size=(2000, types))
    assert (kappa((wins / each - 0.5) ** 2, 0.2) > 1.5).mean() >= 0.9


@pytest.mark.parametrize(("types", "each"), [(20, 2), (20, 8), (40, 5)])
def test_the_permutation_rule_holds_its_level(types, each):
    """Where all prompts are alike kappa exceeds the permutation quantile in 5 % of the data sets at most."""
    rng = np.random.default_rng(20261121)
    runs, owner = 500, np.arange(types * each) // each
    fired = 0
    for run in range(runs):
        values = (rng.random(types * each) < 0.6).astype(float)
        found = concentration(values, owner, permutations=99, seed=run)
        fired += found is not None and found.kappa > found.null_quantile
    assert binomtest(fired, runs, 0.05, alternative="greater").pvalue > 0.01


def test_a_concentrated_preference_is_found():
    """Three of 20 prompts with a margin of .4, 30 votes each: kappa exceeds the threshold and chance."""
    rng = np.random.default_rng(5)
    rate = np.repeat(np.r_[np.full(3, 0.9), np.full(17, 0.5)], 30)
    found = concentration((rng.random(600) < rate).astype(float), np.arange(600) // 30)
    assert found.recommend_two_stage
    assert found.mass > found.mass_null_quantile
    assert found.homogeneity.p_permuted == pytest.approx(1 / 1000)


def test_nothing_is_said_of_nothing():
    """One type, votes that are all alike, and types that are all split evenly have no concentration."""
    assert concentration(np.array([1.0, 0]), np.zeros(2, dtype=int)) is None
    assert concentration(np.ones(6), np.arange(6) // 2) is None
    assert concentration(np.array([1.0, 0, 1, 0]), np.array([0, 0, 1, 1])) is None

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from bonwise.votes.detectability import PooledVotes, detection_rate, rejections, z_law, z_quantiles, z_score

POOLS = st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)).filter(lambda one: sum(one) > 0)


@pytest.mark.parametrize("votes", [1, 5, 6, 17, 100])
@pytest.mark.parametrize("level", [0.05, 0.01])
def test_rejections_are_those_of_the_exact_test(votes, level):
    """A count rejects exactly where scipy's two-sided binomial test does."""
    expected = [binomtest(k, votes).pvalue <= level * (1 + 1e-9) for k in range(votes + 1)]
    assert rejections(votes, level).tolist() == expected


@given(st.integers(1, 4), st.integers(0, 4), st.integers(1, 4), st.booleans())
def test_the_rate_counts_all_subsamples(second, first, votes, replace):
    """The rate is the share of subsamples, listed one by one, in which the test rejects."""
    votes = min(votes, second + first)
    each = [1] * second + [0] * first
    listed = list(itertools.product(each, repeat=votes) if replace else itertools.combinations(each, votes))
    reject = [binomtest(k, votes).pvalue <= 0.4 for k in range(votes + 1)]
    expected = sum(reject[sum(some)] for some in listed) / len(listed)
    assert detection_rate(PooledVotes(second, 0, first), votes, significance=0.4, replace=replace) == pytest.approx(
        expected
    )


def test_the_rate_is_what_repeated_subsampling_tends_to():
    """Drawing 4,000 subsamples of 40 votes from 200 finds the preference as often as the rate says."""
    rng = np.random.default_rng(1)
    each = np.repeat([1, 0], [120, 80])
    reject = rejections(40, 0.05)
    for replace in (True, False):
        seen = np.mean([reject[rng.choice(each, 40, replace=replace).sum()] for _ in range(4000)])
        assert detection_rate(PooledVotes(120, 0, 80), 40, significance=0.05, replace=replace) == pytest.approx(
            seen, abs=0.02
        )


def test_without_replacement_the_rate_ends_in_the_verdict_of_the_pool():
    """A subsample of all votes rejects or does not; beyond them, and for half votes, there is no rate."""
    assert detection_rate(PooledVotes(80, 0, 20), 100, significance=0.05, replace=False) == pytest.approx(1)
    assert detection_rate(PooledVotes(52, 0, 48), 100, significance=0.05, replace=False) == 0
    assert detection_rate(PooledVotes(80, 0, 20), 101, significance=0.05, replace=False) is None
    assert detection_rate(PooledVotes(80, 1, 20), 50, significance=0.05, replace=True) is None


@settings(max_examples=50)
@given(POOLS, st.integers(1, 4), st.booleans())
def test_the_law_of_z_counts_all_subsamples(counts, votes, replace):
    """The law of z, half votes among the values, is that of all subsamples listed one by one."""
    pool = PooledVotes(*counts)
    each = [1.0] * pool.second + [0.5] * pool.halves + [0.0] * pool.first
    law = z_law(pool, votes, replace=replace)
    if votes > pool.votes and not replace:
        assert law is None
        return
    listed = itertools.product(each, repeat=votes) if replace else itertools.combinations(each, votes)
    seen = Counter(round(float(z_score(sum(some) / votes, votes)), 9) for some in listed)
    for z in {round(float(one), 9) for one in law.z}:
        assert law.chance[np.round(law.z, 9) == z].sum() == pytest.approx(seen[z] / seen.total())


def test_infinities_count_among_the_quantiles():
    """Where half of the subsamples are of one mind the upper quantiles are infinite, the lower ones are not."""
    laws = [z_law(PooledVotes(4, 0, 0), 4, replace=False), z_law(PooledVotes(2, 0, 2), 4, replace=False)]
    found = z_quantiles(laws, np.array([0.5, 0.51]), np.array([0.5, 0.5]))
    assert found.tolist() == [0.0, math.inf]


def test_z_is_that_of_the_formula():
    """The z is the distance from 1/2 in standard errors of the rate, infinite where all votes agree."""
    assert z_score(np.array([0.6, 0.0, 1.0]), 100).tolist() == [
        pytest.approx(0.1 / math.sqrt(0.24 / 100)),
        math.inf,
        math.inf,
    ]

from __future__ import annotations

import math
from statistics import fmean, variance

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.votes.concentration import cluster_ratio, likely_rates, variance_split

VOTES = st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 4)), min_size=2, max_size=25)


def clusters(votes):
    """Collect the values of each cluster."""
    return [[v for v, g in votes if g == one] for one in sorted({g for _, g in votes})]


def arrays(votes):
    """Lay votes out as the arrays that the estimators take."""
    return np.array([v for v, _ in votes]), np.array([g for _, g in votes])


@given(VOTES)
def test_the_ratio_is_that_of_plain_loops(votes):
    """The ratio is the root of summed squares of cluster sums over summed squares of votes."""
    middle = fmean(v for v, _ in votes)
    plain = sum((v - middle) ** 2 for v, _ in votes)
    together = sum(sum(v - middle for v in mine) ** 2 for mine in clusters(votes))
    found = cluster_ratio(*arrays(votes))
    assert math.isnan(found) if plain < 1e-12 else found == pytest.approx(math.sqrt(together / plain))


@given(VOTES)
def test_the_split_is_that_of_plain_loops(votes):
    """The split adds up, uses prompts with two votes alone, and refuses where fewer than two have them."""
    several = [mine for mine in clusters(votes) if len(mine) > 1]
    found = variance_split(*arrays(votes))
    if len(several) < 2:
        assert found is None
        return
    assert found.total == pytest.approx(variance(map(fmean, several)))
    assert found.within == pytest.approx(fmean(variance(mine) / len(mine) for mine in several))
    assert found.between == pytest.approx(found.total - found.within)
    assert (found.prompts, found.alone) == (len(several), len(clusters(votes)) - len(several))
    rates = [fmean(mine) for mine in clusters(votes)]
    assert found.published_total == pytest.approx(variance(rates))
    within = fmean(rate * (1 - rate) / len(mine) for rate, mine in zip(rates, clusters(votes), strict=True))
    assert found.published_within == pytest.approx(within)


def test_votes_that_share_no_prompt_leave_the_error_alone():
    """With one vote per prompt the ratio is 1 and the split is refused."""
    values = np.array([1.0, 0, 1, 1])
    assert cluster_ratio(values, np.arange(4)) == pytest.approx(1)
    assert variance_split(values, np.arange(4)) is None


@pytest.mark.parametrize("each", [2, 5])
def test_the_split_is_unbiased(each):
    """Win rates that vary by .04 between prompts: the mean between part is .04, the published one is too large."""
    rng = np.random.default_rng(20261121)
    between, published = [], []
    for _ in range(1500):
        rate = np.repeat(rng.choice([0.3, 0.7], size=30), each)
        found = variance_split((rng.random(len(rate)) < rate).astype(float), np.arange(len(rate)) // each)
        between.append(found.between)
        published.append(found.published_between)
    # Var of .3 and .7, each half of the time, is .04.
    assert np.mean(between) == pytest.approx(0.04, abs=3 * np.std(between) / len(between) ** 0.5)
    assert np.mean(published) > 0.04 + 0.02 * (each == 2)


@given(VOTES)
def test_likely_rates_vary_as_the_split_says(votes):
    """Their mean is that of the rates, their variance the part between prompts, 0 where that is below 0."""
    several = [mine for mine in clusters(votes) if len(mine) > 1]
    found = likely_rates(*arrays(votes))
    if len(several) < 2:
        assert found is None
        return
    rates, count = found
    between = max(variance_split(*arrays(votes)).between, 0.0)
    assert count.tolist() == [len(mine) for mine in several]
    assert fmean(rates) == pytest.approx(fmean(map(fmean, several)))
    assert variance(rates.tolist()) == pytest.approx(between, abs=1e-12)

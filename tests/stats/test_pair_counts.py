from __future__ import annotations

import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.stats import sums as counting
from bonwise.stats.sums import Sums, pair_counts, prompt_sums, single_pairs, sorted_pairs
from stats.pools import GRID, arrays, pools

SIZES = [2, 3, 4, 5, 8, 9, 17]


TIED = st.sampled_from([-1.0, -0.0, 0.0, 0.25, 0.5, 1e300])


def tables(values=TIED):
    """Draw scores and labels of some prompts with as many candidates each."""

    def of_shape(shape):
        prompts, candidates = shape
        column = st.lists(
            st.lists(values, min_size=candidates, max_size=candidates), min_size=prompts, max_size=prompts
        )
        return st.tuples(column.map(np.array), column.map(np.array))

    return st.tuples(st.integers(1, 4), st.sampled_from(SIZES)).flatmap(of_shape)


def sign(value):
    """Return -1, 0 or 1."""
    return (value > 0) - (value < 0)


def plain(scores, labels):
    """Count the pairs of each prompt in plain loops."""
    found = []
    for s, o in zip(scores.tolist(), labels.tolist(), strict=True):
        signs = [(sign(s[i] - s[j]), sign(o[i] - o[j])) for i, j in combinations(range(len(s)), 2)]
        found.append(
            (
                sum(a != 0 for a, _ in signs),
                sum(b != 0 for _, b in signs),
                sum(a * b != 0 for a, b in signs),
                sum(a * b > 0 for a, b in signs),
            )
        )
    return [list(count) for count in zip(*found, strict=True)]


@pytest.mark.parametrize("way", [single_pairs, sorted_pairs])
@given(tables() | tables(st.floats(-9, 9)))
def test_pairs_are_counted_one_by_one_or_sorted(way, table):
    """Either way counts what plain loops count, exactly, ties and all."""
    assert way(*table).tolist() == plain(*table)


@given(pools(values=GRID, most=5))
def test_the_sums_of_prompts_do_not_depend_on_the_way(prompts):
    """Values that are equal only after rounding tie on both ways, to the last bit of every sum."""
    one_by_one = Sums(*prompt_sums(*arrays(prompts)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_SORTED_FROM", 0)
        by_sorting = Sums(*prompt_sums(*arrays(prompts)))
    assert np.array_equal(one_by_one, by_sorting)


@pytest.mark.parametrize("size", [63, 64, 65, 300])
@pytest.mark.parametrize("levels", [1, 2, 7, 10**9])
def test_larger_pools_are_counted_alike(size, levels):
    """On both sides of the size from which pools are sorted, both ways agree."""
    rng = np.random.default_rng([20261122, size, levels])
    scores, labels = rng.integers(0, levels, (2, 3, size)).astype(float)
    expected = single_pairs(scores, labels).tolist()
    assert sorted_pairs(scores, labels).tolist() == expected
    assert pair_counts(scores, labels).tolist() == expected


def test_small_pools_are_not_sorted(monkeypatch):
    """Pools of the usual sizes are counted pair by pair, which costs them less."""
    monkeypatch.setattr(counting, "sorted_pairs", None)
    scores, labels = np.array([[0.9, 0.9, 0.1] * 7]), np.array([[1.0, 0.0, 0.0] * 7])
    assert pair_counts(scores, labels).ravel().tolist() == [98, 98, 49, 49]


def test_one_very_large_pool_is_counted():
    """Of 300,000 candidates every pair is counted in memory for a few columns: here each count is known."""
    size = 300_000
    scores = np.arange(size, dtype=float)
    labels = scores // 3
    labels[-1] = -1.0  # below all others, at the highest score
    tracemalloc.start()
    try:
        found = Sums(*prompt_sums(scores, labels, np.array([size])))
        assert tracemalloc.get_traced_memory()[1] < 40 * scores.nbytes
    finally:
        tracemalloc.stop()
    pairs, tied = size * (size - 1) // 2, 3 * (size // 3) - 2
    assert (found.pairs[0], found.apart_S[0], found.apart_O[0]) == (pairs, pairs, pairs - tied)
    assert (found.apart_both[0], found.concordant[0]) == (pairs - tied, pairs - tied - (size - 1))

from __future__ import annotations

import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.auditing.exhibits import differences
from stats.pools import arrays, pools


def plain(prompts, edges):
    """Count in plain loops: every pair in both directions, on bins whose outer edge belongs to the next one."""
    counts, ties = [0] * (len(edges) - 1), 0
    for pool in prompts:
        for first, second in combinations([round(value, 9) for value in pool[0]], 2):
            if first == second:
                ties += 1
                continue
            at = max(i for i, edge in enumerate(edges[:-1]) if edge <= abs(second - first) + 1e-8)
            counts[at] += 1
            counts[len(counts) - 1 - at] += 1
    return counts, ties


@given(pools(candidates=(2, 5)))
def test_counts_are_those_of_plain_loops(prompts):
    """Every untied pair counts in both directions, every tied pair apart, whatever the sizes of the pools."""
    scores, _, sizes = arrays(prompts)
    found = differences(scores, sizes)
    assert (found["counts"], found["ties"]) == plain(prompts, found["edges"])
    assert found["pairs"] == sum(len(pool[0]) * (len(pool[0]) - 1) // 2 for pool in prompts)


@given(pools(), st.floats(1e-3, 1e6))
def test_the_histogram_is_symmetric_and_whole_on_any_scale(prompts, scale):
    """Bins mirror each other about 0, reach as far as the differences do, and hold two for each untied pair."""
    scores, _, sizes = arrays(prompts)
    found = differences(scale * scores, sizes)
    edges, counts = np.array(found["edges"]), found["counts"]
    assert counts == counts[::-1]
    assert edges == pytest.approx(-edges[::-1])
    assert sum(counts) == 2 * (found["pairs"] - found["ties"])
    assert 1 <= len(counts) <= 41


@pytest.mark.parametrize("steps", [7, 200, 10**6])
def test_a_large_pool_is_counted_as_small_ones_are(steps):
    """A pool of 2,100 beside small ones has the bins and ties of all its pairs, however many of them tie."""
    values = np.random.default_rng(3).integers(0, steps, 2_108) / steps
    sizes = np.array([3, 2_100, 5])
    found = differences(values, sizes)
    width = found["edges"][1] - found["edges"][0]
    side = len(found["counts"]) // 2
    every = [np.round(pool, 9) for pool in np.split(values, [3, 2_103])]
    apart = np.concatenate([np.abs(pool[:, None] - pool)[np.triu_indices(len(pool), 1)] for pool in every])
    bins = np.bincount(np.floor(apart[apart > 0] / width + 0.5 + 1e-6).astype(int), minlength=side + 1)
    assert found["counts"][side + 1 :] == bins[1:].tolist()
    assert found["counts"][side] == 2 * bins[0]
    assert found["ties"] == (apart == 0).sum()


@given(pools(candidates=(1, 5)))
def test_the_largest_is_that_of_plain_loops(prompts):
    """The largest difference is that of two candidates of one prompt, not where a bin ends."""
    scores, _, sizes = arrays(prompts)
    values = [[round(value, 9) for value in pool[0]] for pool in prompts]
    found = differences(scores, sizes)["largest"]
    assert found == pytest.approx(max(max(pool) - min(pool) for pool in values), abs=1e-9)


def test_a_grid_of_scores_falls_on_the_middle_of_bins():
    """Scores in steps of .05 have bins of .05 centred on their differences."""
    found = differences(np.array([0.0, 0.05, 0.3, 1.0]), np.array([4]))
    centres = (np.array(found["edges"])[1:] + np.array(found["edges"])[:-1]) / 2
    held = [round(float(at), 9) for at, count in zip(centres, found["counts"], strict=True) if count]
    assert held == [-1.0, -0.95, -0.7, -0.3, -0.25, -0.05, 0.05, 0.25, 0.3, 0.7, 0.95, 1.0]


def test_a_pair_nearer_than_half_a_bin_counts_twice_in_the_middle():
    """The middle bin holds both directions of a pair that is all but tied, like the two bins of any other."""
    found = differences(np.array([0.0, 0.001, 1.0]), np.array([3]))
    counts = found["counts"]
    assert (counts[len(counts) // 2], sum(counts), found["ties"]) == (2, 6, 0)


def test_equal_but_for_rounding_is_tied():
    """0.1 + 0.2 ties 0.3; where all are tied one empty bin is left."""
    found = differences(np.array([0.1 + 0.2, 0.3]), np.array([2]))
    assert (found["counts"], found["ties"], found["pairs"], found["largest"]) == ([0], 1, 1, 0.0)
    assert differences(np.array([0.1, 0.4]), np.array([2]))["largest"] == 0.3
    assert differences(np.zeros(0), np.zeros(0, dtype=np.int64)) is None


def test_large_pools_take_memory_by_the_candidate():
    """Of pools of 200 candidates no table of all pairs is made."""
    values = np.random.default_rng(1).random(40_000)
    tracemalloc.start()
    found = differences(values, np.full(200, 200))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found["pairs"] == 200 * 199 * 100
    assert peak < 20 * values.nbytes

from __future__ import annotations

import numpy as np

from bonwise.stacks.procedure import FOLDS, GROUPS, deal


def test_prompts_of_a_cluster_are_never_divided():
    """All prompts of a cluster are in one part, hence in one fold and one group."""
    clusters = np.repeat(np.arange(30), 3)[np.random.default_rng(0).permutation(90)]
    found = deal(90, clusters, seed=1)
    assert all(len(np.unique(found.parts[clusters == one])) == 1 for one in range(30))
    assert found.count == 30


def test_parts_are_at_most_200_and_folds_are_even():
    """1,000 prompts are dealt into 200 parts of 5, and these into 10 folds and 20 groups of one size."""
    found = deal(1_000, None, seed=1)
    assert np.bincount(found.parts).tolist() == [5] * 200
    assert all(np.bincount(one).tolist() == [200 // FOLDS] * FOLDS for one in found.folds)
    assert np.bincount(found.groups).tolist() == [200 // GROUPS] * GROUPS


def test_a_seed_deals_the_same_hands():
    """Nothing but the seed decides."""
    first, again, other = deal(50, None, seed=1), deal(50, None, seed=1), deal(50, None, seed=2)
    assert np.array_equal(first.folds, again.folds)
    assert np.array_equal(first.parts, again.parts)
    assert not np.array_equal(first.folds, other.folds)

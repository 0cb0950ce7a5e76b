"""Borda's count over all pairs and some: by hand, against the judges' own, and against plain loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.judges.comparing import borda as of_judges
from bonwise.studies.label_strategy.pairs import Pairs, borda, connected_edges, every_pair
from bonwise.table.verdicts import Preference

SIZES = st.lists(st.integers(2, 6), min_size=1, max_size=5).map(np.array)


def groups(candidates, edges):
    """Count the groups of candidates that the edges tie together, by painting neighbours."""
    colour = list(range(candidates))
    for _ in range(candidates):
        for i, j in edges:
            colour[i] = colour[j] = min(colour[i], colour[j])
    return len(set(colour))


def test_three_candidates_by_hand():
    """A beats b (1) and ties c (.5), b beats c (1): .75, .5 and .25."""
    pairs = Pairs(np.zeros(3, int), np.array([0, 0, 1]), np.array([1, 2, 2]))
    assert borda(pairs, np.array([1.0, 0.5, 1.0]), 3).tolist() == [0.75, 0.5, 0.25]


def test_a_candidate_in_no_pair_counts_one_half():
    """A candidate without a comparison neither wins nor loses."""
    assert borda(Pairs(np.zeros(1, int), np.array([0]), np.array([2])), np.ones(1), 3).tolist() == [1.0, 0.5, 0.0]


@given(st.integers(2, 6), st.data())
def test_borda_is_what_a_judge_of_pairs_scores(candidates, data):
    """Over every pair, in both orders, the shares are the scores that a judge of pairs itself gives."""
    some = list(itertools.combinations(range(candidates), 2))
    sides = st.sampled_from([0.0, 0.3, 0.5, 1.0])
    found = [Preference(a, b, data.draw(sides), data.draw(sides)) for a, b in some]
    pairs = every_pair(np.array([candidates]))
    mine = borda(pairs, np.array([one.value for one in found]), candidates)
    assert mine == pytest.approx([score.value for score in of_judges(candidates, found)], abs=1e-9)


@given(SIZES)
def test_every_pair_is_listed_once(sizes):
    """The pairs of each prompt are those of plain combinations, prompt by prompt."""
    starts = np.cumsum(sizes) - sizes
    plain = [
        (x, start + i, start + j)
        for x, (start, size) in enumerate(zip(starts, sizes, strict=True))
        for i, j in itertools.combinations(range(size), 2)
    ]
    assert list(zip(*(part.tolist() for part in every_pair(sizes)), strict=True)) == plain


@given(SIZES, st.integers(1, 8), st.integers(0, 5))
def test_drawn_edges_tie_together_all_they_can(sizes, edges, seed):
    """Each prompt gets its number of pairs, and with them as few separate groups of candidates as there can be."""
    pairs = every_pair(sizes)
    chosen = connected_edges(pairs, np.full(len(sizes), edges), seed)
    starts = np.cumsum(sizes) - sizes
    for x, size in enumerate(sizes.tolist()):
        mine = chosen & (pairs.prompt == x)
        taken = min(edges, size * (size - 1) // 2)
        assert mine.sum() == taken
        ends = [(i - starts[x], j - starts[x]) for i, j in zip(pairs.i[mine], pairs.j[mine], strict=True)]
        assert groups(size, ends) == max(1, size - taken)


def test_the_draw_of_edges_is_seeded():
    """One seed draws one set of pairs, another draws another, and every pair is drawn about equally often."""
    pairs, edges = every_pair(np.full(2000, 4)), np.full(2000, 4)
    one, again, other = (connected_edges(pairs, edges, seed) for seed in (1, 1, 2))
    assert (one == again).all()
    assert (one != other).any()
    assert one.reshape(2000, 6).mean(axis=0) == pytest.approx([4 / 6] * 6, abs=0.04)

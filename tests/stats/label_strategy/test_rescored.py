"""Quantised scores and broken ties, by hand and against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimation import IntervalRule, estimate
from bonwise.stats.sums import prompt_sums
from bonwise.stats.top_of_scores import at_top
from bonwise.studies.label_strategy.pairs import Pairs, every_pair, quantised, tie_broken

HEAPED = st.sampled_from([0.1, 0.5, 0.7, 0.9])
EARNED = st.sampled_from([0.0, 0.25, 0.5, 1.0])


@pytest.mark.parametrize(
    ("score", "middle"), [(0.0, 0.125), (0.25, 0.375), (0.2499, 0.125), (1.0, 0.875), (0.5, 0.625)]
)
def test_bins_by_hand(score, middle):
    """Four bins on [0, 1]: a score at a border belongs above it, the highest to the last bin."""
    assert quantised(np.array([score]), 4, 0.0, 1.0)[0] == middle


def test_as_many_bins_as_scores_change_no_order():
    """Scores on a grid of .05, cut into 20 bins of [0, 1], tie only .95 and 1."""
    grid = np.round(np.arange(21) / 20, 2)
    cut = quantised(grid, 20, 0.0, 1.0)
    assert (np.diff(cut) > 0).tolist() == [True] * 19 + [False]


def test_scores_that_are_all_equal_stay_so():
    """A range of no width has one bin."""
    assert quantised(np.array([0.4, 0.4]), 20, 0.4, 0.4).tolist() == [0.4, 0.4]


def plain(scores, earned):
    """Order the candidates of one prompt: those at the top by what they earned among themselves."""
    top = [i for i, score in enumerate(scores) if score == max(scores)]
    shares = {}
    for i in top:
        own = [earned[i, j] if i < j else 1 - earned[j, i] for j in top if j != i]
        shares[i] = sum(own) / len(own) if own else 0.5
    best = max(shares.values())
    return {i for i in top if abs(shares[i] - best) < 1e-9}


@given(st.lists(HEAPED, min_size=2, max_size=5), st.data())
def test_broken_ties_are_those_of_plain_loops(scores, data):
    """Out at the top come the candidates with the most earned among the tied; gaps stay in proportion."""
    pairs = every_pair(np.array([len(scores)]))
    values = np.array([data.draw(EARNED) for _ in pairs.i])
    found = np.round(tie_broken(np.array(scores), np.array([len(scores)]), pairs, values), 9)
    earned = {(i, j): v for i, j, v in zip(pairs.i.tolist(), pairs.j.tolist(), values.tolist(), strict=True)}
    assert set(np.flatnonzero(found == found.max()).tolist()) == plain(scores, earned)
    gap = np.diff(np.unique(scores)).min() if len(set(scores)) > 1 else 1.0
    assert found == pytest.approx(np.array(scores) / gap, abs=1e-5)
    below = np.array(scores) < max(scores)
    assert found[below] == pytest.approx((np.array(scores) / gap)[below], abs=1e-9)


def test_two_prompts_do_not_mix():
    """Ranks start anew in every prompt."""
    pairs = Pairs(np.array([0, 1]), np.array([0, 2]), np.array([1, 3]))
    found = tie_broken(np.array([0.9, 0.9, 0.5, 0.5]), np.array([2, 2]), pairs, np.array([1.0, 0.5]))
    assert found[0] > found[1]
    assert found[2] == found[3] < found[1]


def correlation(scores, labels, sizes):
    """Return within_r of scores."""
    (wanted,) = (e for e in ESTIMANDS if e.name == "within_r")
    return estimate([wanted], prompt_sums(scores, labels, sizes), IntervalRule())["within_r"].estimate


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 100.0, 1e6])
def test_the_scale_of_scores_changes_nothing(scale):
    """Scores on a grid of .05, times any factor: the correlation stays that of the scores, ties break alike."""
    rng, sizes = np.random.default_rng(3), np.full(60, 4)
    grid, labels = rng.integers(10, 14, 240) / 20, rng.random(240)
    labels += grid
    pairs = every_pair(sizes)
    earned = rng.choice([0.0, 0.5, 1.0], len(pairs.i))
    plain = tie_broken(grid, sizes, pairs, earned)
    found = tie_broken(grid * scale, sizes, pairs, earned)
    assert (at_top(found, sizes) == at_top(plain, sizes)).all()
    assert at_top(found, sizes).sum() < at_top(grid, sizes).sum()
    assert correlation(found, labels, sizes) == pytest.approx(correlation(grid, labels, sizes), abs=1e-4)


def test_scores_that_are_huge_beside_their_gaps_still_break_ties():
    """Where a millionth of a gap is less than such a number can show, the step is one that it can."""
    pairs = Pairs(np.zeros(1, int), np.array([0]), np.array([1]))
    found = tie_broken(np.array([1e6, 1e6, 1e6 - 1e-6]), np.array([3]), pairs, np.array([0.0]))
    assert np.round(found, 9).argmax() == 1

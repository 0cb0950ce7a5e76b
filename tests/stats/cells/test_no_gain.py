from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonwise.auditing.cell_gains import DealtCells, dealt_cells
from bonwise.auditing.cell_table import CellTable
from bonwise.stats.laws import Student
from bonwise.stats.no_gain import Z_NEEDED

SEEDS = {"right in 95 %": 11, "one right of eight": 12, "lognormal": 13, "binary, ties": 14}


def useless(law, rng, n):
    """Draw scores that say nothing of the labels."""
    if law == "right in 95 %":
        return rng.random((n, 4)), (rng.random((n, 4)) < 0.95).astype(float)
    if law == "one right of eight":
        return rng.random((n, 8)), np.eye(8)[rng.integers(0, 8, n)] * (rng.random((n, 1)) < 0.5)
    if law == "lognormal":
        return rng.random((n, 4)), np.exp(1.2 * rng.standard_normal((n, 4)))
    return rng.random((n, 4)).round(1), (rng.random((n, 4)) < 0.5).astype(float)


def laid_out(scores, labels, seen):
    """Lay pools of one size out, with the labels that are seen."""
    hidden = np.where(seen, labels, np.nan)
    return CellTable(np.full(len(scores), scores.shape[1]), scores.ravel(), hidden.ravel())


def moments_by_hand(scores, labels):
    """Deal the labels of one prompt to its labelled candidates in every order; return gain, variance and third."""
    K, top = len(scores), max(scores)
    at = [i for i in range(K) if labels[i] is not None]
    tops = [i for i in at if scores[i] == top]
    a, lt, ln = scores.count(top), len(tops), len(at) - len(tops)
    if not lt or not ln:
        return None
    weight = (1 - a / K) / (0.5 + 1 / lt - 1 / a + 1 / ln - 1 / (K - a))
    seen = [labels[i] for i in at]

    def contrast(dealt):
        by_cell = dict(zip(at, dealt, strict=True))
        others = [by_cell[i] for i in at if i not in tops]
        return weight * (sum(by_cell[i] for i in tops) / lt - sum(others) / ln)

    values = [contrast(order) for order in permutations(seen)]
    return contrast(seen), np.mean(np.square(values)), np.mean(np.power(values, 3))


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 2), st.one_of(st.none(), st.integers(0, 4))), min_size=2, max_size=5),
        min_size=1,
        max_size=6,
    )
)
def test_moments_are_those_of_every_deal(pools):
    """Gain, variance and third moment of each prompt are those over all orders of its labels."""
    sizes = np.array([len(pool) for pool in pools])
    scores = np.array([score / 2 for pool in pools for score, _ in pool])
    labels = np.array([np.nan if label is None else label / 4 for pool in pools for _, label in pool])
    found, prompts = dealt_cells(CellTable(sizes, scores, labels))
    expected = {
        x: moments
        for x, pool in enumerate(pools)
        if (moments := moments_by_hand([s / 2 for s, _ in pool], [None if o is None else o / 4 for _, o in pool]))
    }
    assert sorted(prompts.tolist()) == sorted(expected)
    for at, x in enumerate(prompts.tolist()):
        assert [one[at] for one in found] == pytest.approx(expected[x], abs=1e-12), x


def test_without_a_contrast_there_is_no_z():
    """Where no prompt has a label at the top and one elsewhere, or labels never differ, the test says nothing."""
    law = Student(0.1, 0.05, 9.0, (-1.0, 1.0))
    scores, sizes = np.tile([0.9, 0.1], 10), np.full(10, 2)
    for labels in (np.tile([1.0, np.nan], 10), np.tile([1.0, 1.0], 10)):
        assert DealtCells(scores, labels, sizes, None, law).z is None


def false_passes(law, n, repeats):
    """Return how often labels dealt at random find a gain, and a loss, of a useless judge with 60 % labelled."""
    rng = np.random.default_rng([SEEDS[law], n])
    found = []
    for _ in range(repeats):
        scores, labels = useless(law, rng, n)
        table = laid_out(scores, labels, rng.random(scores.shape) < 0.6)
        z = DealtCells(table.scores, table.labels, table.sizes, None, Student(0.0, 1.0, 9.0, (-9.0, 9.0))).z
        found.append(0.0 if z is None else z)
    return np.mean(np.array(found) > Z_NEEDED), np.mean(np.array(found) < -Z_NEEDED)


@pytest.mark.parametrize("law", SEEDS)
def test_a_useless_judge_seldom_passes(law):
    """Of useless judges about one in twenty passes on either side: 100 tables of 50 prompts."""
    assert max(false_passes(law, 50, 100)) <= 0.13


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 150])
@pytest.mark.parametrize("law", SEEDS)
def test_a_useless_judge_passes_as_often_as_stated(law, n):
    """Of 2,000 tables, 2 to 7 % pass on either side."""
    for share in false_passes(law, n, 2000):
        assert 0.02 <= share <= 0.07

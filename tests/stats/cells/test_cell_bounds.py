from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonwise.auditing.bounds import cell_bounds
from bonwise.auditing.cell_table import CellTable
from hanging import ended_if_hanging

LINEAR = ("value_random", "value_judge", "value_oracle", "gain")


def figures_of(pools, labels):
    """Return the figures of complete pools in plain loops; recovery is None where labels never differ."""
    random = judge = oracle = 0.0
    at = 0
    for scores in pools:
        mine = labels[at : at + len(scores)]
        at += len(scores)
        best = [label for score, label in zip(scores, mine, strict=True) if score == max(scores)]
        random += sum(mine) / len(mine)
        judge += sum(best) / len(best)
        oracle += max(mine)
    n, possible = len(pools), oracle - random
    return {
        "value_random": random / n,
        "value_judge": judge / n,
        "value_oracle": oracle / n,
        "gain": (judge - random) / n,
        "recovery": (judge - random) / possible if possible > 1e-9 else None,
    }


def brute_force(pools, labels, levels):
    """Return the least and greatest of each figure over all labels of some levels."""
    missing = [i for i, label in enumerate(labels) if label is None]
    every = {name: [] for name in (*LINEAR, "recovery")}
    for values in product(levels, repeat=len(missing)):
        filled = list(labels)
        for i, value in zip(missing, values, strict=True):
            filled[i] = value
        for name, value in figures_of(pools, filled).items():
            if value is not None:
                every[name].append(value)
    return {name: (min(values), max(values)) for name, values in every.items() if values}


def table_of(pools, labels):
    """Lay pools out as the functions take them."""
    flat = np.array([np.nan if label is None else label for label in labels], dtype=float)
    return CellTable(
        np.array([len(p) for p in pools]), np.concatenate([np.array(p, dtype=float) for p in pools]), flat
    )


@st.composite
def tables(draw):
    """Pools of two to four with scores that tie, labels in quarters, at most four of them missing."""
    pools = draw(st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=2, max_size=4), min_size=1, max_size=3))
    cells = sum(map(len, pools))
    labels = draw(st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=cells, max_size=cells))
    missing = draw(st.sets(st.integers(0, cells - 1), max_size=4))
    return pools, [None if i in missing else label for i, label in enumerate(labels)]


@settings(max_examples=150)
@given(tables())
def test_bounds_are_the_worst_and_best_labels(drawn):
    """Each bound is the extreme over the labels seen and the ends of the scale, which hold the extremes."""
    pools, labels = drawn
    levels = sorted({0.0, 1.0, *(label for label in labels if label is not None)})
    expected = brute_force(pools, labels, levels)
    found = cell_bounds(table_of(pools, labels), (0.0, 1.0))
    for name in LINEAR:
        assert found[name] == pytest.approx(expected[name], abs=1e-12)
    if "recovery" not in expected:
        assert "recovery" not in found
    else:
        assert found["recovery"] == pytest.approx(expected["recovery"], abs=1e-9)


def test_bounds_worked_by_hand():
    """One prompt, the pick labelled .5 and one of two others 0.

    The third label is x in [0, 1]: gain .5 - (.5 + x) / 3, recovery (1 - x) / (1 - x) = 1 up to x = .5, and beyond
    it (1 - x) / (2x - .5), which is 0 at x = 1.
    """
    table = CellTable(np.array([3]), np.array([0.9, 0.2, 0.1]), np.array([0.5, 0.0, np.nan]))
    found = cell_bounds(table, (0.0, 1.0))
    assert found["gain"] == pytest.approx((0.0, 1 / 3))
    assert found["value_judge"] == (0.5, 0.5)
    assert found["value_random"] == pytest.approx((0.5 / 3, 0.5))
    assert found["value_oracle"] == (0.5, 1.0)
    assert found["recovery"] == pytest.approx((0.0, 1.0), abs=1e-9)


def test_complete_labels_leave_no_room():
    """With all labels there the two bounds meet at the figure, also on a scale without ends."""
    scores, labels = [[0.9, 0.1, 0.5], [0.4, 0.4]], [0.2, 0.7, 0.1, 1.0, 0.0]
    found = cell_bounds(table_of(scores, labels), (-np.inf, np.inf))
    for name, value in figures_of(scores, labels).items():
        assert found[name] == pytest.approx((value, value), abs=1e-12)


def test_a_scale_without_ends_bounds_nothing():
    """Missing labels on an unknown scale leave infinite bounds and no bound of recovery."""
    found = cell_bounds(table_of([[0.9, 0.1]], [None, 1.0]), (-np.inf, np.inf))
    assert found["gain"] == (-np.inf, np.inf)
    assert found["value_oracle"] == (1.0, np.inf)
    assert "recovery" not in found


def test_recovery_is_undefined_where_no_labels_differ():
    """Complete pools of equal labels have no recovery to bound."""
    assert "recovery" not in cell_bounds(table_of([[0.9, 0.1]], [1.0, 1.0]), (0.0, 1.0))


@pytest.mark.parametrize("seed", range(3))
def test_bounds_scale_with_the_labels_and_end_on_large_tables(seed):
    """On a scale of 1 to 5 recovery has the bounds of 0 to 1, and 50,000 prompts take moderate time."""
    rng = np.random.default_rng(seed)
    scores, labels = np.round(rng.random(200_000), 1), np.round(rng.random(200_000), 1)
    labels[rng.random(200_000) < 0.4] = np.nan
    sizes = np.full(50_000, 4)
    with ended_if_hanging():
        small = cell_bounds(CellTable(sizes, scores, labels), (0.0, 1.0))
        large = cell_bounds(CellTable(sizes, scores, 1 + 4 * labels), (1.0, 5.0))
    assert large["recovery"] == pytest.approx(small["recovery"], abs=1e-9)
    assert large["value_judge"] == pytest.approx(1 + 4 * np.array(small["value_judge"]))

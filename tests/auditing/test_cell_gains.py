"""Gains from labelled cells against plain loops, where there are none, and their bounds."""

from __future__ import annotations

from itertools import permutations, product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditing.cell_twin import CellTwin, table_of
from bonwise.auditing.bounds import Unlabelled, cell_bounds, recovery_bounds
from bonwise.auditing.cell_gains import DealtCells, dealt_cells, gain_contributions, random_contributions
from bonwise.auditing.cell_intervals import pair_influences, pair_totals
from bonwise.auditing.cell_maxima import _DRAWN, _drawn, maxima
from bonwise.auditing.cell_models import label_rates, modelled, prompt_folds
from bonwise.auditing.cell_table import CellTable
from bonwise.stats.laws import Student
from bonwise.stats.no_gain import Z_NEEDED
from hanging import ended_if_hanging

LEVELS = [0.0, 0.25, 0.5, 1.0]


@st.composite
def pools(draw):
    """Tables of up to 6 prompts of 2 to 4 candidates, any mask; at one rate or with a propensity for every cell."""
    known = draw(st.booleans())
    rates = st.sampled_from([0.25, 0.5, 0.8]) if known else st.none()
    cell = st.tuples(st.sampled_from([0.1, 0.5, 0.9]), st.none() | st.sampled_from(LEVELS), rates)
    found = draw(st.lists(st.lists(cell, min_size=2, max_size=4), min_size=2, max_size=6))
    if all(label is None for pool in found for _, label, _ in pool):
        found[0][0] = (found[0][0][0], 0.5, found[0][0][2])
    return found


def both(drawn):
    """Return what the package works with, and the twin."""
    table = table_of(drawn)
    folds, origin = prompt_folds(table, 3), 0.5
    groups = modelled(table, label_rates(table), folds, origin)
    return SimpleNamespace(table=table, groups=groups, twin=CellTwin(drawn, folds, origin))


@settings(max_examples=150)
@given(pools())
def test_gain_and_values_are_those_of_plain_loops(drawn):
    """What each prompt contributes to the gain and to the random value agrees with loops over pairs and cells."""
    made = both(drawn)
    n = len(drawn)
    assert random_contributions(made.groups, n) == pytest.approx(made.twin.random(), abs=1e-8)
    assert gain_contributions(made.groups, n) == pytest.approx(made.twin.gain(), abs=1e-8)


@settings(max_examples=150)
@given(pools())
def test_sums_over_pairs_are_those_of_plain_loops(drawn):
    """Sums of squares, products and counts over labelled pairs agree with a loop over the pairs."""
    made = both(drawn)
    blocks = [one for group in made.groups for one in group.blocks]
    found = pair_totals(blocks, len(drawn), 0.5)
    rows = (found.eSS, found.eOO, found.eSO, found.pairs, found.apart_O, found.apart_both, found.concordant)
    assert pytest.approx(np.array(made.twin.pair_totals()), abs=1e-9) == np.array(rows).T


@settings(max_examples=150)
@given(pools())
def test_influences_are_derivatives(drawn):
    """What a prompt contributes is the figure plus its derivative when the prompt weighs a little more."""
    made = both(drawn)
    blocks = [one for group in made.groups for one in group.blocks]
    totals, n = pair_totals(blocks, len(drawn), 0.5), len(drawn)
    step = 1e-6
    heavier = [type(totals)(*(row * np.where(np.arange(n) == 0, 1 + step, 1.0) for row in totals))]
    before, after = pair_influences(totals), pair_influences(heavier[0])
    for name, found in before.items():
        if found is None:
            continue
        assert found.contributions.mean() == pytest.approx(found.value, abs=1e-12)
        moved = after[name].value - found.value
        # n times the change per unit of weight, the weight of a prompt being 1 / n of all.
        assert n * moved / step == pytest.approx(found.contributions[0] - found.value, abs=1e-3)


def drawn_table(seed, *, n, size, known):
    """Draw a table of one size with labels in quarters."""
    rng = np.random.default_rng(seed)
    quality = rng.standard_normal((n, 1)) + rng.standard_normal((n, size))
    S = np.round(quality + rng.standard_normal((n, size)), 0)
    labels = np.digitize(quality, [-1, 0, 1]) / 4
    pi = np.clip(0.75 + 0.1 * S, 0.6, 0.9) if known else np.full((n, size), 0.75)
    L = rng.random((n, size)) < pi
    return [
        [(S[x, i], labels[x, i] if L[x, i] else None, pi[x, i] if known else None) for i in range(size)]
        for x in range(n)
    ]


@pytest.mark.parametrize(("n", "size"), [(20, 4), (40, 3), (120, 3)])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_best_label_is_that_of_plain_loops(n, size, seed):
    """Without a correction, with few covariates and with all, contributions to the maximum agree with loops."""
    made = both(drawn_table(seed, n=n, size=size, known=False))
    assert maxima(made.groups, n, 0) == pytest.approx(np.array(made.twin.maxima()), abs=1e-7)


def test_numbers_of_labels_are_drawn_evenly_over_their_law():
    """By hand: where prompts have 0, 1, 1 and 3 labels a quarter of the draws have none, half one, a quarter all."""
    labelled = np.array([0, 1, 1, 3])
    block = SimpleNamespace(labelled=labelled, K=3, prompts=np.arange(4), complete=labelled == 3)
    patterns, chances = zip(*_drawn(SimpleNamespace(block=block, pi=None), np.random.default_rng(0)), strict=True)
    shares = np.bincount([int(pattern.sum()) for pattern in patterns], minlength=4) / _DRAWN
    assert shares == pytest.approx(np.array([0.25, 0.5, 0.0, 0.25]), abs=1.01 / _DRAWN)
    # Where all are labelled nothing has to be corrected.
    assert all((chance[0] == 0) == pattern.all() for pattern, chance in zip(patterns, chances, strict=True))


@pytest.mark.parametrize("seed", [1, 2])
def test_the_best_label_at_several_rates_is_that_of_plain_loops(seed):
    """With so few complete pools that they are one stratum, chances that differ lead to the twin's figures."""
    made = both(drawn_table(seed, n=28, size=3, known=True))
    complete = sum(len(seen) == 3 for seen in made.twin.seen)
    assert 12 <= complete < 16
    assert maxima(made.groups, 28, 0) == pytest.approx(np.array(made.twin.maxima()), abs=1e-7)


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


def table_of_cell_bounds(pools, labels):
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
    found = cell_bounds(table_of_cell_bounds(pools, labels), (0.0, 1.0))
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
    found = cell_bounds(table_of_cell_bounds(scores, labels), (-np.inf, np.inf))
    for name, value in figures_of(scores, labels).items():
        assert found[name] == pytest.approx((value, value), abs=1e-12)


def test_a_scale_without_ends_bounds_nothing():
    """Missing labels on an unknown scale leave infinite bounds and no bound of recovery."""
    found = cell_bounds(table_of_cell_bounds([[0.9, 0.1]], [None, 1.0]), (-np.inf, np.inf))
    assert found["gain"] == (-np.inf, np.inf)
    assert found["value_oracle"] == (1.0, np.inf)
    assert "recovery" not in found


def test_recovery_is_undefined_where_no_labels_differ():
    """Complete pools of equal labels have no recovery to bound."""
    assert "recovery" not in cell_bounds(table_of_cell_bounds([[0.9, 0.1]], [1.0, 1.0]), (0.0, 1.0))


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


def contribution(candidates, tied, labels):
    """Return what a prompt adds to the gain and to what was possible; the first `tied` are at the top."""
    mean = sum(labels) / candidates
    return sum(labels[:tied]) / tied - mean, max(labels) - mean


def recoveries(gain, possible, missing):
    """List recovery under every way of giving the missing prompts labels of 0 and 1."""
    options = [[contribution(K, a, labels) for labels in product((0, 1), repeat=K)] for K, a in missing]
    for chosen in product(*options):
        bottom = possible + sum(y for _, y in chosen)
        if bottom > 1e-12:
            yield (gain + sum(y for y, _ in chosen)) / bottom


pool = st.integers(2, 4).flatmap(lambda K: st.tuples(st.just(K), st.integers(1, K)))
known = st.lists(
    pool.flatmap(lambda p: st.tuples(st.just(p), st.tuples(*[st.sampled_from([0.0, 0.5, 1.0])] * p[0]))), max_size=3
)


@given(known, st.lists(pool, min_size=1, max_size=3))
def test_recovery_bounds_are_the_worst_and_best_labels(labelled, missing):
    """The bounds are the smallest and largest recovery over all labels of 0 and 1, which attain the extremes."""
    parts = [contribution(*p, labels) for p, labels in labelled]
    gain, possible = sum(y for y, _ in parts), sum(y for _, y in parts)
    every = list(recoveries(gain, possible, missing))
    sizes, tied = np.array(missing, dtype=float).T
    found = recovery_bounds(gain, possible, Unlabelled(sizes, tied), (0.0, 1.0))
    if not every:
        assert found is None
    else:
        assert found == pytest.approx((min(every), max(every)), abs=1e-9)


@pytest.mark.parametrize(
    ("gain", "possible", "missing", "bounds"),
    [
        # Nothing known but a prompt of two: its recovery is 1 where the pick is right, -1 where it is wrong.
        (0.0, 0.0, (2, 1), (-1.0, 1.0)),
        # Known: one wrong pick of two. Missing: a prompt of two that the judge ties; with one label of 1 it adds
        # 0 to the gain and .5 to what was possible: -.5 / 1 at best, and nothing with equal labels: -.5 / .5.
        (-0.5, 0.5, (2, 2), (-1.0, -0.5)),
        # Known: ten wrong picks of ten. Missing: ten candidates, two at the top. One of them best adds .5 - .1 and
        # .9: -8.6 / 1.9; both best would add .8 and .8: -8.2 / 1.8, which is less. At worst -.8 and .2 would give
        # -9.8 / 1.2 but equal labels leave -9 / 1, which is less.
        (-9.0, 1.0, (10, 2), (-9.0, -8.6 / 1.9)),
    ],
)
def test_bounds_of_pools_worked_by_hand(gain, possible, missing, bounds):
    """The bounds are right where recovery is negative, the judge ties a whole prompt, or nothing is known."""
    sizes, tied = np.array([missing], dtype=float).T
    found = recovery_bounds(gain, possible, Unlabelled(sizes, tied), (0.0, 1.0))
    assert found == pytest.approx(bounds, abs=1e-9)


def test_bounds_scale_with_the_labels():
    """On a scale of 1 to 5 recovery, a ratio, has the bounds of 0 to 1."""
    missing = Unlabelled(np.array([4.0, 2.0]), np.array([2.0, 1.0]))
    small, large = (recovery_bounds(0.2 * w, 0.5 * w, missing, (0.0, w)) for w in (1.0, 4.0))
    assert large == pytest.approx(small)


@pytest.mark.parametrize(("gain", "possible"), [(-0.1, 0.3), (0.2, 0.3)])
@pytest.mark.parametrize("seed", range(4))
def test_a_table_many_times_over_has_the_same_bounds(gain, possible, seed):
    """Two thousand copies of 50 missing prompts are bounded as the 50 are, and in moderate time."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 9, 50).astype(float)
    tied = np.floor(rng.random(50) * sizes) + 1
    once = recovery_bounds(gain, possible, Unlabelled(sizes, tied), (0.0, 1.0))
    copies = Unlabelled(np.tile(sizes, 2000), np.tile(tied, 2000))
    with ended_if_hanging():
        found = recovery_bounds(2000 * gain, 2000 * possible, copies, (0.0, 1.0))
    assert found == pytest.approx(once, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_bounds_of_many_prompts_end(seed):
    """With 100,000 missing prompts beside a few labelled ones the search ends, and within what is possible."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 9, 100_000).astype(float)
    tied = np.floor(rng.random(100_000) * sizes) + 1
    with ended_if_hanging():
        low, high = recovery_bounds(0.2, 0.3, Unlabelled(sizes, tied), (0.0, 1.0))
    assert -7 <= low < -6.9  # a pool of 8 with one top score may have recovery -7
    assert 0.999 < high <= 1

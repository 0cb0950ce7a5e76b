"""How labels are shared out over prompts and cells."""

from __future__ import annotations

import math
from statistics import fmean, pstdev

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bonwise.stats.partial.cell_allocation import (
    FEWEST_WHOLE,
    CellAllocation,
    CellPopulation,
    allocate_cells,
    cell_strata,
)
from bonwise.stats.partial.label_allocation import (
    allocate,
    draw_within,
    level_by_spread,
    merged,
    pick_factor,
    shrunken_sd,
    size_measure,
    size_prior,
    strata,
    tie_strata,
)
from bonwise.stats.partial.label_sample import fold_of

COARSE = st.integers(0, 4).map(lambda v: v / 4)


@st.composite
def pools(draw):
    """Draw pools of several sizes, scored by two judges on a coarse scale."""
    sizes = draw(st.lists(st.integers(2, 5), min_size=1, max_size=8))
    cells = sum(sizes)
    scores = draw(st.lists(COARSE, min_size=cells, max_size=cells))
    second = draw(st.lists(COARSE, min_size=cells, max_size=cells))
    return np.array(sizes), np.array(scores), np.array(second)


@st.composite
def bounded(draw):
    """Draw strata with weights, labels that fit, and how many of them are taken."""
    prompts = draw(st.lists(st.integers(1, 50), min_size=1, max_size=8))
    weights = draw(st.lists(st.floats(0, 100), min_size=len(prompts), max_size=len(prompts)))
    taken = [draw(st.integers(0, n)) for n in prompts]
    labels = draw(st.integers(sum(taken), sum(prompts)))
    return np.array(prompts), np.array(weights), labels, np.array(taken)


def split(values, sizes):
    """Cut a flat list into pools."""
    found, at = [], 0
    for size in sizes:
        found.append([float(v) for v in values[at : at + size]])
        at += size
    return found


@given(pools())
def test_the_size_measure_is_its_formula_in_plain_loops(case):
    """Each size is sqrt(1/a - 1/K + .04) times the spread, raised by half the mean spread and a thousandth."""
    sizes, scores, second = case
    spreads = [pstdev(pool) for pool in split(second, sizes)]
    expected = []
    for pool, spread in zip(split(scores, sizes), spreads, strict=True):
        a = pool.count(max(pool))
        expected.append(math.sqrt(1 / a - 1 / len(pool) + 0.04) * (spread + 0.5 * fmean(spreads) + 0.001))
    assert size_measure(scores, sizes, second) == pytest.approx(expected, abs=1e-9)
    assert size_measure(scores, sizes) == pytest.approx(size_measure(scores, sizes, scores), abs=0)


@given(st.lists(COARSE, min_size=2, max_size=9))
def test_the_squared_weights_of_the_pick_are_what_the_factor_says(pool):
    """The sum of (w_i - 1/K)^2 over a pool is 1/a - 1/K exactly."""
    K, a = len(pool), pool.count(max(pool))
    weights = [(v == max(pool)) / a for v in pool]
    squares = sum((w - 1 / K) ** 2 for w in weights)
    factor = pick_factor(np.array([float(a)]), np.array([K]))[0]
    assert factor**2 - 0.04 == pytest.approx(squares, abs=1e-12)


def test_the_size_measure_of_three_prompts_by_hand():
    """A clear pick, a tie of two and a tie of all, with spreads .3, .1 and 0 of the second judge."""
    scores = np.array([0.9, 0.1, 0.1, 0.8, 0.8, 0.2, 0.5, 0.5, 0.5])
    second = np.array([0.0, 0.3 * math.sqrt(1.5), -0.3 * math.sqrt(1.5)] * 3)
    second[3:6] /= 3
    second[6:] = 0.5
    mean = (0.3 + 0.1 + 0.0) / 3
    expected = [
        math.sqrt(2 / 3 + 0.04) * (0.3 + mean / 2 + 0.001),
        math.sqrt(1 / 6 + 0.04) * (0.1 + mean / 2 + 0.001),
        0.2 * (mean / 2 + 0.001),
    ]
    assert size_measure(scores, np.array([3, 3, 3]), second) == pytest.approx(expected, abs=1e-9)


def test_a_prompt_without_a_second_judge_counts_as_of_mean_spread():
    """NaN of the second judge takes the mean spread of the others."""
    scores, second = np.array([0.9, 0.1, 0.9, 0.1]), np.array([0.2, 0.6, np.nan, np.nan])
    found = size_measure(scores, np.array([2, 2]), second)
    assert found[1] == pytest.approx(found[0])


@pytest.mark.parametrize(("labels", "expected"), [(2, 1), (6, 2), (19, 2), (20, 3), (40, 4), (100, 8), (400, 12)])
def test_strata_are_as_many_as_labels_allow_and_of_equal_sum(labels, expected):
    """Two strata below 20 labels up to twelve from 400, and no more than a third of the labels."""
    size = np.random.default_rng(1).lognormal(size=2000)
    found = strata(size, labels)
    sums = np.bincount(found, weights=size)
    assert len(sums) == expected
    assert sums.max() - sums.min() <= 2 * size.max()
    order = np.argsort(size)
    assert (np.diff(found[order]) >= 0).all()


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(1, 6))
def test_joined_strata_keep_their_order_and_their_bounds(labels_of, most):
    """Joining leaves at most so many strata, each of three prompts unless it is the only one, in the old order."""
    old = np.array(labels_of)
    found = merged(old, most)
    counts = np.bincount(found)
    assert len(counts) <= most
    assert len(counts) == 1 or counts.min() >= 3
    assert all(found[i] <= found[j] for i in range(len(old)) for j in range(len(old)) if old[i] <= old[j])


@given(bounded())
@example((np.array([5, 5]), np.array([0.0, 5e-324]), 4, np.array([0, 0])))
@example((np.array([5, 5]), np.array([1.0, 1e308]), 6, np.array([0, 0])))
def test_allocated_labels_sum_and_stay_within_bounds(case):
    """Counts sum to the labels, hold what was taken, never exceed the prompts, and are the same again."""
    prompts, weights, labels, taken = case
    found = allocate(prompts, weights, labels, taken=taken)
    assert found.sum() == labels
    assert (found >= taken).all()
    assert (found <= prompts).all()
    assert (found == allocate(prompts, weights, labels, taken=taken)).all()
    if np.maximum(taken, np.minimum(prompts, 3)).sum() <= labels:
        assert (found >= np.minimum(prompts, 3)).all()


@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=6), st.integers(30, 300))
def test_without_bounds_shares_are_proportional_within_one_label(weights, labels):
    """Where no bound binds, each count is within one of the labels' share of its weight."""
    w = np.array(weights)
    exact = labels * w / w.sum()
    found = allocate(np.full(len(w), 1000), w, labels)
    if exact.min() >= 3:
        assert np.abs(found - exact).max() < 1


@pytest.mark.parametrize(("labels", "taken"), [(7, None), (2, [3, 0])])
def test_labels_that_cannot_be_shared_out_are_refused(labels, taken):
    """More labels than prompts, or fewer than are taken, is an error."""
    held = None if taken is None else np.array(taken)
    with pytest.raises(ValueError, match="labels for"):
        allocate(np.array([3, 3]), np.array([1.0, 1.0]), labels, taken=held)


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 30))
def test_a_draw_takes_the_counts_and_leaves_what_is_taken(seed, groups, prompts):
    """So many new prompts of each stratum are drawn, none of them drawn before."""
    rng = np.random.default_rng(seed)
    found = rng.integers(0, groups, prompts)
    taken = rng.random(prompts) < 0.3
    free = np.bincount(found[~taken], minlength=groups)
    counts = np.array([rng.integers(0, n + 1) for n in free])
    drawn = draw_within(found, counts, rng, taken)
    assert not (drawn & taken).any()
    assert np.bincount(found[drawn], minlength=groups).tolist() == counts.tolist()


def test_every_prompt_of_a_stratum_is_as_likely():
    """Over 4,000 draws each prompt is drawn n_h / N_h of the time, within four standard errors."""
    found, counts, draws = np.array([0, 1, 0, 1, 1, 1, 0]), np.array([2, 1]), 4000
    seen = sum(draw_within(found, counts, np.random.default_rng(seed)).astype(int) for seed in range(draws))
    chance = (counts / np.bincount(found))[found]
    assert np.abs(seen / draws - chance).max() < 4 * math.sqrt(0.25 / draws)


def test_ties_make_strata_and_few_labels_join_them():
    """One stratum for each pick factor; with labels for two, neighbours are joined."""
    factor = np.repeat([0.2, 0.5, 0.9], [10, 4, 6])
    assert np.bincount(tie_strata(factor, 60)).tolist() == [10, 4, 6]
    assert len(np.bincount(tie_strata(factor, 6))) == 2


def test_level_and_spread_make_eight_strata():
    """Two levels by no spread and three thirds of it."""
    rng = np.random.default_rng(1)
    spread = np.where(rng.random(400) < 0.3, 0, rng.random(400))
    assert len(np.bincount(level_by_spread(rng.random(400), spread, 250))) == 8


def test_the_shrunken_spread_by_hand():
    """Residuals 2, -1 and 1 in strata of mean size 1 and 2: prior 1 and 4 times 6/6, ten labels' worth."""
    residuals, groups = np.array([2.0, -1.0, 1.0]), np.array([0, 0, 1])
    prior = size_prior(residuals, groups, np.array([1.0, 2.0]))
    assert prior.tolist() == [1.0, 4.0]
    assert shrunken_sd(residuals, groups, prior) == pytest.approx([math.sqrt(15 / 12), math.sqrt(41 / 11)])


def test_a_million_prompts_are_drawn_from():
    """Strata, counts and draw of a million prompts agree with each other."""
    size = np.random.default_rng(1).random(1_000_000)
    found = strata(size, 5000)
    counts = allocate(np.bincount(found), np.bincount(found, weights=size), 5000)
    assert draw_within(found, counts, np.random.default_rng(1)).sum() == 5000


def by_sorting(found, counts, rng, taken):
    """Draw by sorting all prompts by stratum, then by what was drawn before, then by chance."""
    order = np.lexsort((rng.random(len(found)), taken, found))
    held = np.bincount(found, minlength=len(counts))
    rank = np.arange(len(found)) - np.repeat(np.cumsum(held) - held, held)
    drawn = np.zeros(len(found), dtype=bool)
    drawn[order] = (rank < np.repeat(counts, held)) & ~taken[order]
    return drawn


@pytest.mark.parametrize("groups", [1, 8, 4000])
@pytest.mark.parametrize("prompts", [1, 997, 10_000, 210_001])
def test_a_draw_is_that_of_a_sort_however_many_prompts_there_are(prompts, groups):
    """Without a sort of all prompts the same ones are drawn, from few strata or many, none, some or all of each."""
    rng = np.random.default_rng(prompts + groups)
    found, taken = rng.integers(0, groups, prompts), rng.random(prompts) < 0.3
    free = np.bincount(found[~taken], minlength=groups)
    for counts in (0 * free, (free * rng.random(groups)).astype(np.int64), free):
        drawn = draw_within(found, counts, np.random.default_rng(7), taken)
        assert np.array_equal(drawn, by_sorting(found, counts, np.random.default_rng(7), taken))


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=60), st.integers(0, 99))
def test_a_draw_follows_the_order_of_stratum_mark_and_chance(prompts, seed):
    """The draw is that of sorting by stratum, then by what was drawn before, then by chance."""
    found, taken = (np.array(one) for one in zip(*prompts, strict=True))
    counts = np.array([np.count_nonzero((found == h) & ~taken) // 2 for h in range(7)])
    wanted = np.zeros(len(found), dtype=bool)
    chance = np.random.default_rng(seed).random(len(found))
    for h in range(7):
        there = sorted(np.flatnonzero((found == h) & ~taken), key=lambda at: chance[at])
        wanted[there[: counts[h]]] = True
    assert draw_within(found, counts, np.random.default_rng(seed), taken).tolist() == wanted.tolist()


def population(prompts, candidates=8, tied=0.3, seed=1):
    """Return prompts of which a share is tied, with a size measure that is lower there."""
    rng = np.random.default_rng(seed)
    apart = rng.random(prompts) >= tied
    return CellPopulation(
        np.full(prompts, candidates), apart, np.where(apart, 1.0, 0.1) * (0.2 + rng.random(prompts))
    )


@given(
    st.integers(200, 900),
    st.sampled_from([8, 9, 16]),
    st.sampled_from([0.0, 0.01, 0.3, 0.9]),
    st.floats(0, 1),
    st.integers(0, 20),
)
@settings(max_examples=60, deadline=None)
def test_every_draw_adds_up_and_can_be_estimated_from(prompts, candidates, tied, part, seed):
    """Strata are of one kind; two or more whole pools in each that has them; no label too many and few too few."""
    everyone = population(prompts, candidates, tied, seed)
    least = FEWEST_WHOLE * candidates
    labels = least + int(part * (prompts * candidates - least))
    found = cell_strata(everyone, labels)
    assert all(len(set(everyone.open[found == h].tolist())) == 1 for h in range(found.max() + 1))
    drawn = allocate_cells(everyone, found, labels)
    there, open_ = np.bincount(found), np.bincount(found, weights=everyone.open) > 0
    assert (drawn.whole + drawn.pairs <= there).all()
    assert (drawn.whole >= np.minimum(there, 2)).all()
    assert not drawn.pairs[~open_].any()
    assert (drawn.pairs != 1).all()
    used = candidates * drawn.whole.sum() + 2 * drawn.pairs.sum()
    assert labels - candidates - 6 * open_.sum() <= used <= labels
    assert drawn.whole.sum() >= min(FEWEST_WHOLE, prompts)


def test_six_tenths_of_the_labels_go_to_whole_pools_where_there_are_pairs_enough():
    """Of 1,200 labels, 720 in 90 pools of 8; the others are 240 pairs."""
    everyone = population(1000, tied=0.0)
    drawn = allocate_cells(everyone, cell_strata(everyone, 1200), 1200)
    assert (drawn.whole.sum(), drawn.pairs.sum()) == (90, 240)


def test_what_pairs_cannot_use_goes_to_whole_pools():
    """With 30 open prompts of 300 the budget is spent all the same."""
    everyone = population(300, tied=0.9)
    drawn = allocate_cells(everyone, cell_strata(everyone, 1200), 1200)
    assert 1200 - 8 * drawn.whole.sum() - 2 * drawn.pairs.sum() < 8 + 8
    assert drawn.whole.sum() > 90


def test_strata_of_tied_prompts_get_as_many_whole_pools_as_open_ones_of_their_size():
    """The lowest stratum is shared in proportion to prompts, not to sizes."""
    everyone = population(1000, tied=0.3)
    found = cell_strata(everyone, 1200)
    drawn = allocate_cells(everyone, found, 1200)
    tied = found == found[~everyone.open][0]
    assert drawn.whole[found[~everyone.open][0]] >= 0.6 * drawn.whole.max() * tied.sum() / (tied.sum() + 100)


def test_a_later_phase_keeps_what_was_drawn():
    """No stratum has fewer whole pools or pairs than before."""
    everyone = population(600)
    found = cell_strata(everyone, 700)
    first = allocate_cells(everyone, found, 700)
    second = allocate_cells(everyone, found, 1400, held=first)
    assert (second.whole >= first.whole).all()
    assert (second.pairs >= first.pairs).all()
    assert 8 * second.whole.sum() + 2 * second.pairs.sum() == pytest.approx(1400, abs=2 * 12)


def test_too_many_labels_and_fewer_than_were_drawn_are_refused():
    """The callers say it in words before."""
    everyone = population(100)
    found = cell_strata(everyone, 600)
    with pytest.raises(ValueError, match="801 labels"):
        allocate_cells(everyone, found, 801)
    held = CellAllocation(np.bincount(found), np.zeros(found.max() + 1, dtype=int))
    with pytest.raises(ValueError, match="600 labels"):
        allocate_cells(everyone, found, 600, held=held)


def test_equal_columns_do_not_cancel():
    """Prompts that two equal columns tell apart keep their fold whatever their order."""
    rng = np.random.default_rng(3)
    column = rng.random(40)
    order = rng.permutation(40)
    there = fold_of(np.array([column, column]), np.arange(40), 5, 0)
    back = fold_of(np.array([column, column])[:, order], np.arange(40), 5, 0)
    assert there[order].tolist() == back.tolist()
    assert np.bincount(there).tolist() == [8] * 5

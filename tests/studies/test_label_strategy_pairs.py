"""Pairs as pools of two, Borda's count, quantised scores and broken ties: by hand, and against plain loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.judges.comparing import borda as of_judges
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimation import IntervalRule, estimate
from bonwise.stats.sums import prompt_sums
from bonwise.stats.top_of_scores import at_top
from bonwise.studies.label_strategy.matched_pairs import (
    Share,
    order_differences,
    order_effects,
    pair_share,
    share_difference,
    verdict_metrics,
)
from bonwise.studies.label_strategy.pairs import (
    Pairs,
    borda,
    connected_edges,
    draw_in_strata,
    even_counts,
    every_pair,
    gap_groups,
    gap_strata,
    of_pairs,
    pair_scores,
    pair_sums,
    quantised,
    tie_broken,
)
from bonwise.table.verdicts import Preference

# Pairs as pools of two, shares of weighted pairs, strata of gaps: by hand, by twins, by simulation.


VERDICTS = st.sampled_from([0.0, 0.5, 1.0])


def some_pairs(prompts, rng):
    """Return pairs of pools of three, with labels of both ends."""
    pairs = every_pair(np.full(prompts, 3))
    labels = rng.integers(0, 4, 3 * prompts) / 4
    return pairs, np.column_stack([labels[pairs.i], labels[pairs.j]]).ravel()


def test_best_of_two_by_hand():
    """Pairs (1, 0), (0, 1), (1, 1): the judge picks right, ties, and cannot err; recovery is (.5 + 0) / (.5 + .5)."""
    pairs = every_pair(np.full(18, 2))
    sums = pair_sums(pair_scores(np.tile([1.0, 0.5, 0.0], 6)), np.tile([1.0, 0, 0, 1, 1, 1], 6), pairs)
    found = estimate(of_pairs(ESTIMANDS), sums, IntervalRule())
    assert {name: one.estimate for name, one in found.items()} == pytest.approx(
        {
            "tie_rate": 1 / 3,
            "sign_agreement": 1.0,
            "effective_agreement_decided": 0.75,
            "effective_agreement": 2 / 3,
            "gain": 1 / 6,
            "recovery": 0.5,
        }
    )


def test_a_weight_of_two_is_a_pair_twice():
    """Weights count a pair as often as they say, in sums and in shares alike."""
    rng = np.random.default_rng(0)
    pairs, labels = some_pairs(30, rng)
    values, weights = rng.choice([0.0, 0.5, 1.0], len(pairs.i)), rng.integers(1, 4, len(pairs.i)).astype(float)
    again = np.repeat(np.arange(len(pairs.i)), weights.astype(int))
    twice = Pairs(pairs.prompt[again], pairs.i[again], pairs.j[again])
    labels_again = labels.reshape(-1, 2)[again].ravel()
    wanted = of_pairs(ESTIMANDS)
    one = estimate(wanted, pair_sums(pair_scores(values), labels, pairs, weights), IntervalRule())
    other = estimate(wanted, pair_sums(pair_scores(values[again]), labels_again, twice), IntervalRule())
    for name, found in one.items():
        assert (found.estimate, found.se) == pytest.approx((other[name].estimate, other[name].se)), name
    share = pair_share(Share(values, np.ones(len(values))), pairs.prompt, 0.95, weights)
    plain = pair_share(Share(values[again], np.ones(len(again))), twice.prompt, 0.95)
    assert (share.estimate, share.se) == pytest.approx((plain.estimate, plain.se))


@given(st.lists(st.tuples(VERDICTS, VERDICTS, st.integers(0, 3)), min_size=2, max_size=12))
def test_verdict_metrics_are_those_of_plain_counting(rows):
    """Ties, agreement and accuracy are what counting by hand gives."""
    judge, oracle, prompt = (np.array(part) for part in zip(*rows, strict=True))
    found = verdict_metrics(judge, oracle, prompt, 0.95)
    assert found["tie_rate"].estimate == pytest.approx(sum(j == 0.5 for j in judge) / len(judge))
    points = [0.5 if j == 0.5 else float(j == o) for j, o in zip(judge, oracle, strict=True) if o != 0.5]
    right = [float(j == o) for j, o in zip(judge, oracle, strict=True) if 0.5 not in (j, o)]
    for name, values in (("agreement", points), ("accuracy_decided", right)):
        expected = sum(values) / len(values) if values else None
        assert found[name].estimate == (None if expected is None else pytest.approx(expected)), name


def test_orders_by_hand():
    """Of four pairs the first shown wins two in both orders: advantage 1/2, flips 1/2; both orders decide two."""
    one, other, oracle = np.array([1.0, 1, 1, 0]), np.array([0.0, 0, 1, 0]), np.array([1.0, 0, 1, 1])
    effects = order_effects(one, other, np.arange(4), 0.95)
    assert effects["first_shown_advantage"].estimate == 0.5
    assert effects["flips"].estimate == 0.5
    differences = order_differences(one, (one + other) / 2, oracle, np.arange(4), 0.95)
    assert differences["agreement"].estimate == pytest.approx(2 / 4 - (0.5 + 0.5 + 1 + 0) / 4)
    assert differences["accuracy_decided"].estimate == pytest.approx(2 / 4 - 1 / 2)


def test_no_pair_has_no_share():
    """Without a pair that counts there is a reason in place of a number."""
    nothing = Share(np.ones(3), np.zeros(3))
    assert pair_share(nothing, np.arange(3), 0.95).reason == "undefined: no such pair"
    assert share_difference(nothing, nothing, np.arange(3), 0.95).estimate is None


@pytest.mark.parametrize("reps", [300, pytest.param(2000, marks=pytest.mark.slow)])
def test_intervals_of_weighted_shares_cover(reps):
    """Pairs drawn with unequal probabilities, several a prompt: 95 % intervals hold the share of all pairs."""
    rng, held = np.random.default_rng(3), 0
    prompt = np.repeat(np.arange(3000), 4)
    hit = (rng.random(12000) < np.repeat(rng.beta(4, 2, 3000), 4)).astype(float)
    chance = np.where(hit > 0, 0.01, 0.03)
    for _ in range(reps):
        drawn = rng.random(12000) < chance
        found = pair_share(Share(hit[drawn], np.ones(drawn.sum())), prompt[drawn], 0.95, 1 / chance[drawn])
        held += found.low <= hit.mean() <= found.high
    assert 0.92 <= held / reps <= 0.98


@given(st.lists(st.integers(1, 30), min_size=1, max_size=6), st.data())
def test_even_counts_are_even_and_all_used(sizes, data):
    """The counts add up, none exceeds its stratum, and two that are not used up differ by one at most."""
    count = data.draw(st.integers(0, sum(sizes)))
    found = even_counts(np.array(sizes), count)
    assert found.sum() == count
    assert (found <= sizes).all()
    open_ = found[found < sizes]
    assert open_.size == 0 or open_.max() - open_.min() <= 1


def test_weights_of_a_draw_count_every_pair():
    """The weights of each stratum add up to its pairs, no pair is drawn twice, and a seed draws one sample."""
    gaps = np.random.default_rng(0).choice([0.0, 0.1, 0.2, 0.3, 0.7], 500, p=[0.5, 0.2, 0.2, 0.07, 0.03])
    strata, names = gap_strata(gaps, 3)
    assert names[0] == "tie"
    drawn, weights = draw_in_strata(strata, 60, seed=1)
    assert len(set(drawn.tolist())) == 60
    for h in range(len(names)):
        assert weights[strata[drawn] == h].sum() == pytest.approx((strata == h).sum())
    assert (drawn == draw_in_strata(strata, 60, seed=1)[0]).all()
    assert (drawn != draw_in_strata(strata, 60, seed=2)[0]).any()


@given(st.lists(st.sampled_from([0.05, 0.1, 0.2, 0.4]), min_size=1, max_size=30), st.integers(1, 5))
def test_groups_of_gaps_keep_equal_gaps_together(gaps, groups):
    """Every group holds a pair, none more than it may, and a larger gap is never in a lower group."""
    values = np.array(gaps)
    found, ends = gap_groups(values, groups)
    assert len(ends) - 1 <= groups
    assert set(found.tolist()) == set(range(len(ends) - 1))
    order = np.argsort(values, kind="stable")
    assert (np.diff(found[order]) >= 0).all()
    for value in set(gaps):
        assert len(set(found[values == value].tolist())) == 1


# Borda's count over all pairs and some: by hand, against the judges' own, and against plain loops.


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


# Quantised scores and broken ties, by hand and against plain loops.


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

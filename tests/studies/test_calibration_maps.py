"""Maps of calibration, what they change of picks, and the jackknife that learns them again."""

from __future__ import annotations

from itertools import combinations
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaincinv
from sklearn.isotonic import IsotonicRegression

from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimand import NOT_DISTINGUISHABLE
from bonwise.stats.estimation import IntervalRule, estimate
from bonwise.stats.laws import student_quantile
from bonwise.stats.level_bias import largest_bias
from bonwise.stats.sums import prompt_sums
from bonwise.studies.calibration.judge_calibration import (
    cross_fitted,
    exchange_training_means,
    folds_of_prompts,
    isotonic_map,
    spline_index,
)
from bonwise.studies.calibration.refits import (
    Refits,
    deal_groups,
    group_error,
    pick_changes,
    refits,
    refitted_difference,
    refitted_estimate,
    refitted_tie_breaks,
    relative_change,
    rising_groups,
    tie_break_agreement,
)
from bonwise.testing import simulate
from stats.twins import metrics


def test_violators_are_pooled_by_hand():
    """Means .5, .3 (of two) and .9: the first falls, so both pool to (.5 + .2 + .4) / 3; the last stands."""
    fitted = isotonic_map(np.array([1.0, 2.0, 2.0, 3.0]), np.array([0.5, 0.2, 0.4, 0.9]))
    pooled = 1.1 / 3
    assert fitted.heights == pytest.approx([pooled, pooled, 0.9])
    # Half way between 2 and 3 lies half way between the heights; beyond the ends the map is level.
    assert fitted.at(np.array([0.0, 1.5, 2.5, 4.0])) == pytest.approx([pooled, pooled, (pooled + 0.9) / 2, 0.9])


def test_two_folds_are_calibrated_by_hand():
    """Each fold gets the map of the other, worked out on paper.

    Learned on the second fold: .2 -> (.1 + .3) / 2 = .2 and .8 -> (.5 + .9) / 2 = .7; .5 lies half way, .45.
    Learned on the first: means .6 at .2, .5 at .5 and (.4 + .7) / 2 = .55 at .8; the first two pool to .55.
    """
    scores = np.array([0.2, 0.8, 0.5, 0.8, 0.2, 0.8, 0.2, 0.8])
    labels = np.array([0.6, 0.4, 0.5, 0.7, 0.1, 0.5, 0.3, 0.9])
    owner = np.repeat([0, 1], 4)
    found = cross_fitted("isotonic", scores[:, None], labels, owner, 0)
    assert found == pytest.approx([0.2, 0.7, 0.45, 0.7, 0.55, 0.55, 0.55, 0.55])


def test_the_map_is_that_of_another_library():
    """Heights are those of scikit-learn's isotonic regression, between the values too."""
    rng = np.random.default_rng(0)
    x, y, new = rng.integers(0, 30, 300) / 30, rng.random(300), rng.uniform(-0.2, 1.2, 100)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(x, y).predict(new)
    assert isotonic_map(x, y).at(new) == pytest.approx(theirs)


def test_a_spline_bends_between_its_outer_knots_and_is_straight_beyond():
    """The index follows a curve, and beyond the outer knots its second differences vanish."""
    x = np.linspace(0, 1, 401)
    fitted = spline_index(x[:, None], np.sin(3 * x))
    assert fitted.at(x[:, None]) == pytest.approx(np.sin(3 * x), abs=0.02)
    beyond = fitted.at(np.linspace(1.0, 2.0, 11)[:, None])
    assert np.diff(beyond, 2) == pytest.approx(0, abs=1e-8)


def test_constant_and_repeated_columns_are_no_obstacle():
    """A constant column and a copy of a column leave the index as it is without them."""
    rng = np.random.default_rng(1)
    x = rng.random((200, 1))
    labels = x[:, 0] ** 2 + 0.1 * rng.standard_normal(200)
    alone = spline_index(x, labels).at(x)
    more = np.column_stack([x, x, np.full(200, 7.0)])
    assert spline_index(more, labels).at(more) == pytest.approx(alone, abs=1e-8)


def test_equal_rows_get_equal_indexes():
    """Rows of one score tie after any number of terms, wherever they stand."""
    rng = np.random.default_rng(2)
    x = rng.integers(0, 21, (5000, 1)) / 20
    index = spline_index(x, rng.random(5000)).at(x)
    assert len(np.unique(index)) <= 21


@pytest.mark.parametrize("method", ["two_stage", "two_stage_covariates", "gradient_boosting"])
def test_the_same_seed_gives_the_same_bits(method):
    """Twice the same cross-fit: the same numbers, to the last bit."""
    rng = np.random.default_rng(3)
    rows, owner = rng.random((400, 2)), np.repeat(np.arange(100) % 5, 4)
    found = [cross_fitted(method, rows, rows.sum(axis=1), owner, 0) for _ in range(2)]
    assert found[0].tobytes() == found[1].tobytes()


# The shift of each fold after cross-fitting: what it gives back, what it leaves, and what is left of the bias.


SEED = 20261122
PROMPTS = 50


def test_three_folds_are_shifted_by_hand():
    """Labels 1, 2, 6, 6 in folds 0, 1, 2, 2 have mean 15/4; the other folds' are 14/3, 13/3 and 3/2."""
    found = exchange_training_means(np.zeros(4), np.array([1.0, 2.0, 6.0, 6.0]), np.array([0, 1, 2, 2]))
    assert found == pytest.approx([15 / 4 - 14 / 3, 15 / 4 - 13 / 3, 15 / 4 - 3 / 2, 15 / 4 - 3 / 2])


@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_maps_that_learned_the_mean_alone_agree_after(folds, seed):
    """Each fold predicted by the mean of the others is the mean of all, in plain loops; nothing else is left."""
    rng = np.random.default_rng(seed)
    labels, owner = rng.random(24), rng.permutation(np.arange(24) % folds)
    cells = list(zip(labels.tolist(), owner.tolist(), strict=True))
    predicted = np.array([fmean(label for label, fold in cells if fold != mine) for _, mine in cells])
    assert exchange_training_means(predicted, labels, owner) == pytest.approx([labels.mean()] * 24)


@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_the_shift_moves_no_pick(folds, seed):
    """The top of every prompt stays as it is, and so does every difference within a fold."""
    rng = np.random.default_rng(seed)
    values, labels, owner = rng.integers(0, 5, 60) / 5, rng.random(60), np.repeat(np.arange(20) % folds, 3)
    shifted = exchange_training_means(values, labels, owner)
    assert pick_changes(values, shifted, np.full(20, 3))[0].top_kept == 20
    for fold in range(folds):
        mine = owner == fold
        assert shifted[mine] - shifted[mine][0] == pytest.approx(values[mine] - values[mine][0])


def one_mean(values, owner):
    """Shift the folds to one mean of their values: what the map did not learn is taken out as well."""
    return values + (values.mean() - np.bincount(owner, weights=values) / np.bincount(owner))[owner]


def mean_changes(r, samples):
    """Return by kind of shift the mean change of the correlation over samples of scores that correlate at r."""
    changes = []
    owner = np.repeat(np.arange(PROMPTS) % 5, 4)
    for at in range(samples):
        rng = np.random.default_rng([SEED, at])
        # Half the variance is the prompt's, as where some prompts are harder than others.
        scores, noise = (
            (np.repeat(rng.standard_normal(PROMPTS), 4) + rng.standard_normal(4 * PROMPTS)) / 2**0.5 for _ in range(2)
        )
        labels = r * scores + (1 - r**2) ** 0.5 * noise
        found = cross_fitted("isotonic", scores[:, None], labels, owner, 0)
        kinds = (found, one_mean(found, owner), exchange_training_means(found, labels, owner))
        raw = np.corrcoef(scores, labels)[0, 1]
        changes.append([np.corrcoef(one, labels)[0, 1] - raw for one in kinds])
    return np.mean(changes, axis=0)


@pytest.mark.parametrize("r", [0.9, 0.5])
def test_the_correlation_is_biased_least_after_this_shift(r):
    """A line cannot be mended, so the truth is 0; folds left as they are or set to one mean fall further below."""
    unshifted, to_one_mean, shifted = mean_changes(r, 150)
    assert max(unshifted, to_one_mean) < shifted - 0.001
    assert shifted < 0


# What calibration changes, once more in plain loops.


GLOBAL_R = [e for e in ESTIMANDS if e.name == "global_r"]


@st.composite
def scored(draw):
    """Draw ragged pools of raw scores, calibrated scores and labels on small grids."""
    sizes = np.array(draw(st.lists(st.integers(2, 5), min_size=2, max_size=12)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cells = int(sizes.sum())
    return rng.integers(0, 4, cells) / 4, rng.integers(0, 6, cells) / 6, rng.integers(0, 3, cells) / 2, sizes


def prompts_of(sizes, *columns):
    """Yield each prompt's lists."""
    ends = np.cumsum(sizes)
    for last, size in zip(ends.tolist(), sizes.tolist(), strict=True):
        yield tuple(column[last - size : last].tolist() for column in columns)


def tops(values):
    """Return the positions of the highest value."""
    return {i for i, value in enumerate(values) if value == max(values)}


@given(scored())
def test_pick_changes_are_those_of_sets(case):
    """Each count is that of a plain loop over sets of candidates."""
    raw, calibrated, _, sizes = case
    pairs = [(tops(one), tops(other)) for one, other in prompts_of(sizes, raw, calibrated)]
    for found, some in zip(
        pick_changes(raw, calibrated, sizes), (pairs, [p for p in pairs if len(p[0]) == 1]), strict=True
    ):
        assert found.to_dict() == {
            "prompts": len(some),
            "picks_changed": sum(not a & b or (len(a) == 1 and a < b) for a, b in some),
            "picks_newly_tied": sum(len(a) == 1 and a < b for a, b in some),
            "ties_broken": sum(bool(a & b) and not a <= b for a, b in some),
            "top_kept": sum(a == b for a, b in some),
        }


def broken(prompts):
    """Count the raw ties that are told apart where labels differ, and those that go the labels' way."""
    agree = pairs = 0
    for raw, calibrated, labels in prompts:
        for i, j in combinations(range(len(raw)), 2):
            product = (calibrated[i] - calibrated[j]) * (labels[i] - labels[j])
            pairs += raw[i] == raw[j] and product != 0
            agree += raw[i] == raw[j] and product > 0
    return agree / pairs if pairs else None


@given(scored())
def test_tie_breaks_are_those_of_a_loop_over_pairs(case):
    """The share and its jackknife error are those of a loop that leaves each prompt out."""
    raw, calibrated, labels, sizes = case
    prompts = list(prompts_of(sizes, raw, calibrated, labels))
    found = tie_break_agreement(raw, calibrated, labels, sizes, confidence=0.95)
    assert found.estimate == (pytest.approx(broken(prompts)) if broken(prompts) is not None else None)
    left_out = [broken(prompts[:x] + prompts[x + 1 :]) for x in range(len(prompts))]
    if found.se:
        n = len(prompts)
        around = sum((one - np.mean(left_out)) ** 2 for one in left_out)
        assert found.se == pytest.approx(((n - 1) / n * around) ** 0.5)


@given(st.integers(5, 20), st.integers(0, 2**32 - 1))
def test_a_relative_change_is_that_of_a_loop(prompts, seed):
    """Ratio less 1 and jackknife error are those of a loop that leaves each prompt out."""
    rng = np.random.default_rng(seed)
    labels = rng.random((prompts, 3))
    raw = labels + 0.2 * rng.standard_normal(labels.shape)
    after = raw + 0.2 * rng.standard_normal(labels.shape)
    sizes = np.full(prompts, 3)
    sums = [prompt_sums(one.ravel(), labels.ravel(), sizes) for one in (after, raw)]
    found = relative_change(GLOBAL_R, sums[0], sums[1], IntervalRule())["global_r"]

    def ratio(kept):
        now, before = (
            metrics([(one[x].tolist(), labels[x].tolist()) for x in kept])["global_r"] for one in (after, raw)
        )
        return now / before - 1

    every = range(prompts)
    left_out = [ratio([x for x in every if x != gone]) for gone in every]
    if found.estimate is not None:
        assert found.estimate == pytest.approx(ratio(every), abs=1e-8)
        assert found.se == pytest.approx(((prompts - 1) ** 2 / prompts * np.var(left_out, ddof=1)) ** 0.5, rel=1e-6)


def test_nothing_is_divided_by_a_metric_that_may_be_0():
    """Where the raw correlation cannot be told from 0 there is no relative change, and a reason."""
    rng = np.random.default_rng(0)
    raw, labels, sizes = rng.random(80), rng.random(80), np.full(20, 4)
    sums = prompt_sums(raw, labels, sizes)
    found = relative_change(GLOBAL_R, sums, sums, IntervalRule())["global_r"]
    assert (found.estimate, found.reason) == (None, NOT_DISTINGUISHABLE)


def test_the_largest_bias_is_worked_by_hand():
    """Candidate a is off by 0 and .2, b by .4 and .2: b is the worst with .3, se .1."""
    labels = np.array([0.5, 0.5, 0.5, 0.7])
    residuals, names = np.array([0.0, 0.4, 0.2, 0.2]), np.array([0, 1, 0, 1])
    found = largest_bias(residuals, labels, np.array([2, 2]), names, confidence=0.95)
    assert (found.estimate, found.se, found.n) == (pytest.approx(0.3), pytest.approx(0.1), 2)


def test_without_recurring_names_there_is_no_level():
    """Candidates that each are in one prompt have no mean to be off."""
    drawn = simulate("arena", n=10, seed=1)
    labels = drawn.labels.ravel()
    found = largest_bias(labels, labels, np.full(10, 4), np.arange(40), confidence=0.95)
    assert found.estimate is None
    assert "recur" in found.reason


# Lemma 6 of Landesberg (2026): a monotone map of the scores keeps the picks.


LEVELS = 21


@st.composite
def pools(draw, least=2):
    """Draw scores on a grid of 21 levels, grouped by prompt, and the pool sizes."""
    sizes = np.array(draw(st.lists(st.integers(2, 6), min_size=least, max_size=15)))
    levels = draw(st.lists(st.integers(0, LEVELS - 1), min_size=int(sizes.sum()), max_size=int(sizes.sum())))
    return np.array(levels), sizes


@st.composite
def rising(draw, least):
    """Draw the heights of a map of the levels; each step is at least `least`."""
    steps = draw(st.lists(st.integers(least, 1000), min_size=LEVELS, max_size=LEVELS))
    return np.cumsum(steps) / 1000 - draw(st.integers(-5, 5))


@given(pools(), rising(1))
def test_a_strictly_rising_map_keeps_every_top(pool, heights):
    """The candidates at the top are the same ones, tied or not, on every prompt."""
    levels, sizes = pool
    whole, untied = pick_changes(levels / 20, heights[levels], sizes)
    assert whole.top_kept == whole.prompts == len(sizes)
    assert (whole.picks_changed, whole.picks_newly_tied, whole.ties_broken) == (0, 0, 0)
    assert untied.top_kept == untied.prompts


@given(pools(), rising(0))
def test_a_map_that_never_falls_keeps_the_raw_top_inside_the_new_one(pool, heights):
    """No pick is replaced and no tie is broken; a unique pick is kept or newly tied, which counts as a change."""
    levels, sizes = pool
    whole, untied = pick_changes(levels / 20, heights[levels], sizes)
    assert (whole.picks_changed, whole.ties_broken) == (whole.picks_newly_tied, 0)
    assert untied.top_kept + untied.picks_newly_tied == untied.prompts


@given(pools(least=4), st.integers(0, 2**32 - 1), st.integers(2, 4))
def test_cross_fitted_isotonic_calibration_replaces_no_pick(pool, seed, folds):
    """One map serves a whole prompt, so that whatever the labels are no pick is replaced and no tie is broken."""
    levels, sizes = pool
    labels = np.random.default_rng(seed).random(len(levels)).round(1)
    owner = np.repeat(folds_of_prompts(len(sizes), folds, seed), sizes)
    calibrated = cross_fitted("isotonic", (levels / 20)[:, None], labels, owner, seed)
    whole, _ = pick_changes(levels / 20, calibrated, sizes)
    assert (whole.picks_changed, whole.ties_broken) == (whole.picks_newly_tied, 0)
    assert rising_groups(levels / 20, calibrated, owner) == len(np.unique(owner))


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=40), st.integers(0, 2**32 - 1))
def test_a_fitted_map_never_falls_between_the_values_it_saw(values, seed):
    """Heights at any values, seen or not, rise with the value to the last bit."""
    rng = np.random.default_rng(seed)
    fitted = isotonic_map(np.array(values), rng.standard_normal(len(values)))
    new = np.sort(np.concatenate([values, rng.uniform(-1100, 1100, 200)]))
    assert (np.diff(fitted.at(new)) >= 0).all()


# The delete-a-group jackknife: what is left out, what is learned again, and what has no interval.


RULE = IntervalRule()
SIZES = np.full(12, 2)


def of(*names):
    """Return some metrics of the catalogue."""
    return [e for e in ESTIMANDS if e.name in names]


def kept_of(sums):
    """Return what takes sums as they are, learning nothing."""
    return lambda kept: sums[:, kept]


def picks(right):
    """Return the sums of pools of two whose better candidate is picked, or not."""
    scores = np.array([[1.0, 0.0] if one else [0.0, 1.0] for one in right]).ravel()
    return prompt_sums(scores, np.tile([1.0, 0.0], len(right)), np.full(len(right), 2))


def test_a_refit_is_worked_by_hand():
    """The prompts' mean is learned, and the mean square about it asked for: 4 prompts in 2 groups.

    All of 0, 2, 4, 10: mean 4, squares 16 + 4 + 0 + 36 = 56, over 4 is 14. Without 0 and 2: mean 7, 9 + 9, over 2
    is 9. Without 4 and 10: mean 1, 1 + 1, over 2 is 1. Their mean is 5, so se^2 = 1/2 (16 + 16) = 16.
    """
    values = np.array([0.0, 2.0, 4.0, 10.0])
    found = refits(lambda kept: (values[kept] - values[kept].mean())[None] ** 2, np.array([0, 0, 1, 1]))
    assert found.totals.tolist() == [56.0]
    assert found.rests.tolist() == [[18.0, 2.0]]
    assert group_error(found.rests / 2).tolist() == [4.0]


@given(st.lists(st.floats(-100, 100), min_size=4, max_size=30))
def test_of_a_mean_with_single_prompts_as_groups_the_error_is_that_of_the_text_book(values):
    """Where nothing is learned and each prompt is a group, the error of a mean is s over root n."""
    column = np.array(values)[None]
    found = refits(kept_of(column), np.arange(len(values)))
    expected = np.std(values, ddof=1) / len(values) ** 0.5
    assert group_error(found.rests / (len(values) - 1)) == pytest.approx(expected, abs=1e-9)


@given(st.integers(2, 8), st.integers(2, 12), st.integers(0, 2**32 - 1))
def test_no_group_holds_a_whole_fold(folds, per_fold, seed):
    """Groups differ in size by one at most, 20 or half the prompts; whichever is left out, every fold is left."""
    dealt = np.random.default_rng(seed).permutation(folds * per_fold) % folds
    groups = deal_groups(dealt, seed)
    counts = np.bincount(groups)
    assert len(counts) == min(20, len(dealt) // 2)
    assert counts.max() - counts.min() <= 1
    for group in range(len(counts)):
        assert len(np.unique(dealt[groups != group])) == folds


def test_the_interval_takes_t_over_the_groups():
    """Clopper-Pearson on v (1 - v) / se^2 (z / t(G - 1))^2 draws."""
    sums = picks([True] * 9 + [False] * 3)
    found = refits(kept_of(sums), np.arange(12) % 6)
    (one,) = refitted_estimate(of("top1_accuracy"), found, RULE).values()
    rests = [(sums.shape[1] * 0.75 - sum(1 for x in range(g, 12, 6) if x < 9)) / 10 for g in range(6)]
    se = (5 / 6 * sum((rest - np.mean(rests)) ** 2 for rest in rests)) ** 0.5
    assert (one.estimate, one.se) == (0.75, pytest.approx(se))
    draws = 0.75 * 0.25 / se**2 * (1.959963985 / student_quantile(0.95, 5)) ** 2
    ends = betaincinv(0.75 * draws, 0.25 * draws + 1, 0.025), betaincinv(0.75 * draws + 1, 0.25 * draws, 0.975)
    assert (one.low, one.high) == pytest.approx(ends)


def test_a_metric_that_a_group_alone_defines_has_no_interval():
    """Where labels differ in one group of prompts only, recovery is undefined without it: a reason, and no NaN."""
    labels = np.tile([0.5, 0.5], 12)
    labels[:4] = [1.0, 0.0, 0.9, 0.0]
    sums = prompt_sums(np.tile([0.7, 0.3], 12), labels, SIZES)
    found = refits(kept_of(sums), np.arange(12) // 2)
    one = refitted_estimate(of("top1_accuracy", "within_r"), found, RULE)["within_r"]
    assert (one.low, one.high, one.se) == (None, None, None)
    assert "some group of prompts is left out" in one.reason


def test_what_no_prompt_changes_has_the_exact_bound():
    """Where every prompt is alike, before and after, the change of 0 keeps the bound for prompts that are alike."""
    found = refits(kept_of(picks([True] * 12)), np.arange(12) % 6)
    (one,) = refitted_difference(of("top1_accuracy"), found, found, ({}, {}), RULE).values()
    assert (one.estimate, one.interval) == (0.0, "exact")
    assert one.low < 0 < one.high


def test_groups_that_happen_to_be_alike_are_no_bound():
    """Where each group holds one right pick and one wrong one the groups tell nothing, and the reason says so."""
    found = refits(kept_of(picks([True, False] * 6)), np.arange(12) // 2)
    (one,) = refitted_estimate(of("top1_accuracy"), found, RULE).values()
    assert (one.estimate, one.low, one.high) == (0.5, None, None)
    assert "changes nothing" in one.reason


def test_what_is_undefined_keeps_its_reason():
    """Constant scores have no correlation, and nothing is told of ties that no map breaks."""
    labels = np.random.default_rng(0).random(24)
    found = refits(kept_of(prompt_sums(np.full(24, 0.5), labels, SIZES)), np.arange(12) % 6)
    (one,) = refitted_estimate(of("global_r"), found, RULE).values()
    assert (one.estimate, one.reason.split(":")[0]) == (None, "undefined")
    ties = refitted_tie_breaks(Refits(np.zeros((2, 12)), np.zeros((2, 6))), 0.95)
    assert "broken" in ties.reason


def test_one_pair_that_a_single_group_holds_has_no_interval():
    """Without the group of the only two broken ties there is none to count: a reason, and no NaN."""
    whole = np.zeros((2, 12))
    whole[:, :2] = [[1, 0], [1, 1]]
    one = refitted_tie_breaks(refits(kept_of(whole), np.arange(12) // 2), 0.95)
    assert (one.estimate, one.low, one.se) == (0.5, None, None)
    assert one.reason.startswith("no interval")


def test_learning_nothing_the_error_is_near_that_of_single_prompts():
    """With maps that nothing is learned for, groups of prompts tell the error that single prompts do."""
    rng = np.random.default_rng(1)
    labels = rng.random(8000)
    sums = prompt_sums(labels + 0.5 * rng.standard_normal(8000), labels, np.full(2000, 4))
    single = estimate(of("recovery", "within_r"), sums, RULE)
    errors = [
        [one.se for one in refitted_estimate(of("recovery", "within_r"), found, RULE).values()]
        for found in (refits(kept_of(sums), deal_groups(np.arange(2000) % 5, seed)) for seed in range(30))
    ]
    ratio = np.sqrt(np.mean(np.square(errors), axis=0)) / [one.se for one in single.values()]
    assert ratio == pytest.approx([1, 1], abs=0.15)

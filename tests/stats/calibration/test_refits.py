"""The delete-a-group jackknife: what is left out, what is learned again, and what has no interval."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaincinv

from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimation import IntervalRule, estimate
from bonwise.stats.laws import student_quantile
from bonwise.stats.sums import prompt_sums
from bonwise.studies.calibration.refits import (
    Refits,
    deal_groups,
    group_error,
    refits,
    refitted_difference,
    refitted_estimate,
    refitted_tie_breaks,
)

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

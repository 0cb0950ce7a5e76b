from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.stacks.fitted_stack import FeatureScaling, JudgeStack, StackFeature

ONE, TWO = (StackFeature("a", "score"),), (StackFeature("a", "score"), StackFeature("b", "score"))
VALUE = st.one_of(st.none(), st.integers(0, 3).map(float))


def plain_scale(pools):
    """Root mean square difference of pairs that differ, over the square root of 2."""
    squares = [
        (x - y) ** 2
        for pool in pools
        for x, y in itertools.combinations([one for one in pool if one is not None], 2)
        if x != y
    ]
    return math.sqrt(sum(squares) / len(squares) / 2) if squares else 0.0


@given(st.lists(st.lists(VALUE, min_size=1, max_size=5), min_size=1, max_size=6))
def test_the_scale_is_that_of_a_plain_loop(pools):
    """Ties do not make it smaller; a judge that ties everything has none."""
    values = np.array([[np.nan if one is None else one] for pool in pools for one in pool])
    found = FeatureScaling.of(ONE, values, np.array([len(pool) for pool in pools]))
    assert found.scales[0] == pytest.approx(plain_scale(pools))


def test_features_are_centred_within_their_prompt():
    """The level of a prompt is gone; verdicts of 0 and 1 lie at plus and minus .71."""
    values = np.array([[1.0], [0.0], [101.0], [100.0]])
    scaling = FeatureScaling.of(ONE, values, np.array([2, 2]))
    assert scaling.standardised(values, np.array([2, 2]))[:, 0].tolist() == pytest.approx(
        [0.7071, -0.7071] * 2, abs=1e-4
    )


def test_a_gap_is_filled_by_what_the_other_judge_lets_expect():
    """With a correlation of .5, .001 added to the variance: half of what the other one says."""
    scaling = FeatureScaling(TWO, np.ones(2), np.array([[1.0, 0.5], [0.5, 1.0]]))
    found = scaling.standardised(np.array([[1.0, np.nan], [-1.0, np.nan]]))
    assert found[:, 1].tolist() == pytest.approx([0.5 / 1.001, -0.5 / 1.001])


def test_one_score_of_a_prompt_says_nothing():
    """There is nothing to compare it with: it is a gap, and the mean where no judge says anything."""
    scaling = FeatureScaling(TWO, np.ones(2), np.eye(2))
    assert scaling.standardised(np.array([[5.0, np.nan], [np.nan, np.nan]])).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_one_prompt_is_the_same_alone_and_among_others():
    """Whether by the short way for one pool without gaps, or by that of a table."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(6, 2))
    scaling = FeatureScaling.of(TWO, values, np.array([3, 3]))
    together = scaling.standardised(values, np.array([3, 3]))
    assert np.allclose(np.concatenate([scaling.standardised(values[:3]), scaling.standardised(values[3:])]), together)


def test_chances_are_means_over_draws_of_the_coefficients():
    """Without any uncertainty they are a softmax; with much of it they come closer to each other."""
    scaling = FeatureScaling(TWO, np.ones(2), np.eye(2))
    pool = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    sure = JudgeStack.of(scaling, np.array([2.0, 1.0]), np.zeros((2, 2)), temperature=0.5, unit=3.0)
    utilities, chances, regrets = sure.judged(pool)
    powers = np.exp(utilities / 0.5)
    assert chances == pytest.approx(powers / powers.sum())
    assert regrets == pytest.approx(3 * (np.log(powers.sum()) - utilities / 0.5))
    unsure = JudgeStack.of(scaling, np.array([2.0, 1.0]), 4 * np.eye(2), temperature=0.5)
    assert unsure.p_best(pool).max() < chances.max()
    assert unsure.p_best(pool).sum() == pytest.approx(1)


def test_a_candidate_that_no_judge_scored_has_no_utility():
    """It is not among those that may be the best."""
    scaling = FeatureScaling(TWO, np.ones(2), np.eye(2))
    stack = JudgeStack.of(scaling, np.array([2.0, 1.0]), np.zeros((2, 2)))
    utilities, chances, regrets = stack.judged(np.array([[1.0, 0.0], [np.nan, np.nan], [0.0, np.nan]]))
    assert np.isnan([utilities[1], chances[1], regrets[1]]).all()
    assert chances[[0, 2]].sum() == pytest.approx(1)
    nobody = stack.judged(np.full((2, 2), np.nan))
    assert np.isnan(nobody).all()


def test_a_stack_at_a_table_is_the_stack_at_each_prompt():
    """Utilities of many prompts at once, with gaps."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=(9, 2))
    values[rng.random((9, 2)) < 0.3] = np.nan
    sizes = np.array([4, 5])
    scaling = FeatureScaling.of(TWO, rng.normal(size=(20, 2)), np.full(5, 4))
    stack = JudgeStack.of(scaling, np.array([2.0, 1.0]), np.zeros((2, 2)))
    apart = [stack.utilities(values[:4]), stack.utilities(values[4:])]
    assert np.allclose(stack.utilities(values, sizes), np.concatenate(apart), equal_nan=True)

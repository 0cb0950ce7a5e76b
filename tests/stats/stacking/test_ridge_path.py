from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonwise.stacks.procedure import deal
from bonwise.stacks.ridge_path import MOST_PAIRS, RIDGES, LabelledPairs, labelled_pairs, logit, ridge_path
from stats.stacking.judge_laws_of_stacks import LAWS, laid_out

HALVES = st.sampled_from([0.0, 0.5, 1.0])


def plain_objective(pairs, ridge, at):
    """Add up the penalised log likelihood pair by pair."""
    total = -ridge / 2 * sum(one**2 for one in at)
    for difference, better, weight in zip(pairs.differences, pairs.better, pairs.weights, strict=True):
        chance = 1 / (1 + math.exp(-sum(x * b for x, b in zip(difference, at, strict=True))))
        total += weight * (better * math.log(chance) + (1 - better) * math.log(1 - chance))
    return total


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_the_fit_is_the_maximum_of_the_penalised_likelihood(data):
    """No step in any direction raises the sum that a plain loop computes."""
    rows = data.draw(st.lists(st.tuples(*[st.floats(-3, 3)] * 2, HALVES, st.floats(0.1, 2)), min_size=1, max_size=12))
    table = np.array(rows)
    pairs = LabelledPairs(table[:, :2], table[:, 2], table[:, 3], np.zeros(len(rows), dtype=np.int64))
    ridge = data.draw(st.sampled_from(RIDGES))
    found = logit(pairs, ridge)
    best = plain_objective(pairs, ridge, found)
    for step in ([0.01, 0], [-0.01, 0], [0, 0.01], [0, -0.01], [0.01, 0.01], [-0.01, -0.01]):
        assert plain_objective(pairs, ridge, found + np.array(step)) < best + 1e-9


def test_exchanging_the_candidates_of_pairs_changes_nothing():
    """There is no intercept: turned pairs with turned outcomes have the same fit."""
    rng = np.random.default_rng(1)
    differences, better = rng.normal(size=(30, 3)), rng.choice([0.0, 0.5, 1.0], 30)
    turned = rng.random(30) < 0.5
    sign = np.where(turned, -1.0, 1.0)
    there = LabelledPairs(differences, better, np.ones(30), np.arange(30))
    back = LabelledPairs(
        differences * sign[:, None], np.where(turned, 1 - better, better), np.ones(30), np.arange(30)
    )
    assert np.allclose(logit(there, 1.0), logit(back, 1.0), atol=1e-9)


def test_a_fit_worked_by_hand():
    """One pair that differs by 1: b = 1 / (1 + exp(b)) / ridge has the solution .4011 at a ridge of 1."""
    pair = LabelledPairs(np.array([[1.0]]), np.array([1.0]), np.array([1.0]), np.array([0]))
    assert logit(pair, 1.0)[0] == pytest.approx(0.401058, abs=1e-6)
    tied = LabelledPairs(np.array([[1.0]]), np.array([0.5]), np.array([1.0]), np.array([0]))
    assert logit(tied, 1.0)[0] == 0.0


def test_pairs_of_a_prompt_weigh_as_much_as_its_candidates_less_one():
    """Three candidates make three pairs of 2/3 each; equal labels count one half."""
    found = labelled_pairs(np.arange(5.0)[:, None], np.array([1.0, 1.0, 0.0, 0.0, 1.0]), np.array([3, 2]))
    assert found.weights.tolist() == pytest.approx([2 / 3] * 3 + [1.0])
    assert found.better.tolist() == [0.5, 1.0, 1.0, 0.0]
    assert found.differences[:, 0].tolist() == [-1.0, -2.0, -1.0, -1.0]
    assert found.prompts.tolist() == [0, 0, 0, 1]


def test_design_weights_keep_the_sum_of_all_weights():
    """A pair weighs the product of the weights of its cells."""
    features, labels = np.arange(4.0)[:, None], np.array([0.0, 1.0, 0.0, 1.0])
    found = labelled_pairs(features, labels, np.array([2, 2]), weights=np.array([1.0, 1.0, 2.0, 2.0]))
    assert found.weights.tolist() == pytest.approx([0.4, 1.6])


def test_of_a_large_pool_some_pairs_are_drawn():
    """40 candidates have 780 pairs, of which 120 stand for all."""
    rng = np.random.default_rng(0)
    found = labelled_pairs(rng.normal(size=(40, 1)), rng.normal(size=40), np.array([40]))
    assert len(found.weights) == MOST_PAIRS
    assert found.weights.sum() == pytest.approx(39)
    assert len({tuple(one) for one in found.differences}) == MOST_PAIRS


@pytest.mark.parametrize("name", ["law A", "heavy tails", "rarely good"])
def test_one_newton_step_nearly_gives_the_fit_without_a_fold(name):
    """Against fits from scratch: the picks of the two agree nearly everywhere, and so does the loss of the fold."""
    judges, labels = LAWS[name](np.random.default_rng(3), 200)
    pools, _ = laid_out(judges, labels)
    pairs = labelled_pairs(pools.features, pools.labels, pools.sizes)
    dealt = deal(200, None, seed=0)
    path = ridge_path(pairs, dealt.parts, dealt.count)
    kept = dealt.folds[0] != 0
    (near,) = path.fitted_to(kept[None])
    ours = kept[dealt.parts][pairs.prompts]
    some = LabelledPairs(pairs.differences[ours], pairs.better[ours], pairs.weights[ours], pairs.prompts[ours])
    held = LabelledPairs(pairs.differences[~ours], pairs.better[~ours], pairs.weights[~ours], pairs.prompts[~ours])
    losses = path.losses_at(near[None], ~kept[None])[0]
    for at, ridge in enumerate(RIDGES):
        exact = logit(some, ridge)
        assert np.abs(near[at] - exact).max() < 0.02
        really = -(plain_objective(held, 0.0, near[at]) / held.weights.sum())
        assert losses[at] == pytest.approx(really, abs=2e-3)


def test_the_whole_fit_is_what_is_left_when_nothing_is_left_out():
    """One Newton step from the maximum goes nowhere."""
    judges, labels = LAWS["law A"](np.random.default_rng(5), 60)
    pools, _ = laid_out(judges, labels)
    dealt = deal(60, None, seed=0)
    path = ridge_path(labelled_pairs(pools.features, pools.labels, pools.sizes), dealt.parts, dealt.count)
    (found,) = path.fitted_to(np.ones((1, dealt.count), dtype=bool))
    assert np.allclose(found, path.coefficients, atol=1e-6)

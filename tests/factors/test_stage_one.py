from __future__ import annotations

from time import process_time

import numpy as np
import pytest

from bonwise.factors.rating_arrays import RatingArrays
from bonwise.factors.ratings import RatingTable
from bonwise.factors.stage_one import CapabilityShape, StageOneLoss, fit_capabilities
from bonwise.stats.ordinal_ratings import CutoffLayout, log_probability
from bonwise.testing import simulate_ratings


def arrays(seed=0, **size):
    """Return simulated ratings as arrays."""
    return RatingArrays.of(RatingTable.read(simulate_ratings(seed, **size).frame(), human="human"))


def mixed(rows=300, seed=0):
    """Return ratings of raters that rate one model and of raters that compare two."""
    rng = np.random.default_rng(seed)
    rater = rng.integers(0, 4, rows)
    sizes, symmetric = (3, 5, 3, 2), (True, False, True, True)
    model = rng.integers(0, 4, rows)
    opponent = np.where(np.array(symmetric)[rater], (model + rng.integers(1, 4, rows)) % 4, -1)
    rating = rng.integers(0, np.array(sizes)[rater])
    layout = CutoffLayout(sizes, symmetric)
    return RatingArrays(rater, rng.integers(0, 12, rows), model, opponent, rating, np.ones(rows), layout, 12, 4)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("rank", [1, 3])
def test_the_gradient_is_the_numerical_one(rank, normalize):
    """Within 1e-7, for raters of both kinds, with the prior and with normalised columns."""
    data = mixed()
    loss = StageOneLoss(data, CapabilityShape(4, 12, 4, rank, data.layout), 1.0, normalize)
    at = loss.start(np.random.default_rng(1))
    _, gradient = loss(at)
    for one in range(len(at)):
        step = np.zeros(len(at))
        step[one] = 1e-5
        assert abs((loss(at + step)[0] - loss(at - step)[0]) / 2e-5 - gradient[one]) < 1e-7


def test_the_loss_is_that_of_the_definition():
    """A plain loop over ratings gives the same loss."""
    data = mixed(60)
    shape = CapabilityShape(4, 12, 4, 2, data.layout)
    loss = StageOneLoss(data, shape, 0.7)
    at = loss.start(np.random.default_rng(3))
    raters, prompts, models, raw = shape.split(at)
    upper, lower = data.layout.ends(data.layout.cutoffs(raw))
    total = 0.0
    for r, p, m, o, y in zip(data.rater, data.prompt, data.model, data.opponent, data.rating, strict=True):
        eta = sum(raters[r, k] * prompts[p, k] * (models[m, k] - (models[o, k] if o >= 0 else 0)) for k in range(2))
        c = data.layout.first_category[r] + y
        total -= float(log_probability(np.array([eta]), upper[c : c + 1], lower[c : c + 1])[0])
    penalty = 0.35 * sum(float((part**2).sum()) for part in (raters, prompts, models))
    assert loss(at)[0] == pytest.approx((total + penalty) / 60, rel=1e-10)


def test_counting_equal_ratings_changes_nothing():
    """Replicates are counted, comparisons in both orders are one, and the loss stays."""
    data = mixed(400)
    counted = data.counted()
    assert len(counted) < len(data)
    assert counted.weight.sum() == len(data)
    shape = CapabilityShape(4, 12, 4, 2, data.layout)
    at = StageOneLoss(data, shape).start(np.random.default_rng(0))
    for normalize in (False, True):
        one, other = (StageOneLoss(part, shape, 1.0, normalize)(at) for part in (data, counted))
        assert one[0] == pytest.approx(other[0], rel=1e-12)
        assert np.allclose(one[1], other[1], atol=1e-12)


def test_the_capabilities_of_judges_are_recovered():
    """With eight replicates the tensor of the judges is nearly the true one within prompts."""
    drawn = simulate_ratings(0, prompts=150, judges=8, replicates=8)
    data = RatingArrays.of(RatingTable.read(drawn.frame(), human="human")).without_human()
    found = fit_capabilities(data, 3, restarts=1).tensor()
    true = drawn.capabilities[1:].transpose(0, 2, 1)
    apart = [(one - one.mean(axis=1, keepdims=True)).ravel() for one in (found, true)]
    assert np.corrcoef(*apart)[0, 1] ** 2 > 0.9


def test_a_seed_gives_the_same_fit():
    """The starts are drawn by the seed alone, and the best of them is kept."""
    data = arrays(prompts=40, judges=4).without_human()
    first, again = (fit_capabilities(data, 2, seed=3) for _ in range(2))
    assert np.array_equal(first.prompts, again.prompts)
    lines = []
    three = fit_capabilities(data, 2, seed=3, restarts=3, say=lines.append)
    assert three.loss <= first.loss + 1e-12
    assert len(lines) == 3


def test_normalised_columns_have_length_one():
    """The paper's way: no prior, and columns of prompts and models of norm 1."""
    found = fit_capabilities(arrays(prompts=40, judges=4).without_human(), 2, normalize=True, restarts=1)
    for part in (found.prompts, found.models):
        assert np.allclose(np.linalg.norm(part, axis=0), 1)


def test_a_further_skill_always_lowers_the_loss_of_stage_one():
    """So that loss cannot choose the rank."""
    data = arrays(prompts=120, judges=6).without_human()
    losses = [fit_capabilities(data, rank, prior=0.01, restarts=2).loss for rank in (1, 2, 3)]
    assert losses[0] > losses[1] > losses[2]


@pytest.mark.slow
def test_the_size_of_biggen_bench_takes_seconds():
    """695 prompts, 4 models, 15 judges, K = 3: under 10 s of one core."""
    data = arrays().without_human()
    began = process_time()
    fit_capabilities(data, 3, restarts=1)
    assert process_time() - began < 10

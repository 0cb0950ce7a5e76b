"""Both stages of a factor model, and the regression on what is latent."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from time import process_time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import orthogonal_procrustes

from bonwise.factors.answer_effects import AnswerEffects, EffectSums, not_counted, shared_cells, shares_effects
from bonwise.factors.baselines import BASELINES, baseline_losses
from bonwise.factors.latent_regression import PromptFactors, joined_coefficients
from bonwise.factors.model_choice import choose_among, fit_stage_one
from bonwise.factors.rating_arrays import RatingArrays
from bonwise.factors.rating_sources import ratings_of_votes
from bonwise.factors.ratings import RatingTable
from bonwise.factors.stage_one import CapabilityShape, StageOneLoss, fit_capabilities
from bonwise.factors.stage_two import (
    RIDGES,
    HumanDesign,
    HumanRatings,
    RatedCells,
    VerdictColumns,
    cross_validated,
    fit_human,
    with_best_ridge,
)
from bonwise.stats.ordinal_ratings import CutoffLayout, fit_ordinal, log_probability
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
    assert fit_capabilities(data, 2, seed=3, restarts=3).loss <= first.loss + 1e-12


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


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_sums_over_the_effects_of_answers_are_those_of_plain_loops(seed):
    """Raters of both kinds: a comparison counts for its model, and with a minus for the opponent."""
    data, rng = mixed(60, seed), np.random.default_rng(seed)
    effects, rows = rng.standard_normal((12, 4)), rng.standard_normal((60, 3))
    sums = EffectSums(data)
    gaps, crossed, information = np.zeros(60), np.zeros((12, 4, 3)), np.zeros((12, 4, 4))
    for at, (p, m, o) in enumerate(zip(data.prompt, data.model, data.opponent, strict=True)):
        signs = {m: 1.0} | ({o: -1.0} if o >= 0 else {})
        for one, sign in signs.items():
            gaps[at] += sign * effects[p, one]
            crossed[p, one] += sign * rows[at]
            for other, turned in signs.items():
                information[p, one, other] += sign * turned * rows[at, 0]
    assert sums.gaps(effects) == pytest.approx(gaps)
    assert sums.crossed(rows) == pytest.approx(crossed)
    assert sums.gradient(rows[:, 1]) == pytest.approx(crossed[:, :, 1])
    assert sums.information(rows[:, 0]) == pytest.approx(information)


def test_effects_of_answers_worked_by_hand():
    """A rating of model 0 and its comparison with model 1: slopes 0.5 and -0.2, curvatures 0.25 and 0.2.

    The judges' standard deviations 1, 2 and 3 have the mean 2, and 95 % of them lie between 1.05 and 2.95.
    """
    layout, zeros = CutoffLayout((2, 2), (False, True)), np.zeros(2, dtype=np.int64)
    data = RatingArrays(np.array([0, 1]), zeros, zeros, np.array([-1, 1]), zeros, np.ones(2), layout, 1, 2)
    sums = EffectSums(data)
    assert sums.gradient(np.array([0.5, -0.2])) == pytest.approx(np.array([[0.3, 0.2]]))
    assert sums.information(np.array([0.25, 0.2]))[0] == pytest.approx(np.array([[0.45, -0.2], [-0.2, 0.2]]))
    record = AnswerEffects(np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, 0.3])).record(data, 0.95)
    assert (record.sd.estimate, record.sd.low, record.sd.high) == pytest.approx((2, 1.05, 2.95))
    assert record.human_weight.estimate == pytest.approx(0.1)
    assert (record.answers, record.sd.n) == (0, 0)


def test_answers_that_two_judges_rate_are_counted():
    """Two judges of one answer share it, replicates of one judge do not, and a comparison is another thing."""
    rows = [("p", "x", "", "one", 3), ("p", "x", "", "two", 1), ("q", "y", "", "one", 2), ("q", "y", "", "one", 1)]
    rows += [("p", "y", "x", "three", "y"), ("q", "x", "y", "three", "x"), ("p", "y", "x", "four", "x")]
    rows += [
        ("p", "x", "", "ann", 1),
        ("p", "y", "", "ann", 2),
        ("q", "x", "y", "four", "y"),
        ("p", "y", "", "two", 2),
    ]
    frame = pd.DataFrame(rows, columns=["prompt_id", "model", "opponent", "rater", "rating"])
    judges = RatingArrays.of(RatingTable.read(frame, human="ann")).without_human()
    assert shared_cells(judges).tolist() == [0, 0, 1]
    assert not shares_effects(judges)
    assert "3 answers are rated by two judges" in not_counted(judges, "laplace_gibbs")
    assert "laplace_gibbs counts" in not_counted(judges, "propagated")


MODELS = ["alpaca-13b", "claude-v1", "gpt-3.5-turbo", "gpt-4", "llama-13b", "vicuna-13b-v1.2"]
BRADLEY_TERRY = [-1.0555, 0.8984, 0.8621, 1.4308, -2.0590, -0.0768]

ASKED = {"verdict": "winner", "pair": ["model_a", "model_b"], "prompt": ["question_id", "turn"]}


def mt_bench(shared, *, ties=True):
    """Return votes of people and verdicts of GPT-4 as arrays."""
    people = pd.read_csv(shared / "data" / "mt_bench_human.csv")
    people = people if ties else people[people["winner"] != "tie"]
    verdicts = ratings_of_votes(shared / "data" / "mt_bench_gpt4_pair.csv", name="gpt-4", **ASKED)
    table = RatingTable.read(pd.concat([ratings_of_votes(people, **ASKED), verdicts]), human="human")
    return table, RatingArrays.of(table)


@pytest.mark.shared
def test_one_skill_of_decisive_votes_is_bradley_terry(shared):
    """The strengths of six models from MT-Bench votes are those of choix and evalica, to 1e-4."""
    table, data = mt_bench(shared, ties=False)
    assert list(table.models) == MODELS
    human = HumanRatings.of(data)
    x = np.eye(6)[human.cells.model] - np.eye(6)[human.cells.opponent]
    found = fit_ordinal(x, human.rating, 2, symmetric=True).coefficients
    assert np.allclose(found - found.mean(), BRADLEY_TERRY, atol=1e-4)


@pytest.mark.shared
def test_stage_one_with_one_skill_and_one_prompt_is_bradley_terry(shared):
    """K = 1, P = 1, one rater who compares, no prior: the tensor itself holds the strengths, to 1e-4."""
    _, data = mt_bench(shared, ties=False)
    human = data.only(data.human).of_raters([0])
    together = replace(human, prompt=np.zeros(len(human), dtype=np.int64), prompts=1)
    found = fit_capabilities(together, 1, prior=0.0, restarts=3).tensor()[0, :, 0]
    assert np.allclose(found - found.mean(), BRADLEY_TERRY, atol=1e-4)


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize(("share", "least"), [(0.1, 0.0), (0.3, 0.005)])
def test_votes_of_mt_bench_are_predicted_better_than_by_bradley_terry_and_verdict(shared, share, least):
    """Ten splits by prompt and pair; rank, prior, columns and ridge are chosen without the held-out votes."""
    _, data = mt_bench(shared)
    design = HumanDesign(data.models, VerdictColumns.of(data.without_human()))
    fits = fit_stage_one(data.without_human())
    gains = []
    for seed in range(10):
        human = HumanRatings.of(data, seed=seed)
        groups = human.cells.groups(data.models)
        count = groups.max() + 1
        known = (np.random.default_rng(seed).permutation(count) < int(share * count))[groups]
        fitted, held = human.only(known), human.only(~known)
        chosen = choose_among(fits, design, fitted)
        losses = baseline_losses(design, fitted, held, data.prompts)
        gains.append(losses["constant_and_verdict"].mean() - chosen.human.cross_entropy(held))
    assert np.mean(gains) >= least


def small():
    """Two judges, one alone and one side by side, and a human who compares."""
    rows = [
        ("p", "x", "", "one", 3),
        ("p", "y", "", "one", 1),
        ("q", "x", "", "one", 2),
        ("q", "y", "", "one", 2),
        ("p", "y", "x", "two", "y"),
        ("q", "x", "y", "two", "tie"),
        ("q", "y", "x", "two", "x"),
        ("p", "x", "y", "ann", "model"),
        ("p", "y", "x", "ann", "model"),
        ("q", "y", "x", "ann", "opponent"),
    ]
    frame = pd.DataFrame(rows, columns=["prompt_id", "model", "opponent", "rater", "rating"])
    return RatingArrays.of(RatingTable.read(frame, human="ann"))


def test_verdicts_turn_with_the_sides():
    """A pair in the other order has the opposite verdict, and a judge that said nothing has 0."""
    data = small()
    columns = VerdictColumns.of(data.without_human())
    prompt, model, opponent = np.array([0, 1]), np.array([0, 0]), np.array([1, 1])
    one, other = columns.at(RatedCells(prompt, model, opponent)), columns.at(RatedCells(prompt, opponent, model))
    assert np.allclose(one, -other)
    # Standardised: 3, 1, 2, 2 have standard deviation 0.707 in steps of the scale.
    assert one[:, 0] == pytest.approx([2 / np.sqrt(0.5), 0.0])
    assert one[0, 1] < 0 < one[1, 1]
    assert one[1, 1] == pytest.approx(-one[0, 1] / 2)


def test_all_ratings_of_a_pair_are_in_one_fold():
    """No replicate, and no other order, tells what is held out."""
    human = HumanRatings.of(small(), seed=1, folds=2)
    assert human.fold[0] == human.fold[1]
    assert human.cells.groups(2).tolist() == [0, 0, 1]


def test_each_ridge_is_cross_validated_as_by_fits_of_its_own():
    """A plain loop over ridges and folds finds the same losses and the same best."""
    data = arrays(2, prompts=30, judges=3, labelled=0.6)
    ratings, blocks = HumanRatings.of(data, seed=3), ("models", "verdicts")
    design = HumanDesign(data.models, VerdictColumns.of(data.without_human()))
    rows = list(cross_validated(design, ratings, blocks))
    for (mean, se, ridge), expected in zip(rows, RIDGES, strict=True):
        losses = np.concatenate(
            [-fit_human(design, fit, blocks, expected).log_probabilities(held) for fit, held in ratings.splits()]
        )
        assert ridge == expected
        assert mean == pytest.approx(losses.mean(), abs=1e-9)
        assert se == pytest.approx(losses.std() / np.sqrt(len(losses)), abs=1e-9)
    assert with_best_ridge(design, ratings, blocks).ridge == min(rows)[2]


def test_every_baseline_predicts_every_held_out_rating():
    """Whatever the ratings are, a baseline gives a finite loss."""
    data = small()
    human = HumanRatings.of(data, folds=2)
    design = HumanDesign(2, VerdictColumns.of(data.without_human()))
    found = baseline_losses(design, human, human, data.prompts)
    assert tuple(found) == BASELINES
    assert all(np.isfinite(loss).all() and len(loss) == 3 for loss in found.values())


def test_stage_two_on_skills_is_a_plain_regression():
    """Without a ridge the fitted weights are those of the regression on the features."""
    rng = np.random.default_rng(0)
    data = small()
    human = HumanRatings.of(data)
    design = HumanDesign(2, VerdictColumns.of(data.without_human()), rng.standard_normal((2, 2, 1)), np.ones(1))
    found = fit_human(design, human, ["skills", "models"], 2.0)
    x = design.at(human.cells, ["skills", "models"])
    assert design.widths(["skills", "models", "verdicts", "mean_verdict"]) == [1, 2, 2, 1]
    plain = fit_ordinal(x, human.rating, 2, ridge=2.0, symmetric=True)
    assert np.allclose(found.regression.coefficients, plain.coefficients)
    assert np.allclose(found.probabilities(human.cells).sum(axis=1), 1)


TAGGED = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]])


def chain(seed, draws=8, prompts=15, rank=2, noise=0.5):
    """Return draws of a contrast and of prompts' factors, and properties of the prompts."""
    rng = np.random.default_rng(seed)
    z = np.column_stack([np.ones(prompts), np.arange(prompts) % 2, rng.standard_normal(prompts)])
    centre = z @ rng.standard_normal((3, rank)) + rng.standard_normal((prompts, rank))
    contrast = rng.standard_normal(rank) + 0.1 * rng.standard_normal((draws, rank))
    return contrast, centre + noise * rng.standard_normal((draws, prompts, rank)), z


def looped(contrast, prompts, z):
    """Return estimate and covariance once more: one prompt, one draw, one step at a time."""
    draws, count, rank = prompts.shape
    target = prompts[-1]
    for _ in range(2):
        turns = [orthogonal_procrustes(prompts[d], target)[0] for d in range(draws)]
        prompts = np.array([prompts[d] @ turns[d] for d in range(draws)])
        contrast = np.array([turns[d].T @ contrast[d] for d in range(draws)])
        target = sum(prompts) / draws
    spread = [
        sum(np.outer(b[p] - a[p], b[p] - a[p]) for a, b in pairwise(prompts)) / (2 * (draws - 1))
        for p in range(count)
    ]
    between = sum(
        np.outer(one[p] - one.mean(axis=0), one[p] - one.mean(axis=0)) for one in prompts for p in range(count)
    ) / (draws * count)
    shrunk = [one @ np.linalg.inv(between) for one in spread]
    if max(np.linalg.eigvals(one).real.max() for one in shrunk) > 0.9:
        return None
    fits, moved = [], []
    for d in range(draws):
        weights = np.zeros((z.shape[1], rank))
        centre = prompts[d].mean(axis=0)
        for _ in range(250):
            # Each prompt moves towards what its tags expect; then the tags are fitted again.
            pulled = [prompts[d][p] + shrunk[p] @ (weights.T @ z[p] - centre) for p in range(count)]
            weights = np.linalg.lstsq(z, np.array(pulled), rcond=None)[0]
        fits.append(weights)
        moved.append(np.array([prompts[d][p] - shrunk[p] @ centre for p in range(count)]))
    betas = np.array([fit @ one for fit, one in zip(fits, contrast, strict=True)])
    width = z.shape[1]
    bread = sum(np.kron(np.outer(z[p], z[p]), np.eye(rank) - shrunk[p]) for p in range(count))
    inverse, fit, c = np.linalg.inv(bread), sum(fits) / draws, contrast.mean(axis=0)
    meat, single = np.zeros((width, width)), np.zeros((width, width))
    for p in range(count):
        residual = sum(one[p] for one in moved) / draws - (np.eye(rank) - shrunk[p]) @ fit.T @ z[p]
        lever = np.array([c @ (inverse @ np.kron(z[p], np.eye(rank)[k])).reshape(width, rank).T for k in range(rank)])
        meat += np.outer(lever.T @ residual, lever.T @ residual)
        single += lever.T @ spread[p] @ lever
    values, vectors = np.linalg.eigh(np.cov(betas.T) - single)
    shared = sum(max(value, 0) * np.outer(v, v) for value, v in zip(values, vectors.T, strict=True))
    return betas.mean(axis=0), meat * count / (count - width) + shared


def test_a_case_worked_by_hand():
    """Four prompts at 0, 0, 2, 2 of which each draw moves by a half.

    Steps of 1 give a variance of 1 / 2, that of all is 1 + 1 / 4, so 0.4 of it is open. The mean is 1. The first two
    prompts were pulled from x to 0 = 0.6 x + 0.4, the others from y to 2 = 0.6 y + 0.4.
    """
    up = np.array([0.5, -0.5, 2.5, 1.5])[:, None]
    down = np.array([-0.5, 0.5, 1.5, 2.5])[:, None]
    found = PromptFactors.of(np.ones((4, 1)), np.array([up, down, up, down]))
    assert found.spread.ravel() == pytest.approx([0.5] * 4)
    assert found.shrunk.ravel() == pytest.approx([0.4] * 4)
    coefficients = found.regression(TAGGED)
    assert coefficients.estimate == pytest.approx([-2 / 3, 10 / 3])
    assert coefficients.influences == pytest.approx(np.zeros((4, 2)), abs=1e-12)
    assert coefficients.explained.mean() > 0.8


def test_known_factors_give_least_squares_with_standard_errors_hc1():
    """Draws that do not differ leave nothing open: the figures are those of statsmodels."""
    statsmodels = pytest.importorskip("statsmodels.api")
    contrast, prompts, z = chain(3, noise=0.0)
    contrast[:] = contrast[0]
    found = PromptFactors.of(contrast, prompts).regression(z)
    expected = statsmodels.OLS(prompts[0] @ contrast[0], z).fit(cov_type="HC1")
    assert found.estimate == pytest.approx(expected.params)
    assert np.sqrt(np.diag(found.covariance)) == pytest.approx(expected.bse)
    assert found.explained == pytest.approx(np.full(len(contrast), expected.rsquared_adj))


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000))
def test_plain_loops_find_the_same(seed):
    """Prompts moved and tags fitted in turn, until nothing changes."""
    contrast, prompts, z = chain(seed)
    again = looped(contrast, prompts, z)
    if again is None:
        return
    found = PromptFactors.of(contrast, prompts).regression(z)
    assert found.estimate == pytest.approx(again[0], rel=1e-6, abs=1e-8)
    assert found.covariance == pytest.approx(again[1], rel=1e-6, abs=1e-8)


def test_what_gaps_have_beyond_the_factors_is_regressed_as_it_is():
    """It adds its own least squares to the estimate, and its spread to the variance."""
    contrast, prompts, z = chain(5)
    beyond = np.random.default_rng(6).standard_normal((8, 15))
    plain, more = (PromptFactors.of(contrast, prompts, part).regression(z) for part in (None, beyond))
    added = np.linalg.lstsq(z, beyond.mean(axis=0), rcond=None)[0]
    assert more.estimate - plain.estimate == pytest.approx(added)
    assert PromptFactors.of(contrast, prompts, beyond).gaps == pytest.approx(
        np.einsum("dk,dpk->dp", contrast, prompts) + beyond
    )


def test_signs_and_order_of_the_skills_change_nothing():
    """A chain may swap two skills, or turn one round, from one draw to the next."""
    contrast, prompts, z = chain(5)
    plain = PromptFactors.of(contrast, prompts).regression(z)
    contrast[2:4] *= [-1, 1]
    prompts[2:4] *= [-1, 1]
    contrast[6:], prompts[6:] = contrast[6:, ::-1], prompts[6:, :, ::-1]
    turned = PromptFactors.of(contrast, prompts).regression(z)
    assert turned.estimate == pytest.approx(plain.estimate, rel=0.02, abs=0.01)
    assert PromptFactors.of(contrast, prompts).gaps == pytest.approx(np.einsum("dk,dpk->dp", contrast, prompts))


def test_prompts_without_weight_and_those_left_out_count_alike():
    """Of both, only the mean of all prompts is used."""
    contrast, prompts, z = chain(7)
    factors = PromptFactors.of(contrast, prompts)
    rows = np.arange(10)
    weight = np.arange(15) < 10
    one, other = factors.only(rows).regression(z[rows]), factors.regression(z, weight)
    assert one.estimate == pytest.approx(other.estimate)
    assert one.covariance == pytest.approx(other.covariance)
    assert one.explained == pytest.approx(other.explained)


def test_joined_regressions_keep_their_variances():
    """Two regressions side by side have the covariances of each, and one between them."""
    contrast, prompts, z = chain(9)
    factors = PromptFactors.of(contrast, prompts)
    parts = [factors.regression(z[:, :2]), factors.regression(z[:, [0, 2]])]
    whole = joined_coefficients(parts)
    assert whole.estimate == pytest.approx(np.concatenate([one.estimate for one in parts]))
    between = whole.influences.T @ whole.influences
    assert between[:2, :2] == pytest.approx(parts[0].influences.T @ parts[0].influences)
    assert np.linalg.eigvalsh(whole.covariance).min() > -1e-9

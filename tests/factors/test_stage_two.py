from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bonwise.factors.baselines import BASELINES, baseline_losses
from bonwise.factors.model_choice import choose_among, fit_stage_one
from bonwise.factors.rating_arrays import RatingArrays
from bonwise.factors.rating_sources import ratings_of_votes
from bonwise.factors.ratings import RatingTable
from bonwise.factors.stage_one import fit_capabilities
from bonwise.factors.stage_two import HumanDesign, HumanRatings, RatedCells, VerdictColumns, fit_human
from bonwise.stats.ordinal_ratings import fit_ordinal

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

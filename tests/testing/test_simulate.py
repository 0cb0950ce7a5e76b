"""Simulated tables with known truth: scores and draws."""

from __future__ import annotations

import json
from importlib import resources

import numpy as np
import pandas as pd
import pytest

from bonwise.errors import UsageError
from bonwise.testing import Simulation, simulate

CALIBRATED = {  # the fitted population as published with the recipe
    "global_r": 0.4721,
    "within_r": 0.2592,
    "attenuation": 0.1761,
    "judge_between_share": 0.741,
    "oracle_between_share": 0.807,
    "tie_rate": 0.6614,
    "oracle_tie_rate": 0.1575,
    "sign_agreement": 0.6828,
    "effective_agreement": 0.5539,
    "effective_agreement_decided": 0.564,
    "kendall_tau": 0.275,
    "top1_accuracy": 0.3133,
    "hit_rate": 0.4218,
    "value_random": 0.7687,
    "value_judge": 0.7862,
    "value_oracle": 0.8505,
    "recovery": 0.2140,
}

SCORES_OF_20260312 = [[0.85, 0.85, 0.85, 0.85], [0.85, 0.85, 0.85, 0.85]]
LABELS_OF_20260312 = [[0.72, 0.6, 0.7, 0.6], [0.9, 0.95, 0.9, 0.9]]


def correlations(scores, labels):
    """Compute what is made of deviations."""
    judge, oracle = scores - scores.mean(1, keepdims=True), labels - labels.mean(1, keepdims=True)
    return {
        "global_r": np.corrcoef(scores.ravel(), labels.ravel())[0, 1],
        "within_r": (judge * oracle).sum() / np.sqrt((judge**2).sum() * (oracle**2).sum()),
        "attenuation": (judge * oracle).sum() / (oracle**2).sum(),
        "judge_between_share": scores.mean(1).var() / scores.var(),
        "oracle_between_share": labels.mean(1).var() / labels.var(),
    }


def signs(scores, labels):
    """Compute what is made of pairs of candidates."""
    i, j = np.triu_indices(scores.shape[1], 1)
    judge = np.sign(np.round(scores[:, i] - scores[:, j], 9))
    oracle = np.sign(np.round(labels[:, i] - labels[:, j], 9))
    decided, credit = oracle != 0, 0.5 + judge * oracle / 2
    root = np.sqrt((judge != 0).sum(1) * decided.sum(1))
    return {
        "tie_rate": (judge == 0).mean(),
        "oracle_tie_rate": (oracle == 0).mean(),
        "sign_agreement": (judge * oracle > 0).sum() / (judge * oracle != 0).sum(),
        "effective_agreement": credit.mean(),
        "effective_agreement_decided": credit[decided].mean(),
        "kendall_tau": ((judge * oracle).sum(1)[root > 0] / root[root > 0]).mean(),
    }


def choices(scores, labels):
    """Compute what is made of the candidates chosen."""
    top = np.abs(scores - scores.max(1, keepdims=True)) < 1e-9
    best = np.abs(labels - labels.max(1, keepdims=True)) < 1e-9
    pick = top / top.sum(1, keepdims=True)
    random, judge, oracle = labels.mean(), (pick * labels).sum(1).mean(), labels.max(1).mean()
    return {
        "top1_tie_rate": (top.sum(1) > 1).mean(),
        "top1_accuracy": (pick * best / best.sum(1, keepdims=True)).sum(1).mean(),
        "hit_rate": (pick * best).sum(1).mean(),
        "value_random": random,
        "value_judge": judge,
        "value_oracle": oracle,
        "recovery": (judge - random) / (oracle - random),
    }


def measured(scores, labels):
    """Compute every metric that has a population value."""
    return correlations(scores, labels) | signs(scores, labels) | choices(scores, labels)


@pytest.mark.parametrize("candidates", [2, 4, 7])
def test_same_seed_same_data(candidates):
    """The seed alone decides the data."""
    one, two = (simulate("arena", n=500, seed=3, candidates=candidates) for _ in range(2))
    assert np.array_equal(one.scores, two.scores)
    assert np.array_equal(one.labels, two.labels)


def test_other_seed_other_data():
    """Two seeds share no column of data."""
    one, two = simulate(n=500, seed=3), simulate(n=500, seed=4)
    assert not (one.scores == two.scores).all(0).any()
    assert not (one.labels == two.labels).all(0).any()


def test_data_do_not_drift():
    """A seed written into somebody's notes keeps meaning the same data."""
    drawn = simulate("arena", n=2, seed=20260312)
    assert drawn.scores.tolist() == SCORES_OF_20260312
    assert drawn.labels.tolist() == LABELS_OF_20260312


@pytest.mark.parametrize("n", [1, 4095, 4096, 4097])
def test_small_is_the_head_of_large(n):
    """Asking for more prompts changes none of those already drawn."""
    small, large = simulate(n=n, seed=11), simulate(n=9000, seed=11)
    assert np.array_equal(small.scores, large.scores[:n])
    assert np.array_equal(small.labels, large.labels[:n])


def test_streams_of_blocks_differ():
    """No block of prompts repeats another."""
    scores = simulate(n=8192, seed=0).scores
    assert not np.array_equal(scores[:4096], scores[4096:])


@pytest.mark.parametrize(("n", "candidates"), [(1, 2), (10, 4), (5000, 9)])
def test_shape(n, candidates):
    """There is one score and one label for each candidate of each prompt."""
    drawn = simulate(n=n, candidates=candidates)
    assert drawn.scores.shape == drawn.labels.shape == (n, candidates)


def test_grid_values():
    """Scores are the 21 decimals k/20 and labels the 101 decimals k/100, as literals would be."""
    drawn = simulate(n=100_000, seed=5)
    assert set(np.unique(drawn.scores)) == {float(f"{k / 20:.2f}") for k in range(21)}
    assert set(np.unique(drawn.labels)) <= {float(f"{k / 100:.2f}") for k in range(101)}


def test_thresholds():
    """The shipped thresholds increase and separate as many values as the grids hold."""
    stored = json.loads(resources.files("bonwise.testing").joinpath("arena.json").read_text("utf-8"))
    for key, count, ends in (
        ("score_thresholds", 20, [-7.4893, 1.693]),
        ("label_thresholds", 100, [-4.6722, 1.4499]),
    ):
        thresholds = stored[key]
        assert len(thresholds) == count
        assert [thresholds[0], thresholds[-1]] == ends
        assert thresholds == sorted(set(thresholds))


def test_candidates_are_exchangeable():
    """No candidate name is better than another: the means differ by noise alone."""
    labels = simulate(n=50_000, seed=8).labels
    effects = labels - labels.mean(1, keepdims=True)
    assert np.all(np.abs(effects.mean(0)) < 4 * effects.std(0) / np.sqrt(len(labels)))


def test_population_small():
    """A sample of 100,000 prompts lies within five Monte-Carlo standard errors of the population."""
    drawn = simulate("arena", n=100_000, seed=2)
    whole = measured(drawn.scores, drawn.labels)
    parts = list(map(measured, np.split(drawn.scores, 50), np.split(drawn.labels, 50)))
    assert whole.keys() == drawn.population.keys()
    for name, value in drawn.population.items():
        se = np.std([part[name] for part in parts], ddof=1) / np.sqrt(50)
        assert abs(whole[name] - value) < 5 * se, name


@pytest.mark.slow
def test_population_large():
    """At 2,000,000 prompts every value is within 0.002 of the calibration and of the population."""
    drawn = simulate("arena", n=2_000_000, seed=1)
    whole = measured(drawn.scores, drawn.labels)
    assert {name: whole[name] for name in CALIBRATED} == pytest.approx(CALIBRATED, abs=0.002)
    assert whole == pytest.approx(dict(drawn.population), abs=0.002)


def test_population_agrees_with_the_calibration():
    """The shipped population values are those the recipe was published with."""
    known = simulate(n=1).population
    assert {name: known[name] for name in CALIBRATED} == pytest.approx(CALIBRATED, abs=0.0005)


def test_population_identities():
    """The shipped values fit together where one follows from others."""
    known = simulate(n=1).population
    span = known["value_oracle"] - known["value_random"]
    assert known["recovery"] == pytest.approx((known["value_judge"] - known["value_random"]) / span, abs=3e-4)
    assert 0.25 < known["top1_accuracy"] < known["hit_rate"]


def test_population_of_other_sizes_is_not_claimed():
    """With another number of candidates no population value is given rather than a wrong one."""
    assert dict(simulate(n=1, candidates=3).population) == {}


def test_frame():
    """The frame lists every cell once, prompt by prompt, under the audit's column names."""
    drawn = simulate("arena", n=3, seed=1)
    frame = drawn.frame()
    assert list(frame.columns) == ["prompt_id", "candidate", "judge_score", "oracle_label"]
    assert list(frame["prompt_id"]) == [f"p000000{i}" for i in range(3) for _ in range(4)]
    assert list(frame["candidate"]) == ["c0", "c1", "c2", "c3"] * 3
    assert frame["judge_score"].tolist() == drawn.scores.ravel().tolist()
    assert frame["oracle_label"].tolist() == drawn.labels.ravel().tolist()


def test_result_is_frozen():
    """A simulation cannot be given another truth."""
    drawn = simulate(n=1)
    with pytest.raises(AttributeError):
        drawn.seed = 2
    with pytest.raises(TypeError):
        drawn.population["recovery"] = 1.0
    assert repr(drawn) == "Simulation(preset='arena', seed=0)"
    assert isinstance(drawn, Simulation)


def test_unknown_preset():
    """An unknown preset is answered with those there are."""
    with pytest.raises(UsageError, match=r"no such preset: 'mars' \(choose one of arena, pilot, one_model\)"):
        simulate("mars")


@pytest.mark.parametrize("wrong", [{"n": 0}, {"candidates": 1}, {"seed": -1}])
def test_numbers_out_of_range(wrong):
    """A number out of its range is named."""
    with pytest.raises(UsageError, match=next(iter(wrong))):
        simulate(**wrong)


PRESETS = ("pilot", "one_model")

PUBLISHED = {  # methods of the calibration: top-1 tie at 1 and 5 calls, hit rate at 1 and 5 calls
    "pilot": (0.998, 0.268, 0.476, 0.519),
    "one_model": (0.76, 0.51, 0.425, 0.476),
}

FILES = {"pilot": "pilot_like_20000.parquet", "one_model": "one_model_20000.parquet"}


def top(values):
    """Mark what shares the top of each row."""
    rounded = np.round(values, 9)
    return rounded == rounded.max(axis=1, keepdims=True)


def figures(draws, labels, widths):
    """Compute what the recipe was fitted to, one value per prompt each."""
    best, spread = top(labels), draws[:, :, :5].std(axis=2, ddof=1).mean(axis=1)
    found = {"label": labels.mean(axis=1), "width": widths, "sd": spread, "call": draws[:, :, 1:].mean(axis=(1, 2))}
    for calls in (1, 2, 5, 9):
        pick = top(draws[:, :, :calls].mean(axis=2))
        share = pick / pick.sum(axis=1, keepdims=True)
        found[f"tie {calls}"] = (pick.sum(axis=1) > 1).astype(float)
        found[f"hit {calls}"] = (share * best).sum(axis=1)
        found[f"value {calls}"] = (share * labels).sum(axis=1)
        if calls == 1:
            gain = labels.max(axis=1) - found["value 1"]
            found |= {"gain and sd": gain * spread, "gain and width": gain * widths}
    return found


@pytest.fixture(scope="module", params=PRESETS)
def large(request):
    """Draw 60,000 prompts of each population."""
    return simulate(request.param, n=60_000, seed=17)


def test_published_figures(large):
    """Ties and hits after one call and after five are those of the calibration within 1 percentage point."""
    found = figures(large.draws, large.labels, large.widths[:, 0])
    got = [found[name].mean() for name in ("tie 1", "tie 5", "hit 1", "hit 5")]
    assert got == pytest.approx(PUBLISHED[large.preset], abs=0.01)


def test_shared_files_are_of_the_same_population(large, shared):
    """Twenty figures of the shared files lie within five standard errors of the simulated population."""
    frame = pd.read_parquet(shared / "data" / "simulated" / FILES[large.preset])
    draws = frame[[f"draw_{k}" for k in range(9)]].to_numpy().reshape(-1, 4, 9)
    labels, widths = (frame[name].to_numpy().reshape(-1, 4) for name in ("oracle_label", "ci_width"))
    theirs, ours = figures(draws, labels, widths[:, 0]), figures(large.draws, large.labels, large.widths[:, 0])
    for name in ours:
        se = np.sqrt(theirs[name].var() / len(theirs[name]) + ours[name].var() / len(ours[name]))
        assert abs(theirs[name].mean() - ours[name].mean()) < 5 * se, name


@pytest.mark.parametrize("preset", PRESETS)
def test_a_small_simulation_is_the_head_of_a_large_one(preset):
    """More prompts or more calls change nothing of what is there already."""
    small, large = simulate(preset, n=300, seed=3, draws=2), simulate(preset, n=5000, seed=3)
    assert np.array_equal(small.draws, large.draws[:300, :, :2])
    assert np.array_equal(small.labels, large.labels[:300])
    assert np.array_equal(small.widths, large.widths[:300])
    assert not np.array_equal(simulate(preset, n=300, seed=4).draws[..., :2], small.draws)


@pytest.mark.parametrize(("preset", "draws", "count"), [("pilot", None, 9), ("one_model", 3, 3), ("arena", None, 1)])
def test_shapes(preset, draws, count):
    """There are as many calls as asked for, nine or one by default; the scores are the first."""
    drawn = simulate(preset, n=10, candidates=3, draws=draws)
    assert drawn.draws.shape == (10, 3, count)
    assert np.array_equal(drawn.draws[:, :, 0], drawn.scores)
    assert (drawn.widths is None) == (preset == "arena")


@pytest.mark.parametrize("preset", PRESETS)
def test_values_lie_on_their_grids(preset):
    """Scores are twentieths, widths multiples of 0.02 that are the same for all candidates of a prompt."""
    drawn = simulate(preset, n=20_000, seed=5)
    assert set(np.unique(drawn.draws)) <= {float(f"{k / 20:.2f}") for k in range(21)}
    assert set(np.unique(drawn.widths)) <= {k / 50 for k in range(1, 31)}
    assert (drawn.widths == drawn.widths[:, :1]).all()
    step = 20 if preset == "pilot" else 100
    assert set(np.unique(drawn.labels)) <= {float(f"{k / step:.2f}") for k in range(step + 1)}


def test_later_calls_are_alike():
    """Behind the first call no call is better than another; in one_model the first is like the others too."""
    for preset, calls in (("pilot", slice(1, 9)), ("one_model", slice(0, 9))):
        means = simulate(preset, n=40_000, seed=9).draws[:, :, calls].mean(axis=1)
        differences = means - means.mean(axis=1, keepdims=True)
        assert np.all(np.abs(differences.mean(axis=0)) < 4.5 * differences.std(axis=0) / 200)


def test_candidates_are_exchangeable_in_their_draws():
    """No candidate name is better than another."""
    drawn = simulate("pilot", n=40_000, seed=8)
    for values in (drawn.labels, drawn.scores, drawn.draws[:, :, 1:].mean(axis=2)):
        effects = values - values.mean(axis=1, keepdims=True)
        assert np.all(np.abs(effects.mean(axis=0)) < 4 * effects.std(axis=0) / 200)


def test_frame_with_draws():
    """The frame has one column per call and the width, behind the columns of every simulation."""
    drawn = simulate("pilot", n=3, seed=1, draws=4)
    frame = drawn.frame()
    assert list(frame.columns)[2:] == [
        "judge_score",
        "oracle_label",
        "draw_0",
        "draw_1",
        "draw_2",
        "draw_3",
        "ci_width",
    ]
    assert frame["draw_2"].tolist() == drawn.draws[:, :, 2].ravel().tolist()
    assert frame["judge_score"].tolist() == frame["draw_0"].tolist()
    assert frame["ci_width"].tolist() == drawn.widths.ravel().tolist()


def test_draws_out_of_range():
    """Fewer than one call is refused, and more than one where there is but one."""
    with pytest.raises(UsageError, match="draws is 0"):
        simulate("pilot", draws=0)
    with pytest.raises(UsageError, match="arena has one draw, not 5"):
        simulate("arena", draws=5)


@pytest.mark.parametrize("preset", PRESETS)
def test_shipped_population(preset):
    """The first calls of 100,000 prompts lie within five standard errors of the shipped population values."""
    drawn = simulate(preset, n=100_000, seed=2, draws=1)
    whole = measured(drawn.scores, drawn.labels)
    parts = list(map(measured, np.split(drawn.scores, 50), np.split(drawn.labels, 50)))
    assert whole.keys() == drawn.population.keys()
    for name, value in drawn.population.items():
        se = np.std([part[name] for part in parts], ddof=1) / np.sqrt(50)
        assert abs(whole[name] - value) < 5 * se, name


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_say_where_they_come_from(preset):
    """Each names its source, and the latent model is stored once."""
    stored = json.loads(resources.files("bonwise.testing").joinpath(f"{preset}.json").read_text("utf-8"))
    assert stored["latent"] == "arena"
    assert "thresholds" in stored["about"]
    assert stored["population"]["how"]

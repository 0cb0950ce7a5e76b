from __future__ import annotations

import json
from importlib import resources

import numpy as np
import pandas as pd
import pytest

from bonwise.errors import UsageError
from bonwise.testing import simulate

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


def test_candidates_are_exchangeable():
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
    from testing.test_simulate import measured  # noqa: PLC0415 - a module beside this one

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

"""What coarse scores cost: how scores are cut, the study on simulated judges, and the command."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonwise.errors import InputError, UsageError
from bonwise.stats.sums import Sums, prompt_sums
from bonwise.studies.discretisation.engine import METRICS, cut, noise_and_rho
from bonwise.studies.discretisation.front import study_discretisation
from bonwise.studies.requirements.noisy_oracle import NoisyOracle
from bonwise.testing import simulate
from cli.commands import strict, typed

RHO = 0.4859
"""Of Landesberg (2026), Table 26: the uncut scores recover .576."""

ARENA = "arena_like_5000.csv.gz"


def row(judge, scale, values=None):
    """Return the row of a way of cutting."""
    return next(one for one in judge.rows if one.scale == scale and values in (None, one.bins))


def estimates(judge, metric, scale, bins):
    """Return a metric by number of bins."""
    return [row(judge, scale, number).metrics[metric].estimate for number in bins]


@pytest.mark.shared
def test_the_acceptance_numbers_of_table_26(shared):
    """Recovery and agreement by bins of three kinds on 50 judges, and 20 bins that tie far less than the judge."""
    scores = shared / "data" / "simulated" / ARENA
    judge = study_discretisation(scores, rho=RHO, draws=50, seed=2).judges["judge"]
    uncut = judge.rows[0]
    # An average of 50 judges has a standard error of .0014.
    assert uncut.metrics["recovery"].estimate == pytest.approx(0.5766, abs=0.004)
    assert uncut.sd["recovery"] == pytest.approx(0.0099, abs=0.003)
    bins = (100, 20, 10, 5)
    expected = {
        "range": (0.5764, 0.5666, 0.5400, 0.4541),
        "clipped": (0.5699, 0.5622, 0.5450, 0.4915),
        "quantile": (0.5765, 0.5727, 0.5613, 0.5203),
    }
    for scale, recoveries in expected.items():
        assert estimates(judge, "recovery", scale, bins) == pytest.approx(recoveries, abs=0.004), scale
        # Paired with the uncut scores the noise of the draws is gone.
        losses = [row(judge, scale, number).loss.estimate for number in bins]
        assert losses == pytest.approx([value - 0.5766 for value in recoveries], abs=0.0025), scale
    agreement = [uncut.metrics["effective_agreement"].estimate]
    agreement += estimates(judge, "effective_agreement", "range", bins)
    assert agreement == pytest.approx((0.6416, 0.6415, 0.6385, 0.6299, 0.6045), abs=0.001)
    twenty, own, itself = row(judge, "range", 20), row(judge, "own"), row(judge, "judge")
    assert 0.13 <= twenty.metrics["tie_rate"].estimate <= 0.155
    assert 0.21 <= twenty.metrics["top1_tie_rate"].estimate <= 0.255
    assert (itself.bins, own.bins) == (21, 21)
    assert judge.effective_values == pytest.approx(3.8, abs=0.05)
    assert itself.metrics["tie_rate"].estimate == pytest.approx(0.6648, abs=1e-4)
    # The judge's own values cost a tenth of the gain; 20 bins a hundredth.
    assert own.loss.high < -0.1 < -0.012 < twenty.loss.low


@pytest.mark.shared
def test_a_wanted_recovery_is_that_of_the_uncut_scores(shared):
    """On arena_like a recovery of .5768 is a rho of .4859, and the other way round."""
    frame = pd.read_csv(shared / "data" / "simulated" / ARENA)
    labels = NoisyOracle.of(frame["oracle_label"].to_numpy(), np.full(5000, 4))
    noise, rho = noise_and_rho(labels, 20_000, 0.5768, None)
    assert rho == pytest.approx(RHO, abs=1e-4)
    again, same = noise_and_rho(labels, 20_000, None, rho)
    assert (again, same) == pytest.approx((noise, rho))


def test_four_scores_in_two_bins_by_hand():
    """Of .1 .2 .3 .9 the middle of the range is .5, of labels to .4 clipped it is .2, of the counts .25."""
    scores, labels, own = (
        np.array([0.1, 0.2, 0.3, 0.9]),
        np.array([0.0, 0.4]),
        np.array([1.0, 2.0, 2.0, math.nan, 2.0]),
    )
    bins = {scale: cut(scores, scale, 2, labels, own).tolist() for scale in ("range", "clipped", "quantile", "own")}
    assert bins == {"range": [0, 0, 0, 1], "clipped": [0, 1, 1, 1], "quantile": [0, 0, 1, 1], "own": [0, 1, 1, 1]}


def plain_cut(scores, scale, bins, labels, own):
    """Cut one score after the other."""
    if scale == "own":
        known = sorted(value for value in own if not math.isnan(value))
        order = sorted(range(len(scores)), key=lambda at: scores[at])
        distinct = sorted(set(known))
        ends = [bisect_right(known, value) / len(known) * len(scores) for value in distinct]
        return [bisect_left(ends[:-1], order.index(at) + 0.5) for at in range(len(scores))]
    if scale == "quantile":
        edges = np.quantile(scores, [k / bins for k in range(1, bins)]).tolist()
        return [bisect_right(edges, score) for score in scores]
    low, high = (min(scores), max(scores)) if scale == "range" else (min(labels), max(labels))
    places = [(min(max(score, low), high) - low) / (high - low) for score in scores]
    return [min(math.floor(place * bins), bins - 1) for place in places]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-2, 2, width=32), min_size=4, max_size=40, unique=True),
    st.sampled_from(["range", "clipped", "quantile", "own"]),
    st.integers(2, 7),
    st.lists(st.sampled_from([0.2, 0.5, 0.7, math.nan]), min_size=3, max_size=30).filter(
        lambda own: not all(map(math.isnan, own))
    ),
)
def test_cutting_agrees_with_a_plain_loop(scores, scale, bins, own):
    """Whatever the scores, the bins and the values of the judge."""
    values, labels = np.array(scores), np.array([-0.5, 1.0])
    expected = plain_cut(scores, scale, bins, labels.tolist(), own)
    assert cut(values, scale, bins, labels, np.array(own)).tolist() == expected


@settings(max_examples=15, deadline=None)
@given(st.integers(12, 30), st.integers(2, 5), st.integers(0, 99))
def test_metrics_of_mean_sums_are_means_over_the_judges(prompts, size, seed):
    """What a metric is divided by does not depend on the draw: a plain mean over the judges gives the same."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "prompt_id": np.repeat([f"p{at:02d}" for at in range(prompts)], size),
            "candidate": np.tile(np.arange(size), prompts),
            "judge_score": rng.random(prompts * size).round(1),
            "oracle_label": np.where(np.tile(np.arange(size), prompts) == 0, 1.0, rng.random(prompts * size) / 2),
        }
    )
    judge = study_discretisation(frame, bins=[3], draws=3, rho=0.6, seed=seed).judges["judge"]
    labels, sizes = frame["oracle_label"].to_numpy(), np.full(prompts, size)
    recoveries, ties = [], []
    for generator in np.random.default_rng(seed).spawn(3):
        scores = labels + judge.noise * generator.standard_normal(len(labels))
        bins = np.array(plain_cut(scores.tolist(), "range", 3, labels.tolist(), []), dtype=float)
        totals = Sums(*prompt_sums(bins, labels, sizes).sum(axis=1))
        recoveries.append((totals.J - totals.R) / (totals.M - totals.R))
        ties.append(1 - totals.apart_S / totals.pairs)
    equal = row(judge, "range")
    assert equal.metrics["tie_rate"].estimate == pytest.approx(np.mean(ties))
    assert equal.sd["tie_rate"] == pytest.approx(np.std(ties, ddof=1))
    if equal.metrics["recovery"].estimate is not None:
        assert equal.metrics["recovery"].estimate == pytest.approx(np.mean(recoveries))
        assert equal.loss.estimate == pytest.approx(
            equal.metrics["recovery"].estimate - judge.rows[0].metrics["recovery"].estimate
        )


def normal_pools(prompts, rng):
    """Return labels of four candidates that are standard normal, and a judge of two values."""
    labels = rng.normal(size=4 * prompts)
    ids, names = np.repeat(np.arange(prompts), 4), np.tile(list("abcd"), prompts)
    scores = (labels > 0).astype(float)
    return pd.DataFrame({"prompt_id": ids, "candidate": names, "judge_score": scores, "oracle_label": labels})


@pytest.mark.parametrize("samples", [30, pytest.param(400, marks=pytest.mark.slow)])
def test_intervals_of_losses_hold_the_truth_of_normal_labels(samples):
    """The loss to two quantiles on normal labels is known from one large table; small ones cover it."""
    large = study_discretisation(normal_pools(9_000, np.random.default_rng(1)), bins=[2], rho=0.6, draws=10)
    truth = row(large.judges["judge"], "quantile").loss.estimate
    covered = 0
    for at in range(samples):
        small = study_discretisation(normal_pools(80, np.random.default_rng(at + 5)), bins=[2], rho=0.6, draws=5)
        loss = row(small.judges["judge"], "quantile").loss
        covered += loss.low <= truth <= loss.high
    assert covered / samples >= 0.95 - 3.5 * math.sqrt(0.05 * 0.95 / samples)


def test_two_values_at_the_median_are_two_quantiles():
    """A judge that gives two values equally often cuts as two bins of equal counts do."""
    frame = normal_pools(300, np.random.default_rng(3))
    frame["judge_score"] = (frame["oracle_label"] > frame["oracle_label"].median()).astype(float)
    judge = study_discretisation(frame, bins=[2], draws=4).judges["judge"]
    assert row(judge, "own").metrics == row(judge, "quantile").metrics
    assert (judge.effective_values, judge.two_most_frequent) == pytest.approx((2, 1))


def test_labels_alone_are_enough():
    """Without scores there is no row of the judge's values; the simulated judge is the same."""
    frame = simulate("arena", n=60, seed=4).frame()
    scored = study_discretisation(frame, draws=5, bins=[5])
    alone = study_discretisation(frame.drop(columns="judge_score"), draws=5, bins=[5])
    judge = alone.judges["labels alone"]
    assert judge.rows == scored.judges["judge"].rows[:-2]
    assert judge.effective_values is None
    assert "labels alone: 60 prompts" in str(alone)
    named = frame.drop(columns="judge_score").rename(columns={"oracle_label": "goodness"})
    assert study_discretisation(named, draws=5, bins=[5], columns={"oracle_label": "goodness"}).judges.keys() == {
        "labels alone"
    }
    with pytest.raises(InputError, match="no column for judge_score"):
        study_discretisation(frame[["prompt_id", "candidate"]])


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"rho": 1.0}, "rho is 1"),
        ({"rho": 0.5, "recovery": 0.5}, "both say how good"),
        ({"recovery": 0.0}, "recovery is 0"),
        ({"bins": [1]}, "bins is 1"),
        ({"bins": [2_000]}, "bins is 2000"),
        ({"draws": 1}, "draws is 1"),
    ],
)
def test_settings_that_mean_nothing_are_refused(asked, message):
    """In one line."""
    with pytest.raises(UsageError, match=message):
        study_discretisation(simulate("arena", n=20, seed=1).frame(), **asked)


def test_equal_labels_leave_nothing_to_lose():
    """The reason is that of the curve of requirements."""
    frame = simulate("arena", n=20, seed=1).frame().assign(oracle_label=0.5)
    with pytest.raises(InputError, match="needs a prompt where labels differ"):
        study_discretisation(frame)


def test_seeds_repeat_and_frames_hold_every_figure():
    """The same seed gives the same document, another one another; the frame has a row per figure."""
    frame = simulate("arena", n=40, seed=4).frame()
    first, again, other = (study_discretisation(frame, bins=[5], draws=4, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    rows = first.to_frame()
    assert set(rows["metric"]) == {*METRICS, "loss"}
    assert len(rows) == 6 * len(METRICS) + 4


def test_the_command_prints_what_the_judges_values_cost(tmp_path, monkeypatch, capsys):
    """The verdict, the table with the judge itself, and a step that runs."""
    monkeypatch.chdir(tmp_path)
    simulate("arena", n=300, seed=4).frame().to_csv("scores.csv", index=False)
    asked = ["--bins", 5, "--recovery", "60%", "--json", "study.json"]
    shown = typed(capsys, "study", "discretisation", "scores.csv", *asked)
    assert shown.code == 0
    assert "Verdict: coarse scores cost" in shown.out
    assert "the judge itself" in shown.out
    assert "bonwise audit scores.csv" in shown.out
    document = strict((tmp_path / "study.json").read_text())
    assert document["settings"]["recovery"] == 0.6
    assert document["judges"]["judge"]["rows"][1]["scale"] == "range"
    again = typed(capsys, "study", "discretisation", "scores.csv", "--rho", 0.3, "--draws", 2, "--json", "-")
    assert strict(again.out)["judges"]["judge"]["rho"] == pytest.approx(0.3)


def test_a_finer_scale_is_advised_only_where_coarse_scores_cost(tmp_path, monkeypatch, capsys):
    """A judge whose own values cost nothing that is shown gets no advice against its scale."""
    monkeypatch.chdir(tmp_path)
    advice, costly, fine = "Ask for scores on a finer scale", simulate("arena", n=300, seed=4).frame(), []
    for prompt in range(30):
        fine += [(f"p{prompt}", name, prompt + at / 7, float(at)) for at, name in enumerate("abc")]
    pd.DataFrame(fine, columns=["prompt_id", "candidate_id", "judge_score", "oracle_label"]).to_csv("fine.csv")
    costly.to_csv("coarse.csv", index=False)
    shown = {
        name: typed(capsys, "study", "discretisation", name, "--draws", 2).out for name in ("fine.csv", "coarse.csv")
    }
    assert "Verdict: no cost shown" in shown["fine.csv"]
    assert advice not in shown["fine.csv"]
    assert "Verdict: coarse scores cost" in shown["coarse.csv"]
    assert advice in shown["coarse.csv"]

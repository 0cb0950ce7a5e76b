"""How often intervals hold the truth on five laws that nothing was tuned to, and the same figures in plain loops.

Partial designs, routes, verdicts on pairs, stated probabilities, watched streams and the factor model: a few tables
in the ordinary run, many under ``-m slow``, which print what they measured.
"""

from __future__ import annotations

import math
from collections import Counter
from statistics import fmean

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bonwise as bw
from bonwise.auditing.partial_metrics import partial_estimates
from bonwise.factors.model_choice import choose_among, fit_stage_one
from bonwise.factors.rating_arrays import RatingArrays
from bonwise.factors.ratings import RatingTable
from bonwise.factors.stage_two import HumanDesign, HumanRatings, VerdictColumns, fit_human
from bonwise.stats.confidence import calibration
from bonwise.stats.estimation import IntervalRule
from bonwise.stats.partial.label_features import label_features
from bonwise.stats.partial.label_sample import LabelSample
from bonwise.stats.routing import Outcomes
from bonwise.stats.sums import Sums, prompt_sums
from factors.acceptance import covered
from stats.nominal import assert_covered, clopper_pearson
from stats.routed_figures import routed_share
from watching.laws import alarm_day
from witnesses.five_laws import LAWS, RATINGS, STREAMS, pairs, population, rated, statements, unit_labels

THIN, FULL = 30, 300
BY_LAW = pytest.mark.parametrize("law", LAWS)


def told(name, law, held, count):
    """Print the measured shares."""
    print(name, law, {metric: round(held[metric] / count, 3) for metric in held})  # noqa: T201 - the measured table


# Partial designs: a uniform sample of the prompts is labelled.


def partly(law, count, prompts=250, labels=80):
    """Count the tables whose intervals for all prompts hold what the population has."""
    t = population(law)
    gain, room = float(np.mean(t.J - t.R)), float(np.mean(t.M - t.R))
    truth = {"gain": gain, "recovery": gain / room, "value_judge": float(t.J.mean()), "hit_rate": float(t.hit.mean())}
    ends = (0.0, 1.0) if unit_labels(law) else (-np.inf, np.inf)
    held = Counter(dict.fromkeys(truth, 0))
    for at in range(count):
        rng = np.random.default_rng([1, at])
        scores, labels_of = LAWS[law](rng, prompts)
        size, drawn = scores.shape[1], rng.permutation(prompts) < labels
        sums = prompt_sums(scores[drawn].ravel(), labels_of[drawn].ravel(), np.full(labels, size))
        features = label_features(scores.ravel(), np.full(prompts, size))
        rule = IntervalRule(label_range=ends, label_width=float(np.ptp(labels_of[drawn])))
        found = partial_estimates(sums, features, LabelSample.uniform(drawn), rule, seed=at).metrics
        held.update(name for name, value in truth.items() if found[name].low <= value <= found[name].high)
    return held


@BY_LAW
def test_samples_of_labels_hold_the_truth(law):
    """A third of the prompts is labelled."""
    assert_covered(partly(law, THIN), THIN, least=0.93, most=1.0)


@pytest.mark.slow
@BY_LAW
def test_samples_of_labels_hold_the_truth_in_full(law):
    """The same, many tables."""
    held = partly(law, FULL)
    told("partial", law, held, FULL)
    assert_covered(held, FULL, least=0.93, most=1.0)


# Routes: prompts are sent to a perfect judge by a signal that knows something of the gain.


def signals(t, rng):
    """Return a signal: the gain and as much noise, a third of the prompts alike."""
    gain = t.M - t.J
    return np.where(rng.random(len(gain)) < 1 / 3, 0.0, gain + gain.std() * rng.normal(size=len(gain)))


def routed(law, count, prompts=250, share=0.25):
    """Count the tables whose intervals of a routed share hold the population's figures."""
    whole = population(law)
    everyone = Outcomes(whole.J, whole.M - whole.J, np.ones(len(whole.J)))
    known = routed_share(signals(whole, np.random.default_rng(5)), everyone, share)
    truth = {name: getattr(known, name).estimate for name in ("value", "lift", "captured")}
    held = Counter(dict.fromkeys(truth, 0))
    for at in range(count):
        rng = np.random.default_rng([2, at])
        scores, labels = LAWS[law](rng, prompts)
        t = Sums(*prompt_sums(scores.ravel(), labels.ravel(), np.full(prompts, scores.shape[1])))
        found = routed_share(signals(t, rng), Outcomes(t.J, t.M - t.J, np.ones(prompts)), share)
        for name, value in truth.items():
            one = getattr(found, name)
            held[name] += one.low is not None and one.low <= value <= one.high
    return held


@BY_LAW
def test_routed_shares_hold_the_truth(law):
    """A fourth of the prompts is sent."""
    assert_covered(routed(law, THIN), THIN, least=0.93, most=1.0)


@pytest.mark.slow
@BY_LAW
def test_routed_shares_hold_the_truth_in_full(law):
    """The same, many tables."""
    held = routed(law, FULL)
    told("route", law, held, FULL)
    assert_covered(held, FULL, least=0.93, most=1.0)


@given(
    gains=st.lists(st.floats(0, 5), min_size=4, max_size=25),
    share=st.sampled_from([0.1, 0.25, 0.5]),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=40, deadline=None)
def test_what_a_signal_captures_in_plain_loops(gains, share, seed):
    """Lift and its part of the perfect order's: prompts one by one from the highest signal, ties in equal parts."""
    rng = np.random.default_rng(seed)
    gains = np.round(gains, 3)
    signal = np.round(gains + rng.normal(size=len(gains)), 1)
    value = rng.random(len(gains))

    def lift(order):
        left, total = share * len(gains), 0.0
        for level in sorted(set(order), reverse=True):
            tied = [gain for gain, one in zip(gains, order, strict=True) if one == level]
            taken = min(left, len(tied))
            total += taken * fmean(tied)
            left -= taken
        return total / len(gains) - share * fmean(gains)

    found = routed_share(signal, Outcomes(value, gains, np.ones(len(gains))), share)
    mine, best = lift(signal.tolist()), lift(gains.tolist())
    assert found.lift.estimate == pytest.approx(mine, abs=1e-9)
    assert found.value.estimate == pytest.approx(fmean(value) + share * fmean(gains) + mine, abs=1e-9)
    if found.captured.estimate is not None:
        assert found.captured.estimate == pytest.approx(mine / best, abs=1e-6)


# Verdicts on pairs.


def frame_of_verdicts(law, rng, prompts):
    """Return verdicts and labels of one pair a prompt, as a file holds them."""
    judge, oracle = pairs(law, rng, prompts)
    words = np.array(["b", "tie", "a"])
    return pd.DataFrame(
        {
            "prompt_id": [f"p{at}" for at in range(prompts)],
            "verdict": words[np.round(2 * judge).astype(int)],
            "people": words[np.round(2 * oracle).astype(int)],
        }
    )


def agreed(law, count, prompts=150):
    """Count the tables of verdicts whose intervals hold the population's figures."""
    judge, oracle = pairs(law, np.random.default_rng(99), 400_000)
    truth = {
        "agreement": 1 - np.abs(judge - oracle).mean(),
        "judge_tie_rate": (judge == 0.5).mean(),
        "phi": np.corrcoef(judge, oracle)[0, 1],
    }
    held = Counter(dict.fromkeys(truth, 0))
    for at in range(count):
        frame = frame_of_verdicts(law, np.random.default_rng([3, at]), prompts)
        (found,) = bw.audit_preferences(frame, verdict_col="verdict", label_col="people").judges.values()
        for name, value in truth.items():
            one = found.metrics[name]
            held[name] += one.low is not None and one.low - 1e-12 <= value <= one.high + 1e-12
    return held


@BY_LAW
def test_verdicts_hold_the_truth(law):
    """One pair of each of 150 prompts."""
    assert_covered(agreed(law, THIN), THIN, least=0.92, most=1.0)


@pytest.mark.slow
@BY_LAW
def test_verdicts_hold_the_truth_in_full(law):
    """The same, many tables."""
    held = agreed(law, FULL)
    told("preferences", law, held, FULL)
    assert_covered(held, FULL, least=0.92, most=1.0)


# Stated probabilities.


def loop_calibration(stated, won, bins):
    """Bin statements one by one; return the Brier score, the mean error of bins, and that weighted by statements."""
    groups = [[] for _ in range(bins)]
    for p, y in zip(stated, won, strict=True):
        groups[min(int(round(p, 9) * bins), bins - 1)].append((p, y))
    errors = [(len(one), abs(fmean(p for p, _ in one) - fmean(y for _, y in one))) for one in groups if one]
    return {
        "brier": fmean((p - y) ** 2 for p, y in zip(stated, won, strict=True)),
        "mean_bin_error": fmean(error for _, error in errors),
        "expected_calibration_error": sum(many * error for many, error in errors) / len(stated),
    }


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 100), st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 6)), min_size=3, max_size=40
    ),
    bins=st.sampled_from([2, 5, 10]),
)
@settings(max_examples=60, deadline=None)
def test_stated_probabilities_in_plain_loops(rows, bins):
    """Estimates are those of one loop over statements, and the error of Brier's score that of prompts left out."""
    stated, won, prompt = (np.array(column) for column in zip(*rows, strict=True))
    found = calibration(stated / 100, won, prompt, bins=bins)
    truth = loop_calibration((stated / 100).tolist(), won.tolist(), bins)
    for name, value in truth.items():
        assert getattr(found, name).estimate == pytest.approx(value, abs=1e-12), name
    known = sorted(set(prompt.tolist()))
    if found.brier.se:
        left = [
            loop_calibration((stated / 100)[prompt != one].tolist(), won[prompt != one].tolist(), bins)["brier"]
            for one in known
        ]
        spread = sum((one - fmean(left)) ** 2 for one in left)
        assert found.brier.se == pytest.approx(math.sqrt((len(known) - 1) / len(known) * spread), abs=1e-12)


def calibrated(law, count, prompts=120):
    """Count the samples whose intervals of calibration hold the population's figures."""
    known = calibration(*statements(law, np.random.default_rng(98), 200_000))
    names = ("brier", "mean_bin_error", "expected_calibration_error")
    truth = {name: getattr(known, name).estimate for name in names}
    shares = [one.estimate for one in known.observed]
    held, bins, inside = Counter(dict.fromkeys(names, 0)), 0, 0
    for at in range(count):
        found = calibration(*statements(law, np.random.default_rng([4, at]), prompts))
        for name, value in truth.items():
            one = getattr(found, name)
            held[name] += one.low is not None and one.low <= value <= one.high
        for one, share in zip(found.observed, shares, strict=True):
            if one.low is not None and one.n >= 10:
                bins, inside = bins + 1, inside + (one.low <= share <= one.high)
    return held, (inside, bins)


@BY_LAW
def test_stated_probabilities_hold_the_truth(law):
    """Three statements of each of 120 prompts: Brier score, errors of bins, and the share of wins of a bin."""
    held, (inside, bins) = calibrated(law, THIN)
    assert_covered(held, THIN, least=0.93, most=1.0)
    assert clopper_pearson(inside, bins)[1] >= 0.93


@pytest.mark.slow
@BY_LAW
def test_stated_probabilities_hold_the_truth_in_full(law):
    """The same, many samples."""
    held, (inside, bins) = calibrated(law, FULL)
    told("confidence", law, held | Counter({"bins": round(FULL * inside / bins)}), FULL)
    assert_covered(held, FULL, least=0.93, most=1.0)
    assert clopper_pearson(inside, bins)[1] >= 0.93


# Watched streams: nothing changes, and an alarm within a year is as rare as it is said to be.


def false_alarms(law, count, days):
    """Count the still streams that raise an alarm within a year of looks, at a chance of one in twenty."""
    return sum(alarm_day(STREAMS[law], 14 + days, 14, (6, at), 0.05, days) is not None for at in range(count))


@pytest.mark.parametrize("law", STREAMS)
def test_still_streams_rarely_alarm(law):
    """A short year of 40 looks."""
    assert clopper_pearson(false_alarms(law, 20, 40), 20)[0] <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("law", STREAMS)
def test_still_streams_rarely_alarm_in_full(law):
    """A year of 365 looks."""
    alarms = false_alarms(law, 100, 365)
    print("watch", law, alarms / 100)  # noqa: T201 - the measured table
    assert clopper_pearson(alarms, 100)[0] <= 0.05


# The factor model: differences of models on single prompts.


def shares_of_factors(law, seed, prompts):
    """Return how many differences of models within prompts the intervals of one fit hold."""
    drawn = rated(RATINGS[law], seed, prompts)
    data = RatingArrays.of(RatingTable.read(drawn.frame(), human="human"))
    judges = data.without_human()
    design, ratings = HumanDesign(data.models, VerdictColumns.of(judges)), HumanRatings.of(data, seed=seed)
    chosen = choose_among(fit_stage_one(judges, [RATINGS[law].skills], [1.0]), design, ratings)
    skills = fit_human(chosen.human.design, ratings, ["skills"], 1e-3)
    return covered(data, chosen.capabilities, skills, drawn.capabilities[0], seed)


def test_differences_of_models_hold_the_truth():
    """One small set: most differences lie in their intervals, which are wider than those of a fixed first stage."""
    found = shares_of_factors("two kinds of prompts", 0, 40)
    assert found["gibbs cover"] > max(0.8, found["fixed cover"])


@pytest.mark.slow
@pytest.mark.parametrize("law", RATINGS)
def test_differences_of_models_hold_the_truth_in_full(law):
    """Six sets of 120 prompts; where judges are swayed alike twelve of 150, and whole bands hold too."""
    swayed = RATINGS[law].swayed
    rows = [shares_of_factors(law, seed, 150 if swayed else 120) for seed in range(12 if swayed else 6)]
    mean = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    print("factor", law, {name: round(value, 3) for name, value in mean.items()})  # noqa: T201 - the measured table
    assert mean["gibbs cover"] >= 0.91
    if swayed:
        assert mean["gibbs hold"] >= 0.85
        assert sum(row["effect low"] <= swayed <= row["effect high"] for row in rows) >= 9


def test_what_sways_all_judges_is_seen_and_counted():
    """One small set: the interval of its standard deviation holds the true one, and the differences are held."""
    row = shares_of_factors("judges swayed alike", 0, 60)
    assert 0.5 < row["effect low"] <= 1.25 <= row["effect high"]
    assert row["gibbs cover"] > 0.9

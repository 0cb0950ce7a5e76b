"""Laws of estimates: at any confidence, of shares, near the ends of a range."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import FrozenInstanceError
from functools import cache
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import binom, norm
from scipy.stats import t as student

from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.confidence import (
    BinError,
    BinErrors,
    Logit,
    calibration,
    clustered_mean,
    mean_bin_error,
    means_by_group,
)
from bonwise.stats.estimation import IntervalRule, estimate
from bonwise.stats.laws import EffectiveShare, Exact, Fieller, FisherZ, Percentile, Student
from bonwise.stats.sums import prompt_sums
from golden_tables import golden
from judge_laws import LAWS, sums_of, truth
from stats.nominal import clopper_pearson

ANGLES = np.linspace(-math.pi / 2, math.pi / 2, 40_001)
pairs = st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 9)), min_size=3, max_size=12)


def fieller_of(sample):
    """Return the law of a ratio of two sample means."""
    a, b = np.array(sample, dtype=float).T
    (caa, cab), (_, cbb) = np.cov(a, b) / len(a)
    return Fieller(a.mean(), b.mean(), caa, cab, cbb, len(a) - 1)


def members(law, confidence):
    """Mark the angles whose tangent is a ratio that a t test does not reject."""
    t2 = student.ppf(0.5 + confidence / 2, law.df) ** 2
    c, s = np.cos(ANGLES), np.sin(ANGLES)
    variance = law.caa * c * c - 2 * law.cab * c * s + law.cbb * s * s
    return (law.a * c - law.b * s) ** 2 <= t2 * variance


@given(pairs, st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_fieller_is_the_set_of_ratios_not_rejected(sample, confidence):
    """The ends are those found by trying every ratio, and there are none where the set has no end."""
    law = fieller_of(sample)
    ends, inside = law.at(confidence), members(law, confidence)
    t2 = student.ppf(0.5 + confidence / 2, law.df) ** 2
    lead = law.b**2 - t2 * law.cbb
    if abs(lead) < 1e-9:  # at the edge of being unbounded either answer is right
        return
    assert (ends is None) == (lead < 0)
    if ends is not None and inside.any():
        step, found = ANGLES[1] - ANGLES[0], ANGLES[inside]
        assert (math.atan(ends[0]), math.atan(ends[1])) == pytest.approx((found[0], found[-1]), abs=2 * step)


def test_fieller_is_cut_to_its_range():
    """No part of the interval lies above what recovery can be."""
    law = Fieller(0.9, 1.0, 0.04, 0.0, 0.01, 20, (-math.inf, 1.0))
    assert law.at(0.95)[1] == 1.0


@given(st.floats(-1, 1), st.floats(0, 1), st.integers(1, 50), st.sampled_from([0.5, 0.8, 0.95]))
def test_student_is_the_textbook_interval(value, se, df, confidence):
    """Estimate plus and minus t times the standard error, cut to the range."""
    half = student.ppf(0.5 + confidence / 2, df) * se
    found = Student(value, se, df, (-1.0, 1.0)).at(confidence)
    assert found == pytest.approx((max(value - half, -1), min(value + half, 1)), abs=1e-12)


@given(st.floats(-0.999, 0.999), st.floats(1e-3, 1), st.integers(1, 50), st.sampled_from([0.5, 0.8, 0.95]))
def test_a_correlation_has_fishers_interval(r, se, df, confidence):
    """By logarithms: z of r more and less t times its standard error, and back; with a minus sign, turned round."""
    half = student.ppf(0.5 + confidence / 2, df) * se / (1 - r**2)
    z = [math.log((1 + r) / (1 - r)) / 2 + side * half for side in (-1, 1)]
    low, high = FisherZ(r, se, df).at(confidence)
    assert (low, high) == pytest.approx([1 - 2 / (1 + math.exp(min(2 * end, 700))) for end in z], abs=1e-9)
    assert FisherZ(-r, se, df).at(confidence) == pytest.approx((-high, -low))


@given(st.integers(1, 500), st.sampled_from([0.5, 0.9, 0.95]))
def test_exact_is_clopper_pearson_without_a_success(n, confidence):
    """The share that may differ is the one with which n draws show no difference with half the error left."""
    low, high = Exact(0.25, n, (0.0, 1.0)).at(confidence)
    share = (high - 0.25) / 0.75
    assert low == pytest.approx(0.25 - share * 0.25, abs=1e-12)
    assert binom.pmf(0, n, share) == pytest.approx((1 - confidence) / 2, rel=1e-9)


def test_percentile_takes_the_quantiles():
    """Of replicates 0..100 the 90 % interval is 5 to 95; with an undefined replicate there is none."""
    assert Percentile(np.arange(101.0)).at(0.9) == pytest.approx((5.0, 95.0))
    assert Percentile(np.array([0.0, math.nan])).at(0.9) is None


@given(pairs, st.sampled_from([0.6, 0.8, 0.95]))
def test_more_confidence_is_a_wider_interval(sample, confidence):
    """The interval at a lower confidence lies within the one at a higher, so a one-sided bound is an end of it."""
    law = fieller_of(sample)
    wide, narrow = law.at(confidence), law.at(confidence - 0.1)
    if wide is not None:
        rounding = 1e-6  # a root of a difference that is 0 but for rounding
        assert wide[0] - rounding <= narrow[0] <= narrow[1] <= wide[1] + rounding


# Gates near the ends of a range, by exact enumeration; rare events and heavy tails, by simulation.


GATES = golden("end_gates")
(HIT_RATE,) = (e for e in ESTIMANDS if e.name == "hit_rate")


@cache
def ends(n, confidence=0.9):
    """Return the hit rate's interval with k of n hits, for every k: its ends at that confidence."""
    found = []
    for hits in range(n + 1):
        # A judge that picks the first of two candidates, and is right as often.
        labels = np.where(np.arange(n) < hits, 1.0, 0.0)
        sums = prompt_sums(np.tile([1.0, 0.0], n), np.column_stack((labels, 1 - labels)).ravel(), np.full(n, 2))
        found.append(estimate([HIT_RATE], sums, IntervalRule(confidence=confidence))["hit_rate"])
    return found


def passed(truth, n, lows):
    """Return the chance that a low end lies above the truth."""
    return float(stats.binom.pmf(np.arange(n + 1), n, truth) @ (np.asarray(lows) > truth + 1e-12))


@pytest.mark.parametrize("row", GATES, ids=lambda row: f"{row['truth']} of {row['n']}")
def test_a_gate_at_the_truth_passes_as_seldom_as_stated(row):
    """Every number of hits, weighed by its chance: by Student's t up to .184 pass, by this interval .05 at most."""
    share, n = float(row["truth"]), int(row["n"])
    found = passed(share, n, [one.low for one in ends(n)])
    assert found == pytest.approx(float(row["effective"]), abs=0.0006)
    assert found <= 0.05
    k = np.arange(n + 1)
    above = np.array([one.high for one in ends(n)]) < share - 1e-12
    assert stats.binom.pmf(k, n, share) @ above == pytest.approx(passed(1 - share, n, [one.low for one in ends(n)]))
    student = k / n - stats.t.ppf(0.95, n - 1) * np.sqrt(k / n * (1 - k / n) / (n - 1))
    student[-1] = ends(n)[-1].low  # all alike: no t interval
    assert passed(share, n, student) == pytest.approx(float(row["student"]), abs=0.0006)


def test_both_sides_hold():
    """Over all shares and numbers of prompts the two-sided 95 % interval holds with a chance of .955 or more."""
    for n in (30, 50, 100, 200):
        both = ends(n, 0.95)
        low, high = (np.array([getattr(one, side) for one in both]) for side in ("low", "high"))
        for share in np.linspace(0.01, 0.99, 99):
            chance = stats.binom.pmf(np.arange(n + 1), n, share) @ ((low <= share) & (share <= high))
            assert chance >= 0.95, (n, share)


def test_the_interval_by_hand():
    """98 of 100: with df 99 the effective draws are 100 less a little, and the ends are quantiles of beta laws."""
    se = np.sqrt(0.98 * 0.02 / 99)
    draws = 0.98 * 0.02 / se**2 * (stats.norm.ppf(0.95) / stats.t.ppf(0.95, 99)) ** 2
    assert draws == pytest.approx(97.156, abs=0.001)
    low, high = EffectiveShare(0.98, se, 99).at(0.9)
    assert low == pytest.approx(stats.beta.ppf(0.05, 0.98 * draws, 0.02 * draws + 1), rel=1e-9)
    assert high == pytest.approx(stats.beta.ppf(0.95, 0.98 * draws + 1, 0.02 * draws), rel=1e-9)


def test_how_probabilities_fare_does_not_change():
    """Figures that were handed out stay what they were."""
    fare = calibration(np.array([0.2, 0.8]), np.array([0.0, 1.0]), np.arange(2))
    with pytest.raises(FrozenInstanceError):
        fare.statements = ()


def test_a_mean_on_any_range_is_the_share_of_that_range():
    """A mean of 3 on grades from 1 to 5 is the share 1/2: its ends are 1 and 4 times those of the share."""
    of_share = EffectiveShare(0.5, 0.05, 99).at(0.95)
    assert EffectiveShare(3.0, 0.2, 99, (1.0, 5.0)).at(0.95) == pytest.approx([1 + 4 * end for end in of_share])


TAILS = [
    ("ties90", 100, {"gain": 0.937, "recovery": 0.945, "attenuation": 0.945}),
    ("rare", 100, {"gain": 0.922, "oracle_between_share": 0.930}),
    ("lognormal", 100, {"value_judge": 0.933, "attenuation": 0.890}),
    ("hetero", 100, {"within_r": 0.877}),  # an audit withholds it
    ("likert", 100, {"gain": 0.945, "recovery": 0.945, "within_r": 0.945}),
]
"""Law, prompts, and by metric the coverage that the degrees of freedom of heavy tails give (600 tables)."""


def covered(law, n, names, replications):
    """Count, by metric, the tables whose interval holds the truth; an interval that is withheld holds it."""
    chosen = [e for e in ESTIMANDS if e.name in names]
    rule = IntervalRule(label_range=(-np.inf, np.inf) if law in {"hetero", "lognormal"} else (0.0, 1.0))
    rng, held = np.random.default_rng([20261123, list(LAWS).index(law), n]), Counter()
    for _ in range(replications):
        found = estimate(chosen, sums_of(*LAWS[law](rng, n)), rule)
        for name in names:
            one = found[name]
            held[name] += one.low is None or one.low <= truth(law)[name] <= one.high
    return held


def assert_covered(law, n, expected, replications):
    """Fail where the coverage lies below that of the table, by more than the errors of both."""
    held = covered(law, n, tuple(expected), replications)
    print(law, n, {name: held[name] / replications for name in expected})  # noqa: T201 - the measured figures
    for name, share in expected.items():
        error = np.sqrt(share * (1 - share) * (1 / 600 + 1 / replications))
        assert held[name] / replications >= share - 3.5 * error, name


@pytest.mark.parametrize(("law", "n", "expected"), TAILS)
def test_heavy_tails_cost_degrees_of_freedom(law, n, expected):
    """Over 100 tables."""
    assert_covered(law, n, expected, 100)


@pytest.mark.slow
@pytest.mark.parametrize(("law", "n", "expected"), TAILS)
def test_coverage_under_heavy_tails(law, n, expected):
    """Over 2,000 tables."""
    assert_covered(law, n, expected, 2000)


def inflation_held(law, n, replications):
    """Count the tables whose set for inflation holds the truth, where it is unbounded too, and those with a set."""
    chosen = [e for e in ESTIMANDS if e.name == "inflation"]
    rng, held, stated = np.random.default_rng([20261123, 3, n]), 0, 0
    for _ in range(replications):
        one = estimate(chosen, sums_of(*LAWS[law](rng, n)), IntervalRule())["inflation"]
        stated += one.low is not None
        held += one.low is None or one.low <= truth(law)["inflation"] <= one.high
    return held, stated


def test_inflation_is_withheld_where_its_denominator_may_be_0():
    """Of rare events few tables of 100 prompts state it, and the sets hold."""
    held, stated = inflation_held("rare", 100, 100)
    assert stated < 60
    assert clopper_pearson(held, 100)[1] >= 0.94


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "n"), [("rare", 100), ("rare", 200), ("likert", 100), ("binary", 100), ("graded", 100)]
)
def test_coverage_of_inflation(law, n):
    """Over 2,000 tables, unbounded sets among them, .93 or more."""
    held, stated = inflation_held(law, n, 2000)
    print(law, n, held / 2000, stated)  # noqa: T201 - the measured figures
    assert clopper_pearson(held, 2000)[1] >= 0.93


# Landesberg (2026), Table 27: stated, observed, error, bin by bin.
TABLE_27 = {
    "elicited": (
        [0.17, 0.29, 0.43, 0.69, 0.88],
        [0.12, 0.41, 0.53, 0.46, 0.76],
        [0.05, 0.12, 0.10, 0.23, 0.12],
        0.12,
    ),
    "logprob": ([0.03, 0.31, 0.50, 0.69, 0.98], [0.31, 0.57, 0.38, 0.36, 0.61], [0.29, 0.26, 0.11, 0.33, 0.37], 0.27),
}

STATEMENTS = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.1, 0.2, 1 - 0.8, 0.35, 0.4, 0.5, 0.6, 0.77, 0.8, 1.0]),
        st.sampled_from([0.0, 0.5, 1.0]),
        st.integers(0, 4),
    ),
    min_size=1,
    max_size=25,
)


def columns(rows):
    """Return stated, won and prompt as arrays."""
    stated, won, prompt = zip(*rows, strict=True)
    return np.array(stated), np.array(won), np.array(prompt, dtype=np.int64)


def plain(rows):
    """Compute means of the bins, Brier score and both summaries in plain loops."""
    bins = [[] for _ in range(5)]
    for stated, won, _ in rows:
        bins[min(int(round(stated, 9) * 5), 4)].append((stated, won))
    stated = [fmean(p for p, _ in one) if one else math.nan for one in bins]
    won = [fmean(y for _, y in one) if one else math.nan for one in bins]
    errors = [abs(p - y) for p, y in zip(stated, won, strict=True)]
    known = [(error, len(one)) for error, one in zip(errors, bins, strict=True) if one]
    return {
        "stated": stated,
        "won": won,
        "brier": fmean((p - y) ** 2 for p, y, _ in rows),
        "mean": fmean(error for error, _ in known),
        "weighted": sum(error * count for error, count in known) / len(rows),
    }


@pytest.mark.parametrize("method", TABLE_27)
def test_table_27_is_its_own_mean(method):
    """The printed bins give the printed errors, to the rounding of the print, and their unweighted mean."""
    stated, observed, errors, mean = TABLE_27[method]
    found = [abs(p - y) for p, y in zip(stated, observed, strict=True)]
    assert found == pytest.approx(errors, abs=0.0151)
    assert float(mean_bin_error(np.array(stated), np.array(observed))) == pytest.approx(mean, abs=0.0051)
    assert fmean(errors) == pytest.approx(mean, abs=0.0051)


@pytest.mark.parametrize("method", TABLE_27)
def test_statements_made_from_table_27_give_its_bins(method):
    """A hundred statements a bin, as stated and as won, are binned as in the table."""
    stated, observed, _, mean = TABLE_27[method]
    rows = [
        (p, float(k < round(100 * y)), 100 * b + k)
        for b, (p, y) in enumerate(zip(stated, observed, strict=True))
        for k in range(100)
    ]
    found = calibration(*columns(rows))
    assert list(found.statements) == [100] * 5
    assert list(found.stated) == pytest.approx(stated)
    assert [share.estimate for share in found.observed] == pytest.approx(observed)
    assert found.mean_bin_error.estimate == pytest.approx(mean, abs=0.0051)


@given(rows=STATEMENTS)
def test_calibration_equals_plain_loops(rows):
    """Bins, Brier score and both summaries are what plain loops give."""
    found, expected = calibration(*columns(rows)), plain(rows)
    stated = [math.nan if mean is None else mean for mean in found.stated]
    assert stated == pytest.approx(expected["stated"], nan_ok=True)
    won = [math.nan if share.estimate is None else share.estimate for share in found.observed]
    assert won == pytest.approx(expected["won"], nan_ok=True)
    assert found.brier.estimate == pytest.approx(expected["brier"])
    assert found.mean_bin_error.estimate == pytest.approx(expected["mean"])
    assert found.expected_calibration_error.estimate == pytest.approx(expected["weighted"])
    assert sum(found.statements) == len(rows)


@given(rows=STATEMENTS)
def test_errors_are_those_of_leaving_prompts_out(rows):
    """The standard error of each summary is the plain jackknife over prompts."""
    found, prompts = calibration(*columns(rows)), sorted({prompt for *_, prompt in rows})
    if len(prompts) < 2:
        assert found.brier.low is None
        return
    left = [plain([row for row in rows if row[2] != prompt]) for prompt in prompts]
    for name, e in {
        "brier": found.brier,
        "mean": found.mean_bin_error,
        "weighted": found.expected_calibration_error,
    }.items():
        values = [one[name] for one in left]
        n = len(values)
        error = math.sqrt((n - 1) / n * sum((value - fmean(values)) ** 2 for value in values))
        assert (e.se or 0.0) == pytest.approx(error, rel=1e-6, abs=1e-9)


def test_groups_without_a_statement_are_undefined():
    """A level that nobody stated has no accuracy, and says so."""
    found = means_by_group(np.array([1.0, 0.0, 1.0]), np.array([0, 0, 2]), np.array([0, 1, 2]), 4, 0.95)
    assert [e.estimate for e in found] == [0.5, None, 1.0, None]
    assert found[1].reason == "no statement"


def test_intervals_hold_the_truth_of_clustered_statements():
    """Over 400 samples of 80 prompts with correlated statements, intervals hold win rate and Brier score."""
    rng = np.random.default_rng(20261121)
    hits = np.zeros(2, dtype=int)
    for _ in range(400):
        prompt = np.repeat(np.arange(80), 4)
        lean = np.repeat(rng.beta(2, 2, 80), 4)
        won = (rng.random(320) < lean).astype(float)
        found = calibration(np.full(320, 0.7), won, prompt)
        # The mean of Beta(2, 2) is one half: (.7 - 1)^2 / 2 + .7^2 / 2 = .29.
        middle = found.observed[3]
        hits += [middle.low <= 0.5 <= middle.high, found.brier.low <= 0.29 <= found.brier.high]
    assert (hits >= 366).all()
    assert (hits <= 394).all()


def in_interval(e, truth):
    """Tell whether an interval holds the truth."""
    return e.low - 1e-12 <= truth <= e.high + 1e-12


# Statements of .1, .3, .5, .7 and .9, and how often they win: an honest judge and one that is too sure by .6.
STATED = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
SHARES = np.array([0.3, 0.15, 0.1, 0.15, 0.3])
MEAN_ERROR = {"honest": (STATED, 0.0), "too sure": (0.5 + 0.4 * (STATED - 0.5), 0.144)}


@pytest.mark.parametrize("judge", MEAN_ERROR)
@pytest.mark.parametrize(("prompts", "each", "samples"), [(40, 1, 150), (40, 4, 150), (200, 2, 150), (2000, 1, 120)])
def test_intervals_of_the_summaries_hold_their_truth(judge, prompts, each, samples):
    """The mean error of the bins, plain and weighted, lies in its interval at least as often as stated, at 0 too."""
    wins, truth = MEAN_ERROR[judge]
    weighted = float(SHARES @ np.abs(STATED - wins))
    rng = np.random.default_rng(prompts + each)
    hits = np.zeros(2)
    for _ in range(samples):
        at = rng.choice(5, size=(prompts, each), p=SHARES)
        lean = rng.normal(size=(prompts, 1)) * 0.7 + rng.normal(size=at.shape)
        won = (norm.ppf(wins[at]) * math.sqrt(1.49) + lean > 0).astype(float)
        found = calibration(STATED[at].ravel(), won.ravel(), np.repeat(np.arange(prompts), each))
        hits += [in_interval(found.mean_bin_error, truth), in_interval(found.expected_calibration_error, weighted)]
        assert found.mean_bin_error.interval == "bins"
    # 95 %, less two standard errors of the simulation.
    assert (hits / samples >= 0.95 - 2 * math.sqrt(0.95 * 0.05 / samples)).all()


@pytest.mark.parametrize(("prompts", "each"), [(15, 4), (40, 1), (40, 4), (200, 4)])
@pytest.mark.parametrize("truth", [0.5, 0.8, 0.95])
def test_intervals_of_shares_hold_their_truth_with_few_prompts(prompts, each, truth):
    """Over 1000 samples of correlated statements the interval of a share holds the truth 94 % of the time or more.

    Student's interval does so only 86 % of the time at 40 prompts of 4 statements and a truth of .95.
    """
    rng = np.random.default_rng(prompts * each)
    hits = 0
    for _ in range(1000):
        lean = rng.beta(truth * 3, (1 - truth) * 3, size=(prompts, 1))
        won = (rng.random((prompts, each)) < lean).astype(float)
        e = clustered_mean(won.ravel(), np.repeat(np.arange(prompts), each), 0.95, share=True)
        hits += in_interval(e, truth)
    assert hits >= 932  # 94 %, less a standard error of the simulation


def test_a_share_by_hand():
    """8 of 10 on prompts of their own: log 4 plus or minus t(9) times (.4 / 3) / .16, turned back."""
    e = clustered_mean(np.array([1.0] * 8 + [0.0] * 2), np.arange(10), 0.95, share=True)
    assert (e.estimate, e.interval) == (pytest.approx(0.8), "logit")
    assert e.se == pytest.approx(0.4 / 3)
    half = 2.2621571628 * (0.4 / 3) / 0.16
    ends = [1 / (1 + math.exp(-(math.log(4) + sign * half))) for sign in (-1, 1)]
    assert (e.low, e.high) == pytest.approx(ends)


def test_a_share_of_all_or_nothing_keeps_its_bound():
    """Where every statement is right there are no log-odds: the interval is the exact bound, and never empty."""
    e = clustered_mean(np.ones(20), np.repeat(np.arange(10), 2), 0.95, share=True)
    assert (e.interval, e.high) == ("exact", 1.0)
    assert e.low == pytest.approx(0.025**0.1)


def test_the_error_of_one_bin_by_hand():
    """Both intervals count: the wider end on either side, folded at 0, and nothing beyond what can be."""
    share = Student(0.6, 0.05, 10**9, (0.0, 1.0))
    half = 1.959963985 * 0.05
    assert BinError(0.7, 0.6, share, 0.01, 10**9).at(0.95) == pytest.approx((0.1 - half, 0.1 + half))
    assert BinError(0.7, 0.6, share, 0.06, 10**9).at(0.95) == pytest.approx((0.0, 0.1 + 1.959963985 * 0.06))
    assert BinError(0.6, 0.6, share, 0.01, 10**9).at(0.95) == pytest.approx((0.0, half))
    assert BinError(0.7, 0.6, None, math.nan, 0).at(0.95) == (0.0, 0.7)


def test_bins_hold_all_at_once():
    """Two bins at 95 % are two bins at 97.5 % each, averaged."""
    bins = [BinError(p, y, Logit(y, 0.05, 30), 0.05, 30) for p, y in ((0.3, 0.5), (0.9, 0.6))]
    expected = np.array([one.at(0.975) for one in bins]).T @ [0.25, 0.75]
    assert BinErrors(tuple(bins), np.array([0.25, 0.75])).at(0.95) == pytest.approx(expected)


@given(rows=STATEMENTS)
def test_every_summary_lies_in_its_interval(rows):
    """Estimates lie in their intervals, which stay in [0, 1], at a higher confidence wider ones."""
    found = calibration(*columns(rows))
    for e in (found.mean_bin_error, found.expected_calibration_error, *found.error):
        if e.low is not None:
            assert 0 <= e.low <= e.estimate + 1e-12
            assert e.estimate - 1e-12 <= e.high <= 1
            low, high = e.bounds(0.99)
            assert low <= e.low + 1e-12
            assert high >= e.high - 1e-12

from __future__ import annotations

import math
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.stats.confidence import calibration, mean_bin_error, means_by_group

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
    assert [one.statements for one in found.bins] == [100] * 5
    assert [one.stated for one in found.bins] == pytest.approx(stated)
    assert [one.observed.estimate for one in found.bins] == pytest.approx(observed)
    assert found.mean_bin_error.estimate == pytest.approx(mean, abs=0.0051)


@given(rows=STATEMENTS)
def test_calibration_equals_plain_loops(rows):
    """Bins, Brier score and both summaries are what plain loops give."""
    found, expected = calibration(*columns(rows)), plain(rows)
    assert [math.nan if one.stated is None else one.stated for one in found.bins] == pytest.approx(
        expected["stated"], nan_ok=True
    )
    won = [math.nan if one.observed.estimate is None else one.observed.estimate for one in found.bins]
    assert won == pytest.approx(expected["won"], nan_ok=True)
    assert found.brier.estimate == pytest.approx(expected["brier"])
    assert found.mean_bin_error.estimate == pytest.approx(expected["mean"])
    assert found.expected_calibration_error.estimate == pytest.approx(expected["weighted"])
    assert sum(one.statements for one in found.bins) == len(rows)


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
        middle = found.bins[3].observed
        hits += [middle.low <= 0.5 <= middle.high, found.brier.low <= 0.29 <= found.brier.high]
    assert (hits >= 366).all()
    assert (hits <= 394).all()

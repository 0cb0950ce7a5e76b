from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bonwise.stats.pilot_effect import log_residual, standardised, wilson, within_z

VALUES = st.floats(-3, 3).map(lambda x: round(x, 2))
PROMPTS = st.lists(st.tuples(VALUES, VALUES, st.floats(0, 1).map(lambda x: round(x, 2))), min_size=4, max_size=12)


def left_out(rows, of):
    """Return the figure, and its standard error with one prompt left out at a time, by plain loops."""
    estimate = of(rows)
    without = [of(rows[:at] + rows[at + 1 :]) for at in range(len(rows))]
    if not all(math.isfinite(one) for one in (estimate, *without)):
        return estimate, math.nan
    middle = statistics.fmean(without)
    return estimate, math.sqrt((len(rows) - 1) / len(rows) * sum((one - middle) ** 2 for one in without))


def same(found, rows, of):
    """Compare a figure with its plain loop, where that is no division of rounding by rounding."""
    estimate, se = left_out(rows, of)
    assume(math.isfinite(se))
    assert found.estimate == pytest.approx(estimate, rel=1e-6, abs=1e-6)
    assert found.se == pytest.approx(se, rel=1e-4, abs=1e-6)
    assert found.units == len(rows)


def shift_of(rows):
    """Mean over standard deviation, the spread within prompts included; NaN where nothing spreads."""
    mean = statistics.fmean(a for a, _, _ in rows)
    square = statistics.fmean(a * a + c for a, _, c in rows)
    return mean / math.sqrt(square - mean**2) if square - mean**2 > 1e-6 else math.nan


def residual_of(rows):
    """Logarithm of the variance of a prompt's influence on the ratio; NaN where there is none."""
    one, two = (statistics.fmean(row[at] for row in rows) for at in (0, 1))
    spread = statistics.fmean((a - one / two * b) ** 2 for a, b, _ in rows)
    return math.log(spread / two**2) if spread > 1e-6 else math.nan


def z_of(rows):
    """Fisher's z of pooled sums; NaN where it has none."""
    squares = [sum(a * a + c for a, _, c in rows), sum(b * b + c for _, b, c in rows)]
    products = sum(a * b for a, b, _ in rows)
    if min(squares) < 1e-3:
        return math.nan
    r = products / math.sqrt(squares[0] * squares[1])
    return math.atanh(r) if abs(r) < 0.999 else math.nan


@given(PROMPTS)
def test_a_standardised_mean_is_that_of_plain_loops(rows):
    """Estimate and leave-one-out standard error."""
    a, _, c = np.array(rows).T
    same(standardised(a, a * a + c), rows, shift_of)


@given(PROMPTS)
def test_a_residual_is_that_of_plain_loops(rows):
    """Estimate and leave-one-out standard error of its logarithm."""
    lifted = [(a, abs(b) + 0.2, c) for a, b, c in rows]  # what there is to gain is never below 0
    a, b, _ = np.array(lifted).T
    same(log_residual(a, b), lifted, residual_of)


@given(PROMPTS)
def test_a_within_prompt_correlation_is_that_of_plain_loops(rows):
    """Fisher's z of the pooled sums, one prompt left out at a time."""
    a, b, c = np.array(rows).T
    same(within_z(a * a + c, b * b + c, a * b), rows, z_of)


@given(st.integers(1, 400), st.floats(0, 1), st.sampled_from([0.8, 0.95, 0.99]))
def test_wilson_s_ends_are_where_the_score_test_just_rejects(votes, share, confidence):
    """At either end the share lies z standard errors away, the error being that at the end."""
    wins = round(share * votes)
    z = statistics.NormalDist().inv_cdf(0.5 + confidence / 2)
    for end in wilson(wins, votes, confidence):
        gap = (wins / votes - end) ** 2
        assert gap == pytest.approx(z * z * end * (1 - end) / votes, abs=1e-9)

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from scipy.stats import t as student

from bonwise.stats.laws import Exact, Fieller, Percentile, Student

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

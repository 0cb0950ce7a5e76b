from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from bonwise.watching.drift import STAKES, bounded_evidence, first_alarm, scores_evidence


def test_evidence_by_hand():
    """One score of 2 in a year of 10: E = exp(4 / 4) / sqrt 2, averaged with nine bets that have not begun."""
    found = scores_evidence(np.array([2.0]), 10)
    assert np.exp(found.log_e[0]) == pytest.approx((math.e / math.sqrt(2) + 9) / 10, rel=1e-12)
    one_sided = scores_evidence(np.array([2.0]), 10, "below")
    half = math.e / math.sqrt(2) * 2 * stats.norm.cdf(-2 / math.sqrt(2))
    assert np.exp(one_sided.log_e[0]) == pytest.approx((half + 9) / 10, rel=1e-12)


def _likelihood_ratio(shift, total, count):
    """Return the likelihood ratio of one shift, times its prior density."""
    return stats.norm.pdf(shift) * math.exp(shift * total - count * shift**2 / 2)


def test_a_bet_is_the_likelihood_ratio_of_a_drawn_shift():
    """The closed form is the integral over shifts; of one half of them with twice the weight."""
    scores = np.array([0.4, 1.3, 2.2])
    for sides, low, high, times in (("both", -9, 9, 1), ("above", 0, 9, 2), ("below", -9, 0, 2)):
        expected = 0.0
        for start in range(3):
            total, count = scores[start:].sum(), 3 - start
            worth, _ = integrate.quad(_likelihood_ratio, low, high, args=(total, count))
            expected += times * worth / 3
        assert np.exp(scores_evidence(scores, 3, sides).log_e[-1]) == pytest.approx(expected, rel=1e-8)


@settings(max_examples=40)
@given(st.lists(st.floats(-3, 3), min_size=1, max_size=9), st.integers(2, 5))
def test_evidence_in_plain_loops(values, year):
    """An average over the starts of the year at hand; a new year forgets the one before."""
    found = scores_evidence(np.array(values), year)
    bounded = bounded_evidence(np.array(values) / 3, 1.0, year)
    for at in range(len(values)):
        first = at // year * year
        bets, wealth = [], []
        for start in range(first, at + 1):
            total, count = sum(values[start : at + 1]), at + 1 - start
            bets.append(math.exp(total**2 / (2 * (1 + count))) / math.sqrt(1 + count))
            products = [math.prod(1 + stake * one / 3 for one in values[start : at + 1]) for stake in STAKES]
            wealth.append(sum(products) / len(products))
        waiting = year - (at - first + 1)
        assert math.exp(found.log_e[at]) == pytest.approx((sum(bets) + waiting) / year, rel=1e-9)
        assert math.exp(bounded.log_e[at]) == pytest.approx((sum(wealth) + waiting) / year, rel=1e-9)
        assert bets[found.start[at] - first] == pytest.approx(max(bets), rel=1e-9)


def test_still_scores_rarely_alarm():
    """Of 800 years of independent normal scores at most 5 % alarm, two-sided and one-sided."""
    scores = np.random.default_rng(20261129).normal(size=(800, 120))
    for sides in ("both", "below"):
        alarms = (scores_evidence(scores, 120, sides).log_e >= np.log(20)).any(axis=1).mean()
        assert alarms < 0.05 + 2 * math.sqrt(0.05 * 0.95 / 800)
        assert alarms > 0.002


@pytest.mark.parametrize("share", [0.02, 0.3])
def test_a_bounded_stream_without_a_gain_rarely_alarms(share):
    """Shares of 10 picks whose mean is the bound itself: of 300 years at most 5 % alarm."""
    gains = np.random.default_rng(7).binomial(10, share, (300, 120)) / 10 - share
    alarms = (bounded_evidence(gains, share, 120).log_e >= np.log(20)).any(axis=1)
    assert alarms.mean() < 0.05 + 2 * math.sqrt(0.05 * 0.95 / 300)


def test_the_first_alarm_stays():
    """The first look at which the evidence suffices, whatever comes after it."""
    assert first_alarm(np.log([1.0, 30.0, 0.1]), 0.05) == 1
    assert first_alarm(np.log([1.0, 19.9]), 0.05) is None

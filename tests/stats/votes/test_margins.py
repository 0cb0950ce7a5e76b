from __future__ import annotations

import math
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.votes.detectability import PairResamples, margin_quantiles
from bonwise.votes.over_pairs import near_ties

MARGINS = st.lists(st.integers(-50, 50).map(lambda n: n / 100), min_size=2, max_size=9)


def twin_quantile(values, share):
    """Interpolate between neighbours of the sorted sizes."""
    ordered = sorted(map(abs, values))
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    return ordered[low] + (at - low) * (ordered[min(low + 1, len(ordered) - 1)] - ordered[low])


@given(MARGINS)
def test_quantiles_and_near_ties_are_those_of_plain_counting(margins):
    """Quantiles interpolate the sorted sizes; near ties are the margins of at most tau, with their own median."""
    resamples = PairResamples(len(margins), resamples=20)
    found = margin_quantiles(np.array(margins), resamples)
    assert [one.estimate for one in found] == pytest.approx([twin_quantile(margins, q) for q in (0.1, 0.25, 0.5)])
    near = [abs(one) for one in margins if abs(one) <= 0.1]
    ties = near_ties(np.array(margins), 0.1, 0.9, resamples)
    assert ties.count == len(near)
    assert ties.share.estimate == pytest.approx(len(near) / len(margins))
    assert ties.median.estimate == (pytest.approx(median(near)) if near else None)


def test_intervals_are_percentiles_of_resampled_pairs():
    """The interval is that of a plain loop over the same draws of pairs, and the same seed draws the same."""
    margins = np.array([0.02, -0.1, 0.25, 0.4])
    resamples = PairResamples(4, resamples=200, seed=5)
    drawn = [float(np.median(np.abs(margins[list(row)]))) for row in resamples.drawn()]
    (found,) = margin_quantiles(margins, resamples, (0.5,))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])))
    assert (PairResamples(4, seed=5).drawn() == PairResamples(4, seed=5).drawn()).all()


def test_one_pair_has_no_interval():
    """A figure that rests on one pair has no interval, and says so; a figure of none is none."""
    (found,) = margin_quantiles(np.array([0.2]), PairResamples(1), (0.5,))
    assert (found.estimate, found.low) == (0.2, None)
    assert "one pair" in found.reason
    assert PairResamples(0).estimate(lambda some: some.mean(axis=-1), np.empty(0)).estimate is None

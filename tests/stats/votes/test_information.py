from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from bonwise.votes.detectability import kl_bounds, kl_content, least_error, least_information, least_votes, rejections
from golden_tables import golden


@pytest.mark.parametrize("row", golden("votes_information"), ids=lambda row: row["margin"])
def test_the_content_of_a_vote(row):
    """A vote's content is the recorded one, whichever side is preferred, and lies between its recorded bounds."""
    margin, content = float(row["margin"]), float(row["nats"])
    bounds = float(row["low"]), float(row["high"])
    assert kl_bounds(margin) == pytest.approx(bounds)
    assert float(kl_content(margin)) == float(kl_content(-margin)) == pytest.approx(content, abs=2e-10)
    assert bounds[0] <= content <= bounds[1]
    if row["bound"]:
        assert least_votes(margin, 0.05, 0.10) == pytest.approx(float(row["bound"]), abs=0.05)


@given(st.floats(-0.499, 0.499))
def test_the_content_is_the_mean_log_ratio(margin):
    """The content is the mean of the log likelihood ratio, worked out once more with plain logarithms."""
    p = 0.5 + margin
    assert float(kl_content(margin)) == pytest.approx(p * math.log(2 * p) + (1 - p) * math.log(2 - 2 * p), abs=1e-12)


def test_the_ends_of_the_range():
    """No preference carries nothing; a certain one a bit; the upper bound stops where it is proved."""
    assert kl_content(np.array([0.0, 0.5, -0.5])).tolist() == pytest.approx([0, math.log(2), math.log(2)])
    assert kl_bounds(0.26)[1] is None
    assert least_votes(0.0, 0.05, 0.1) == math.inf


def test_the_minimax_bound():
    """Errors of .05 and .10 need 1.2040 nats; errors of 1/2 need none."""
    assert least_information(0.05, 0.10) == pytest.approx(1.2040, abs=5e-5)
    assert least_error(least_information(0.05, 0.10)) == pytest.approx(0.15)
    assert least_information(0.4, 0.2) == 0


@pytest.mark.parametrize("votes", [10, 60, 263])
def test_no_binomial_test_beats_the_bound(votes):
    """Type I and type II error of the exact test sum to no less than the bound for its information."""
    reject = rejections(votes, 0.05)
    k = np.arange(votes + 1)
    ways = special.comb(votes, k)
    errors = (ways * 0.5**votes)[reject].sum() + (ways * 0.6**k * 0.4 ** (votes - k))[~reject].sum()
    assert errors >= least_error(votes * float(kl_content(0.1)))

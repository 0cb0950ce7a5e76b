from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bonwise.watching.drift import normal_scores


def test_scores_by_hand():
    """The highest of four: p = draw / 4; level with one of three below none: p = (0 + 2 draw) / 4."""
    ones = np.ones(4)
    top = normal_scores(np.array([0.0, 1, 2, 9]), ones, 3, np.array([0.5]))
    assert top[0] == pytest.approx(1.1503494, abs=1e-6)
    tied = normal_scores(np.array([0.0, 1, 2, 2]), ones, 3, np.array([0.8]))
    assert tied[0] == pytest.approx(stats.norm.ppf(1 - 0.4), abs=1e-9)


def test_a_ratio_is_ranked_by_its_distance_from_the_level():
    """R = 12 / 12 = 1: u - v is 1, -1, -1, 1, so the last is level with the first above two others."""
    found = normal_scores(np.array([3.0, 1, 3, 5]), np.array([2.0, 2, 4, 4]), 3, np.array([0.5]))
    assert found[0] == pytest.approx(stats.norm.ppf(1 - 0.5 * 2 / 4), abs=1e-9)


@given(st.lists(st.integers(0, 4), min_size=3, max_size=9), st.integers(0, 99), st.booleans())
def test_scores_in_plain_loops(values, seed, ratio):
    """Every score is the quantile of a rank that loops count."""
    chance = np.random.default_rng(seed)
    weights = chance.integers(1, 4, len(values)).astype(float) if ratio else np.ones(len(values))
    draws = chance.random(len(values) - 1)
    found = normal_scores(np.array(values, dtype=float), weights, 1, draws)
    for at in range(1, len(values)):
        level = sum(values[: at + 1]) / sum(weights[: at + 1])
        apart = [values[i] - level * weights[i] for i in range(at + 1)]
        above = sum(one > apart[at] + 1e-9 for one in apart)
        equal = sum(abs(one - apart[at]) <= 1e-9 for one in apart)
        p = (above + draws[at - 1] * equal) / (at + 1)
        assert found[at - 1] == pytest.approx(stats.norm.ppf(1 - p), abs=1e-6)


@pytest.mark.parametrize("law", ["rare", "heavy"])
def test_scores_of_a_still_stream_are_independent_and_normal(law):
    """Of 400 streams of rare events or of heavy tails: uniform ranks, and no correlation of neighbours."""
    chance = np.random.default_rng(20261128)
    shape = (400, 40)
    u = chance.poisson(0.3, shape).astype(float) if law == "rare" else np.exp(2 * chance.normal(size=shape))
    scores = normal_scores(u, np.ones(shape), 5, chance.random((400, 35)))
    assert stats.kstest(scores.ravel(), "norm").pvalue > 0.001
    products = (scores[:, 1:] * scores[:, :-1]).ravel()
    assert abs(products.mean()) < 4 / np.sqrt(len(products))

from __future__ import annotations

import numpy as np
import pytest

from bonwise.routing.redraw_gain import RedrawPaths, label_slope, redraw_paths
from bonwise.stats.draw_prior import learn_prior


def pools(n, *, noise=0.1, seed=0):
    """Return labels of n pools of four candidates and eight noisy draws of twice their height."""
    rng = np.random.default_rng(seed)
    labels = rng.normal(0.5, 0.1, (n, 4))
    return labels, 2 * labels[:, :, None] + rng.normal(0, noise, (n, 4, 8))


def test_the_slope_is_that_of_the_label_on_the_true_score():
    """Scores of twice the label's height have slope one half, however noisy each draw is."""
    labels, draws = pools(3000, noise=0.5)
    assert label_slope(labels, draws) == pytest.approx(0.5, abs=0.03)


def test_the_slope_equals_plain_loops():
    """cov_w(O, y) / cov_w(y, y'), every draw and every pair of different draws written out."""
    labels, draws = pools(5)
    labels[0, 3] = np.nan
    over, under = [], []
    for x in range(5):
        known = [i for i in range(4) if not np.isnan(labels[x, i])]
        for j in range(1, 8):
            over.append(np.cov(labels[x, known], draws[x, known, j])[0, 1])
            under += [np.cov(draws[x, known, j], draws[x, known, m])[0, 1] for m in range(1, 8) if m != j]
    assert label_slope(labels, draws) == pytest.approx(np.mean(over) / np.mean(under))


def test_draws_that_do_not_agree_have_no_slope():
    """Where later draws of a candidate go against each other nothing can be read off them."""
    draws = np.array([[[0.5, 0.0, 1.0], [0.5, 1.0, 0.0]]])
    with pytest.raises(ValueError, match="agree"):
        label_slope(np.array([[0.0, 1.0]]), draws)


def test_more_calls_bring_more_and_none_bring_nothing():
    """No further call gains nothing; the gain of many pools rises with their calls."""
    _, draws = pools(800)
    paths = redraw_paths(draws, learn_prior(draws))
    gains = [paths.at(calls).mean() for calls in (0, 1, 4, 16)]
    assert gains[0] == 0
    assert gains == sorted(gains)
    assert gains[-1] > 0


def test_the_expected_gain_of_redraws_is_what_they_bring():
    """Slope times the rise of the posterior mean is the rise of the label of the pick, over 4,000 pools."""
    labels, draws = pools(4000, noise=0.3)
    paths = redraw_paths(draws, learn_prior(draws))
    expected = label_slope(labels, draws) * paths.at(28).mean()
    rows = np.arange(4000)
    before = labels[rows, draws[:, :, 0].argmax(axis=1)]
    after = labels[rows, draws.mean(axis=2).argmax(axis=1)]
    assert expected == pytest.approx((after - before).mean(), abs=0.01)


@pytest.mark.parametrize("calls", [0.3, 1.0, 2.5, 4.0, 9.9, 28.0])
def test_no_more_calls_are_credited_than_may_be_spent(calls):
    """On scores of a coarse grid prices heap; the steps taken come to the calls given, weighted as the pools are."""
    _, draws = pools(400)
    draws = np.round(draws * 10) / 10
    opportunity, _ = redraw_paths(draws, learn_prior(draws))
    steps = np.tile(np.arange(opportunity.shape[1], dtype=float), (400, 1))
    counted = RedrawPaths(opportunity, steps)
    assert counted.at(calls).mean() == pytest.approx(calls)
    weights = np.random.default_rng(0).choice([0.0, 1.0, 3.0], 400)
    assert np.average(counted.at(calls, weights), weights=weights) == pytest.approx(calls)


def test_a_pool_of_weight_two_is_two_pools():
    """Slope and gain with whole weights are those of the pools repeated."""
    labels, draws = pools(60, noise=0.4)
    weights = np.tile([1, 2], 30)
    twice = np.repeat(draws, weights, axis=0)
    assert label_slope(labels, draws, weights) == pytest.approx(
        label_slope(np.repeat(labels, weights, axis=0), twice)
    )
    opportunity, gained = redraw_paths(draws, learn_prior(draws))
    once = RedrawPaths(opportunity, gained).at(3.3, weights.astype(float))
    again = RedrawPaths(np.repeat(opportunity, weights, axis=0), np.repeat(gained, weights, axis=0)).at(3.3)
    assert np.repeat(once, weights) == pytest.approx(again)

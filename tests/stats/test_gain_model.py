from __future__ import annotations

import numpy as np
import pytest

from bonwise.routing.gain_model import cross_fitted, fit_gain
from bonwise.stats.correlation import correlation


def sample(n, seed=0):
    """Draw two features and a gain that depends on the first."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(2, 0.5, n), rng.normal(0, 3, n)
    return {"top": x, "spread": z}, 0.3 + 0.2 * x + rng.normal(0, 0.2, n)


def test_the_fit_solves_the_ridge_equations_by_hand():
    """One feature: b = sum z y / (sum z^2 + 1 + .001 n) on the standardised feature."""
    x, y = np.array([1.0, 2.0, 3.0, 6.0]), np.array([0.1, 0.0, 0.4, 0.3])
    model = fit_gain({"top": x}, y)
    z = (x - 3) / np.sqrt(3.5)
    assert model.coefficients[0] == pytest.approx(z @ (y - 0.2) / (4 + 1.004))
    assert model.intercept == pytest.approx(0.2)
    assert model.predict({"top": x}) == pytest.approx(0.2 + model.coefficients[0] * z)


def test_whole_weights_equal_repeated_prompts_but_for_the_penalty():
    """A prompt of weight 3 counts as three: means, scales and the direction of the fit agree."""
    features, gain = sample(60)
    weights = np.tile([1.0, 3.0], 30)
    weighted = fit_gain(features, gain, weights)
    repeats = weights.astype(int)
    again = fit_gain({k: np.repeat(v, repeats) for k, v in features.items()}, np.repeat(gain, repeats))
    assert weighted.means == pytest.approx(again.means)
    assert weighted.scales == pytest.approx(again.scales)
    assert weighted.coefficients == pytest.approx(again.coefficients, rel=0.02)
    assert weighted.fit.weighted
    assert weighted.fit.ess == pytest.approx(weights.sum() ** 2 / (weights**2).sum())


def test_no_prompt_is_predicted_by_a_model_that_saw_its_gain():
    """Changing one prompt's gain changes no cross-fitted prediction of its own."""
    features, gain = sample(80)
    before = cross_fitted(features, gain, seed=3)
    changed = gain.copy()
    changed[17] += 100
    after = cross_fitted(features, changed, seed=3)
    assert after[17] == before[17]
    assert np.count_nonzero(after != before) >= 60


def test_one_level_takes_the_level_of_each_part_away():
    """A feature that does not vary predicts the mean of the other parts; on one level, the mean of all."""
    features, gain = sample(83)
    weights = np.random.default_rng(2).uniform(0.5, 2, 83)
    levels = cross_fitted({"same": np.ones(83)}, gain, weights, seed=3)
    mean = np.average(gain, weights=weights)
    assert len(np.unique(np.round(levels, 9))) == 5
    assert cross_fitted({"same": np.ones(83)}, gain, weights, seed=3, one_level=True) == pytest.approx(mean)
    blind, ranks = (cross_fitted(features, gain, weights, seed=3, one_level=one) for one in (False, True))
    assert ranks == pytest.approx(blind - levels + mean)


def test_levels_of_the_parts_rank_prompts_against_their_gain():
    """Six features that say nothing, 100 prompts: the mean correlation with the gain is nearer 0 on one level."""
    found = np.empty((2, 200))
    for at in range(200):
        rng = np.random.default_rng(at)
        features, gain = {str(k): rng.normal(size=100) for k in range(6)}, rng.exponential(0.1, 100)
        for one in (0, 1):
            found[one, at] = np.corrcoef(cross_fitted(features, gain, one_level=bool(one)), gain)[0, 1]
    blind, ranks = found.mean(axis=1)
    assert blind < -0.04
    assert blind / 1.5 < ranks < 0.01


def test_a_prompt_without_labels_is_predicted_and_one_without_a_feature_is_not():
    """No label: predicted from all others; no feature: NaN."""
    features, gain = sample(50)
    gain[3], features["top"][4] = np.nan, np.nan
    found = cross_fitted(features, gain)
    assert found[3] == pytest.approx(fit_gain(features, gain).predict(features)[3])
    assert np.isnan(found[4])
    assert np.isnan(found).sum() == 1


def test_a_gain_that_no_feature_explains_is_reported_as_such():
    """Pure noise: the cross-fitted correlation's interval holds 0 and R2 is not above 0."""
    features, _ = sample(400)
    fit = fit_gain(features, np.random.default_rng(5).normal(size=400)).fit
    assert fit.correlation.low <= 0 <= fit.correlation.high or fit.correlation.estimate < 0
    assert fit.r2.estimate < 0.01


def test_a_constant_feature_changes_nothing():
    """A feature that does not vary gets no weight."""
    features, gain = sample(50)
    model = fit_gain({**features, "width": np.full(50, 0.1)}, gain)
    assert model.coefficients[2] == pytest.approx(0, abs=1e-12)
    assert model.coefficients[:2] == pytest.approx(fit_gain(features, gain).coefficients)


def test_one_label_is_not_enough():
    """A line through one point is refused."""
    with pytest.raises(ValueError, match="needs 2"):
        fit_gain({"top": np.array([1.0, 2.0])}, np.array([0.3, np.nan]))


def test_the_standard_error_of_a_correlation_is_the_leave_one_out_one():
    """The infinitesimal jackknife agrees with leaving out each prompt, weighted or not."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=300)
    y, w = 0.5 * x + rng.normal(size=300), rng.uniform(1, 3, 300)
    for weights in (None, w):
        found = correlation(x, y, weights)
        left = []
        for t in range(300):
            keep = np.arange(300) != t
            left.append(correlation(x[keep], y[keep], None if weights is None else w[keep]).estimate)
        jackknife = np.sqrt(299 / 300 * np.sum((np.array(left) - np.mean(left)) ** 2))
        assert found.se == pytest.approx(jackknife, rel=0.03)
    assert correlation(x, y).estimate == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-12)


def test_a_correlation_with_a_constant_is_undefined():
    """Where one figure does not vary there is no correlation, and the reason says so."""
    found = correlation(np.ones(5), np.arange(5.0))
    assert found.estimate is None
    assert "does not vary" in found.reason

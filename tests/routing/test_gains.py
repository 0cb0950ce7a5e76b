"""What asking a stronger judge, or the same one again, can be expected to gain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonwise.routing.engine import RedrawPaths, label_slope, redraw_paths
from bonwise.routing.gain_decomposition import confidence_calibrated, decompose, gain_grid, mean_in, voi_calibrated
from bonwise.routing.gain_model import bins_of, cross_fitted, cross_fitted_again, fit_gain, learnt_part
from bonwise.stats.correlation import correlation
from bonwise.stats.draw_prior import learn_prior


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
    before = cross_fitted(features, gain)
    changed = gain.copy()
    changed[17] += 100
    after = cross_fitted(features, changed)
    assert after[17] == pytest.approx(before[17], abs=1e-9)
    assert np.count_nonzero(np.abs(after - before) > 1e-6) >= 79


def test_one_level_takes_the_level_of_each_model_away():
    """A feature that does not vary predicts the mean of the others; on one level, the mean of all."""
    features, gain = sample(83)
    weights = np.random.default_rng(2).uniform(0.5, 2, 83)
    levels = cross_fitted({"same": np.ones(83)}, gain, weights)
    mean = np.average(gain, weights=weights)
    others = [np.average(np.delete(gain, t), weights=np.delete(weights, t)) for t in range(83)]
    assert levels == pytest.approx(others)
    assert cross_fitted({"same": np.ones(83)}, gain, weights, one_level=True) == pytest.approx(mean)
    blind, ranks = (cross_fitted(features, gain, weights, one_level=one) for one in (False, True))
    assert np.corrcoef(blind, ranks)[0, 1] > 0.99


@given(
    st.lists(
        st.tuples(*(st.floats(-3, 3).map(lambda x: round(x, 2)) for _ in range(4)), st.sampled_from([0.5, 1.0, 3.0])),
        min_size=4,
        max_size=15,
    ),
    st.sampled_from([("top", "spread"), ("margin", "level"), ("top", "margin", "width")]),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_each_prompt_is_predicted_by_a_line_fitted_to_the_others(rows, names, one_level):
    """Plain loops: the same standardised features, one prompt left out at a time, normal equations solved anew."""
    table = np.array(rows)
    features, gain, weights = {name: table[:, at] for at, name in enumerate(names)}, table[:, 3], table[:, 4]
    again = cross_fitted(features, gain, weights, one_level=one_level)
    w, n = weights / weights.mean(), len(rows)
    X = np.column_stack(list(features.values()))
    mean = np.average(X, axis=0, weights=w)
    sd = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=w))
    D = np.column_stack([np.ones(n), (X - mean) / np.where(sd > 1e-9 * np.maximum(abs(mean), 1e-3), sd, 1)])
    varies = dict(zip(names, sd > 1e-9 * np.maximum(abs(mean), 1e-3), strict=True))
    plain = next((name for name in ("width", "margin") if varies.get(name)), None)
    more = [0 if plain in (None, name) else 2500 / n for name in names]
    penalty = np.diag([0.0, *(1 + 0.001 * n + extra for extra in more)])
    for t in range(n):
        A, b = penalty.copy(), np.zeros(len(penalty))
        for other in range(n):
            if other != t:
                A += w[other] * np.outer(D[other], D[other])
                b += w[other] * gain[other] * D[other]
        line = np.linalg.solve(A, b)
        level = np.average(gain, weights=w) if one_level else line[0]
        assert again[t] == pytest.approx(level + D[t, 1:] @ line[1:], abs=1e-8)


def test_few_labels_shrink_towards_the_plain_feature_by_hand():
    """Four crossed prompts: slopes 4 / (4 + 1.004) of the margin and 4 / (4 + 1.004 + 2500 / 4) of the level."""
    features = {"margin": np.array([1.0, 1, 3, 3]), "level": np.array([1.0, 3, 1, 3])}
    model = fit_gain(features, np.array([0.0, 0, 0, 4]))
    assert model.coefficients == pytest.approx([4 / 5.004, 4 / 630.004])
    assert [round(learnt_part(labelled), 2) for labelled in (20, 50, 99, 100, 500)] == [0.14, 0.5, 0.8, 0.8, 0.99]


def test_gains_dealt_anew_are_each_predicted_as_alone():
    """Many columns of gains at once give what each gives."""
    features, gain = sample(40)
    weights = np.random.default_rng(1).uniform(1, 3, 40)
    gains = np.stack([gain, gain[::-1]], axis=1)
    again = cross_fitted_again(features, gains, weights)
    for at in (0, 1):
        assert again[:, at] == pytest.approx(cross_fitted(features, gains[:, at], weights, one_level=True))


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


# Ten prompts, two a fifth: signal, P(wrong), gain. Worked by hand below.
SIGNAL = np.array([1, 1, 2, 2, 3, 3, 4, 4, 5, 5], dtype=float)
WRONG = np.array([0, 1, 0, 1, 1, 1, 0.5, 1, 1, 1])
GAIN = np.array([0, 0.1, 0, 0.2, 0.1, 0.3, 0.1, 0.2, 0.4, 0.6])


def test_the_decomposition_by_hand():
    """P(wrong) .5 .5 1 .75 1, gap .1 .2 .2 .2 .5, gain .05 .1 .2 .15 .5: each gain is the product."""
    found = decompose(SIGNAL, WRONG, GAIN, best=GAIN)
    assert [one.prompts for one in found.bins] == [2] * 5
    assert [one.wrong.estimate for one in found.bins] == pytest.approx([0.5, 0.5, 1, 0.75, 1])
    assert [one.gap.estimate for one in found.bins] == pytest.approx([0.1, 0.2, 0.2, 0.2, 0.5])
    assert [one.gain.estimate for one in found.bins] == pytest.approx([0.05, 0.1, 0.2, 0.15, 0.5])
    fifths = np.arange(1, 6)
    assert found.across_bins.wrong == pytest.approx(np.corrcoef(fifths, [0.5, 0.5, 1, 0.75, 1])[0, 1])
    assert found.across_bins.gap == pytest.approx(np.corrcoef(fifths, [0.1, 0.2, 0.2, 0.2, 0.5])[0, 1])
    assert found.across_bins.gain == pytest.approx(np.corrcoef(fifths, [0.05, 0.1, 0.2, 0.15, 0.5])[0, 1])


def test_correlations_over_prompts_by_hand():
    """With wrong and gain over all prompts; with the gap over wrong ones, weighted by how wrong they are."""
    found = decompose(SIGNAL, WRONG, GAIN, best=GAIN)
    assert found.corr_wrong.estimate == pytest.approx(np.corrcoef(SIGNAL, WRONG)[0, 1])
    assert found.corr_gain.estimate == pytest.approx(np.corrcoef(SIGNAL, GAIN)[0, 1])
    at = WRONG > 0
    u, gap, w = SIGNAL[at], GAIN[at] / WRONG[at], WRONG[at]
    c = np.cov(u, gap, aweights=w, ddof=0)
    assert found.corr_gap.estimate == pytest.approx(c[0, 1] / np.sqrt(c[0, 0] * c[1, 1]))
    assert found.corr_gap.n == 8


def test_a_signal_that_hardly_varies_has_no_correlation_across_bins():
    """A margin that is 0 for nearly all prompts leaves too few bins, as in Table 22."""
    found = decompose(np.r_[np.zeros(99), 0.1], np.ones(100), np.linspace(0, 1, 100), best=np.ones(100))
    assert found.across_bins.gain is None
    assert sum(one.prompts for one in found.bins) == 100


def test_equal_signals_share_a_bin_and_bins_are_even_without_ties():
    """No value is split between bins; a hundred distinct values make five times twenty."""
    assert np.bincount(bins_of(np.arange(100.0), np.ones(100))).tolist() == [20] * 5
    assert len(set(bins_of(np.array([0.1 + 0.2, 0.3]), np.ones(2)))) == 1


def test_the_grid_has_the_bins_of_table_18():
    """An end of a bin of margins belongs to it, a start of a bin of levels too."""
    margin = np.array([0, 0.05, 0.10, 0.15, 0.1 + 0.05])
    level = np.array([0.69, 0.7, 0.8, 0.9, 0.95])
    gain = np.array([0.1, 0.2, 0.3, 0.4, 0.6])
    grid = gain_grid(margin, level, gain, np.ones(5))
    assert [[cell.n for cell in row] for row in grid] == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 2]]
    assert grid[3][3].estimate == pytest.approx(0.5)
    assert grid[0][1].estimate is None


def test_a_mean_of_ones_denominators_has_the_plain_interval():
    """With denominators of 1 the interval is the mean plus or minus t times s / sqrt(n)."""
    values = np.array([0.1, 0.4, 0.2, 0.5])
    found = mean_in(values, np.ones(4), np.ones(4, dtype=bool))
    assert found.estimate == pytest.approx(0.3)
    assert found.se == pytest.approx(values.std(ddof=1) / 2)


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


def judge(n, seed, gap):
    """Draw margins, picks that are right more often at larger margins, and gains of wrong picks."""
    rng = np.random.default_rng(seed)
    margin = rng.uniform(0, 0.3, n)
    correct = (rng.uniform(size=n) < 0.3 + 1.5 * margin).astype(float)
    return margin, correct, (1 - correct) * np.maximum(gap(margin) + rng.normal(0, 0.02, n), 0)


def test_a_judge_that_knows_both_is_calibrated_for_both():
    """Right more often and losing no more when wrong: yes and yes."""
    margin, correct, gain = judge(3000, 0, lambda m: np.full_like(m, 0.2))
    assert confidence_calibrated(margin, correct).answer == "yes"
    assert voi_calibrated(margin, gain).answer == "yes"


def test_confidence_calibration_does_not_imply_voi_calibration():
    """Proposition 4: where wrong picks of a large margin cost more, the first holds and the second does not."""
    margin, correct, gain = judge(3000, 1, lambda m: 0.02 + 2 * m)
    assert confidence_calibrated(margin, correct).answer == "yes"
    found = voi_calibrated(margin, gain)
    assert found.answer == "no"
    assert found.correlation.low > 0


def test_a_u_shape_is_no_calibration_whatever_its_correlation():
    """A mean that falls and then rises beyond its interval fails, though the correlation may be negative."""
    rng = np.random.default_rng(2)
    margin = rng.uniform(0, 1, 4000)
    gain = 0.5 - 0.8 * margin + 0.6 * np.maximum(margin - 0.6, 0) * 3 + rng.normal(0, 0.05, 4000)
    found = voi_calibrated(margin, gain)
    assert found.correlation.high < 0
    assert found.answer == "no"
    assert "wrong way" in found.reason


def test_noise_and_constants_are_inconclusive():
    """Without evidence either way, and without any variation, the answer is neither yes nor no."""
    rng = np.random.default_rng(3)
    assert voi_calibrated(rng.uniform(size=200), rng.uniform(size=200)).answer == "inconclusive"
    constant = voi_calibrated(np.zeros(200), rng.uniform(size=200))
    assert constant.answer == "inconclusive"
    assert "vary" in constant.reason


def test_a_calibrated_judge_is_seldom_called_uncalibrated():
    """Of 200 judges whose mean gain is flat in the margin, a no is given in fewer than 8 %."""
    answers = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        answers.append(voi_calibrated(rng.uniform(size=300), rng.exponential(size=300)).answer)
    assert answers.count("no") / 200 < 0.08
    assert answers.count("yes") / 200 < 0.08

from __future__ import annotations

import numpy as np

from bonwise.routing.gain_decomposition import confidence_calibrated, voi_calibrated


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

from __future__ import annotations

import numpy as np
import pytest

from bonwise.factors.difference_bands import Band, band_of_draws
from factors.acceptance import measured

SETS = range(16)


def test_a_band_is_wider_than_the_intervals():
    """Both are centred at the mean of the draws, and nine in ten further sets lie in a nine-in-ten band."""
    rng = np.random.default_rng(0)
    band = band_of_draws(rng.standard_normal((4000, 30)), 0.9)
    assert isinstance(band, Band)
    assert band.simultaneous > band.pointwise == pytest.approx(1.6449, abs=1e-4)
    assert band.simultaneous == pytest.approx(2.9, abs=0.1)
    (low, high), (least, most) = band.interval, band.band
    assert (least < low).all()
    assert (high < most).all()


@pytest.mark.parametrize("seed", [0, 1])
def test_a_small_simulated_set(seed):
    """Few prompts and judges: the model predicts no worse than the best baseline, and intervals are ordered."""
    found = measured(seed, prompts=120, judges=8, labelled=0.4, rank=3)
    assert found["excess"] < 0.15
    assert found["below best baseline"] > -0.02
    assert found["gibbs cover"] > found["fixed cover"]
    assert found["gibbs cover"] > 0.85


@pytest.mark.slow
def test_sixteen_simulated_sets_of_the_size_of_biggen_bench():
    """Predictions beside those of the truth and of the baselines, and what the intervals cover."""
    rows = [measured(seed) for seed in SETS]
    mean = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    assert mean["excess"] <= 0.06
    assert mean["below constant"] >= 0.10
    assert mean["below best baseline"] >= 0.02
    assert mean["r2"] >= 0.85
    assert 0.92 <= mean["gibbs cover"] <= 0.98
    assert min(row["gibbs cover"] for row in rows) >= 0.88
    assert mean["gibbs hold"] >= 0.90
    assert mean["fixed cover"] < 0.6


@pytest.mark.slow
def test_eight_replicates_give_the_human_capabilities():
    """With eight replicates per judge the within-prompt capabilities of the human are nearly the true ones."""
    assert np.mean([measured(seed, replicates=8, intervals=False)["r2"] for seed in range(4)]) >= 0.97


@pytest.mark.slow
def test_a_rank_that_is_too_small_predicts_worse():
    """Cross-validation has something to choose: two skills lose against three."""
    worse = [measured(seed, rank=2, intervals=False)["excess"] for seed in range(4)]
    right = [measured(seed, rank=3, intervals=False)["excess"] for seed in range(4)]
    assert np.mean(worse) > np.mean(right)

"""The shift of each fold after cross-fitting: what it gives back, what it leaves, and what is left of the bias."""

from __future__ import annotations

from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.studies.calibration.calibrators import cross_fitted
from bonwise.studies.calibration.maps import exchange_training_means
from bonwise.studies.calibration.pick_changes import pick_changes

SEED = 20261122
PROMPTS = 50


def test_three_folds_are_shifted_by_hand():
    """Labels 1, 2, 6, 6 in folds 0, 1, 2, 2 have mean 15/4; the other folds' are 14/3, 13/3 and 3/2."""
    found = exchange_training_means(np.zeros(4), np.array([1.0, 2.0, 6.0, 6.0]), np.array([0, 1, 2, 2]))
    assert found == pytest.approx([15 / 4 - 14 / 3, 15 / 4 - 13 / 3, 15 / 4 - 3 / 2, 15 / 4 - 3 / 2])


@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_maps_that_learned_the_mean_alone_agree_after(folds, seed):
    """Each fold predicted by the mean of the others is the mean of all, in plain loops; nothing else is left."""
    rng = np.random.default_rng(seed)
    labels, owner = rng.random(24), rng.permutation(np.arange(24) % folds)
    cells = list(zip(labels.tolist(), owner.tolist(), strict=True))
    predicted = np.array([fmean(label for label, fold in cells if fold != mine) for _, mine in cells])
    assert exchange_training_means(predicted, labels, owner) == pytest.approx([labels.mean()] * 24)


@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_the_shift_moves_no_pick(folds, seed):
    """The top of every prompt stays as it is, and so does every difference within a fold."""
    rng = np.random.default_rng(seed)
    values, labels, owner = rng.integers(0, 5, 60) / 5, rng.random(60), np.repeat(np.arange(20) % folds, 3)
    shifted = exchange_training_means(values, labels, owner)
    assert pick_changes(values, shifted, np.full(20, 3))[0].top_kept == 20
    for fold in range(folds):
        mine = owner == fold
        assert shifted[mine] - shifted[mine][0] == pytest.approx(values[mine] - values[mine][0])


def one_mean(values, owner):
    """Shift the folds to one mean of their values: what the map did not learn is taken out as well."""
    return values + (values.mean() - np.bincount(owner, weights=values) / np.bincount(owner))[owner]


def mean_changes(r, samples):
    """Return by kind of shift the mean change of the correlation over samples of scores that correlate at r."""
    changes = []
    owner = np.repeat(np.arange(PROMPTS) % 5, 4)
    for at in range(samples):
        rng = np.random.default_rng([SEED, at])
        # Half the variance is the prompt's, as where some prompts are harder than others.
        scores, noise = (
            (np.repeat(rng.standard_normal(PROMPTS), 4) + rng.standard_normal(4 * PROMPTS)) / 2**0.5 for _ in range(2)
        )
        labels = r * scores + (1 - r**2) ** 0.5 * noise
        found = cross_fitted("isotonic", scores[:, None], labels, owner, 0)
        kinds = (found, one_mean(found, owner), exchange_training_means(found, labels, owner))
        raw = np.corrcoef(scores, labels)[0, 1]
        changes.append([np.corrcoef(one, labels)[0, 1] - raw for one in kinds])
    return np.mean(changes, axis=0)


@pytest.mark.parametrize("r", [0.9, 0.5])
def test_the_correlation_is_biased_least_after_this_shift(r):
    """A line cannot be mended, so the truth is 0; folds left as they are or set to one mean fall further below."""
    unshifted, to_one_mean, shifted = mean_changes(r, 150)
    assert max(unshifted, to_one_mean) < shifted - 0.001
    assert shifted < 0

"""What is predicted of every prompt before its own labels are looked at."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bonwise.stats.clusters import cluster_codes
from bonwise.stats.partial.label_features import LabelFeatures
from bonwise.stats.partial.model_choice import LABELS_ONLY, ModelChoice
from bonwise.stats.partial.outcome_model import FOLDS, cross_fit
from bonwise.stats.partial.scaled_sample import ScaledSample, fold_of
from bonwise.stats.sums import Floats

__all__ = ["cluster_folds", "predictions", "prompt_folds"]

_Ints = npt.NDArray[np.int64]


def prompt_folds(features: LabelFeatures, draw: ScaledSample, Y: Floats, seed: int) -> _Ints:
    """Assign prompts to folds by their features, weights and labels, shape (prompts,).

    Parameters
    ----------
    features : LabelFeatures
    draw : ScaledSample
    Y : ndarray of float64, shape (labelled prompts, outcomes)
    seed : int
    """
    seen = np.zeros((Y.shape[1], len(draw.q)))
    seen[:, draw.rows] = Y.T
    return fold_of(np.array([*features.identity(), draw.q, *seen]), draw.rows, FOLDS, seed)


def cluster_folds(clusters: _Ints, seed: int) -> _Ints:
    """Assign prompts to folds, those of one cluster together.

    Examples
    --------
    >>> folds = cluster_folds(np.array([3, 1, 3, 2]), 0)
    >>> bool(folds[0] == folds[2]), len(set(folds.tolist()))
    (True, 3)
    """
    codes, count = cluster_codes(clusters)
    found: _Ints = (np.random.default_rng(seed).permutation(count) % FOLDS)[codes]
    return found


def predictions(
    choice: ModelChoice, features: LabelFeatures, draw: ScaledSample, Y: Floats, folds: _Ints
) -> Floats | None:
    """Return cross-fitted predictions, what is known without labels in their place; None where labels are used alone.

    Parameters
    ----------
    choice : ModelChoice
    features : LabelFeatures
    draw : ScaledSample
    Y : ndarray of float64, shape (labelled prompts, outcomes)
    folds : ndarray of int64, shape (prompts,)
        As `prompt_folds` gives them.

    Returns
    -------
    ndarray of float64, shape (prompts, outcomes), or None
    """
    if choice.name == LABELS_ONLY:
        return None
    values = features.stand_ins
    if choice.regressor is not None:
        values = cross_fit(choice.regressor, features, draw, Y, folds, brief=choice.brief)
    known = features.known()
    found: Floats = np.where(np.isnan(known), np.asarray(values), known)
    return found

"""One mean for all folds: what cross-fitting shifts between folds is taken out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bonwise.stats.sums import Floats

__all__ = ["share_one_mean"]


def share_one_mean(values: Floats, folds: npt.NDArray[np.int64]) -> Floats:
    """Shift the values of each fold so that all folds have the mean of the whole.

    The map of a fold carries the mean label of the other folds, which is low exactly where this fold's is high: left
    as it is that turns a correlation over all cells down. A constant a fold moves no pick and no pair of a prompt.

    Parameters
    ----------
    values : ndarray of float64, shape (cells,)
    folds : ndarray of int64, shape (cells,)
        The fold of each cell, from 0.

    Examples
    --------
    >>> share_one_mean(np.array([1.0, 3.0, 5.0, 7.0]), np.array([0, 0, 1, 1])).tolist()
    [3.0, 5.0, 3.0, 5.0]
    """
    counts = np.bincount(folds)
    means = np.bincount(folds, weights=values) / np.maximum(counts, 1)
    shifted: Floats = values + (values.mean() - means)[folds]
    return shifted

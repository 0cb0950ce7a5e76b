"""The mean that each map learned exchanged for the mean of all: cross-fitting sets folds against each other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bonwise.stats.sums import Floats

__all__ = ["exchange_training_means"]


def exchange_training_means(values: Floats, labels: Floats, folds: npt.NDArray[np.int64]) -> Floats:
    """Shift the values of each fold by the mean of all labels less the mean of the labels of the other folds.

    A map that learned on the other folds carries the mean of their labels, which is low exactly where this fold's is
    high: left as it is that turns a correlation over all cells down. What the values of a fold differ in because its
    scores do is left. A constant a fold moves no pick and no pair of a prompt.

    Parameters
    ----------
    values : ndarray of float64, shape (cells,)
        Each by a map learned on the other folds.
    labels : ndarray of float64, shape (cells,)
    folds : ndarray of int64, shape (cells,)
        The fold of each cell, from 0; two folds or more.

    Examples
    --------
    A map that learned nothing but the mean, 3 of the second fold and 1 of the first, is the mean of all, 2:

    >>> labels, folds = np.array([0.0, 2.0, 3.0, 3.0]), np.array([0, 0, 1, 1])
    >>> exchange_training_means(np.array([3.0, 3.0, 1.0, 1.0]), labels, folds).tolist()
    [2.0, 2.0, 2.0, 2.0]
    """
    counts, totals = np.bincount(folds), np.bincount(folds, weights=labels)
    learned = (labels.sum() - totals) / (len(labels) - counts)
    shifted: Floats = values + (labels.mean() - learned)[folds]
    return shifted

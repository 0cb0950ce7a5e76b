"""Observed information of ordinal ratings in the coefficients and the cutoffs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

from bonwise.stats.ordinal.likelihood import ordinal_terms
from bonwise.stats.sums import Floats

__all__ = ["score_and_information"]


def score_and_information(
    x: Floats, y: npt.NDArray[np.int64], coefficients: Floats, cutoffs: Floats, weights: Floats
) -> tuple[float, Floats, Floats]:
    """Return log-likelihood, gradient and observed information of a proportional odds model.

    Parameters
    ----------
    x : ndarray of float64, shape (ratings, columns)
    y : ndarray of int64, shape (ratings,)
    coefficients : ndarray of float64, shape (columns,)
    cutoffs : ndarray of float64, shape (categories - 1,)
        Increasing.
    weights : ndarray of float64, shape (ratings,)

    Returns
    -------
    log_likelihood : float
    gradient : ndarray of float64, shape (columns + categories - 1,)
    information : ndarray of float64, shape (columns + categories - 1, columns + categories - 1)
        Minus the second derivatives; the block of the cutoffs has three diagonals.
    """
    upper, lower = np.append(cutoffs, np.inf)[y], np.insert(cutoffs, 0, -np.inf)[y]
    eta = x @ coefficients
    terms = ordinal_terms(eta, upper, lower)
    above, below = special.expit(upper - eta), special.expit(lower - eta)
    at_upper, at_lower = weights * above * (1 - above), weights * below * (1 - below)
    both = -weights * terms.by_upper * terms.by_lower
    k, count = x.shape[1], len(cutoffs)
    size = count + 1

    def by_cutoff(of_upper: Floats, of_lower: Floats) -> Floats:
        return np.asarray(np.bincount(y, of_upper, size)[:-1] + np.bincount(y, of_lower, size)[1:])

    gradient = np.concatenate(
        [x.T @ (weights * terms.by_eta), by_cutoff(weights * terms.by_upper, weights * terms.by_lower)]
    )
    found = np.zeros((k + count, k + count))
    found[:k, :k] = x.T @ ((at_upper + at_lower)[:, None] * x)
    for column in range(k):
        found[column, k:] = -by_cutoff(at_upper * x[:, column], at_lower * x[:, column])
    found[k:, :k] = found[:k, k:].T
    places = np.arange(k, k + count)
    found[places, places] = by_cutoff(at_upper + both, at_lower + both)
    if count > 1:
        beside = -np.bincount(y, both, size)[1:-1]
        found[places[:-1], places[1:]] = found[places[1:], places[:-1]] = beside
    return float(weights @ terms.log_probability), gradient, found

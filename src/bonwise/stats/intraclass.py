"""How many times more a mean varies because prompts come in clusters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.stats.clusters import cluster_codes
from bonwise.stats.sums import Floats

__all__ = ["design_effect", "intraclass_correlation", "typical_size", "upper_correlation"]

_Ints = npt.NDArray[np.int64]


def intraclass_correlation(values: Floats, clusters: _Ints) -> float:
    """Return the correlation of two prompts of one cluster, by one-way analysis of variance, cut to [0, 1].

    Parameters
    ----------
    values : ndarray of float64, shape (prompts,)
    clusters : ndarray of int64, shape (prompts,)

    Examples
    --------
    >>> intraclass_correlation(np.array([1.0, 1.0, 3.0, 3.0]), np.array([0, 0, 1, 1]))
    1.0
    """
    found = _squares(values, clusters)
    return 0.0 if found is None else found.correlation(found.between, found.within)


class _MeanSquares(NamedTuple):
    """Of a one-way analysis of variance, with the size of a cluster and their degrees of freedom."""

    between: float
    within: float
    usual: float
    freedom: tuple[int, int]

    def correlation(self, between: float, within: float) -> float:
        """Return the correlation that goes with two mean squares."""
        total = between + (self.usual - 1) * within
        return float(np.clip((between - within) / total, 0.0, 1.0)) if total > 0 else 0.0


def _squares(values: Floats, clusters: _Ints) -> _MeanSquares | None:
    """Return the mean squares; None with one cluster, or where every prompt is one of its own."""
    codes, count = cluster_codes(clusters)
    n = len(values)
    if not 1 < count < n:
        return None
    sizes = np.bincount(codes, minlength=count)
    means = np.bincount(codes, weights=values, minlength=count) / sizes
    between = float(sizes @ (means - values.mean()) ** 2) / (count - 1)
    within = float(np.sum((values - means[codes]) ** 2)) / (n - count)
    usual = (n - float(sizes @ sizes) / n) / (count - 1)
    return _MeanSquares(between, within, usual, (count - 1, n - count))


def upper_correlation(values: Floats, clusters: _Ints, confidence: float) -> float:
    """Return the end of the one-sided interval above `intraclass_correlation`, where values are normal.

    Parameters
    ----------
    values : ndarray of float64, shape (prompts,)
    clusters : ndarray of int64, shape (prompts,)
    confidence : float

    Examples
    --------
    >>> values, clusters = np.array([1.0, 2.0, 2.0, 3.0, 1.0, 3.0]), np.array([0, 0, 1, 1, 2, 2])
    >>> round(intraclass_correlation(values, clusters), 3), round(upper_correlation(values, clusters, 0.8), 3)
    (0.0, 0.35)
    """
    from scipy import special  # noqa: PLC0415 - the tests of no gain need none of it

    found = _squares(values, clusters)
    if found is None:
        return 0.0
    least = float(special.fdtri(*found.freedom, 1 - confidence))
    return found.correlation(found.between, found.within * least)


def typical_size(clusters: _Ints) -> float:
    """Return ``m* = sum m^2 / sum m`` over the sizes m of the clusters.

    Examples
    --------
    >>> typical_size(np.array([0, 0, 0, 1]))
    2.5
    """
    sizes = np.bincount(cluster_codes(clusters)[0])
    return float(sizes @ sizes) / float(sizes.sum())


def design_effect(values: Floats, clusters: _Ints) -> float:
    """Return ``1 + (m* - 1) icc`` with ``m* = sum m^2 / sum m`` over the sizes m of the clusters.

    Parameters
    ----------
    values : ndarray of float64, shape (prompts,)
        What each prompt adds to the estimate.
    clusters : ndarray of int64, shape (prompts,)

    Examples
    --------
    >>> design_effect(np.array([1.0, 1.0, 3.0, 3.0]), np.array([0, 0, 1, 1]))
    2.0
    """
    return 1 + (typical_size(clusters) - 1) * intraclass_correlation(values, clusters)

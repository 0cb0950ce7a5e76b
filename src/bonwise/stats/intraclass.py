"""How many times more a mean varies because prompts come in clusters."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bonwise.stats.clusters import cluster_codes
from bonwise.stats.sums import Floats

__all__ = ["design_effect", "intraclass_correlation"]

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
    codes, count = cluster_codes(clusters)
    n = len(values)
    if not 1 < count < n:
        return 0.0
    sizes = np.bincount(codes, minlength=count)
    means = np.bincount(codes, weights=values, minlength=count) / sizes
    between = float(sizes @ (means - values.mean()) ** 2) / (count - 1)
    within = float(np.sum((values - means[codes]) ** 2)) / (n - count)
    usual = (n - float(sizes @ sizes) / n) / (count - 1)
    total = between + (usual - 1) * within
    return float(np.clip((between - within) / total, 0.0, 1.0)) if total > 0 else 0.0


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
    sizes = np.bincount(cluster_codes(clusters)[0])
    typical = float(sizes @ sizes) / float(sizes.sum())
    return 1 + (typical - 1) * intraclass_correlation(values, clusters)

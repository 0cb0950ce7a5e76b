"""Prompts that belong together: sums over clusters take the place of those of prompts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bonwise.stats.sums import Floats

__all__ = ["FEWEST", "cluster_codes", "cluster_sums", "too_few_clusters"]

FEWEST = 5
"""Clusters below which no interval is given: what they tell of their own scatter is next to nothing."""

_Ints = npt.NDArray[np.int64]


def cluster_codes(clusters: _Ints) -> tuple[_Ints, int]:
    """Return codes 0, 1, ... of the clusters that occur, and how many these are.

    Examples
    --------
    >>> codes, count = cluster_codes(np.array([7, 3, 7]))
    >>> codes.tolist(), count
    ([1, 0, 1], 2)
    """
    known, codes = np.unique(clusters, return_inverse=True)
    return codes.reshape(-1).astype(np.int64), len(known)


def cluster_sums(values: Floats, clusters: _Ints | None) -> Floats:
    """Add up values of prompts over each cluster; without clusters return the values themselves.

    Parameters
    ----------
    values : ndarray of float64, shape (..., prompts)
    clusters : ndarray of int64, shape (prompts,), or None

    Returns
    -------
    ndarray of float64, shape (..., clusters)

    Examples
    --------
    >>> cluster_sums(np.array([[1.0, 2.0, 4.0]]), np.array([7, 3, 7])).tolist()
    [[2.0, 5.0]]
    """
    if clusters is None:
        return values
    codes, count = cluster_codes(clusters)
    rows = values.reshape(-1, values.shape[-1])
    found = np.array([np.bincount(codes, weights=row, minlength=count) for row in rows])
    return found.reshape(*values.shape[:-1], count)


def too_few_clusters(clusters: _Ints | None) -> str:
    """Return why no interval can rest on these clusters; empty where one can.

    Examples
    --------
    >>> too_few_clusters(np.array([0, 0, 1, 1]))
    'the prompts are in 2 clusters, and an interval needs 5'
    """
    if clusters is None or (count := len(np.unique(clusters))) >= FEWEST:
        return ""
    return f"the prompts are in {count} cluster{'s' * (count != 1)}, and an interval needs {FEWEST}"

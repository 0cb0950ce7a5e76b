"""Prompts that belong together: sums over clusters, and how many times more a mean varies because of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.stats.laws import special

FEWEST = 5
"""Clusters below which no interval is given: what they tell of their own scatter is next to nothing."""

FEWEST_KINDS = 15
"""Clusters of equal size that they must be worth for an interval of a correlation or slope: clusters may be of
different kinds, and few of them do not show which kinds there are.
"""

_ROUNDING = 1e-9


def cluster_codes(clusters: Ints) -> tuple[Ints, int]:
    """Return codes 0, 1, ... of the clusters that occur, and how many these are."""
    known, codes = np.unique(clusters, return_inverse=True)
    return codes.reshape(-1).astype(np.int64), len(known)


def cluster_sums(values: Floats, clusters: Ints | None) -> Floats:
    """Add up values (..., prompts) of prompts over each cluster; without clusters return the values themselves."""
    if clusters is None:
        return values
    codes, count = cluster_codes(clusters)
    rows = values.reshape(-1, values.shape[-1])
    found = np.array([np.bincount(codes, weights=row, minlength=count) for row in rows])
    return found.reshape(*values.shape[:-1], count)


def too_few_clusters(clusters: Ints | None) -> str:
    """Return why no interval can rest on these clusters; empty where one can."""
    if clusters is None or (count := len(np.unique(clusters))) >= FEWEST:
        return ""
    return f"the prompts are in {count} cluster{'s' * (count != 1)}, and an interval needs {FEWEST}"


def most_df(clusters: Ints) -> float:
    """Return ``(sum m^2)^2 / sum m^4`` over sizes m of clusters, whose sums vary with m^2 (Satterthwaite)."""
    squares = np.bincount(cluster_codes(clusters)[0]).astype(float) ** 2
    return float(squares.sum() ** 2 / (squares @ squares))


def too_few_kinds(clusters: Ints) -> str:
    """Return why no interval of a correlation or slope can rest on these clusters; empty where one can."""
    codes, count = cluster_codes(clusters)
    worth = len(codes) / typical_size(clusters)
    if worth >= FEWEST_KINDS - _ROUNDING or count == len(codes):
        return ""
    return (
        f"the prompts are in {count} clusters, worth {worth:.3g} of equal size, and an interval of this metric needs "
        f"{FEWEST_KINDS}"
    )


def intraclass_correlation(values: Floats, clusters: Ints) -> float:
    """Return the correlation of two prompts of one cluster, by one-way analysis of variance, cut to [0, 1]."""
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


def _squares(values: Floats, clusters: Ints) -> _MeanSquares | None:
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


def upper_correlation(values: Floats, clusters: Ints, confidence: float) -> float:
    """Return the end of the one-sided interval above `intraclass_correlation`, where values are normal."""
    found = _squares(values, clusters)
    if found is None:
        return 0.0
    least = float(special().fdtri(*found.freedom, 1 - confidence))
    return found.correlation(found.between, found.within * least)


def typical_size(clusters: Ints) -> float:
    """Return ``m* = sum m^2 / sum m`` over the sizes m of the clusters."""
    sizes = np.bincount(cluster_codes(clusters)[0])
    return float(sizes @ sizes) / float(sizes.sum())


def design_effect(values: Floats, clusters: Ints) -> float:
    """Return ``1 + (m* - 1) icc`` with m* the `typical_size`; `values` is what each prompt adds to the estimate."""
    return 1 + (typical_size(clusters) - 1) * intraclass_correlation(values, clusters)

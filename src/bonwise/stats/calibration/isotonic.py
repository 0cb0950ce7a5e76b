"""The rising map from values to mean labels (pool adjacent violators)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bonwise.stats.pool_adjacent_violators import pool_adjacent_violators
from bonwise.stats.sums import Floats

__all__ = ["IsotonicMap", "isotonic_map"]


@dataclass(frozen=True, eq=False)
class IsotonicMap:
    """A map that never falls: fitted heights at the values seen, straight lines between, level beyond."""

    values: Floats
    """Distinct, rising."""
    heights: Floats
    """Never falling."""

    def at(self, values: Floats) -> Floats:
        """Return the heights at some values.

        Equal values get equal heights, and a higher value never gets a lower one, to the last bit.
        """
        if len(self.values) == 1:
            return np.full(len(values), self.heights[0])
        left = (np.searchsorted(self.values, values, side="right") - 1).clip(0, len(self.values) - 2)
        start, end = self.values[left], self.values[left + 1]
        part = (values.clip(start, end) - start) / (end - start)
        low, high = self.heights[left], self.heights[left + 1]
        # Each step rounds without changing an order; only the sum could carry past the next height.
        found: Floats = np.minimum(low + part * (high - low), high)
        return found


def isotonic_map(values: Floats, labels: Floats) -> IsotonicMap:
    """Fit the map that never falls and comes nearest to the labels in least squares.

    Parameters
    ----------
    values, labels : ndarray of float64, shape (cells,)
        No NaN, at least one cell.

    Returns
    -------
    IsotonicMap

    Examples
    --------
    >>> fitted = isotonic_map(np.array([1.0, 2.0, 3.0]), np.array([0.0, 4.0, 2.0]))
    >>> fitted.heights.tolist(), fitted.at(np.array([1.5, 9.0])).tolist()
    ([0.0, 3.0, 3.0], [1.5, 3.0])
    """
    distinct, codes = np.unique(values, return_inverse=True)
    weights = np.bincount(codes).astype(np.float64)
    means = np.bincount(codes, weights=labels) / weights
    return IsotonicMap(distinct, pool_adjacent_violators(means, weights))

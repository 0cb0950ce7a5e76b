"""Maps from scores to labels: rising by pooling, additive by splines, and the mean that each map learned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.stats.level_bias import pool_adjacent_violators
from bonwise.stats.sums import distinct, tie_decimals

__all__ = ["exchange_training_means", "isotonic_map", "isotonic_of_levels", "spline_index"]


@dataclass(frozen=True, eq=False)
class IsotonicMap:
    """A map that never falls: fitted heights at the values seen, straight lines between, level beyond."""

    values: Floats
    """Distinct, rising."""
    heights: Floats
    """Never falling."""

    def at(self, values: Floats) -> Floats:
        """Return heights at some values; equal ones get equal heights, higher ones no lower, to the last bit."""
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
    """Fit the map that never falls and is nearest to the labels in least squares; both are (cells,), without NaN."""
    return isotonic_of_levels(*distinct(values), labels)


def isotonic_of_levels(levels: Floats, codes: Ints, labels: Floats) -> IsotonicMap:
    """Fit the same map where the value of each cell is a code of distinct ones, rising, that all occur."""
    weights = np.bincount(codes).astype(np.float64)
    means = np.bincount(codes, weights=labels) / weights
    return IsotonicMap(levels, pool_adjacent_violators(means, weights))


_KNOTS = (0.05, 0.275, 0.5, 0.725, 0.95)
"""Quantiles at which a column is knotted; on heaped scores some fall together and count once."""


@dataclass(frozen=True, eq=False)
class SplineIndex:
    """A sum of one smooth curve a column, straight beyond the outer knots."""

    knots: tuple[Floats, ...]
    """Of each column, distinct and rising; fewer than three make the curve a line."""
    coefficients: Floats
    """The constant first, then those of each column's terms."""
    decimals: int
    """By which indices are compared, those of the labels."""

    def at(self, columns: Floats) -> Floats:
        """Return the index of each row, in label units, rounded so that equal rows tie to the last bit."""
        return np.round(_terms(columns, self.knots) @ self.coefficients, self.decimals)


def spline_index(columns: Floats, labels: Floats) -> SplineIndex:
    """Regress labels on splines of the columns by least squares; `columns` is (cells, columns) without NaN."""
    knots = tuple(np.unique(np.quantile(column, _KNOTS)) for column in columns.T)
    # A constant column, or one that repeats another, leaves several solutions: the shortest is taken.
    found = np.linalg.lstsq(_terms(columns, knots), labels, rcond=None)[0].astype(np.float64)
    return SplineIndex(knots, found, tie_decimals(labels))


def _terms(columns: Floats, knots: tuple[Floats, ...]) -> Floats:
    curves = [_curve(column, at) for column, at in zip(columns.T, knots, strict=True)]
    return np.column_stack([np.ones(len(columns)), *curves])


def _curve(values: Floats, knots: Floats) -> Floats:
    """Return the terms of one column, with the knots' range as the unit: the line, then a bend a middle knot."""
    unit = knots[-1] - knots[0] or 1.0
    x, t = (values - knots[0]) / unit, (knots - knots[0]) / unit
    if len(knots) < 3:
        line: Floats = x[:, None]
        return line
    over = np.maximum(x[:, None] - t, 0.0)
    cubes = over * over * over  # a power takes ten times as long
    last = t[-1] - t[-2]
    bends = [
        cubes[:, j] - cubes[:, -2] * (t[-1] - t[j]) / last + cubes[:, -1] * (t[-2] - t[j]) / last
        for j in range(len(t) - 2)
    ]
    return np.column_stack([x, *bends])


def exchange_training_means(values: Floats, labels: Floats, folds: Ints) -> Floats:
    """Shift each fold's values to the mean of all labels: a map learnt elsewhere turns correlations down."""
    known = ~np.isnan(values)
    taught, of, many = labels[known], folds[known], int(folds.max()) + 1
    counts, totals = np.bincount(of, minlength=many), np.bincount(of, weights=taught, minlength=many)
    learned = (taught.sum() - totals) / (len(taught) - counts)
    shifted: Floats = values + (taught.mean() - learned)[folds]
    return shifted

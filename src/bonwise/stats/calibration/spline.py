"""An additive index: the label regressed on a restricted cubic spline of each column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = ["SplineIndex", "spline_index"]

_KNOTS = (0.05, 0.275, 0.5, 0.725, 0.95)
"""Quantiles at which a column is knotted; on heaped scores some fall together and count once."""


@dataclass(frozen=True, eq=False)
class SplineIndex:
    """A sum of one smooth curve a column, straight beyond the outer knots."""

    knots: tuple[Floats, ...]
    """Of each column, distinct and rising; fewer than three make the curve a line."""
    coefficients: Floats
    """The constant first, then those of each column's terms."""

    def at(self, columns: Floats) -> Floats:
        """Return the index of each row, in the unit of the labels, rounded as scores are before a tie test.

        Without the rounding equal rows could differ in the last bit, and the next fit would take them apart.
        """
        return np.round(_terms(columns, self.knots) @ self.coefficients, TIE_DECIMALS)


def spline_index(columns: Floats, labels: Floats) -> SplineIndex:
    """Regress labels on splines of the columns by least squares.

    Parameters
    ----------
    columns : ndarray of float64, shape (cells, columns)
        No NaN.
    labels : ndarray of float64, shape (cells,)

    Returns
    -------
    SplineIndex

    Examples
    --------
    >>> x = np.arange(6.0)[:, None]
    >>> spline_index(x, 2 * x[:, 0] + 1).at(np.array([[1.0], [10.0]])).tolist()
    [3.0, 21.0]
    """
    knots = tuple(np.unique(np.quantile(column, _KNOTS)) for column in columns.T)
    # A constant column, or one that repeats another, leaves several solutions: the shortest is taken.
    found = np.linalg.lstsq(_terms(columns, knots), labels, rcond=None)[0].astype(np.float64)
    return SplineIndex(knots, found)


def _terms(columns: Floats, knots: tuple[Floats, ...]) -> Floats:
    curves = [_curve(column, at) for column, at in zip(columns.T, knots, strict=True)]
    terms: Floats = np.column_stack([np.ones(len(columns)), *curves])
    return terms


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

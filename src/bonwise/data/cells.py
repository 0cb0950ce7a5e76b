"""Many rows to one value per cell, a cell being one candidate of one prompt.

Both functions give the same bits whatever the order of the rows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["distinct_cells", "label_by_cell", "mean_by_cell", "positions"]

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]


def distinct_cells(keys: _Ints) -> _Ints:
    """Return the distinct keys, sorted."""
    if (np.diff(keys) > 0).all():
        return keys
    # Many times faster than numpy.unique, which hashes.
    ordered = np.sort(keys)
    return ordered[np.diff(ordered, prepend=-1) > 0]


def positions(keys: _Ints, cells: _Ints) -> _Ints:
    """Return where each key is in the sorted `cells`, -1 where it does not."""
    if not len(cells):
        return np.full(len(keys), -1)
    at = np.searchsorted(cells, keys).clip(max=len(cells) - 1)
    return np.where(cells[at] == keys, at, -1)


def mean_by_cell(at: _Ints, values: _Floats, count: int) -> _Floats:
    """Average the values of each of `count` cells, blanks left out; NaN where a cell has none.

    Parameters
    ----------
    at : ndarray of int64, shape (rows,)
        The cell of each row; -1 for none.
    values : ndarray of float64, shape (rows,)
    count : int

    Returns
    -------
    ndarray of float64, shape (count,)
    """
    used = (at >= 0) & ~np.isnan(values)
    at, values = at[used], values[used]
    counts = np.bincount(at, minlength=count)
    if counts.max(initial=0) > 1:
        # A sum depends on the order of its terms in the last bits, so they are put in one order.
        order = np.argsort(values)
        at, values = at[order], values[order]
    sums = np.bincount(at, weights=values, minlength=count)
    # A single value is kept to the bit, which a sum that starts at 0.0 does.
    means: _Floats = np.divide(sums, counts, out=np.full(count, np.nan), where=counts > 0)
    return means


def label_by_cell(at: _Ints, values: _Floats, count: int) -> tuple[_Floats, _Ints]:
    """Return the one label of each of `count` cells, and the rows that contradict another one.

    Parameters
    ----------
    at : ndarray of int64, shape (rows,)
        The cell of each row; -1 for none.
    values : ndarray of float64, shape (rows,)
    count : int

    Returns
    -------
    labels : ndarray of float64, shape (count,)
        NaN where there is none.
    contradictions : ndarray of int64
        Positions in `values`.
    """
    rows = np.flatnonzero((at >= 0) & ~np.isnan(values))
    labels = np.full(count, np.nan)
    # Written back to front, so that the first row of a cell is the one that stands.
    labels[at[rows[::-1]]] = values[rows[::-1]]
    found, stated = values[rows], labels[at[rows]]
    differs = np.abs(found - stated) > 1e-9 * np.maximum(1.0, np.abs(stated))
    if not differs.any():
        np.fmin.at(labels, at[rows], found)
    return labels, rows[differs]

"""How the labels of several annotators become one label per candidate."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.data.cells import mean_by_cell
from bonwise.data.checks import AnnotatorRule

__all__ = ["DEFAULT_RULES", "Aggregated", "LabelKind", "aggregate", "kind_of_labels"]

LabelKind = Literal["yes or no", "ordered categories", "numbers"]

DEFAULT_RULES: Mapping[LabelKind, AnnotatorRule] = MappingProxyType(
    {"yes or no": "majority", "ordered categories": "median", "numbers": "mean"}
)
"""The rule by the kind of labels, where none is stated."""

_WIDEST = 10
"""Width of the widest scale of whole numbers that is taken for ordered categories: 0 to 10 has 11 of them."""

_SAME = 9
"""Decimals to which labels are rounded before they are compared."""

_Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int64]


class Aggregated(NamedTuple):
    """One label for each of several cells."""

    labels: _Floats
    """NaN where a cell has no label."""
    split: npt.NDArray[np.bool_]
    """Cells whose labels do not settle on one: several labels are the most frequent, or the median is between two
    different labels. Their label is the mean of these.
    """


def kind_of_labels(values: _Floats, *, words: bool = False) -> LabelKind:
    """Tell what kind of labels these are.

    Parameters
    ----------
    values : ndarray of float64
        As they were written; NaN where there is none.
    words : bool
        Whether they were written as words; more than two different words are ordered categories.

    Examples
    --------
    >>> kind_of_labels(np.array([0, 1, 1.0])), kind_of_labels(np.array([1, 3, 5.0])), kind_of_labels(np.array([0.25]))
    ('yes or no', 'ordered categories', 'numbers')
    """
    known = np.unique(np.round(values[~np.isnan(values)], _SAME))
    if np.isin(known, (0.0, 1.0)).all() or (words and len(known) <= 2):
        return "yes or no"
    whole = bool((known == np.round(known)).all()) and float(known[-1] - known[0]) <= _WIDEST
    return "ordered categories" if words or whole else "numbers"


def aggregate(rule: AnnotatorRule, at: _Ints, values: _Floats, count: int) -> Aggregated:
    """Return one label for each of `count` cells.

    Parameters
    ----------
    rule : {"mean", "median", "majority"}
    at : ndarray of int64, shape (labels,)
        The cell of each label.
    values : ndarray of float64, shape (labels,)
        No NaN.
    count : int

    Examples
    --------
    >>> found = aggregate("majority", np.array([0, 0, 0, 1, 1]), np.array([1.0, 0.0, 1.0, 0.0, 1.0]), 3)
    >>> found.labels.tolist(), found.split.tolist()
    ([1.0, 0.5, nan], [False, True, False])
    """
    if rule == "mean":
        return Aggregated(mean_by_cell(at, values, count), np.zeros(count, dtype=bool))
    kept = _middle(at, values, count) if rule == "median" else _most_frequent(at, values)
    at, values = at[kept], values[kept]
    lowest, highest = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(lowest, at, values)
    np.maximum.at(highest, at, values)
    split = np.round(highest, _SAME) > np.round(lowest, _SAME)
    # Each of the labels that a cell is split between counts once, however often it was given.
    return Aggregated(mean_by_cell(at, values, count), split)


def _middle(at: _Ints, values: _Floats, count: int) -> _Ints:
    """Return the label in the middle of each cell, or the two of an even number."""
    order = np.lexsort((values, at))
    sizes = np.bincount(at, minlength=count)
    starts = np.cumsum(sizes) - sizes
    some = np.flatnonzero(sizes)
    places = np.concatenate([starts[some] + (sizes[some] - 1) // 2, starts[some] + sizes[some] // 2])
    found: _Ints = order[np.unique(places)]
    return found


def _most_frequent(at: _Ints, values: _Floats) -> _Ints:
    """Return one of each of the most frequent labels of every cell."""
    order = np.lexsort((values, at))
    cells, ordered = at[order], np.round(values[order], _SAME)
    first = np.ones(len(order), dtype=bool)
    first[1:] = (np.diff(cells) != 0) | (np.diff(ordered) != 0)
    starts = np.flatnonzero(first)
    times = np.diff(starts, append=len(order))
    most = np.zeros(int(at.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(most, cells[starts], times)
    found: _Ints = order[starts[times == most[cells[starts]]]]
    return found

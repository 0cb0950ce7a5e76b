"""Many rows or draws to one value per cell, a cell being one candidate of one prompt."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.printable import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable


def cell_words(prompt_id: object, candidate: object) -> str:
    """Return a prompt and its candidate, as an error names them."""
    return f"{quoted(prompt_id)} / {quoted(candidate)}"


def distinct_cells(keys: Ints) -> Ints:
    """Return the distinct keys, sorted."""
    if (np.diff(keys) > 0).all():
        return keys
    # Many times faster than numpy.unique, which hashes.
    ordered = np.sort(keys)
    return ordered[np.diff(ordered, prepend=-1) > 0]


def positions(keys: Ints, cells: Ints) -> Ints:
    """Return where each key is in the sorted `cells`, -1 where it does not."""
    if not len(cells):
        return np.full(len(keys), -1)
    at = np.searchsorted(cells, keys).clip(max=len(cells) - 1)
    return np.where(cells[at] == keys, at, -1)


def mean_by_cell(at: Ints, values: Floats, count: int) -> Floats:
    """Average the values of each of `count` cells, blanks left out, NaN for none; `at` has a row's cell or -1."""
    used = (at >= 0) & ~np.isnan(values)
    at, values = at[used], values[used]
    counts = np.bincount(at, minlength=count)
    if counts.max(initial=0) > 1:
        # A sum depends on the order of its terms in the last bits, so they are put in one order.
        order = np.argsort(values)
        at, values = at[order], values[order]
    sums = np.bincount(at, weights=values, minlength=count)
    # A single value is kept to the bit, which a sum that starts at 0.0 does.
    means: Floats = np.divide(sums, counts, out=np.full(count, np.nan), where=counts > 0)
    return means


def label_by_cell(at: Ints, values: Floats, count: int) -> tuple[Floats, Ints]:
    """Return labels (count,), NaN for none, and positions of rows that contradict one; `at` is -1 for no cell."""
    rows = np.flatnonzero((at >= 0) & ~np.isnan(values))
    labels = np.full(count, np.nan)
    # Written back to front, so that the first row of a cell is the one that stands.
    labels[at[rows[::-1]]] = values[rows[::-1]]
    label_of, stated = values[rows], labels[at[rows]]
    differs = np.abs(label_of - stated) > 1e-9 * np.maximum(1.0, np.abs(stated))
    if not differs.any():
        np.fmin.at(labels, at[rows], label_of)
    return labels, rows[differs]


_DRAW = re.compile(r"draw_(0|[1-9]\d*)")


def draw_columns(columns: Iterable[object]) -> tuple[str, ...]:
    """Return the columns named ``draw_0``, ``draw_1`` ..., in the order of their numbers."""
    draws = [name for name in columns if isinstance(name, str) and _DRAW.fullmatch(name)]
    return tuple(sorted(draws, key=lambda name: int(name.removeprefix("draw_"))))


def span(columns: tuple[str, ...]) -> str:
    """Name columns of draws by the first and the last of them."""
    return columns[0] if len(columns) == 1 else f"{columns[0]} to {columns[-1]}"


def averaged(columns: tuple[str, ...]) -> str:
    """Say that a score is the mean of columns of draws."""
    return f"{span(columns)}, averaged"


def mean_of_draws(draws: Floats) -> Floats:
    """Average each row of (rows, draws), blanks left out; NaN where a row has none."""
    # Summed from the smallest up, as rows of draws are, so that either layout gives the same bits.
    ordered = np.sort(draws, axis=1)
    counts = np.count_nonzero(~np.isnan(ordered), axis=1)
    sums = np.zeros(len(draws))
    for at in range(draws.shape[1]):
        sums += np.where(at < counts, ordered[:, at], 0.0)
    means: Floats = np.divide(sums, counts, out=np.full(len(draws), np.nan), where=counts > 0)
    return means

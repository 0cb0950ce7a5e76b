"""Many rows or draws to one value per cell, a cell being one candidate of one prompt."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from bonwise.table.panel import Panel
    from bonwise.table.score_table import ScoreTable

__all__ = [
    "First",
    "Repeats",
    "averaged",
    "cell_repeats",
    "distinct_cells",
    "draw_columns",
    "label_by_cell",
    "mean_by_cell",
    "mean_of_draws",
    "positions",
    "span",
]

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


First = Literal["score", "draw_0"]
"""What a judge's first pass says of a candidate: its score, or the first of its draws."""

_DRAW = re.compile(r"draw_(0|[1-9]\d*)")


@dataclass(frozen=True, eq=False)
class Repeats:
    """What one judge said of each candidate besides its score, cell by cell as in its panel."""

    first: _Floats = field(repr=False)
    """What the first pass said: the score where the table has one of its own, else the first draw, NaN where the
    judge gave none at that draw.
    """
    draws: _Floats | None = field(repr=False)
    """Every draw, in order, NaN where one is absent; None where this judge has no draws."""
    width: _Floats | None = field(repr=False)
    """Width of the interval that the judge stated, in the unit of the scores, NaN where it stated none; the mean over
    rows where a candidate has several. None where this judge stated no interval.
    """
    first_of: First = "score"
    """What `first` holds; ``draw_0`` also where the score of the table is the first draw in every cell."""


def draw_columns(columns: Iterable[object]) -> tuple[str, ...]:
    """Return the columns named ``draw_0``, ``draw_1`` ..., in the order of their numbers.

    Examples
    --------
    >>> draw_columns(["draw_10", "prompt_id", "draw_2", "draw", "draw_x"])
    ('draw_2', 'draw_10')
    """
    found = [name for name in columns if isinstance(name, str) and _DRAW.fullmatch(name)]
    return tuple(sorted(found, key=lambda name: int(name.removeprefix("draw_"))))


def span(columns: tuple[str, ...]) -> str:
    """Name columns of draws by the first and the last of them.

    Examples
    --------
    >>> span(("draw_0", "draw_1", "draw_2"))
    'draw_0 to draw_2'
    """
    return columns[0] if len(columns) == 1 else f"{columns[0]} to {columns[-1]}"


def averaged(columns: tuple[str, ...]) -> str:
    """Say that a score is the mean of columns of draws."""
    return f"{span(columns)}, averaged"


def mean_of_draws(draws: _Floats) -> _Floats:
    """Average each row, blanks left out; NaN where a row has none.

    Parameters
    ----------
    draws : ndarray of float64, shape (rows, draws)

    Returns
    -------
    ndarray of float64, shape (rows,)

    Examples
    --------
    >>> mean_of_draws(np.array([[0.5, np.nan, 0.7], [np.nan, np.nan, np.nan]]))
    array([0.6, nan])
    """
    # Summed from the smallest up, as rows of draws are, so that either layout gives the same bits.
    ordered = np.sort(draws, axis=1)
    counts = np.count_nonzero(~np.isnan(ordered), axis=1)
    sums = np.zeros(len(draws))
    for at in range(draws.shape[1]):
        sums += np.where(at < counts, ordered[:, at], 0.0)
    means: _Floats = np.divide(sums, counts, out=np.full(len(draws), np.nan), where=counts > 0)
    return means


def cell_repeats(table: ScoreTable, panel: Panel, *, one_draw: bool = False) -> Repeats:
    """Return the first pass, the draws and the interval widths behind a panel, aligned with its cells.

    Parameters
    ----------
    table : ScoreTable
        With draws in columns (``draw_0``, ``draw_1`` ...), in rows told apart by a column ``draw``, or without any;
        and with ``ci_width``, with ``low`` and ``high``, or with neither.
    panel : Panel
        One of `lay_out(table)`, also after `Panel.keep`: ``result.first[i]`` belongs to ``panel.scores[i]``.
    one_draw : bool
        Take the first draw for the first pass even where the table has a score of its own.

    Returns
    -------
    Repeats

    Examples
    --------
    >>> import pandas as pd
    >>> from bonwise.table.panel import lay_out
    >>> from bonwise.table.score_table import ScoreTable
    >>> frame = pd.DataFrame({"prompt_id": ["p", "p"], "candidate": ["a", "b"],
    ...                       "draw_0": [.8, .5], "draw_1": [.6, .7], "ci_width": [.1, .2]})
    >>> table = ScoreTable.from_frame(frame)
    >>> found = cell_repeats(table, lay_out(table)[0])
    >>> found.first.tolist(), found.draws.shape, found.width.tolist()
    ([0.8, 0.5], (2, 2), [0.1, 0.2])
    """
    rows, at = _rows_of(table, panel)
    draws = _wide(table, rows, at, len(panel.scores))
    if draws is None:
        draws = _long(table, rows, at, len(panel.scores))
    width = _width(table, rows, at, len(panel.scores))
    if draws is None:
        return Repeats(panel.scores, None, width)
    own = _has_own_score(table) and not one_draw and not np.array_equal(panel.scores, draws[:, 0])
    return Repeats(panel.scores if own else draws[:, 0], draws, width, "score" if own else "draw_0")


def _has_own_score(table: ScoreTable) -> bool:
    """Tell whether a column holds scores that are neither draws nor their mean."""
    wide = draw_columns(table.frame.columns)
    return bool(wide) and table.columns.get("judge_score") not in {averaged(wide), *wide}


def _rows_of(table: ScoreTable, panel: Panel) -> tuple[_Ints, _Ints]:
    """Return the rows of the panel's judge that belong to its cells, and the cell of each."""
    prompts = table.prompts.get_indexer(panel.prompt_ids).astype(np.int64)
    cells = np.repeat(prompts, panel.sizes) * len(table.candidates) + panel.names
    mine = (table.frame["judge"] == panel.judge).to_numpy()
    at = np.where(mine, positions(table.cell_keys(), cells), -1)
    rows = np.flatnonzero(at >= 0)
    return rows, at[rows]


def _wide(table: ScoreTable, rows: _Ints, at: _Ints, count: int) -> _Floats | None:
    names = list(draw_columns(table.frame.columns))
    values = table.frame[names].to_numpy(dtype=np.float64)[rows]
    if np.isnan(values).all():
        return None
    draws = np.full((count, len(names)), np.nan)
    draws[at] = values
    return draws


def _long(table: ScoreTable, rows: _Ints, at: _Ints, count: int) -> _Floats | None:
    if "draw" not in table.frame.columns:
        return None
    column: pd.Categorical = table.frame["draw"].array[rows].remove_unused_categories()
    names = list(column.categories)
    if all(name.isdecimal() for name in names):
        names.sort(key=int)
    place = np.array([names.index(name) for name in column.categories])
    draws = np.full((count, len(names)), np.nan)
    draws[at, place[column.codes]] = table.frame["judge_score"].to_numpy()[rows]
    return draws


def _width(table: ScoreTable, rows: _Ints, at: _Ints, count: int) -> _Floats | None:
    frame = table.frame
    if "ci_width" in frame.columns:
        values = frame["ci_width"].to_numpy()[rows]
    elif {"low", "high"} <= set(frame.columns):
        values = (frame["high"] - frame["low"]).to_numpy()[rows]
    else:
        return None
    return None if np.isnan(values).all() else mean_by_cell(at, values, count)

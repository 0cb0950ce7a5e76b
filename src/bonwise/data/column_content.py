"""What the content of columns says about the role that they play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bonwise.data.numbers import distinct, first_text_row, is_blank

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["alike", "has_numbers", "rows_told_apart", "splits", "telling", "tells_more", "varies_within"]

_MOST_KEYS = 1 << 62


def has_numbers(column: pd.Series) -> bool:
    """Tell whether each cell is a number or blank."""
    return first_text_row(column) is None


def telling(frame: pd.DataFrame, role: str, column: str) -> bool:
    """Tell whether a column says what a role wants: prompts repeat, and candidates differ."""
    if role not in ("prompt_id", "candidate"):
        return True
    codes, cells = distinct(frame[column])
    if role == "candidate":
        return len(cells) > 1
    return len(cells) < int((codes >= 0).sum())


def rows_told_apart(frame: pd.DataFrame, columns: Sequence[str]) -> bool:
    """Tell whether no two rows agree in all of these columns."""
    return _row_keys(_codes(frame, columns)).is_unique


def splits(frame: pd.DataFrame, cells: Sequence[str], column: str) -> bool:
    """Tell whether some rows that agree in all of `cells` differ in a column."""
    codes = _codes(frame, [*cells, column])
    return _row_keys(codes).nunique() > _row_keys(codes[:-1]).nunique()


def varies_within(frame: pd.DataFrame, cells: Sequence[str], column: str) -> bool:
    """Tell whether some rows that agree in all of `cells` differ in what they say in a column, blanks left out."""
    told = ~is_blank(frame[column])
    return bool(told.any()) and splits(frame[told], cells, column)


def alike(frame: pd.DataFrame, columns: Sequence[str]) -> bool:
    """Tell whether columns tell the same rows apart, as a name and a number of the same people do."""
    first, *others = _codes(frame, columns)
    return all(np.array_equal(first, other) for other in others)


def tells_more(frame: pd.DataFrame, role: str, columns: list[str], taken: Mapping[str, str]) -> list[str]:
    """Return those of several columns that, with the columns known already, name the candidates of prompts.

    A prompt has several candidates, and each stands in one row per judge and draw. All columns are returned where
    that settles nothing.
    """
    if role == "candidate" and "prompt_id" in taken:
        others = [taken["prompt_id"], *(name for name in ("judge", "draw", "run") if name in frame.columns)]
        apart = [column for column in columns if rows_told_apart(frame, [*others, column])]
        return apart or columns
    return columns


def _codes(frame: pd.DataFrame, columns: Sequence[str]) -> list[npt.NDArray[np.intp]]:
    return [distinct(frame[column])[0] for column in columns]


def _row_keys(codes: Sequence[npt.NDArray[np.intp]]) -> pd.Index:
    """Return one integer a row that is equal exactly where all codes are; a missing cell has the code -1."""
    found, known = np.asarray(codes[0], dtype=np.int64) + 1, int(codes[0].max()) + 2
    for one in codes[1:]:
        values = int(one.max()) + 2
        if known * values > _MOST_KEYS:
            found, cells = pd.factorize(found)
            known = len(cells)
        found, known = found * values + one + 1, known * values
    return pd.Index(found)

"""Text to numbers: blank is missing, anything else that is no finite number is refused by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.data.number_styles import styled
from bonwise.data.structured_text import StructuredText
from bonwise.data.wording import quoted
from bonwise.errors import RowError

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = [
    "DECIMAL_COMMA",
    "check_propensities",
    "distinct",
    "first_text_row",
    "is_blank",
    "parse_numbers",
    "read_numbers",
]

_BLANK = frozenset({"", "nan", "none", "null", "na", "n/a", "<na>"})
_TRUTH = {"true": 1.0, "false": 0.0}

DECIMAL_COMMA = "decimal comma"
"""Key of a frame's ``attrs`` that says that its file separates cells by semicolons."""

# Squares and their sums must stay finite in double precision.
_LARGEST = 1e100


def parse_numbers(column: pd.Series, *, role: str, source: str) -> npt.NDArray[np.float64]:
    """Parse one column to floats, NaN where the cell is blank.

    Parameters
    ----------
    column : pandas.Series
        Of any dtype; its index holds the row numbers to name in an error.
    role : str
        What the column is taken for.
    source : str
        How to name the file in an error.

    Returns
    -------
    ndarray of float64, shape (rows,)

    Raises
    ------
    bonwise.errors.RowError
        Text, an infinite value, or a value beyond 1e100 in magnitude; the row is named.
    """
    return read_numbers(column, role=role, source=source)[0]


def read_numbers(column: pd.Series, *, role: str, source: str) -> tuple[npt.NDArray[np.float64], str]:
    """Do what `parse_numbers` does, and say how the numbers are written.

    Returns
    -------
    values : ndarray of float64, shape (rows,)
    reading : str
        Such as ``percent, 85% = 0.85``; empty where they are written plainly.
    """
    values, text, reading = _convert(column)
    if text.any():
        at = int(np.flatnonzero(text)[0])
        others = int(text.sum()) - 1
        more = f" (and {others:,} more rows like it)" if others else ""
        beside = f" where the column is read as {reading}" if reading else ""
        raise RowError(
            f"{source}, row {column.index[at]}: {role} holds {quoted(column.iloc[at])}, "
            f"which is not a number{beside}{more}",
            hint="write a number, or leave the cell blank for none",
        )
    with np.errstate(invalid="ignore"):
        wild = np.abs(values) > _LARGEST
    if wild.any():
        at = int(np.flatnonzero(wild)[0])
        kind = "infinite" if np.isinf(values[at]) else "too large to square"
        raise RowError(
            f"{source}, row {column.index[at]}: {role} holds {quoted(column.iloc[at])}, which is {kind}",
            hint="write a finite number, or leave the cell blank for none",
        )
    return values, reading


def check_propensities(values: npt.NDArray[np.float64], rows: pd.Index, source: str) -> None:
    """Refuse what is not a probability of being drawn; a blank is none.

    Raises
    ------
    bonwise.errors.RowError
        The first row outside (0, 1].
    """
    bad = np.flatnonzero((values <= 0) | (values > 1))
    if bad.size:
        raise RowError(
            f"{source}, row {rows[bad[0]]}: a propensity must lie in (0, 1]",
            hint="it is the probability with which the prompt was drawn for labelling",
        )


def first_text_row(column: pd.Series) -> Hashable | None:
    """Return the row number of the first cell that is neither blank nor a number."""
    text = _convert(column).text
    return column.index[int(np.flatnonzero(text)[0])] if text.any() else None


def is_blank(column: pd.Series) -> npt.NDArray[np.bool_]:
    """Tell which cells count as missing: NaN, None, or a word for nothing."""
    missing = column.isna().to_numpy(dtype=bool)
    if column.dtype.kind in "iufb":
        return missing
    words = column.astype(str).str.strip().str.lower()
    return missing | words.isin(_BLANK).to_numpy(dtype=bool)


def distinct(column: pd.Series) -> tuple[npt.NDArray[np.intp], pd.Index]:
    """Return a code for each cell, -1 where it is missing, and the distinct cells as they appear."""
    try:
        return _factorized(column)
    except TypeError:  # lists and the like cannot be looked up: they are told apart by their words
        return _factorized(pd.Series([_hashable(cell) for cell in column.astype(object)], dtype=object))


def _factorized(column: pd.Series) -> tuple[npt.NDArray[np.intp], pd.Index]:
    if not isinstance(column.array, pd.arrays.NumpyExtensionArray) or column.dtype.kind != "O":
        codes, cells = pd.factorize(column)
        return codes, pd.Index(cells)
    # pandas 2 compares cells up to the first NUL where all of them are text, which a missing one beside them is not.
    codes, found = pd.factorize(np.append(column.to_numpy(dtype=object), np.array([None])))
    return codes[:-1], pd.Index(found, dtype=object)


def _hashable(cell: object) -> object:
    """Return a cell as it is, or its words where it cannot be looked up."""
    try:
        hash(cell)
    except TypeError:
        return StructuredText(cell)
    return cell


class _Converted(NamedTuple):
    """The values of a column, NaN where there is none; which cells hold text; and how the numbers are written."""

    values: npt.NDArray[np.float64]
    text: npt.NDArray[np.bool_]
    reading: str


def _convert(column: pd.Series) -> _Converted:
    if column.dtype.kind in "iufb":
        values = column.to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
        return _Converted(values, np.zeros(len(column), dtype=bool), "")
    # Few distinct cells is the rule for scores: parse each distinct one once.
    codes, cells = distinct(column)
    words = [str(cell).strip().lower() for cell in cells]
    numbers = np.array([_number(word) for word in words], dtype=np.float64)
    text = np.isnan(numbers) & np.array([word not in _BLANK for word in words], dtype=bool)
    reading = ""
    if text.any():
        reading = _restyle(words, numbers, text, decimal_comma=bool(column.attrs.get(DECIMAL_COMMA)))
    # One slot more, reached by the code -1 of a missing cell.
    numbers, text = np.append(numbers, np.nan), np.append(text, False)
    return _Converted(numbers[codes], text[codes], reading)


def _restyle(
    words: list[str], numbers: npt.NDArray[np.float64], text: npt.NDArray[np.bool_], *, decimal_comma: bool
) -> str:
    """Read the cells in the style of their column, in place, and say which; say nothing where there is none."""
    present = [at for at, word in enumerate(words) if word not in _BLANK]
    found = styled([words[at] for at in present], decimal_comma=decimal_comma)
    if found is None:
        return ""
    for at, value in zip(present, found.values, strict=True):
        numbers[at], text[at] = np.nan if value is None else value, value is None
    return found.reading


def _number(word: str) -> float:
    """Return the nearest float, which not every version of pandas finds; NaN for no number."""
    try:
        # Python alone would read 1_000 and the digits of other scripts.
        return float(word) if word.isascii() and "_" not in word else np.nan
    except ValueError:
        return _TRUTH.get(word, np.nan)

"""Identifiers as sorted categories, several columns that name one thing, and whether columns tell rows apart."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from bonwise.errors import ColumnError, RowError
from bonwise.printable import quoted
from bonwise.table.numbers import StructuredText, distinct, first_text_row, is_blank

__all__ = [
    "alike",
    "as_categories",
    "has_numbers",
    "is_text",
    "joined_names",
    "require_columns",
    "rows_told_apart",
    "splits",
    "telling",
    "tells_more",
    "varies_within",
]

_WHOLE = re.compile(r"(0|-?[1-9][0-9]*)\.0")


def as_categories(column: pd.Series, *, role: str, source: str) -> pd.Categorical:
    """Turn a column of identifiers into a categorical with sorted text categories.

    The numbers 1 and 1.0 and their texts are one identifier, because CSV, JSON and DataFrames hold it in these ways;
    ``001`` and ``NA`` are others. One that is blank, bytes, an object, a list or no valid text is a RowError.
    """
    codes, values = distinct(column)
    cells = np.asarray(values, dtype=object)
    _refuse_kinds(column, codes, cells, role, source)
    names = pd.Index([_name(value) for value in cells], dtype=object)
    words = _words(column, codes, names, role, source)
    blank = np.array([*(not name.strip() for name in names), True])  # an index of strings is read more slowly
    if (codes < 0).any() or blank[:-1].any():
        at = int(np.flatnonzero(blank[codes])[0])
        raise RowError(f"{source}, row {column.index[at]}: no {role}", hint=f"give every row a {role}")
    order = words.argsort()
    ranks = np.empty(len(order), dtype=codes.dtype)
    if names.is_unique:
        ranks[order] = np.arange(len(order))
        return pd.Categorical.from_codes(ranks[codes], names[order])
    merged, unique = distinct(names[order].to_series())
    ranks[order] = merged
    return pd.Categorical.from_codes(ranks[codes], unique)


def _refuse_kinds(
    column: pd.Series, codes: np.typing.NDArray[np.intp], cells: np.typing.NDArray[np.object_], role: str, source: str
) -> None:
    """Refuse cells whose words are not an identifier that anybody wrote."""
    wrong = [at for at, cell in enumerate(cells) if isinstance(cell, StructuredText | bytes | tuple | frozenset)]
    if wrong:
        first = int(np.flatnonzero(np.isin(codes, wrong))[0])
        kind = "bytes" if isinstance(cells[codes[first]], bytes) else "an object or a list"
        raise RowError(
            f"{source}, row {column.index[first]}: the {role} is {kind}: {quoted(cells[codes[first]])}",
            hint="write it as text or as a number",
        )


def _words(column: pd.Series, codes: np.typing.NDArray[np.intp], names: pd.Index, role: str, source: str) -> pd.Index:
    """Return the names as text that can be stored; half a surrogate pair is a Python string but no text."""
    broken = [at for at, name in enumerate(names) if not is_text(name)]
    if broken:
        row = column.index[int(np.flatnonzero(np.isin(codes, broken))[0])]
        raise RowError(f"{source}, row {row}: a {role} that is not text", hint="write valid Unicode")
    return names.astype(str)


def is_text(value: str) -> bool:
    """Tell whether a string can be stored: one with half a surrogate pair cannot."""
    return value.isascii() or value == value.encode(errors="ignore").decode()


def _name(value: object) -> str:
    if type(value) is str and not value.endswith(".0"):
        return value  # nearly every identifier there is
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    text = str(value)
    return text[:-2] if text.endswith(".0") and _WHOLE.fullmatch(text) else text


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
    is_stated = ~is_blank(frame[column])
    return bool(is_stated.any()) and splits(frame[is_stated], cells, column)


def alike(frame: pd.DataFrame, columns: Sequence[str]) -> bool:
    """Tell whether columns tell the same rows apart, as a name and a number of the same people do."""
    first, *others = _codes(frame, columns)
    return all(np.array_equal(first, other) for other in others)


def tells_more(frame: pd.DataFrame, role: str, columns: list[str], taken: Mapping[str, str]) -> list[str]:
    """Return those of `columns` that, with the known ones, name candidates; all where that settles nothing."""
    if role == "candidate" and "prompt_id" in taken:
        others = [taken["prompt_id"], *(name for name in ("judge", "draw", "run") if name in frame.columns)]
        apart = [column for column in columns if rows_told_apart(frame, [*others, column])]
        return apart or columns
    return columns


def _codes(frame: pd.DataFrame, columns: Sequence[str]) -> list[np.typing.NDArray[np.intp]]:
    return [distinct(frame[column])[0] for column in columns]


def _row_keys(codes: Sequence[np.typing.NDArray[np.intp]]) -> pd.Index:
    """Return one integer a row that is equal exactly where all codes are; a missing cell has the code -1."""
    row_keys, known = np.asarray(codes[0], dtype=np.int64) + 1, int(codes[0].max()) + 2
    for code in codes[1:]:
        values = int(code.max()) + 2
        if known * values > _MOST_KEYS:
            row_keys, cells = pd.factorize(row_keys)
            known = len(cells)
        row_keys, known = row_keys * values + code + 1, known * values
    return pd.Index(row_keys)


_SEPARATOR = " / "


def require_columns(raw: pd.DataFrame, columns: Sequence[str], source: str) -> None:
    """Refuse a table that lacks one of the named columns."""
    for column in columns:
        if column not in raw.columns:
            raise ColumnError(
                f"{source}: no column named {quoted(column)}",
                hint=f"the columns are {', '.join(str(c)[:40] for c in raw.columns[:12])}",
            )


def joined_names(raw: pd.DataFrame, columns: Sequence[str], role: str, source: str) -> pd.Categorical:
    """Name each row by several columns together."""
    parts = [as_categories(raw[column], role=role, source=source) for column in columns]
    if len(parts) == 1:
        return parts[0]
    names = list(zip(*(part.astype(object) for part in parts), strict=True))
    # Names that hold the separator themselves are written so that no two become one.
    ambiguous = any(_SEPARATOR in word for part in parts for word in part.categories)
    joined = [json.dumps(name) if ambiguous else _SEPARATOR.join(name) for name in names]
    return as_categories(pd.Series(joined, index=raw.index, dtype=object), role=role, source=source)

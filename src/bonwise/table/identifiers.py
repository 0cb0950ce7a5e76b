"""Identifiers as sorted categories, several columns that name one thing, and whether columns tell rows apart."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bonwise.errors import ColumnError, RowError
from bonwise.printable import quoted
from bonwise.table.cells import distinct_cells
from bonwise.table.numbers import first_text_row, is_blank
from bonwise.table.store import Categories, CodedColumn, Names, Rows, StructuredText, Texts, coded, objects

if TYPE_CHECKING:
    import pandas as pd

_WHOLE = re.compile(r"(0|-?[1-9][0-9]*)\.0")


def as_categories(column: CodedColumn | pd.Series, *, role: str, source: str) -> Categories:
    """Turn identifiers into sorted names and codes; 1, 1.0 and their texts are one, ``001`` and ``NA`` are not."""
    column = CodedColumn.of(column)
    held = column.held_cells
    if isinstance(held, Texts) and held.are_plain_names and column.codes.min() >= 0:
        texts, places = held.sorted()
        return Categories(column.codes if places is None else places[column.codes], Names(texts))
    codes, cells = column.codes, column.cells
    is_all_text = set(map(type, cells)) <= {str}
    if not is_all_text:
        _refuse_kinds(column, role, source)
    if is_all_text and not any(map(str.endswith, cells, repeat(".0"))):
        names = cells  # nearly every identifier there is
    else:
        names = objects([_name(value) for value in cells])
    _refuse_no_text(column, names, role, source)
    if not all(map(str.strip, names)) or (codes < 0).any():
        blank = column.marked([not name.strip() for name in names], missing=True)
        raise RowError(
            f"{source}, row {column.index[int(blank.argmax())]}: no {role}", hint=f"give every row a {role}"
        )
    if names is not cells:
        merged, names = coded(names)
        codes = merged[codes]
    if (names[:-1] < names[1:]).all():
        return Categories(codes, Names(names))
    order = np.argsort(names, kind="stable")
    ranks = np.empty(len(order), dtype=np.int32)
    ranks[order] = np.arange(len(order))
    return Categories(ranks[codes], Names(names[order]))


def _refuse_kinds(column: CodedColumn, role: str, source: str) -> None:
    """Refuse cells whose words are not an identifier that anybody wrote."""
    texts = (StructuredText, bytes, tuple, frozenset)
    wrong = column.marked([isinstance(cell, texts) or not isinstance(cell, Hashable) for cell in column.cells])
    if wrong.any():
        cell = column.cell(first := int(wrong.argmax()))
        kind = "bytes" if isinstance(cell, bytes) else "an object or a list"
        words = cell if isinstance(cell, Hashable) else StructuredText(cell)
        raise RowError(
            f"{source}, row {column.index[first]}: the {role} is {kind}: {quoted(words)}",
            hint="write it as text or as a number",
        )


def _refuse_no_text(column: CodedColumn, names: npt.NDArray[np.object_], role: str, source: str) -> None:
    """Refuse names that cannot be stored; half a surrogate pair is a Python string but no text."""
    if not all(map(str.isascii, names)):
        broken = column.marked([not is_text(name) for name in names])
        if broken.any():
            row = column.index[int(broken.argmax())]
            raise RowError(f"{source}, row {row}: a {role} that is not text", hint="write valid Unicode")


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


def has_numbers(column: CodedColumn) -> bool:
    """Tell whether each cell is a number or blank."""
    return first_text_row(column) is None


def telling(frame: Rows, role: str, column: str) -> bool:
    """Tell whether a column says what a role wants: prompts repeat, and candidates differ."""
    if role not in ("prompt_id", "candidate"):
        return True
    codes, cells = frame.columns[column].codes, frame.columns[column].held_cells
    if role == "candidate":
        return len(cells) > 1
    return len(cells) < int((codes >= 0).sum())


def rows_told_apart(frame: Rows, columns: Sequence[str]) -> bool:
    """Tell whether no two rows agree in all of these columns."""
    return _distinct_rows(_codes(frame, columns)) == len(frame)


def splits(frame: Rows, cells: Sequence[str], column: str) -> bool:
    """Tell whether some rows that agree in all of `cells` differ in a column."""
    codes = _codes(frame, [*cells, column])
    return _distinct_rows(codes) > _distinct_rows(codes[:-1])


def varies_within(frame: Rows, cells: Sequence[str], column: str) -> bool:
    """Tell whether some rows that agree in all of `cells` differ in what they say in a column, blanks left out."""
    is_stated = ~is_blank(frame.columns[column])
    return bool(is_stated.any()) and splits(frame.only([*cells, column]).take(is_stated), cells, column)


def alike(frame: Rows, columns: Sequence[str]) -> bool:
    """Tell whether columns tell the same rows apart, as a name and a number of the same people do."""
    first, *others = _codes(frame, columns)
    return all(np.array_equal(first, other) for other in others)


def tells_more(frame: Rows, role: str, columns: list[str], taken: Mapping[str, str]) -> list[str]:
    """Return those of `columns` that, with the known ones, name candidates; all where that settles nothing."""
    if role == "candidate" and "prompt_id" in taken:
        others = [taken["prompt_id"], *(name for name in ("judge", "draw", "run") if name in frame.columns)]
        apart = [column for column in columns if rows_told_apart(frame, [*others, column])]
        return apart or columns
    return columns


def _codes(frame: Rows, columns: Sequence[str]) -> list[npt.NDArray[Any]]:
    return [frame.columns[column].codes for column in columns]


def _distinct_rows(codes: Sequence[npt.NDArray[Any]]) -> int:
    """Return how many different rows there are, a missing cell being like any other."""
    row_keys, known = codes[0].astype(np.int64) + 1, int(codes[0].max(initial=0)) + 2
    for code in codes[1:]:
        values = int(code.max(initial=0)) + 2
        if known * values > _MOST_KEYS:
            cells, row_keys = np.unique(row_keys, return_inverse=True)
            known = len(cells)
        row_keys, known = row_keys * values + code + 1, known * values
    return len(distinct_cells(row_keys))


_SEPARATOR = " / "


def require_columns(raw: Rows | pd.DataFrame, columns: Sequence[str], source: str) -> None:
    """Refuse a table that lacks one of the named columns."""
    for column in columns:
        if column not in raw.columns:
            raise ColumnError(
                f"{source}: no column named {quoted(column)}",
                hint=f"the columns are {', '.join(str(c)[:40] for c in [*raw.columns][:12])}",
            )


def joined_names(raw: Rows | pd.DataFrame, columns: Sequence[str], role: str, source: str) -> Categories:
    """Name each row by several columns together."""
    held = raw.columns if isinstance(raw, Rows) else raw
    parts = [as_categories(held[column], role=role, source=source) for column in columns]
    if len(parts) == 1:
        return parts[0]
    # Names that hold the separator themselves are written so that no two become one.
    ambiguous = any(_SEPARATOR in word for part in parts for word in part.categories)
    joined = [json.dumps(name) if ambiguous else _SEPARATOR.join(name) for name in zip(*parts, strict=True)]
    return as_categories(CodedColumn.of_cells(joined, np.asarray(raw.index)), role=role, source=source)

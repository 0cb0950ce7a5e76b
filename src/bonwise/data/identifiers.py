"""Identifiers as sorted categories, the same text whatever the file format made of them."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.data.numbers import distinct
from bonwise.data.structured_text import StructuredText
from bonwise.data.wording import quoted
from bonwise.errors import RowError

__all__ = ["as_categories", "is_text"]

_WHOLE = re.compile(r"(0|-?[1-9][0-9]*)\.0")


def as_categories(column: pd.Series, *, role: str, source: str) -> pd.Categorical:
    """Turn a column of identifiers into a categorical with sorted text categories.

    The integer 1, the float 1.0 and the texts ``1`` and ``1.0`` are one identifier, because a CSV, a
    JSON and a DataFrame of the same table hold it in these ways; ``001`` is another. A word such as ``NA`` or
    ``null`` is an identifier like any other text.

    Raises
    ------
    bonwise.errors.RowError
        An identifier that is blank, bytes, an object, a list or no valid text; the row is named.
    """
    codes, found = distinct(column)
    cells = np.asarray(found, dtype=object)
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
    column: pd.Series, codes: npt.NDArray[np.intp], cells: npt.NDArray[np.object_], role: str, source: str
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


def _words(column: pd.Series, codes: npt.NDArray[np.intp], names: pd.Index, role: str, source: str) -> pd.Index:
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

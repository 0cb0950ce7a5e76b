"""What each column of a file holds, whether or not the file can be read as a table of scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.doctoring.result import ColumnFacts
from bonwise.errors import RowError
from bonwise.table.cells import draw_columns
from bonwise.table.columns import names_of_columns
from bonwise.table.label_words import label_words
from bonwise.table.numbers import StructuredText, distinct, is_blank, read_numbers
from bonwise.table.roles import IDENTIFIERS, WORDS

__all__ = ["column_facts"]

_MOST_EXAMPLES = 3
_LONGEST_EXAMPLE = 24
_LONG_TEXT = 40
"""Characters from which the middle cell of a column is taken for text rather than for a name."""


def column_facts(frame: pd.DataFrame, taken: Mapping[str, str], *, strata: bool) -> Iterator[ColumnFacts]:
    """Yield what each column of a file holds.

    Parameters
    ----------
    frame : pandas.DataFrame
        As `bonwise.table.reading.open_rows` returns it.
    taken : mapping of str to str
        Role to column, as far as it is known.
    strata : bool
        Whether columns without a role are strata: where the table could be read.

    Examples
    --------
    >>> frame = pd.DataFrame({"item": ["p", "p"], "pct": ["85%", ""]})
    >>> [column.kind for column in column_facts(frame, {"prompt_id": "item"}, strata=False)]
    ['names', 'numbers (percent, 85% = 0.85)']
    """
    roles = {name: role for role, column in taken.items() for name in names_of_columns(column)}
    draws = draw_columns(frame.columns)
    for name in frame.columns:
        column = frame[name]
        role = ""
        if name in roles:
            role = roles[name]
        elif name in draws:
            role = "draws"
        elif name in WORDS:
            role = "words"
        elif strata:
            role = "stratum"
        missing = _without_words(column) if role in IDENTIFIERS else is_blank(column)
        kind = "blank" if missing.all() else _kind(column[~missing])
        if role in IDENTIFIERS and not missing.all() and is_blank(column[~missing]).any():
            kind = "names"
        yield ColumnFacts(
            name=str(name), kind=kind, missing=int(missing.sum()), examples=_examples(column[~missing]), taken=role
        )


def _without_words(column: pd.Series) -> npt.NDArray[np.bool_]:
    """Tell which identifiers are missing: of these a word such as NA is one like any other."""
    empty = column.isna() | (column.astype(str).str.strip() == "")
    return empty.to_numpy(dtype=bool)


def _kind(column: pd.Series) -> str:
    if column.dtype.kind == "b":
        return "true or false"
    try:
        _, reading = read_numbers(column, role="", source="")
    except RowError:
        return _kind_of_words(column)
    return f"numbers ({reading})" if reading else "numbers"


def _kind_of_words(column: pd.Series) -> str:
    _, cells = distinct(column)
    if any(isinstance(cell, StructuredText | list | dict | tuple | np.ndarray) for cell in cells[:20]):
        return "objects or lists"
    words = label_words(column)
    if words and all(str(cell).strip().lower() in words for cell in cells):
        return f"words ({', '.join(f'{word} = {worth:g}' for word, worth in words.items())})"
    lengths = sorted(len(str(cell)) for cell in cells[:1000])
    return "text" if lengths[len(lengths) // 2] > _LONG_TEXT else "names"


def _examples(column: pd.Series) -> list[str]:
    _, cells = distinct(column.iloc[:1000])
    texts = [str(cell)[: _LONGEST_EXAMPLE + 1] for cell in cells[:_MOST_EXAMPLES]]
    return [text if len(text) <= _LONGEST_EXAMPLE else f"{text[: _LONGEST_EXAMPLE - 3]}..." for text in texts]

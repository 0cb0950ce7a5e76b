"""Columns of pairwise verdicts: their words, and how several columns together name one thing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from bonwise.data.identifiers import as_categories
from bonwise.data.numbers import is_blank
from bonwise.data.wording import quoted
from bonwise.errors import ColumnError, RowError

__all__ = ["VERDICT_WORDS", "joined_names", "preferences_of", "require_columns"]

_Floats = npt.NDArray[np.float64]

_SEPARATOR = " / "

VERDICT_WORDS: Mapping[str, float] = {
    **dict.fromkeys(("1", "1.0", "a", "first", "model_a", "response_a"), 1.0),
    **dict.fromkeys(("2", "2.0", "b", "second", "model_b", "response_b"), 0.0),
    **dict.fromkeys(("tie", "0.5", "both", "tie (inconsistent)", "tie (bothbad)"), 0.5),
}
"""What a word says of a pair: 1 for the first, 0 for the second, 1/2 for a tie."""


def require_columns(raw: pd.DataFrame, columns: Sequence[str], source: str) -> None:
    """Refuse a table that lacks one of the named columns."""
    for column in columns:
        if column not in raw.columns:
            raise ColumnError(
                f"{source}: no column named {quoted(column)}",
                hint=f"the columns are {', '.join(str(c)[:40] for c in raw.columns[:12])}",
            )


def preferences_of(column: pd.Series, source: str) -> _Floats:
    """Read a column of verdicts.

    Returns
    -------
    ndarray of float64, shape (rows,)
        1 for the first of a pair, 0 for the second, 1/2 for a tie, NaN for a blank.

    Raises
    ------
    bonwise.errors.RowError
        A cell that is not a verdict.
    """
    words = column.astype(str).str.strip().str.lower()
    values = np.asarray(words.map(VERDICT_WORDS), dtype=np.float64)
    unknown = np.isnan(values) & ~is_blank(column)
    if unknown.any():
        at = int(np.flatnonzero(unknown)[0])
        raise RowError(
            f"{source}, row {column.index[at]}: {column.name!r} is {quoted(column.iloc[at])}, which is not a verdict",
            hint="write 1 or 2, a or b, model_a or model_b, or tie; leave the cell blank for none",
        )
    return values


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

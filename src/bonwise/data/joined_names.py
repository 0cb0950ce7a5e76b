"""Several columns that together name one thing, and columns that have to be there."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pandas as pd

from bonwise.data.identifiers import as_categories
from bonwise.data.wording import quoted
from bonwise.errors import ColumnError

__all__ = ["joined_names", "require_columns"]

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

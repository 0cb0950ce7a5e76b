"""The rows of a file or a DataFrame as they stand, counted, their columns told apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bonwise.data.reading import read_raw
from bonwise.data.sheet_keys import with_ids
from bonwise.data.wording import quoted
from bonwise.errors import ColumnError, UsageError
from bonwise.extras import TABLES

__all__ = ["RowSource", "counted_rows", "name_of", "open_rows", "refuse_duplicate_columns"]

RowSource = str | Path | pd.DataFrame | Sequence[Mapping[str, Any]]
"""The path of a file, a frame, or rows, each a mapping of column to value."""


def counted_rows(frame: pd.DataFrame, source: str) -> pd.DataFrame:
    """Return a frame with rows and distinct columns, its rows numbered from 0 whatever its index was.

    Raises
    ------
    bonwise.errors.ColumnError
        No rows, or two columns of one name.
    bonwise.errors.MissingExtraError
        The extra that holds tables is not installed.
    """
    TABLES.require("a table of scores, labels or votes")
    refuse_duplicate_columns(frame, source)
    if not len(frame):
        raise ColumnError(f"{source}: no rows", hint="check how the frame was made")
    return frame.set_axis(pd.RangeIndex(len(frame)), axis=0)


def name_of(source: object, name: str) -> str:
    """Return what to call a file, a frame or rows: a file by its path, all else by this name."""
    return str(source) if isinstance(source, str | Path) else name


def open_rows(source: RowSource, name: str = "table") -> tuple[pd.DataFrame, str]:
    """Return the rows of a file, a frame or a sequence as they stand, and how errors name them.

    Only the keys of a blind label sheet become the ids that they stand for.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame or sequence of mappings
        A value that a mapping lacks is a blank one.
    name : str
        Of a frame or a sequence; a file is named by its path.

    Raises
    ------
    bonwise.errors.InputError
        A file that cannot be read, no rows, or two columns of one name.
    bonwise.errors.UsageError
        Something else, or a row that is no mapping.

    Examples
    --------
    >>> frame, name = open_rows(pd.DataFrame({"won": ["a", "b"]}, index=[7, 8]))
    >>> name, frame.index.tolist()
    ('table', [0, 1])
    """
    if isinstance(source, str | Path):
        return with_ids(read_raw(Path(source)), str(source)), name_of(source, name)
    if isinstance(source, pd.DataFrame):
        return with_ids(counted_rows(source, name), name), name
    if isinstance(source, list | tuple):
        return with_ids(counted_rows(_frame_of(source, name), name), name), name
    raise UsageError(
        f"{type(source).__name__} is not a table",
        hint="give the path of a file, a pandas DataFrame, or a list of rows, each a mapping of column to value",
    )


def _frame_of(rows: Sequence[Any], name: str) -> pd.DataFrame:
    for position, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise UsageError(
                f"{name}: row {position} (counted from 0) is a {type(row).__name__}, not a mapping",
                hint="such as {'prompt_id': 'p1', 'candidate': 'a', 'judge_score': 0.7, 'oracle_label': 1}",
            )
    return pd.DataFrame([dict(row) for row in rows])


def refuse_duplicate_columns(frame: pd.DataFrame, source: str) -> None:
    """Refuse two columns of one name.

    Raises
    ------
    bonwise.errors.ColumnError
        With the name.
    """
    if frame.columns.has_duplicates:
        name = frame.columns[frame.columns.duplicated()][0]
        raise ColumnError(f"{source}: two columns are named {quoted(name)}", hint="rename one of them")

"""The rows of a file or a DataFrame as they stand, counted, their columns told apart."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from bonwise.data.reading import read_raw
from bonwise.data.wording import quoted
from bonwise.errors import ColumnError, UsageError
from bonwise.extras import TABLES

__all__ = ["counted_rows", "open_rows", "refuse_duplicate_columns"]


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


def open_rows(source: str | Path | pd.DataFrame, name: str = "table") -> tuple[pd.DataFrame, str]:
    """Return the rows of a file or a frame as they stand, and how errors name them.

    Parameters
    ----------
    source : str, pathlib.Path or pandas.DataFrame
    name : str
        Of a frame; a file is named by its path.

    Raises
    ------
    bonwise.errors.InputError
        A file that cannot be read, no rows, or two columns of one name.
    bonwise.errors.UsageError
        Neither a path nor a frame.

    Examples
    --------
    >>> frame, name = open_rows(pd.DataFrame({"won": ["a", "b"]}, index=[7, 8]))
    >>> name, frame.index.tolist()
    ('table', [0, 1])
    """
    if isinstance(source, pd.DataFrame):
        return counted_rows(source, name), name
    if isinstance(source, str | Path):
        return read_raw(Path(source)), str(source)
    raise UsageError(f"{type(source).__name__} is not a table", hint="give the path of a file, or a pandas DataFrame")


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

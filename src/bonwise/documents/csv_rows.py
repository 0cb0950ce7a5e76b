"""Rows of named values as CSV: the columns of all rows, in the order in which they come up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bonwise.data.writing import csv_text

__all__ = ["rows_as_csv"]


def rows_as_csv(rows: Iterable[Mapping[str, str | float | int | bool | None]]) -> str:
    """Return rows as CSV that a spreadsheet runs nothing of; what a row lacks is a blank cell.

    Examples
    --------
    >>> print(rows_as_csv([{"row": "=1+1", "estimate": 0.5}, {"row": "b", "estimate": None, "low": 0.1}]), end="")
    row,estimate,low
    '=1+1,0.5,
    b,,0.1
    """
    every = list(rows)
    columns = list(dict.fromkeys(name for row in every for name in row))
    return csv_text(columns, ([_cell(row.get(name)) for name in columns] for row in every))


def _cell(value: object) -> object:
    return "" if value is None else value

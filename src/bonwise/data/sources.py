"""From what a user names to rows: files of bonwise's own shape, and those of other tools through their importers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bonwise.data.annotator_columns import LabelColumns
from bonwise.data.archives import json_document, parts_of_archive, parts_of_folder
from bonwise.data.canonical import resolved
from bonwise.data.importers.material import Imported, Material
from bonwise.data.importers.registry import read_by_importer
from bonwise.data.other_files import pools_or_picks
from bonwise.data.reading import frame_of_records, kind_of_file, read_raw
from bonwise.data.reading_options import ReadingOptions
from bonwise.data.rows import RowSource, name_of, open_rows
from bonwise.data.structured_text import StructuredText
from bonwise.errors import ColumnError, FileError
from bonwise.extras import TABLES

__all__ = ["OpenedSource", "open_labels", "open_source", "with_columns"]

_MARKS = ({"annotation_id", "annotator"}, {"namedScores", "vars"})
"""Columns by which rows of a tool are known although they could pass for a table of scores."""

_SINGLE = ("prompt_id", "candidate", "judge_score")
"""Roles whose columns hold one thing in a cell."""

_LISTS = ("results", "data", "rows", "examples", "items", "records", "samples", "scores")
"""Keys under which a JSON object may hold the list that is its table."""


@dataclass(frozen=True, eq=False)
class OpenedSource:
    """Rows and where they come from."""

    frame: pd.DataFrame
    name: str
    """How errors name the source."""
    imported: Imported | None = None
    """What an importer found; None where rows are read as they stand."""

    @property
    def said(self) -> str:
        """How an importer read the source, in one line; empty where none did."""
        return "" if self.imported is None else "; ".join([self.imported.format, *self.imported.readings])

    def reading(self, options: ReadingOptions) -> ReadingOptions:
        """Leave out the columns that an importer has used up."""
        if self.imported is None:
            return options
        there = self.frame.columns
        named = options.named_columns.items()
        kept = {role: column for role, column in named if column in there or LabelColumns.named(column, there)}
        return replace(options, columns=kept)


def open_source(source: RowSource, named: Mapping[str, str], name: str = "table") -> OpenedSource:
    """Return the rows of a file, a folder, a frame or a sequence.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame or sequence of mappings
    named : mapping of str to str
        Role to column or metric, as the user named them.
    name : str
        Of a frame or a sequence; a file is named by its path.

    Raises
    ------
    bonwise.errors.InputError
        It cannot be read at all, or holds nothing that could be a table.
    """
    if isinstance(source, str | Path):
        path = Path(source)
        kind = kind_of_file(path)
        if kind in ("json", "archive", "folder"):
            TABLES.require(f"reading {path}")
            return _document(path, kind, named)
    return OpenedSource(*open_rows(source, name))


def open_labels(source: RowSource) -> OpenedSource:
    """Return the rows of a file of labels; one that a tool of annotators exported goes through its importer.

    Parameters
    ----------
    source : str, pathlib.Path, pandas.DataFrame or sequence of mappings

    Raises
    ------
    bonwise.errors.InputError
        It cannot be read at all, or holds nothing that could be a table.
    """
    opened = open_source(source, {}, "labels")
    if opened.imported is None and _is_of_a_tool(opened.frame):
        return _by_columns(opened, ReadingOptions()) or opened
    return opened


def _is_of_a_tool(frame: pd.DataFrame) -> bool:
    """Tell whether rows are known to be those of a tool although they could pass for a table."""
    return any(marks <= set(frame.columns) for marks in _MARKS)


def _document(path: Path, kind: str, named: Mapping[str, str]) -> OpenedSource:
    name = name_of(path, "")
    readers: Mapping[str, Any] = {"json": json_document, "archive": parts_of_archive, "folder": parts_of_folder}
    document = readers[kind](path)
    found = read_by_importer(Material(name, document=document, named=named))
    if found is not None:
        return _imported(found, name)
    records = _records(document) if kind == "json" else None
    if records is None:
        if kind == "folder":
            return OpenedSource(read_raw(path), name)
        raise FileError(
            f"{path}: neither a list of objects nor a format that bonwise knows",
            hint="give a list with one object per candidate, or CSV, JSON Lines or Parquet",
        )
    return OpenedSource(frame_of_records(records, name), name)


def _records(document: object) -> list[Any] | None:
    """Return the list of objects that is a JSON document, or that it holds under a usual key."""
    if isinstance(document, Mapping):
        lists = {key: value for key, value in document.items() if isinstance(value, list) and value}
        if len(lists) == 1:
            document = next(iter(lists.values()))
        else:
            document = next((lists[key] for key in _LISTS if key in lists), None)
    return document if isinstance(document, list) and all(isinstance(one, dict) for one in document) else None


def with_columns(
    opened: OpenedSource, options: ReadingOptions, *, complete: bool = True
) -> tuple[OpenedSource, dict[str, str]]:
    """Return the rows of a table of scores and the columns by their role; another shape goes through its importer.

    Parameters
    ----------
    opened : OpenedSource
    options : ReadingOptions
    complete : bool
        Whether scores have to be there; otherwise prompts and candidates are enough.

    Raises
    ------
    bonwise.errors.ColumnError
        It is no table of scores in any shape that an importer knows.
    """
    if opened.imported is None:
        if (other := pools_or_picks(opened.frame, opened.name)) is not None and not options.named_columns:
            raise other
        taken, problem = None, None
        try:
            taken = resolved(opened.frame, options, opened.name)
        except ColumnError as error:
            problem = error
        if taken is not None and not _is_of_a_tool(opened.frame) and not _has_lists(opened.frame, taken):
            return opened, taken
        found = _by_columns(opened, options)
        if found is None and taken is not None:
            return opened, taken
        if found is None and complete and problem is not None:
            raise problem
        opened = opened if found is None else found
    if complete and opened.imported is not None and "judge_score" not in opened.frame.columns:
        raise ColumnError(f"{opened.name}: read as {opened.said}", hint="; ".join(opened.imported.lacks))
    return opened, resolved(opened.frame, opened.reading(options), opened.name, complete=complete)


def _has_lists(frame: pd.DataFrame, taken: Mapping[str, str]) -> bool:
    """Tell whether a column that names or scores candidates holds lists or objects, by its first cell."""
    held = (frame[taken[role]] for role in _SINGLE if taken.get(role) in frame.columns)
    return any(isinstance(column.iloc[0], StructuredText | list | dict | np.ndarray) for column in held)


def _by_columns(opened: OpenedSource, options: ReadingOptions) -> OpenedSource | None:
    material = Material(opened.name, frame=opened.frame, named=options.named_columns)
    found = read_by_importer(material)
    return None if found is None else _imported(found, opened.name)


def _imported(found: Imported, name: str) -> OpenedSource:
    if not len(found.frame):
        why = "; ".join(found.lacks) or "no record names a prompt and a candidate"
        raise FileError(f"{name}: read as {found.format}, and nothing in it can be used", hint=why)
    return OpenedSource(found.frame, name, found)

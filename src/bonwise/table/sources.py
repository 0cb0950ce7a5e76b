"""From what a user names to rows: files of bonwise's shape, and of other tools by importers, as the long table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bonwise.errors import ColumnError, FileError, RowError
from bonwise.extras import TABLES
from bonwise.plugins import Factory, Group, Kind, is_built_in
from bonwise.table import archives, canonical, label_words, numbers, reading, reading_options, roles
from bonwise.table.columns import LabelColumns, pools_or_picks
from bonwise.table.importers.material import Imported, Material
from bonwise.table.store import Rows, StructuredText

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "ConvertedTable",
    "OpenedSource",
    "converted",
    "importers",
    "open_labels",
    "open_source",
    "read_by_importer",
    "with_columns",
]

GROUP_OF_IMPORTERS = "bonwise.importers"


def importers() -> list[Kind]:
    """Return every importer that is installed; a broken one with the reason."""
    return _group().kinds(lambda _: ())


def read_by_importer(material: Material) -> Imported | None:
    """Return what the importer of a format found, a built-in one first; None where no importer knows it.

    Refused are a known format in which nothing can be used, and one that two plug-ins know.
    """
    imported: dict[str, Imported] = {}
    for name, factory, built_in in _factories():
        made = factory.make(material)
        if isinstance(made, Imported):
            if built_in:
                return made
            imported[name] = made
    if len(imported) > 1:
        raise FileError(
            f"{material.source}: {' and '.join(imported)} both read it", hint="uninstall one of the two importers"
        )
    return next(iter(imported.values()), None)


@cache
def _factories() -> tuple[tuple[str, Factory, bool], ...]:
    group = _group()
    entries = sorted(group.entries, key=lambda entry: (not is_built_in(entry), entry.name))
    names = dict.fromkeys(entry.name for entry in entries)
    return tuple((name, factory := group.factory(name), is_built_in(factory.entry)) for name in names)


@cache
def _group() -> Group:
    return Group("importer", tuple(entry_points(group=GROUP_OF_IMPORTERS)))


_MARKS = ({"annotation_id", "annotator"}, {"namedScores", "vars"})
"""Columns by which rows of a tool are known although they could pass for a table of scores."""

_SINGLE = ("prompt_id", "candidate", "judge_score")
"""Roles whose columns hold one thing in a cell."""

_LISTS = ("results", "data", "rows", "examples", "items", "records", "samples", "scores")
"""Keys under which a JSON object may hold the list that is its table."""


@dataclass(frozen=True, eq=False)
class OpenedSource:
    """Rows and where they come from."""

    rows: Rows
    name: str
    """How errors name the source."""
    imported: Imported | None = None
    """What an importer found; None where rows are read as they stand."""

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The rows as a DataFrame, its index their numbers."""
        return self.rows.to_frame()

    @property
    def said(self) -> str:
        """How an importer read the source, in one line; empty where none did."""
        return "" if self.imported is None else "; ".join([self.imported.format, *self.imported.readings])

    def reading(self, options: reading_options.ReadingOptions) -> reading_options.ReadingOptions:
        """Leave out the columns that an importer has used up."""
        if self.imported is None:
            return options
        there = self.rows.columns
        named = options.named_columns.items()
        kept = {role: column for role, column in named if column in there or LabelColumns.named(column, there)}
        return replace(options, columns=kept)


def open_source(source: reading.RowSource, named: Mapping[str, str], name: str = "table") -> OpenedSource:
    """Return the rows of a file, folder, frame or sequence; `named` is role to column or metric."""
    if isinstance(source, str | Path):
        path = Path(source)
        kind = reading.kind_of_file(path)
        if kind in ("json", "archive", "folder"):
            TABLES.require(f"reading {path}")
            return _document(path, kind, named)
    return OpenedSource(*reading.open_rows(source, name))


def open_labels(source: reading.RowSource) -> OpenedSource:
    """Return the rows of a file of labels; one that a tool of annotators exported goes through its importer."""
    opened = open_source(source, {}, "labels")
    if opened.imported is None and _is_of_a_tool(opened.rows):
        return _by_columns(opened, reading_options.ReadingOptions()) or opened
    return opened


def _is_of_a_tool(rows: Rows) -> bool:
    """Tell whether rows are known to be those of a tool although they could pass for a table."""
    return any(marks <= set(rows.columns) for marks in _MARKS)


def _document(path: Path, kind: str, named: Mapping[str, str]) -> OpenedSource:
    name = reading.name_of(path, "")
    readers: Mapping[str, Any] = {
        "json": archives.json_document,
        "archive": archives.parts_of_archive,
        "folder": archives.parts_of_folder,
    }
    document = readers[kind](path)
    imported = read_by_importer(Material(name, document=document, named=named))
    if imported is not None:
        return _imported(imported, name)
    records = _records(document) if kind == "json" else None
    if records is None:
        if kind == "folder":
            return OpenedSource(reading.read_raw(path), name)
        raise FileError(
            f"{path}: neither a list of objects nor a format that bonwise knows",
            hint="give a list with one object per candidate, or CSV, JSON Lines or Parquet",
        )
    return OpenedSource(reading.rows_of_records(records, name), name)


def _records(document: object) -> list[Any] | None:
    """Return the list of objects that is a JSON document, or that it holds under a usual key."""
    if isinstance(document, Mapping):
        lists = {key: value for key, value in document.items() if isinstance(value, list) and value}
        if len(lists) == 1:
            document = next(iter(lists.values()))
        else:
            document = next((lists[key] for key in _LISTS if key in lists), None)
    return document if isinstance(document, list) and all(isinstance(record, dict) for record in document) else None


def with_columns(
    opened: OpenedSource, options: reading_options.ReadingOptions, *, complete: bool = True
) -> tuple[OpenedSource, dict[str, str]]:
    """Return the rows of a table of scores and the columns by their role; another shape goes through its importer.

    Without `complete` scores need not be there. What is no table of scores otherwise is a ColumnError.
    """
    if opened.imported is None:
        if (other := pools_or_picks(opened.rows, opened.name)) is not None and not options.named_columns:
            raise other
        taken, problem = None, None
        try:
            taken = canonical.resolved(opened.rows, options, opened.name)
        except ColumnError as error:
            problem = error
        if taken is not None and not _is_of_a_tool(opened.rows) and not _has_lists(opened.rows, taken):
            return opened, taken
        opened_source = _by_columns(opened, options)
        if opened_source is None and taken is not None:
            return opened, taken
        if opened_source is None and complete and problem is not None:
            raise problem
        opened = opened if opened_source is None else opened_source
    if complete and opened.imported is not None and "judge_score" not in opened.rows.columns:
        raise ColumnError(f"{opened.name}: read as {opened.said}", hint="; ".join(opened.imported.lacks))
    return opened, canonical.resolved(opened.rows, opened.reading(options), opened.name, complete=complete)


def _has_lists(rows: Rows, taken: Mapping[str, str]) -> bool:
    """Tell whether a column that names or scores candidates holds lists or objects, by its first cell."""
    held = (rows[taken[role]] for role in _SINGLE if taken.get(role) in rows.columns)
    return any(isinstance(column.cell(0), StructuredText | list | dict | np.ndarray) for column in held)


def _by_columns(opened: OpenedSource, options: reading_options.ReadingOptions) -> OpenedSource | None:
    material = Material(opened.name, frame=opened.frame, named=options.named_columns)
    imported = read_by_importer(material)
    return None if imported is None else _imported(imported, opened.name)


def _imported(imported: Imported, name: str) -> OpenedSource:
    if not len(imported.frame):
        why = "; ".join(imported.lacks) or "no record names a prompt and a candidate"
        raise FileError(f"{name}: read as {imported.format}, and nothing in it can be used", hint=why)
    return OpenedSource(reading.rows_of_frame(imported.frame, name), name, imported)


@dataclass(frozen=True, eq=False)
class ConvertedTable:
    """The long table of a file."""

    frame: pd.DataFrame
    """Columns under their canonical names; the words of prompts and candidates and other columns after them."""
    said: str
    """How the file was read; empty for a table in the usual shape."""
    lacks: tuple[str, ...]
    """What an audit would need and the file does not hold, a sentence each."""
    left_out: int
    """Rows whose prompt or candidate cannot be told."""


def converted(source: reading.RowSource, options: reading_options.ReadingOptions) -> ConvertedTable:
    """Return every row of a file whose prompt and candidate can be told, see `bonwise.doctoring.front.convert`."""
    import pandas as pd  # noqa: PLC0415 - loaded only for a DataFrame

    opened = open_source(source, options.named_columns)
    opened, taken = with_columns(opened, options, complete=False)
    frame = opened.frame
    is_named = ~(is_blank_id(frame[taken["prompt_id"]]) | is_blank_id(frame[taken["candidate"]]))
    if not is_named.any():
        raise FileError(
            f"{opened.name}: no row names a prompt and a candidate",
            hint="name the columns with --prompt-col and --candidate-col",
        )
    frame = frame[is_named]
    lacks = list(opened.imported.lacks) if opened.imported is not None else []
    columns: dict[str, pd.Series] = {}
    for role in (role for role in roles.ROLES if taken.get(role) in frame.columns):
        column = frame[taken[role]]
        columns[role] = column
        if role in roles.NUMERIC:
            try:
                columns[role] = _as_numbers(column, role, options, opened)
            except RowError as error:
                lacks.append(str(error))
    labels = taken.get("oracle_label", "")
    if isinstance(labels, LabelColumns) and "oracle_label" in options.named_columns:
        # Names under which the columns of several annotators are found again.
        columns |= {f"label_{at}": frame[name] for at, name in enumerate(labels.names, start=1)}
        taken = taken | {f"label {name}": name for name in labels.names}
    used = {*taken.values(), *columns}
    others = [name for name in frame.columns if name not in used]
    for name in sorted(others, key=lambda name: name not in roles.SPOKEN):
        columns[str(name)] = frame[name]
    if "judge_score" not in columns and "oracle_label" in columns:
        # A file that begins with prompt, candidate and label is a label sheet, which nothing writes over.
        columns["oracle_label"] = columns.pop("oracle_label")
    made = pd.DataFrame(columns)
    held = None if not isinstance(labels, LabelColumns) else frame[list(labels.names)]
    lacks += [sentence for sentence in _lacking(made, held) if sentence.partition(":")[0] not in "; ".join(lacks)]
    return ConvertedTable(made, opened.said, tuple(lacks), int((~is_named).sum()))


def is_blank_id(column: pd.Series) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Tell which cells are no identifier; NA and null are, because a prompt may be called so."""
    missing = column.isna().to_numpy(dtype=bool)
    return np.asarray(missing | (column.astype(str).str.strip() == "").to_numpy(dtype=bool))


def _as_numbers(
    column: pd.Series, role: str, reading: reading_options.ReadingOptions, opened: OpenedSource
) -> pd.Series:
    """Return a column as plain numbers where it is written otherwise: a comma means another thing in another file."""
    if role in ("judge_score", "oracle_label"):
        values, words, how = label_words.read_labels(column, source=opened.name, worth=reading.word_values, role=role)
    else:
        words = {}
        values, how = numbers.read_numbers(column, role=role, source=opened.name)
    return column.__class__(values, index=column.index) if how or words else column


def _lacking(frame: pd.DataFrame, labels: pd.DataFrame | None) -> Iterator[str]:
    """Yield what an audit of these rows would need; labels of several annotators are in columns of their own."""
    pairs = frame[["prompt_id", "candidate"]].astype(str).drop_duplicates()
    if not pairs["prompt_id"].duplicated().any():
        yield "no prompt has a second candidate"
    if "judge_score" not in frame.columns or numbers.is_blank(frame["judge_score"]).all():
        yield "no judge's score: score the responses with bonwise judge"
    if labels is None and "oracle_label" in frame.columns:
        labels = frame[["oracle_label"]]
    if labels is None or all(numbers.is_blank(labels[name]).all() for name in labels.columns):
        yield "no label of a person: give them with --labels, or compare two judges with --oracle judge:NAME"

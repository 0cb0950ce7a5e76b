"""From what a user names to rows: files of bonwise's shape, and of other tools by importers, as the long table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bonwise.errors import ColumnError, FileError, OtherFileError
from bonwise.extras import TABLES
from bonwise.plugins import Factory, Group, Kind, is_built_in
from bonwise.table import archives, canonical, columns, nested, reading, reading_options, retrieval, roles, store
from bonwise.table.importers.material import Imported, Material

if TYPE_CHECKING:
    import pandas as pd

GROUP_OF_IMPORTERS = "bonwise.importers"


def importers() -> list[Kind]:
    """Return every importer that is installed; a broken one with the reason."""
    return _group().kinds(lambda _: ())


def read_by_importer(material: Material) -> Imported | None:
    """Return what a format's importer found, a built-in one first; None for unknown. Two plug-ins are refused."""
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


_MARKS = ({"annotation_id", "annotator"}, {"namedScores", "vars"}, {"Status #1", "Named Scores #1"})
"""Columns by which rows of a tool are known although they could pass for a table of scores."""

_SINGLE = ("prompt_id", "candidate", "judge_score")
"""Roles whose columns hold one thing in a cell."""

_LISTS = ("results", "data", "rows", "examples", "items", "records", "samples", "scores")
"""Keys under which a JSON object may hold the list that is its table."""


@dataclass(frozen=True, eq=False)
class OpenedSource:
    """Rows and where they come from."""

    rows: store.Rows
    name: str
    """How errors name the source."""
    imported: Imported | None = None
    """What an importer found; None where rows are read as they stand."""
    notes: tuple[str, ...] = ()
    """What was made of the rows besides, a sentence each."""
    is_unfolded: bool = False
    """Whether lists in cells became rows or columns."""

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The rows as a DataFrame, its index their numbers."""
        return self.rows.to_frame()

    @property
    def said(self) -> str:
        """How the source was read, in one line; empty where it was read as it stands."""
        imported = () if self.imported is None else (self.imported.format, *self.imported.readings)
        return "; ".join(filter(None, [self.rows.note, *imported, *self.every_note]))

    @property
    def every_note(self) -> tuple[str, ...]:
        """What was made of the rows, and what of them was left out because the file ends within a record."""
        return (*self.notes, *filter(None, [self.rows.cut_off]))

    def reading(self, options: reading_options.ReadingOptions) -> reading_options.ReadingOptions:
        """Leave out the columns that an importer has used up, or that were taken apart."""
        if self.imported is None and not self.is_unfolded:
            return options
        there = self.rows.columns
        named = options.named_columns.items()
        kept = {
            role: column for role, column in named if column in there or columns.LabelColumns.named(column, there)
        }
        return replace(options, columns=kept)


def open_source(source: reading.RowSource, named: Mapping[str, str], name: str = "table") -> OpenedSource:
    """Return the rows of a file, folder, frame or sequence; `named` is role to column or metric."""
    if isinstance(source, str | Path):
        path = Path(source)
        kind = reading.kind_of_file(path)
        if kind in ("json", "archive", "folder"):
            TABLES.require(f"reading {path}")
            return _with_paths(_document(path, kind, named), named)
    return _with_paths(OpenedSource(*reading.open_rows(source, name, in_part=True)), named)


def _with_paths(opened: OpenedSource, named: Mapping[str, str]) -> OpenedSource:
    """Add what was named by a path; what an importer made has no cells to look into."""
    if opened.imported is not None or not named:
        return opened
    return replace(opened, rows=nested.with_paths(opened.rows, named))


def open_labels(source: reading.RowSource, candidate: str | None = None) -> OpenedSource:
    """Return the rows of a file of labels, of another shape by an importer; `candidate` is the column named."""
    opened = open_source(retrieval.file_of_qrels(source), {}, "labels")
    refuse_cut_off(opened)
    names_candidates = candidate in opened.rows.columns or any(
        roles.claims("candidate", roles.by_key(opened.rows.columns))
    )
    if opened.imported is None and (_is_of_a_tool(opened.rows) or not names_candidates):
        imported = _by_columns(opened, reading_options.ReadingOptions())
        opened = opened if imported is None else imported
    return replace(opened, rows=retrieval.as_qrels(opened.rows))


def refuse_cut_off(opened: OpenedSource) -> None:
    """Refuse a file of labels that ends within a record: nobody would see which label is gone."""
    if opened.rows.cut_off:
        raise FileError(f"{opened.name}: {opened.rows.cut_off}", hint="check that whatever wrote it has finished")


def _is_of_a_tool(rows: store.Rows) -> bool:
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
    notes: tuple[str, ...] = ()
    if kind == "json" and (run := retrieval.rows_of_run(document)) is not None:
        return OpenedSource(run, name)
    records = _records(document) if kind == "json" else None
    if records is None and (records := nested.records_by_key(document)) is not None:
        keys = [key for key in ("prompt_id", "candidate") if key in records[0]]
        notes = (f"objects within an object, whose keys are {' and '.join(keys)}",)
    if records is None:
        if kind == "folder":
            return OpenedSource(reading.read_raw(path), name)
        raise FileError(
            f"{path}: neither a list of objects nor a format that bonwise knows",
            hint="give a list with one object per candidate, or CSV, JSON Lines or Parquet",
        )
    return OpenedSource(reading.rows_of_records(records, name), name, notes=notes)


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
    """Return rows and columns by role, through an importer for another shape; without `complete` scores may lack."""
    if opened.imported is None and not opened.is_unfolded:
        if (other := columns.pools_or_picks(opened.rows, opened.name)) is not None and not options.named_columns:
            raise other
        taken, problem = None, None
        try:
            taken = canonical.resolved(opened.rows, options, opened.name)
        except ColumnError as error:
            problem = error
        unfolded = nested.unfolded(opened.rows, options, taken, opened.name)
        if unfolded is not None:
            rows, how = unfolded
            opened = replace(opened, rows=rows, notes=(*opened.every_note, how), is_unfolded=True)
            reading_of_rows = opened.reading(options)
            return opened, canonical.resolved(opened.rows, reading_of_rows, opened.name, complete=complete)
        if taken is not None and not _is_of_a_tool(opened.rows) and not _has_lists(opened.rows, taken):
            return opened, taken
        opened_source = _by_columns(opened, options)
        if opened_source is None and taken is not None:
            return opened, taken
        if opened_source is None and complete and problem is not None:
            raise problem
        opened = opened if opened_source is None else opened_source
    if options.second_order is not None and not opened.is_unfolded:
        raise nested.no_orders(opened.name)
    if complete and opened.imported is not None and "judge_score" not in opened.rows.columns:
        raise OtherFileError(f"{opened.name}: read as {opened.said}", hint="; ".join(opened.imported.lacks))
    return opened, canonical.resolved(opened.rows, opened.reading(options), opened.name, complete=complete)


def _has_lists(rows: store.Rows, taken: Mapping[str, str]) -> bool:
    """Tell whether a column that names or scores candidates holds lists or objects, by its first cell."""
    held = (rows.columns[taken[role]] for role in _SINGLE if taken.get(role) in rows.columns)
    return any(isinstance(column.cell(0), store.StructuredText | list | dict | np.ndarray) for column in held)


def _by_columns(opened: OpenedSource, options: reading_options.ReadingOptions) -> OpenedSource | None:
    material = Material(opened.name, frame=opened.frame, named=options.named_columns)
    imported = read_by_importer(material)
    if imported is None:
        return None
    return replace(_imported(imported, opened.name, opened.rows.note), notes=opened.every_note)


def _imported(imported: Imported, name: str, note: str = "") -> OpenedSource:
    if not len(imported.frame):
        why = "; ".join(imported.lacks) or "no record names a prompt and a candidate"
        raise FileError(f"{name}: read as {imported.format}, and nothing in it can be used", hint=why)
    return OpenedSource(replace(reading.rows_of_frame(imported.frame, name), note=note), name, imported)

"""Files of a draw: the design and the sheet, written so that no label and no earlier draw is lost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bonwise.data.label_design import LabelDesign
from bonwise.data.numbers import is_blank
from bonwise.data.own_files import is_label_page
from bonwise.data.reading import read_raw
from bonwise.data.writing import csv_frame, write_whole
from bonwise.errors import InputError, UsageError
from bonwise.planning.sampling.blind_sheet import kind_of_sheet

__all__ = ["SheetFile", "write_draw", "write_sheet"]


@dataclass(frozen=True)
class SheetFile:
    """A label sheet to be written."""

    path: Path
    text: str
    beside: Mapping[Path, str] = field(default_factory=dict)
    """Files that go with it."""


def write_draw(design: LabelDesign, out: Path, sheet: SheetFile | None = None) -> None:
    """Write a design, and a sheet where one is asked for; both or, where something would be lost, neither.

    Parameters
    ----------
    design : LabelDesign
    out : pathlib.Path
    sheet : SheetFile, optional

    Raises
    ------
    bonwise.errors.UsageError
        A sheet stands there with labels, or another design.
    bonwise.errors.FileError
        A folder is absent or not writable, or the disk is full.
    """
    drawn = csv_frame(design.frame())
    if _differs(out, drawn) and LabelDesign.stands_in(out):
        raise UsageError(
            f"{out} holds another draw already",
            hint="give another name (--out); to draw more on top of it, name it as the earlier draw (--after)",
        )
    if sheet is not None:
        _refuse_lost_labels(sheet)
    write_whole(out, drawn)
    if sheet is not None:
        _write(sheet)


def write_sheet(sheet: SheetFile) -> None:
    """Write a sheet.

    Raises
    ------
    bonwise.errors.UsageError
        A sheet stands there with labels.
    bonwise.errors.FileError
        A folder is absent or not writable, or the disk is full.
    """
    _refuse_lost_labels(sheet)
    _write(sheet)


def _write(sheet: SheetFile) -> None:
    write_whole(sheet.path, sheet.text)
    for path, text in sheet.beside.items():
        write_whole(path, text)


def _refuse_lost_labels(sheet: SheetFile) -> None:
    path = sheet.path
    if not _differs(path, sheet.text):
        return
    hint = "give the sheet another name (--sheet); to draw more on top of an earlier draw, name that (--after)"
    if is_label_page(path):
        raise UsageError(f"{path} is the page of another sheet, and a browser may hold labels for it", hint=hint)
    if _holds_labels(path):
        raise UsageError(f"{path} holds labels already, and a new sheet would erase them", hint=hint)


def _differs(path: Path, text: str) -> bool:
    return path.is_file() and path.read_bytes() != text.encode()


def _holds_labels(path: Path) -> bool:
    """Return whether anything but an empty sheet stands there; what cannot be read may hold labels."""
    if not path.stat().st_size:
        return False
    if kind_of_sheet(path) == "tasks":
        return _holds_annotations(path)
    if kind_of_sheet(path) == "page":
        return False
    try:
        raw = read_raw(path)
    except InputError:
        return True
    return "oracle_label" not in raw.columns or not is_blank(raw["oracle_label"]).all()


def _holds_annotations(path: Path) -> bool:
    try:
        tasks = json.loads(path.read_text("utf-8"))
        return any(set(task) != {"data"} for task in tasks)
    except (ValueError, TypeError, RecursionError):
        return True

"""Files of a draw: the design and the sheet, written so that no label and no earlier draw is lost."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from bonwise.data.label_design import LabelDesign
from bonwise.data.numbers import is_blank
from bonwise.data.reading import read_raw
from bonwise.data.writing import csv_frame, write_whole
from bonwise.errors import InputError, UsageError

__all__ = ["write_draw"]


def write_draw(design: LabelDesign, sheet: pd.DataFrame, out: Path, sheet_out: Path | None) -> None:
    """Write a design, and a sheet where one is asked for; both or, where something would be lost, neither.

    Parameters
    ----------
    design : LabelDesign
    sheet : pandas.DataFrame
    out : pathlib.Path
    sheet_out : pathlib.Path, optional

    Raises
    ------
    bonwise.errors.UsageError
        A sheet stands there with labels, or another design.
    bonwise.errors.FileError
        A folder is absent or not writable, or the disk is full.
    """
    drawn, blank = csv_frame(design.frame()), csv_frame(sheet)
    if _differs(out, drawn) and LabelDesign.stands_in(out):
        raise UsageError(
            f"{out} holds another draw already",
            hint="give another name (--out); to draw more on top of it, name it as the earlier draw (--after)",
        )
    if sheet_out is not None and _differs(sheet_out, blank) and _holds_labels(sheet_out):
        raise UsageError(
            f"{sheet_out} holds labels already, and a new sheet would erase them",
            hint="give the sheet another name (--sheet); to draw more on top of an earlier draw, name that (--after)",
        )
    write_whole(out, drawn)
    if sheet_out is not None:
        write_whole(sheet_out, blank)


def _differs(path: Path, text: str) -> bool:
    return path.is_file() and path.read_bytes() != text.encode()


def _holds_labels(path: Path) -> bool:
    """Return whether anything but an empty sheet stands there; what cannot be read may hold labels."""
    if not path.stat().st_size:
        return False
    try:
        raw = read_raw(path)
    except InputError:
        return True
    return "oracle_label" not in raw.columns or not is_blank(raw["oracle_label"]).all()

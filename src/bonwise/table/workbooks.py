"""Sheets of Excel and LibreOffice, of which no more is unpacked or laid out than is read."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path
from typing import Any

from bonwise.errors import FileError
from bonwise.extras import EXCEL
from bonwise.printable import listed, quoted
from bonwise.table import archives
from bonwise.table.text_files import limit, open_plain

__all__ = ["MOST_CELLS", "only_name", "read_workbook"]

MOST_CELLS = 20_000_000
"""Cells of the rectangle around a sheet, each of which takes memory, blank or not."""

_CELL_OR_ROW = re.compile(rb"""\br\s*=\s*["']\s*([A-Za-z]*)([0-9]+)""")
_ROW = re.compile(rb"<(?:\w+:)?row\b")
_CELL = re.compile(rb"<(?:\w+:)?c\b")
_ERROR = re.compile(rb"""<(?:\w+:)?c\b[^>]*\bt\s*=\s*["']e["']""")
_ODS_ROW = re.compile(rb"<table:table-row\b([^>]*)")
_ODS_CELL = re.compile(rb"<table:(?:covered-)?table-cell\b([^>]*?)(/?)>")
_REPEATED = re.compile(rb"""repeated\s*=\s*["']\s*\+?([0-9]+)""")


def read_workbook(path: Path, sheet: str) -> tuple[list[list[Any]], str]:
    """Return all cells of a sheet, and a note on them; one of several must be named, as ``scores.xlsx:SHEET``."""
    with open_plain(path) as stream:
        content = stream.read()
    EXCEL.require(f"reading {path}")
    import python_calamine  # noqa: PLC0415 - an extra brings it

    if not zipfile.is_zipfile(io.BytesIO(content)):
        raise FileError(f"{path}: not a whole workbook of .xlsx or .ods", hint="save it as .xlsx or CSV")
    errors = _refuse_growth(path)
    try:
        book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(content))
        sheets = {name: book.get_sheet_by_name(name) for name in book.sheet_names}
        filled = {name: held for name, held in sheets.items() if held.height}
        grid = filled[only_name(path, sheet, list(filled), "sheet")].to_python(skip_empty_area=False)
    except (FileError, KeyboardInterrupt, MemoryError, SystemExit):
        raise
    except BaseException as error:  # what is damaged may end in a panic of the reader, which is no Exception
        raise FileError(f"{path}: not a workbook of Excel or LibreOffice", hint="save it as .xlsx or CSV") from error
    note = f"{errors:,} cells that hold errors, such as #N/A, are blank" if errors else ""
    return [[_plain(cell) for cell in row] for row in grid], note


def _plain(cell: Any) -> Any:
    """Return a cell as JSON would hold it: None where it is blank, whole numbers as such, times as text."""
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    return cell if isinstance(cell, bool | int | float) else str(cell) if str(cell).strip() else None


def only_name(path: Path, named: str, names: list[str], what: str) -> str:
    """Return the part of a file that was named, or its only one."""
    if named in names or (not named and len(names) == 1):
        return named or names[0]
    if not names:
        raise FileError(f"{path}: no {what} with rows", hint="check that whatever wrote it has finished")
    trouble = f"no {what} named {quoted(named)}" if named else f"{len(names)} {what}s, and none is named"
    raise FileError(f"{path}: {trouble}", hint=f"write {path}:NAME; the names are {listed(names)}")


def _refuse_growth(path: Path) -> int:
    """Refuse a workbook that unpacks to more than is read; return the cells of Excel that hold errors."""
    errors, most = 0, limit("MOST_CELLS", MOST_CELLS)
    for _, part in archives.unpacked_parts(path):
        if max(_cells_of_excel(part), _cells_of_ods(part)) > most:
            raise FileError(
                f"{path}: a sheet of more than {most:,} cells",
                hint="save the table as CSV, or set BONWISE_MOST_CELLS",
            )
        errors += len(_ERROR.findall(part))
    return errors


def _cells_of_excel(part: bytes) -> int:
    """Return the cells of the rectangle from the first to the last one of a sheet."""
    rows, columns = 0, 0
    for letters, number in _CELL_OR_ROW.findall(part):
        rows, column = max(rows, int(number[:9])), 0
        for letter in letters[:4].upper():
            column = column * 26 + letter - 64
        columns = max(columns, column)
    pieces = _ROW.split(part)
    return max(rows, len(pieces)) * max(columns, *(len(_CELL.findall(piece)) for piece in pieces))


def _cells_of_ods(part: bytes) -> int:
    """Return the cells of the rectangle to the last one that holds anything; a sheet ends in repeated blanks."""
    rows, last, width, pieces = 0, 0, 0, _ODS_ROW.split(part)
    for own, cells in zip(pieces[1::2], pieces[2::2], strict=True):
        rows, reach, place = rows + _times(own), 0, 0
        for attributes, is_blank in _ODS_CELL.findall(cells):
            place += _times(attributes)
            reach = reach if is_blank and b"value" not in attributes else place
        last, width = rows if reach else last, max(width, reach)
    return last * width


def _times(attributes: bytes) -> int:
    """Return how often a row or a cell is repeated, the largest number of any attribute that says so."""
    return max([1, *(int(number[:9]) for number in _REPEATED.findall(attributes))])

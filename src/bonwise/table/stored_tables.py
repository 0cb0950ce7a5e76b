"""Tables that are no text: SQLite, Arrow, data sets on disk and workbooks, read as they are and never written to."""

from __future__ import annotations

import io
import re
import struct
import zipfile
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from bonwise.errors import ColumnError, FileError
from bonwise.extras import EXCEL
from bonwise.printable import listed, quoted
from bonwise.table import archives
from bonwise.table.store import Rows
from bonwise.table.text_files import LONGEST_LINE, file_errors, limit, open_bytes, open_plain

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


_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"


def _only_reads(action: int, of: str | None, *_: object) -> int:
    """Allow reading, and no function that the file may call."""
    import sqlite3  # noqa: PLC0415 - other files need none of it

    reads = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ) or of == "table_xinfo"
    return sqlite3.SQLITE_OK if reads else sqlite3.SQLITE_DENY


def read_sqlite(path: Path, table: str, most: int) -> Rows:
    """Return rows of a table, perhaps ``scores.db:TABLE``, up to one beyond `most`; views would run code."""
    import sqlite3  # noqa: PLC0415 - other files need none of it

    with open_plain(path) as stream:
        if not stream.read(16).startswith(b"SQLite format 3"):
            raise FileError(f"{path}: not a database of SQLite", hint="check the ending of its name")
    if Path(f"{path}-wal").is_file() and Path(f"{path}-wal").stat().st_size:
        raise FileError(f"{path}: changes of it are pending in {path}-wal", hint="close the program that writes it")
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as store:
            store.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limit("LONGEST_LINE", LONGEST_LINE))
            store.set_authorizer(_only_reads)
            names = sorted(name for (name,) in store.execute(_TABLES) if not name.startswith("sqlite_"))
            if (table,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'view'"):
                raise FileError(f"{path}: {quoted(table)} is a view", hint="write its rows as a table or CSV")
            name = only_name(path, table, names, "table").replace('"', '""')
            if any(hidden for *_, hidden in store.execute(f'PRAGMA table_xinfo("{name}")')):
                raise FileError(f"{path}: {table or name} has columns that are computed", hint="write it as CSV")
            cursor = store.execute(f'SELECT * FROM "{name}" LIMIT {most + 1}')  # noqa: S608 - quoted
            columns, rows = [column[0] for column in cursor.description], cursor.fetchall()
    except (sqlite3.Error, UnicodeError) as error:
        raise FileError(f"{path}: cannot be read as SQLite: {error}", hint="write the table as CSV") from error
    return Rows.of_records([dict(zip(columns, row, strict=True)) for row in rows], range(1, len(rows) + 1))


def arrow_table(files: Sequence[Path]) -> tuple[Any, str]:
    """Return files of Arrow (IPC, as a file or a stream) as one table, its texts each once, and which have no end."""
    import pyarrow as pa  # noqa: PLC0415 - half a second that only files need

    tables, without_end = [], []
    for path in files:
        with file_errors(path), open_bytes(path) as stream:
            content = stream.read()
        try:
            # A file is a stream between two marks and a directory.
            is_file = content.startswith(b"ARROW1")
            if not content.endswith(b"ARROW1" if is_file else b"\xff\xff\xff\xff\0\0\0\0"):
                without_end.append(f"Arrow without the mark of its end ({path.name}), so rows may be missing")
            plain = pa.py_buffer(content[8:] if is_file else content)
            archives.refuse_size(path, _claimed(plain))
            tables.append(_with_words(path, pa.ipc.open_stream(plain).read_all()))
        except (pa.ArrowException, ValueError, struct.error) as error:
            raise FileError(f"{path}: not an Arrow file: {error}", hint="check the ending of its name") from error
        except OSError as error:
            raise FileError(f"{path}: the file is damaged or cut off", hint="write it again") from error
    return pa.concat_tables(tables, promote_options="default").unify_dictionaries(), "; ".join(without_end)


def _with_words(path: Path, table: Any) -> Any:
    """Return a table with its texts as they are read; refuse columns of which few bytes hold many values."""
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import compute  # noqa: PLC0415

    table.validate(full=True)
    if repeated := [name for name, times in Counter(table.column_names).items() if times > 1]:
        raise ColumnError(f"{path}: two columns are named {quoted(repeated[0])}", hint="rename one of them")
    for at, column in enumerate(table.columns):
        elements = compute.sum(compute.list_value_length(column)).as_py() if pa.types.is_list(column.type) else 0
        is_dense = not any(word in str(column.type) for word in ("run_end_encoded", "list_view"))
        if not is_dense or (elements or 0) > limit("MOST_CELLS", MOST_CELLS):
            raise FileError(f"{path}: a column of {column.type}", hint="write plain values")
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            table = table.set_column(at, table.column_names[at], column.cast(pa.string()).dictionary_encode())
    return table


def _claimed(stream: Any) -> int:
    """Return the bytes that the parts of a stream say they unpack to, which is taken before they are unpacked."""
    import pyarrow as pa  # noqa: PLC0415

    total, reader = 0, pa.ipc.MessageReader.open_stream(stream)
    while True:
        try:
            message = reader.read_next_message()
        except StopIteration:
            return total
        body = message.body or b""
        total += len(body) + sum(
            struct.unpack_from("<q", body, offset)[0] for offset in _packed_buffers(message.metadata.to_pybytes())
        )


def _packed_buffers(message: bytes) -> list[int]:
    """Return where the compressed buffers of a message begin, by Arrow's Message.fbs; none where none is."""

    def field(table: int, at: int) -> int:
        layout = table - struct.unpack_from("<i", message, table)[0]
        size = struct.unpack_from("<H", message, layout)[0]
        offset = struct.unpack_from("<H", message, layout + 4 + 2 * at)[0] if 4 + 2 * at < size else 0
        return table + offset if offset else 0

    def follow(place: int) -> int:
        return int(place + struct.unpack_from("<I", message, place)[0])

    root = follow(0)
    kind, batch = field(root, 1), field(root, 2)
    kind = message[kind] if kind else 0
    if kind == _DICTIONARY:
        batch = field(follow(batch), 1)
    if kind not in (_DICTIONARY, _BATCH) or not batch or not field(follow(batch), 3) or not field(follow(batch), 2):
        return []
    buffers = follow(field(follow(batch), 2))
    count = struct.unpack_from("<I", message, buffers)[0]
    places = (struct.unpack_from("<qq", message, buffers + 4 + 16 * at) for at in range(count))
    return [offset for offset, length in places if length]


_DICTIONARY, _BATCH = 2, 3


def data_files(folder: Path) -> list[Path]:
    """Return the files of a data set that Hugging Face's ``save_to_disk`` wrote; none for any other folder."""
    if (splits := folder / "dataset_dict.json").is_file():
        names = sorted(map(str, archives.json_document(splits).get("splits", [])))
        if len(names) != 1:
            raise FileError(
                f"{folder}: {len(names)} splits", hint=f"name one, such as {folder / (names or ['test'])[0]}"
            )
        folder = _inner(folder, names[0])
    if not (folder / "state.json").is_file():
        return []
    state = archives.json_document(folder / "state.json")
    if state.get("_indices_files") or state.get("_indices_data_files"):
        raise FileError(f"{folder}: its rows are chosen by indices", hint="flatten_indices(), and save it again")
    return [_inner(folder, str(file["filename"])) for file in state.get("_data_files", [])]


def _inner(folder: Path, name: str) -> Path:
    """Return a file of a folder; a name that leads out of it is refused."""
    if not (folder / name).resolve().is_relative_to(folder.resolve()):
        raise FileError(f"{folder}: names a file outside of it", hint="do not use this data set")
    return folder / name

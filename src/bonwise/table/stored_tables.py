"""Tables of SQLite and Arrow, and data sets of Hugging Face on disk: read as they are, and never written to."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from bonwise.errors import ColumnError, FileError
from bonwise.printable import quoted
from bonwise.table import archives, workbooks
from bonwise.table.store import Rows
from bonwise.table.text_files import LONGEST_LINE, file_errors, limit, open_bytes, open_plain

__all__ = ["arrow_table", "data_files", "read_sqlite"]

_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"


def _only_reads(action: int, of: str | None, *_: object) -> int:
    """Allow reading, and no function that the file may call."""
    import sqlite3  # noqa: PLC0415 - other files need none of it

    reads = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ) or of == "table_xinfo"
    return sqlite3.SQLITE_OK if reads else sqlite3.SQLITE_DENY


def read_sqlite(path: Path, table: str, most: int) -> Rows:
    """Return the rows of a table, up to one more than `most`; one of several must be named, as ``scores.db:TABLE``.

    Views, virtual tables and columns that call functions are refused, because they run what the file says.
    """
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
            name = workbooks.only_name(path, table, names, "table").replace('"', '""')
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
        if not is_dense or (elements or 0) > limit("MOST_CELLS", workbooks.MOST_CELLS):
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

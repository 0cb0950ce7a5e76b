"""Files and DataFrames to rows: cells as they stand, rows counted as a user would, columns told apart."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from glob import has_magic
from itertools import islice, pairwise, repeat
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypeGuard, Union

import numpy as np

from bonwise.errors import ColumnError, FileError, InputError, RowError, UsageError
from bonwise.extras import TABLES
from bonwise.printable import quoted
from bonwise.table import archives, retrieval, sheet_keys, stored_tables, text_files, writing
from bonwise.table.store import CodedColumn, Rows, StructuredText, Texts, objects

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd


_ENDINGS = ".csv, .tsv, .jsonl, .json, .parquet, .arrow (each also with .gz), .xlsx, .ods, .db or .eval"
_RESPONSES = "_responses.jsonl"
_DRAW = "draw_idx"

_PARTS = re.compile(r"(?si)^(.+\.(?:(xlsx|xlsm|ods)|db|sqlite3?))(?::(.*))?$")
"""Files that hold several tables, of which one is named behind a colon."""

_SEPARATORS = (",", ";", "\t")

_MOST_CELLS = 500_000_000
"""Cells of a Parquet file beyond which its size is a mistake or an attack."""

_MOST_ROWS = 5_000_000
"""Rows that are read and audited within a minute."""

MOST_ELEMENTS = 10_000
"""Elements of a list in the metadata of a Parquet file, such as columns with all that they are nested in."""

_DEEPEST = 100
"""Levels of a column of Parquet, of which a list takes two."""

_MOST_TEXT = 512 * 2**20
_MOST_GROWTH = 100
"""How many times its size the text of a Parquet file may be beyond `_MOST_TEXT` bytes: equal cells take no room."""

_MANY_TEXTS = 50_000
"""Distinct texts of a column from which no object is made of each before somebody needs it."""

_LARGE, _MOST_LETTERS = 2**23, 2**31
"""Bytes from which it pays to look at how a file is ordered, and those that a column of Arrow holds."""

_LOOKED_AT, _FEW_RUNS = 1_000, 10

_MOST_FIELDS = 2_000
"""Columns beyond which a header or the keys of JSON are data: a column each would fill the memory."""


def read_raw(path: Path, *, in_part: bool = False) -> Rows:
    """Read a file, or a folder of ``<policy>_responses.jsonl``, uninterpreted, by row; `in_part` may be cut off."""
    TABLES.require(f"reading {path}")
    with text_files.file_errors(path):
        rows = _read_folder(path) if path.is_dir() else _reader(path)(path)
    if not len(rows):
        raise FileError(f"{path}: no rows", hint="check that whatever wrote it has finished")
    _refuse_many(path, len(rows), len(rows.columns))
    if rows.cut_off and not in_part:
        raise FileError(f"{path}: {rows.cut_off}", hint="check that whatever wrote it has finished")
    return rows


def kind_of_file(path: Path) -> Literal["json", "archive", "folder", "table"]:
    """Tell what has to be taken apart as a whole: a JSON document, an archive, a folder without responses."""
    with text_files.file_errors(path):
        is_folder = path.is_dir()
    if is_folder:
        return "table" if _response_files(path) or stored_tables.data_files(path) else "folder"
    ending = path.name.lower()
    if ending.endswith(".eval"):
        return "archive"
    return "json" if ending.removesuffix(".gz").endswith(".json") else "table"


def rows_of_records(records: list[dict[str, Any]], source: str) -> Rows:
    """Return the rows of a list of objects, numbered from 1; none, or too many different keys, are refused."""
    flat = [_flat(record) for record in records]
    if not flat:
        raise FileError(f"{source}: no rows", hint="check that whatever wrote it has finished")
    most = _most_fields()
    if len({key for record in flat for key in record}) > most:
        raise FileError(
            f"{source}: more than {most:,} different fields",
            hint="give every row the same fields, or set BONWISE_MOST_COLUMNS",
        )
    _refuse_many(source, len(flat))
    return Rows.of_records(flat, range(1, len(flat) + 1))


def _read_json(path: Path) -> Rows:
    document = archives.json_document(path)
    if not isinstance(document, list) or not all(isinstance(record, dict) for record in document):
        raise FileError(
            f"{path}: not a list of objects", hint=f"write its rows with bonwise doctor {path} --fix FILE"
        )
    return rows_of_records(document, str(path))


def _reader(path: Path) -> Callable[[Path], Rows]:
    if _PARTS.match(str(path)):
        return _read_part
    endings = [suffix.lower() for suffix in path.suffixes]
    kind = endings[-2] if endings[-1:] == [".gz"] and len(endings) > 1 else (endings or [""])[-1]
    readers: dict[str, Callable[[Path], Rows]] = {
        ".csv": _read_csv,
        ".tsv": _read_tsv,
        ".jsonl": _read_jsonl,
        ".ndjson": _read_jsonl,
        ".json": _read_json,
        ".parquet": _read_parquet,
        ".pq": _read_parquet,
        **dict.fromkeys((".arrow", ".feather", ".ipc"), _read_arrow),
    }
    if kind not in readers:
        if not path.exists():
            raise FileError(f"{path}: no such file", hint="check the path")
        if retrieval.is_ranking(path):
            return retrieval.read_ranking
        raise FileError(f"{path}: unknown kind of file", hint=f"the name must end in {_ENDINGS}")
    return readers[kind]


def _read_part(path: Path) -> Rows:
    ((file, is_workbook, name),) = _PARTS.findall(str(path))
    if not is_workbook:
        return stored_tables.read_sqlite(Path(file), name, text_files.limit("MOST_ROWS", _MOST_ROWS))
    return _read_sheet(Path(file), name)


def _read_sheet(path: Path, sheet: str) -> Rows:
    grid, note = stored_tables.read_workbook(path, sheet)
    filled = [at for at, row in enumerate(grid) if any(cell is not None for cell in row)]
    header = ["" if cell is None else str(cell) for cell in grid[filled[0]]] if filled else []
    columns = [[grid[at][place] for at in filled[1:]] for place in range(len(header))]
    # Beside and below a table there may be cells that once held something.
    used = [at for at, cells in enumerate(columns) if header[at] or any(cell is not None for cell in cells)]
    names, index = _column_names(path, [header[at] for at in used]), np.array(filled[1:], dtype=np.int64) + 1
    made = {name: CodedColumn.of_cells(columns[at], index) for name, at in zip(names, used, strict=True)}
    return Rows(made, index, note)


def _read_arrow(*files: Path) -> Rows:
    table, cut_off = stored_tables.arrow_table(files)
    _refuse_many(files[0], len(table), len(table.columns))
    _refuse_long(files[0], table, _MOST_TEXT)
    return replace(_rows_of_arrow(table), cut_off=cut_off)


def _read_csv(path: Path) -> Rows:
    return _read_separated(path, ",")


def _read_tsv(path: Path) -> Rows:
    return _read_separated(path, "\t")


def _read_separated(path: Path, separator: str) -> Rows:
    opened, note = text_files.open_as_utf_8(path)
    separator, header = _csv_header(path, separator, opened)
    rows = replace(_csv_cells(path, separator, header, opened), note=note)
    # The first row that holds anything is the header.
    blank = _blank_rows(rows)
    rows = rows.take(np.flatnonzero(~blank)[1:] if blank.any() else slice(1, None))
    _free_unused()
    return rows.assign({name: _without_quotes(column) for name, column in rows.columns.items()})


def _free_unused() -> None:
    """Give back what Arrow keeps of the memory that it read a file into."""
    import pyarrow as pa  # noqa: PLC0415 - half a second that only files need

    pa.default_memory_pool().release_unused()


def _without_quotes(column: CodedColumn) -> CodedColumn:
    """Take off the quote with which a spreadsheet begins a formula that is text."""
    held = column.held_cells
    if isinstance(held, Texts) and not held.begin_with("'"):
        return column
    cells = held.objects if isinstance(held, Texts) else held
    if not any(map(str.startswith, cells, repeat("'"))):
        return column
    return column.with_cells([writing.plain_cell(cell) for cell in cells])


def _csv_header(path: Path, separator: str, opened: Callable[[], IO[bytes]]) -> tuple[str, list[str]]:
    """Return what separates cells, not as the ending says where that makes one cell, and names or positions."""
    cells = _first_record(path, separator, opened)
    if len(cells) == 1:
        others = {other: names for other in _SEPARATORS if len(names := _first_record(path, other, opened)) > 1}
        separator, cells = max(others.items(), key=lambda item: len(item[1]), default=(separator, cells))
    return separator, _column_names(path, cells)


def _first_record(path: Path, separator: str, opened: Callable[[], IO[bytes]]) -> list[str]:
    with io.TextIOWrapper(opened(), encoding="utf-8-sig", newline="") as stream:
        records = csv.reader(stream, delimiter=separator)
        try:
            return next((record for record in records if "".join(record).strip()), [])
        except csv.Error as error:
            raise FileError(f"{path}, row 1: not a CSV header: {error}", hint="check the first line") from error


def _column_names(path: Path, cells: list[str]) -> list[str]:
    if not cells:
        raise FileError(f"{path}: no header and no rows", hint="name the columns in the first line")
    if len(cells) > (most := _most_fields()):
        raise ColumnError(
            f"{path}: more than {most:,} columns", hint="check the separator, or set BONWISE_MOST_COLUMNS"
        )
    names = [writing.plain_cell(cell) or f"column {position}" for position, cell in enumerate(cells, start=1)]
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if {"Status", "Named Scores"} <= set(names):
        return _numbered(names)  # of promptfoo, which repeats them for each output
    if repeated:
        raise ColumnError(f"{path}: two columns are named {quoted(repeated[0])}", hint="rename one of them")
    return names


def _numbered(names: Sequence[str]) -> list[str]:
    """Tell columns of one name, and those of the first output, apart by their number."""
    first = names.index("Status") - 1
    times: Counter[str] = Counter()
    return [*names[:first], *(f"{name} #{times.update([name]) or times[name]}" for name in names[first:])]


def _csv_cells(path: Path, separator: str, header: list[str], opened: Callable[[], IO[bytes]]) -> Rows:
    """Read all records, the header among them, as text, by their row numbers."""
    import pyarrow as pa  # noqa: PLC0415 - half a second that only files need

    blank: list[int] = []
    ragged: list[Any] = []
    ends_within = _ends_within_a_line(path, opened)

    def refuse_ragged(record: Any) -> str:
        if not record.text.strip():
            blank.append(record.number - 1)
            return "skip"
        # The last row of a file that was cut off has fewer cells; that no other one follows shows at the end.
        ragged.append(record)
        return "skip" if len(ragged) == 1 and record.actual_columns < len(header) and ends_within else "error"

    try:
        table = _arrow_csv(path, separator, len(header), refuse_ragged, opened)
    except pa.ArrowException as error:
        raise _not_csv(path, len(header), ragged) from error
    if ragged and ragged[0].number != len(table) + len(blank) + 1:
        raise _not_csv(path, len(header), ragged)
    index = np.arange(1, 1 + len(table) + len(blank))
    index = np.delete(index, blank) if blank else index
    columns = {
        name: CodedColumn(index, dictionary=_dictionary(column), decimal_comma=separator == ";")
        for name, column in zip(header, table.columns, strict=True)
    }
    cells = [f"{_CUT_OFF} {last.number} ({last.actual_columns} of {len(header)} cells)" for last in ragged]
    return Rows(columns, index, cut_off="".join(cells))


def _ends_within_a_line(path: Path, opened: Callable[[], IO[bytes]]) -> bool:
    """Tell whether the last line of a file has no end, as one that was cut off."""
    if path.name.lower().endswith(".gz"):
        return False  # a gzipped file that was cut off cannot be read
    with opened() as stream:
        stream.seek(max(stream.seek(0, io.SEEK_END) - 1, 0))
        return stream.read(1) not in (b"\n", b"\r")


def _dictionary(column: Any) -> tuple[np.typing.NDArray[Any], np.typing.NDArray[np.object_] | Texts]:
    """Return the codes and the distinct cells of a column of Arrow that holds text, or each text once."""
    from pyarrow import types  # noqa: PLC0415 - half a second that only files need

    if types.is_string(column.type):
        return _by_runs(_whole(column))
    whole = _whole(column.unify_dictionaries())
    texts = whole.dictionary
    return _numpy(whole.indices, -1), objects(_texts_of(texts)) if len(texts) < _MANY_TEXTS else Texts(texts)


def _by_runs(texts: Any) -> tuple[np.typing.NDArray[Any], Texts]:
    """Return the codes and the distinct texts of a column in which equal ones mostly stand together."""
    from pyarrow import compute  # noqa: PLC0415 - half a second that only files need

    begins = np.ones(len(texts), dtype=bool)
    begins[1:] = _numpy(compute.not_equal(texts[1:], texts[:-1]).cast("uint8"), 0)
    runs = np.cumsum(begins, dtype=np.int32) - np.int32(1)
    each = Texts(texts).at(np.flatnonzero(begins)).array
    header, rest = each[:1], each[1:]
    rise = compute.all(compute.less(rest[:-1], rest[1:])).as_py() is not False
    if rise and compute.index(rest, header[0]).as_py() < 0:
        return runs, Texts(each)
    each = each.dictionary_encode()
    return _numpy(each.indices, -1)[runs], Texts(each.dictionary)


def _whole(column: Any) -> Any:
    whole = column.combine_chunks()
    return whole.chunk(0) if hasattr(whole, "chunks") else whole  # by the version of pyarrow


def _numpy(whole: Any, missing: float) -> np.typing.NDArray[Any]:
    """Return an array of numbers of Arrow, some value where there is none; what Arrow has for it loads pandas."""
    valid, content = whole.buffers()
    held = slice(whole.offset, whole.offset + len(whole))
    values: np.typing.NDArray[Any] = np.frombuffer(content, dtype=whole.type.to_pandas_dtype())[held]
    if not whole.null_count:
        return values
    is_valid = np.unpackbits(np.frombuffer(valid, dtype=np.uint8), bitorder="little")[held]
    return np.where(is_valid, values, missing)


def _texts_of(texts: Any) -> list[str]:
    """Return the texts of an array of Arrow, none of them missing, faster than one by one."""
    _, ends, content = texts.buffers()
    at = np.frombuffer(ends, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1].tolist()
    held = b"" if content is None else content.to_pybytes()
    if held.isascii():
        every = held.decode("ascii")
        return [every[start:end] for start, end in pairwise(at)]
    return [held[start:end].decode() for start, end in pairwise(at)]


def _in_runs(path: Path, separator: str, width: int, opened: Callable[[], IO[bytes]]) -> list[int]:
    """Return columns of a large file whose equal cells stand together: compared, as looking up takes longer."""
    if path.suffix.lower() == ".gz" or not _LARGE <= path.stat().st_size < _MOST_LETTERS:
        return []
    with io.TextIOWrapper(opened(), encoding="utf-8-sig", newline="") as stream:
        try:
            first = list(islice(csv.reader(stream, delimiter=separator), _LOOKED_AT))[1:]
        except csv.Error:
            return []
    columns = list(zip(*(record for record in first if len(record) == width), strict=True))
    return [
        at
        for at, cells in enumerate(columns)
        if _FEW_RUNS < len({*cells}) == 1 + sum(cell != after for cell, after in pairwise(cells))
    ]


def _arrow_csv(
    path: Path, separator: str, width: int, irregular: Callable[[Any], str], opened: Callable[[], IO[bytes]]
) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - half a second that only files need
    from pyarrow import csv as arrow_csv  # noqa: PLC0415

    positions = [str(position) for position in range(width)]
    # Only a single thread numbers the irregular rows.
    reading = arrow_csv.ReadOptions(use_threads=False, block_size=2 * text_files.LONGEST_LINE, column_names=positions)
    parsing = arrow_csv.ParseOptions(
        delimiter=separator, newlines_in_values=True, ignore_empty_lines=False, invalid_row_handler=irregular
    )
    # Each distinct cell once: few of them are the rule for scores, and checks look at nothing else.
    kinds = dict.fromkeys(positions, pa.dictionary(pa.int32(), pa.string()))
    kinds |= {str(position): pa.string() for position in _in_runs(path, separator, width, opened)}
    cells = arrow_csv.ConvertOptions(column_types=kinds)
    with opened() as stream:
        return arrow_csv.read_csv(stream, reading, parsing, cells)


def _not_csv(path: Path, width: int, ragged: list[Any]) -> FileError | RowError:
    hint = "quote cells that hold separators or line breaks, and close every quote"
    if not ragged:
        return FileError(f"{path}: not a regular table: a row does not end", hint=hint)
    cells = "1 cell" if ragged[0].actual_columns == 1 else f"{ragged[0].actual_columns} cells"
    return RowError(f"{path}, row {ragged[0].number}: {cells}, but the header has {width}", hint=hint)


def _blank_rows(rows: Rows) -> np.typing.NDArray[np.bool_]:
    """Mark the rows that hold nothing, as spreadsheets leave them at the end."""
    blank = np.ones(len(rows), dtype=bool)
    for column in sorted(rows.columns.values(), key=lambda column: len(column.held_cells)):
        if all(map(str.strip, column.cells)):
            return np.zeros(len(rows), dtype=bool)
        blank &= column.marked([not cell.strip() for cell in column.cells])
    return blank


def _read_jsonl(path: Path) -> Rows:
    rows, records = [], []
    fields: set[str] = set()
    cut_off: list[int] = []
    most = _most_fields()
    for row, record in text_files.json_lines(path, cut_off):
        rows.append(row)
        records.append(_flat(record))
        fields.update(records[-1])
        if len(fields) > most:
            raise RowError(
                f"{path}, row {row}: more than {most:,} different fields",
                hint="give every line the same fields, or set BONWISE_MOST_COLUMNS",
            )
    made = Rows.of_records(records, rows)
    return replace(made, cut_off=f"{_CUT_OFF} {cut_off[0]} (no whole object)") if cut_off else made


_CUT_OFF = "1 row was left out, because the file ends within it: row"


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    """Lift what stands under ``metadata`` beside the rest, where exporters put scores and labels."""
    metadata = record.get("metadata")
    if isinstance(metadata, dict):
        outer = {k: v for k, v in record.items() if k != "metadata"}
        # A blank beside the metadata hides nothing in it.
        record = {**metadata, **{k: v for k, v in outer.items() if v is not None or k not in metadata}}
    return {k: v if not isinstance(v, dict | list) else StructuredText(json.dumps(v)) for k, v in record.items()}


def _read_parquet(path: Path) -> Rows:
    from pyarrow import parquet  # noqa: PLC0415 - half a second that only files need

    with text_files.open_bytes(path) as stream:
        content = stream.read()
    if not content:
        raise FileError(f"{path}: the file is empty", hint="check that whatever wrote it has finished")
    try:
        # Older decoders follow a schema to any depth, and crash.
        metadata = parquet.ParquetFile(io.BytesIO(content), thrift_container_size_limit=MOST_ELEMENTS).metadata
        _refuse_claim(path, metadata)
        schema = metadata.schema.to_arrow_schema()
        # Without the metadata that pandas leaves, an index that was written is a column like the others.
        table = parquet.ParquetFile(io.BytesIO(content), read_dictionary=_texts(schema)).read()
        _refuse_long(path, table, max(_MOST_TEXT, _MOST_GROWTH * len(content)))
        _refuse_other_text(path, table)
        return _rows_of_arrow(table)
    except (MemoryError, InputError):
        raise
    except Exception as error:  # damaged pages raise whatever the decoder stumbles on
        if "nested" in str(error) or "size limit" in str(error):
            raise _nested(path) from error
        raise FileError(f"{path}: not a Parquet file", hint="check the ending of its name") from error


def _refuse_other_text(path: Path, table: Any) -> None:
    """Refuse text that is not UTF-8, which would otherwise be found cell by cell, long after."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            column.validate(full=True)
        except ValueError as error:
            if "UTF8" not in str(error):
                raise
            raise FileError(f"{path}: {quoted(name)} is not UTF-8", hint="write its text as UTF-8") from error


def _refuse_claim(path: Path, metadata: Any) -> None:
    """Refuse a file that says that it holds more than memory does: equal cells take no room in Parquet."""
    groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
    # Of lists there are more values than rows.
    values = sum(group.column(at).num_values for group in groups for at in range(group.num_columns))
    _refuse_many(path, metadata.num_rows, metadata.num_columns, values)
    if any(metadata.schema.column(at).path.count(".") > _DEEPEST for at in range(metadata.num_columns)):
        raise _nested(path)


def _nested(path: Path) -> FileError:
    return FileError(f"{path}: columns nested too deep, or too many row groups", hint="write columns of plain values")


STATS_FILE = ".stats"
"""Ending of files that say what parts of a table add up to."""

IN_BATCHES = (".parquet", ".pq", ".csv", ".tsv")
"""Endings of files that are read in batches."""

REMOTE_ADDRESS = re.compile(r"([a-z][a-z0-9+.]+):/{1,2}(?=[^/])")
_ROW_BYTES = 100  # of CSV, by which its rows are counted before it is read


def stats_files(source: object) -> list[Path]:
    """Return the stats files that a source names, none where it is something else."""
    files = source if isinstance(source, list | tuple) else [source]
    named = [Path(file) for file in files if isinstance(file, str | Path) and str(file).endswith(STATS_FILE)]
    return named if len(named) == len(files) else []


def in_batches(source: object) -> bool:
    """Tell whether a source is read in batches unasked: several files, or more rows than are read at once."""
    if not isinstance(source, str | Path):
        return bool(stats_files(source))
    path = Path(source)
    if stats_files(source) or REMOTE_ADDRESS.match(str(source)) or (has_magic(str(source)) and not path.exists()):
        return True
    if path.is_dir():
        endings = {inner.suffix.lower() for inner in path.iterdir() if not inner.name.startswith((".", "_"))}
        return bool(endings) and endings <= {*IN_BATCHES}
    return path.suffix.lower() in IN_BATCHES and path.is_file() and _has_many_rows(path)


def _has_many_rows(path: Path) -> bool:
    rows, most = path.stat().st_size // _ROW_BYTES, text_files.limit("MOST_ROWS", _MOST_ROWS)
    if path.suffix.lower() in (".csv", ".tsv") or TABLES.missing():
        return rows > most
    from pyarrow import ArrowException, parquet  # noqa: PLC0415 - half a second that only files need

    try:
        # Older decoders follow a schema to any depth, and crash.
        with text_files.open_plain(path) as stream:
            whole = parquet.ParquetFile(stream, thrift_container_size_limit=MOST_ELEMENTS)
            return int(whole.metadata.num_rows) > most
    except (ArrowException, OSError, ValueError):
        return False  # whoever reads it says what is wrong


def _refuse_many(source: Path | str, rows: int, columns: int = 0, cells: int = 0) -> None:
    """Refuse more rows, columns or cells than are read."""
    for name, usual, count in (
        ("ROWS", _MOST_ROWS, rows),
        ("COLUMNS", _MOST_FIELDS, columns),
        ("CELLS", _MOST_CELLS, cells),
    ):
        if count > (most := text_files.limit(f"MOST_{name}", usual)):
            raise FileError(
                f"{source}: {count:,} {name.lower()}, and at most {most:,} are read",
                hint=f"split it, or set BONWISE_MOST_{name}",
            )


def _texts(schema: Any) -> list[str]:
    """Return the columns of text, which are read as they are stored: each text once."""
    import pyarrow as pa  # noqa: PLC0415 - half a second that only files need

    return [field.name for field in schema if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)]


def _refuse_long(path: Path, table: Any, usual: int) -> None:
    """Refuse a cell, or text of all cells together, that is longer than what is read."""
    from pyarrow import compute, types  # noqa: PLC0415 - half a second that only files need

    left, longest = text_files.limit("MOST_BYTES", usual), text_files.limit("LONGEST_LINE", text_files.LONGEST_LINE)
    for name, column in zip(table.column_names, table.columns, strict=True):
        for chunk in column.chunks if types.is_dictionary(column.type) else ():
            if not types.is_string(chunk.dictionary.type) and not types.is_large_string(chunk.dictionary.type):
                continue
            lengths = compute.binary_length(chunk.dictionary).cast("int64")
            left -= compute.sum(lengths.take(chunk.indices)).as_py() or 0
            if (compute.max(lengths).as_py() or 0) > longest:
                raise FileError(
                    f"{path}: {quoted(name)} holds a cell of more than {longest // 2**20} MiB",
                    hint="shorten it, or set BONWISE_LONGEST_LINE",
                )
    if left < 0:
        raise FileError(f"{path}: grows to more text than is read", hint="split it, or set BONWISE_MOST_BYTES")


def _rows_of_arrow(table: Any) -> Rows:
    """Return the columns that are not an index of pandas."""
    from pyarrow import types  # noqa: PLC0415 - half a second that only files need

    index, columns = np.arange(len(table)), {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name.startswith("__index_level_"):
            continue
        if types.is_dictionary(column.type) and types.is_string(column.type.value_type):
            columns[name] = CodedColumn(index, dictionary=_dictionary(column))
        elif types.is_integer(column.type) or types.is_floating(column.type):
            columns[name] = CodedColumn(index, _numpy(_whole(column), np.nan))
        else:
            columns[name] = CodedColumn.of_cells(column.to_pylist(), index)
    return Rows(columns, index)


def _most_fields() -> int:
    return text_files.limit("MOST_COLUMNS", _MOST_FIELDS)


def _response_files(path: Path) -> list[Path]:
    with text_files.file_errors(path):
        return sorted(file for file in path.iterdir() if file.name.removesuffix(".gz").endswith(_RESPONSES))


def _read_folder(path: Path) -> Rows:
    if data := stored_tables.data_files(path):
        return _read_arrow(*data)
    files = _response_files(path)
    if not files:
        raise FileError(f"{path}: no file named <policy>{_RESPONSES} in it", hint="name a file instead")
    records: list[dict[str, Any]] = []
    numbers: list[str] = []
    for file in files:
        rows = read_raw(file)
        policy = file.name.removesuffix(".gz").removesuffix(_RESPONSES)
        if "candidate" in rows.columns and any(str(cell) != policy for cell in rows.columns["candidate"].to_numpy()):
            raise ColumnError(
                f"{file}: its candidate column contradicts its name", hint="drop the column or rename it"
            )
        names = [policy] * len(rows)
        if _DRAW in rows.columns and len(rows.columns[_DRAW].cells) + rows.columns[_DRAW].is_missing().any() > 1:
            # CJE numbers the responses of a policy: each is another candidate, not another score of one.
            names = [f"{policy} #{str(cell).removesuffix('.0')}" for cell in rows.columns[_DRAW].to_numpy()]
            rows = rows.without(_DRAW)
        cells = [column.to_numpy() for column in rows.columns.values()]
        for name, *held in zip(names, *cells, strict=True):
            records.append({**dict(zip(rows.columns, held, strict=True)), "candidate": name})
        numbers.extend(f"{row} of {file.name}" for row in rows.index)
    return Rows.of_records(records, numbers)


RowSource = Union[str, Path, "pd.DataFrame", Sequence[Mapping[str, Any]]]
"""The path of a file, a frame, or rows, each a mapping of column to value."""


def name_of(source: object, name: str) -> str:
    """Return what to call a file, a frame or rows: a file by its path, all else by this name."""
    return str(source) if isinstance(source, str | Path) else name


def open_rows(source: RowSource, name: str = "table", *, in_part: bool = False) -> tuple[Rows, str]:
    """Return rows of a file, frame or sequence, keys of blind sheets as ids, and how errors name them."""
    if isinstance(source, str | Path):
        rows = read_raw(Path(source), in_part=in_part)
        return sheet_keys.with_ids(rows, str(source)), name_of(source, name)
    if is_frame(source):
        TABLES.require("a table of scores, labels or votes")
        rows = rows_of_frame(source.set_axis(range(len(source)), axis=0), name)
    elif isinstance(source, list | tuple):
        rows = _rows_of_sequence(source, name)
    else:
        raise UsageError(
            f"{type(source).__name__} is not a table",
            hint="give the path of a file, a pandas DataFrame, or a list of rows, each a mapping of column to value",
        )
    if not len(rows):
        raise ColumnError(f"{name}: no rows", hint="check how the frame was made")
    return sheet_keys.with_ids(rows, name), name


def open_frame(source: RowSource, name: str = "table", *, in_part: bool = False) -> tuple[pd.DataFrame, str]:
    """Return what `open_rows` does as a DataFrame, its index the row numbers."""
    rows, name = open_rows(source, name, in_part=in_part)
    return rows.to_frame(), name


def is_frame(source: object) -> TypeGuard[pd.DataFrame]:
    """Tell whether this is a DataFrame, without loading pandas: who has one has loaded it."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(source, pandas.DataFrame)


def rows_of_frame(frame: pd.DataFrame, source: str) -> Rows:
    """Return a DataFrame as rows, its index as their numbers; two columns of one name are a ColumnError."""
    if frame.columns.has_duplicates:
        name = frame.columns[frame.columns.duplicated()][0]
        raise ColumnError(f"{source}: two columns are named {quoted(name)}", hint="rename one of them")
    return Rows.of(frame)


def _rows_of_sequence(rows: Sequence[Any], name: str) -> Rows:
    TABLES.require("a table of scores, labels or votes")
    for position, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise UsageError(
                f"{name}: row {position} (counted from 0) is a {type(row).__name__}, not a mapping",
                hint="such as {'prompt_id': 'p1', 'candidate': 'a', 'judge_score': 0.7, 'oracle_label': 1}",
            )
    return Rows.of_records(rows)

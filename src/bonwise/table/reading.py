"""Files and DataFrames to one raw frame: cells as they stand, rows counted as a user would, columns told apart."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from bonwise.errors import ColumnError, FileError, InputError, RowError, UsageError
from bonwise.extras import TABLES
from bonwise.printable import quoted
from bonwise.table import archives, numbers, sheet_keys, writing
from bonwise.table.text_files import LONGEST_LINE, check_text, file_errors, json_lines, limit, open_bytes, open_text

if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = [
    "RowSource",
    "counted_rows",
    "frame_of_records",
    "kind_of_file",
    "name_of",
    "open_rows",
    "read_raw",
    "refuse_duplicate_columns",
]

_ENDINGS = ".csv, .tsv, .jsonl, .json or .parquet (each also with .gz), or .eval"
_RESPONSES = "_responses.jsonl"
_DRAW = "draw_idx"

_SEPARATORS = (",", ";", "\t")

_MOST_CELLS = 500_000_000
"""Cells of a Parquet file beyond which its size is a mistake or an attack."""

_MOST_ROWS = 5_000_000
"""Rows that are read and audited within a minute."""

_MOST_ELEMENTS = 10_000
"""Elements of a list in the metadata of a Parquet file, such as columns with all that they are nested in."""

_DEEPEST = 100
"""Levels of a column of Parquet, of which a list takes two."""

_MOST_TEXT = 512 * 2**20
_MOST_GROWTH = 100
"""How many times its size the text of a Parquet file may be beyond `_MOST_TEXT` bytes: equal cells take no room."""

_MOST_FIELDS = 2_000
"""Columns beyond which a header or the keys of JSON are data: a column each would fill the memory."""


def read_raw(path: Path) -> pd.DataFrame:
    """Read a file, or a folder of ``<policy>_responses.jsonl``, without interpreting a cell, by row numbers.

    A FileError is a file that cannot be used, a RowError a line with too few or too many cells, or no JSON object.
    """
    TABLES.require(f"reading {path}")
    with file_errors(path):
        frame = _read_folder(path) if path.is_dir() else _reader(path)(path)
    if not len(frame):
        raise FileError(f"{path}: no rows", hint="check that whatever wrote it has finished")
    _refuse_many(path, len(frame), len(frame.columns))
    return frame


def kind_of_file(path: Path) -> Literal["json", "archive", "folder", "table"]:
    """Tell what has to be taken apart as a whole: a JSON document, an archive, a folder without responses."""
    with file_errors(path):
        is_folder = path.is_dir()
    if is_folder:
        return "table" if _response_files(path) else "folder"
    ending = path.name.lower()
    if ending.endswith(".eval"):
        return "archive"
    return "json" if ending.removesuffix(".gz").endswith(".json") else "table"


def frame_of_records(records: list[dict[str, Any]], source: str) -> pd.DataFrame:
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
    return _frame_of(flat, list(range(1, len(flat) + 1)))


def _read_json(path: Path) -> pd.DataFrame:
    document = archives.json_document(path)
    if not isinstance(document, list) or not all(isinstance(record, dict) for record in document):
        raise FileError(
            f"{path}: not a list of objects", hint=f"write its rows with bonwise convert {path} --out FILE"
        )
    return frame_of_records(document, str(path))


def _reader(path: Path) -> Callable[[Path], pd.DataFrame]:
    endings = [suffix.lower() for suffix in path.suffixes]
    kind = endings[-2] if endings[-1:] == [".gz"] and len(endings) > 1 else (endings or [""])[-1]
    readers = {
        ".csv": _read_csv,
        ".tsv": _read_tsv,
        ".jsonl": _read_jsonl,
        ".ndjson": _read_jsonl,
        ".json": _read_json,
        ".parquet": _read_parquet,
        ".pq": _read_parquet,
    }
    if kind not in readers:
        if not path.exists():
            raise FileError(f"{path}: no such file", hint="check the path")
        raise FileError(f"{path}: unknown kind of file", hint=f"the name must end in {_ENDINGS}")
    return readers[kind]


def _read_csv(path: Path) -> pd.DataFrame:
    return _read_separated(path, ",")


def _read_tsv(path: Path) -> pd.DataFrame:
    return _read_separated(path, "\t")


def _read_separated(path: Path, separator: str) -> pd.DataFrame:
    check_text(path)
    separator, header = _csv_header(path, separator)
    frame = _csv_cells(path, separator, len(header))
    frame = frame[~_blank_rows(frame)].iloc[1:].set_axis(header, axis=1)
    if separator == ";":
        # Before any column is looked at: older pandas keeps a column as it was when it was first looked at.
        frame.attrs[numbers.DECIMAL_COMMA] = True
    for name in header:
        if frame[name].str.startswith("'").any():
            frame[name] = frame[name].map(writing.plain_cell)
    return frame


def _csv_header(path: Path, separator: str) -> tuple[str, list[str]]:
    """Return what separates cells, and the names of the columns, or their positions.

    A header that is one cell by the separator of the ending, and several by another, has that other one.
    """
    cells = _first_record(path, separator)
    if len(cells) == 1:
        others = {other: names for other in _SEPARATORS if len(names := _first_record(path, other)) > 1}
        separator, cells = max(others.items(), key=lambda item: len(item[1]), default=(separator, cells))
    return separator, _column_names(path, cells)


def _first_record(path: Path, separator: str) -> list[str]:
    with open_text(path, newline="") as stream:
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
    if {"Status", "Named Scores"} <= set(repeated):
        raise ColumnError(
            f"{path}: this looks like a CSV of promptfoo, whose columns have no names of their own",
            hint="export JSON, which bonwise reads: promptfoo eval -o results.json",
        )
    if repeated:
        raise ColumnError(f"{path}: two columns are named {quoted(repeated[0])}", hint="rename one of them")
    return names


def _csv_cells(path: Path, separator: str, width: int) -> pd.DataFrame:
    """Read all records, the header among them, as text; the index holds their row numbers."""
    import pyarrow as pa  # noqa: PLC0415 - half a second that only files need

    blank: list[int] = []
    ragged: list[Any] = []

    def refuse_ragged(record: Any) -> str:
        if record.text.strip():
            ragged.append(record)
            return "error"
        blank.append(record.number - 1)
        return "skip"

    try:
        frame = _arrow_csv(path, separator, width, refuse_ragged)
    except pa.ArrowException as error:
        raise _not_csv(path, width, ragged) from error
    frame.index = pd.Index(np.delete(np.arange(1, 1 + len(frame) + len(blank)), blank))
    return frame


def _arrow_csv(path: Path, separator: str, width: int, irregular: Callable[[Any], str]) -> pd.DataFrame:
    import pyarrow as pa  # noqa: PLC0415 - half a second that only files need
    from pyarrow import csv as arrow_csv  # noqa: PLC0415

    positions = [str(position) for position in range(width)]
    # Only a single thread numbers the irregular rows.
    reading = arrow_csv.ReadOptions(use_threads=False, block_size=2 * LONGEST_LINE, column_names=positions)
    parsing = arrow_csv.ParseOptions(
        delimiter=separator, newlines_in_values=True, ignore_empty_lines=False, invalid_row_handler=irregular
    )
    cells = arrow_csv.ConvertOptions(column_types=dict.fromkeys(positions, pa.string()))
    with open_bytes(path) as stream:
        table = arrow_csv.read_csv(stream, reading, parsing, cells)
    frame: pd.DataFrame = table.to_pandas()
    return frame


def _not_csv(path: Path, width: int, ragged: list[Any]) -> FileError | RowError:
    hint = "quote cells that hold separators or line breaks, and close every quote"
    if not ragged:
        return FileError(f"{path}: not a regular table: a row does not end", hint=hint)
    cells = "1 cell" if ragged[0].actual_columns == 1 else f"{ragged[0].actual_columns} cells"
    return RowError(f"{path}, row {ragged[0].number}: {cells}, but the header has {width}", hint=hint)


def _blank_rows(frame: pd.DataFrame) -> np.typing.NDArray[np.bool_]:
    """Mark the rows that hold nothing, as spreadsheets leave them at the end."""
    blank = np.ones(len(frame), dtype=bool)
    for name in frame.columns:
        blank[blank] = (frame[name][blank].str.strip() == "").to_numpy(dtype=bool)
        if not blank.any():
            break
    return blank


def _read_jsonl(path: Path) -> pd.DataFrame:
    rows, records = [], []
    fields: set[str] = set()
    most = _most_fields()
    for row, record in json_lines(path):
        rows.append(row)
        records.append(_flat(record))
        fields.update(records[-1])
        if len(fields) > most:
            raise RowError(
                f"{path}, row {row}: more than {most:,} different fields",
                hint="give every line the same fields, or set BONWISE_MOST_COLUMNS",
            )
    return _frame_of(records, rows) if records else pd.DataFrame()


def _frame_of(records: list[dict[str, Any]], rows: list[int]) -> pd.DataFrame:
    try:
        frame = pd.DataFrame.from_records(records, index=pd.Index(rows))
    except OverflowError:  # pandas 2 has no column for whole numbers beyond floats, whose digits say the same
        records = [
            {name: str(cell) if _is_huge(cell) else cell for name, cell in record.items()} for record in records
        ]
        frame = pd.DataFrame.from_records(records, index=pd.Index(rows))
    for name in {name for record in records for name, cell in record.items() if type(cell) is numbers.StructuredText}:
        # A column of text would make plain text of it.
        frame[name] = pd.Series([record.get(name) for record in records], index=frame.index, dtype=object)
    return frame


def _is_huge(cell: object) -> bool:
    return isinstance(cell, int) and cell.bit_length() >= sys.float_info.max_exp


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    """Lift what stands under ``metadata`` beside the rest, where exporters put scores and labels."""
    metadata = record.get("metadata")
    if isinstance(metadata, dict):
        outer = {k: v for k, v in record.items() if k != "metadata"}
        # A blank beside the metadata hides nothing in it.
        record = {**metadata, **{k: v for k, v in outer.items() if v is not None or k not in metadata}}
    return {
        k: v if not isinstance(v, dict | list) else numbers.StructuredText(json.dumps(v)) for k, v in record.items()
    }


def _read_parquet(path: Path) -> pd.DataFrame:
    from pyarrow import parquet  # noqa: PLC0415 - half a second that only files need

    with open_bytes(path) as stream:
        content = stream.read()
    if not content:
        raise FileError(f"{path}: the file is empty", hint="check that whatever wrote it has finished")
    try:
        # Older decoders follow a schema to any depth, and crash.
        metadata = parquet.ParquetFile(io.BytesIO(content), thrift_container_size_limit=_MOST_ELEMENTS).metadata
        _refuse_claim(path, metadata)
        schema = metadata.schema.to_arrow_schema()
        # Without the metadata that pandas leaves, an index that was written is a column like the others.
        table = parquet.read_table(io.BytesIO(content), read_dictionary=_texts(schema))
        _refuse_long(path, table, max(_MOST_TEXT, _MOST_GROWTH * len(content)))
        _refuse_other_text(path, table)
        frame: pd.DataFrame = _plain(table, schema).to_pandas(ignore_metadata=True)
    except (MemoryError, InputError):
        raise
    except Exception as error:  # damaged pages raise whatever the decoder stumbles on
        if "nested" in str(error) or "size limit" in str(error):
            raise _nested(path) from error
        raise FileError(f"{path}: not a Parquet file", hint="check the ending of its name") from error
    return frame


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


def _refuse_many(source: Path | str, rows: int, columns: int = 0, cells: int = 0) -> None:
    """Refuse more rows, columns or cells than are read."""
    for name, usual, count in (
        ("ROWS", _MOST_ROWS, rows),
        ("COLUMNS", _MOST_FIELDS, columns),
        ("CELLS", _MOST_CELLS, cells),
    ):
        if count > (most := limit(f"MOST_{name}", usual)):
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

    left, longest = limit("MOST_BYTES", usual), limit("LONGEST_LINE", LONGEST_LINE)
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


def _plain(table: Any, schema: Any) -> Any:
    """Return the columns that are not an index of pandas, of the types that the file states."""
    for at, column in enumerate(schema):
        if table.schema.field(at).type != column.type:
            table = table.set_column(at, column.name, table.column(at).cast(column.type))
    return table.select([at for at, name in enumerate(table.column_names) if not _is_index(name)])


def _most_fields() -> int:
    return limit("MOST_COLUMNS", _MOST_FIELDS)


def _is_index(name: str) -> bool:
    return name.startswith("__index_level_")


def _response_files(path: Path) -> list[Path]:
    with file_errors(path):
        return sorted(file for file in path.iterdir() if file.name.removesuffix(".gz").endswith(_RESPONSES))


def _read_folder(path: Path) -> pd.DataFrame:
    files = _response_files(path)
    if not files:
        raise FileError(f"{path}: no file named <policy>{_RESPONSES} in it", hint="name a file instead")
    frames = []
    for file in files:
        frame = read_raw(file)
        policy = file.name.removesuffix(".gz").removesuffix(_RESPONSES)
        if "candidate" in frame.columns and (frame["candidate"].astype(str) != policy).any():
            raise ColumnError(
                f"{file}: its candidate column contradicts its name", hint="drop the column or rename it"
            )
        frame["candidate"] = policy
        if _DRAW in frame.columns and len(frame[_DRAW].unique()) > 1:
            # CJE numbers the responses of a policy: each is another candidate, not another score of one.
            frame["candidate"] = policy + " #" + frame[_DRAW].astype(str).str.removesuffix(".0")
            frame = frame.drop(columns=_DRAW)
        frames.append(frame.set_axis([f"{row} of {file.name}" for row in frame.index], axis=0))
    return pd.concat(frames)


RowSource = str | Path | pd.DataFrame | Sequence[Mapping[str, Any]]
"""The path of a file, a frame, or rows, each a mapping of column to value."""


def counted_rows(frame: pd.DataFrame, source: str) -> pd.DataFrame:
    """Return a frame with rows numbered from 0; no rows, or two columns of one name, are a ColumnError."""
    TABLES.require("a table of scores, labels or votes")
    refuse_duplicate_columns(frame, source)
    if not len(frame):
        raise ColumnError(f"{source}: no rows", hint="check how the frame was made")
    return frame.set_axis(pd.RangeIndex(len(frame)), axis=0)


def name_of(source: object, name: str) -> str:
    """Return what to call a file, a frame or rows: a file by its path, all else by this name."""
    return str(source) if isinstance(source, str | Path) else name


def open_rows(source: RowSource, name: str = "table") -> tuple[pd.DataFrame, str]:
    """Return the rows of a file, a frame or a sequence as they stand, and how errors name them.

    Keys of a blind label sheet become ids; what a mapping lacks is blank; a row that is no mapping is a UsageError.

    Examples
    --------
    >>> frame, name = open_rows(pd.DataFrame({"won": ["a", "b"]}, index=[7, 8]))
    >>> name, frame.index.tolist()
    ('table', [0, 1])
    """
    if isinstance(source, str | Path):
        return sheet_keys.with_ids(read_raw(Path(source)), str(source)), name_of(source, name)
    if isinstance(source, pd.DataFrame):
        return sheet_keys.with_ids(counted_rows(source, name), name), name
    if isinstance(source, list | tuple):
        return sheet_keys.with_ids(counted_rows(_frame_of_rows(source, name), name), name), name
    raise UsageError(
        f"{type(source).__name__} is not a table",
        hint="give the path of a file, a pandas DataFrame, or a list of rows, each a mapping of column to value",
    )


def _frame_of_rows(rows: Sequence[Any], name: str) -> pd.DataFrame:
    for position, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise UsageError(
                f"{name}: row {position} (counted from 0) is a {type(row).__name__}, not a mapping",
                hint="such as {'prompt_id': 'p1', 'candidate': 'a', 'judge_score': 0.7, 'oracle_label': 1}",
            )
    return pd.DataFrame([dict(row) for row in rows])


def refuse_duplicate_columns(frame: pd.DataFrame, source: str) -> None:
    """Refuse two columns of one name."""
    if frame.columns.has_duplicates:
        name = frame.columns[frame.columns.duplicated()][0]
        raise ColumnError(f"{source}: two columns are named {quoted(name)}", hint="rename one of them")

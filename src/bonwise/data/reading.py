"""Files to one raw frame: every cell as it stands, the index holding the row numbers a user would count.

Row numbers: in CSV the header is row 1; in JSONL the first line is row 1; in Parquet and in a
DataFrame rows are counted from 0.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from bonwise.data.bytes_check import check_text, file_errors, open_bytes
from bonwise.errors import ColumnError, FileError, RowError

__all__ = ["json_lines", "read_raw"]

_ENDINGS = ".csv, .tsv, .jsonl or .parquet (each also with .gz)"
_RESPONSES = "_responses.jsonl"


def read_raw(path: Path) -> pd.DataFrame:
    """Read a file, or a folder of ``<policy>_responses.jsonl``, without interpreting a cell.

    Parameters
    ----------
    path : pathlib.Path
        CSV, TSV, JSONL or Parquet, plain or gzipped, or a folder.

    Returns
    -------
    pandas.DataFrame
        One row a record; the index holds row numbers.

    Raises
    ------
    bonwise.errors.FileError
        The file is absent, empty, binary, not UTF-8, damaged, or of an unknown kind.
    """
    if path.is_dir():
        return _read_folder(path)
    reader = _reader(path)
    with file_errors(path):
        frame = reader(path)
    if not len(frame):
        raise FileError(f"{path}: no rows", hint="check that whatever wrote it has finished")
    return frame


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the row number and the object of each non-blank line.

    Raises
    ------
    bonwise.errors.RowError
        A line that is not one JSON object.
    """
    check_text(path)
    with file_errors(path), open_bytes(path) as stream:
        for row, line in enumerate(io.TextIOWrapper(stream, encoding="utf-8-sig"), start=1):
            if line.strip():
                yield row, _json_object(path, row, line)


def _reader(path: Path) -> Callable[[Path], pd.DataFrame]:
    endings = [suffix.lower() for suffix in path.suffixes]
    kind = endings[-2] if endings[-1:] == [".gz"] and len(endings) > 1 else (endings or [""])[-1]
    readers = {
        ".csv": _read_csv,
        ".tsv": _read_csv,
        ".jsonl": _read_jsonl,
        ".ndjson": _read_jsonl,
        ".parquet": _read_parquet,
        ".pq": _read_parquet,
    }
    if kind not in readers:
        if not path.exists():
            raise FileError(f"{path}: no such file", hint="check the path")
        raise FileError(f"{path}: unknown kind of file", hint=f"the name must end in {_ENDINGS}")
    return readers[kind]


def _read_csv(path: Path) -> pd.DataFrame:
    check_text(path)
    separator = "\t" if ".tsv" in path.suffixes else ","
    header = _csv_header(path, separator)
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise ColumnError(f"{path}: two columns are named {repeated[0]!r}", hint="rename one of them")
    try:
        frame = pd.read_csv(
            path, sep=separator, dtype=str, na_filter=False, encoding="utf-8-sig", index_col=False
        )
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        detail = str(error).strip().rsplit("C error: ", maxsplit=1)[-1]
        raise FileError(f"{path}: not a regular CSV table: {detail}", hint="quote cells that hold commas") from error
    frame = frame.map(_unescape) if _escaped(frame) else frame
    frame.index = pd.RangeIndex(2, 2 + len(frame))
    return frame


def _csv_header(path: Path, separator: str) -> list[str]:
    with open_bytes(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        try:
            return next(csv.reader(text, delimiter=separator), [])
        except csv.Error as error:
            raise FileError(f"{path}, row 1: not a CSV header: {error}", hint="check the first line") from error


def _escaped(frame: pd.DataFrame) -> bool:
    return any(frame[column].str.startswith("'").any() for column in frame.columns)


def _unescape(cell: object) -> object:
    # The inverse of bonwise.data.writing.csv_cell, so that identifiers survive the round trip.
    if isinstance(cell, str) and cell.startswith("'") and cell.lstrip("'")[:1] in set("=+-@\t\r"):
        return cell[1:] if cell.lstrip("'") else cell
    return cell


def _read_jsonl(path: Path) -> pd.DataFrame:
    rows, records = [], []
    for row, record in json_lines(path):
        rows.append(row)
        records.append(_flat(record))
    return pd.DataFrame.from_records(records, index=pd.Index(rows)) if records else pd.DataFrame()


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    """Lift what stands under ``metadata`` beside the rest, where exporters put scores and labels."""
    metadata = record.get("metadata")
    if isinstance(metadata, dict):
        record = {**metadata, **{k: v for k, v in record.items() if k != "metadata"}}
    return {k: v if not isinstance(v, dict | list) else json.dumps(v) for k, v in record.items()}


def _json_object(path: Path, row: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise RowError(f"{path}, row {row}: not JSON: {error}", hint="one JSON object a line") from error
    if not isinstance(record, dict):
        raise RowError(f"{path}, row {row}: not a JSON object", hint="one JSON object a line")
    return record


def _read_parquet(path: Path) -> pd.DataFrame:
    import pyarrow as pa  # noqa: PLC0415 - half a second that only Parquet needs

    try:
        with open_bytes(path) as stream:
            frame = pd.read_parquet(io.BytesIO(stream.read()))
    except (pa.ArrowException, ValueError) as error:
        raise FileError(f"{path}: not a Parquet file", hint="check the ending of its name") from error
    return frame.reset_index(drop=True)


def _read_folder(path: Path) -> pd.DataFrame:
    files = sorted(path.glob("*" + _RESPONSES))
    if not files:
        raise FileError(f"{path}: no file named <policy>{_RESPONSES} in it", hint="name a file instead")
    frames = []
    for file in files:
        frame = read_raw(file)
        frame["candidate"] = file.name.removesuffix(_RESPONSES)
        frames.append(frame.rename(index=lambda row, name=file.name: f"{row} of {name}"))
    return pd.concat(frames)

"""What bonwise writes: whole files or none, no cell that a spreadsheet runs, and which files may be replaced."""

from __future__ import annotations

import csv
import json
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from bonwise.errors import FileError
from bonwise.table.text_files import file_errors

if TYPE_CHECKING:
    import pandas as pd

_FORMULA = frozenset("=+-@\uff1d\uff0b\uff0d\uff20\t\r\n")  # the four signs in both widths
_NUMBER = re.compile(r"[+-]\d+(\.\d+)?(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_RECORD_END = "\r\n;\t"


def csv_cell(value: object) -> object:
    """Defuse text that a spreadsheet would run, not numbers, by an apostrophe that `plain_cell` takes off."""
    return "'" + value if isinstance(value, str) and _is_formula(value) and not _NUMBER.fullmatch(value) else value


def plain_cell(text: str) -> str:
    """Undo `csv_cell`."""
    return text[1:] if text.startswith("'") and _is_formula(text) else text


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Render rows as CSV with Unix line ends, each cell defused; one with a semicolon or a tab is quoted."""
    lines = _UnixLines()
    # The writer quotes every letter of its line end; none of these is written as one.
    writer = csv.writer(lines, lineterminator=_RECORD_END)
    writer.writerow([csv_cell(name) for name in header])
    writer.writerows([csv_cell(cell) for cell in row] for row in rows)
    return "".join(lines)


def csv_frame(frame: pd.DataFrame) -> str:
    """Render a DataFrame as `csv_text`, a missing value as a blank cell."""
    blank = frame.astype(object).where(frame.notna(), "")
    return csv_text(list(frame.columns), blank.itertuples(index=False, name=None))


class _UnixLines(list[str]):
    """Records as csv.writer hands them over, one a call, each with a Unix line end."""

    def write(self, record: str) -> None:
        self.append(record.removesuffix(_RECORD_END) + "\n")


def refuse_unwritable(path: str | Path) -> None:
    """Refuse a folder, and a file in a folder that is absent or not writable; a link stands for its target."""
    with file_errors(Path(path)):
        if is_in_place(path):
            return
        target = Path(os.path.realpath(path))
        if target.is_dir():
            raise FileError(f"{path}: is a folder, not a file", hint="name a file in it")
        if not target.parent.is_dir():
            raise FileError(f"{Path(path).parent}: no such folder", hint="make the folder first")
        if not os.access(target.parent, os.W_OK):
            raise FileError(f"{path}: nothing can be written in its folder", hint="name a file in a folder of yours")


def write_whole(path: Path, text: str | bytes | Iterable[str]) -> None:
    """Write a file so that a reader never sees half; pipes, devices and standard streams are written in place."""
    parts = [text] if isinstance(text, str | bytes) else text
    encoded = (part if isinstance(part, bytes) else part.encode("utf-8") for part in parts)
    with file_errors(path):
        refuse_unwritable(path)
        if is_in_place(path):
            _write_in_place(path, encoded)
        else:
            _replace(Path(os.path.realpath(path)), encoded)  # a link is followed, not replaced


def is_in_place(path: str | Path) -> bool:
    """Tell whether a path names what no other file can take the place of: a pipe, a device, a standard stream."""
    try:
        status = os.stat(path)  # noqa: PTH116 - through links without a name too, as /dev/stdout is to a pipe
    except (FileNotFoundError, NotADirectoryError):
        return False
    if stat.S_ISDIR(status.st_mode):
        return False
    return not stat.S_ISREG(status.st_mode) or _standard_stream(status) is not None


def _standard_stream(status: os.stat_result) -> TextIO | None:
    """Return the stream of this process, output or error, that goes to a file; None for any other file."""
    for stream in (sys.__stdout__, sys.__stderr__):
        # Closed before the process began or since, or never a file.
        with suppress(OSError, ValueError):
            if stream is not None and os.path.samestat(status, os.fstat(stream.fileno())):
                return stream
    return None


def _write_in_place(path: Path, parts: Iterable[bytes]) -> None:
    standard = _standard_stream(path.stat())
    if standard is not None:
        standard.flush()
    # Opened anew, a file would be written over from its beginning; a copy of the descriptor goes on where it stands.
    target: Path | int = path if standard is None else os.dup(standard.fileno())
    with suppress(BrokenPipeError), open(target, "wb") as stream:  # noqa: PTH123 - or a number
        stream.writelines(parts)


def _replace(path: Path, parts: Iterable[bytes]) -> None:
    name = path.parent / f".bonwise.{secrets.token_hex(8)}"
    handle = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.writelines(parts)
            stream.flush()
            os.fsync(stream.fileno())  # else a power cut may leave the new name on an empty file
        if path.exists():
            name.chmod(stat.S_IMODE(path.stat().st_mode))
        name.replace(path)
    except BaseException:
        name.unlink(missing_ok=True)
        raise


def _is_formula(text: str) -> bool:
    return text.lstrip("'")[:1] in _FORMULA


SHEET = ("prompt_id", "candidate", "oracle_label")
"""Columns with which a label sheet begins."""

BLIND_SHEET = ("sheet_key", "oracle_label")
"""Columns with which a blind label sheet begins, and what a label page exports."""

LABEL_PAGE = '<meta name="generator" content="bonwise label sheet">'
"""Tells a page for labelling from other pages; its labels are in a browser, where nothing can look."""

TASKS = '[\n{"data": {"sheet_key": "'
"""What a file of tasks for Label Studio begins with."""

_HEAD = 65536
"""Bytes at the beginning of a file that are looked at."""

_DOCUMENT = re.compile(r'\s*\{\s*"schema":\s*"bonwise\.')
_PAGE = re.compile(
    r'\s*<!DOCTYPE html>.*?(<meta name="generator" content="bonwise">'
    r"|content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-)",
    re.DOTALL,
)
_LABEL_PAGE = re.compile(rf"\s*<!DOCTYPE html>.*?{re.escape(LABEL_PAGE)}", re.DOTALL)
_LABEL_STUDIO = re.compile(r"<View><!-- bonwise label sheet -->")
_MARKDOWN = re.compile(r"## Audit of |<!-- bonwise\.")
_TABLE = re.compile(r'(schema,[^\n]*\n|\{"schema":|PAR1[\s\S]{0,99}?)"?bonwise\.')
"""A table of figures as CSV, JSON Lines or Parquet: its first column names the schema."""
_JUNIT = re.compile(r'(<\?xml[^>]*\?>\s*)?<testsuites name="bonwise audit"')
_SEPARATOR = re.compile(r"[,;\t]")


def refuse_foreign(path: str | Path, headers: Iterable[Sequence[str]] = (), *, force: bool = False) -> None:
    """Refuse to replace what `headers` do not begin without `force`, or a sheet with a label; not empty files."""
    place = Path(path)
    with file_errors(place):
        if is_in_place(place) or not place.is_file():
            return
        with place.open("rb") as stream:
            head = stream.read(_HEAD).decode("utf-8-sig", errors="replace")
        headers = tuple(headers)
        # Who writes sheets compares the old one with the new one, and keeps the labels of the old one.
        if SHEET not in headers:
            _refuse_labels(place, head)
        if head and not force and not _is_own(head, headers):
            raise FileError(
                f"{path}: is there already, and does not look like a file that this command wrote",
                hint="give the output another name, or replace the file with --force",
            )


def is_label_page(path: Path) -> bool:
    """Tell whether a file is a page for labelling."""
    with file_errors(path), path.open("rb") as stream:
        return _LABEL_PAGE.match(stream.read(_HEAD).decode("utf-8-sig", errors="replace")) is not None


def _refuse_labels(path: Path, head: str) -> None:
    names = _names(head)
    what = ""
    if any(names[: len(sheet)] == sheet for sheet in (SHEET, BLIND_SHEET)) and _is_filled(path):
        what = "a label sheet with labels filled in"
    elif _LABEL_PAGE.match(head):
        what = "a page for labelling"
    elif '"sheet_key"' in head and '"annotations"' in head:
        what = "an export with labels of a label sheet"
    if what:
        raise FileError(f"{path}: is {what}, which is never replaced", hint="give the output another name")


def _is_own(head: str, headers: Iterable[Sequence[str]]) -> bool:
    if any(mark.match(head) for mark in (_DOCUMENT, _PAGE, _MARKDOWN, _JUNIT, _TABLE)):
        return True
    headers = tuple(headers)
    if SHEET in headers and (
        head.startswith(TASKS) or any(pattern.match(head) for pattern in (_LABEL_PAGE, _LABEL_STUDIO))
    ):
        return True
    names = _names(head)
    return any(names[: len(header)] == tuple(header) for header in headers)


def _names(head: str) -> tuple[str, ...]:
    """Return the keys of the first line of JSON Lines, or the columns of CSV, perhaps saved by a spreadsheet."""
    line = head.partition("\n")[0].rstrip("\r")
    if not line.startswith("{"):
        return tuple(name.strip('"') for name in _SEPARATOR.split(line))
    try:
        return tuple(json.loads(line))
    except ValueError:
        # A line longer than the head; its first keys are in it.
        return tuple(re.findall(r'"(\w+)":', line))


def _is_filled(path: Path) -> bool:
    """Tell whether a label sheet holds a label."""
    import csv  # noqa: PLC0415 - few files that stand in the way are label sheets

    with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        first = stream.readline()
        separator = _SEPARATOR.search(first)
        rows = csv.reader(stream, delimiter=separator[0] if separator else ",")
        try:
            at = _names(first).index("oracle_label")
            return any(len(row) > at and row[at].strip() for row in rows)
        except csv.Error:
            return True  # what cannot be read may hold labels

"""What bonwise writes: whole files or none, and cells that a spreadsheet will not run."""

from __future__ import annotations

import csv
import os
import re
import secrets
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from bonwise.data.bytes_check import file_errors
from bonwise.errors import FileError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

__all__ = ["csv_cell", "csv_frame", "csv_text", "is_in_place", "plain_cell", "refuse_unwritable", "write_whole"]

_FORMULA = frozenset("=+-@\uff1d\uff0b\uff0d\uff20\t\r\n")  # the four signs in both widths
_NUMBER = re.compile(r"[+-]\d+(\.\d+)?(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_RECORD_END = "\r\n;\t"


def csv_cell(value: object) -> object:
    """Defuse a text cell that a spreadsheet would run as a formula; numbers stay as they are, also those in words.

    A leading apostrophe is added; the reader of this package takes it off again, so that
    identifiers are the same after a round trip.

    Examples
    --------
    >>> csv_cell("=1+1"), csv_cell("plain"), csv_cell(-0.5), csv_cell("-0.5")
    ("'=1+1", 'plain', -0.5, '-0.5')
    """
    return "'" + value if isinstance(value, str) and _is_formula(value) and not _NUMBER.fullmatch(value) else value


def plain_cell(text: str) -> str:
    """Undo `csv_cell`.

    Examples
    --------
    >>> plain_cell("'=1+1"), plain_cell("'tis"), plain_cell("plain")
    ('=1+1', "'tis", 'plain')
    """
    return text[1:] if text.startswith("'") and _is_formula(text) else text


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Render rows as CSV with Unix line ends, each cell defused.

    A cell that holds what separates cells elsewhere, a semicolon or a tab, is quoted.

    Examples
    --------
    >>> print(csv_text(["id", "score"], [["a;b", 1], ["c", 0.5]]), end="")
    id,score
    "a;b",1
    c,0.5
    """
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
    """Refuse a file that cannot be written where it is named; a link stands for what it points to.

    Raises
    ------
    bonwise.errors.FileError
        A folder, or a file in a folder that is not there or not to be written in.
    """
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


def write_whole(path: Path, text: str | Iterable[str]) -> None:
    """Write a file so that a reader sees the old one or the new one, never half of either.

    Text that comes in parts is written as it comes; where that breaks off with an error, the old file stays. A pipe
    or a device is written in its place, and so is what standard output or standard error go to, after what they
    have written there. A reader of these who leaves early is not an error.

    Raises
    ------
    bonwise.errors.FileError
        The folder is absent or not writable, or the disk is full.
    """
    parts = [text] if isinstance(text, str) else text
    with file_errors(path):
        refuse_unwritable(path)
        if is_in_place(path):
            _write_in_place(path, parts)
        else:
            _replace(Path(os.path.realpath(path)), parts)  # a link is followed, not replaced


def is_in_place(path: str | Path) -> bool:
    """Tell whether a path names what no other file can take the place of: a pipe, a device, a standard stream."""
    try:
        found = os.stat(path)  # noqa: PTH116 - through links without a name too, as /dev/stdout is to a pipe
    except (FileNotFoundError, NotADirectoryError):
        return False
    if stat.S_ISDIR(found.st_mode):
        return False
    return not stat.S_ISREG(found.st_mode) or _standard_stream(found) is not None


def _standard_stream(found: os.stat_result) -> TextIO | None:
    """Return the stream of this process, output or error, that goes to a file; None for any other file."""
    for stream in (sys.__stdout__, sys.__stderr__):
        # Closed before the process began or since, or never a file.
        with suppress(OSError, ValueError):
            if stream is not None and os.path.samestat(found, os.fstat(stream.fileno())):
                return stream
    return None


def _write_in_place(path: Path, parts: Iterable[str]) -> None:
    standard = _standard_stream(path.stat())
    if standard is not None:
        standard.flush()
    # Opened anew, a file would be written over from its beginning; a copy of the descriptor goes on where it stands.
    target: Path | int = path if standard is None else os.dup(standard.fileno())
    with suppress(BrokenPipeError), open(target, "w", encoding="utf-8", newline="") as stream:  # noqa: PTH123 - or a number
        stream.writelines(parts)


def _replace(path: Path, parts: Iterable[str]) -> None:
    name = path.parent / f".bonwise.{secrets.token_hex(8)}"
    handle = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
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

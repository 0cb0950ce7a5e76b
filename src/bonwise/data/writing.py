"""What bonwise writes: whole files or none, and cells that a spreadsheet will not run."""

from __future__ import annotations

import csv
import os
import secrets
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from bonwise.data.bytes_check import file_errors
from bonwise.errors import FileError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

__all__ = ["csv_cell", "csv_frame", "csv_text", "plain_cell", "refuse_unwritable", "write_whole"]

_FORMULA = frozenset("=+-@\t\r\n")


def csv_cell(value: object) -> object:
    """Defuse a text cell that a spreadsheet would run as a formula; numbers stay as they are.

    A leading apostrophe is added; the reader of this package takes it off again, so that
    identifiers are the same after a round trip.

    Examples
    --------
    >>> csv_cell("=1+1"), csv_cell("plain"), csv_cell(-0.5)
    ("'=1+1", 'plain', -0.5)
    """
    return "'" + value if isinstance(value, str) and _is_formula(value) else value


def plain_cell(text: str) -> str:
    """Undo `csv_cell`.

    Examples
    --------
    >>> plain_cell("'=1+1"), plain_cell("'tis"), plain_cell("plain")
    ('=1+1', "'tis", 'plain')
    """
    return text[1:] if text.startswith("'") and _is_formula(text) else text


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Render rows as CSV with Unix line ends, each cell defused."""
    lines = _UnixLines()
    # Only with this line end does the writer quote a carriage return in a cell.
    writer = csv.writer(lines, lineterminator="\r\n")
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
        self.append(record.removesuffix("\r\n") + "\n")


def refuse_unwritable(path: str | Path) -> None:
    """Refuse a file that cannot be written where it is named; a link stands for what it points to.

    Raises
    ------
    bonwise.errors.FileError
        A folder, or a file in a folder that is not there or not to be written in.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise FileError(f"{path}: is a folder, not a file", hint="name a file in it")
    if not target.parent.is_dir():
        raise FileError(f"{Path(path).parent}: no such folder", hint="make the folder first")
    whole = target.is_file() or not target.exists()  # a pipe or a device is written in its place
    if whole and not os.access(target.parent, os.W_OK):
        raise FileError(f"{path}: nothing can be written in its folder", hint="name a file in a folder of yours")


def write_whole(path: Path, text: str | Iterable[str]) -> None:
    """Write a file so that a reader sees the old one or the new one, never half of either.

    Text that comes in parts is written as it comes; where that breaks off with an error, the old file stays.

    Raises
    ------
    bonwise.errors.FileError
        The folder is absent or not writable, or the disk is full.
    """
    parts = [text] if isinstance(text, str) else text
    with file_errors(path):
        refuse_unwritable(path)
        target = Path(os.path.realpath(path))  # a link is followed, not replaced
        if target.exists() and not target.is_file():
            with target.open("w", encoding="utf-8") as stream:  # a pipe or a device cannot be replaced
                stream.writelines(parts)
            return
        _replace(target, parts)


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

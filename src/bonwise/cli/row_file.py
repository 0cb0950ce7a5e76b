"""Write lines where they are wanted as they come, however many there are."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from bonwise.errors import FileError

__all__ = ["write_rows"]


def write_rows(target: str, lines: Iterable[str]) -> int:
    """Write lines to a file, or to standard output for ``-``, and return how many.

    A reader of the file sees the old one or the new one whole, never half of either; where the lines break off
    with an error, the old one stays.

    Raises
    ------
    bonwise.errors.FileError
        The folder is absent or not writable, or the disk is full.
    """
    from bonwise.data.bytes_check import file_errors

    if target == "-":
        return _print(lines)
    with file_errors(Path(target)):
        path = Path(os.path.realpath(target))  # a link is followed, not replaced
        if not path.parent.is_dir():
            raise FileError(f"{target}: no such folder", hint="make the folder first")
        if path.exists() and not path.is_file():
            with path.open("w", encoding="utf-8") as stream:  # a pipe or a device cannot be replaced
                return _write(lines, stream)
        return _replace(path, lines)


def _print(lines: Iterable[str]) -> int:
    from bonwise.cli.arguments import emit

    count = 0
    for line in lines:
        emit(line)
        count += 1
    return count


def _write(lines: Iterable[str], stream: TextIO) -> int:
    count = 0
    for line in lines:
        stream.write(line)
        count += 1
    return count


def _replace(path: Path, lines: Iterable[str]) -> int:
    name = path.parent / f".bonwise.{secrets.token_hex(8)}"
    handle = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            count = _write(lines, stream)
            stream.flush()
            os.fsync(stream.fileno())  # else a power cut may leave the new name on an empty file
        if path.exists():
            name.chmod(stat.S_IMODE(path.stat().st_mode))
        name.replace(path)
    except BaseException:
        name.unlink(missing_ok=True)
        raise
    return count

"""What bonwise writes: whole files or none, and cells that a spreadsheet will not run."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from bonwise.data.bytes_check import file_errors

__all__ = ["csv_cell", "csv_text", "write_whole"]

_FORMULA = frozenset("=+-@\t\r")


def csv_cell(value: object) -> object:
    """Defuse a text cell that a spreadsheet would run as a formula; numbers stay as they are.

    A leading apostrophe is added; the reader of this package takes it off again, so that
    identifiers are the same after a round trip.

    Examples
    --------
    >>> csv_cell("=1+1"), csv_cell("plain"), csv_cell(-0.5)
    ("'=1+1", 'plain', -0.5)
    """
    if isinstance(value, str) and value.lstrip("'")[:1] in _FORMULA and value.lstrip("'"):
        return "'" + value
    return value


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Render rows as CSV with Unix line ends, each cell defused."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([csv_cell(name) for name in header])
    writer.writerows([csv_cell(cell) for cell in row] for row in rows)
    return out.getvalue()


def write_whole(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old one or the new one, never half of either."""
    with file_errors(path):
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")  # a pipe or a device cannot be replaced
            return
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
                stream.write(text)
            Path(name).chmod(0o666 & ~_umask())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

"""Write lines where they are wanted as they come, however many there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["write_rows"]


def write_rows(target: str, lines: Iterable[str]) -> int:
    """Write lines to a file, or to standard output for ``-``, and return how many.

    Raises
    ------
    bonwise.errors.FileError
        The folder is absent or not writable, or the disk is full.
    """
    from bonwise.cli.arguments import emit
    from bonwise.data.writing import write_whole

    count = 0

    def counted() -> Iterator[str]:
        nonlocal count
        for line in lines:
            count += 1
            yield line

    if target == "-":
        for line in counted():
            emit(line)
    else:
        write_whole(Path(target), counted())
    return count

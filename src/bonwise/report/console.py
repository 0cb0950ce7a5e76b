"""One way to turn rich renderables into text: plain for files and strings, styled on a terminal."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from typing import IO

from rich.console import Console, RenderableType
from rich.text import Text

from bonwise.errors import FileError

__all__ = ["plain", "show", "write"]

WIDTH = 118
"""Columns of plain text, but for tables; a terminal is asked for its own."""


def plain(parts: Iterable[RenderableType]) -> str:
    """Render without any escape sequence."""
    stream = io.StringIO()
    _print(Console(file=stream, width=WIDTH, color_system=None, force_terminal=False), parts)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def show(parts: Iterable[RenderableType], stream: IO[str] | None) -> None:
    """Print to a stream: styled when it is a terminal, plain otherwise."""
    if stream is not None and stream.isatty():
        _print(Console(file=stream), parts)
        return
    text = plain(parts) + "\n"
    encoding = getattr(stream, "encoding", None) or "utf-8"
    if encoding.lower().replace("-", "") != "utf8":
        # A stream that cannot hold a character gets a stand-in, not a traceback.
        text = text.replace("─", "-").encode(encoding, "replace").decode(encoding)
    write(text, stream)


def write(text: str, stream: IO[str] | None) -> None:
    """Write to a stream that may be closed already, or whose reader may leave at any moment.

    What was found does not depend on who reads it, so neither does the exit code.
    """
    if stream is None:
        return
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        # Python would try once more at exit, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except OSError as error:
        raise FileError(f"the output cannot be written: {error.strerror}", hint="check the disk") from error


def _print(console: Console, parts: Iterable[RenderableType]) -> None:
    for part in parts:
        whole = isinstance(part, Text) and bool(part.no_wrap)
        # What is in brackets is a name from a file, never markup. A file has no right edge to cut a table at.
        console.print(part, markup=False, highlight=False, emoji=False, soft_wrap=whole, crop=console.is_terminal)

"""Markdown tables, and pages that keep one between two markers.

A page marks the place of a table named ``sizes`` by two comments, each on a line of its own::

    <!-- sizes: start -->
    <!-- sizes: end -->
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

__all__ = ["MarkerError", "markdown_table", "replaced", "write_between"]


class MarkerError(ValueError):
    """A page that does not mark one place for the table."""


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table whose columns line up."""
    cells = [list(header), *(list(row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in cells]
    rule = "| " + " | ".join("-" * width for width in widths) + " |"
    return "\n".join([lines[0], rule, *lines[1:]])


def replaced(text: str, name: str, content: str) -> str:
    """Return the text of a page with new content between the markers of that name; nothing else changes.

    Raises
    ------
    MarkerError
        A marker is missing, occurs twice, or the end comes before the start.
    """
    start, end = (f"<!-- {name}: {edge} -->" for edge in ("start", "end"))
    for marker in (start, end):
        if text.count(marker) != 1:
            raise MarkerError(f"the page holds {marker!r} {text.count(marker)} times; it must hold it once")
    before, rest = text.split(start)
    if end not in rest:
        raise MarkerError(f"the page holds {end!r} before {start!r}")
    _, after = rest.split(end)
    return f"{before}{start}\n{content.strip()}\n{end}{after}"


def write_between(page: Path, name: str, content: str) -> None:
    """Replace what a page holds between the markers of that name."""
    text = page.read_bytes().decode("utf-8")
    page.write_bytes(replaced(text, name, content).encode("utf-8"))

"""What a command prints, as sentences and tables of a page: the page leaves out nothing that the terminal says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from bonwise.report.fitted import FittedTable
from bonwise.report.page.section import Table

__all__ = ["Line", "lines", "tables"]


@dataclass(frozen=True, slots=True)
class Line:
    """One printed line.

    Parameters
    ----------
    text : str
    style : str
        As it is printed: the finding is in bold.
    after : int
        How many tables stand above it.
    """

    text: str
    style: str
    after: int


def lines(parts: Iterable[RenderableType]) -> list[Line]:
    """Return the lines that are not empty, in their order.

    Examples
    --------
    >>> [line.text for line in lines([Text("found"), FittedTable(("a",), [["1"]]), Text("")])]
    ['found']
    """
    found, above = [], 0
    for part in parts:
        if isinstance(part, FittedTable):
            above += 1
        elif isinstance(part, Text) and part.plain:
            found.append(Line(part.plain, str(part.style), above))
    return found


def tables(parts: Iterable[RenderableType], titles: Sequence[str] = ()) -> list[Table]:
    """Return the tables, whole: a page is as wide as it needs to be.

    Parameters
    ----------
    parts : iterable of renderable
    titles : sequence of str
        For tables that have none of their own, in their order.
    """
    found = [part for part in parts if isinstance(part, FittedTable)]
    return [_table(part, titles[at] if at < len(titles) else "") for at, part in enumerate(found)]


def _table(part: FittedTable, title: str) -> Table:
    named = {at for at in range(part.left) if not all(_is_count(row[at]) for row in part.rows)}
    words = named | {at for at, header in enumerate(part.headers) if header in part.words}
    strong = [at for at, style in enumerate(part.styles) if "bold" in style]
    # Blanks at the end only tell columns apart where some are left out.
    headers = [header.strip() for header in part.headers]
    return Table(headers, part.rows, part.title or title, sorted(words), strong)


def _is_count(cell: str) -> bool:
    return cell.replace(",", "").isdigit()

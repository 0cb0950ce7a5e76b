"""Blocks as lines and tables of a terminal, or of plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from rich.console import RenderableType
from rich.text import Text

from bonwise.printable import all_printable, printable
from bonwise.report.blocks import Block, Part, Role, Said, Table, decisive_first, next_of
from bonwise.report.commands import command
from bonwise.report.fitted import FittedTable
from bonwise.report.numbers import counted

__all__ = ["lines", "renderables"]

_NAMES = ("name", "metric")
"""Kinds of columns that stay whole at the left."""

_STYLES: dict[Role, str] = {"lead": "bold", "caveat": "yellow", "good": "green", "bad": "red", "open": "yellow"}

_LONGEST = 4_000
"""Characters of a line that are printed."""


def renderables(described: Part, *, full: bool = False, then: Sequence[Said] = ()) -> Iterator[RenderableType]:
    """Yield what to print of a description, details left out: its verdict, title, lines and tables, and what is next.

    Parameters
    ----------
    described : Part
    full : bool
        Whether to show everything where the description has a short form.
    then : sequence of Said
        What is next, in place of what the verdict says of it: a command knows the names of files.
    """
    chosen = described.blocks if full or described.in_short is None else described.in_short
    blocks = decisive_first(replace(described, blocks=chosen), above_all=True).blocks
    verdicts = [one for one in blocks if _is_verdict(one)]
    if verdicts:
        yield from _blocks(verdicts)
        yield Text("")
    yield Text(_line(described.title), style="bold")
    yield from _blocks([one for one in blocks if not _is_verdict(one)])
    if then:
        yield from _blocks(then)
        return
    for one in next_of(verdicts):
        yield Text(f"{_line(one.title)}:")
        yield from _blocks(one.blocks)


def lines(said: Sequence[Said]) -> Iterator[RenderableType]:
    """Yield what to print of sentences that are no part of a document."""
    yield from _blocks(said)


def _blocks(blocks: Sequence[Block]) -> Iterator[RenderableType]:
    for block in blocks:
        if isinstance(block, Said):
            yield command(_line(block.text)) if block.role == "command" else _said(block)
        elif isinstance(block, Table):
            if block.role == "table":
                yield _table(block)
                yield from _more_rows(block)
        elif isinstance(block, Part) and block.role not in {"detail", "next"}:
            yield from _part(block)


def _part(part: Part) -> Iterator[RenderableType]:
    if part.role == "verdict":
        yield Text(_line(f"Verdict: {part.title}"), style=f"bold {_STYLES[part.state]}")
        yield from _blocks(part.blocks)
        return
    if part.title:
        yield Text(_line(part.title), style="bold")
    yield from _blocks(part.blocks)


def _is_verdict(block: Block) -> bool:
    return isinstance(block, Part) and block.role == "verdict"


def _said(said: Said) -> Text:
    return Text(_line(f"{said.text} {said.file}" if said.file else said.text), style=_STYLES.get(said.role, ""))


def _table(table: Table) -> FittedTable:
    headers = _apart([column.title for column in table.columns])
    named = list(zip(headers, table.columns, strict=True))
    spare = sorted((column.spare, at, header) for at, (header, column) in enumerate(named) if column.spare)
    grouped = any(row.group for row in table.rows)
    rows: list[Sequence[str]] = []
    styles: list[str] = []
    shown = table.rows[: table.at_a_glance or None]
    written = iter(all_printable(text for row in shown for text in (row.group, *row.cells)))
    for row in shown:
        group, *cells = islice(written, 1 + len(row.cells))
        if group:
            rows.append((group, *("" for _ in headers[1:])))
            styles.append("bold")
        rows.append([f"  {cells[0]}", *cells[1:]] if grouped else cells)
        styles.append("bold" if row.strong else "")
    left = 0
    while left < len(table.columns) and table.columns[left].kind in _NAMES:
        left += 1
    return FittedTable(
        headers,
        rows,
        spare=tuple(header for _, _, header in spare),
        left=max(left, 1),
        title=printable(table.title),
        words=tuple(header for header, column in named if column.kind not in {*_NAMES, "figure"}),
        sentences=tuple(header for header, column in named if column.kind == "sentences"),
        styles=styles,
    )


def _more_rows(table: Table) -> Iterator[Text]:
    more = len(table.rows) - table.at_a_glance
    if table.at_a_glance and more > 0:
        yield Text(
            f"{counted(more, 'more row')} {'is' if more == 1 else 'are'} on the page and in the JSON document."
        )


def _apart(titles: Sequence[str]) -> list[str]:
    """Return titles that differ: blanks at the end of what stands there already."""
    found: list[str] = []
    for title in titles:
        name = title
        while name in found:
            name += " "
        found.append(name)
    return found


def _line(text: str) -> str:
    return printable(text, longest=_LONGEST)

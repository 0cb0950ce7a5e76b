"""Blocks as Markdown of GitHub's kind: headings, paragraphs, tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from bonwise.printable import printable
from bonwise.report.blocks import Block, Column, Part, Said, Table, decisive_first, next_of
from bonwise.report.numbers import counted

_MOST_ROWS = 200
"""Rows of a table."""

_MOST_BYTES = 900_000
"""A build shows no summary of a step that is larger than 1 MiB."""

_LONGEST = 300
"""Characters of a cell that are shown."""

_LONGEST_PARAGRAPH = 2_000

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "$": "&#36;", "{": "&#123;", "}": "&#125;"}
_MARKUP = re.compile(r"[&<>|${}]|[\\`*_\[\]~#!^=]")
# A site links these wherever they are in its text, however they were written: only a gap that nobody sees helps.
_LINKED = re.compile(r"@|#(?=\d)|GH(?=-\d)|:(?=//)|www(?=\.)|mailto(?=:)|xmpp(?=:)|:(?=[\w+-]+:)", re.IGNORECASE)
_GAP = "\u200b"
_BEGINS_A_LIST = re.compile(r"^(\d*)([-+.)])")

_TOP, _DEEPEST = 2, 6


def rendered(described: Part) -> str:
    """Return a description as Markdown, in which names are text alone; last lines that are too many are counted."""
    last = (line for part in next_of(described.blocks) for line in _part(part, _TOP + 1))
    blocks, lost = _within(chain(_part(decisive_first(described), _TOP), last), _MOST_BYTES)
    if lost:
        blocks.append(f"Left out, because a build shows no longer summary: {counted(lost, 'line')}.")
    return "\n\n".join(blocks) + "\n"


def markdown_error(source: str, message: str, hint: str) -> str:
    """Render why there is no audit, in one paragraph below the heading."""
    sentence = f"{message} ({hint})" if hint else message
    return rendered(Part(f"Audit of {printable(source, longest=_LONGEST)}: bad input", [Said("caveat", sentence)]))


def paragraph(text: str) -> str:
    """Return text as one paragraph that is not a list."""
    return _BEGINS_A_LIST.sub(r"\1\\\2", _text(text, longest=_LONGEST_PARAGRAPH))


def _whole(sentence: Said) -> str:
    return f"{sentence.text} {sentence.file}" if sentence.file else sentence.text


def _part(part: Part, depth: int) -> Iterator[str]:
    if part.title:
        what = "Verdict: " if part.role == "verdict" else ""
        yield f"{'#' * min(depth, _DEEPEST)} {what}{_text(part.title, longest=_LONGEST_PARAGRAPH)}"
    yield from _blocks(part.blocks, depth + bool(part.title))


def _blocks(blocks: Iterable[Block], depth: int) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Said):
            # A line of code needs no escape, but a fence that nothing in it closes.
            yield _code(block.text) if block.role == "command" else paragraph(_whole(block))
        elif isinstance(block, Table):
            if block.role == "table":
                yield from _bold(block.title)
                yield _table(block)
        elif isinstance(block, Part) and block.role not in {"detail", "long", "next"}:
            yield from _part(block, depth)


def _table(table: Table) -> str:
    """Write a table; of more rows than `_MOST_ROWS` the others are counted in a row of their own."""
    sides = ["---:" if column.kind == "figure" else ":---" for column in table.columns]
    lines = [_line(_text(column.title) for column in table.columns), _line(sides)]
    for row in table.rows[:_MOST_ROWS]:
        if row.group:
            lines.append(_line(["".join(_bold(row.group)), *("" for _ in table.columns[1:])]))
        lines.append(_line(map(_cell, row.cells, table.columns)))
    if len(table.rows) > _MOST_ROWS:
        lines.append(_line([f"... {len(table.rows) - _MOST_ROWS:,} more", *("" for _ in table.columns[1:])]))
    return "\n".join(lines)


def _cell(cell: str, column: Column) -> str:
    return _text(cell, longest=_LONGEST_PARAGRAPH if column.kind == "sentences" else _LONGEST)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    line = printable(text, longest=_LONGEST_PARAGRAPH)
    longest = max((len(ticks) for ticks in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}sh\n{line}\n{fence}"


def _within(blocks: Iterable[str], most: int) -> tuple[list[str], int]:
    """Return the blocks as far as they fit, and how many lines do not; a table may end after any row."""
    kept, lost, room = [], 0, most
    for block in filter(None, blocks):
        lines: Sequence[str] = block.split("\n")
        fitting = 0
        for line in lines if not lost else ():
            room -= len(line.encode()) + 2
            if room < 0:
                break
            fitting += 1
        lost += len(lines) - fitting
        if fitting:
            kept.append("\n".join(lines[:fitting]))
    return kept, lost


def _bold(value: str) -> Iterator[str]:
    """Yield text in bold; nothing for blanks, whose asterisks alone would be a rule across the page."""
    if words := _text(value):
        yield f"**{words}**"


def _text(value: str, *, longest: int = _LONGEST) -> str:
    """Write text that stays text in the middle of a line."""
    words = " ".join(printable(value, longest=longest).split())
    gapped = _LINKED.sub(lambda match: match.group() + _GAP, words)
    return _MARKUP.sub(lambda match: _ENTITIES.get(match.group(), "\\" + match.group()), gapped)

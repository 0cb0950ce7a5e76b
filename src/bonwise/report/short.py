"""What of a result a terminal shows at first: the answer, one table, what limits it, and how to see the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from bonwise.report.blocks import Block, Part, Said, Table, decisive_first
from bonwise.report.numbers import counted

__all__ = ["LINES", "in_short"]

LINES, _WIDTH = 24, 80
"""Of a screen: a shorter result is shown whole."""

_SIZES = ((10, 4), (8, 3), (6, 3), (5, 2), (4, 2), (3, 2))
"""Rows of the table and caveats, of which the largest that fit are shown."""

_IN_A_VERDICT, _BESIDE, _INSTEAD = 4, 1, 6
"""Sentences in a verdict, beside it, and where there is none: there the first ones are the answer."""

_TABLES = 4
"""With the columns of the first one, which answers: the same figures of another judge."""

_LIMITING = ("caveat", "good", "bad", "open")
_APART = ("verdict", "detail", "next")
"""Roles of parts whose blocks are shown elsewhere, or on a page alone."""


def in_short(described: Part) -> Part:
    """Return a description whole where it fits a screen, else its answer, the table that answers, and caveats."""
    short = whole = decisive_first(described, above_all=True)
    columns = next(map(_titles, _tables(whole.blocks)), ())
    judged = any(isinstance(block, Part) and block.role == "verdict" for block in whole.blocks)
    for rows, caveats in _SIZES:
        if _height(short) <= LINES * max(1, len(list(_tables(short.blocks))) if short is not whole else 1):
            break
        cut = _Cut(rows, caveats, _BESIDE if judged else _INSTEAD, columns)
        short = replace(whole, blocks=[*cut.of(whole.blocks), *cut.words()])
    return described if short is whole else short


@dataclass(slots=True)
class _Cut:
    """What may be shown yet, and how much was left out."""

    rows: int
    caveats: int
    sentences: int
    columns: Sequence[str]
    tables: int = 0
    out: Counter[str] = field(default_factory=Counter)

    def words(self) -> Iterator[Said]:
        """Yield how much was left out, if anything."""
        if self.out:
            *others, last = [counted(times, noun) for noun, times in self.out.items()]
            more = f"{', '.join(others)} and {last}" if others else last
            yield Said("note", f"More: {more}: add --full, or to_text(full=True) in Python.")

    def of(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """Yield what is shown of blocks."""
        for block in blocks:
            if isinstance(block, Said):
                yield from self._sentence(block)
            elif isinstance(block, Table) and block.role == "table":
                yield from self._table(block)
            elif isinstance(block, Part):
                yield from self._part(block)

    def _sentence(self, sentence: Said) -> Iterator[Said]:
        limiting = sentence.role in _LIMITING
        self.caveats, self.sentences = self.caveats - limiting, self.sentences - (not limiting)
        if self.caveats >= 0 if limiting else self.sentences >= 0 and not self.tables:
            yield sentence
        else:
            self.out["caveat" if limiting else "sentence"] += 1

    def _table(self, table: Table) -> Iterator[Table]:
        if _titles(table) != self.columns or self.tables >= _TABLES:
            self.out["table"] += 1
            return
        self.tables += 1
        plain = count(1 + sum(row.strong for row in table.rows))
        rows = [row for row in table.rows if row.strong or next(plain) <= self.rows]
        self.out += Counter(row=len(table.rows) - len(rows))
        yield replace(table, rows=rows, at_a_glance=0)

    def _part(self, part: Part) -> Iterator[Part]:
        if part.role == "verdict":
            sentences = [block for block in part.blocks if isinstance(block, Said)]
            self.out += Counter(sentence=len(sentences[_IN_A_VERDICT:]))
            others = [block for block in part.blocks if isinstance(block, Part)]
            steps = [block for block in others if block.role == "next"]
            yield replace(part, blocks=[*sentences[:_IN_A_VERDICT], *self.of(others), *steps])
        elif part.role not in _APART and (blocks := list(self.of(part.blocks))):
            yield replace(part, blocks=blocks)


def _titles(table: Table) -> Sequence[str]:
    return [column.title for column in table.columns]


def _tables(blocks: Iterable[Block]) -> Iterator[Table]:
    for block in blocks:
        if isinstance(block, Table) and block.role == "table":
            yield block
        elif isinstance(block, Part) and block.role not in _APART:
            yield from _tables(block.blocks)


def _height(block: Block) -> int:
    """Return about how many lines a block takes on a terminal."""
    if isinstance(block, Said):
        return 1 if block.role == "command" else sum(1 + len(line) // _WIDTH for line in block.text.split("\n"))
    if isinstance(block, Table) and block.role == "table":
        rows = block.rows[: block.at_a_glance or None]
        return 2 + bool(block.title) + len(rows) + sum(bool(row.group) for row in rows)
    if not isinstance(block, Part) or block.role == "detail":
        return 0
    return bool(block.title) + (block.role == "verdict") + sum(map(_height, block.blocks))

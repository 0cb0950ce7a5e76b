"""The one way from a document to what a person reads: described once, cut to a screen, then rendered."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING

from rich.console import RenderableType

from bonwise.declared import view_of
from bonwise.errors import UsageError
from bonwise.extras import PAGES
from bonwise.report.blocks import Block, Drawing, FigureData, Part, Said, Table, decisive_first, drawings_of
from bonwise.report.markdown import rendered as as_markdown
from bonwise.report.numbers import counted
from bonwise.report.terminal import plain, renderables

if TYPE_CHECKING:
    from bonwise.report.answers import StatedVerdict
    from bonwise.results import Document

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


def cut_to_a_screen(described: Part) -> Part:
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


def answer(document: Document) -> StatedVerdict | None:
    """Return what a document answers, with which its description opens; None where it asks nothing."""
    answering = view_of(document.schema_, "answer")
    return None if answering is None else answering(document)


def describe(document: Document, *, in_short: bool = False) -> Part:
    """Return the description of a document, `in_short` as a terminal shows it at first; a UsageError for none."""
    view, whole = view_of(document.schema_, "short" if in_short else "view"), view_of(document.schema_)
    if view is None:
        raise UsageError(f"a document of schema {document.schema_!r} is read by programs alone")
    described: Part = view(document)
    return cut_to_a_screen(described) if in_short and view is whole else described


def is_described(document: Document) -> bool:
    """Tell whether a document is for people: others are read by programs alone."""
    return view_of(document.schema_) is not None


def printed(document: Document, *, full: bool = False) -> list[RenderableType]:
    """Return what a command prints: the short form of a document that has one, unless all of it is asked for."""
    return renderables(describe(document, in_short=not full))


def text(document: Document, *, full: bool = False) -> str:
    """Return a document as plain text; one that nothing describes as JSON."""
    return plain(printed(document, full=full)) if is_described(document) else document.to_json()


def markdown(document: Document) -> str:
    """Return a document as Markdown of GitHub's kind."""
    return as_markdown(describe(document))


def page(document: Document) -> str:
    """Return a document as one HTML page."""
    PAGES.require("a page")
    from bonwise.report.page.rendered import whole_page  # noqa: PLC0415 - drawing loads matplotlib

    return whole_page(describe(document))


def notebook(document: Document) -> str | None:
    """Return a document as part of a notebook; None where no page can be made of it: it shows the text then."""
    if PAGES.missing() or not is_described(document):
        return None
    from bonwise.report.page.rendered import fragment  # noqa: PLC0415 - drawing loads matplotlib

    return fragment(describe(document))


def drawings(document: Document) -> list[Drawing[FigureData]]:
    """Return the drawings of a document."""
    return list(drawings_of(describe(document).blocks))


_OF_AN_AUDIT = re.compile(r"^a-")
_NUMBERED = re.compile(r"^([a-z]+)-(\d+)(?=-|$)")
"""The word of a study, or ``judge``, and the number of the judge."""


def by_name(drawings: Sequence[Drawing[FigureData]]) -> Mapping[str, Drawing[FigureData]]:
    """Return drawings by their names: their keys, without the number of the judge where there is only one."""
    keys = [_OF_AN_AUDIT.sub("", drawing.key) for drawing in drawings]
    numbers: dict[str, set[str]] = {}
    for key in keys:
        if match := _NUMBERED.match(key):
            numbers.setdefault(match[1], set()).add(match[2])
    names = [_NUMBERED.sub(r"\1", key) if (word := _word(key)) and len(numbers[word]) == 1 else key for key in keys]
    # What page keys tell apart stays apart.
    return dict(zip(names if len(set(names)) == len(names) else keys, drawings, strict=True))


def figure(drawings: Sequence[Drawing[FigureData]], name: str) -> Drawing[FigureData]:
    """Return the drawing of a name, or the first of the only judge whose name has it as a word; else a UsageError."""
    known = by_name(drawings)
    if name in known:
        return known[name]
    fitting = [drawing_name for drawing_name in known if f"-{name}-" in f"-{drawing_name}-"]
    if not known:
        raise UsageError(f"no figure is named {name!r}: this result has no figures", hint="see to_frame()")
    if not fitting:
        raise UsageError(f"no figure is named {name!r}", hint=f"choose of {', '.join(known)}")
    if len({match[0] for drawing_name in fitting if (match := _NUMBERED.match(drawing_name))}) > 1:
        raise UsageError(f"several judges have a figure {name!r}", hint=f"choose of {', '.join(fitting)}")
    return known[fitting[0]]


def _word(key: str) -> str:
    match = _NUMBERED.match(key)
    return match[1] if match else ""

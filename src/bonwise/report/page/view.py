"""What a page shows, ready for its templates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, takewhile
from typing import Literal

from bonwise.report.blocks import Bar, Block, Drawing, FigureData, Part, Role, Said, Stepped, Table, decisive_first
from bonwise.report.numbers import counted
from bonwise.report.page.canvas import drawn
from bonwise.table.writing import csv_text


def rows_as_csv(rows: Iterable[Mapping[str, str | float | int | bool | None]]) -> str:
    """Return rows as CSV that a spreadsheet runs nothing of; what a row lacks is a blank cell."""
    every = list(rows)
    columns = list(dict.fromkeys(name for row in every for name in row))
    return csv_text(columns, ([_cell(row.get(name)) for name in columns] for row in every))


def _cell(value: object) -> object:
    return "" if value is None else value


_IN_FULL, _SHOWN = 3, 12
"""Parts listed with their sections, and parts listed at all: a list must stay shorter than what it leads to."""

_FEWEST = 3
"""Places worth listing."""

_MOST_DRAWINGS = 100
"""On a page; each takes a fifth of a second."""

_LONGEST = 60
_OTHER = re.compile(r"[^a-z0-9]+")

_OF_THE_PAGE = ("main", "prompt-table", "prompt-search", "prompt-shown", "prompt-all")
"""Addresses that the templates use themselves."""

_OF_A_ROW = re.compile(r"prompt-\d+")
"""Addresses of the rows of a finder."""

_UNLISTED = ("verdict", "next")
"""Roles of parts that the contents leave out: they come before it."""

_FOUND = "What was found"
"""Heading of what stands directly under the title."""

_UNFOLDED, _FOLDS_FROM = 3, 5
"""Findings in a row that stay open, and how many fold the others."""


_TableKind = Literal["table", "headlines", "finder", "definitions", "sample"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing as markup."""

    svg: str
    """Trusted: as `bonwise.report.page.canvas.drawn` makes it."""
    title: str
    says: str
    name: str
    """Of its files: letters, digits and hyphens."""
    data: str
    """Its numbers as CSV."""


@dataclass(frozen=True, slots=True)
class PagePart:
    """What stands on a page between two headings."""

    kind: Literal["said", "figures", "section", "bar", "stepped"] | _TableKind
    role: Role = "finding"
    said: Sequence[Said] = ()
    folded: Sequence[Said] = ()
    """Both: sentences of one role; of findings those beyond the first few are folded."""
    table: Table | None = None
    figures: Sequence[Figure] = ()
    section: SectionView | None = None
    bar: Bar | None = None
    stepped: Stepped | None = None
    anchor: str = ""
    """Address of its slider."""


@dataclass(frozen=True, slots=True)
class SectionView:
    """A part of a page under a heading."""

    title: str
    anchor: str
    """Both: no heading where the title is empty."""
    depth: int
    """Of the heading, 2 at the top."""
    role: str
    state: str
    """Both: of the `Part`."""
    pieces: Sequence[PagePart]
    folded: str = ""
    question: str = ""
    """Both: of the `Part`."""

    def place(self) -> Place:
        """Return its heading with those inside, for the contents."""
        sections = [piece.section for piece in self.pieces if piece.section is not None]
        inside = [section.place() for section in sections if section.title and section.role not in _UNLISTED]
        return Place(self.anchor, self.title, inside)


@dataclass(frozen=True, slots=True)
class PageView:
    """A whole page."""

    title: str
    facts: Sequence[Sequence[str]]
    """For the foot of the page."""
    notes: Sequence[Said]
    """What stood above a verdict, for the foot of the page too."""
    opening: Sequence[SectionView]
    """What stands above the contents: the verdict."""
    sections: Sequence[SectionView]
    contents: Sequence[Entry]
    terms: Mapping[str, str]
    """What the page defines, to the address of its definition."""


def page_view(described: Part, prefix: str = "") -> PageView:
    """Lay out a description, the verdict first, notes and facts last; every address is unique and has the prefix."""
    blocks = decisive_first(described, above_all=True).blocks
    facts = [row.cells for block in blocks if _is_facts(block) for row in block.rows]  # type: ignore[union-attr]
    notes = _notes_above(described.blocks) if any(_is_verdict(block) for block in blocks) else []
    addresses = _Addresses(prefix)
    sections = list(_sections([block for block in blocks if not _is_facts(block) and block not in notes], addresses))
    contents = places([section.place() for section in sections if section.title and section.role not in _UNLISTED])
    opening = _opening(sections)
    return PageView(described.title, facts, notes, sections[:opening], sections[opening:], contents, addresses.terms)


def _notes_above(blocks: Sequence[Block]) -> list[Said]:
    above = takewhile(lambda block: not isinstance(block, Part), blocks)
    return [block for block in above if isinstance(block, Said) and block.role == "note"]


def _is_verdict(block: Block) -> bool:
    return isinstance(block, Part) and block.role == "verdict"


def _opening(sections: Sequence[SectionView]) -> int:
    """Return how many sections end with the verdict, 0 where a heading or no verdict comes before."""
    for at, section in enumerate(sections):
        if section.role == "verdict":
            return at + 1
        if section.title:
            return 0
    return 0


def _is_facts(block: Block) -> bool:
    return isinstance(block, Table) and block.role == "facts"


@dataclass(slots=True)
class _Addresses:
    """Gives each thing on a page an address of its own."""

    prefix: str
    taken: Counter[str] = field(default_factory=lambda: Counter(_OF_THE_PAGE))
    terms: dict[str, str] = field(default_factory=dict)
    drawings: int = 0
    """That the page has so far."""

    def of(self, wanted: str) -> str:
        if _OF_A_ROW.fullmatch(wanted):
            wanted = f"part-{wanted}"
        self.taken[wanted] += 1
        seen = self.taken[wanted]
        return f"{self.prefix}{wanted}" if seen == 1 else f"{self.prefix}{wanted}-{seen}"


def _sections(blocks: Sequence[Block], addresses: _Addresses) -> Iterator[SectionView]:
    """Yield the parts, and what stands between them under a heading of its own."""
    headed = False
    for loose, run in groupby(blocks, key=lambda block: not isinstance(block, Part)):
        some = list(run)
        if not loose:
            yield from (_section(block, 2, addresses) for block in some if isinstance(block, Part))
            continue
        pieces = list(_pieces(some, 2, addresses))
        # A heading above notes alone would promise findings.
        heading = "" if headed or all(_is_aside(block) for block in some) else _FOUND
        headed = headed or bool(heading)
        yield SectionView(heading, addresses.of("found") if heading else "", 2, "part", "open", pieces)


def _is_aside(block: Block) -> bool:
    return isinstance(block, Said) and block.role in {"note", "caveat"}


def _section(part: Part, depth: int, addresses: _Addresses) -> SectionView:
    anchor = addresses.of(part.anchor or ("verdict" if part.role == "verdict" else slug(part.title)))
    inner = depth + bool(part.title)
    pieces = list(_pieces(part.blocks, inner, addresses))
    return SectionView(part.title, anchor, depth, part.role, part.state, pieces, part.folded, part.question)


def _pieces(blocks: Sequence[Block], depth: int, addresses: _Addresses) -> Iterator[PagePart]:
    for _, run in groupby(blocks, key=_run):
        some = list(run)
        first = some[0]
        if isinstance(first, Said):
            yield _said([block for block in some if isinstance(block, Said)])
        elif isinstance(first, Drawing):
            yield from _figures([block for block in some if isinstance(block, Drawing)], addresses)
        for block in some:
            if isinstance(block, Table):
                yield _table(block, addresses)
            elif isinstance(block, Part):
                yield PagePart("section", section=_section(block, depth, addresses))
            elif isinstance(block, Bar):
                yield PagePart("bar", bar=block)
            elif isinstance(block, Stepped):
                yield PagePart("stepped", stepped=block, anchor=addresses.of(block.key))


def _table(table: Table, addresses: _Addresses) -> PagePart:
    if table.role == "definitions":
        addresses.terms |= {row.cells[0]: addresses.of(f"metric-{slug(row.cells[0])}") for row in table.rows}
    return PagePart("table" if table.role == "facts" else table.role, table=table)


def _run(block: Block) -> str:
    """Return what is alike for blocks that stand together."""
    return block.role if isinstance(block, Said) else type(block).__name__


def _said(run: Sequence[Said]) -> PagePart:
    role = run[0].role
    open_ones = _UNFOLDED if role == "finding" and len(run) >= _FOLDS_FROM else len(run)
    return PagePart("said", role, said=run[:open_ones], folded=run[open_ones:])


def _figures(drawings: Sequence[Drawing[FigureData]], addresses: _Addresses) -> Iterator[PagePart]:
    fitting = drawings[: max(0, _MOST_DRAWINGS - addresses.drawings)]
    addresses.drawings += len(drawings)
    if fitting:
        yield PagePart("figures", figures=[_figure(drawing, addresses) for drawing in fitting])
    if more := len(drawings) - len(fitting):
        left_out = f"{counted(more, 'figure')} left out: a page draws the first {_MOST_DRAWINGS}; plot() draws any."
        yield PagePart("said", "note", said=[Said("note", left_out)])


def _figure(drawing: Drawing[FigureData], addresses: _Addresses) -> Figure:
    svg = drawn(lambda axes: drawing.painter(axes, drawing.data), key=addresses.of(drawing.key), size=drawing.size)
    return Figure(svg, drawing.title, drawing.says, drawing.key, rows_as_csv(drawing.data.rows()))


def slug(title: str) -> str:
    """Return lower-case letters, digits and hyphens."""
    return _OTHER.sub("-", title.lower())[:_LONGEST].strip("-") or "part"


@dataclass(frozen=True, slots=True)
class Place:
    """A heading."""

    anchor: str
    title: str
    inside: Sequence[Place] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the contents."""

    anchor: str
    """Empty for a heading of those inside."""
    title: str
    inside: Sequence[Place] = ()
    folded: bool = False
    """Whether those inside are shown on demand alone."""


def places(headings: Sequence[Place]) -> list[Entry]:
    """Return the contents; many parts that hold sections are folded, and too few headings are not listed."""
    entries = list(_entries(headings))
    return entries if len(entries) >= _FEWEST else []


def _entries(headings: Sequence[Place]) -> Iterator[Entry]:
    parts = [heading for heading in headings if heading.inside]
    for heading in headings:
        if not heading.inside:
            yield Entry(heading.anchor, heading.title)
        elif len(parts) <= _SHOWN:
            yield Entry(heading.anchor, heading.title, heading.inside if len(parts) <= _IN_FULL else ())
        elif heading is parts[0]:
            inside = [Place(part.anchor, part.title) for part in parts]
            yield Entry("", f"{len(parts):,} judges", inside, folded=True)

"""A report as a terminal shows it, in colours where it has them."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import IO

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table as RichTable
from rich.text import Text

from bonwise.errors import FileError
from bonwise.printable import all_printable, printable
from bonwise.report.blocks import Block, Part, Said, Table, decisive_first, next_of
from bonwise.report.numbers import counted

_WORDS = 36
"""Columns that words need at least; a column with fewer is better left out."""


_NAME = 24
"""Columns up to which a name stays on one line on any terminal: a name is no sentence, and breaks within a word."""


@dataclass(frozen=True)
class FittedTable:
    """A table of uncut names and figures: narrow terminals leave whole columns out, named below."""

    headers: Sequence[str]
    """Blanks at the end tell columns of one name apart."""
    rows: Sequence[Sequence[str]]
    """One cell a header."""
    spare: Sequence[str] = ()
    """Headers that may be left out, the first one first; where that is not enough others follow, from the right."""
    left: int = 1
    """Leading columns that hold names; these stay, and so does the most important column of figures."""
    title: str = ""
    words: Sequence[str] = ()
    """Headers of columns that hold words, which may run over several lines on a terminal."""
    sentences: Sequence[str] = ()
    """Those of them that may run over several lines everywhere."""
    styles: Sequence[str] = ()
    """Of the rows, one each; none where empty."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        shown = self.fit(console, options)
        table = self._table(shown, self._cap(options))
        if not console.is_terminal:
            whole = _width(console, options, table)
            broken = whole - self._foldable(self.sentences)
            options = options.update(width=max(1, broken, min(whole, options.max_width)))
        parts: list[RenderableType | Segment] = [*console.render(table, options)]
        lost = [self._name(header) for header in self.headers if header not in shown]
        if lost:
            hidden = f"columns hidden, the terminal is too narrow: {', '.join(lost)}; --json has all"
            parts.append(Text(hidden, style="yellow"))
        return parts

    def fit(self, console: Console, options: ConsoleOptions) -> tuple[str, ...]:
        """Return the headers for which there is room, in their order."""
        shown = list(self.headers)
        if not console.is_terminal:
            return tuple(shown)
        others = [header for header in self.headers[self.left :] if header not in self.spare]
        for header in (*self.spare, *reversed(others)):
            width = _width(console, options, self._table(shown)) - self._foldable(
                [word for word in self.words if word in shown]
            )
            if header not in self.spare:
                # What cannot be spared stays beside long names, which run over several lines.
                width -= sum(max(0, self._longest(name) - self._cap(options)) for name in self.headers[: self.left])
            if width <= options.max_width or len(shown) <= self.left + 1:
                break
            shown.remove(header)
        return tuple(shown)

    def _cap(self, options: ConsoleOptions) -> int:
        """Return the width up to which a name stays on one line."""
        return max(min(_NAME, options.max_width), options.max_width // (2 * self.left))

    def _foldable(self, headers: Sequence[str]) -> int:
        """Return by how much columns of words may be narrowed."""
        return sum(max(0, self._longest(header) - _WORDS) for header in headers)

    def _longest(self, header: str) -> int:
        at = self.headers.index(header)
        return max(cell_len(cell) for cell in (header, *(row[at] for row in self.rows)))

    def _name(self, header: str) -> str:
        """Name a column that is not shown; an interval by what it is of."""
        if not header.strip().endswith("interval"):
            return header.strip()
        before = [
            left for left in self.headers[: self.headers.index(header)] if not left.strip().endswith("interval")
        ]
        known = len(before) > self.left and before[-1] != "estimate"
        return f"interval of {before[-1].strip()}" if known else header.strip()

    def _table(self, shown: Sequence[str], cap: int = 0) -> RichTable:
        title = Text(self.title, "table.title") if self.title else None
        table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, title=title, title_justify="left")
        at = [position for position, header in enumerate(self.headers) if header in shown]
        for position in at:
            header = self.headers[position]
            name = position < self.left
            folds = header in self.words or (name and self._longest(header) > cap)
            table.add_column(
                header,
                justify="left" if name or header in self.words else "right",
                no_wrap=not folds,
                overflow="fold",
            )
        for row, style in zip(self.rows, self.styles or ("",) * len(self.rows), strict=True):
            table.add_row(*(Text(row[position]) for position in at), style=style)
        return table


def _width(console: Console, options: ConsoleOptions, table: RichTable) -> int:
    """Return the width at which nothing of a table wraps."""
    return Measurement.get(console, options.update(max_width=10_000), table).maximum


def command(text: str, *, style: str = "") -> Text:
    """Return a command on one line of its own, however long: a broken line cannot be copied."""
    return Text(text, style=style, no_wrap=True)


_NAMES = ("name", "metric")
"""Kinds of columns that stay whole at the left."""

_STYLES: dict[str, str] = {"lead": "bold", "caveat": "yellow", "good": "green", "bad": "red", "open": "yellow"}

_LONGEST = 4_000
"""Characters of a line that are printed."""


_MOST = 10_000
"""Sentences and cells of tables that are printed of one description."""


def renderables(described: Part, *, then: Sequence[Said] = ()) -> list[RenderableType]:
    """Return what to print of a description, of a long one a part; `then` is next instead."""
    room, parts = _MOST, list[RenderableType]()
    for part in _renderables(described, then):
        width, rows = (len(part.headers), len(part.rows)) if isinstance(part, FittedTable) else (1, 1)
        fitting = min(rows, room // max(width, 1))
        if fitting == rows:
            parts.append(part)
        elif fitting and isinstance(part, FittedTable):
            parts.append(replace(part, rows=part.rows[:fitting], styles=part.styles[:fitting]))
        if fitting < rows:
            return [*parts, Text("More is on the page and in the JSON document.")]
        room -= (rows + 2) * width  # a heading takes the time of two rows
    return parts


def _renderables(described: Part, then: Sequence[Said]) -> Iterator[RenderableType]:
    blocks = decisive_first(described, above_all=True).blocks
    verdicts = [block for block in blocks if _is_verdict(block)]
    if verdicts:
        yield from _blocks(verdicts)
        yield Text("")
    yield Text(_line(described.title), style="bold")
    yield from _blocks([block for block in blocks if not _is_verdict(block)])
    if then:
        yield from _blocks(then)
        return
    for part in next_of(verdicts):
        yield Text(f"{_line(part.title)}:")
        yield from _blocks(part.blocks)


def lines(sentences: Sequence[Said]) -> Iterator[RenderableType]:
    """Yield what to print of sentences that are no part of a document."""
    yield from _blocks(sentences)


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
        yield Text(_line(f"Verdict: {part.title}"), style=f"bold {_STYLES.get(part.state, '')}".strip())
        yield from _blocks(part.blocks)
        return
    if part.title:
        yield Text(_line(part.title), style="bold")
    yield from _blocks(part.blocks)


def _is_verdict(block: Block) -> bool:
    return isinstance(block, Part) and block.role == "verdict"


def _said(sentence: Said) -> Text:
    return Text(
        _line(f"{sentence.text} {sentence.file}" if sentence.file else sentence.text),
        style=_STYLES.get(sentence.role, ""),
    )


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
    names: list[str] = []
    for title in titles:
        name = title
        while name in names:
            name += " "
        names.append(name)
    return names


def _line(text: str) -> str:
    return printable(text, longest=_LONGEST)


WIDTH = 118
"""Columns of plain text, but for tables; a terminal is asked for its own."""


def plain(parts: Iterable[RenderableType]) -> str:
    """Render without any escape sequence."""
    stream = io.StringIO()
    # In a notebook rich would show the parts below the cell and leave the stream empty.
    plainly = Console(file=stream, width=WIDTH, color_system=None, force_terminal=False, force_jupyter=False)
    _print(plainly, parts)
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
    """Write to a stream that may be closed, or whose reader may leave: the exit code does not depend on readers."""
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

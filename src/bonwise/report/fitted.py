"""Tables fitted to a width, and commands that are never broken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

__all__ = ["FittedTable", "command"]

_WORDS = 36
"""Columns that words need at least; a column with fewer is better left out."""


@dataclass(frozen=True)
class FittedTable:
    """A table whose names and figures are never cut short.

    On a terminal too narrow for all of it whole columns are left out, and named below the table. In a file or a pipe
    nothing is left out, however wide the lines become; only sentences are broken into lines there too.

    Examples
    --------
    >>> import io
    >>> stream = io.StringIO()
    >>> narrow = Console(file=stream, width=20, force_terminal=True, color_system=None, legacy_windows=False)
    >>> narrow.print(FittedTable(("judge", "recovery", "n"), [["lexical", "0.25", "1,000"]], spare=("n",)))
    >>> [line.rstrip() for line in stream.getvalue().splitlines()][:3]
    ['judge     recovery', '──────────────────', 'lexical       0.25']
    """

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
                [one for one in self.words if one in shown]
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
        return max(1, options.max_width // (2 * self.left))

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
        before = [one for one in self.headers[: self.headers.index(header)] if not one.strip().endswith("interval")]
        known = len(before) > self.left and before[-1] != "estimate"
        return f"interval of {before[-1].strip()}" if known else header.strip()

    def _table(self, shown: Sequence[str], cap: int = 0) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, title=self.title or None)
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


def _width(console: Console, options: ConsoleOptions, table: Table) -> int:
    """Return the width at which nothing of a table wraps."""
    return Measurement.get(console, options.update(max_width=10_000), table).maximum


def command(text: str, *, style: str = "") -> Text:
    """Return a command on one line of its own, however long: a broken line cannot be copied."""
    return Text(text, style=style, no_wrap=True)

"""A table that gives up columns, least important first, until it fits the width at hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

__all__ = ["FittedTable"]


@dataclass(frozen=True)
class FittedTable:
    """A table whose first column and whose figures are never cut short.

    Parameters
    ----------
    headers : sequence of str
    rows : sequence of sequence of str
        One cell a header.
    spare : sequence of str
        Headers that may be left out, the first one first.
    left : int
        Leading columns that hold names.
    title : str
    """

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    spare: Sequence[str] = ()
    left: int = 1
    title: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        shown, spare = list(self.headers), list(self.spare)
        table = self._table(shown)
        while spare and Measurement.get(console, options.update(max_width=10_000), table).maximum > options.max_width:
            shown.remove(spare.pop(0))
            table = self._table(shown)
        yield table

    def _table(self, shown: Sequence[str]) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, title=self.title or None)
        at = [position for position, header in enumerate(self.headers) if header in shown]
        for position in at:
            names = position < self.left
            table.add_column(self.headers[position], justify="left" if names else "right", no_wrap=not names)
        for row in self.rows:
            table.add_row(*(Text(row[position]) for position in at))
        return table

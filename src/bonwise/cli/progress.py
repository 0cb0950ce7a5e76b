"""What a long run shows while it runs: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bonwise.cli.arguments import say
from bonwise.report.amounts import money

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine

__all__ = ["Goal", "watched"]

BAR_PAUSE = 0.2
LINE_PAUSE = 15.0
"""Seconds between two looks: a bar is redrawn, a line stays."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What a run is counted by.

    Parameters
    ----------
    what : str
        In the plural.
    done : callable
        Returns how many are done.
    total : int or None
        How many there will be; None where nobody knows.

    Examples
    --------
    >>> str(Goal("pools", lambda: 3, 1000)), str(Goal("pools", lambda: 3))
    ('3 of 1,000 pools', '3 pools')
    """

    what: str
    done: Callable[[], int]
    total: int | None = None

    def __str__(self) -> str:
        of = "" if self.total is None else f" of {self.total:,}"
        return f"{self.done():,}{of} {self.what}"


@asynccontextmanager
async def watched(engine: Engine, goal: Goal) -> AsyncIterator[None]:
    """Show how far an engine has come, until the block ends."""
    show = _bar if sys.stderr.isatty() else _lines
    task = asyncio.create_task(show(engine, goal))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _lines(engine: Engine, goal: Goal) -> None:
    start = time.monotonic()
    while True:
        await asyncio.sleep(LINE_PAUSE)
        left = [] if goal.total is None else [_left(goal.done(), goal.total, time.monotonic() - start)]
        say(", ".join([_figures(engine, goal), *left]))


async def _bar(engine: Engine, goal: Goal) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    figures = TextColumn("{task.description}", markup=False)
    with Progress(BarColumn(), figures, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=goal.total)
        while True:
            bar.update(task, completed=goal.done(), description=_figures(engine, goal))
            await asyncio.sleep(BAR_PAUSE)


def _figures(engine: Engine, goal: Goal) -> str:
    totals = engine.totals
    parts = [str(goal)]
    parts += [f"{totals.answers:,} answers"] if goal.what != "answers" else []
    parts += [f"{totals.bill.from_ledger:,} from the ledger"]
    parts += [f"{totals.unscored:,} unscored"] if totals.unscored else []
    parts += [f"{totals.bill.owed:,} failed"] if totals.bill.owed else []
    parts += [f"{totals.waiting:,} to be tried again ({_short(totals.trouble)})"] if totals.waiting else []
    return ", ".join([*parts, money(totals.bill.cost)])


def _short(trouble: str) -> str:
    from bonwise.printable import printable

    return printable(trouble, longest=60)


def _left(done: int, total: int, seconds: float) -> str:
    if not done:
        return "time left unknown"
    left = max(total - done, 0) * seconds / done
    return f"about {left / 60:.0f} min left" if left >= 90 else f"about {left:.0f} s left"

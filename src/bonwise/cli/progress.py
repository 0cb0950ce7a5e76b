"""What a long run shows while it runs: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from bonwise.cli.arguments import say
from bonwise.report.amounts import money
from bonwise.report.numbers import counted

if TYPE_CHECKING:
    from bonwise.runs.progress import Progress, RunProgress

__all__ = ["shown_count", "shown_progress"]

LINE_PAUSE = 15.0
"""Seconds between two lines: a bar is redrawn, a line stays."""

COUNT_PAUSE = 2.0
"""The same for a mere count, of what takes seconds and not hours."""

_BAR = 12
"""Columns of the bar."""

T = TypeVar("T")


@contextmanager
def shown_progress() -> Iterator[Progress]:
    """Show how far a run has come until the block ends."""
    with _bar() if sys.stderr.isatty() else _lines() as show:
        yield show


def shown_count(things: Iterable[T], what: str) -> Iterator[T]:
    """Yield things, and say now and then how many there were; for what ends without a known number."""
    said_at = time.monotonic()
    for count, thing in enumerate(things, 1):
        yield thing
        if count % 1000 == 0 and time.monotonic() >= said_at + COUNT_PAUSE:
            said_at = time.monotonic()
            say(f"{counted(count, what)} so far")


@contextmanager
def _lines() -> Iterator[Progress]:
    said_at = 0.0

    def show(now: RunProgress) -> None:
        nonlocal said_at
        if now.seconds >= said_at + LINE_PAUSE:
            said_at = now.seconds
            left = [] if now.total is None else [_left(now.done, now.total, now.seconds)]
            say(", ".join([_figures(now), *left]))

    yield show


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar
    from rich.table import Column

    rest = Column(no_wrap=True, overflow="ellipsis", ratio=1)
    # Cost and time left never give way; of the figures, what is least important stands last and is cut first.
    columns: list[ProgressColumn] = [
        BarColumn(bar_width=_BAR),
        TextColumn("{task.fields[cost]}", markup=False, table_column=Column(no_wrap=True)),
        TimeRemainingColumn(compact=True, table_column=Column(no_wrap=True)),
        TextColumn("{task.description}", markup=False, table_column=rest),
    ]
    with Bar(*columns, console=Console(stderr=True), transient=True, expand=True) as bar:
        task = bar.add_task("", total=None, cost="")

        def show(now: RunProgress) -> None:
            figures = ", ".join(_parts(now))
            bar.update(task, total=now.total, completed=now.done, description=figures, cost=money(now.cost))

        yield show


def _figures(now: RunProgress) -> str:
    return ", ".join([*_parts(now), money(now.cost)])


def _parts(now: RunProgress) -> list[str]:
    of = "" if now.total is None else f" of {now.total:,}"
    parts = [f"{now.done:,}{of} {now.what}"]
    parts += [counted(now.answers, "answer")] if now.what != "answers" else []
    parts += [f"{now.from_ledger:,} from the ledger"]
    parts += [f"{now.unscored:,} unscored"] if now.unscored else []
    parts += [f"{now.pending:,} failed"] if now.pending else []
    # Once something has been answered nobody knows any more why those before it wait.
    why = f" ({_short(now.trouble)})" if now.trouble else ""
    parts += [f"{now.waiting:,} to be tried again{why}"] if now.waiting else []
    return parts


def _short(trouble: str) -> str:
    from bonwise.printable import printable

    return printable(trouble, longest=60)


def _left(done: int, total: int, seconds: float) -> str:
    if not done:
        return "time left unknown"
    left = max(total - done, 0) * seconds / done
    return f"about {left / 60:.0f} min left" if left >= 90 else f"about {left:.0f} s left"

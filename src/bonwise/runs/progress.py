"""How far a run has come, and who is told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal

from bonwise.runs.summary import RunSummary

__all__ = ["Counted", "Progress", "RunProgress", "told"]

Counted = Literal["answers", "pools"]

PAUSE = 0.2
"""Seconds between two looks at a run."""


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run has come.

    Parameters
    ----------
    what : {"answers", "pools"}
        What `done` and `total` count.
    done : int
    total : int or None
        None where nobody knows.
    answers : int
        Answers of models, those from the ledger included.
    from_ledger : int
        Answers that cost nothing.
    unscored : int
        Answers that could not be used.
    pending : int
        Answers that did not arrive; a later run on the same ledger asks again.
    waiting : int
        Calls that failed in transport and wait to be tried again.
    trouble : str
        The latest transport failure, empty once something has been answered since.
    cost : float or None
        US dollars; None where a price is not known.
    seconds : float
        Since the run began.
    """

    what: Counted
    done: int
    total: int | None
    answers: int
    from_ledger: int
    unscored: int
    pending: int
    waiting: int
    trouble: str
    cost: float | None
    seconds: float


Progress = Callable[[RunProgress], None]
"""Called with how far a run has come, several times a second and at its end, in the thread of its event loop."""


@asynccontextmanager
async def told(
    progress: Progress | None, summary: RunSummary, what: Counted, total: int | None
) -> AsyncIterator[None]:
    """Tell how far a run has come until the block ends, and at its end; what `progress` raises is raised."""
    if progress is None:
        yield
        return
    began = time.monotonic()

    def tell() -> None:
        progress(_progress(summary, what, total, time.monotonic() - began))

    async def keep_telling() -> None:
        while True:
            tell()
            await asyncio.sleep(PAUSE)

    telling = asyncio.create_task(keep_telling())
    try:
        yield
    finally:
        telling.cancel()
        (failed,) = await asyncio.gather(telling, return_exceptions=True)
    if isinstance(failed, Exception):
        raise failed
    tell()


def _progress(summary: RunSummary, what: Counted, total: int | None, seconds: float) -> RunProgress:
    totals = summary.engine.totals
    return RunProgress(
        what=what,
        done=totals.answers if what == "answers" else summary.pools,
        total=total,
        answers=totals.answers,
        from_ledger=totals.bill.from_ledger,
        unscored=totals.unscored,
        pending=totals.bill.owed,
        waiting=totals.waiting,
        trouble=totals.trouble,
        cost=totals.bill.cost,
        seconds=seconds,
    )

"""Ends a run from outside, and tells how far it has come."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field

from bonwise.calls.engine import GRACE
from bonwise.runs.progress import Counted, Progress, told
from bonwise.runs.summary import RunSummary

__all__ = ["RunControl", "Stop"]


class Stop:
    """Ends a run from outside, from any thread or from a signal handler.

    After the first request nothing new is sent, and the run ends when the calls on the wire, which are paid, have
    been answered, or after 5 seconds: those without an answer by then may be billed. After the second the run gives
    them up at once, and raises `asyncio.CancelledError`, in synchronous code `concurrent.futures.CancelledError`.

    Examples
    --------
    >>> import bonwise as bw
    >>> stop = Stop()
    >>> stop.request()
    >>> found = bw.judge([("Name a colour", ["red"])], judge=bw.Pointwise("openai/gpt-5-mini"), stop=stop)
    >>> found.pending
    {'interrupted': 1}
    """

    def __init__(self) -> None:
        self.requests = 0
        self._heard_by: list[Callable[[int], None]] = []
        self._lock = threading.RLock()  # a signal may come while the same thread holds it

    def request(self) -> None:
        """Ask for the end."""
        with self._lock:
            self.requests += 1
            for hear in self._heard_by:
                hear(self.requests)

    @contextmanager
    def heard(self, hear: Callable[[int], None]) -> Iterator[None]:
        """Call a function with the number of each request until the block ends, with those before it at once."""
        with self._lock:
            self._heard_by.append(hear)
            for number in range(1, self.requests + 1):
                hear(number)
        try:
            yield
        finally:
            with self._lock:
                self._heard_by.remove(hear)


@dataclass(slots=True)
class RunControl:
    """Who is told how far a run has come, and who may end it."""

    progress: Progress | None = None
    """Called with a `RunProgress`."""
    stop: Stop = field(default_factory=Stop)
    total: int | None = None
    """How many answers, or pools, there will be."""
    summary: RunSummary | None = field(default=None, init=False)
    """How the run goes, from its beginning."""

    @property
    def how_it_went(self) -> RunSummary:
        """The summary of a run that has begun.

        Raises
        ------
        RuntimeError
            It has not.
        """
        if self.summary is None:
            raise RuntimeError("the run has not begun")
        return self.summary

    @asynccontextmanager
    async def over(self, summary: RunSummary, what: Counted) -> AsyncIterator[asyncio.Event]:
        """Watch a run until the block ends; the event is set once it is told to end."""
        self.summary = summary
        stopped, task, loop = asyncio.Event(), asyncio.current_task(), asyncio.get_running_loop()
        late: list[asyncio.TimerHandle] = []

        def end(requests: int) -> None:
            if requests > 1:
                summary.engine.abandon("interrupted")
                if task is not None:
                    task.cancel()
                return
            summary.interrupted = True
            stopped.set()
            summary.engine.stop("interrupted")
            late.append(loop.call_later(GRACE, summary.engine.abandon, "interrupted"))

        def hear(requests: int) -> None:
            with suppress(RuntimeError):  # the loop may have ended meanwhile
                loop.call_soon_threadsafe(end, requests)

        with self.stop.heard(hear):
            try:
                async with told(self.progress, summary, what, self.total):
                    yield stopped
            finally:
                # The engine may go on, and with it what others asked of it.
                for timer in late:
                    timer.cancel()

"""Calls that wait for room within a limit, in the order of asking, each in its own event loop; or are refused."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

__all__ = ["QueuedReservation", "ReservationQueue", "SpendingLimitReached"]


class SpendingLimitReached(Exception):  # noqa: N818 - no defect: the run ends where its owner wanted it to
    """One more call might exceed a limit, whatever becomes of the calls in flight; stays inside the engine.

    Parameters
    ----------
    limit : str
        ``max_calls``, ``max_tokens`` or ``max_cost``.
    reason : str
        One line.
    """

    def __init__(self, limit: str, reason: str) -> None:
        self.limit = limit
        self.reason = reason
        super().__init__(reason)


class _Need(Protocol):
    """What a call needs of what is limited."""

    def plus(self, other: Self) -> Self:
        """Return what both need."""
        ...


N = TypeVar("N", bound=_Need)


@dataclass(slots=True, eq=False)
class QueuedReservation(Generic[N]):
    """A call that waits for room."""

    need: N
    priced: bool
    loop: asyncio.AbstractEventLoop
    """Where it waits."""
    turn: asyncio.Future[None]
    """Done when there may be room for it."""
    told: bool = False
    """Whether `turn` is done, or will be as soon as the loop goes on."""

    def try_again(self, here: asyncio.AbstractEventLoop | None) -> None:
        """Let it try, from the loop that runs here or from any other thread."""
        self.told = True
        if here is self.loop:
            self._end_of_waiting()
        elif not self.loop.is_closed():
            with suppress(RuntimeError):  # closed at this very moment: nobody waits there any more
                self.loop.call_soon_threadsafe(self._end_of_waiting)

    def wait_again(self) -> None:
        """Go back to where it stood in line."""
        self.told, self.turn = False, self.loop.create_future()

    def _end_of_waiting(self) -> None:
        if not self.turn.done():
            self.turn.set_result(None)


class ReservationQueue(Generic[N]):
    """The line. Whoever uses it sees to it that one thread does so at a time."""

    def __init__(self) -> None:
        self.waiters: OrderedDict[QueuedReservation[N], None] = OrderedDict()
        """Those who wait, in their order."""

    def has(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Tell whether somebody waits in an event loop."""
        return any(waiter.loop is loop for waiter in self.waiters)

    def add(self, waiter: QueuedReservation[N]) -> None:
        """Put one at the end."""
        self.waiters[waiter] = None

    def remove(self, waiter: QueuedReservation[N]) -> None:
        """Take one out; one that is not in line is no error."""
        self.waiters.pop(waiter, None)

    def wake(self, fits: Callable[[N], bool], is_refused: Callable[[N], bool]) -> None:
        """Let those try who fit, or are to be refused, in their order.

        With nothing in flight the first in line does, so nobody waits for nobody. Whose loop stands still is not
        waited for: there is no telling whether it will take its turn.

        Parameters
        ----------
        fits : callable
            Whether there is room now for all that is needed by those who are let in.
        is_refused : callable
            Whether there cannot be room for one any more.
        """
        here, gone = _running_loop(), []
        promised: N | None = None
        for waiter in self.waiters:
            running = waiter.loop.is_running()
            if not is_refused(waiter.need):
                more = waiter.need if promised is None else promised.plus(waiter.need)
                if not fits(more):
                    if running:
                        break
                    continue
                promised = more if running else promised
            if waiter.loop.is_closed():
                gone.append(waiter)
            elif not waiter.told:
                waiter.try_again(here)
        for waiter in gone:
            del self.waiters[waiter]


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None

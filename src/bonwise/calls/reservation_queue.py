"""Those who wait for room within a limit, in the order of asking, each in its own event loop."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from bonwise.calls.amount import Amount

__all__ = ["QueuedReservation", "ReservationQueue"]


@dataclass(slots=True, eq=False)
class QueuedReservation:
    """A call that waits for room.

    Parameters
    ----------
    need : Amount
    priced : bool
    loop : asyncio.AbstractEventLoop
        Where it waits.
    turn : asyncio.Future
        Done when there may be room for it.
    told : bool
        Whether `turn` is done, or will be as soon as the loop goes on.
    """

    need: Amount
    priced: bool
    loop: asyncio.AbstractEventLoop
    turn: asyncio.Future[None]
    told: bool = False

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


class ReservationQueue:
    """The line. Whoever uses it sees to it that one thread does so at a time."""

    def __init__(self) -> None:
        self._waiters: OrderedDict[QueuedReservation, None] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._waiters)

    def has(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Tell whether somebody waits in an event loop."""
        return any(waiter.loop is loop for waiter in self._waiters)

    def add(self, waiter: QueuedReservation) -> None:
        """Put one at the end."""
        self._waiters[waiter] = None

    def remove(self, waiter: QueuedReservation) -> None:
        """Take one out; one that is not in line is no error."""
        self._waiters.pop(waiter, None)

    def wake(self, fits: Callable[[Amount], bool], is_refused: Callable[[Amount], bool]) -> None:
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
        here, promised, gone = _running_loop(), Amount(), []
        for waiter in self._waiters:
            running = waiter.loop.is_running()
            if not is_refused(waiter.need):
                more = promised.plus(waiter.need)
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
            del self._waiters[waiter]


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None

"""What all processes spend on one ledger, and a limit on it for each hour, day or month."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING

from bonwise.calls.bill import PICO
from bonwise.calls.spending import SpendingLimitReached
from bonwise.errors import LedgerError

if TYPE_CHECKING:
    from bonwise.calls.cost_limit import CostLimit
    from bonwise.calls.ledger.ledger import LedgerProtocol
    from bonwise.calls.spending import Reservation

__all__ = ["SharedMoney"]

PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Seconds between looks for room that another process may have given back."""


class SharedMoney:
    """The money of a ledger, as one engine spends it.

    It is spent when a call ends, and counts until that moment has left the window. A call that is open counts with
    its worst case; one whose process has ended is spent with it when another process finds it. The time is that of
    `clock`, in seconds since 1970, but never earlier than the latest at which money was spent there: a clock that
    goes back frees nothing. `limit` has a window, or is None.
    """

    def __init__(
        self, ledger: LedgerProtocol, limit: CostLimit | None, clock: Callable[[], float] | None = None
    ) -> None:
        if limit is not None:
            limit.refuse_without(ledger.path)
        self._ledger, self._limit, self._clock = ledger, limit, clock
        self._turn, self._freed = asyncio.Lock(), asyncio.Event()

    async def cover(self, reservation: Reservation) -> None:
        """Set a worst case aside on the ledger too, waiting while calls in flight, of any process, may leave room.

        Raises `SpendingLimitReached` where it cannot fit even if all of these cost nothing.
        """
        if self._limit is None:
            reservation.ended = partial(self._spend, None)
        elif self._turn.locked() or not await self._held(reservation, self._limit):
            async with self._turn:
                await self._wait_for_room(reservation, self._limit)

    async def _wait_for_room(self, reservation: Reservation, limit: CostLimit) -> None:
        pauses = chain(PAUSES, repeat(PAUSES[-1]))
        self._freed.clear()
        while not await self._held(reservation, limit):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._freed.wait(), next(pauses))
            self._freed.clear()

    async def _held(self, reservation: Reservation, limit: CostLimit) -> bool:
        most = round(limit.dollars * PICO)
        held = await self._ledger.hold_money(reservation.need.cost, most, limit.seconds, self._now())
        if held.row is None and not held.may_fit:
            raise SpendingLimitReached(
                "max_cost", f"max_cost={limit} leaves no room for the worst case of another call"
            )
        if held.row is None:
            return False
        reservation.ended = partial(self._spend, held.row)
        return True

    def _spend(self, row: int | None, cost: int) -> None:
        self._freed.set()
        # Of a ledger that is closed, what is held counts as spent: its process has left it.
        with suppress(LedgerError):
            self._ledger.spend_money(row, cost, self._now())

    def _now(self) -> float:
        return (self._clock or time.time)()

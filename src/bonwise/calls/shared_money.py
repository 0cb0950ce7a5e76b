"""What all processes spend on one ledger, and a limit on it for each hour, day or month."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING

from bonwise.calls import bill, cost_limit, spending

if TYPE_CHECKING:
    from bonwise.calls.ledger.ledger import Ledger
    from bonwise.calls.ledger.postgres import PostgresLedger


PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Seconds between looks at what another process does: at its call, or at the money that it holds."""


class SharedMoney:
    """The money of a ledger within a limit's window: open calls count with their worst case, and time never falls."""

    def __init__(self, ledger: Ledger | PostgresLedger, limit: cost_limit.CostLimit) -> None:
        self._ledger, self._limit = ledger, limit
        self._clock = time.time
        self._turn, self._freed = asyncio.Lock(), asyncio.Event()

    async def cover(self, reservation: spending.Reservation) -> None:
        """Set a worst case aside on the ledger too, in line while calls in flight, of any process, may leave room."""
        if not self._turn.locked() and await self._is_held(reservation):
            return
        async with self._turn:
            for pause in chain(PAUSES, repeat(PAUSES[-1])):
                self._freed.clear()
                if await self._is_held(reservation):
                    return
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._freed.wait(), pause)

    async def _is_held(self, reservation: spending.Reservation) -> bool:
        limit = self._limit
        most, seconds = round(limit.dollars * bill.PICO), cost_limit.SECONDS[str(limit.window)]
        row = await self._ledger.hold_money(reservation.need.cost, most, seconds, self._clock())
        if row is None:
            reason = f"max_cost={limit} leaves no room for the worst case of another call"
            raise spending.SpendingLimitReached("max_cost", reason)
        if row:
            reservation.ended = partial(self._spent, row)
        return row > 0

    def _spent(self, row: int, cost: int) -> None:
        self._freed.set()
        self._ledger.spend_money(cost, self._clock(), row)

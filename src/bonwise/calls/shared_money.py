"""What all processes spend on one ledger, and a limit on it for each hour, day or month."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING

from bonwise.calls import bill, cost_limit, spending
from bonwise.calls.ledger.ledger import Ledger, LedgerProtocol
from bonwise.errors import LedgerError

if TYPE_CHECKING:
    from bonwise.calls import cost_limit, spending

__all__ = ["SharedMoney"]


PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Seconds between looks at what another process does: at its call, or at the money that it holds."""


class SharedMoney:
    """The money of a ledger, as one engine spends it; `limit` has a window, or is None.

    It is spent when a call ends, and counts until that moment has left the window. A call that is open counts with
    its worst case; one whose process has ended is spent with it when another process finds it. The time is never
    earlier than the latest at which money was spent there: a clock that goes back frees nothing.
    """

    def __init__(self, ledger: LedgerProtocol, limit: cost_limit.CostLimit | None) -> None:
        if limit is not None:
            limit.refuse_without(ledger.path)
        self._ledger, self.limit = ledger if isinstance(ledger, Ledger) else None, limit
        self._clock = time.time
        self._turn, self._freed = asyncio.Lock(), asyncio.Event()

    async def cover(self, reservation: spending.Reservation) -> None:
        """Set a worst case aside on the ledger too, in line while calls in flight, of any process, may leave room."""
        if self._ledger is None or self.limit is None:
            reservation.ended = self.spent
        elif self._turn.locked() or not await self._is_held(reservation, self._ledger, self.limit):
            async with self._turn:
                for pause in chain(PAUSES, repeat(PAUSES[-1])):
                    self._freed.clear()
                    if await self._is_held(reservation, self._ledger, self.limit):
                        return
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._freed.wait(), pause)

    async def _is_held(self, reservation: spending.Reservation, ledger: Ledger, limit: cost_limit.CostLimit) -> bool:
        most, seconds = round(limit.dollars * bill.PICO), cost_limit.SECONDS[str(limit.window)]
        row = await ledger.hold_money(reservation.need.cost, most, seconds, self._clock())
        if row is None:
            reason = f"max_cost={limit} leaves no room for the worst case of another call"
            raise spending.SpendingLimitReached("max_cost", reason)
        if row:
            reservation.ended = partial(self.spent, row=row)
        return row > 0

    def spent(self, cost: int, row: int | None = None) -> None:
        """Note on the ledger what a call has cost, in place of what was held for it at `row`, where something was."""
        self._freed.set()
        if self._ledger is not None and (row is not None or cost):
            # Of a ledger that is closed, what is held counts as spent: its process has left it.
            with suppress(LedgerError):
                self._ledger.spend_money(row, cost, self._clock())

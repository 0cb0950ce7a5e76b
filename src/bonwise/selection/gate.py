"""How pools enter an event loop: a few begin at each of its turns, and so many are judged at once."""

from __future__ import annotations

import asyncio
from collections import deque

__all__ = ["AT_A_TURN", "Gate"]

AT_A_TURN = 2
"""Pools that begin in one turn of the event loop: between turns it serves everything else."""


class Gate:
    """Where pools wait until they may begin, and until there is a place for them.

    Parameters
    ----------
    at_once : int
        Pools that are judged at once.
    """

    def __init__(self, at_once: int) -> None:
        self._places = asyncio.Semaphore(at_once)
        self._line: deque[asyncio.Future[None]] = deque()
        self._begun = 0

    async def begin(self) -> None:
        """Wait, in the order of coming, until a pool may begin; where no crowd is about, that is at once."""
        loop = asyncio.get_running_loop()
        if not self._begun:
            loop.call_soon(self._next_turn, loop)
        if self._begun < AT_A_TURN:
            self._begun += 1
            return
        mine = loop.create_future()
        self._line.append(mine)
        await mine

    async def enter(self, until: float | None) -> bool:
        """Take a place; tell whether there was one by that second of the loop's time."""
        if until is None or not self._places.locked():
            return await self._places.acquire()
        try:
            async with asyncio.timeout_at(until):
                return await self._places.acquire()
        except TimeoutError:
            return False

    def leave(self) -> None:
        """Give a place back."""
        self._places.release()

    def _next_turn(self, loop: asyncio.AbstractEventLoop) -> None:
        self._begun = 0
        while self._line and self._begun < AT_A_TURN:
            first = self._line.popleft()
            if not first.done():  # who was cancelled meanwhile is done
                first.set_result(None)
                self._begun += 1
        if self._begun:
            loop.call_soon(self._next_turn, loop)

"""A virtual clock that stands still until it is let go, for what must be late at any speed of the machine."""

from __future__ import annotations

import asyncio

from calls.virtual_time import VirtualTimeLoop

PATIENCE = 0.02
"""Real seconds to listen for what is on its way through a socket, before the clock jumps."""


class HeldLoop(VirtualTimeLoop):
    """A loop whose time stands at 0, whatever threads, sockets and disks take, until `let_go`."""

    def __init__(self):
        super().__init__(PATIENCE)
        self._hold()

    def run_in_executor(self, executor, func, *args):
        """Run work beside the loop, which holds the clock no more than any other thread does."""
        return asyncio.SelectorEventLoop.run_in_executor(self, executor, func, *args)

    def let_go(self, seconds=None):
        """From any thread: let time pass, for some seconds or for good, as soon as nothing else is to be done."""
        self.call_soon_threadsafe(self._let_go, seconds)

    def _hold(self):
        self.working = 1

    def _let_go(self, seconds):
        self.working = 0
        if seconds is not None:
            self.call_later(seconds, self._hold)


def run_held(coro):
    """Run a coroutine to its end on a clock that stands still until it is let go."""
    with asyncio.Runner(loop_factory=HeldLoop) as runner:
        return runner.run(coro)

"""An event loop whose clock jumps: hours of waiting pass in no time, and threads and sockets still work."""

from __future__ import annotations

import asyncio
import selectors

STUCK_AFTER = 60.0


class JumpingSelector(selectors.DefaultSelector):
    """Reports what is really ready, and otherwise lets the loop's clock jump to the next timer."""

    loop = None

    def select(self, timeout=None):
        """Poll; with nothing ready jump, or block for real where only a thread can bring news."""
        events = super().select(0)
        if events or (timeout is not None and timeout <= 0):
            return events
        if timeout is None or self.loop.working:
            events = super().select(STUCK_AFTER)
            if not events:
                raise RuntimeError("nothing will ever wake this loop")
            return events
        events = super().select(self.loop.patience) if self.loop.patience else []
        if not events:
            self.loop.now += timeout
        return events


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop that starts at time 0. Its time stands still while work is under way in its executors.

    ``patience`` is the real seconds to listen before each jump, for peers the loop does not know of: threads
    that were not started by ``to_thread`` or ``run_in_executor``, and other processes.
    """

    def __init__(self, patience=0.0):
        self.now = 0.0
        self.working = 0
        self.patience = patience
        selector = JumpingSelector()
        selector.loop = self
        super().__init__(selector)

    def time(self):
        """Return virtual seconds."""
        return self.now

    def run_in_executor(self, executor, func, *args):
        """Hold the clock until the work is done."""
        future = super().run_in_executor(executor, func, *args)
        self.working += 1
        future.add_done_callback(self._worked)
        return future

    def _worked(self, _future):
        self.working -= 1

    async def shutdown_default_executor(self, *timeout):
        """Join the threads on the real clock."""
        self.working += 1
        try:
            await super().shutdown_default_executor(*timeout)
        finally:
            self.working -= 1


def run_virtual(coro, *, patience=0.0):
    """Run a coroutine to its end on virtual time, as `asyncio.run` does on real time."""
    with asyncio.Runner(loop_factory=lambda: VirtualTimeLoop(patience)) as runner:
        return runner.run(coro)

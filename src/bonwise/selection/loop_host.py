"""Where a selector's engine lives: in the event loop of its first use, or in a thread of its own."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from bonwise.selection.judge_runner import PoolQueue

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine

__all__ = ["LoopHost", "OwnThreadHost", "RunningLoopHost", "SharedThreadHost"]

T = TypeVar("T")
Work = Callable[..., Coroutine[Any, Any, T]]


class LoopHost(ABC):
    """An event loop with an engine in it.

    Parameters
    ----------
    make_engine : callable
        Called in that loop.
    at_once : int
        Pools that are judged at once there.
    """

    @abstractmethod
    def __init__(self, make_engine: Callable[[], Engine], at_once: int) -> None:
        self.gate: PoolQueue | None = PoolQueue(at_once)
        self.lent = False
        """Whether its loop serves other loops and threads too: whoever entered the selector there leaves it first."""

    @property
    @abstractmethod
    def stands_still(self) -> bool:
        """Whether nothing runs there any more, or for the time being."""

    @property
    @abstractmethod
    def is_here(self) -> bool:
        """Whether it is the running event loop."""

    @abstractmethod
    async def work(self, work: Work[T], *arguments: Any) -> T:
        """Call ``work(engine, *arguments)`` here; only where `is_here`."""

    @abstractmethod
    def submit(self, work: Work[T], *arguments: Any) -> Future[T]:
        """Call it from anywhere else."""

    @abstractmethod
    async def aclose(self, *, wait: bool = True) -> None:
        """Close the engine, from whatever event loop, after the calls on the wire or without them."""

    @abstractmethod
    def close(self, *, wait: bool = True) -> None:
        """Close the engine, from synchronous code."""


class RunningLoopHost(LoopHost):
    """The event loop that runs when it is made."""

    def __init__(self, make_engine: Callable[[], Engine], at_once: int) -> None:
        super().__init__(make_engine, at_once)
        self._loop = asyncio.get_running_loop()
        self._engine = make_engine()

    @property
    def stands_still(self) -> bool:
        """Whether the loop has ended, or is not running just now: who waited for it might wait for ever."""
        return not self._loop.is_running()

    @property
    def is_here(self) -> bool:
        """Whether it is the running event loop."""
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False

    async def work(self, work: Work[T], *arguments: Any) -> T:
        """Call ``work(engine, *arguments)``."""
        return await work(self._engine, *arguments)

    def submit(self, work: Work[T], *arguments: Any) -> Future[T]:
        """Call it from another thread."""
        return asyncio.run_coroutine_threadsafe(work(self._engine, *arguments), self._loop)

    async def aclose(self, *, wait: bool = True) -> None:
        """Close the engine in its own loop."""
        if self.is_here:
            await self._close(wait)
        else:
            await asyncio.to_thread(self.close, wait=wait)

    def close(self, *, wait: bool = True) -> None:
        """Close the engine; of one whose loop is gone only the ledger is left to close."""
        if not self._loop.is_running():
            self._engine.ledger.close()
            return
        asyncio.run_coroutine_threadsafe(self._close(wait), self._loop).result()

    async def _close(self, wait: bool) -> None:
        if not wait:
            self._engine.abandon("nobody waits for it")
        await self._engine.aclose()


class OwnThreadHost(LoopHost):
    """A thread of its own."""

    stands_still = False

    def __init__(self, make_engine: Callable[[], Engine], at_once: int) -> None:
        from bonwise.calls.portal import Portal  # noqa: PLC0415 - loads what talks to services, when first needed

        super().__init__(make_engine, at_once)
        self._portal = Portal(make_engine)
        self._portal.submit(_made)

    @property
    def is_here(self) -> bool:
        """Whether it is the running event loop: nobody's code but its own runs there."""
        return self._portal.is_here

    async def work(self, work: Work[T], *arguments: Any) -> T:
        """Call it here, for a judge that selects in turn."""
        return await self._portal.within(work, *arguments)

    def submit(self, work: Work[T], *arguments: Any) -> Future[T]:
        """Call it there."""
        return self._portal.submit(work, *arguments)

    async def aclose(self, *, wait: bool = True) -> None:
        """Close it without blocking the running loop."""
        await asyncio.to_thread(self._portal.close, wait=wait)

    def close(self, *, wait: bool = True) -> None:
        """Close it and end the thread."""
        self._portal.close(wait=wait)


class SharedThreadHost(OwnThreadHost):
    """The thread that all calls without settings of an engine share, so that connections are kept from call to call.

    Its engine is its own, it is never closed, and one pool more or less has no place to wait for.
    """

    def __init__(self, make_engine: Callable[[], Engine], at_once: int) -> None:
        from bonwise.calls.portal import default_portal  # noqa: PLC0415 - as above

        del make_engine, at_once
        self.gate = None
        self._portal = default_portal()

    async def aclose(self, *, wait: bool = True) -> None:
        """Leave it open for the next call."""

    def close(self, *, wait: bool = True) -> None:
        """Leave it open for the next call."""


async def _made(_engine: Engine) -> None:
    """Have the engine made beforehand; whoever asks first would wait for it."""

"""Event loops with an engine in them: the running one, and one in a thread of its own, for synchronous callers."""

from __future__ import annotations

import asyncio
import atexit
import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from bonwise.errors import UsageError

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine

T = TypeVar("T")
Work = Callable[..., Coroutine[Any, Any, T]]


def running_loop() -> asyncio.AbstractEventLoop:
    """Return the running event loop of asyncio; UsageError under trio, or where none runs."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise UsageError(
            "asynchronous functions of bonwise need the event loop of asyncio, and none runs here",
            hint="under trio call the synchronous one in a thread: await trio.to_thread.run_sync(...)",
        ) from None


AT_A_TURN = 2
"""Pools that begin in one turn of the event loop: between turns it serves everything else."""


class PoolQueue:
    """Where pools wait until they may begin, and until there is a place for them among the `at_once`."""

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
        turn = loop.create_future()
        self._line.append(turn)
        await turn

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


class RunningLoopHost:
    """The event loop that runs when it is made, with an engine that `make_engine` makes there."""

    lent = False
    """Whether it serves other loops and threads too: whoever entered the selector there leaves it first."""

    def __init__(self, make_engine: Callable[[], Engine], at_once: int) -> None:
        self.gate = PoolQueue(at_once)
        self._loop = running_loop()
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


_OPEN: weakref.WeakSet[Portal] = weakref.WeakSet()


class Portal:
    """An event loop in a thread of its own, with an engine made there when first needed; a gate with `at_once`."""

    stands_still = lent = False

    def __init__(self, make_engine: Callable[[], Engine], at_once: int | None = None) -> None:
        from bonwise.calls.providers.protocol import note_portal_loop  # noqa: PLC0415 - judges may ask no model

        _refuse_half_of_gevent()
        self.gate = None if at_once is None else PoolQueue(at_once)
        self._make_engine = make_engine
        self._engine: Engine | None = None
        self._loop = asyncio.new_event_loop()
        note_portal_loop(self._loop)
        self._thread = threading.Thread(target=self._loop.run_forever, name="bonwise-portal", daemon=True)
        _OPEN.add(self)
        self._thread.start()

    def run(self, work: Work[T], *arguments: Any) -> T:
        """Call ``work(engine, *arguments)`` there, wait, and return what it returns; raises what `submit` raises."""
        future = self.submit(work, *arguments)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def submit(self, work: Work[T], *arguments: Any) -> Future[T]:
        """Call ``work(engine, *arguments)`` there and return at once; cancelling the future cancels the work."""
        if self.is_here:
            raise UsageError(
                "an asynchronous judge called a synchronous one, which would wait for ever",
                hint="inside a judge await bonwise.judges.judging.judge_with",
            )
        if not self._thread.is_alive():
            raise UsageError("the process was forked since", hint="make the judge in the process that uses it")

        return asyncio.run_coroutine_threadsafe(self.work(work, *arguments), self._loop)

    async def work(self, work: Work[T], *arguments: Any) -> T:
        """Await ``work(engine, *arguments)``, for what runs in this loop already."""
        if self._engine is None:
            self._engine = self._make_engine()
        return await work(self._engine, *arguments)

    @property
    def is_here(self) -> bool:
        """Whether the running thread is this one's own."""
        return threading.current_thread() is self._thread

    async def aclose(self, *, wait: bool = True) -> None:
        """Close it without blocking the running loop."""
        await asyncio.to_thread(self.close, wait=wait)

    def close(self, *, wait: bool = True) -> None:
        """Close the engine and end the thread; with `wait` after the calls on the wire."""
        self._end(wait=wait, tell_waiting=True)

    def leave(self) -> None:
        """Close it at the end of a program: threads that wait for an answer end with it, and are told nothing."""
        self._end(wait=False, tell_waiting=False)

    def _end(self, *, wait: bool, tell_waiting: bool) -> None:
        if self._loop.is_closed() or not self._thread.is_alive():
            _OPEN.discard(self)
            return
        asyncio.run_coroutine_threadsafe(self._close(wait=wait, tell_waiting=tell_waiting), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        _OPEN.discard(self)

    async def _close(self, *, wait: bool, tell_waiting: bool) -> None:
        if self._engine is not None:
            if not wait:
                self._engine.abandon("the program has ended")
            await self._engine.aclose()
        if not tell_waiting:
            return
        # As the end of any loop: who is cut off in the middle of something gets to know it.
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


def _refuse_half_of_gevent() -> None:
    """Refuse what gevent cannot run: an event loop without all of its patches, or a second one in a thread."""
    monkey: Any = sys.modules.get("gevent.monkey")
    if monkey is None:
        return
    threads, select = monkey.is_module_patched("threading"), monkey.is_module_patched("select")
    if threads != select:
        raise UsageError(
            "gevent has replaced only one of threads and select, so that an event loop would wait for ever",
            hint="call gevent.monkey.patch_all() and leave out neither",
        )
    if threads and _OPEN:
        raise UsageError(
            "under gevent one event loop runs at a time, and another one is open",
            hint="share one bonwise.Selector among all greenlets, or close the other one first",
        )


class _SharedPortal(Portal):
    """The portal of all who have no settings of an engine; it is open as long as the program runs."""

    def close(self, *, wait: bool = True) -> None:
        """Leave it open for the next call."""


LoopHost = RunningLoopHost | Portal
"""An event loop with an engine in it, and a gate where pools wait that are chosen from there."""

_LOCK = threading.Lock()
_DEFAULT: dict[str | None, Portal] = {}
"""By the file of prices, which an engine reads once."""


def _start_anew() -> None:
    global _LOCK  # noqa: PLW0603 - the old one may be held by a thread that the child does not have
    _LOCK = threading.Lock()
    _DEFAULT.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


def default_portal() -> Portal:
    """Return the portal that all share who have no engine of their own, to keep connections; it keeps no ledger."""
    from bonwise.calls.engine import Engine  # noqa: PLC0415 - loads what talks to services, when first needed
    from bonwise.calls.prices import ENVIRONMENT_VARIABLE  # noqa: PLC0415 - likewise

    prices = os.environ.get(ENVIRONMENT_VARIABLE)
    with _LOCK:
        if prices not in _DEFAULT:
            portal = _SharedPortal(Engine)
            # Nobody would keep the answers that are still to come.
            atexit.register(portal.leave)
            _DEFAULT[prices] = portal
        return _DEFAULT[prices]

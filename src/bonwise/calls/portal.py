"""Asynchronous work for synchronous callers, also inside a running event loop and in a notebook."""

from __future__ import annotations

import asyncio
import atexit
import os
import sys
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from bonwise.calls.engine import Engine
from bonwise.calls.providers.protocol import note_portal_loop
from bonwise.errors import UsageError

__all__ = ["Portal", "default_portal"]

T = TypeVar("T")

_OPEN: weakref.WeakSet[Portal] = weakref.WeakSet()


class Portal:
    """An event loop in a thread of its own, with an engine that lives there, made there when it is first needed.

    Examples
    --------
    >>> portal = Portal(Engine)
    >>> async def double(engine, number):
    ...     return 2 * number
    >>> portal.run(double, 21)
    42
    >>> portal.close()
    """

    def __init__(self, make_engine: Callable[[], Engine]) -> None:
        _refuse_half_of_gevent()
        self._make_engine = make_engine
        self._engine: Engine | None = None
        self._loop = asyncio.new_event_loop()
        note_portal_loop(self._loop)
        self._thread = threading.Thread(target=self._loop.run_forever, name="bonwise-portal", daemon=True)
        _OPEN.add(self)
        self._thread.start()

    def run(self, work: Callable[..., Coroutine[Any, Any, T]], *arguments: Any) -> T:
        """Call ``work(engine, *arguments)`` there, wait, and return what it returns; raises what `submit` raises."""
        future = self.submit(work, *arguments)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def submit(self, work: Callable[..., Coroutine[Any, Any, T]], *arguments: Any) -> Future[T]:
        """Call ``work(engine, *arguments)`` there, and return at once; cancelling the future cancels the work.

        Raises UsageError in a forked process, and from asynchronous work that runs there: it would wait for itself.
        """
        if self.is_here:
            raise UsageError(
                "an asynchronous judge called a synchronous one, which would wait for ever",
                hint="inside a judge await bonwise.judges.judging.judge_with",
            )
        if not self._thread.is_alive():
            raise UsageError("the process was forked since", hint="make the judge in the process that uses it")

        return asyncio.run_coroutine_threadsafe(self.within(work, *arguments), self._loop)

    async def within(self, work: Callable[..., Coroutine[Any, Any, T]], *arguments: Any) -> T:
        """Await ``work(engine, *arguments)``, for what runs in this loop already."""
        if self._engine is None:
            self._engine = self._make_engine()
        return await work(self._engine, *arguments)

    @property
    def is_here(self) -> bool:
        """Whether the running thread is this one's own."""
        return threading.current_thread() is self._thread

    def close(self, *, wait: bool = True) -> None:
        """Close the engine and end the thread; with `wait` after the calls on the wire."""
        self._end(wait=wait, told=True)

    def leave(self) -> None:
        """Close it at the end of a program: threads that wait for an answer end with it, and are told nothing."""
        self._end(wait=False, told=False)

    def _end(self, *, wait: bool, told: bool) -> None:
        if self._loop.is_closed() or not self._thread.is_alive():
            _OPEN.discard(self)
            return
        asyncio.run_coroutine_threadsafe(self._close(wait=wait, told=told), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        _OPEN.discard(self)

    async def _close(self, *, wait: bool, told: bool) -> None:
        if self._engine is not None:
            if not wait:
                self._engine.abandon("the program has ended")
            await self._engine.aclose()
        if not told:
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


_LOCK = threading.Lock()
_DEFAULT: list[Portal] = []


def _start_anew() -> None:
    global _LOCK  # noqa: PLW0603 - the old one may be held by a thread that the child does not have
    _LOCK = threading.Lock()
    _DEFAULT.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


def default_portal() -> Portal:
    """Return the portal that judges without an engine of their own share; it keeps no ledger."""
    with _LOCK:
        if not _DEFAULT:
            portal = Portal(Engine)
            # Nobody would keep the answers that are still to come.
            atexit.register(portal.leave)
            _DEFAULT.append(portal)
        return _DEFAULT[0]

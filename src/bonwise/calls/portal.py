"""Asynchronous work for synchronous callers, also inside a running event loop and in a notebook."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from bonwise.calls.engine import Engine

__all__ = ["Portal", "default_portal"]

T = TypeVar("T")


class Portal:
    """An event loop in a thread of its own, with an engine that lives there.

    Parameters
    ----------
    make_engine : callable
        Called in that thread when the engine is first needed.

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
        self._make_engine = make_engine
        self._engine: Engine | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="bonwise-portal", daemon=True)
        self._thread.start()

    def run(self, work: Callable[..., Coroutine[Any, Any, T]], *arguments: Any) -> T:
        """Call ``work(engine, *arguments)`` there, wait, and return what it returns."""

        async def with_engine() -> T:
            if self._engine is None:
                self._engine = self._make_engine()
            return await work(self._engine, *arguments)

        future = asyncio.run_coroutine_threadsafe(with_engine(), self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Wait for calls on the wire, close the engine and end the thread."""
        if self._loop.is_closed():
            return
        if self._engine is not None:
            asyncio.run_coroutine_threadsafe(self._engine.aclose(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


_LOCK = threading.Lock()
_DEFAULT: list[Portal] = []


def default_portal() -> Portal:
    """Return the portal that judges without an engine of their own share; it keeps no ledger."""
    with _LOCK:
        if not _DEFAULT:
            portal = Portal(Engine)
            atexit.register(portal.close)
            _DEFAULT.append(portal)
        return _DEFAULT[0]

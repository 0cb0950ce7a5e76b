"""Pools that come one by one, are worked on side by side, and leave in the order in which they came."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

__all__ = ["Arriving", "Turns", "in_order"]

T = TypeVar("T")
R = TypeVar("R")


class Arriving(Generic[T]):
    """What an iterator yields, read in a thread of its own: the event loop never waits for a disk or a pipe.

    An item is read only when it is asked for, so nothing piles up.

    Parameters
    ----------
    items : iterator
        May block.
    """

    def __init__(self, items: Iterator[T]) -> None:
        self._items = items
        self._wanted: SimpleQueue[asyncio.Future[T | None] | None] = SimpleQueue()
        # A read that never ends must not keep the program alive.
        threading.Thread(target=self._read, name="bonwise-input", daemon=True).start()

    async def next(self) -> T | None:
        """Return the next item, None after the last one; raises what the iterator raises."""
        future: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()
        self._wanted.put(future)
        return await future

    def close(self) -> None:
        """Read nothing more."""
        self._wanted.put(None)

    def _read(self) -> None:
        while (future := self._wanted.get()) is not None:
            item, error = None, None
            try:
                item = next(self._items, None)
            except Exception as raised:  # noqa: BLE001 - whoever asked gets it
                error = raised
            with suppress(RuntimeError):  # the loop may have ended meanwhile
                future.get_loop().call_soon_threadsafe(_settle, future, item, error)


class Turns:
    """Lets the workers of a row of items pass one point in the order of the items.

    Examples
    --------
    >>> turns, passed = Turns(), []
    >>> async def worker(position, pause):
    ...     await asyncio.sleep(pause)
    ...     await turns.wait(position)
    ...     passed.append(position)
    >>> async def main():
    ...     turns.give_up(1)
    ...     await asyncio.gather(worker(2, 0), worker(0, 0.001))
    >>> asyncio.run(main())
    >>> passed
    [0, 2]
    """

    def __init__(self) -> None:
        self._next = 0
        self._through: set[int] = set()
        self._waiting: dict[int, asyncio.Event] = {}

    async def wait(self, position: int) -> None:
        """Wait until all before this one have passed or given up, and pass."""
        if position != self._next:
            event = self._waiting[position] = asyncio.Event()
            try:
                await event.wait()
            finally:
                del self._waiting[position]
        # Whoever is next runs only after the caller's next await.
        self.give_up(position)

    def give_up(self, position: int) -> None:
        """Let the later ones go on; of no effect where this one has passed."""
        if position < self._next:
            return
        self._through.add(position)
        while self._next in self._through:
            self._through.remove(self._next)
            self._next += 1
        if self._next in self._waiting:
            self._waiting[self._next].set()


async def in_order(
    source: Arriving[T],
    work: Callable[[int, T], Coroutine[Any, Any, R]],
    *,
    at_once: int,
    stop: asyncio.Event,
) -> AsyncGenerator[R, None]:
    """Yield the result of each item as soon as it and its predecessors are there.

    Parameters
    ----------
    source : Arriving
    work : callable
        From the position of an item, counted from 0, and the item to its result.
    at_once : int
        The most items under way or waiting for a predecessor.
    stop : asyncio.Event
        When set no further item is begun.

    Raises
    ------
    Exception
        What a worker raises, after the results before it; what the source raises, after all results before it.
    """
    waiting: deque[asyncio.Task[R]] = deque()
    stopping = asyncio.create_task(stop.wait())
    coming: asyncio.Task[T | None] | None = asyncio.create_task(source.next())
    begun, failure = 0, None
    try:
        while coming is not None or waiting:
            if waiting and waiting[0].done():
                yield waiting.popleft().result()
            elif coming is not None and stop.is_set():
                await _cancelled([coming])
                coming = None
            elif coming is not None and coming.done() and len(waiting) < at_once:
                item, failure = _outcome(coming)
                if item is not None:
                    waiting.append(asyncio.create_task(work(begun, item)))
                    begun += 1
                coming = None if item is None else asyncio.create_task(source.next())
            else:
                more = () if coming is None else (stopping, *([] if coming.done() else [coming]))
                await asyncio.wait({*more, *list(waiting)[:1]}, return_when=asyncio.FIRST_COMPLETED)
        if failure is not None:
            raise failure
    finally:
        source.close()
        await _cancelled([stopping, *([] if coming is None else [coming]), *waiting])


def _outcome(done: asyncio.Task[T | None]) -> tuple[T | None, BaseException | None]:
    failure = done.exception()
    return (None, failure) if failure is not None else (done.result(), None)


async def _cancelled(tasks: list[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _settle(future: asyncio.Future[T | None], item: T | None, error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(item)
    else:
        future.set_exception(error)

"""Work on many pools at once: the one loop behind judging and selecting, whoever reads the pools."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future
from contextlib import aclosing, suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Generic, Protocol, TypeVar

from bonwise.calls.portal import running_loop

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R")
U = TypeVar("U")


class ItemReader(Protocol[T_co]):
    """Where items come from. The next one is read only when there is room for it, so nothing piles up."""

    async def next(self) -> T_co | None:
        """Return the next item, None after the last one; raises what the iterator raises."""
        ...

    def close(self) -> None:
        """Read nothing more."""
        ...


class AsyncReader(Generic[T]):
    """Reads an asynchronous iterator in the event loop; who made it closes it."""

    def __init__(self, items: AsyncIterator[T]) -> None:
        self._items = items

    async def next(self) -> T | None:
        """Return the next item, None after the last one."""
        return await anext(self._items, None)

    def close(self) -> None:
        """Read nothing more."""


class SyncReader(Generic[T]):
    """Reads an iterator that never blocks in the event loop."""

    def __init__(self, items: Iterator[T]) -> None:
        self._items = items

    def read(self) -> T | None:
        """Return the next item, None after the last one."""
        return next(self._items, None)

    async def next(self) -> T | None:
        """Do the same, as other readers do it."""
        return self.read()

    def close(self) -> None:
        """Read nothing more."""


class ThreadReader(Generic[T]):
    """Reads an iterator in a thread of its own: the event loop never waits for a disk or a pipe."""

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
            _settle_there(future, item, error)


async def read_in_thread(items: Iterable[T]) -> AsyncGenerator[T, None]:
    """Yield the items of an iterable that may block, such as a file or a pipe, and block no event loop."""
    reader = ThreadReader(iter(items))
    try:
        while (item := await reader.next()) is not None:
            yield item
    finally:
        reader.close()


class Turns:
    """Lets the workers of a row of items pass one point in the order of the items."""

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


async def work_on_many(
    source: ItemReader[T],
    work: Callable[[int, T], Coroutine[Any, Any, R]],
    *,
    at_once: int,
    stop: asyncio.Event | None = None,
    ordered: bool = True,
) -> AsyncGenerator[R, None]:
    """Yield the result of each item.

    `work` takes the position of an item, counted from 0, and the item. At most `at_once` items are under way, or
    where order is kept waiting for a predecessor. When `stop` is set no further item is begun. Where `ordered` is
    false a result comes as soon as it is there. What a worker raises comes when its result would, what the source
    raises after all results before it.
    """
    running_loop()
    state = _LoopState(source, work, at_once, ordered)
    stopping = None if stop is None else state.waking(stop.wait())
    try:
        while state.goes_on:
            if (done := state.finished()) is not None:
                yield done.result()
            elif stop is not None and stop.is_set() and state.reads_on:
                await state.read_no_more()
            elif not state.begin_next():
                await state.change()
        if state.failure is not None:
            raise state.failure
    finally:
        source.close()
        await _cancelled([*([] if stopping is None else [stopping]), *state.under_way()])


class _LoopState(Generic[T, R]):
    """What is being read and what is being worked on."""

    def __init__(
        self, source: ItemReader[T], work: Callable[[int, T], Coroutine[Any, Any, R]], at_once: int, ordered: bool
    ) -> None:
        self._source, self._work, self._at_once, self._ordered = source, work, at_once, ordered
        self._changed = asyncio.Event()
        self._reading: asyncio.Task[T | None] | None = None
        self._waiting: deque[asyncio.Task[R]] = deque()
        self._ready: deque[asyncio.Task[R]] = deque()
        self._begun = 0
        self.reads_on = True
        self.failure: Exception | None = None

    @property
    def goes_on(self) -> bool:
        return self.reads_on or bool(self._waiting)

    def waking(self, work: Coroutine[Any, Any, U]) -> asyncio.Task[U]:
        """Start a task whose end wakes the loop."""
        task = asyncio.create_task(work)
        task.add_done_callback(lambda _: self._changed.set())
        return task

    async def change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def finished(self) -> asyncio.Task[R] | None:
        """Take off the next task whose result is to be handed over."""
        if self._ordered:
            return self._waiting.popleft() if self._waiting and self._waiting[0].done() else None
        if not self._ready:
            return None
        task = self._ready.popleft()
        self._waiting.remove(task)
        return task

    def begin_next(self) -> bool:
        """Ask for the next item where there is room, and begin with it once it is there; tell whether it came."""
        room = self.reads_on and self._reading is None and len(self._waiting) < self._at_once
        if room and isinstance(self._source, SyncReader):
            self._begin(self._source.read)
            return True
        if room:
            self._reading = self.waking(self._source.next())
        if self._reading is None or not self._reading.done():
            return False
        read, self._reading = self._reading, None
        self._begin(read.result)
        return True

    def _begin(self, read: Callable[[], T | None]) -> None:
        item = None
        try:
            item = read()
        except Exception as error:  # noqa: BLE001 - raised after the results before it
            self.failure = error
        if item is None:
            self.reads_on = False
            return
        task = self.waking(self._work(self._begun, item))
        if not self._ordered:
            task.add_done_callback(self._ready.append)
        self._waiting.append(task)
        self._begun += 1

    async def read_no_more(self) -> None:
        self.reads_on = False
        await _cancelled([] if self._reading is None else [self._reading])
        self._reading = None

    def under_way(self) -> list[asyncio.Task[Any]]:
        return [*([] if self._reading is None else [self._reading]), *self._waiting]


@dataclass(frozen=True, slots=True)
class _Finished(Generic[R]):
    value: R


class _CallersReader(Generic[T]):
    """Asks the thread of a synchronous caller for items; the caller sees the wishes beside the results."""

    def __init__(self, inbox: SimpleQueue[Any]) -> None:
        self._inbox = inbox

    async def next(self) -> T | None:
        future: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()
        self._inbox.put(future)
        return await future

    def close(self) -> None:
        """Nobody reads where nobody asks."""


def from_callers_thread(
    items: Iterable[T],
    begin: Callable[..., AsyncGenerator[R, None]],
    submit: Callable[[Callable[..., Coroutine[Any, Any, None]]], Future[None]],
) -> Iterator[R]:
    """Yield what asynchronous work on some items gives, and read the items in the thread that calls.

    Items are read, and may block, only while the caller waits. `begin` takes their reader and returns what `submit`
    runs in another thread's loop, as `bonwise.calls.portal` does with an engine; closing the iterator cancels it.
    """
    inbox: SimpleQueue[asyncio.Future[T | None] | _Finished[R] | None] = SimpleQueue()

    async def pump(*arguments: Any) -> None:
        async with aclosing(begin(_CallersReader(inbox), *arguments)) as results:
            async for result in results:
                inbox.put(_Finished(result))

    future, iterator = submit(pump), iter(items)
    future.add_done_callback(lambda _: inbox.put(None))
    try:
        while (message := inbox.get()) is not None:
            if isinstance(message, _Finished):
                yield message.value
                continue
            item, error = None, None
            try:
                item = next(iterator, None)
            except Exception as raised:  # noqa: BLE001 - it comes back after the results before it
                error = raised
            _settle_there(message, item, error)
        future.result()
    finally:
        future.cancel()


async def _cancelled(tasks: list[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _settle_there(future: asyncio.Future[T | None], item: T | None, error: Exception | None) -> None:
    """Settle a future in its own event loop, which may have ended meanwhile."""
    with suppress(RuntimeError):
        future.get_loop().call_soon_threadsafe(_settle, future, item, error)


def _settle(future: asyncio.Future[T | None], item: T | None, error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(item)
    else:
        future.set_exception(error)

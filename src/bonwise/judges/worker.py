"""Threads for judges that block: one for each judge, or as many as it states; a program waits for none."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from bonwise.errors import JudgeError

MOST_ABANDONED = 8
"""Calls for each thread of a judge that nobody waits for any more, and that run on; then it is not called again."""

MOST_ABANDONED_IN_ALL = 64
"""The same for all judges of a process together; then no further thread is started."""

MOST_NESTED = 8
"""How often a judge may be under way within itself."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a call; an exception is handed over as a value, for a future does not take every one."""

    value: Any = None
    error: BaseException | None = None


async def run_in_thread(owner: object, name: str, call: Callable[[], Any], threads: int = 1) -> Outcome:
    """Make a call in a thread of its owner, and wait for it while the event loop goes on.

    Calls of one owner begin in the order in which they were asked for, as many at once as it has `threads`: with one
    in one thread, as long as none is abandoned. Who is cancelled leaves a running call behind: it runs on, and
    another thread makes the calls that follow. What the owner's own calls ask of the owner runs in a thread for calls
    that are nested so deep, for the outer call waits for it. The owner is held weakly, and its threads end with it;
    where that cannot be, its class stands for it. The call sees the context variables of who awaits this. A
    `JudgeError` means that too many calls are nested.
    """
    outcomes: list[Outcome] = []
    await run_all_in_thread(owner, name, (call,), outcomes, threads)
    return outcomes[0]


async def run_all_in_thread(
    owner: object, name: str, calls: Sequence[Callable[[], Any]], outcomes: list[Outcome], threads: int = 1
) -> None:
    """Make several calls, one after the other, in one turn of a thread of their owner; else as `run_in_thread`.

    What a call sets of the context is its own. After a cancellation no further one is begun. The outcome of each is
    added to `outcomes` when the call ends, so that who is cancelled has what there is.
    """
    owner = owner if _can_be_held_weakly(owner) else type(owner)
    within = _WITHIN.get()
    depth = within.count(id(owner))
    if depth >= MOST_NESTED:
        raise JudgeError(f"judge {name!r} calls itself, {depth} times over", hint="let it ask another judge")
    context = copy_context()
    context.run(_WITHIN.set, (*within, id(owner)))
    worker = _worker_of(owner, depth, threads)

    turn = _Turn(name, worker)
    given_up = turn.given_up

    def work() -> Outcome:
        for call in calls:
            if given_up.is_set():
                break
            outcomes.append(outcome_of(partial(context.copy().run, call)))
        return Outcome()

    try:
        done = await asyncio.get_running_loop().run_in_executor(turn, work)
    finally:
        worker.leave(turn)
    if done.error is not None:
        outcomes.extend([done] * len(calls))


def outcome_of(call: Callable[[], Any]) -> Outcome:
    """Make a call and return what came of it, whatever it raises."""
    try:
        return Outcome(call())
    except BaseException as error:  # noqa: BLE001 - here nobody could catch it, and who waits would wait for ever
        return Outcome(error=error)


class _Turn(Executor):
    """A place in the line of a worker; an executor, for event loops keep an eye on those."""

    def __init__(self, name: str, worker: _Worker) -> None:
        self.name = name
        self.result: Future[Any] = Future()
        self.given_up = threading.Event()
        self._worker = worker

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **settings: Any) -> Future[Any]:
        """Line up."""
        self.call = partial(call, *arguments, **settings)
        self._worker.put(self)
        return self.result


class _Worker:
    """Threads that make calls, and busy ones left behind; a weak reference that is dropped calls nobody back."""

    def __init__(self, owner: weakref.ref[Any], most: int) -> None:
        self.owner = owner
        self._most = most
        self._turns: SimpleQueue[_Turn | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = self._waiting = 0
        """Threads that take calls, and calls that none of them has begun."""
        self._running: set[_Turn] = set()
        self._abandoned: set[_Turn] = set()

    def put(self, turn: _Turn) -> None:
        """Have a call made when those before it are."""
        with self._lock:
            self._turns.put(turn)
            self._waiting += 1
            self._man()

    def leave(self, turn: _Turn) -> None:
        """Hear that nobody waits for a call any more; one that is running is left to itself."""
        turn.result.cancel()
        with self._lock:
            if turn not in self._running:
                return
            turn.given_up.set()
            self._running.discard(turn)
            self._threads -= 1
            self._abandoned.add(turn)
            _ABANDONED.add(turn)
        try:
            # Calls that were given up together with this one are cancelled by then, and none of them begins.
            asyncio.get_running_loop().call_soon(self._relieve)
        except RuntimeError:
            self._relieve()

    def _relieve(self) -> None:
        with self._lock:
            self._man()

    def close(self) -> None:
        """End the threads. Takes no lock: the garbage collector may call it at any moment."""
        self._turns.put(None)

    def _man(self) -> None:
        """Start threads for the calls that wait, as far as there may be some; where there is none, tell who waits."""
        while self._threads < self._most and self._waiting > self._threads - len(self._running):
            why = self._occupied()
            try:
                if not why:
                    # No program waits for its daemons: one that hangs must not keep it from ending.
                    threading.Thread(target=self._serve, name="bonwise-judge", daemon=True).start()
            except RuntimeError as error:
                why = f"cannot be called: {error}"
            if why:
                if not self._threads:
                    self._refuse(why)
                return
            self._threads += 1

    def _occupied(self) -> str:
        if len(self._abandoned) >= min(MOST_ABANDONED * self._most, MOST_ABANDONED_IN_ALL // 2):
            return f"is occupied: {len(self._abandoned)} calls of it that nobody waits for any more have not ended"
        if len(_ABANDONED) >= MOST_ABANDONED_IN_ALL:
            return f"is not called: {MOST_ABANDONED_IN_ALL} calls of judges that were given up have not ended"
        return ""

    def _refuse(self, why: str) -> None:
        hint = "a judge that may hang needs a timeout of its own, or must be asynchronous"
        with suppress(Empty):
            while True:
                turn = self._turns.get_nowait()
                self._waiting -= turn is not None
                if turn is not None and turn.result.set_running_or_notify_cancel():
                    turn.result.set_result(Outcome(error=JudgeError(f"judge {turn.name!r} {why}", hint=hint)))

    def _serve(self) -> None:
        # Nothing of a call may stay here while this waits for the next one: it would keep its judge alive.
        while self._goes_on_after(self._turns.get()):
            pass

    def _goes_on_after(self, turn: _Turn | None) -> bool:
        """Make a call; tell whether the next one is for this thread."""
        if turn is None:
            self._turns.put(None)  # for the next thread
            return False
        with self._lock:
            self._waiting -= 1
            if not turn.result.set_running_or_notify_cancel():
                return True
            self._running.add(turn)
        outcome = turn.call()
        goes_on = self._ended(turn)
        turn.result.set_result(outcome)
        return goes_on

    def _ended(self, turn: _Turn) -> bool:
        with self._lock:
            if turn not in self._abandoned:
                self._running.discard(turn)
                return True
            self._abandoned.discard(turn)
            _ABANDONED.discard(turn)
            # Where other threads have taken over meanwhile, too many would call one judge at once.
            goes_on = self._threads < self._most
            self._threads += goes_on
            return goes_on


_WITHIN: ContextVar[tuple[int, ...]] = ContextVar("owners of the calls under way", default=())
_Place = tuple[int, int, int]
_WORKERS: dict[_Place, _Worker] = {}
"""By the identity of the owner, as judges need not be hashable, by how deep the calls are nested, and by `most`."""
_ABANDONED: set[_Turn] = set()


def _start_anew() -> None:
    _WORKERS.clear()
    _ABANDONED.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)  # a child has none of its parent's threads


def _worker_of(owner: object, depth: int, threads: int) -> _Worker:
    place = (id(owner), depth, threads)
    worker = _WORKERS.get(place)
    if worker is None:
        # Bound here: at the end of a program the names of a module go before what refers to them.
        def gone(_: object, workers: dict[_Place, _Worker] = _WORKERS) -> None:
            retired = workers.pop(place, None)
            if retired is not None:
                retired.close()

        worker = _WORKERS.setdefault(place, _Worker(weakref.ref(owner, gone), threads))
    return worker


def _can_be_held_weakly(owner: object) -> bool:
    try:
        weakref.ref(owner)
    except TypeError:
        return False
    return True

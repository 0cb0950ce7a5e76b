"""Where judges are asked: an engine with its event loop, in a thread of its own, or right here."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections import defaultdict, deque
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from bonwise.errors import BonwiseError, UsageError
from bonwise.judges import judging, pool_loop, protocol
from bonwise.tracing import UNTRACED, Untraced, span

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine

__all__ = [
    "AT_A_TURN",
    "Call",
    "EngineJudgeRunner",
    "JudgeRunner",
    "LoopHost",
    "OwnThreadHost",
    "PoolQueue",
    "Result",
    "RunningLoopHost",
    "SharedThreadHost",
    "ThreadJudgeRunner",
]

AT_A_TURN = 2
"""Pools that begin in one turn of the event loop: between turns it serves everything else."""


@dataclass(frozen=True, slots=True)
class Call:
    """One use of a judge."""

    judge: protocol.Judge
    prompt: str
    texts: tuple[str, ...]
    draw: int = 0
    """As of `bonwise.judges.judging.judge_with`."""
    temperature: float | None = None
    """As of `bonwise.judges.judging.judge_with`."""


_INSIDE: ContextVar[bool] = ContextVar("judging for a pool that has its place", default=False)

Result = protocol.Judgment | BonwiseError | None
"""What came of a call: None where it had not ended when the time was up."""


class JudgeRunner(Protocol):
    """Runs judges."""

    def now(self) -> float:
        """Return the seconds of its clock."""
        ...

    async def begin(self) -> None:
        """Wait until a pool may begin."""
        ...

    async def judge(self, calls: Sequence[Call], until: float | None) -> list[Result]:
        """Run some calls and wait for them, no longer than to that second of its clock."""
        ...


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


class EngineJudgeRunner:
    """Runs judges beside one another in the event loop of an engine.

    Pools wait in `gate`. Of a crowd that has little time the first ones are then finished, where otherwise all would
    be begun and none finished; and a crowd that comes at the same instant does not block the loop.
    """

    def __init__(self, engine: Engine, gate: PoolQueue | None = None) -> None:
        self._engine, self._gate = engine, gate

    def now(self) -> float:
        """Return the loop's time."""
        return asyncio.get_running_loop().time()

    async def begin(self) -> None:
        """Wait at the gate, if there is one."""
        if self._gate is not None:
            await self._gate.begin()

    async def judge(self, calls: Sequence[Call], until: float | None) -> list[Result]:
        """Run all at once; when the time is up, what is still running is cancelled."""
        # What a judge selects in its turn runs while its pool holds a place: to wait for another might be for ever.
        if self._gate is None or _INSIDE.get():
            return await self._together(calls, until)
        if not await self._gate.enter(until):
            return [None] * len(calls)
        token = _INSIDE.set(True)
        try:
            # Given back once: when the judging ends, or a call waits to be tried again; it then goes on without.
            with ExitStack() as place:
                place.callback(self._gate.leave)
                return await self._together(calls, until, place.close)
        finally:
            _INSIDE.reset(token)

    async def _together(
        self, calls: Sequence[Call], until: float | None, give_back: Callable[[], None] | None = None
    ) -> list[Result]:
        from bonwise.calls.ask import OCCASION, Occasion  # noqa: PLC0415 - an engine is at hand, so it is loaded

        works = self._works(calls)
        alone = len(works) == 1 and not works[0].foreign
        token = OCCASION.set(Occasion(until) if give_back is None else Occasion(until, give_back))
        try:
            outcomes = [await _awaited(works[0], until)] if alone else await self._in_tasks(works, until)
        finally:
            OCCASION.reset(token)
        results: list[Result] = [None] * len(calls)
        for work, its in zip(works, outcomes, strict=True):
            for at, result in zip(work.positions, its, strict=True):
                if isinstance(result, UsageError):
                    raise result
                results[at] = result
        return results

    def _works(self, calls: Sequence[Call]) -> list[_Work]:
        """Put the calls together that one judge answers in its thread; each other call is a work of its own."""
        works, by_judge = [], defaultdict[int, list[int]](list)
        for at, call in enumerate(calls):
            by_judge[id(call.judge)].append(at)
        for positions in by_judge.values():
            judge = calls[positions[0]].judge
            if protocol.is_asking(judge):
                works += [_Work((at,), judge, self._asking(judge, calls[at]), (None,)) for at in positions]
            elif not judging.blocks(judge):
                works += [
                    _Work((at,), judge, partial(self._called, calls[at]), (None,), foreign=True) for at in positions
                ]
            else:
                made = judging.CallsInThread(
                    self._engine, judge, [(calls[at].prompt, calls[at].texts) for at in positions]
                )
                works.append(_Work(positions, judge, made.run, made.found))
        return works

    def _asking(self, judge: protocol.AskingJudge, call: Call) -> Callable[[], Coroutine[Any, Any, Sequence[Result]]]:
        about = (judge, call.prompt, call.texts, call.draw, call.temperature)
        return partial(judging.asked_or_failed, self._engine, *about)

    async def _called(self, call: Call) -> Sequence[Result]:
        try:
            return (await judging.called(self._engine, call.judge, call.prompt, call.texts),)
        except BonwiseError as error:
            return (error,)

    async def _in_tasks(self, works: Sequence[_Work], until: float | None) -> list[Sequence[Result]]:
        tasks = [asyncio.create_task(work.traced()) for work in works]
        ended: set[asyncio.Task[Sequence[Result]]] = set()
        await judging.run_together(tasks, ended, None if until is None else max(0.0, until - self.now()))
        return [_of(task, work) if task in ended else work.in_time for task, work in zip(tasks, works, strict=True)]


@dataclass(slots=True)
class _Work:
    """Calls that are made together."""

    positions: Sequence[int]
    """Of the calls in their round."""
    judge: protocol.Judge
    run: Callable[[], Coroutine[Any, Any, Sequence[Result]]]
    """Returns a coroutine that makes them and returns what came of each."""
    in_time: Sequence[Result]
    """Holds what came of each by the time at which the coroutine was cancelled."""
    foreign: bool = False
    """Whether somebody else's code is awaited. It gets a task: what it sets and cancels there is its own."""

    def traced(self) -> Coroutine[Any, Any, Sequence[Result]]:
        """Return what makes them, inside a span where somebody traces."""
        current = span(f"judge {self.judge.name}", "EVALUATOR")
        return self.run() if current is UNTRACED else self._told(current)

    async def _told(self, current: Untraced) -> Sequence[Result]:
        with current:
            results = await self.run()
            judging.note_outcomes(current, self.judge.name, results)
        return results


async def _awaited(work: _Work, until: float | None) -> Sequence[Result]:
    """Make calls without a task of their own."""
    limit = asyncio.timeout_at(until)
    try:
        async with limit:
            return await work.traced()
    except TimeoutError:
        if not limit.expired():
            raise
        return work.in_time


def _of(task: asyncio.Task[Sequence[Result]], work: _Work) -> Sequence[Result]:
    # Nobody but the judge itself has cancelled what has ended by then; whoever asked must not take it for his own.
    if task.cancelled():
        return [judging.failed(work.judge, asyncio.CancelledError())] * len(work.positions)
    return task.result()


class ThreadJudgeRunner:
    """Runs judges that ask no model in the caller's own thread, one after the other, and never suspends."""

    def now(self) -> float:
        """Return the seconds of a clock that never goes back."""
        return time.perf_counter()

    async def begin(self) -> None:
        """Begin at once."""

    async def judge(self, calls: Sequence[Call], until: float | None) -> list[Result]:
        """Run one after the other; a call that would begin too late is not made."""
        return [None if until is not None and self.now() >= until else self._traced(call) for call in calls]

    def _traced(self, call: Call) -> Result:
        current = span(f"judge {call.judge.name}", "EVALUATOR")
        if current is UNTRACED:
            return self._judged(call)
        with current:
            result = self._judged(call)
            judging.note_outcomes(current, call.judge.name, (result,))
        return result

    def _judged(self, call: Call) -> Result:
        try:
            return judging.judge_now(call.judge, call.prompt, call.texts)
        except UsageError:
            raise
        except BonwiseError as error:
            return error
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - it may fail in any way; the caller decides
            failure = judging.failed(call.judge, error)
            failure.__cause__ = error
            return failure


T = TypeVar("T")
Work = Callable[..., Coroutine[Any, Any, T]]


class LoopHost(ABC):
    """An event loop with an engine in it, which `make_engine` makes in that loop."""

    gate: PoolQueue | None
    lent = False
    """Whether its loop serves other loops and threads too: whoever entered the selector there leaves it first."""

    @abstractmethod
    def __init__(self, make_engine: Callable[[], Engine], at_once: int) -> None: ...

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
        self.gate = PoolQueue(at_once)
        self._loop = pool_loop.running_loop()
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

        self.gate = PoolQueue(at_once)
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
    """The thread that calls without settings of an engine share, to keep connections; it is never closed."""

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

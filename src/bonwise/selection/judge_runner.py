"""How the judges of a pool are run: beside one another in the event loop of an engine, or right here."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from bonwise.errors import BonwiseError, UsageError
from bonwise.judges import judging, protocol
from bonwise.judges.judging import Result
from bonwise.tracing import UNTRACED, span

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine
    from bonwise.calls.portal import PoolQueue
    from bonwise.judges.protocol import Values


@dataclass(slots=True)
class Call:
    """One use of a judge."""

    judge: protocol.Judge
    prompt: str
    texts: tuple[str, ...]
    draw: int = 0
    temperature: float | None = None
    """Both: as of `bonwise.judges.judging.judge_with`."""


def bound_calls(calls: Sequence[Call], values: Values | None) -> Sequence[Call]:
    """Return calls of judges that have their variables from the values of one pool."""
    if not values:
        return calls
    judges = {id(call.judge): call.judge for call in calls}
    bound = {key: protocol.bound(judge, values) for key, judge in judges.items()}
    return [replace(call, judge=bound[id(call.judge)]) for call in calls]


_INSIDE: ContextVar[bool] = ContextVar("judging for a pool that has its place", default=False)


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


class EngineJudgeRunner:
    """Runs judges in an engine's loop; pools wait in `gate`, so that of a hurried crowd the first are finished."""

    def __init__(
        self, engine: Engine, gate: PoolQueue | None = None, *, let_in: bool = False, values: Values | None = None
    ) -> None:
        self._engine, self._gate, self._let_in, self._values = engine, gate, let_in, values

    def now(self) -> float:
        """Return the loop's time."""
        return asyncio.get_running_loop().time()

    async def begin(self) -> None:
        """Wait at the gate, if there is one that has not let it in."""
        if self._gate is not None and not self._let_in:
            await self._gate.begin()

    async def judge(self, calls: Sequence[Call], until: float | None) -> list[Result]:
        """Run all at once; when the time is up, what is still running is cancelled."""
        calls = bound_calls(calls, self._values)
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
        tasks = [asyncio.create_task(judging.traced(work.judge, work.run())) for work in works]
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


async def _awaited(work: _Work, until: float | None) -> Sequence[Result]:
    """Make calls without a task of their own."""
    limit = asyncio.timeout_at(until)
    try:
        async with limit:
            return await judging.traced(work.judge, work.run())
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

    def __init__(self, values: Values | None = None) -> None:
        self._values = values

    def now(self) -> float:
        """Return the seconds of a clock that never goes back."""
        return time.perf_counter()

    async def begin(self) -> None:
        """Begin at once."""

    async def judge(self, calls: Sequence[Call], until: float | None) -> list[Result]:
        """Run one after the other; a call that would begin too late is not made."""
        untraced = span("judge", "EVALUATOR") is UNTRACED
        results: list[Result] = []
        for call in bound_calls(calls, self._values):
            if until is not None and self.now() >= until:
                results.append(None)
            elif untraced:
                results.append(_judged(call))
            else:
                results += await judging.traced(call.judge, self._alone(call))
        return results

    async def _alone(self, call: Call) -> tuple[Result]:
        return (_judged(call),)


def _judged(call: Call) -> Result:
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


def returned_at_once(course: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns whose judges are run by a runner that never suspends."""
    try:
        course.send(None)
    except StopIteration as end:
        returned: T = end.value
        return returned
    course.close()
    raise RuntimeError("a judge that asks no model waited for something")

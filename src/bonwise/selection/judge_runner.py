"""Where judges are asked: an engine with its event loop, or right here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from bonwise.errors import BonwiseError, UsageError
from bonwise.judges.judging import failed, judge_now, judge_with
from bonwise.judges.judgment import Judgment
from bonwise.judges.protocol import Judge

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine

__all__ = ["Call", "EngineJudgeRunner", "JudgeRunner", "Result", "ThreadJudgeRunner"]


@dataclass(frozen=True, slots=True)
class Call:
    """One use of a judge.

    Parameters
    ----------
    judge : Judge
    prompt : str
    texts : tuple of str
    draw, temperature
        As of `bonwise.judges.judging.judge_with`.
    """

    judge: Judge
    prompt: str
    texts: tuple[str, ...]
    draw: int = 0
    temperature: float | None = None


_INSIDE: ContextVar[bool] = ContextVar("judging for a pool that has its place", default=False)

Result = Judgment | BonwiseError | None
"""What came of a call: None where it had not ended when the time was up."""


class JudgeRunner(Protocol):
    """Runs judges."""

    def now(self) -> float:
        """Return the seconds of its clock."""
        ...

    async def judge(self, calls: Sequence[Call], until: float | None) -> list[Result]:
        """Run some calls and wait for them, no longer than to that second of its clock."""
        ...


class EngineJudgeRunner:
    """Runs judges beside one another in the event loop of an engine.

    Parameters
    ----------
    engine : Engine
    gate : asyncio.Semaphore, optional
        How many pools may be judged at once: of a crowd that has little time the first ones are then finished, where
        otherwise all would be begun and none finished.
    """

    def __init__(self, engine: Engine, gate: asyncio.Semaphore | None = None) -> None:
        self._engine, self._gate = engine, gate

    def now(self) -> float:
        """Return the loop's time."""
        return asyncio.get_running_loop().time()

    async def judge(self, calls: Sequence[Call], until: float | None) -> list[Result]:
        """Run all at once; when the time is up, what is still running is cancelled."""
        # What a judge selects in its turn runs while its pool holds a place: to wait for another might be for ever.
        if self._gate is None or _INSIDE.get():
            return await self._together(calls, until)
        try:
            async with asyncio.timeout_at(until):
                await self._gate.acquire()
        except TimeoutError:
            return [None] * len(calls)
        token = _INSIDE.set(True)
        try:
            return await self._together(calls, until)
        finally:
            _INSIDE.reset(token)
            self._gate.release()

    async def _together(self, calls: Sequence[Call], until: float | None) -> list[Result]:
        tasks = [asyncio.create_task(self._judged(call)) for call in calls]
        try:
            timeout = None if until is None else max(0.0, until - self.now())
            done, _ = await asyncio.wait(tasks, timeout=timeout)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return [_of(task, call) if task in done else None for task, call in zip(tasks, calls, strict=True)]

    async def _judged(self, call: Call) -> Result:
        try:
            return await judge_with(
                self._engine, call.judge, call.prompt, call.texts, draw=call.draw, temperature=call.temperature
            )
        except UsageError:
            raise
        except BonwiseError as error:
            return error


def _of(task: asyncio.Task[Result], call: Call) -> Result:
    # Nobody but the judge itself has cancelled what has ended by then; whoever asked must not take it for his own.
    return failed(call.judge, asyncio.CancelledError()) if task.cancelled() else task.result()


class ThreadJudgeRunner:
    """Runs judges that ask no model in the caller's own thread, one after the other, and never suspends."""

    def now(self) -> float:
        """Return the seconds of a clock that never goes back."""
        return time.perf_counter()

    async def judge(self, calls: Sequence[Call], until: float | None) -> list[Result]:
        """Run one after the other; a call that would begin too late is not made."""
        return [None if until is not None and self.now() >= until else self._judged(call) for call in calls]

    def _judged(self, call: Call) -> Result:
        try:
            return judge_now(call.judge, call.prompt, call.texts)
        except UsageError:
            raise
        except BonwiseError as error:
            return error
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - it may fail in any way; the caller decides
            found = failed(call.judge, error)
            found.__cause__ = error
            return found

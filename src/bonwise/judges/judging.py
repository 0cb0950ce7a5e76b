"""Run any judge: put its questions to an engine, or call it, and hold it to the contract."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

from bonwise.calls.bill import Bill
from bonwise.data.verdicts import Unscored
from bonwise.errors import BonwiseError, CallError, JudgeError, UsageError
from bonwise.judges.calling import FunctionJudge, asked, checked, concluded, innermost
from bonwise.judges.judgment import Judgment
from bonwise.judges.protocol import Judge, is_asking
from bonwise.judges.worker import run_in_thread
from bonwise.printable import printable

if TYPE_CHECKING:
    from bonwise.calls.ask import Ask
    from bonwise.calls.engine import Engine
    from bonwise.calls.portal import Portal

__all__ = ["failed", "judge_now", "judge_with", "redrawn"]


@dataclass(frozen=True, slots=True)
class _Running:
    """The engine for which a judge is working, so that a judge it asks in turn counts against the same limits."""

    engine: Engine
    loop: asyncio.AbstractEventLoop
    bills: list[Bill] = field(default_factory=list)


_RUNNING: ContextVar[_Running | None] = ContextVar("bonwise engine at work", default=None)


async def judge_with(
    engine: Engine,
    judge: Judge,
    prompt: str,
    texts: Sequence[str],
    *,
    draw: int = 0,
    temperature: float | None = None,
) -> Judgment:
    """Judge the candidates of one prompt.

    Parameters
    ----------
    engine : Engine
        Answers the questions of a judge that asks a model.
    judge : Judge
        Any judge. One that is neither asking nor asynchronous runs in a thread of its own, one call at a time, so it
        need not be thread-safe; functions of one definition, and a judge inside of several others, count as one. A
        call whose caller is cancelled cannot be interrupted: it runs on beside the next one, and where
        `bonwise.judges.worker.MOST_ABANDONED` such calls of a judge have not ended, it is not called again.
    prompt : str
    texts : sequence of str
    draw : int
        0 judges as ever; 1, 2 ... ask a model for further, independent answers to the same questions.
    temperature : float, optional
        At which a model is asked, in place of the judge's own.

    Returns
    -------
    Judgment
        What did not arrive is an `Unscored` with ``owed`` set.

    Raises
    ------
    bonwise.errors.JudgeError
        A judge that does not keep its contract, that fails in whatever way, or that is occupied.
    """
    if not is_asking(judge):
        return await _called(engine, judge, prompt, texts)
    asks = (redrawn(ask, draw, temperature) for ask in asked(judge, prompt, texts))
    answers = await asyncio.gather(*(engine.ask(ask) for ask in asks))
    conclusion = concluded(judge, prompt, texts, answers)
    bill = reduce(add, (one.bill for one in answers)) if answers else Bill()
    effective = _distinct(one.effective for one in answers)
    return Judgment(conclusion.verdicts, conclusion.preferences, bill, effective)


def redrawn(ask: Ask, draw: int, temperature: float | None) -> Ask:
    """Return the question that wants another answer to an ask.

    Parameters
    ----------
    ask : Ask
    draw : int
        0 for the first answer, 1 for the next one, and so on.
    temperature : float or None
        In place of the ask's own.
    """
    if draw == 0 and temperature is None:
        return ask
    asked_at = ask.temperature if temperature is None else temperature
    return replace(ask, first_sample=draw * ask.samples, temperature=asked_at)


def judge_now(judge: Judge, prompt: str, texts: Sequence[str]) -> Judgment:
    """Judge from synchronous code, with the shared engine; also inside a running event loop.

    Raises
    ------
    bonwise.errors.CallError
        An answer did not arrive.
    bonwise.errors.JudgeError
        A judge that does not keep its contract.
    """
    if not is_asking(judge):
        answer: Any = judge.judge(prompt, texts)
        found = _portal().run(_awaited, answer) if inspect.isawaitable(answer) else answer
        return Judgment(checked(judge, found, texts))
    judgment = _asked_now(judge, prompt, texts)
    for verdict in judgment.verdicts:
        if isinstance(verdict, Unscored) and verdict.owed:
            raise CallError(f"judge {judge.name!r} was not answered: {verdict.reason.removeprefix('owed: ')}")
    return judgment


def _distinct(effective: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    found: list[Mapping[str, Any]] = []
    for one in effective:
        if one not in found:
            found.append(one)
    return tuple(found)


def _portal() -> Portal:
    from bonwise.calls.portal import default_portal  # noqa: PLC0415 - local judges need no event loop

    return default_portal()


def _asked_now(judge: Judge, prompt: str, texts: Sequence[str]) -> Judgment:
    """Ask by the engine for which this thread works, else by the shared one."""
    running = _RUNNING.get()
    if running is None:
        return _portal().run(judge_with, judge, prompt, texts)
    if _is_running_here(running.loop):
        raise UsageError(
            f"an asynchronous judge asked {judge.name!r} synchronously, which would wait for ever",
            hint="inside a judge await bonwise.judges.judging.judge_with",
        )
    judgment = asyncio.run_coroutine_threadsafe(
        judge_with(running.engine, judge, prompt, texts), running.loop
    ).result()
    running.bills.append(judgment.bill)
    return judgment


def _is_running_here(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


async def _called(engine: Engine, judge: Judge, prompt: str, texts: Sequence[str]) -> Judgment:
    """Call a judge that says itself how it judges; what it asks of others goes through the same engine."""
    running = _Running(engine, asyncio.get_running_loop())
    token = _RUNNING.set(running)
    try:
        found = checked(judge, await _answer(judge, prompt, texts), texts)
    except CallError as error:
        found = (Unscored(f"owed: {error.message}", owed=True),) * len(texts)
    except BonwiseError:
        raise
    except asyncio.CancelledError as error:
        if _is_cancelled():
            raise
        raise failed(judge, error) from error
    except Exception as error:
        raise failed(judge, error) from error
    finally:
        _RUNNING.reset(token)
    return Judgment(found, bill=sum(running.bills, Bill()))


def _is_cancelled() -> bool:
    """Tell whether somebody has cancelled who judges, and not the judge itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def failed(judge: Judge, error: BaseException) -> JudgeError:
    """Return the error that says in one line that a judge's own code has failed."""
    if isinstance(error, asyncio.CancelledError):
        return JudgeError(f"judge {judge.name!r} cancelled itself")
    return JudgeError(f"judge {judge.name!r} failed: {printable(f'{type(error).__name__}: {error}', longest=200)}")


async def _answer(judge: Judge, prompt: str, texts: Sequence[str]) -> Any:
    awaited = judge.asynchronous if isinstance(judge, FunctionJudge) else inspect.iscoroutinefunction(judge.judge)
    if awaited:
        answer: Any = judge.judge(prompt, texts)
    else:
        outcome = await run_in_thread(innermost(judge), judge.name, lambda: _found(judge, prompt, texts))
        error, answer = outcome.error, outcome.value
        if isinstance(error, BonwiseError):
            raise error
        if error is not None:
            raise failed(judge, error) from error
    return await answer if inspect.isawaitable(answer) else answer


def _found(judge: Judge, prompt: str, texts: Sequence[str]) -> Any:
    found: Any = judge.judge(prompt, texts)
    # What a generator does is done here too, and not in the event loop.
    return tuple(found) if isinstance(found, Iterator) else found


async def _awaited(_engine: Engine, answer: Awaitable[Any]) -> Any:
    return await answer

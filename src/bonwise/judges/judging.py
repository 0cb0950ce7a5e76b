"""Run any judge: put its questions to an engine, or call it, and hold it to the contract."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from bonwise.calls.bill import Bill
from bonwise.data.verdicts import Unscored
from bonwise.errors import BonwiseError, CallError, JudgeError, UsageError
from bonwise.judges.calling import FunctionJudge, asked, checked, concluded
from bonwise.judges.judgment import Judgment
from bonwise.judges.protocol import Judge, is_asking

if TYPE_CHECKING:
    from bonwise.calls.ask import Ask
    from bonwise.calls.engine import Engine
    from bonwise.calls.portal import Portal

__all__ = ["judge_now", "judge_with", "redrawn"]

_WORKERS: list[ThreadPoolExecutor] = []
"""The one worker in which judges run that are not asynchronous: beside the event loop, never twice at once."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_WORKERS.clear)  # a child has none of its parent's threads


@dataclass(frozen=True, slots=True)
class _Running:
    """The engine for which a judge is working, so that a judge it asks in turn pays from the same purse."""

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
        Any judge; one that is neither asking nor asynchronous runs in a worker thread, one call at a time.
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
        A judge that does not keep its contract, or that fails.
    """
    if not is_asking(judge):
        return await _called(engine, judge, prompt, texts)
    asks = (redrawn(ask, draw, temperature) for ask in asked(judge, prompt, texts))
    answers = await asyncio.gather(*(engine.ask(ask) for ask in asks))
    conclusion = concluded(judge, prompt, texts, answers)
    bill = sum((one.bill for one in answers), Bill())
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
    except Exception as error:
        raise JudgeError(f"judge {judge.name!r} failed: {type(error).__name__}: {error}") from error
    finally:
        _RUNNING.reset(token)
    return Judgment(found, bill=sum(running.bills, Bill()))


async def _answer(judge: Judge, prompt: str, texts: Sequence[str]) -> Any:
    answer: Any
    if inspect.iscoroutinefunction(judge.function if isinstance(judge, FunctionJudge) else judge.judge):
        answer = judge.judge(prompt, texts)
    else:
        if not _WORKERS:
            _WORKERS.append(ThreadPoolExecutor(max_workers=1, thread_name_prefix="bonwise-judge"))
        loop, context = asyncio.get_running_loop(), copy_context()
        answer = await loop.run_in_executor(_WORKERS[0], partial(context.run, judge.judge, prompt, texts))
    return await answer if inspect.isawaitable(answer) else answer


async def _awaited(_engine: Engine, answer: Awaitable[Any]) -> Any:
    return await answer

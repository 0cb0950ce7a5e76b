"""Run any judge: put its questions to an engine, or call it, and hold it to the contract."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from bonwise.calls.bill import Bill
from bonwise.data.verdicts import Unscored
from bonwise.errors import CallError
from bonwise.judges.calling import checked
from bonwise.judges.judgment import Judgment
from bonwise.judges.protocol import Judge, is_asking

if TYPE_CHECKING:
    from bonwise.calls.engine import Engine
    from bonwise.calls.portal import Portal

__all__ = ["asks_a_model", "judge_now", "judge_with"]

_ONE_AT_A_TIME = ThreadPoolExecutor(max_workers=1, thread_name_prefix="bonwise-judge")
"""Judges that are not asynchronous run here: beside the event loop, and never twice at once."""


def asks_a_model(judge: Judge) -> bool:
    """Tell whether a judge puts questions to a model: a wrapper around a local judge does not."""
    return is_asking(judge) and judge.asks("", ["a", "b"]) is not None


async def judge_with(engine: Engine, judge: Judge, prompt: str, texts: Sequence[str]) -> Judgment:
    """Judge the candidates of one prompt.

    Parameters
    ----------
    engine : Engine
        Answers the questions of a judge that asks a model.
    judge : Judge
        Any judge; one that is neither asking nor asynchronous runs in a worker thread, one call at a time.
    prompt : str
    texts : sequence of str

    Returns
    -------
    Judgment
        What did not arrive is an `Unscored` with ``owed`` set.

    Raises
    ------
    bonwise.errors.JudgeError
        A judge that does not keep its contract.
    """
    if not is_asking(judge) or (asks := judge.asks(prompt, texts)) is None:
        return Judgment(checked(judge, await _called(judge, prompt, texts), texts))
    answers = await asyncio.gather(*(engine.ask(ask) for ask in asks))
    conclusion = judge.conclude(prompt, texts, answers)
    bill = sum((one.bill for one in answers), Bill())
    effective = answers[0].effective if answers else {}
    return Judgment(checked(judge, conclusion.verdicts, texts), conclusion.preferences, bill, effective)


def judge_now(judge: Judge, prompt: str, texts: Sequence[str]) -> Judgment:
    """Judge from synchronous code, with the shared engine; also inside a running event loop.

    Raises
    ------
    bonwise.errors.CallError
        An answer did not arrive.
    bonwise.errors.JudgeError
        A judge that does not keep its contract.
    """
    if not asks_a_model(judge):
        answer: Any = judge.judge(prompt, texts)
        found = _portal().run(_awaited, answer) if inspect.isawaitable(answer) else answer
        return Judgment(checked(judge, found, texts))
    judgment = _portal().run(judge_with, judge, prompt, texts)
    for verdict in judgment.verdicts:
        if isinstance(verdict, Unscored) and verdict.owed:
            raise CallError(f"judge {judge.name!r} was not answered: {verdict.reason.removeprefix('owed: ')}")
    return judgment


def _portal() -> Portal:
    from bonwise.calls.portal import default_portal  # noqa: PLC0415 - local judges need no event loop

    return default_portal()


async def _called(judge: Judge, prompt: str, texts: Sequence[str]) -> Any:
    if inspect.iscoroutinefunction(judge.judge):
        return await judge.judge(prompt, texts)
    loop = asyncio.get_running_loop()
    answer = await loop.run_in_executor(_ONE_AT_A_TIME, judge.judge, prompt, texts)
    return await answer if inspect.isawaitable(answer) else answer


async def _awaited(_engine: Engine, answer: Awaitable[Any]) -> Any:
    return await answer

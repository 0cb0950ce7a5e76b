"""What judges share that are made of another judge, whether that one asks a model or not."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from bonwise.data.verdicts import Verdict
from bonwise.errors import JudgeError
from bonwise.judges.calling import checked
from bonwise.judges.protocol import AskingJudge, Judge, is_asking

__all__ = ["as_asking", "called", "calls_of"]

Verdicts = tuple[Verdict, ...]


def as_asking(judge: Judge) -> AskingJudge:
    """Return a judge that asks a model.

    Raises
    ------
    bonwise.errors.JudgeError
        It does not.
    """
    if not is_asking(judge):
        raise JudgeError(f"judge {judge.name!r} asks no model", hint="call its judge() instead")
    return judge


def calls_of(judge: Judge, candidates: int) -> int:
    """Return how many answers of a model a judge needs; none where it asks no model."""
    return judge.calls(candidates) if is_asking(judge) else 0


def called(
    judge: Judge, prompt: str, candidates: Sequence[str], times: int, then: Callable[[Sequence[Verdicts]], Verdicts]
) -> Verdicts | Awaitable[Verdicts]:
    """Call a judge's own `judge` some times, hold each answer to the contract, and make verdicts of them.

    Returns
    -------
    tuple of Score or Unscored, or a coroutine
        A coroutine where the inner judge is asynchronous; it awaits one call after the other.
    """
    first = judge.judge(prompt, candidates)
    if inspect.isawaitable(first):
        return _awaited(judge, prompt, candidates, times, first, then)
    answers = [first, *(judge.judge(prompt, candidates) for _ in range(times - 1))]
    return then([checked(judge, answer, candidates) for answer in answers])


async def _awaited(
    judge: Judge,
    prompt: str,
    candidates: Sequence[str],
    times: int,
    first: Awaitable[Any],
    then: Callable[[Sequence[Verdicts]], Verdicts],
) -> Verdicts:
    found = [checked(judge, await first, candidates)]
    for _ in range(times - 1):
        answer = judge.judge(prompt, candidates)
        found.append(checked(judge, await answer if inspect.isawaitable(answer) else answer, candidates))
    return then(found)

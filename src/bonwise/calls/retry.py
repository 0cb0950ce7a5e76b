"""Asking again, in one place only, and how long an attempt with a deadline is waited for."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from bonwise.calls import ask, rate_limits

T = TypeVar("T")

ATTEMPTS = 12
FIRST_WAIT = 0.1
LONGEST_WAIT = 45.0

MOST_AGAIN = 0.2
"""Attempts made again, as a part of the calls that were begun."""

FEW = 10
"""Attempts made again that are always allowed."""


@dataclass(slots=True)
class RetryBudget:
    """How many attempts are made again where time is short: they leave a failing server less time for new ones."""

    begun: int = 0
    """Calls."""
    again: int = 0
    """Attempts that were made again."""

    def allows(self) -> bool:
        """Count one more attempt that is made again; tell whether there are not too many."""
        if self.again >= FEW + MOST_AGAIN * self.begun:
            return False
        self.again += 1
        return True


async def until_answered(
    attempt: Callable[[int], Awaitable[T]],
    *,
    attempts: int = ATTEMPTS,
    deadline: float | None = None,
    failed: ask.AttemptError | None = None,
    seed: int | None = None,
) -> T:
    """Repeat an attempt until it brings an answer, or a problem that waiting does not mend.

    It waits as long as the server asked for, else a time, jittered by `seed`, that doubles from 0.05-0.1 s up to
    22-45 s, side by side with a pause of the endpoint. `attempt` takes its number, from 1; its last `AttemptError` is
    raised, anything else passes through. One that would start after `deadline`, a time of the event loop, is not
    waited for. `failed` is how the caller's own first attempt failed: most calls are answered at once, and need not
    pay for what counts, waits and stops.
    """
    numbers = itertools.count(1 if failed is None else 2)

    async def next_attempt() -> T:
        nonlocal failed
        if failed is not None:
            first, failed = failed, None
            raise first
        return await attempt(next(numbers))

    patience = _Patience(attempts, deadline, seed)
    retrying = AsyncRetrying(
        sleep=asyncio.sleep, retry=TRANSIENT, wait=patience.wait, stop=patience.over, reraise=True
    )
    return await retrying(next_attempt)


def _is_transient(error: BaseException) -> bool:
    return isinstance(error, ask.AttemptError) and error.problem.transient


TRANSIENT = retry_if_exception(_is_transient)


class _Patience:
    """How long to wait before the next attempt, and whether there is one."""

    __slots__ = ("_attempts", "_deadline", "_jitter")

    def __init__(self, attempts: int, deadline: float | None, seed: int | None) -> None:
        self._attempts = attempts
        self._deadline = deadline
        self._jitter = random.Random(seed)  # noqa: S311 - spreads attempts, guards nothing

    def wait(self, state: RetryCallState) -> float:
        """Return the seconds until the next attempt."""
        error = state.outcome.exception() if state.outcome is not None else None
        if isinstance(error, ask.AttemptError) and error.problem.retry_after:
            return error.problem.retry_after
        longest = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(state.attempt_number - 1, 16))
        return longest * self._jitter.uniform(0.5, 1.0)

    def over(self, state: RetryCallState) -> bool:
        """Tell whether the last attempt was the last one."""
        if state.attempt_number >= self._attempts or state.upcoming_sleep > rate_limits.PATIENCE:
            return True
        return (
            self._deadline is not None and asyncio.get_running_loop().time() + state.upcoming_sleep > self._deadline
        )


KEPT = 200
"""Answers, the latest ones, that the figures are of."""

ENOUGH = 20
"""Answers from which on there are figures."""

TIMES = 4.0
LEAST = 0.1
"""Seconds that any attempt has."""

_ANEW_AFTER = 10
"""Answers after which the figures are made anew: not at each call."""


class Latencies:
    """The seconds that answers took; what was given up counts, so that the estimate rises where a server slows."""

    __slots__ = ("_added", "_seconds", "median", "patience")

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=KEPT)
        self._added = 0
        self.median: float | None = None
        """Half of the answers took at most so long; None while there are few."""
        self.patience: float | None = None
        """Seconds to wait for an answer that is needed by a deadline, 4 times the 95th percentile; None as above."""

    def add(self, seconds: float) -> None:
        """Count one answer."""
        self._seconds.append(seconds)
        self._added += 1
        if self._added >= ENOUGH and self._added % _ANEW_AFTER == 0:
            ordered = sorted(self._seconds)
            self.median = ordered[len(ordered) // 2]
            self.patience = max(LEAST, TIMES * ordered[int(0.95 * len(ordered))])

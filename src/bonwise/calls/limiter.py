"""When a call may start: requests and tokens per minute, calls at once, signs of an overloaded server, and pauses."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
import random
from collections import deque
from collections.abc import Callable
from typing import Protocol

from bonwise.calls import ask, rate_limits
from bonwise.errors import UsageError

SLACK = 1e-6
"""Seconds; a timer may fire this much early without being set again."""
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
NEARLY_NONE = 0.02
BREATH = 2.4
"""Seconds in which a server refills 4 % of a minute's allowance."""
CUTTING = frozenset({"throttled", "overloaded", "timeout"})


MINUTE = 60.0
MARGIN = 0.99
"""Of the rate, for the requests that travel faster than those before them."""


class Bucket:
    """A token bucket that holds little: at most 4 % of the allowance may start at once.

    What it holds at first and what flows in during any 60 s make up no more than `limit`, 1 or more a minute. An
    amount larger than the bucket starts when that is full, and leaves a debt that the next ones wait for; only such
    amounts can carry a minute over the limit. `spent` is what has been used already.
    """

    __slots__ = ("_at", "_burst", "_level", "_limit", "_own", "_rate")

    def __init__(self, limit: int, spent: float = 0.0, *, own: bool = False) -> None:
        self._own = limit if own else None
        self._at = 0.0
        self._allow(limit)
        self._level = max(self._burst - spent, float(-limit))

    @property
    def limit(self) -> int:
        """Per minute, the lower of the caller's own limit and the server's."""
        return self._limit

    def wait(self, amount: float, now: float, ahead: float = 0.0, queued: float = 0.0) -> float:  # noqa: ARG002
        """Return the seconds until an amount may start behind what is `ahead`, 0 for at once; `now` is loop time.

        `queued` is all that waits, for buckets that are filled by what is asked for.
        """
        short = ahead + min(amount, self._burst) - self._filled(now)
        return short / self._rate if short > 0 else 0.0

    def charge(self, amount: float, now: float) -> None:
        """Take an amount, there or not; debt stays within a minute's allowance, lest one absurd count stop all."""
        level = self._filled(now) - amount
        self._level = max(min(level, self._burst), float(-self._limit))

    def sync(self, window: rate_limits.Window, now: float, since: float, unseen: float) -> None:
        """Believe the server where it knows of less, but for `unseen` requests begun after that one, at `since`."""
        limit = window.limit if self._own is None else min(self._own, window.limit)
        level = self._filled(now)
        if limit != self._limit:
            self._allow(limit)
        if window.remaining is not None:
            level = min(level, window.remaining - unseen + self._rate * (now - since))
        self._level = max(min(level, self._burst), float(-self._limit))

    def _allow(self, limit: int) -> None:
        self._limit = limit
        self._burst = float(max(1, limit // 25))
        self._rate = MARGIN * (limit - self._burst + 1) / MINUTE

    def _filled(self, now: float) -> float:
        if now > self._at:
            self._level = min(self._burst, self._level + self._rate * (now - self._at))
            self._at = now
        return self._level


LATEST = 50
"""Attempts that are looked at: the latest ones."""

TOO_MANY = 0.3
"""Share of them that fails where a server has too much to do; less is the ordinary trouble of services."""

SOME = 0.06
"""Share of failures at which no more calls are tried at once than at the last sign of too much to do."""

IN_A_ROW = 10
"""Attempts that all fail, the first ones since the last look: that is no ordinary trouble either."""

SLOWER = 2.0
"""Times the usual median latency."""


START = 8
CUT = 0.7

SLOWLY = 0.6
"""Calls more with every window of answers: a server that refuses at once refuses much until that is noticed."""


class ConcurrencyWindow:
    """How many calls run at once: more while answers come, fewer on signs that the server has too much to do (AIMD).

    More by one an answer, so that connections are not opened all at once, and slowly from where the server
    complained. The signs are many failures among the latest attempts, and answers that take long. `seen` are the
    `cuts` there had been when a call started: one from before the last cut tells nothing about the size since.
    """

    __slots__ = ("_cap", "_failed", "_seconds", "_steep", "_suspected", "_usual", "cuts", "in_a_row", "size")

    def __init__(self, cap: int) -> None:
        self._cap = float(cap)
        self._steep = self._cap
        self.size = float(min(START, cap))
        self.cuts = 0
        self.in_a_row = 0
        """Attempts that have failed since the last answer."""
        self._failed: deque[bool] = deque(maxlen=LATEST)
        self._seconds: list[float] = []
        self._usual: float | None = None
        self._suspected = False

    def answered(self, seconds: float, seen: int, *, running: int) -> bool:
        """Count an answer, which grows a used-up window unless many fail; tell whether slow ones shrank it."""
        self._failed.append(False)
        self.in_a_row = 0
        if self._take_long(seconds) and self._cut(seen):
            return True
        # A window that is not used up says nothing about what the server could bear.
        if running + 1 > self.size:
            if self.size < self._steep:
                self.size = min(self._cap, self.size + 1.0)
            elif sum(self._failed) <= SOME * len(self._failed):
                self.size = min(self._cap, self.size + SLOWLY / self.size)
        return False

    def failed(self, seen: int) -> bool:
        """Count an attempt that failed as attempts fail where there is too much to do; tell whether it shrank."""
        self._failed.append(True)
        self.in_a_row += 1
        attempts, failed = len(self._failed), sum(self._failed)
        overloaded = failed == attempts >= IN_A_ROW or (attempts == LATEST and failed > TOO_MANY * LATEST)
        if overloaded:
            self._failed.clear()
        return overloaded and self._cut(seen)

    def restart(self) -> None:
        """Begin small again after a pause, and grow fast up to the size known to be good."""
        self.size = min(self.size, float(START))

    def _take_long(self, seconds: float) -> bool:
        """Tell, once, whether answers take twice as long as they usually do: from then on that is usual."""
        self._seconds.append(seconds)
        if len(self._seconds) < LATEST:
            return False
        median = sorted(self._seconds)[LATEST // 2]
        self._seconds.clear()
        if self._usual is None or median <= SLOWER * self._usual:
            self._usual = median if self._usual is None else min(median, self._usual)
            self._suspected = False
            return False
        if self._suspected:
            self._usual = median
        self._suspected = not self._suspected
        return self._suspected

    def _cut(self, seen: int) -> bool:
        """Shrink, once a round trip, and tell whether it did."""
        if seen != self.cuts:
            return False
        self.cuts += 1
        self.size = self._steep = max(1.0, self.size * CUT)
        return True


class DeadlineError(Exception):
    """A call cannot start before its deadline: `wait` seconds are, or were, too long; stays inside the engine."""

    def __init__(self, wait: float) -> None:
        self.wait = wait
        super().__init__(f"no call can start before the deadline: the wait is {wait:.1f} s")


class Lease(Protocol):
    """The right to send one call, once."""

    def settle(self, *, tokens: int | None, limits: rate_limits.RateLimits, problem: ask.Problem | None) -> None:
        """Say how the call went; exactly once, however it went.

        Parameters
        ----------
        tokens : int or None
            Really used, input and output; None where that is not known. The expected tokens then count as
            used, unless the problem was not `sent`.
        limits : RateLimits
            What the response said about the pace; empty where it said nothing.
        problem : Problem or None
            None for an answer. For a call that was cancelled: ``broken``.
        """
        ...


class Limiter(Protocol):
    """Decides when calls start. Users may bring their own, which shares limits between machines, say."""

    async def acquire(self, tokens: int, deadline: float | None = None) -> Lease:
        """Wait until a call may start; the nearest deadline first, those without one in the order of coming.

        Parameters
        ----------
        tokens : int
            Expected, input and output.
        deadline : float, optional
            Time of the event loop by which the call must have started.

        Raises
        ------
        DeadlineError
            At once where the wait is known to be too long, else at the deadline.
        """
        ...


class EndpointLimiter:
    """The limiter of one endpoint: one server, account and model. Belongs to one event loop at a time.

    Limits that responses name pace the endpoint, together with those given here (per minute, to leave room for
    others); calls at once then stay below `max_concurrency` only. Else the calls at once are found by trying, and
    fewer run where many fail because the server has too much to do: see `ConcurrencyWindow`, and `Bucket` for the
    spread of starts. A call that fails holds nobody else up. All wait after a 429 where the server names limits, then
    used up, and where it refuses everything: as long as it asks for, or a growing time, jittered by `seed`. `bucket`
    makes the buckets, from ``"requests"`` or ``"tokens"`` and a limit, where processes are to share them. Where
    input and output are limited apart, all tokens count as input (a judge writes little), and starts pause when
    hardly any output is left.
    """

    def __init__(
        self,
        max_concurrency: int = 64,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        *,
        seed: int | None = None,
        bucket: Callable[..., Bucket] | None = None,
    ) -> None:
        self._window = ConcurrencyWindow(_at_least_one("max_concurrency", max_concurrency))
        self._bucket = bucket or (lambda _kind, limit, spent=0.0, *, own=False: Bucket(limit, spent, own=own))
        self._requests = self._own("requests", requests_per_minute)
        self._tokens = self._own("tokens", tokens_per_minute)
        self._jitter = random.Random(seed)  # noqa: S311 - spreads pauses, guards nothing
        self._server_paces = False
        self._running = self._running_tokens = 0
        self._started = self._started_tokens = 0
        self._queue: list[tuple[float, int, _QueuedCall]] = []
        self._order = itertools.count()
        self._waiting = self._waiting_tokens = 0
        self._timer: asyncio.TimerHandle | None = None
        self._closed_until = 0.0
        self._pauses = self._strikes = 0

    async def acquire(self, tokens: int, deadline: float | None = None) -> Lease:
        """Wait until a call may start; see `Limiter.acquire`."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        wait = self._wait(tokens, now, behind_queue=True)
        if deadline is not None and now + wait > deadline:
            raise DeadlineError(wait)
        if wait <= SLACK and not self._waiting and self._has_room():
            return self._start(tokens, now)
        return await self._queued(_QueuedCall(loop.create_future(), tokens), deadline, loop)

    async def _queued(self, waiter: _QueuedCall, deadline: float | None, loop: asyncio.AbstractEventLoop) -> Lease:
        since = loop.time()
        alarm = None if deadline is None else loop.call_at(deadline, waiter.give_up)
        heapq.heappush(self._queue, (math.inf if deadline is None else deadline, next(self._order), waiter))
        self._waiting += 1
        self._waiting_tokens += waiter.tokens
        self._admit(loop)
        try:
            lease = await waiter.granted
        except asyncio.CancelledError:
            if waiter.lease is not None:
                waiter.lease.withdraw()
            raise
        finally:
            if alarm is not None:
                alarm.cancel()
            if waiter.lease is None:
                self._leave(waiter)
                self._admit(loop)
        if lease is None:
            raise DeadlineError(loop.time() - since)
        return lease

    def _leave(self, waiter: _QueuedCall) -> None:
        self._waiting -= 1
        self._waiting_tokens -= waiter.tokens

    def _admit(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start everyone at the head of the queue who may start now; wake up again when the next one may."""
        now = loop.time()
        when = None
        while self._queue:
            waiter = self._queue[0][2]
            if not waiter.granted.done():
                if not self._has_room():
                    break
                wait = self._wait(waiter.tokens, now)
                if wait > SLACK:
                    when = now + wait
                    break
                self._leave(waiter)
                waiter.lease = self._start(waiter.tokens, now)
                waiter.granted.set_result(waiter.lease)
            heapq.heappop(self._queue)
        self._wake_at(when, loop)

    def _wake_at(self, when: float | None, loop: asyncio.AbstractEventLoop) -> None:
        timer = self._timer
        if timer is not None:
            if when is not None and not timer.cancelled() and abs(timer.when() - when) <= SLACK:
                return
            timer.cancel()
        self._timer = None if when is None else loop.call_at(when, self._woken, loop)

    def _woken(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        self._admit(loop)

    def _has_room(self) -> bool:
        return self._running + 1 <= self._window.size

    def _wait(self, tokens: int, now: float, *, behind_queue: bool = False) -> float:
        wait = self._closed_until - now
        if self._requests is not None:
            wait = max(wait, self._requests.wait(1, now, self._waiting if behind_queue else 0, self._waiting))
        if self._tokens is not None:
            ahead = self._waiting_tokens if behind_queue else 0
            wait = max(wait, self._tokens.wait(tokens, now, ahead, self._waiting_tokens))
        return max(wait, 0.0)

    def _start(self, tokens: int, now: float) -> _LimiterLease:
        self._running += 1
        self._running_tokens += tokens
        self._started += 1
        self._started_tokens += tokens
        if self._requests is not None:
            self._requests.charge(1, now)
        if self._tokens is not None:
            self._tokens.charge(tokens, now)
        return _LimiterLease(self, tokens, now)

    def _finish(self, lease: _LimiterLease, tokens: int, now: float) -> None:
        self._running -= 1
        self._running_tokens -= lease.tokens
        if self._tokens is not None and tokens != lease.tokens:
            self._tokens.charge(tokens - lease.tokens, now)

    def _withdraw(self, lease: _LimiterLease) -> None:
        now = asyncio.get_running_loop().time()
        self._finish(lease, 0, now)
        self._started -= 1
        self._started_tokens -= lease.tokens
        if self._requests is not None:
            self._requests.charge(-1, now)
        self._admit(asyncio.get_running_loop())

    def _settle(
        self, lease: _LimiterLease, tokens: int | None, limits: rate_limits.RateLimits, problem: ask.Problem | None
    ) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._hear(lease, limits, now)
        if problem is None:
            self._answered(lease, now)
        elif problem.kind in CUTTING:
            self._failed(lease, problem, now)
        if tokens is None:
            tokens = lease.tokens if problem is None or problem.sent else 0
        self._finish(lease, tokens, now)
        self._admit(loop)

    def _answered(self, lease: _LimiterLease, now: float) -> None:
        if lease.pauses == self._pauses:
            self._strikes = 0
        self._window.answered(now - lease.since, lease.cuts, running=self._running)

    def _failed(self, lease: _LimiterLease, problem: ask.Problem, now: float) -> None:
        throttled = problem.kind == "throttled"
        if throttled and self._server_paces:
            self._pause(lease, problem, now)
            return
        self._window.failed(lease.cuts)
        # A server that refuses some has a pace, which fewer calls at once find; one that refuses all wants a pause.
        if throttled and self._window.in_a_row >= LATEST:
            self._pause(lease, problem, now)

    def _pause(self, lease: _LimiterLease, problem: ask.Problem, now: float) -> None:
        if problem.retry_after and problem.retry_after <= rate_limits.PATIENCE:
            self._close(now + problem.retry_after)
        elif lease.pauses == self._pauses:
            longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self._strikes, 16))
            self._close(now + longest * self._jitter.uniform(0.5, 1.0))
        if lease.pauses == self._pauses:
            # Calls from before a pause belong to it: their failures are no further reason to wait longer.
            self._pauses += 1
            self._strikes += 1
            self._window.restart()

    def _own(self, kind: str, limit: int | None) -> Bucket | None:
        return None if limit is None else self._bucket(kind, _at_least_one(f"{kind}_per_minute", limit), own=True)

    def _close(self, until: float) -> None:
        self._closed_until = max(self._closed_until, until)

    def _hear(self, lease: _LimiterLease, limits: rate_limits.RateLimits, now: float) -> None:
        tokens = limits.input_tokens or limits.tokens
        if limits.requests is not None:
            self._server_paces = True
            self._requests = self._requests or self._bucket("requests", limits.requests.limit, self._running)
            self._requests.sync(limits.requests, now, lease.since, self._started - lease.started)
        if tokens is not None:
            self._server_paces = True
            self._tokens = self._tokens or self._bucket("tokens", tokens.limit, self._running_tokens)
            self._tokens.sync(tokens, now, lease.since, self._started_tokens - lease.started_tokens)
        output = limits.output_tokens
        if output is not None and output.remaining is not None and output.remaining < NEARLY_NONE * output.limit:
            self._close(now + min(BREATH, BREATH if output.reset is None else output.reset))


class _LimiterLease:
    """One started call, and what the endpoint looked like when it started."""

    __slots__ = ("_endpoint", "_settled", "cuts", "pauses", "since", "started", "started_tokens", "tokens")

    def __init__(self, endpoint: EndpointLimiter, tokens: int, now: float) -> None:
        self._endpoint = endpoint
        self._settled = False
        self.tokens = tokens
        self.since = now
        self.started = endpoint._started  # noqa: SLF001 - one class in two pieces
        self.started_tokens = endpoint._started_tokens  # noqa: SLF001
        self.pauses = endpoint._pauses  # noqa: SLF001
        self.cuts = endpoint._window.cuts  # noqa: SLF001

    def settle(self, *, tokens: int | None, limits: rate_limits.RateLimits, problem: ask.Problem | None) -> None:
        """Say how the call went; see `Lease.settle`."""
        if self._settled:
            raise RuntimeError("a lease is settled once")
        self._settled = True
        self._endpoint._settle(self, tokens, limits, problem)  # noqa: SLF001

    def withdraw(self) -> None:
        """Give the right back unused."""
        self._settled = True
        self._endpoint._withdraw(self)  # noqa: SLF001


class _QueuedCall:
    """One call in the queue."""

    __slots__ = ("granted", "lease", "tokens")

    def __init__(self, granted: asyncio.Future[_LimiterLease | None], tokens: int) -> None:
        self.granted = granted
        self.lease: _LimiterLease | None = None
        self.tokens = tokens

    def give_up(self) -> None:
        """Wake up without a lease: the deadline has come."""
        if not self.granted.done():
            self.granted.set_result(None)


def _at_least_one(name: str, value: int) -> int:
    if value < 1:
        raise UsageError(f"{name} is {value}", hint="give at least 1")
    return value

"""The pace of calls at one model: an allowance per minute, calls at once, and the signs of an overloaded server."""

from __future__ import annotations

from collections import deque

from bonwise.calls.rate_limits import Window

__all__ = ["LATEST", "Bucket", "ConcurrencyWindow", "OverloadSigns"]

MINUTE = 60.0
MARGIN = 0.99
"""Of the rate, for the requests that travel faster than those before them."""


class Bucket:
    """A token bucket that holds little: at most 4 % of the allowance may start at once.

    What it holds at first and what flows in during any 60 s make up no more than `limit`, 1 or more a minute. An
    amount larger than the bucket starts when that is full, and leaves a debt that the next ones wait for; only such
    amounts can carry a minute over the limit. `spent` is what has been used already.

    Examples
    --------
    >>> bucket = Bucket(60)
    >>> bucket.charge(2, now=0.0)
    >>> round(bucket.wait(1, now=0.0), 2)
    1.03
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

    def wait(self, amount: float, now: float, ahead: float = 0.0) -> float:
        """Return the seconds until an amount may start behind what is `ahead`, 0 for at once; `now` is loop time."""
        short = ahead + min(amount, self._burst) - self._filled(now)
        return short / self._rate if short > 0 else 0.0

    def charge(self, amount: float, now: float) -> None:
        """Take an amount, there or not; debt stays within a minute's allowance, lest one absurd count stop all."""
        level = self._filled(now) - amount
        self._level = max(min(level, self._burst), float(-self._limit))

    def sync(self, window: Window, now: float, since: float, unseen: float) -> None:
        """Believe the server where it knows of less than we do: others may share the allowance.

        The request of that response started at `since`; `unseen` started after it, and was not counted in it yet.
        """
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


class OverloadSigns:
    """Counts the latest attempts.

    Examples
    --------
    >>> signs = OverloadSigns()
    >>> [signs.failed() for _ in range(10)].index(True)
    9
    >>> signs = OverloadSigns()
    >>> any(signs.failed() if at % 10 == 0 else signs.answered(0.03) for at in range(1000))
    False
    """

    __slots__ = ("_failed", "_seconds", "_suspected", "_usual", "in_a_row")

    def __init__(self) -> None:
        self.in_a_row = 0
        """Attempts that have failed since the last answer."""
        self._failed: deque[bool] = deque(maxlen=LATEST)
        self._seconds: list[float] = []
        self._usual: float | None = None
        self._suspected = False

    @property
    def some_fail(self) -> bool:
        """Whether more of the latest attempts have failed than `SOME`."""
        return sum(self._failed) > SOME * len(self._failed)

    def failed(self) -> bool:
        """Count an attempt that failed as attempts fail where there is too much to do; tell whether there is."""
        self._failed.append(True)
        self.in_a_row += 1
        seen, failed = len(self._failed), sum(self._failed)
        found = failed == seen >= IN_A_ROW or (seen == LATEST and failed > TOO_MANY * LATEST)
        if found:
            self._failed.clear()
        return found

    def answered(self, seconds: float) -> bool:
        """Count an answer, which took so long; tell whether answers take twice as long as they usually do.

        Told once: where answers take as long with fewer calls at once, there are not too many calls, and that is
        how long they usually take from now on.
        """
        self._failed.append(False)
        self.in_a_row = 0
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


START = 8
CUT = 0.7

SLOWLY = 0.6
"""Calls more with every window of answers: a server that refuses at once refuses much until that is noticed."""


class ConcurrencyWindow:
    """Grows while answers come, shrinks when the server has had too much (AIMD).

    By one an answer, so that connections are not opened all at once, and slowly from where the server complained.

    Examples
    --------
    >>> window = ConcurrencyWindow(64)
    >>> window.size, window.cut(window.cuts), round(window.size, 1)
    (8.0, True, 5.6)
    """

    __slots__ = ("_cap", "_steep", "cuts", "size")

    def __init__(self, cap: int) -> None:
        self._cap = float(cap)
        self._steep = self._cap
        self.size = float(min(START, cap))
        self.cuts = 0

    def grow(self, *, careful: bool = False) -> None:
        """Count an answer that came while it was full; if `careful`, stay at a size that was complained of before."""
        if self.size < self._steep:
            self.size = min(self._cap, self.size + 1.0)
        elif not careful:
            self.size = min(self._cap, self.size + SLOWLY / self.size)

    def cut(self, seen: int) -> bool:
        """Shrink, once a round trip, and tell whether it did.

        `seen` are the `cuts` there had been when the failed call started: a call from before the last cut tells
        nothing about the size since.
        """
        if seen != self.cuts:
            return False
        self.cuts += 1
        self.size = self._steep = max(1.0, self.size * CUT)
        return True

    def restart(self) -> None:
        """Begin small again after a pause, and grow fast up to the size known to be good."""
        self.size = min(self.size, float(START))

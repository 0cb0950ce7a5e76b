"""Whether a server has too much to do, told from what becomes of its calls."""

from __future__ import annotations

from collections import deque

__all__ = ["LATEST", "OverloadSigns"]

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

"""How long answers of one endpoint take, and how long an attempt with a deadline is therefore waited for."""

from __future__ import annotations

from collections import deque

__all__ = ["Latencies"]

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
    """The seconds that answers took.

    An attempt that was given up after some seconds counts as an answer that took those: where a server becomes slow
    its attempts are given up one after the other, and the estimate rises until they are not.

    Examples
    --------
    >>> latencies = Latencies()
    >>> latencies.median, latencies.patience
    (None, None)
    >>> for at in range(100):
    ...     latencies.add(0.03 if at < 90 else 0.05)
    >>> latencies.median, latencies.patience
    (0.03, 0.2)
    """

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

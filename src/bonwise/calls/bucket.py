"""One allowance per minute, spent evenly."""

from __future__ import annotations

from bonwise.calls.rate_limits import Window

__all__ = ["Bucket"]

MINUTE = 60.0
MARGIN = 0.99
"""Of the rate, for the requests that travel faster than those before them."""


class Bucket:
    """A token bucket that holds little: at most 4 % of the allowance may start at once.

    What it holds at first and what flows in during any 60 s make up no more than the limit, so there is no
    minute that gets the allowance twice. An amount larger than the bucket starts when the bucket is full, and
    leaves a debt that the next ones wait for; only such amounts can carry a minute over the limit.

    Parameters
    ----------
    limit : int
        Per minute, at least 1.
    spent : float
        What has been used already.

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
        """Return the seconds until an amount may start, behind what is queued ahead of it.

        Parameters
        ----------
        amount : float
        now : float
            Time of the event loop, as everywhere.
        ahead : float

        Returns
        -------
        float
            0 when it may start now.
        """
        short = ahead + min(amount, self._burst) - self._filled(now)
        return short / self._rate if short > 0 else 0.0

    def charge(self, amount: float, now: float) -> None:
        """Take an amount, whether or not it is there; a negative one is given back.

        A debt never exceeds a minute's allowance: one absurd count must not stop everything for hours.
        """
        level = self._filled(now) - amount
        self._level = max(min(level, self._burst), float(-self._limit))

    def sync(self, window: Window, now: float, since: float, unseen: float) -> None:
        """Believe the server where it knows of less than we do: others may share the allowance.

        Parameters
        ----------
        window : Window
            What a response said.
        now, since : float
            The present, and when the request of that response started.
        unseen : float
            What has started after it, which its server had not counted yet.
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

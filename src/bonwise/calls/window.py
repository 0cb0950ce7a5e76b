"""How many calls may be under way at once, learnt from how the server takes them."""

from __future__ import annotations

__all__ = ["ConcurrencyWindow"]

START = 8
CUT = 0.7

SLOWLY = 0.6
"""Calls more with every window of answers: a server that refuses at once refuses much until that is noticed."""


class ConcurrencyWindow:
    """Grows while answers come, shrinks when the server has had too much (AIMD).

    It starts small and grows by one with every answer, so that connections are not opened all at once. From
    the size at which the server last complained it grows slowly.

    Parameters
    ----------
    cap : int
        Never more than this.

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
        """Count an answer that came while the window was full.

        Parameters
        ----------
        careful : bool
            Whether to stay at a size at which the server has complained before.
        """
        if self.size < self._steep:
            self.size = min(self._cap, self.size + 1.0)
        elif not careful:
            self.size = min(self._cap, self.size + SLOWLY / self.size)

    def cut(self, seen: int) -> bool:
        """Shrink, once a round trip.

        Parameters
        ----------
        seen : int
            The `cuts` there had been when the failed call started: a call from before the last cut tells
            nothing about the size since.

        Returns
        -------
        bool
            Whether it shrank.
        """
        if seen != self.cuts:
            return False
        self.cuts += 1
        self.size = self._steep = max(1.0, self.size * CUT)
        return True

    def restart(self) -> None:
        """Begin small again after a pause, and grow fast up to the size known to be good."""
        self.size = min(self.size, float(START))

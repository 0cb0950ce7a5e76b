"""Per cent along an axis, with as many decimals as its ticks need; painters import it, for it loads matplotlib."""

from __future__ import annotations

from itertools import pairwise

from matplotlib.ticker import Formatter

__all__ = ["Percent"]

_DECIMALS = 4


class Percent(Formatter):
    """Write shares as per cent: whole where all ticks are, else with the decimals that keep ticks even.

    Examples
    --------
    >>> Percent().format_ticks([0.0, 0.1, 0.2]), Percent().format_ticks([0.0, 0.025, 0.05])
    (['0%', '10%', '20%'], ['0.0%', '2.5%', '5.0%'])
    """

    def __init__(self) -> None:
        self._decimals = 0

    def set_locs(self, locs: list[float]) -> None:
        """Take the places of the ticks, as matplotlib states them before it asks for words."""
        super().set_locs(locs)
        gaps = [100 * (after - before) for before, after in pairwise(sorted(float(at) for at in locs))]
        self._decimals = next(
            (digits for digits in range(_DECIMALS) if all(_whole(gap * 10**digits) for gap in gaps)), _DECIMALS
        )

    def __call__(self, x: float, pos: int | None = None) -> str:  # noqa: ARG002 - as matplotlib calls it
        """Write one share."""
        return f"{round(100 * x, self._decimals) + 0.0:.{self._decimals}f}%".replace("-", "\N{MINUS SIGN}")


def _whole(value: float) -> bool:
    return abs(value - round(value)) < 1e-6

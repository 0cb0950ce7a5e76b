"""Per cent and points along an axis, with as many decimals as ticks need; painters import it: it loads matplotlib."""

from __future__ import annotations

from itertools import pairwise

from matplotlib.ticker import Formatter

from bonwise.report.numbers import Unit, number

_DECIMALS = 4
_LONGEST = 1e7
"""A share from here on is written as in text: hundreds of digits would leave the axes no room."""


class Percent(Formatter):
    """Write shares as per cent and `after`: whole where all ticks are, else with decimals that keep ticks even."""

    def __init__(self, after: str = "%") -> None:
        self._after = after
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
        if abs(x) >= _LONGEST:
            written = f"{number(x, 'share').removesuffix('%')}{self._after}"
        else:
            written = f"{round(100 * x, self._decimals) + 0.0:.{self._decimals}f}{self._after}"
        return written.replace("-", "\N{MINUS SIGN}")


def formatter(unit: Unit) -> Formatter | None:
    """Return what writes the ticks of an axis in a unit; None for plain numbers, which matplotlib writes."""
    if unit == "number":
        return None
    return Percent() if unit == "share" else Percent("")


def axis_title(words: str, unit: Unit) -> str:
    """Return what an axis holds, with its unit where the ticks do not say it."""
    return f"{words}, in points" if unit == "points" else words


def _whole(value: float) -> bool:
    return abs(value - round(value)) < 1e-6

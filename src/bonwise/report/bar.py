"""Figures with their intervals on one line, between marks: a page alone shows it, where sentences say the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Bar", "BarMark", "BarRow"]

_FURTHEST = 1.0
"""An interval is drawn out to so many widths of the line beyond its usual ends; an arrow says that it goes on."""


@dataclass(frozen=True, slots=True)
class BarMark:
    """A place on the line to compare figures with."""

    at: float
    kind: Literal["random", "gate", "oracle"]
    text: str
    """Its name with its figure."""


@dataclass(frozen=True, slots=True)
class BarRow:
    """A figure with its interval."""

    title: str
    """Its name, the estimate and the interval, as they are written."""
    figure: str
    """Its name, the estimate and the interval, as they are written."""
    ends: str
    """Its name, the estimate and the interval, as they are written."""
    estimate: float
    low: float | None
    """None where there is no interval."""
    high: float | None
    """None where there is no interval."""


@dataclass(frozen=True, slots=True)
class Bar:
    """Figures on lines of one length, which reaches from the first mark to the last one, or to a figure beyond them.

    Examples
    --------
    >>> marks = (BarMark(0.0, "random", "random picks 0%"), BarMark(1.0, "oracle", "perfect picks 100%"))
    >>> bar = Bar([BarRow("recovery", "-50%", "[-250%, 25%]", -0.5, -2.5, 0.25)], marks, "")
    >>> bar.start, bar.end, bar.place(0.0), bar.goes_on(bar.rows[0])
    (-1.5, 1.0, 60.0, ('low',))
    """

    rows: Sequence[BarRow]
    """At least one."""
    marks: Sequence[BarMark]
    """At least two, in rising order of what they mean: random picks, the gate, the best picks."""
    says: str
    """All of it in words, for who cannot see it."""

    @property
    def start(self) -> float:
        """Where the line begins: the far end of a hopeless interval is beyond it, no estimate is."""
        first, width = self._usual
        ends = [min(first, one.estimate) for one in self.rows]
        reach = (max(one.low, end - width) for one, end in zip(self.rows, ends, strict=True) if one.low is not None)
        return min([first, *ends, *reach])

    @property
    def end(self) -> float:
        """Where the line ends."""
        first, width = self._usual
        last = first + width
        ends = [max(last, one.estimate) for one in self.rows]
        reach = (min(one.high, end + width) for one, end in zip(self.rows, ends, strict=True) if one.high is not None)
        return max([last, *ends, *reach])

    def place(self, value: float) -> float:
        """Return where on the line a value stands, in percent of its length, to two decimals."""
        share = (value - self.start) / (self.end - self.start)
        return round(100 * min(max(share, 0.0), 1.0), 2)

    def reach(self, row: BarRow) -> tuple[float, float]:
        """Return where the interval of a row begins on the line, and how long it is, in percent; 0 without one."""
        if row.low is None or row.high is None:
            return self.place(row.estimate), 0.0
        begins = self.place(row.low)
        return begins, round(self.place(row.high) - begins, 2)

    def goes_on(self, row: BarRow) -> tuple[str, ...]:
        """Return at which ends the interval goes on beyond the line: ``low``, ``high``, both or none."""
        beyond = {
            "low": row.low is not None and row.low < self.start,
            "high": row.high is not None and row.high > self.end,
        }
        return tuple(end for end, there in beyond.items() if there)

    @property
    def _usual(self) -> tuple[float, float]:
        places = [mark.at for mark in self.marks]
        return min(places), _FURTHEST * (max(places) - min(places))

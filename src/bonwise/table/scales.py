"""Scales of scores and labels: declared by the user, never guessed into the numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bonwise.errors import RowError, UsageError
from bonwise.printable import quoted

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

__all__ = ["Scale", "mismatch", "off_scale", "parse_scale", "to_unit", "turned"]


@dataclass(frozen=True, slots=True)
class Scale:
    """A declared scale, both ends included.

    Examples
    --------
    >>> Scale(0, 100).high
    100
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (self.low < self.high and np.isfinite(self.high - self.low)):
            raise UsageError(f"a scale needs LOW below HIGH, not {self}", hint="such as 0:100")

    def __str__(self) -> str:
        return ":".join(str(float(end)).removesuffix(".0") for end in (self.low, self.high))


def parse_scale(text: str) -> Scale:
    """Read ``LOW:HIGH``, two numbers with the lower first; anything else is a UsageError.

    Examples
    --------
    >>> parse_scale("1:5")
    Scale(low=1.0, high=5.0)
    """
    low, _, high = text.partition(":")
    try:
        return Scale(float(low), float(high))
    except ValueError:
        raise UsageError(f"not a scale: {quoted(text)}", hint="write LOW:HIGH, such as 0:100") from None


def to_unit(
    values: npt.NDArray[np.float64], scale: Scale | None, *, rows: pd.Index, role: str, source: str
) -> npt.NDArray[np.float64]:
    """Map values from their declared scale to [0, 1]; without a declaration leave them as they are.

    A value off its declared scale is a RowError.
    """
    if scale is None:
        return values
    with np.errstate(invalid="ignore"):
        off = (values < scale.low) | (values > scale.high)
    if off.any():
        at = int(np.flatnonzero(off)[0])
        raise RowError(
            f"{source}, row {rows[at]}: {role} {values[at]:g} lies off the declared scale {scale}",
            hint="mend the row or declare the scale it is on"
            + (f"; --missing {values[at]:g} says that it means no score" if role == "judge_score" else ""),
        )
    return (values - scale.low) / (scale.high - scale.low)


def turned(values: npt.NDArray[np.float64], scale: Scale | None) -> npt.NDArray[np.float64]:
    """Return values whose lower ones are better so that higher ones are; on a declared scale they stay in [0, 1].

    Examples
    --------
    >>> turned(np.array([0.0, 0.25]), None), turned(np.array([0.0, 0.25]), Scale(0, 1))
    (array([ 0.  , -0.25]), array([1.  , 0.75]))
    """
    # A difference, because the negative of 0 is written as -0.
    return (0.0 if scale is None else 1.0) - values


_MARKS = (-1.0, -9.0, -99.0, -999.0, -9999.0, 99.0, 999.0, 9999.0)
"""Numbers that files have in the place of a value that is not there."""

_FEWEST = 20
_FEW = 4
"""Scores below which no number is said to lie off their scale, and different scores that show what the scale is."""


def off_scale(scores: npt.NDArray[np.float64]) -> list[float]:
    """Return the numbers that may mean "no score": usual ones for that which lie off the scale of all others.

    The others of a negative one are 0 or more, and either run over 4 or more, begin at 1, or lie closer together than
    half of the distance to it: -1, 0 and 1 are a scale, as are logarithms of probabilities. Those of a positive one
    reach a ninth of it at most.

    Examples
    --------
    >>> off_scale(np.array([-1.0, *range(1, 6)] * 4)), off_scale(np.array([-1.0, 0.0, 1.0] * 10))
    ([-1.0], [])
    """
    present = scores[~np.isnan(scores)]
    values = np.unique(present)
    marks = values[np.isin(values, _MARKS)]
    others = values[~np.isin(values, marks)]
    if len(present) < _FEWEST or len(others) < 3:
        return []
    low, high = others[0], others[-1]
    step = np.diff(others).max()
    fine = high - low >= _FEW or low >= 1
    return [
        float(mark)
        for mark in marks
        if (mark > 9 * high and mark > 0)
        or (mark < 0 <= low and (fine or (len(others) >= _FEW and low - mark > 2 * step)))
    ]


def mismatch(scores: npt.NDArray[np.float64], labels: npt.NDArray[np.float64]) -> int | None:
    """Return the position of the first value that shows that scores and labels are on different scales.

    One side lies in [0, 1] and the other looks like a rating scale (1-5, 0-10, 0-100). Labels of only 0 and 1 are
    verdicts, not a scale; scores below 0 or above 100 are logits or rewards, which have none. Both are (rows,), NaN
    where missing.
    """
    if _is_unit(scores) and _is_rating(labels):
        return int(np.flatnonzero(labels > 1)[0])
    verdicts = np.isin(labels[~np.isnan(labels)], (0.0, 1.0)).all()
    if _is_unit(labels) and _is_rating(scores) and not verdicts:
        return int(np.flatnonzero(scores > 1)[0])
    return None


def _is_unit(values: npt.NDArray[np.float64]) -> bool:
    present = values[~np.isnan(values)]
    return bool(present.size and present.min() >= 0 and present.max() <= 1)


def _is_rating(values: npt.NDArray[np.float64]) -> bool:
    present = values[~np.isnan(values)]
    return bool(present.size and present.min() >= 0 and 1 < present.max() <= 100)

"""Scales of scores and labels: declared by the user, never guessed into the numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bonwise.arrays import Floats
from bonwise.errors import RowError, UsageError
from bonwise.flags import takes_numbers
from bonwise.printable import quoted


@takes_numbers
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
    """Read ``LOW:HIGH``, two numbers with the lower first; anything else is a UsageError."""
    low, _, high = text.partition(":")
    try:
        return Scale(float(low), float(high))
    except ValueError:
        raise UsageError(f"not a scale: {quoted(text)}", hint="write LOW:HIGH, such as 0:100") from None


def likely_scale(values: Floats) -> str:
    """Return the usual scale that values, not all NaN, are likely on, such as ``1:5``; empty where none holds."""
    low, high = np.nanmin(values), np.nanmax(values)
    tops = [top for top in (1, 5, 7, 10, 100) if 0 <= low and high <= top]
    return f"{1 if tops[0] in (5, 7) and low >= 1 else 0}:{tops[0]}" if tops else ""


def to_unit(
    values: Floats, scale: Scale | None, *, rows: np.typing.NDArray[Any], role: str, source: str, flag: str = ""
) -> Floats:
    """Map values from their declared scale, if any, to [0, 1]; a value off it is a RowError that names a `flag`."""
    if scale is None:
        return values
    with np.errstate(invalid="ignore"):
        off = (values < scale.low) | (values > scale.high)
    if off.any():
        at = int(np.flatnonzero(off)[0])
        such = f", such as {flag}{likely}" if flag and (likely := likely_scale(values)) else ""
        none = f"; --missing {values[at]:g} if it means no score" if role == "judge_score" else ""
        raise RowError(
            f"{source}, row {rows[at]}: {role} {values[at]:g} lies off the declared scale {scale}",
            hint=f"mend the row or declare the scale it is on{such}{none}",
        )
    return (values - scale.low) / (scale.high - scale.low)


_MARKS = (-1.0, -9.0, -99.0, -999.0, -9999.0, 99.0, 999.0, 9999.0)


def off_scale(scores: Floats) -> list[float]:
    """Return usual numbers for "no score" that lie far off the scale of enough other scores."""
    present = scores[~np.isnan(scores)]
    values = np.unique(present)
    is_mark = np.isin(values, _MARKS)
    others = values[~is_mark]
    if len(present) < 20 or len(others) < 3:
        return []
    low, high, step = others[0], others[-1], np.diff(others).max()
    scale = high - low >= 4 or low >= 1
    return [
        float(mark)
        for mark in values[is_mark]
        if mark > max(9 * high, 0) or (mark < 0 <= low and (scale or (len(others) > 3 and low - mark > 2 * step)))
    ]


def mismatch(scores: Floats, labels: Floats) -> int | None:
    """Return the first position where scores and labels, (rows,), are on different scales: [0, 1] and ratings."""
    if _is_unit(scores) and _is_rating(labels):
        return int(np.flatnonzero(labels > 1)[0])
    if _is_unit(labels) and _is_rating(scores) and not np.isin(labels[~np.isnan(labels)], (0.0, 1.0)).all():
        return int(np.flatnonzero(scores > 1)[0])
    return None


def ends_of(values: Floats) -> tuple[float, float]:
    """Return the lowest and the highest value that is there, NaN where none is."""
    return float(np.fmin.reduce(values, initial=np.nan)), float(np.fmax.reduce(values, initial=np.nan))


def _is_unit(values: Floats) -> bool:
    low, high = ends_of(values)
    return low >= 0 and high <= 1


def _is_rating(values: Floats) -> bool:
    low, high = ends_of(values)
    return low >= 0 and 1 < high <= 100

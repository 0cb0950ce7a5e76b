"""Figures, amounts, counts and lists in words: the one place that writes them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Literal, Protocol

NOTHING = "-"
"""Stands where there is no figure."""

Unit = Literal["number", "share", "points"]
"""What a figure is.

A ``share`` is a part of a whole, written in percent; ``points`` is a difference of two shares, in percentage points.
"""

_OF_A_WIDTH = 2
"""Significant digits of an interval's width."""

_ALONE = 3
"""Significant digits of a figure without an interval."""

_OF_SEVERAL = 4
"""Significant digits of a figure whose column holds other quantities too."""

_MORE = 1
"""Decimals added at most for an end that would be written as 0."""

_MOST_DECIMALS = 6
"""A figure that needs more has an exponent."""

_LONGEST = 1e15
"""A figure from here on has an exponent: a double knows no more digits, and hundreds of them fit no line."""

_ROUNDING_ERROR = 1e-12
"""What computing may leave of 0."""

_SCALES: dict[Unit, int] = {"number": 1, "share": 100, "points": 100}
_AFTER: dict[Unit, str] = {"number": "", "share": "%", "points": " points"}
_ONE_POINT = ("1", "+1", "-1")

_MOST_OF_A_PERCENT = 4
"""Decimals of a percent or a point: less than that is what computing leaves of 0, and no width."""


class Bounded(Protocol):
    """A figure with its interval, as every estimate is."""

    @property
    def estimate(self) -> float | None:
        """The figure, None where it is undefined."""

    @property
    def low(self) -> float | None:
        """The lower end."""

    @property
    def high(self) -> float | None:
        """The upper end."""


@dataclass(frozen=True, slots=True)
class Ends:
    """A figure with its interval, where there is no estimate that holds both."""

    estimate: float | None
    low: float | None
    high: float | None


class FigureText(str):
    """A figure as it is written alone, which `column` writes again with the decimals of its neighbours."""

    __slots__ = ("decimals", "figures", "unit", "write")
    figures: Sequence[float]
    unit: Unit
    decimals: int | None
    write: Callable[[int | None], str]

    @classmethod
    def of(
        cls, values: Sequence[float], unit: Unit, decimals: int | None, write: Callable[[int | None], str]
    ) -> FigureText:
        """Return the text of values that belong together, by what writes them."""
        text = cls(write(decimals))
        text.unit, text.decimals, text.write = unit, decimals, write
        text.figures = [abs(value) * _SCALES[unit] for value in values if abs(value) > _ROUNDING_ERROR]
        return text

    def behind(self, sign: str) -> FigureText:
        """Return the text behind a sign, such as that of a currency."""
        text = FigureText.of((), self.unit, self.decimals, lambda decimals: sign + self.write(decimals))
        text.figures = self.figures
        return text

    def beside(self, decimals: int | None, *, several: bool) -> str:
        """Write it with so many decimals; where a column is of several quantities, with four digits at most."""
        if decimals is not None and several and self.unit == "number":
            own = None if self.decimals is None or not self.figures else _decimals(max(self.figures), _OF_SEVERAL)
            decimals = None if own is None else min(decimals, max(self.decimals or 0, own))
        return self if decimals is None else self.write(decimals)


def column(cells: Sequence[str], *, several: bool = False) -> list[str]:
    """Write figures of a column again, in a unit as many decimals as its narrowest interval has."""
    shown = [cell for cell in cells if isinstance(cell, FigureText)]
    together = {unit: _together([cell for cell in shown if cell.unit == unit]) for unit in _SCALES}
    return [
        cell.beside(together[cell.unit], several=several) if isinstance(cell, FigureText) else cell for cell in cells
    ]


def _together(cells: Sequence[FigureText]) -> int | None:
    """Return the decimals of the narrowest interval; without any, of the largest figure, if all keep two digits."""
    most = _MOST_OF_A_PERCENT if cells and cells[0].unit != "number" else _MOST_DECIMALS
    known = [cell.decimals for cell in cells if cell.decimals is not None and cell.decimals <= most]
    sizes = [size for cell in cells for size in cell.figures if size < _LONGEST]
    if known or not sizes:
        return max(known, default=None)
    fewest = _decimals(max(sizes) if most == _MOST_DECIMALS else min(max(sizes), 99), _ALONE)  # 100% has one decimal
    return fewest if fewest <= most and min(sizes) * 10**fewest >= 10 else None


def estimate(figure: Bounded | None, unit: Unit = "number", *, sign: bool = False) -> str:
    """Write an estimate, a dash where there is none; with `sign` a plus stands before a figure above 0."""
    if figure is None or figure.estimate is None:
        return NOTHING
    return _figure_text(figure.estimate, unit, _decimals_of(figure, unit), sign=sign)


def _figure_text(value: float, unit: Unit, decimals: int | None, *, sign: bool) -> FigureText:
    return FigureText.of(
        (value,), unit, decimals, lambda digits: _in_unit(_written(value, unit, digits, sign=sign), unit)
    )


def interval(figure: Bounded | None, unit: Unit = "number", *, sign: bool = False) -> str:
    """Write an interval; a dash where there is none."""
    if figure is None or figure.low is None or figure.high is None:
        return NOTHING
    ends, after = (figure.low, figure.high), "" if unit == "points" else _AFTER[unit]

    def write(decimals: int | None) -> str:
        return f"[{', '.join(_written(end, unit, decimals, sign=sign) + after for end in ends)}]"

    return FigureText.of(ends, unit, _decimals_of(figure, unit), write)


def with_interval(figure: Bounded, unit: Unit = "number", *, sign: bool = False) -> str:
    """Write an estimate and its interval, for a sentence."""
    if figure.estimate is None:
        return NOTHING
    ends = interval(figure, unit, sign=sign)
    return f"{estimate(figure, unit, sign=sign)} {'(no interval)' if ends == NOTHING else ends}"


def with_any_interval(figure: Bounded, unit: Unit = "number", *, sign: bool = False) -> str:
    """Write an estimate, and its interval where it has one, for a sentence."""
    write = estimate if figure.low is None else with_interval
    return write(figure, unit, sign=sign)


def number(value: float | None, unit: Unit = "number", *, like: Bounded | None = None, sign: bool = False) -> str:
    """Write a figure without interval, a dash for none, with the decimals of `like`; with `sign` a plus above 0."""
    if value is None:
        return NOTHING
    return _figure_text(value, unit, None if like is None else _decimals_of(like, unit), sign=sign)


def against(value: float, other: float, unit: Unit = "number", *, like: Bounded | None = None) -> str:
    """Write a figure with digits enough to tell it from another, and at least as many as `like`, its interval."""
    distance = abs(value - other) * _SCALES[unit]
    beside = None if like is None else _decimals_of(like, unit)
    if distance == 0 or abs(value * _SCALES[unit]) >= _LONGEST:
        return _in_unit(_written(value, unit, beside), unit)
    decimals = max(_decimals(distance, 1), beside if beside is not None and beside <= _MOST_DECIMALS else 0)
    if other == 0 and decimals > _MOST_DECIMALS:  # its own size tells it from 0
        return _in_unit(f"{value * _SCALES[unit]:.{_ALONE}g}", unit)
    # However close the two are: one that fails a gate is not written as the gate.
    return _in_unit(f"{value * _SCALES[unit]:,.{decimals}f}", unit)


def unit_of_difference(unit: Unit) -> Unit:
    """Return the unit of a difference: shares differ by points."""
    return "points" if unit == "share" else unit


def setting(value: float, unit: Unit = "number") -> str:
    """Write a number that a user set or that is known exactly, as short as it is exact to six digits."""
    return _in_unit(f"{_SCALES[unit] * value:g}", unit)


def percent(share: float) -> str:
    """Write a share that was set or is known exactly, in percent."""
    return setting(share, "share")


def count(value: int | None) -> str:
    """Write a count, thousands apart."""
    return NOTHING if value is None else f"{value:,}"


def counted(value: int, noun: str) -> str:
    """Write a count with its noun in the singular or the plural."""
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


def count_range(counts: Collection[int], noun: str = "") -> str:
    """Write the smallest to the largest of counts, one where they are equal, with their noun if there is one."""
    least, most = min(counts), max(counts)
    words = counted(most, noun) if noun else count(most)
    return words if least == most else f"{count(least)} to {words}"


def listed_counts(counts: Iterable[tuple[str, int]]) -> str:
    """Write reasons with how often each holds."""
    return ", ".join(f"{what} ({times:,})" for what, times in counts)


def interval_title(confidence: float) -> str:
    """Name a column of intervals."""
    return f"{percent(confidence)} interval"


def _decimals_of(figure: Bounded, unit: Unit) -> int | None:
    """Return decimals of an estimate and its ends, more where an end would read 0; None without a width."""
    if figure.low is None or figure.high is None or not figure.high > figure.low:
        return None
    fewest = _decimals((figure.high - figure.low) * _SCALES[unit])
    ends = [end * _SCALES[unit] for end in (figure.low, figure.high) if end]
    enough = (more for more in range(_MORE + 1) if all(round(end, fewest + more) for end in ends))
    return fewest + next(enough, 0)


def _decimals(width: float, digits: int = _OF_A_WIDTH) -> int:
    """Return the decimals at which a width shows that many significant digits."""
    return max(digits - 1 - floor(log10(width)), 0)


def _written(value: float, unit: Unit, decimals: int | None, *, sign: bool = False) -> str:
    scaled = value * _SCALES[unit]
    if abs(scaled) >= _LONGEST:
        return f"{scaled:{'+' if sign else ''}.{_ALONE}g}"
    if unit != "number" and (decimals is None or decimals > _MOST_OF_A_PERCENT):
        return _significant(round(scaled, _MOST_OF_A_PERCENT), "+" if sign else "")
    if decimals is None or decimals > _MOST_DECIMALS:
        return _significant(scaled, "+" if sign else "")
    # Adding 0 turns a rounding error below 0 into a plain 0, which has no sign.
    rounded = round(scaled, decimals) + 0.0
    plus = "+" if sign and rounded > 0 else ""
    return f"{rounded:{plus},.{decimals}f}"


def _in_unit(written: str, unit: Unit) -> str:
    return f"{written} point" if unit == "points" and written in _ONE_POINT else written + _AFTER[unit]


def _significant(value: float, plus: str = "") -> str:
    if abs(value) < _ROUNDING_ERROR:
        return "0"
    if abs(value) >= 10**_ALONE - 0.5:
        return f"{value:{plus},.0f}"
    return f"{value:{plus}#.{_ALONE}g}".removesuffix(".")


def named(text: str, reference: str | None) -> str:
    """Name what stands in for the oracle: another judge's scores are no oracle, and are not called one."""
    if reference is None:
        return text
    for word, instead in (("oracle", "reference"), ("labels", "reference scores"), ("label", "reference score")):
        text = text.replace(word, instead)
    return text


def all_named(texts: Iterable[str], reference: str | None) -> list[str]:
    """Name each text of a column as `named` does."""
    return [named(text, reference) for text in texts]


_OF_A_SCORE = 4
"""Significant digits of a judge's score."""

_SEEN = 0.001
"""Less than this of one among several is not worth a figure."""


def per_unit(amount: float, units: int) -> str:
    """Write what falls to one of several, whole from 100 up."""
    value = amount / units
    if 0 < value < _SEEN:
        return f"under {_SEEN:g}"
    return f"{value:,.0f}" if value >= 100 else brief(value)


def seconds(value: float) -> str:
    """Write a time."""
    return f"{value:.3g} s"


def price(value: float) -> str:
    """Write a price in the unit that the user gave prices in."""
    return f"{value:,.2f}"


def brief(value: float) -> str:
    """Write a figure that something was planned for or set at, to three significant digits."""
    return f"{value:.3g}"


def score(value: float | None, *, sign: bool = False) -> str:
    """Write a judge's score as it was given, to four significant digits; a dash where there is none."""
    if value is None:
        return NOTHING
    plus = "+" if sign else ""
    whole = abs(value) >= 10**_OF_A_SCORE
    return f"{value:{plus},.0f}" if whole else f"{value:{plus}.{_OF_A_SCORE}g}"


def money(cost: float | None) -> str:
    """Write an amount of dollars, to cents from one dollar on."""
    if cost is None:
        return "cost unknown"
    return f"${cost:,.2f}" if cost >= 1 or cost == 0 else f"${cost:.4f}"

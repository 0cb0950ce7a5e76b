"""Figures, counts and lists in words: the one place that writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Literal, Protocol

__all__ = [
    "NOTHING",
    "Bounded",
    "Ends",
    "Unit",
    "against",
    "alike",
    "all_named",
    "count",
    "counted",
    "counts",
    "estimate",
    "estimates",
    "interval",
    "interval_title",
    "intervals",
    "listed_counts",
    "named",
    "number",
    "percent",
    "setting",
    "unit_of_difference",
    "with_any_interval",
    "with_interval",
]

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


def estimate(figure: Bounded | None, unit: Unit = "number", *, sign: bool = False) -> str:
    """Write an estimate, a dash where there is none; with `sign` a plus stands before a figure above 0.

    Examples
    --------
    >>> found = Ends(0.2126, 0.0809, 0.3427)
    >>> estimate(found), estimate(found, "share"), estimate(found, "points", sign=True)
    ('0.21', '21%', '+21 points')
    >>> estimate(Ends(0.0098, -0.1, 0.12), "points")
    '1 point'
    """
    if figure is None or figure.estimate is None:
        return NOTHING
    return _in_unit(_written(figure.estimate, unit, _decimals_of(figure, unit), sign=sign), unit)


def interval(figure: Bounded | None, unit: Unit = "number", *, sign: bool = False) -> str:
    """Write an interval; a dash where there is none.

    Examples
    --------
    >>> found = Ends(0.2126, 0.0809, 0.3427)
    >>> interval(found), interval(found, "share"), interval(found, "points", sign=True)
    ('[0.08, 0.34]', '[8%, 34%]', '[+8, +34]')
    >>> interval(Ends(0.109, 0.004, 0.254), "points")
    '[0.4, 25.4]'
    """
    if figure is None or figure.low is None or figure.high is None:
        return NOTHING
    decimals, after = _decimals_of(figure, unit), "" if unit == "points" else _AFTER[unit]
    low, high = (_written(end, unit, decimals, sign=sign) + after for end in (figure.low, figure.high))
    return f"[{low}, {high}]"


def estimates(figures: Iterable[tuple[Bounded | None, Unit]]) -> list[str]:
    """Write a column of estimates, each in its unit.

    Examples
    --------
    >>> found = Ends(0.2126, 0.0809, 0.3427)
    >>> estimates([(found, "number"), (found, "share"), (None, "share")])
    ['0.21', '21%', '-']
    """
    return [estimate(figure, unit) for figure, unit in figures]


def intervals(figures: Iterable[tuple[Bounded | None, Unit]]) -> list[str]:
    """Write the column of their intervals.

    Examples
    --------
    >>> intervals([(Ends(0.2126, 0.0809, 0.3427), "number"), (None, "share")])
    ['[0.08, 0.34]', '-']
    """
    return [interval(figure, unit) for figure, unit in figures]


def with_interval(figure: Bounded, unit: Unit = "number", *, sign: bool = False) -> str:
    """Write an estimate and its interval, for a sentence.

    Examples
    --------
    >>> with_interval(Ends(0.2126, 0.0809, 0.3427), "share"), with_interval(Ends(0.5, None, None))
    ('21% [8%, 34%]', '0.500 (no interval)')
    """
    if figure.estimate is None:
        return NOTHING
    ends = interval(figure, unit, sign=sign)
    return f"{estimate(figure, unit, sign=sign)} {'(no interval)' if ends == NOTHING else ends}"


def with_any_interval(figure: Bounded, unit: Unit = "number", *, sign: bool = False) -> str:
    """Write an estimate, and its interval where it has one, for a sentence.

    Examples
    --------
    >>> with_any_interval(Ends(0.2126, 0.0809, 0.3427), "share"), with_any_interval(Ends(0.5, None, None))
    ('21% [8%, 34%]', '0.500')
    """
    write = estimate if figure.low is None else with_interval
    return write(figure, unit, sign=sign)


def number(value: float | None, unit: Unit = "number", *, like: Bounded | None = None, sign: bool = False) -> str:
    """Write a figure without interval, a dash for none, with the decimals of `like`; with `sign` a plus above 0.

    Examples
    --------
    >>> number(0.21258), number(0.21258, "share"), number(1.0, "share"), number(-1e-9, like=Ends(0.1, 0.05, 0.15))
    ('0.213', '21.3%', '100%', '0.00')
    """
    if value is None:
        return NOTHING
    return _in_unit(_written(value, unit, None if like is None else _decimals_of(like, unit), sign=sign), unit)


def against(value: float, other: float, unit: Unit = "number", *, like: Bounded | None = None) -> str:
    """Write a figure with digits enough to tell it from another, and at least as many as `like`, its interval.

    Examples
    --------
    >>> against(0.1031, 0.2, "share"), against(0.2003, 0.2, "share"), against(0.2, 0.2, "share")
    ('10%', '20.03%', '20.0%')
    >>> against(0.4, 0.2, like=Ends(None, 0.14, 0.4))
    '0.40'
    """
    distance = abs(value - other) * _SCALES[unit]
    beside = None if like is None else _decimals_of(like, unit)
    if distance == 0 or abs(value * _SCALES[unit]) >= _LONGEST:
        return _in_unit(_written(value, unit, beside), unit)
    decimals = max(_decimals(distance, 1), beside if beside is not None and beside <= _MOST_DECIMALS else 0)
    if other == 0 and decimals > _MOST_DECIMALS:  # its own size tells it from 0
        return _in_unit(f"{value * _SCALES[unit]:.{_ALONE}g}", unit)
    # However close the two are: one that fails a gate is not written as the gate.
    return _in_unit(f"{value * _SCALES[unit]:,.{decimals}f}", unit)


def alike(values: Sequence[float | None], unit: Unit = "number") -> list[str]:
    """Write a column of figures without intervals with the decimals that show three digits of the largest.

    Examples
    --------
    >>> alike([0.00815, 0.0104, None]), alike([2.0, 0.5]), alike([1e-9, 2e-9])
    (['0.0081', '0.0104', '-'], ['2.00', '0.50'], ['1.00e-09', '2.00e-09'])
    """
    largest = max((abs(value) * _SCALES[unit] for value in values if value is not None), default=0.0)
    decimals = _decimals(largest, _ALONE) if largest > _ROUNDING_ERROR else None
    return [NOTHING if value is None else _written(value, unit, decimals) + _AFTER[unit] for value in values]


def unit_of_difference(unit: Unit) -> Unit:
    """Return the unit of a difference: shares differ by points.

    Examples
    --------
    >>> unit_of_difference("share"), unit_of_difference("number")
    ('points', 'number')
    """
    return "points" if unit == "share" else unit


def setting(value: float, unit: Unit = "number") -> str:
    """Write a number that a user set or that is known exactly, as short as it is exact to six digits.

    Examples
    --------
    >>> setting(0.25), setting(20.0), setting(0.25, "share")
    ('0.25', '20', '25%')
    """
    return _in_unit(f"{_SCALES[unit] * value:g}", unit)


def percent(share: float) -> str:
    """Write a share that was set or is known exactly, in percent.

    Examples
    --------
    >>> percent(0.95), percent(0.125)
    ('95%', '12.5%')
    """
    return setting(share, "share")


def count(value: int | None) -> str:
    """Write a count, thousands apart.

    Examples
    --------
    >>> count(1200)
    '1,200'
    """
    return NOTHING if value is None else f"{value:,}"


def counts(values: Iterable[int | None]) -> list[str]:
    """Write a column of counts.

    Examples
    --------
    >>> counts([1200, None])
    ['1,200', '-']
    """
    return [count(value) for value in values]


def counted(value: int, noun: str) -> str:
    """Write a count with its noun in the singular or the plural.

    Examples
    --------
    >>> counted(1, "pair"), counted(1200, "pair")
    ('1 pair', '1,200 pairs')
    """
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


def listed_counts(counts: Iterable[tuple[str, int]]) -> str:
    """Write reasons with how often each holds.

    Examples
    --------
    >>> listed_counts([("no label", 3), ("not scored", 1200)])
    'no label (3), not scored (1,200)'
    """
    return ", ".join(f"{what} ({times:,})" for what, times in counts)


def interval_title(confidence: float) -> str:
    """Name a column of intervals.

    Examples
    --------
    >>> interval_title(0.95)
    '95% interval'
    """
    return f"{percent(confidence)} interval"


def _decimals_of(figure: Bounded, unit: Unit) -> int | None:
    """Return the decimals of an estimate and its ends, None where there is no width to take them from.

    An end that would be written as 0 gets more: whether an interval holds 0 is what a reader looks for.
    """
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
    """Name what stands in for the oracle: another judge's scores are no oracle, and are not called one.

    Examples
    --------
    >>> named("mean label", None), named("mean label", "another judge")
    ('mean label', 'mean reference score')
    """
    if reference is None:
        return text
    for word, instead in (("oracle", "reference"), ("labels", "reference scores"), ("label", "reference score")):
        text = text.replace(word, instead)
    return text


def all_named(texts: Iterable[str], reference: str | None) -> list[str]:
    """Name each text of a column as `named` does.

    Examples
    --------
    >>> all_named(["mean label", "tie rate"], "another judge")
    ['mean reference score', 'tie rate']
    """
    return [named(text, reference) for text in texts]

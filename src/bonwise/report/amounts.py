"""How money, times, scores and what was set or planned are written: figures that have no interval."""

from __future__ import annotations

from bonwise.report.numbers import NOTHING

__all__ = ["brief", "money", "per_unit", "price", "score", "seconds"]

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

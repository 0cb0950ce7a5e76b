"""Figures of the findings in words: shares, differences, and what an interval around 0 means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bonwise.report.amounts import significant

__all__ = ["brought", "moved", "points", "share", "share_with_ends"]

_Document = Mapping[str, Any]


def share(found: _Document) -> str:
    """Write a share as a percentage.

    Examples
    --------
    >>> share({"estimate": 0.125})
    '12.5%'
    """
    return "an unknown share" if found["estimate"] is None else f"{100 * found['estimate']:.1f}%"


def share_with_ends(found: _Document) -> str:
    """Write a share with its interval, where it has one.

    Examples
    --------
    >>> share_with_ends({"estimate": 0.5, "low": 0.25, "high": 0.75})
    '50.0% [25.0, 75.0]'
    """
    return share(found) if found["low"] is None else f"{share(found)} {_ends(found, 100, 1)}"


def points(less: _Document) -> str:
    """Write a difference of shares in points, and whether it may be none.

    Examples
    --------
    >>> points({"estimate": -0.0001, "low": -0.1, "high": 0.1})
    '+0.0 points [-10.0, 10.0], which may be no difference'
    """
    if less["estimate"] is None:
        return "a difference without a figure"
    return _judged(f"{_near_0(100 * less['estimate'], 1):+.1f} points", less, 100, 1)


def moved(less: _Document) -> str:
    """Write a difference of mean verdicts, and whether it may be none.

    Examples
    --------
    >>> moved({"estimate": 0.024, "low": -0.002, "high": 0.049})
    '+0.024 [-0.002, 0.049], which may be no difference'
    """
    return _judged(f"{_near_0(less['estimate'], 3):+.3f}", less, 1, 3)


def brought(less: _Document) -> str:
    """Write a difference of gains, in labels, and whether it may be none.

    Examples
    --------
    >>> brought({"estimate": 2e-06, "low": 1e-06, "high": 3e-06})
    '+2.00e-06 [1.00e-06, 3.00e-06]'
    """
    sign = "+" if less["estimate"] >= 0 else ""
    what = f"{sign}{significant(less['estimate'])}"
    if less["low"] is None:
        return f"{what}, without an interval"
    return f"{what} [{significant(less['low'])}, {significant(less['high'])}]{_doubt(less)}"


def _judged(what: str, less: _Document, unit: float, digits: int) -> str:
    if less["low"] is None:
        return f"{what}, without an interval"
    return f"{what} {_ends(less, unit, digits)}{_doubt(less)}"


def _doubt(less: _Document) -> str:
    return "" if less["low"] > 0 or less["high"] < 0 else ", which may be no difference"


def _ends(found: _Document, unit: float, digits: int) -> str:
    low, high = (_near_0(unit * found[end], digits) for end in ("low", "high"))
    return f"[{low:.{digits}f}, {high:.{digits}f}]"


def _near_0(value: float, digits: int) -> float:
    """Round, a rounding error below 0 into a plain 0."""
    return round(value, digits) + 0.0

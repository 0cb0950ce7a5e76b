"""Figures of the findings in words: shares, differences, and what an interval around 0 means."""

from __future__ import annotations

from bonwise.report.numbers import Bounded, significant

__all__ = ["brought", "moved", "points", "share", "share_with_ends"]

_NO_INTERVAL = "without an interval"


def share(found: Bounded) -> str:
    """Write a share as a percentage.

    Examples
    --------
    >>> from bonwise.stats.estimate import Estimate
    >>> share(Estimate(0.125, None, None, None, 9, None))
    '12.5%'
    """
    return "an unknown share" if found.estimate is None else f"{100 * found.estimate:.1f}%"


def share_with_ends(found: Bounded) -> str:
    """Write a share with its interval, where it has one.

    Examples
    --------
    >>> from bonwise.stats.estimate import Estimate
    >>> share_with_ends(Estimate(0.5, 0.25, 0.75, None, 9, "jackknife"))
    '50.0% [25.0, 75.0]'
    """
    ends = _ends(found, 100, 1)
    return share(found) if ends is None else f"{share(found)} {ends}"


def points(less: Bounded) -> str:
    """Write a difference of shares in points, and whether it may be none.

    Examples
    --------
    >>> from bonwise.stats.estimate import Estimate
    >>> points(Estimate(-0.0001, -0.1, 0.1, None, 9, "jackknife"))
    '+0.0 points [-10.0, 10.0], which may be no difference'
    """
    if less.estimate is None:
        return "a difference without a figure"
    return _judged(f"{_near_0(100 * less.estimate, 1):+.1f} points", less, 100, 1)


def moved(less: Bounded) -> str:
    """Write a difference of mean verdicts, and whether it may be none.

    Examples
    --------
    >>> from bonwise.stats.estimate import Estimate
    >>> moved(Estimate(0.024, -0.002, 0.049, None, 9, "jackknife"))
    '+0.024 [-0.002, 0.049], which may be no difference'
    """
    return _judged(f"{_near_0(less.estimate or 0.0, 3):+.3f}", less, 1, 3)


def brought(less: Bounded) -> str:
    """Write a difference of gains, in labels, and whether it may be none.

    Examples
    --------
    >>> from bonwise.stats.estimate import Estimate
    >>> brought(Estimate(2e-06, 1e-06, 3e-06, None, 9, "jackknife"))
    '+2.00e-06 [1.00e-06, 3.00e-06]'
    """
    value = less.estimate or 0.0
    what = f"{'+' if value >= 0 else ''}{significant(value)}"
    if less.low is None or less.high is None:
        return f"{what}, {_NO_INTERVAL}"
    return f"{what} [{significant(less.low)}, {significant(less.high)}]{_doubt(less.low, less.high)}"


def _judged(what: str, less: Bounded, unit: float, digits: int) -> str:
    if less.low is None or less.high is None:
        return f"{what}, {_NO_INTERVAL}"
    return f"{what} {_ends(less, unit, digits)}{_doubt(less.low, less.high)}"


def _doubt(low: float, high: float) -> str:
    return "" if low > 0 or high < 0 else ", which may be no difference"


def _ends(found: Bounded, unit: float, digits: int) -> str | None:
    if found.low is None or found.high is None:
        return None
    low, high = (_near_0(unit * end, digits) for end in (found.low, found.high))
    return f"[{low:.{digits}f}, {high:.{digits}f}]"


def _near_0(value: float, digits: int) -> float:
    """Round, a rounding error below 0 into a plain 0."""
    return round(value, digits) + 0.0

"""Figures of the findings in words: shares, differences, and what an interval around 0 means."""

from __future__ import annotations

from bonwise.report.numbers import Bounded, Unit, estimate, interval, with_interval

__all__ = ["brought", "moved", "points", "share", "share_with_ends"]


def share(found: Bounded) -> str:
    """Write a share in percent.

    Examples
    --------
    >>> from bonwise.report.numbers import Ends
    >>> share(Ends(0.125, None, None))
    '12.5%'
    """
    return "an unknown share" if found.estimate is None else estimate(found, "share")


def share_with_ends(found: Bounded) -> str:
    """Write a share with its interval, where it has one.

    Examples
    --------
    >>> from bonwise.report.numbers import Ends
    >>> share_with_ends(Ends(0.5, 0.25, 0.75))
    '50% [25%, 75%]'
    """
    return share(found) if found.estimate is None or found.low is None else with_interval(found, "share")


def points(less: Bounded) -> str:
    """Write a difference of shares in points, and whether it may be none.

    Examples
    --------
    >>> from bonwise.report.numbers import Ends
    >>> points(Ends(-0.0001, -0.1, 0.1))
    '0 points [-10, +10], which may be 0'
    """
    return "a difference without a figure" if less.estimate is None else _judged(less, "points")


def moved(less: Bounded) -> str:
    """Write a difference of mean verdicts, and whether it may be none.

    Examples
    --------
    >>> from bonwise.report.numbers import Ends
    >>> moved(Ends(0.024, -0.002, 0.049))
    '+0.024 [-0.002, +0.049], which may be 0'
    """
    return _judged(less, "number")


def brought(less: Bounded) -> str:
    """Write a difference of gains, in labels, and whether it may be none.

    Examples
    --------
    >>> from bonwise.report.numbers import Ends
    >>> brought(Ends(2e-06, 1e-06, 3e-06))
    '+2.00e-06 [+1.00e-06, +3.00e-06]'
    """
    return _judged(less, "number")


def _judged(less: Bounded, unit: Unit) -> str:
    size = estimate(less, unit, sign=True)
    if less.low is None or less.high is None:
        return f"{size}, without an interval"
    doubt = "" if less.low > 0 or less.high < 0 else ", which may be 0"
    return f"{size} {interval(less, unit, sign=True)}{doubt}"

"""How many digits a small figure takes: as many as its interval, and as many in a sentence as in a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["estimate_and_ends"]

_LARGE, _SMALL = 100.0, 0.1
_VANISHES = 0.0005
_WIDE = 0.02
"""An interval so wide says nothing of a fourth decimal."""


def estimate_and_ends(found: Mapping[str, Any]) -> tuple[str, str]:
    """Write an estimate and its interval with one number of decimals: what a token brings is small.

    Three decimals where the interval is at least 0.02 wide or all figures are 0.1 or more, else five; five too where
    three would write a figure as 0 that is none; one decimal where all are 100 or more.

    Parameters
    ----------
    found : mapping
        ``estimate``, ``low`` and ``high``, None where there is none.

    Returns
    -------
    tuple of str
        A dash for what there is not.

    Examples
    --------
    >>> estimate_and_ends({"estimate": 0.02772, "low": -0.07458, "high": 0.302})
    ('0.028', '[-0.075, 0.302]')
    >>> estimate_and_ends({"estimate": 0.00526, "low": 0.00438, "high": 0.00613})
    ('0.00526', '[0.00438, 0.00613]')
    >>> estimate_and_ends({"estimate": 0.5, "low": None, "high": None})
    ('0.500', '-')
    """
    ends = [found["low"], found["high"]]
    sizes = [abs(value) for value in (found["estimate"], *ends) if value]
    wide = None not in ends and found["high"] - found["low"] >= _WIDE
    decimals = _decimals(sizes, wide=wide)
    interval = "-" if None in ends else f"[{', '.join(_written(end, decimals) for end in ends)}]"
    return ("-" if found["estimate"] is None else _written(found["estimate"], decimals)), interval


def _decimals(sizes: list[float], *, wide: bool) -> int:
    if sizes and min(sizes) >= _LARGE:
        return 1
    return 5 if any(size < (_VANISHES if wide else _SMALL) for size in sizes) else 3


def _written(value: float, decimals: int) -> str:
    # Adding 0 turns a rounding error below 0 into a plain 0.
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"

"""How many digits a small figure takes: as many as its interval, and as many in a sentence as in a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["estimate_and_ends"]

_LARGE, _SMALL = 100.0, 0.1


def estimate_and_ends(found: Mapping[str, Any]) -> tuple[str, str]:
    """Write an estimate and its interval with one number of decimals: what a token brings is small.

    Three decimals where none of the figures lies between 0 and 0.1, else five; one where all are 100 or more.

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
    ('0.02772', '[-0.07458, 0.30200]')
    >>> estimate_and_ends({"estimate": 0.5, "low": None, "high": None})
    ('0.500', '-')
    """
    ends = [found["low"], found["high"]]
    decimals = _decimals([abs(value) for value in (found["estimate"], *ends) if value])
    interval = "-" if None in ends else f"[{', '.join(_written(end, decimals) for end in ends)}]"
    return ("-" if found["estimate"] is None else _written(found["estimate"], decimals)), interval


def _decimals(sizes: list[float]) -> int:
    if sizes and min(sizes) >= _LARGE:
        return 1
    return 5 if any(size < _SMALL for size in sizes) else 3


def _written(value: float, decimals: int) -> str:
    # Adding 0 turns a rounding error below 0 into a plain 0.
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"

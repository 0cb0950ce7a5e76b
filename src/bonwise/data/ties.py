"""When two numbers are equal, and which of two candidates a number prefers."""

from __future__ import annotations

__all__ = ["TIE_DECIMALS", "preferred", "rounded"]

TIE_DECIMALS = 9
"""Scores are rounded to this many decimals before they are compared, as in the audit."""

_NO_DECIMALS = 1e15  # from here on doubles have none to round


def rounded(score: float) -> float:
    """Return a score as it is compared.

    Examples
    --------
    >>> rounded(0.1 + 0.2) == rounded(0.3)
    True
    """
    # The audit's rounding (numpy's), to the last bit: Python's own differs half way between decimals.
    scale = 10.0**TIE_DECIMALS
    return score if abs(score) > _NO_DECIMALS else round(score * scale) / scale


def preferred(earned: float) -> int:
    """Return which candidate of a pair a verdict prefers: 1 the first, -1 the second, 0 neither.

    Parameters
    ----------
    earned : float
        What the first candidate earned, from 0 to 1: above 1/2 it is preferred, at 1/2 both tie.

    Examples
    --------
    >>> preferred(0.7), preferred(0.5), preferred(1 - 0.7)
    (1, 0, -1)
    """
    lead = rounded(earned - 0.5)
    return (lead > 0) - (lead < 0)

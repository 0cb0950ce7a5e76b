"""What calls use: calls, tokens and money, in whole numbers."""

from __future__ import annotations

import math
from typing import NamedTuple

__all__ = ["PICO", "Amount", "pico", "whole"]

PICO = 10**12
"""Pico-dollars in a dollar."""


class Amount(NamedTuple):
    """Calls, tokens and pico-dollars: whole numbers, so that sums of small costs do not drift."""

    calls: int = 0
    tokens: int = 0
    cost: int = 0

    def plus(self, other: Amount) -> Amount:
        """Return the sum."""
        return Amount(self.calls + other.calls, self.tokens + other.tokens, self.cost + other.cost)

    def minus(self, other: Amount) -> Amount:
        """Return the difference."""
        return Amount(self.calls - other.calls, self.tokens - other.tokens, self.cost - other.cost)


def whole(tokens: int) -> int:
    """Return a number of tokens.

    Raises
    ------
    ValueError
        It is negative.
    """
    if tokens < 0:
        raise ValueError(f"tokens cannot be negative: {tokens}")
    return int(tokens)


def pico(cost: float) -> int:
    """Return US dollars in pico-dollars.

    Raises
    ------
    ValueError
        A cost that is negative or not finite.
    """
    if not 0 <= cost < math.inf:
        raise ValueError(f"a cost must be finite and not negative: {cost}")
    return round(cost * PICO)

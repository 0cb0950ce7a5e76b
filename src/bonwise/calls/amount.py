"""What a call takes: a call, tokens and money, in whole numbers."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

__all__ = ["PICO", "Amount"]

PICO = 10**12
"""Pico-dollars in a dollar."""


class Amount(NamedTuple):
    """Calls, tokens and pico-dollars: whole numbers, so that sums of small costs do not drift."""

    calls: int = 0
    tokens: int = 0
    cost: int = 0

    @classmethod
    def of_call(cls, tokens: int | None, cost: float | None) -> Self:
        """Return what one call takes, its cost in US dollars; what is not known (None) counts as nothing.

        Raises
        ------
        ValueError
            A number of tokens that is negative, or a cost that is negative or not finite.
        """
        if tokens is not None and tokens < 0:
            raise ValueError(f"tokens cannot be negative: {tokens}")
        if cost is not None and not 0 <= cost < math.inf:
            raise ValueError(f"a cost must be finite and not negative: {cost}")
        return cls(1, 0 if tokens is None else int(tokens), 0 if cost is None else round(cost * PICO))

    def plus(self, other: Amount) -> Amount:
        """Return the sum."""
        return Amount(self.calls + other.calls, self.tokens + other.tokens, self.cost + other.cost)

    def minus(self, other: Amount) -> Amount:
        """Return the difference."""
        return Amount(self.calls - other.calls, self.tokens - other.tokens, self.cost - other.cost)

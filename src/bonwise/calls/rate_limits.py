"""What a response says about the pace its server allows."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RateLimits", "Window"]


@dataclass(frozen=True, slots=True)
class Window:
    """One allowance.

    Parameters
    ----------
    limit : int
        Per minute.
    remaining : int or None
        Left now.
    reset : float or None
        Seconds until it is full again.
    """

    limit: int
    remaining: int | None = None
    reset: float | None = None


@dataclass(frozen=True, slots=True)
class RateLimits:
    """The allowances a response named; None where it named none.

    `tokens` counts input and output together; servers that count them apart fill the other two.
    """

    requests: Window | None = None
    tokens: Window | None = None
    input_tokens: Window | None = None
    output_tokens: Window | None = None

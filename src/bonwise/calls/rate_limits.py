"""What a response says about the pace its server allows."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RateLimits", "Window"]


@dataclass(frozen=True, slots=True)
class Window:
    """One allowance."""

    limit: int
    """Per minute."""
    remaining: int | None = None
    """Left now."""
    reset: float | None = None
    """Seconds until it is full again."""


@dataclass(frozen=True, slots=True)
class RateLimits:
    """The allowances a response named; None where it named none.

    `tokens` counts input and output together; servers that count them apart fill the other two.
    """

    requests: Window | None = None
    tokens: Window | None = None
    input_tokens: Window | None = None
    output_tokens: Window | None = None

"""What is known of one attempt at a call."""

from __future__ import annotations

from dataclasses import dataclass, field

from bonwise.calls.failure import Problem
from bonwise.calls.rate_limits import RateLimits
from bonwise.calls.reply import Reply

__all__ = ["Exchange"]


@dataclass(slots=True)
class Exchange:
    """What is known of one attempt once it has ended, however it ended."""

    sent: bool = False
    problem: Problem | None = None
    reply: Reply | None = None
    cost: float | None = None
    limits: RateLimits = field(default_factory=RateLimits)

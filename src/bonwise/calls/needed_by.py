"""By when whoever asks needs the answers, where that is earlier than the deadline of the engine."""

from __future__ import annotations

from contextvars import ContextVar

__all__ = ["NEEDED_BY"]

NEEDED_BY: ContextVar[float | None] = ContextVar("time of the event loop by which answers are needed", default=None)
"""Set around what asks: judges know of no time."""

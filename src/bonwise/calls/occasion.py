"""What calls are made for: by when their answers are needed, and who is to know that one of them waits."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

__all__ = ["OCCASION", "Occasion"]


def _nobody() -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Occasion:
    """Set around what asks: judges know neither of a time nor of other pools."""

    until: float | None = None
    """Time of the event loop by which answers are needed, where that is earlier than the deadline of the engine."""
    waits: Callable[[], None] = _nobody
    """Called when a call that has failed begins to wait for its next attempt."""


OCCASION: ContextVar[Occasion] = ContextVar("what calls are made for", default=Occasion())  # noqa: B039 - it is frozen

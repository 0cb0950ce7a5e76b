"""What a router did so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from bonwise.report.numbers import counted

__all__ = ["OnMissing", "RouterReport"]

OnMissing = Literal["keep", "random"]
"""What becomes of a pool whose scores do not give the signal."""


@dataclass(frozen=True, slots=True)
class RouterReport:
    """What a router did so far."""

    signal: str
    share: float
    """Part of the pools that it may send."""
    seen: int
    """Pools considered, and those of them that went to the stronger judge."""
    sent: int
    """Pools considered, and those of them that went to the stronger judge."""
    threshold: float | None
    """Of the signal, for the next pool; None while no signal is known there."""
    without_signal: int
    """Pools whose signal could not be computed, sent or not."""
    reasons: Mapping[str, int]
    """How often each reason was given."""
    on_missing: OnMissing = "keep"
    """What was done with pools whose scores do not give the signal."""

    @property
    def sent_share(self) -> float | None:
        """Part of the pools that was sent; None before the first."""
        return self.sent / self.seen if self.seen else None

    @property
    def warning(self) -> str | None:
        """What is wrong where no pool at all had the signal, in one line; None otherwise."""
        if not self.seen or self.without_signal < self.seen:
            return None
        why = next((one.partition("no signal: ")[2] for one in self.reasons if "no signal: " in one), "")
        because = f" ({why})" if why else ""
        sent = f"{self.sent:,} of {counted(self.seen, 'pool')} went to the stronger judge"
        chosen = ", at random" if self.on_missing == "random" else ""
        return f"no pool had the signal {self.signal}{because}: {sent}{chosen}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**asdict(self), "reasons": dict(self.reasons), "sent_share": self.sent_share, "warning": self.warning}

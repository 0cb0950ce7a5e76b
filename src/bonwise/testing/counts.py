"""What a scripted service has seen and what it was paid for."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Counts"]


@dataclass(slots=True)
class Counts:
    """What a scripted service has seen.

    Examples
    --------
    >>> Counts(paid=Counter({"a": 2, "b": 1})).paid_again
    {'a': 1}
    """

    requests: int = 0
    """All that arrived, whatever they got."""
    paid: Counter[str] = field(default_factory=Counter)
    """By `bonwise.testing.wire.body_digest`: requests that were accepted and worked on. They are paid even if the
    connection breaks, the answer is unreadable, or nobody waits for it.
    """
    delivered: Counter[str] = field(default_factory=Counter)
    """By digest: paid answers that were handed over whole."""
    refusals: int = 0
    """Paid answers in which the model refused."""
    faults: Counter[str] = field(default_factory=Counter)
    """By kind: errors sent and faults played."""
    in_flight: int = 0
    """Requests at work now, and the most there were at once."""
    peak: int = 0
    """Requests at work now, and the most there were at once."""

    @property
    def answers(self) -> int:
        """All paid answers."""
        return self.paid.total()

    @property
    def paid_again(self) -> dict[str, int]:
        """How often each body was paid beyond the first time; bodies paid once are left out."""
        return {digest: times - 1 for digest, times in self.paid.items() if times > 1}

    def to_dict(self) -> dict[str, Any]:
        """Return everything in JSON's types, with the totals."""
        return {
            "requests": self.requests,
            "answers": self.answers,
            "paid": dict(self.paid),
            "paid_again": self.paid_again,
            "delivered": dict(self.delivered),
            "refusals": self.refusals,
            "faults": dict(self.faults),
            "in_flight": self.in_flight,
            "peak": self.peak,
        }

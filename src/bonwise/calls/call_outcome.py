"""What a call returned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bonwise.calls.bill import Bill
from bonwise.calls.reply import Choice
from bonwise.data.verdicts import Unscored

__all__ = ["CallOutcome", "Outcome"]

Outcome = Choice | Unscored
"""An answer to be read; or why there is none: the server refused the request for good, or it is owed."""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The outcomes of one call by key, and what they cost."""

    outcomes: Mapping[bytes, Outcome]
    """A key is absent where the server sent fewer answers than were asked for, or where `busy`."""
    bill: Bill = field(default_factory=Bill)
    asked: int = 0
    """Answers that the request asked for."""
    busy: bool = False
    """Whether another process was asking for some of the keys at that moment."""

    @property
    def tokens_each(self) -> float:
        """Tokens of one of its answers, input and output; 0 where the server counted none."""
        answers = sum(not isinstance(one, Unscored) for one in self.outcomes.values())
        return (self.bill.input_tokens + self.bill.output_tokens) / answers if answers else 0.0

"""What a run has done so far: the figures behind a progress line and a summary."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from bonwise.calls.bill import Bill

__all__ = ["CallTotals"]

MOST_REASONS = 100
"""Reasons that are kept apart: servers put request numbers into theirs."""


@dataclass(slots=True)
class CallTotals:
    """Running figures of one engine."""

    bill: Bill = field(default_factory=Bill)
    """Calls, tokens and cost of this run; ``owed`` counts answers that did not arrive."""
    answers: int = 0
    """Samples that have an answer, scored or not."""
    unscored: int = 0
    """Answers that could not be used."""
    shortened: int = 0
    """Texts that were shown without their middle, once a question."""
    replaced: int = 0
    """Characters that no text can hold and that were shown as a stand-in, once a question."""
    retries: int = 0
    """Attempts beyond the first."""
    repeated: int = 0
    """Questions with several answers, and those whose answers were all the same words."""
    alike: int = 0
    """Questions with several answers, and those whose answers were all the same words."""
    waiting: int = 0
    """Calls that failed in transport and wait to be tried again."""
    trouble: str = ""
    """The latest transport failure, empty once something has been answered since."""
    notices: Counter[str] = field(default_factory=Counter)
    """What servers refused or silently ignored, in one line each, with how often it was seen."""
    owed_because: Counter[str] = field(default_factory=Counter)
    """Why answers are missing."""

    def owe(self, reason: str) -> None:
        """Count an answer that did not arrive, and why; words of servers are no end of reasons."""
        known = reason in self.owed_because or len(self.owed_because) < MOST_REASONS
        self.owed_because[reason if known else "other reasons"] += 1

"""What calls take: tokens and money of one call, what answers have cost, and the totals of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call, as Anthropic counts: input kinds do not overlap; `reasoning` is a part of `output`."""

    uncached: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0
    reasoning: int = 0

    @property
    def input(self) -> int:
        """All input tokens, cached or not."""
        return self.uncached + self.cache_read + self.cache_write_5m + self.cache_write_1h

    @property
    def total(self) -> int:
        """All tokens."""
        return self.input + self.output


@dataclass(frozen=True, slots=True)
class PartialUsage:
    """A usage of which the server told only a part."""

    told: Usage
    """What can be read; zero where nothing can."""
    input_told: bool
    output_told: bool
    """Both: which side is complete; at most one of the two."""
    total: int | None
    """Input and output together in the server's words, where that can be read."""


@dataclass(frozen=True, slots=True)
class Bill:
    """Calls, tokens and money behind some answers."""

    calls: int = 0
    """Calls sent for these answers that a server answered."""
    from_ledger: int = 0
    """Answers (samples) that cost nothing: stored already, or shared with another question under way."""
    owed: int = 0
    """Answers that are still missing: transport failures or a spending limit."""
    unknown: int = 0
    """Attempts that were sent and never answered; the server may bill them."""
    input_tokens: int = 0
    output_tokens: int = 0
    """Both: as the servers counted them."""
    cost: float | None = 0.0
    """US dollars; None where a price or a count is not known."""
    reused_tokens: int = 0
    """What answers from the ledger took when they were paid, input and output, as far as it is known."""

    def with_answer(self, usage: Usage | None, cost: float | None, partial: PartialUsage | None = None) -> Bill:
        """Return the bill with one more call that a server answered; it may have told only a part of the usage."""
        counted = (usage if partial is None else partial.told) or Usage()
        return self + Bill(calls=1, input_tokens=counted.input, output_tokens=counted.output, cost=cost)

    def with_all(self, others: Iterable[Bill]) -> Bill:
        """Return the bill with several others, in their order."""
        return sum([bill for bill in others if bill is not NOTHING_PAID], self)

    def __add__(self, other: Bill) -> Bill:
        if other is NOTHING_PAID:  # every verdict of a function adds one
            return self
        return Bill(
            self.calls + other.calls,
            self.from_ledger + other.from_ledger,
            self.owed + other.owed,
            self.unknown + other.unknown,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            None if self.cost is None or other.cost is None else self.cost + other.cost,
            self.reused_tokens + other.reused_tokens,
        )


NOTHING_PAID = Bill()


PICO = 10**12
"""Pico-dollars in a dollar."""


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
    alike: int = 0
    """Both: questions with several answers, and those whose answers were all the same words."""
    waiting: int = 0
    """Calls that failed in transport and wait to be tried again."""
    trouble: str = ""
    """The latest transport failure, empty once something has been answered since."""
    notices: Counter[str] = field(default_factory=Counter)
    """What servers refused or silently ignored, in one line each, with how often it was seen."""
    owed_because: Counter[str] = field(default_factory=Counter)
    """Why answers are missing."""

    def add(self, other: CallTotals) -> None:
        """Add the figures of another engine."""
        for name in (each.name for each in fields(self) if each.name != "trouble"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def owe(self, reason: str, times: int = 1) -> None:
        """Count an answer that did not arrive, or several, and why; words of servers are no end of reasons."""
        known = reason in self.owed_because or len(self.owed_because) < MOST_REASONS
        self.owed_because[reason if known else "other reasons"] += times

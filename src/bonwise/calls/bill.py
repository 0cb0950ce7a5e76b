"""What answers have cost, in a form that adds up."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Bill"]


@dataclass(frozen=True, slots=True)
class Bill:
    """Calls, tokens and money behind some answers.

    Parameters
    ----------
    calls : int
        Calls sent for these answers that a server answered.
    from_ledger : int
        Answers (samples) that cost nothing: stored already, or shared with another question under way.
    owed : int
        Answers that are still missing: transport failures or a spending limit.
    unknown : int
        Attempts that were sent and never answered; the server may bill them.
    input_tokens, output_tokens : int
        As the servers counted them.
    cost : float or None
        US dollars; None where a price or a count is not known.
    reused_tokens : int
        What answers from the ledger took when they were paid, input and output, as far as it is known.

    Examples
    --------
    >>> Bill(calls=1, cost=0.5) + Bill(calls=2, cost=None)
    Bill(calls=3, from_ledger=0, owed=0, unknown=0, input_tokens=0, output_tokens=0, cost=None, reused_tokens=0)
    """

    calls: int = 0
    from_ledger: int = 0
    owed: int = 0
    unknown: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    reused_tokens: int = 0

    def __add__(self, other: Bill) -> Bill:
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

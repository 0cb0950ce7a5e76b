"""What goes into a ledger and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from bonwise.calls.bill import Usage

State = Literal["sent", "answered", "rejected", "failed", "unknown"]
"""
sent      claimed by a process, perhaps under way
answered  the server answered
rejected  the server refused the request for good, or answers more than is read; asking again would bring the same
failed    given up without an answer
unknown   the process that sent it died; the server may have done the work
"""


@dataclass(frozen=True, slots=True)
class Stored:
    """One sample that needs no call any more."""

    call: int
    """The call that brought it."""
    choice: int | None
    """Which choice of the reply it is; None where the server rejected the request."""
    raw: bytes
    """The response as it was received."""
    status: int
    """Of HTTP."""
    reading: str | None = None
    """JSON text of what was last read from it."""
    model: str = ""
    fingerprint: str = ""
    """Both: what answered, in the server's words."""
    usage: Usage | None = None
    """Of the whole call."""
    cost: float | None = None
    """Of the whole call, in US dollars."""
    effective: Mapping[str, Any] = field(default_factory=dict)
    """The parameters that were really sent."""
    note: str = ""
    """Why there is no answer, where the response that was refused is not kept."""
    batched: bool = False
    """Whether a batch brought it: then it was not asked for a second time when it came."""

    @property
    def rejected(self) -> bool:
        """Whether the server refused the request for good."""
        return self.choice is None


@dataclass(frozen=True, slots=True)
class Claim:
    """What a process may send, and what it need not."""

    call_id: int | None
    """Of the call that stands as sent; None where nothing is left to send."""
    claimed: tuple[bytes, ...] = ()
    """Keys to be asked for under that call."""
    stored: Mapping[bytes, Stored] = field(default_factory=dict)
    """Keys that are answered or rejected already."""
    busy: tuple[bytes, ...] = ()
    """Keys that a living process is asking for."""
    unknown: int = 0
    """Calls of dead processes that this claim took over; each may have been billed."""
    batched: tuple[bytes, ...] = ()
    """Keys that a batch holds which has not ended."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What came of a call."""

    status: int
    """Of HTTP."""
    raw: bytes
    """The response as it was received."""
    answered_at: float
    """Seconds since 1970."""
    choices: Mapping[bytes, int] = field(default_factory=dict)
    """Which choice of the reply answers which key. A key of the call that is absent is released, unless the request
    was rejected.
    """
    rejected: bool = False
    """Whether the server refused the request for good."""
    request_id: str = ""
    model: str = ""
    fingerprint: str = ""
    """All three: in the server's words."""
    usage: Usage | None = None
    """None where the server counted nothing."""
    cost: float | None = None
    """US dollars; None where a price or a count is not known."""
    price_version: str = ""
    """Of the price list behind `cost`."""
    attempts: int = 1
    """How often it was sent."""
    lost_attempts: int = 0
    """How many of these brought no answer although the server may bill them."""
    effective: Mapping[str, Any] = field(default_factory=dict)
    """The parameters that were really sent."""
    note: str = ""
    """Why there is no answer, where `raw` does not say it."""


@dataclass(frozen=True, slots=True)
class DroppedParameter:
    """A parameter that a server refused or ignored, and which is no longer sent to it."""

    base_url: str
    model: str
    parameter: str
    message: str
    learnt_at: float


@dataclass(frozen=True, slots=True)
class ModelTally:
    """What one model has been asked."""

    provider: str
    model: str
    calls: Mapping[State, int]
    """By state; a call that a dead process left behind counts as unknown."""
    samples: int
    """Answered ones."""
    usage: Usage
    """Of the calls whose usage is known."""
    cost: float
    """Of the calls whose cost is known."""
    unpriced: int
    """Answered calls whose cost is not known."""
    attempts: int
    lost_attempts: int
    """Both: as in `Recorded`; an unknown call counts as one lost attempt."""


@dataclass(frozen=True, slots=True)
class LedgerStats:
    """What a ledger holds."""

    models: tuple[ModelTally, ...]
    """In the order of their names."""
    dropped: tuple[DroppedParameter, ...]

    @property
    def calls(self) -> dict[State, int]:
        """Calls of all models by state."""
        total: dict[State, int] = {}
        for tally in self.models:
            for state, count in tally.calls.items():
                total[state] = total.get(state, 0) + count
        return total

    @property
    def samples(self) -> int:
        """Answered samples of all models."""
        return sum(tally.samples for tally in self.models)

    @property
    def input_tokens(self) -> int:
        """Input tokens of all models, as far as they are known."""
        return sum(tally.usage.input for tally in self.models)

    @property
    def output_tokens(self) -> int:
        """Output tokens of all models, as far as they are known."""
        return sum(tally.usage.output for tally in self.models)

    @property
    def cost(self) -> float:
        """US dollars of the calls whose cost is known."""
        return sum(tally.cost for tally in self.models)

    @property
    def unpriced(self) -> int:
        """Answered calls whose cost is not known."""
        return sum(tally.unpriced for tally in self.models)

    @property
    def lost_attempts(self) -> int:
        """Attempts that were sent and never answered; the servers may bill them."""
        return sum(tally.lost_attempts for tally in self.models)


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One sample with its call, or a call whose samples were all claimed by later calls."""

    key: str
    """In hexadecimal digits; empty where the call has no sample any more."""
    choice: int | None
    reading: str | None
    """Both: as in `Stored`."""
    call: int
    """Of the request; `body` is JSON text."""
    state: State
    """Of the request; `body` is JSON text."""
    provider: str
    """Of the request; `body` is JSON text."""
    base_url: str
    """Of the request; `body` is JSON text."""
    api_version: str
    """Of the request; `body` is JSON text."""
    endpoint: str
    """Of the request; `body` is JSON text."""
    model: str
    """Of the request; `body` is JSON text."""
    body: str
    """Of the request; `body` is JSON text."""
    samples: int
    """Of the request; `body` is JSON text."""
    sent_at: float
    """Of the request; `body` is JSON text."""
    answered_at: float | None
    """Of the response."""
    status: int | None
    """Of the response."""
    request_id: str
    """Of the response."""
    raw: bytes | None
    """Of the response."""
    answered_model: str
    """Of the response."""
    fingerprint: str
    """Of the response."""
    usage: Usage | None
    """Of the response."""
    cost: float | None
    """Of the response."""
    price_version: str
    """Of the response."""
    effective: Mapping[str, Any]
    """Of the response."""
    attempts: int
    lost_attempts: int
    note: str
    """All three: how it went."""

"""What goes into a ledger and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from bonwise.calls.bill import Usage

__all__ = ["Claim", "DroppedParameter", "LedgerRow", "LedgerStats", "ModelTally", "Recorded", "State", "Stored"]

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
    """One sample that needs no call any more.

    Parameters
    ----------
    call : int
        The call that brought it.
    choice : int or None
        Which choice of the reply it is; None where the server rejected the request.
    raw : bytes
        The response as it was received.
    status : int
        Of HTTP.
    reading : str or None
        JSON text of what was last read from it.
    model, fingerprint : str
        What answered, in the server's words.
    usage : Usage, optional
        Of the whole call.
    cost : float, optional
        Of the whole call, in US dollars.
    effective : mapping
        The parameters that were really sent.
    note : str
        Why there is no answer, where the response that was refused is not kept.
    """

    call: int
    choice: int | None
    raw: bytes
    status: int
    reading: str | None = None
    model: str = ""
    fingerprint: str = ""
    usage: Usage | None = None
    cost: float | None = None
    effective: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""

    @property
    def rejected(self) -> bool:
        """Whether the server refused the request for good."""
        return self.choice is None


@dataclass(frozen=True, slots=True)
class Claim:
    """What a process may send, and what it need not.

    Parameters
    ----------
    call_id : int or None
        Of the call that stands as sent; None where nothing is left to send.
    claimed : tuple of bytes
        Keys to be asked for under that call.
    stored : mapping of bytes to Stored
        Keys that are answered or rejected already.
    busy : tuple of bytes
        Keys that a living process is asking for.
    unknown : int
        Calls of dead processes that this claim took over; each may have been billed.
    """

    call_id: int | None
    claimed: tuple[bytes, ...] = ()
    stored: Mapping[bytes, Stored] = field(default_factory=dict)
    busy: tuple[bytes, ...] = ()
    unknown: int = 0


@dataclass(frozen=True, slots=True)
class Recorded:
    """What came of a call.

    Parameters
    ----------
    status : int
        Of HTTP.
    raw : bytes
        The response as it was received.
    answered_at : float
        Seconds since 1970.
    choices : mapping of bytes to int
        Which choice of the reply answers which key. A key of the call that is absent is released, unless the
        request was rejected.
    rejected : bool
        Whether the server refused the request for good.
    request_id, model, fingerprint : str
        In the server's words.
    usage : Usage, optional
        None where the server counted nothing.
    cost : float, optional
        US dollars; None where a price or a count is not known.
    price_version : str
        Of the price list behind `cost`.
    attempts : int
        How often it was sent.
    lost_attempts : int
        How many of these brought no answer although the server may bill them.
    effective : mapping
        The parameters that were really sent.
    note : str
        Why there is no answer, where `raw` does not say it.
    """

    status: int
    raw: bytes
    answered_at: float
    choices: Mapping[bytes, int] = field(default_factory=dict)
    rejected: bool = False
    request_id: str = ""
    model: str = ""
    fingerprint: str = ""
    usage: Usage | None = None
    cost: float | None = None
    price_version: str = ""
    attempts: int = 1
    lost_attempts: int = 0
    effective: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""


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
    """What one model has been asked.

    Parameters
    ----------
    provider, model : str
    calls : mapping of str to int
        By state; a call that a dead process left behind counts as unknown.
    samples : int
        Answered ones.
    usage : Usage
        Of the calls whose usage is known.
    cost : float
        Of the calls whose cost is known.
    unpriced : int
        Answered calls whose cost is not known.
    attempts, lost_attempts : int
        As in `Recorded`; an unknown call counts as one lost attempt.
    """

    provider: str
    model: str
    calls: Mapping[State, int]
    samples: int
    usage: Usage
    cost: float
    unpriced: int
    attempts: int
    lost_attempts: int


@dataclass(frozen=True, slots=True)
class LedgerStats:
    """What a ledger holds.

    Parameters
    ----------
    models : tuple of ModelTally
        In the order of their names.
    dropped : tuple of DroppedParameter
    """

    models: tuple[ModelTally, ...]
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
    """One sample with its call, or a call whose samples were all claimed by later calls.

    Parameters
    ----------
    key : str
        In hexadecimal digits; empty where the call has no sample any more.
    choice, reading
        As in `Stored`.
    call, state, provider, base_url, api_version, endpoint, model, body, samples, sent_at
        Of the request; `body` is JSON text.
    answered_at, status, request_id, raw, answered_model, fingerprint, usage, cost, price_version, effective
        Of the response.
    attempts, lost_attempts, note
        How it went.
    """

    key: str
    choice: int | None
    reading: str | None
    call: int
    state: State
    provider: str
    base_url: str
    api_version: str
    endpoint: str
    model: str
    body: str
    samples: int
    sent_at: float
    answered_at: float | None
    status: int | None
    request_id: str
    raw: bytes | None
    answered_model: str
    fingerprint: str
    usage: Usage | None
    cost: float | None
    price_version: str
    effective: Mapping[str, Any]
    attempts: int
    lost_attempts: int
    note: str

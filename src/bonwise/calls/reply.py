"""What a server answered, what can go wrong with a call, and what a call returned, in no provider's terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from bonwise.calls.bill import Bill, PartialUsage, Usage
from bonwise.table.verdicts import Unscored

__all__ = ["AttemptError", "CallOutcome", "Choice", "Finish", "Kind", "Outcome", "Problem", "Reply", "TokenLogprobs"]

Finish = Literal["stop", "length", "refusal", "filter", "other"]
"""Why an answer ended: by itself, by `max_tokens` or the context, by refusing, by a content filter, or otherwise."""


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """One token of an answer with its most likely alternatives (itself among them, where reported)."""

    token: str
    alternatives: Mapping[str, float]
    """Token to natural log of its probability."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer of a reply."""

    text: str
    """What the model said, reasoning channels left out."""
    finish: Finish = "stop"
    detail: str = ""
    """The server's own word for `finish`, and its reason for a refusal."""
    logprobs: tuple[TokenLogprobs, ...] | None = None
    """None where the server sent none, whether or not they were asked for."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete answer of a server."""

    choices: tuple[Choice, ...]
    """At least one."""
    usage: Usage | None
    """Of the whole call; None where the server did not count all of it."""
    model: str = ""
    """The snapshot that answered, as the server names it."""
    fingerprint: str = ""
    """The server's configuration, where it says."""
    partial_usage: PartialUsage | None = None
    """What the server counted, where that is only a part of the call."""

    @property
    def told(self) -> Usage | None:
        """What the server counted, all of the call or a part of it."""
        return self.usage if self.partial_usage is None else self.partial_usage.told


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


Kind = Literal[
    "throttled", "overloaded", "broken", "timeout", "unsupported", "rejected", "oversized", "denied", "quota"
]
"""
throttled    429: asked again, when the server says where it does
overloaded   408, 409, 5xx, 529: asked again
broken       no connection, or a body that was cut or is not JSON: asked again
timeout      no answer in time: asked again
unsupported  a parameter the model does not take: asked again without it
rejected     400, 422 in the service's own words, 413: this request will never be answered; final
oversized    an answer beyond the size that is read: paid perhaps, and as long when made again; final
denied       401, 403, 404, or a refusal that is no word of the service: someone has to mend key, model or address
quota        the account is exhausted: no request will be answered until someone pays
"""

TRANSIENT: frozenset[str] = frozenset({"throttled", "overloaded", "broken", "timeout"})


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a call brought no answer."""

    kind: Kind
    message: str
    """One line, without any secret."""
    status: int | None = None
    """Of HTTP, None where there was no response."""
    parameter: str = ""
    """The parameter that is not supported."""
    retry_after: float | None = None
    """Seconds that the server asks to wait."""
    sent: bool = False
    """Whether the server may have done the work, and may bill it, although no answer arrived."""

    @property
    def transient(self) -> bool:
        """Whether the same request may succeed later."""
        return self.kind in TRANSIENT


class AttemptError(Exception):
    """One attempt brought no answer; stays inside the engine."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem.message)

"""What goes wrong on purpose, and for which requests."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from typing import Literal

from bonwise.errors import UsageError

__all__ = ["Fault", "Faults", "drawn_share"]

Fault = Literal["throttled", "server_error", "overloaded", "slow", "cut", "malformed", "broken_stream"]

_KINDS: tuple[Fault, ...] = ("throttled", "server_error", "overloaded", "slow", "cut", "malformed", "broken_stream")
_SECONDS = ("retry_after", "slow_seconds")


@dataclass(frozen=True, slots=True)
class Faults:
    """Shares of requests to which something happens.

    The first seven exclude one another and are drawn anew for each attempt, so that a request may succeed when it
    is repeated. `refusal` and `filtered` are drawn once for each body: the same question is always refused.
    `truncated` is drawn for each answer of each body.

    Raises
    ------
    bonwise.errors.UsageError
        A share outside [0, 1], exclusive shares that exceed 1 together, or negative seconds.

    Examples
    --------
    >>> Faults(throttled=1.0).of_attempt(seed=0, digest="00", attempt=0)
    'throttled'
    """

    throttled: float = 0.0
    """429."""
    server_error: float = 0.0
    """500."""
    overloaded: float = 0.0
    """503 (OpenAI) or 529 (Anthropic)."""
    slow: float = 0.0
    """The answer takes `slow_seconds` longer."""
    cut: float = 0.0
    """The connection breaks in the middle of the answer, which is paid."""
    malformed: float = 0.0
    """Status 200 and half a JSON document, which is paid."""
    broken_stream: float = 0.0
    """Status 200 and a stream of events that ends in an error, as of a gateway that streams unasked; it is paid."""
    filtered: float = 0.0
    """400 of a content filter: Azure's own form there, else that of the service."""
    refusal: float = 0.0
    """The model refuses, in its service's way."""
    truncated: float = 0.0
    """The answer ends half way, as if it had run into ``max_tokens``."""
    with_retry_after: float = 1.0
    """Share of the throttled that are told when to come back."""
    retry_after: float = 1.0
    """What they are told, in seconds."""
    slow_seconds: float = 60.0

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if not 0 <= value <= (float("inf") if one.name in _SECONDS else 1):
                raise UsageError(
                    f"{one.name} is {value}", hint="shares lie between 0 and 1, seconds are not negative"
                )
        if sum(getattr(self, kind) for kind in _KINDS) > 1 + 1e-9:
            raise UsageError(f"the shares of {', '.join(_KINDS)} exceed 1 together", hint="make them smaller")

    @classmethod
    def from_text(cls, text: str) -> Faults:
        """Read ``throttled=.1,cut=.05``.

        Raises
        ------
        bonwise.errors.UsageError
            An unknown name, or no number.

        Examples
        --------
        >>> Faults.from_text("cut=.5").cut
        0.5
        """
        known = {one.name for one in fields(cls)}
        found: dict[str, float] = {}
        for part in filter(None, text.split(",")):
            name, _, value = part.partition("=")
            if name not in known:
                raise UsageError(f"no such fault: {name!r}", hint=f"choose from {', '.join(sorted(known))}")
            try:
                found[name] = float(value)
            except ValueError:
                raise UsageError(f"{part!r} is not a share", hint="write name=number, such as cut=.05") from None
        return cls(**found)

    def of_attempt(self, seed: int, digest: str, attempt: int) -> Fault | None:
        """Draw what happens to one attempt; None where nothing does."""
        shares = [(kind, getattr(self, kind)) for kind in _KINDS]
        if not any(share for _, share in shares):
            return None
        left = drawn_share(seed, digest, "attempt", attempt)
        for kind, share in shares:
            left -= share
            if left < 0:
                return kind
        return None

    def wait(self, seed: int, digest: str, attempt: int) -> float | None:
        """Draw what a throttled attempt is told to wait; None where it is told nothing."""
        told = drawn_share(seed, digest, "retry_after", attempt) < self.with_retry_after
        return self.retry_after if told else None

    def refused(self, seed: int, digest: str, by: Literal["refusal", "filtered"] = "refusal") -> bool:
        """Draw whether the model, or a filter before it, refuses this body."""
        share: float = getattr(self, by)
        return share > 0 and drawn_share(seed, digest, by, 0) < share

    def cut_short(self, seed: int, digest: str, sample: int) -> bool:
        """Draw whether this answer ends half way."""
        return self.truncated > 0 and drawn_share(seed, digest, "truncated", sample) < self.truncated


def drawn_share(*named: object) -> float:
    """Return a number in [0, 1) that depends on nothing but the names."""
    return int.from_bytes(hashlib.sha256(repr(named).encode()).digest()[:7]) / 2**56

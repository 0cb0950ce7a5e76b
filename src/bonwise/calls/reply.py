"""What a server answered, in no provider's terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from bonwise.calls.bill import PartialUsage, Usage

__all__ = ["Choice", "Finish", "Reply", "TokenLogprobs"]

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

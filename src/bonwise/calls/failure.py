"""What can go wrong with a call, in no provider's terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["AttemptError", "Kind", "Problem"]

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

"""What stands in for a ledger where none is kept."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from bonwise.calls.ledger.records import Claim, Recorded, Stored
from bonwise.calls.request import Request

__all__ = ["NullLedger"]


class NullLedger:
    """A ledger that keeps nothing: every call is sent and paid for again.

    It still remembers, as long as it lives, which parameters a server refused.

    Examples
    --------
    >>> import asyncio
    >>> request = Request("openai", "https://api.openai.com/v1", "", "/chat/completions", {"model": "m"}, "m")
    >>> ledger = NullLedger()
    >>> asyncio.run(ledger.claim([b"key"], request, wall=0.0)).claimed
    (b'key',)
    >>> ledger.stored(b"key") is None
    True
    """

    path: None = None

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._dropped: set[tuple[str, str, str]] = set()

    def stored(self, key: bytes) -> Stored | None:  # noqa: ARG002 - the interface of Ledger
        """Return None: nothing is stored."""
        return None

    async def claim(self, keys: Sequence[bytes], request: Request, wall: float) -> Claim:  # noqa: ARG002 - the same
        """Claim every key."""
        claimed = tuple(dict.fromkeys(keys))
        return Claim(next(self._numbers) if claimed else None, claimed)

    async def answer(self, call_id: int, recorded: Recorded) -> None:
        """Keep nothing."""

    async def give_up(self, call_id: int, attempts: int, lost_attempts: int, note: str) -> None:
        """Keep nothing."""

    def note_reading(self, key: bytes, reading: str) -> None:
        """Keep nothing."""

    def dropped(self, base_url: str, model: str) -> frozenset[str]:
        """Return the parameters that a model was found not to take."""
        return frozenset(name for url, name_of, name in self._dropped if (url, name_of) == (base_url, model))

    async def drop(self, base_url: str, model: str, parameter: str, message: str) -> None:  # noqa: ARG002 - the same
        """Remember that a model does not take a parameter."""
        self._dropped.add((base_url, model, parameter))

    def close(self) -> None:
        """Do nothing."""

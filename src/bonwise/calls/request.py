"""The bytes of a call, and the keys under which its answers are kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Request", "encoded"]

KEY_VERSION = 1

# Made once: `json.dumps` would make one at each call.
_JSON = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":"))
_ASCII_JSON = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


def encoded(value: object) -> bytes:
    r"""Return JSON in UTF-8. Lone surrogates, which no UTF-8 text can hold, are written as JSON escapes.

    Examples
    --------
    >>> encoded({"text": "\u00e9"}).decode()
    '{"text":"é"}'
    >>> encoded("half \ud83d")
    b'"half \\ud83d"'
    """
    try:
        return _JSON.encode(value).encode()
    except UnicodeEncodeError:
        return _ASCII_JSON.encode(value).encode()


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it will be sent, apart from its secrets."""

    provider: str
    base_url: str
    """Scheme, host, port and path; no user, password or query."""
    api_version: str
    """Of the service: what the provider's version header says, and whatever else of query and headers, apart from
    secrets, may change an answer. Empty where there is none of that.
    """
    endpoint: str
    """Path below the base, such as ``/chat/completions``."""
    body: Mapping[str, Any]
    """The JSON body."""
    model: str
    """As in the body."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """What of the body shapes the sampling: temperature, schema, logprobs and so on, as sent."""
    not_in_key: frozenset[str] = frozenset()
    """Fields of the body that do not change what an answer says. Everything else enters the key: a field that is
    forgotten here costs a call, one that is forgotten in a list of what counts would serve wrong answers.
    """
    content: bytes = field(init=False, repr=False, compare=False)
    """The body in the bytes that are sent, hashed and kept."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "content", encoded(self.body))

    def canonical(self) -> bytes:
        """Return the bytes that are hashed: where the request goes, and the body without `not_in_key`.

        The order of its fields is the one that is sent: models fill a schema in the order of its properties.
        """
        kept = self.content
        if not self.not_in_key.isdisjoint(self.body):
            kept = encoded({name: value for name, value in self.body.items() if name not in self.not_in_key})
        return encoded([KEY_VERSION, self.provider, self.base_url, self.api_version, self.endpoint]) + kept

    def keys(self, samples: Iterable[int], reask: int = 0) -> tuple[bytes, ...]:
        """Return one key a sample: SHA-256 of the canonical request, the sample index and the reask number.

        Examples
        --------
        >>> ask = Request("openai", "https://api.openai.com/v1", "", "/chat/completions", {"model": "m"}, "m")
        >>> first, second = ask.keys([0, 1])
        >>> len(first), first == second
        (32, False)
        """
        stem = hashlib.sha256(self.canonical())
        return tuple(_finish(stem, f"\0{sample}\0{reask}") for sample in samples)


def _finish(stem: hashlib._Hash, ending: str) -> bytes:
    whole = stem.copy()
    whole.update(ending.encode())
    return whole.digest()

"""The bytes of a call, and the keys under which its answers are kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["NOT_IN_KEY", "Request"]

KEY_VERSION = 1

NOT_IN_KEY = frozenset({"n", "metadata", "user", "safety_identifier"})
"""Fields of a body that do not change what an answer says.

Everything else enters the key: a field that is forgotten here costs a call, one that is forgotten in a list
of what counts would serve wrong answers. ``n`` asks for several samples at once; the sample index says which.
"""


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it will be sent, apart from its secrets.

    Parameters
    ----------
    provider : str
    base_url : str
        Scheme, host, port and path; no user, password or query.
    api_version : str
        What the provider calls its version header, empty where there is none.
    endpoint : str
        Path below the base, such as ``/chat/completions``.
    body : mapping
        The JSON body.
    model : str
        As in the body.
    parameters : mapping
        What of the body shapes the sampling: temperature, schema, logprobs and so on, as sent.
    """

    provider: str
    base_url: str
    api_version: str
    endpoint: str
    body: Mapping[str, Any]
    model: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def canonical(self) -> bytes:
        """Return the bytes that are hashed: sorted keys, UTF-8, nothing that JSON does not know.

        Lone surrogates, which no UTF-8 text can hold, are written as JSON escapes.
        """
        kept = {name: value for name, value in self.body.items() if name not in NOT_IN_KEY}
        where = [KEY_VERSION, self.provider, self.base_url, self.api_version, self.endpoint]
        text = json.dumps([where, kept], sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
        try:
            return text.encode()
        except UnicodeEncodeError:
            return json.dumps([where, kept], sort_keys=True, separators=(",", ":"), allow_nan=False).encode()

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

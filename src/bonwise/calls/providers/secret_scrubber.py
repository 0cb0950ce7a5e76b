"""What a server repeats of a request's secrets is replaced before anyone sees it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from bonwise.calls.providers.protocol import Response
from bonwise.calls.providers.secret_names import SHORTEST_SECRET, as_a_word

__all__ = ["SecretScrubber"]

_HIDDEN = "[key]"
SHORTEST_IN_ANSWERS = 12
"""Keys of services are longer than this."""


class SecretScrubber:
    r"""Looks for secrets in responses.

    Parameters
    ----------
    secrets : collection of str
        Those of fewer than 4 characters are not looked for, and those of fewer than 6 only as words of their own.

    Examples
    --------
    >>> SecretScrubber(["canary/1"]).hidden(b'{"sent": "canary/1", "again": "canary\\/1 canary%2F1"}')
    b'{"sent": "[key]", "again": "[key] [key]"}'
    """

    def __init__(self, secrets: Collection[str]) -> None:
        spelt = {one for secret in secrets if len(secret) >= SHORTEST_SECRET for one in _spellings(secret)}
        # The longest first: a shorter one may be a part of it.
        self._texts = sorted(spelt, key=len, reverse=True)
        self._bytes = [text.encode(errors="surrogateescape") for text in self._texts]
        self._words = [as_a_word(text) for text in self._texts]
        self._byte_words = [as_a_word(text) for text in self._bytes]

    def __repr__(self) -> str:
        return f"SecretScrubber({len(self._texts)} spellings)"

    def hidden(self, content: bytes, *, answer: bool = False) -> bytes:
        """Return the content without secrets, and untouched where it holds none.

        Parameters
        ----------
        content : bytes
        answer : bool
            Whether it is a paid answer, in which a placeholder such as ``ollama`` is a word like any other.
        """
        shortest = SHORTEST_IN_ANSWERS if answer else 0
        for secret, word in zip(self._bytes, self._byte_words, strict=True):
            if len(secret) >= shortest and secret in content:
                content = word.sub(_HIDDEN.encode(), content)
        return content

    def response(self, received: Any) -> Response:
        """Return what a response of an HTTP library holds, without secrets.

        Parameters
        ----------
        received : httpx.Response or httpx2.Response
        """
        # Looked up one by one, as `dict` would, each header is searched among all.
        headers = self._hidden_in_headers(dict(received.headers.items()))
        return Response(received.status_code, headers, self.hidden(received.content, answer=received.is_success))

    def _hidden_in_headers(self, headers: Mapping[str, str]) -> Mapping[str, str]:
        whole = "\n".join(headers.values())
        if not any(secret in whole for secret in self._texts):
            return headers
        return {name: self._hidden_text(value) for name, value in headers.items()}

    def _hidden_text(self, text: str) -> str:
        for word in self._words:
            text = word.sub(_HIDDEN, text)
        return text


def _spellings(secret: str) -> set[str]:
    """Return how addresses and JSON write a secret."""
    in_json = json.dumps(secret)[1:-1]
    as_is = json.dumps(secret, ensure_ascii=False)[1:-1]
    in_address = {way(secret, safe="", errors="surrogateescape") for way in (quote, quote_plus)}
    return {secret, in_json, as_is, in_json.replace("/", "\\/"), *in_address}

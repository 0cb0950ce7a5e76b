"""The requests of an SDK, made without it once it has shown how it makes them."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from bonwise.calls.request import Request

__all__ = ["RepeatedRequest"]

_Header = tuple[bytes, bytes]

_OF_ONE_REQUEST = frozenset({b"content-length", b"cookie"})
"""Headers that are made for each request anew."""


class RepeatedRequest:
    """What an SDK's requests to one address have in common.

    Putting a request together takes an SDK longer than sending it takes the HTTP library. All requests of one client
    have the same headers; that they do is seen in the first two, whose bodies differ. An SDK whose headers differ
    from request to request goes on making them itself.

    Parameters
    ----------
    http : module
        The HTTP library that the SDK stands on.
    client : httpx.AsyncClient or httpx2.AsyncClient
        Sends; its cookies go along.
    """

    def __init__(self, http: ModuleType, client: Any) -> None:
        self._http, self._client = http, client
        self._url: Any = None
        self._where: tuple[str, str, str] | None = None
        self._headers: list[_Header] = []
        self._lengths: set[int] = set()
        self._differ = False

    def learn(self, request: Request, sent: Any) -> None:
        """Take note of a request that the SDK has made.

        Parameters
        ----------
        request : Request
            What was to be sent.
        sent : httpx.Request or httpx2.Request
            What the SDK made of it.
        """
        headers = [(name, value) for name, value in sent.headers.raw if name.lower() not in _OF_ONE_REQUEST]
        if self._where != _where(request):
            self._where, self._headers, self._lengths = _where(request), headers, set()
            self._url = self._http.URL(request.base_url + request.endpoint)
        self._differ = self._differ or headers != self._headers
        self._lengths.add(len(request.content))

    def made(self, request: Request) -> Any:
        """Return the request that the SDK would make; None while that is not known, or known to differ."""
        # Bodies of two lengths: whatever is reckoned from a body would have differed.
        if self._differ or len(self._lengths) < 2 or self._where != _where(request):
            return None
        length = b"%d" % len(request.content)
        headers = self._http.Headers([*self._headers, (b"Content-Length", length)])
        headers.encoding = "ascii"  # else it is found out by trying, at each look at a header
        made = self._http.Request(
            "POST",
            self._url,
            headers=headers,
            cookies=self._client.cookies or None,
            stream=self._http.ByteStream(request.content),
        )
        made.read()
        return made


def _where(request: Request) -> tuple[str, str, str]:
    return request.base_url, request.endpoint, request.api_version

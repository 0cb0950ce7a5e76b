"""What carries an SDK's HTTP requests through aiohttp, for less than half of the CPU; everything above it stays."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from types import ModuleType
from typing import Any, Self

import aiohttp
from yarl import URL

KEEP_ALIVE = 5.0
"""Seconds that a connection rests before it is closed; the HTTP libraries of the SDKs have the same."""

LONGEST_HEADER = 100 * 2**10
"""Bytes of one header of a response, as many as the HTTP libraries of the SDKs read; aiohttp's own bound is 8 kB."""

AT_ONCE = 2**20
"""Bytes of a request that are handed over whole; aiohttp warns of more and takes them in parts."""

SWITCHING_PROTOCOLS = 101


class AiohttpTransport:
    """A transport for `http`, httpx or httpx2, of one event loop; no proxy of the environment applies."""

    def __init__(self, http: ModuleType, certificates: ssl.SSLContext) -> None:
        self._http, self._certificates = http, certificates
        self._session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: Any) -> Any:
        """Send one request, once; the body of the response is read by whoever takes it."""
        limits = request.extensions.get("timeout", {})
        content = await request.aread()
        with _translated(self._http):
            response = await self._opened().request(
                request.method,
                _address(request.url),
                data=content if len(content) <= AT_ONCE else BytesIO(content),
                headers=[(name.decode("ascii"), value.decode("latin-1")) for name, value in request.headers.raw],
                skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
                allow_redirects=False,
                timeout=_time_limits(limits.get("connect"), limits.get("read")),
            )
        if response.status == SWITCHING_PROTOCOLS:
            response.close()
            raise self._http.RemoteProtocolError("the server wants to speak another protocol")
        return self._http.Response(
            response.status,
            headers=response.raw_headers,
            stream=_body_class(self._http)(response),
            extensions={"http_version": b"HTTP/1.1", "reason_phrase": (response.reason or "").encode()},
        )

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            # How many requests run at once is decided before they come here; cookies are the HTTP library's.
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ssl=self._certificates, keepalive_timeout=KEEP_ALIVE),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                max_line_size=LONGEST_HEADER,
                max_field_size=LONGEST_HEADER,
            )
        return self._session


def _address(url: Any) -> URL:
    # Put together by hand: written out, an address may leave out its query, which can hold a secret.
    netloc, path = url.netloc.decode("ascii"), url.raw_path.decode("ascii")
    return URL(f"{url.scheme}://{netloc}{path}", encoded=True)


@cache
def _time_limits(connect: float | None, read: float | None) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=None, sock_connect=connect, sock_read=read)


@cache
def _body_class(http: Any) -> type[Any]:
    """Return the class of bodies that are read from aiohttp; the HTTP library insists on one of its own kind."""

    class Body(http.AsyncByteStream):  # type: ignore[misc]
        """The body of a response, in the pieces in which it comes."""

        def __init__(self, response: aiohttp.ClientResponse) -> None:
            self._response = response

        async def __aiter__(self) -> AsyncIterator[bytes]:
            with _translated(http):
                async for piece in self._response.content.iter_any():
                    yield piece

        async def aclose(self) -> None:
            # What was not read to its end cannot be used for another request.
            self._response.release() if self._response.content.at_eof() else self._response.close()

    return Body


@contextmanager
def _translated(http: ModuleType) -> Iterator[None]:
    """Raise an error of aiohttp as the HTTP library's own: what failed before a connection stood sent nothing."""
    try:
        yield
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise _error_of(http, error) from error


def _error_of(http: ModuleType, error: Exception) -> Exception:
    words = str(error) or type(error).__name__
    name = next((name for kind, name in _NAMES if isinstance(error, kind)), "ReadError")
    translated: Exception = getattr(http, name)(words)
    return translated


_NAMES: tuple[tuple[type[Exception], str], ...] = (
    (aiohttp.ConnectionTimeoutError, "ConnectTimeout"),
    (aiohttp.ClientConnectorError, "ConnectError"),
    (aiohttp.InvalidURL, "UnsupportedProtocol"),
    (TimeoutError, "ReadTimeout"),
    (aiohttp.ServerDisconnectedError, "RemoteProtocolError"),
    (aiohttp.ClientResponseError, "RemoteProtocolError"),
    (aiohttp.ClientPayloadError, "RemoteProtocolError"),
)
"""The first that fits; whatever else broke, broke while something was sent or read."""

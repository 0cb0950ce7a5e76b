"""How an official SDK's client is used: one attempt a call, bytes out, bytes back without the secrets in them."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Coroutine, Mapping
from contextlib import AsyncExitStack
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import ModuleType
from typing import IO, Any, TypeVar
from urllib.parse import quote, quote_plus, urlsplit
from urllib.request import getproxies, proxy_bypass

from anyio import EndOfStream

from bonwise.calls.ask import AttemptError, Kind, Problem, Request
from bonwise.calls.providers.protocol import Connection, Response, http_library
from bonwise.calls.providers.secrets import SHORTEST_SECRET, as_a_word, one_line
from bonwise.calls.providers.service import Address, CustomHeaders, version_alone

T = TypeVar("T")

_HIDDEN = "[key]"
SHORTEST_IN_ANSWERS = 12
"""Keys of services are longer than this."""


class SecretScrubber:
    r"""Looks for secrets of 4 characters and more in responses, for those below 6 only as words of their own."""

    def __init__(self, secrets: Collection[str]) -> None:
        spelt = {spelling for secret in secrets if len(secret) >= SHORTEST_SECRET for spelling in _spellings(secret)}
        # The longest first: a shorter one may be a part of it.
        self._texts = sorted(spelt, key=len, reverse=True)
        self._bytes = [text.encode(errors="surrogateescape") for text in self._texts]
        self._words = [as_a_word(text) for text in self._texts]
        self._byte_words = [as_a_word(text) for text in self._bytes]

    def __repr__(self) -> str:
        return f"SecretScrubber({len(self._texts)} spellings)"

    def hidden(self, content: bytes, *, answer: bool = False) -> bytes:
        """Return content without secrets; in a paid `answer` a placeholder as ``ollama`` is a word, and stays."""
        shortest = SHORTEST_IN_ANSWERS if answer else 0
        for secret, word in zip(self._bytes, self._byte_words, strict=True):
            if len(secret) >= shortest and secret in content:
                content = word.sub(_HIDDEN.encode(), content)
        return content

    def response(self, received: Any) -> Response:
        """Return what a response of an HTTP library holds, without secrets."""
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


LARGEST = 32 * 2**20
"""Bytes of a response, when unpacked, of which no more are read: a small one may be packed to fill the memory."""

_PIECE = 4096
"""Bytes that are unpacked at once. httpx unpacks all that it is given, and a network gives 64 KiB."""

_LENGTH = b"content-length"
"""The one header that is made for each request anew."""


class SdkClient:
    """A client of an official SDK, bound to one event loop.

    Putting a request together takes an SDK longer than sending it takes the HTTP library: what its requests to one
    address have in common is learnt from the first two, and an SDK whose headers differ goes on making them itself.

    `client` makes no retries: whoever holds this decides about them. `sdk` is the module of its exceptions, `origin`
    the server for messages. `version_header` carries the version within a request's `api_version`, empty where there
    is none. `secrets` are what a server may repeat, and nobody is to see.
    """

    def __init__(
        self,
        client: Any,
        http_client: Any,
        sdk: ModuleType,
        origin: str,
        version_header: str = "",
        *,
        secrets: Collection[str] = (),
    ) -> None:
        self._client, self._http_client = client, http_client
        self._sdk = sdk
        self._http = http_library(sdk)
        self._url: Any = None
        self._where: tuple[str, str, str] | None = None
        self._headers: list[tuple[bytes, bytes]] = []
        self._lengths: set[int] = set()
        self._headers_differ = False
        self._origin = origin
        self._version_header = version_header
        self._scrubber = SecretScrubber(secrets)

    def __repr__(self) -> str:
        return f"SdkClient({self._origin!r})"

    async def send(self, request: Request) -> Response:
        """Send once; raises `bonwise.calls.ask.AttemptError` where nothing came back, or more than anyone needs."""
        content = request.sent_content() if request.images else request.content
        made = self._made_again(request, content)
        try:
            response = await (self._sent_by_sdk(request, content) if made is None else self._http_client.send(made))
        except self._sdk.APIConnectionError as error:
            response = self._nothing(error.__cause__)
        # The last two are those of a broken encryption, which the HTTP library lets through.
        except (self._http.HTTPError, TooLargeError, ssl.SSLError, EndOfStream) as error:
            response = self._nothing(error)
        if isinstance(response, self._http.Response) and len(response.content) > LARGEST:
            # Whatever stands in for the network may have read it already.
            response = too_large(self._origin, response.status_code)
        if isinstance(response, Problem):
            # Raised here, outside the handlers: the SDK's error holds the request with its key.
            raise AttemptError(response)
        return self._scrubber.response(response)

    async def _sent_by_sdk(self, request: Request, content: bytes) -> Any:
        # The version that enters the ledger's key is the one that is sent, whatever the SDK's default is.
        version = {self._version_header: version_alone(request.api_version)} if self._version_header else {}
        options = {"headers": version} if version else {}
        try:
            # The whole address is the one in the key.
            response = await self._client.post(
                request.base_url + request.endpoint, content=content, cast_to=self._http.Response, options=options
            )
        except self._sdk.APIStatusError as error:
            response = error.response
        self._learn(request, response.request, len(content))
        return response

    def _learn(self, request: Request, sent: Any, length: int) -> None:
        """Take note of what the SDK has made of a request: a request of its HTTP library."""
        headers = [(name, value) for name, value in sent.headers.raw if name.lower() != _LENGTH]
        if self._where != _where(request):
            self._where, self._headers, self._lengths = _where(request), headers, set()
            self._url = self._http.URL(request.base_url + request.endpoint)
        self._headers_differ = self._headers_differ or headers != self._headers
        self._lengths.add(length)

    def _made_again(self, request: Request, content: bytes) -> Any:
        """Return the request that the SDK would make; None while that is not known, or known to differ."""
        # Bodies of two lengths: whatever is reckoned from a body would have differed.
        if self._headers_differ or len(self._lengths) < 2 or self._where != _where(request):
            return None
        length = b"%d" % len(content)
        headers = self._http.Headers([*self._headers, (b"Content-Length", length)])
        headers.encoding = "ascii"  # else it is found out by trying, at each look at a header
        made = self._http.Request("POST", self._url, headers=headers, stream=self._http.ByteStream(content))
        made.read()
        return made

    async def do(self, work: Callable[[Any], Awaitable[T]], problem: Callable[[Response, float], Problem]) -> T:
        """Have the SDK's client do something else than `send`; `problem` says what an unsuccessful response means."""
        try:
            return await work(self._client)
        except self._sdk.APIStatusError as error:
            ended = problem(self._scrubber.response(error.response), time.time())
        except self._sdk.APIConnectionError as error:
            ended = self._nothing(error.__cause__)
        except (self._http.HTTPError, TooLargeError, ssl.SSLError, EndOfStream) as error:
            ended = self._nothing(error)
        # Raised here, outside the handlers: the SDK's error holds the request with its key.
        raise AttemptError(ended)

    def is_at(self, url: str) -> bool:
        """Tell whether an address is at the server of this client."""
        return "/".join(url.split("/", 3)[:3]) == self._origin

    async def lines(
        self, opened: Callable[[Any], Any], problem: Callable[[Response, float], Problem]
    ) -> AsyncIterator[bytes]:
        """Yield the lines of a response of any size, without secrets; `opened` is a streaming call of the SDK."""
        async with AsyncExitStack() as stack:
            response = await self.do(lambda sdk: stack.enter_async_context(opened(sdk)), problem)
            pieces, left = response.http_response.aiter_bytes(_PIECE * 16), b""
            while (piece := await self.do(lambda _: anext(pieces, None), problem)) is not None:
                *lines, left = (left + piece).split(b"\n")
                for line in lines:
                    yield self._scrubber.hidden(line, answer=True)
                if len(left) > LARGEST:
                    raise AttemptError(too_large(self._origin, 200))
            yield self._scrubber.hidden(left, answer=True)

    def aclose(self) -> Coroutine[Any, Any, None]:
        """Close the connections."""
        closing: Coroutine[Any, Any, None] = self._client.close()
        return closing

    def _nothing(self, error: BaseException | None) -> Problem:
        if isinstance(error, TooLargeError):
            return too_large(self._origin, error.status)
        return no_response(self._http, self._origin, error)


def _where(request: Request) -> tuple[str, str, str]:
    return request.base_url, request.endpoint, request.api_version


def connecting(
    sdk: ModuleType, address: Address, connection: Connection, headers: CustomHeaders, *, capped: bool = True
) -> dict[str, Any]:
    """Return the arguments that give an SDK's client its address, its time limits and its HTTP client.

    Redirects are not followed: they would carry prompts to a server that nobody named. Cookies are not kept: they
    would tell a server which requests belong together. Proxies of the environment apply unless the connection has a
    transport of its own. `headers` are sent with every request. Responses are `capped` unless
    who reads them keeps none.
    """
    http = http_library(sdk)
    timeout = http.Timeout(connection.timeout, connect=connection.connect_timeout)
    client = http.AsyncClient(
        auth=address.login,
        timeout=timeout,
        # How many requests run at once is decided before they come here.
        limits=http.Limits(max_connections=None, max_keepalive_connections=connection.connections),
        transport=_transport(http, address, connection),
        verify=_certificates(http),
        cookies=no_cookies(),
        event_hooks={"request": [_sending(headers, address)], "response": [cap] if capped else []},
    )
    return {"base_url": address.url, "timeout": timeout, "max_retries": 0, "http_client": client}


def no_cookies() -> CookieJar:
    """Return a jar that takes no cookie, for an HTTP client that sends for several users."""
    return CookieJar(DefaultCookiePolicy(allowed_domains=[]))


def _transport(http: ModuleType, address: Address, connection: Connection) -> Any:
    """Return what carries the requests; None for what the HTTP library has, which knows the proxies too."""
    if connection.transport != "aiohttp":
        return connection.transport
    if _is_behind_proxy(address):
        return None
    from bonwise.calls.providers.aiohttp_transport import AiohttpTransport  # noqa: PLC0415 - of an extra

    return AiohttpTransport(http, _certificates(http))


def _is_behind_proxy(address: Address) -> bool:
    """Tell whether the environment has a proxy for an address."""
    where, proxies = urlsplit(address.url), getproxies()
    # `.example.com` excepts what is below it. The standard library takes it to except example.com too, and the usual
    # transport, which decides where this says yes, does not.
    rules = (rule.strip().lower() for rule in proxies.get("no", "").split(","))
    above = {rule.lstrip(".") for rule in rules if rule.startswith(".")}
    is_excepted = bool(proxy_bypass(where.netloc)) and above.isdisjoint({where.hostname, where.netloc.lower()})
    return not proxies.keys().isdisjoint({where.scheme, "all"}) and not is_excepted


def _sending(headers: CustomHeaders, address: Address) -> Callable[[Any], Awaitable[None]]:
    """Return the hook that sets headers of each request, and the query, which SDK and HTTP library would log."""
    # Older SDKs do not read them from the environment (openai), or send a name once in each spelling (anthropic).
    # The login of an address has the last word.
    query = dict(address.query)
    given = {name: value for name, value in headers.sent.items() if not (address.login and name == "authorization")}

    async def put(request: Any) -> None:
        request.headers.update(given)
        if query:
            url = request.url.copy_merge_params(query)
            plain: Any = type(url)
            url.__class__ = _unlogged(plain)
            request.url = url

    return put


@cache
def _unlogged(plain: Any) -> type[Any]:
    """Return the class of addresses that are sent whole, and written without their query."""

    def written(self: Any) -> str:
        whole: str = plain.__str__(self)
        return whole.partition("?")[0]

    return type(f"Unlogged{plain.__name__}", (plain,), {"__str__": written})


@cache
def _certificates(http: ModuleType) -> ssl.SSLContext:
    # Reading the certificates is most of what a client costs to make; they are the same for all servers.
    context: ssl.SSLContext = http.create_ssl_context()
    return context


class TooLargeError(Exception):
    """A response that is not read to its end."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__("the response is too large")


async def cap(response: Any) -> None:
    """Have the reading of a response end in `TooLargeError` once it grows too large: a response hook for a client."""
    # A hook cannot hand back another response, and to build one for each call costs five times as much.
    plain: Any = type(response)
    response.__class__ = _capped(plain)


@cache
def _capped(plain: Any) -> type[Any]:
    """Return the class of responses that are not read beyond `LARGEST`."""

    async def aiter_bytes(self: Any, chunk_size: int | None = None) -> AsyncGenerator[bytes, None]:
        size = 0
        async for part in plain.aiter_bytes(self, chunk_size):
            size += len(part)
            if size > LARGEST:
                raise TooLargeError(self.status_code)
            yield part

    def aiter_raw(self: Any, chunk_size: int | None = None) -> AsyncGenerator[bytes, None]:
        parts: AsyncGenerator[bytes, None] = plain.aiter_raw(self, chunk_size or _PIECE)
        return parts

    return type(f"Capped{plain.__name__}", (plain,), {"aiter_bytes": aiter_bytes, "aiter_raw": aiter_raw})


def no_response(http: ModuleType, origin: str, error: BaseException | None) -> Problem:
    """Say what became of a request without response; `http` is the library of its errors, `origin` the server."""
    sent = not isinstance(error, (http.ConnectError, http.ConnectTimeout, http.PoolTimeout, http.ProxyError))
    if isinstance(error, http.TimeoutException):
        words = "gave no answer in time" if sent else "took no connection in time"
        return Problem("timeout", f"{origin} {words}", sent=sent)
    if isinstance(error, http.ConnectError):
        return Problem("broken", one_line(f"no connection to {origin}: {error}"), sent=False)
    reason = type(error).__name__ if error else "no reason given"
    return Problem("broken", f"the connection to {origin} broke ({reason})", sent=sent)


def too_large(origin: str, status: int) -> Problem:
    """Say what a response of more than `LARGEST` bytes means."""
    # An error page is no work that anyone is paid for, and the next one may be shorter.
    kind: Kind = "oversized" if 200 <= status < 300 else "broken"
    return Problem(kind, f"the response of {origin} is larger than {LARGEST >> 20} MiB", status, sent=True)


async def pieces_of(lines: IO[bytes], before: bytes, after: bytes) -> AsyncIterator[bytes]:
    """Yield what a file still holds, in pieces, between what stands before and after it."""
    yield before
    while piece := lines.read(_PIECE * 16):
        yield piece
    yield after

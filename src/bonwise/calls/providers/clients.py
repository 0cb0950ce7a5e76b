"""How an official SDK's client is made and used: one attempt per call, bytes out, bytes back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

from bonwise.calls.failure import AttemptError, Problem
from bonwise.calls.providers.address import Address
from bonwise.calls.providers.capped import LARGEST, TooLargeError, cap
from bonwise.calls.providers.custom_headers import CustomHeaders
from bonwise.calls.providers.http import http_library
from bonwise.calls.providers.protocol import Connection, Response
from bonwise.calls.providers.secret_scrubber import SecretScrubber
from bonwise.calls.providers.transport_problems import no_response, too_large
from bonwise.calls.providers.versions import version_alone
from bonwise.calls.request import Request

if TYPE_CHECKING:
    import ssl

__all__ = ["SdkClient", "connecting"]


class SdkClient:
    """A client of an official SDK, bound to one event loop.

    Parameters
    ----------
    client : openai.AsyncOpenAI or anthropic.AsyncAnthropic
        Made without retries: whoever holds this decides about a second attempt.
    sdk : module
        Where the client's exceptions are.
    origin : str
        The server, as messages may name it.
    version_header : str
        Carries the version within the request's `api_version`; empty where the provider has none.
    secrets : collection of str
        What a server may repeat, and nobody is to see.
    """

    def __init__(
        self, client: Any, sdk: ModuleType, origin: str, version_header: str = "", *, secrets: Collection[str] = ()
    ) -> None:
        self._client = client
        self._sdk = sdk
        self._http = http_library(sdk)
        self._origin = origin
        self._version_header = version_header
        self._scrubber = SecretScrubber(secrets)

    def __repr__(self) -> str:
        return f"SdkClient({self._origin!r})"

    async def send(self, request: Request) -> Response:
        """Send once.

        Raises
        ------
        bonwise.calls.failure.AttemptError
            Nothing came back, or more than anyone needs.
        """
        # The version that enters the ledger's key is the one that is sent, whatever the SDK's default is.
        version = {self._version_header: version_alone(request.api_version)} if self._version_header else {}
        options = {"headers": version} if version else {}
        try:
            # The whole address is the one in the key, and the SDK need not put it together for each call.
            response = await self._client.post(
                request.base_url + request.endpoint,
                content=request.content,
                cast_to=self._http.Response,
                options=options,
            )
        except self._sdk.APIStatusError as error:
            response = error.response
        except self._sdk.APIConnectionError as error:
            response = self._nothing(error.__cause__)
        except (self._http.HTTPError, TooLargeError) as error:
            response = self._nothing(error)
        if isinstance(response, self._http.Response) and len(response.content) > LARGEST:
            # Whatever stands in for the network may have read it already.
            response = too_large(self._origin, response.status_code)
        if isinstance(response, Problem):
            # Raised here, outside the handlers: the SDK's error holds the request with its key.
            raise AttemptError(response)
        # Looked up one by one, as `dict` would, each header is searched among all.
        headers = self._scrubber.hidden_in_headers(dict(response.headers.items()))
        return Response(
            response.status_code, headers, self._scrubber.hidden(response.content, answer=response.is_success)
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _nothing(self, error: BaseException | None) -> Problem:
        if isinstance(error, TooLargeError):
            return too_large(self._origin, error.status)
        return no_response(self._http, self._origin, error)


def connecting(sdk: ModuleType, address: Address, connection: Connection, headers: CustomHeaders) -> dict[str, Any]:
    """Return the arguments that give an SDK's client its address, its time limits and its HTTP client.

    Redirects are not followed: they would carry prompts to a server that nobody named. Proxies of the
    environment apply unless the connection has a transport of its own.

    Parameters
    ----------
    sdk : module
        ``openai`` or ``anthropic``.
    address : Address
    connection : Connection
    headers : CustomHeaders
        Sent with every request.
    """
    http = http_library(sdk)
    timeout = http.Timeout(connection.timeout, connect=connection.connect_timeout)
    client = http.AsyncClient(
        auth=address.login,
        timeout=timeout,
        # How many requests run at once is decided before they come here.
        limits=http.Limits(max_connections=None, max_keepalive_connections=connection.connections),
        transport=connection.transport,
        verify=_certificates(http),
        event_hooks={"request": [_sending(headers, address)], "response": [cap]},
    )
    return {
        "base_url": address.url,
        "default_query": dict(address.query),
        "timeout": timeout,
        "max_retries": 0,
        "http_client": client,
    }


def _sending(headers: CustomHeaders, address: Address) -> Callable[[Any], Awaitable[None]]:
    """Return the hook that puts headers into each request, once each and in place of what the SDK made of them."""
    # Older SDKs do not read them from the environment (openai), or send a name once in each spelling (anthropic).
    # The login of an address has the last word.
    given = {name: value for name, value in headers.sent.items() if not (address.login and name == "authorization")}

    async def put(request: Any) -> None:
        request.headers.update(given)

    return put


@cache
def _certificates(http: ModuleType) -> ssl.SSLContext:
    # Reading the certificates is most of what a client costs to make; they are the same for all servers.
    context: ssl.SSLContext = http.create_ssl_context()
    return context

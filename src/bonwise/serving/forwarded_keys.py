"""Clients of an upstream that send with the key of who asks, where the settings say so."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Any

from bonwise.calls.ask import model_from_spec
from bonwise.calls.providers.protocol import Client, Connection
from bonwise.calls.providers.registry import provider
from bonwise.calls.providers.service import Address
from bonwise.serving.api_errors import ApiError

__all__ = ["ForwardedKeys", "bearer_key"]

_MOST = 256
"""Keys whose clients are kept at once."""


def bearer_key(authorization: str) -> str:
    """Return the key of an ``Authorization`` header.

    Raises
    ------
    ApiError
        401: it holds none.

    Examples
    --------
    >>> bearer_key("Bearer of-the-client")
    'of-the-client'
    """
    scheme, _, key = authorization.partition(" ")
    key = key.strip()
    if scheme.lower() != "bearer" or not key or not key.isascii() or not key.isprintable():
        raise ApiError(
            401, "this model is asked with your own key: send Authorization: Bearer KEY", "invalid_api_key"
        )
    return key


class ForwardedKeys:
    """One client per key, over connections that all of them share. Belongs to one event loop.

    Parameters
    ----------
    address : Address
        Of the upstream.
    connection : Connection
    """

    def __init__(self, address: Address, connection: Connection) -> None:
        # The SDK takes most of a second to import.
        import openai  # noqa: PLC0415

        self._sdk, self._address, self._connection = openai, address, connection
        self._http: Any = openai.DefaultAsyncHttpxClient(timeout=connection.timeout, follow_redirects=False)
        self._clients: OrderedDict[bytes, Client] = OrderedDict()

    def client(self, key: str) -> Client:
        """Return the client that sends with a key; what a server repeats of the key is hidden."""
        digest = hashlib.sha256(key.encode()).digest()
        found = self._clients.pop(digest, None) or self._made(key)
        self._clients[digest] = found
        if len(self._clients) > _MOST:
            self._clients.popitem(last=False)
        return found

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def _made(self, key: str) -> Client:
        client = self._sdk.AsyncOpenAI(api_key=key, base_url=self._address.url, http_client=self._http, max_retries=0)
        # The SDK reads them from the environment, and they are those of another account.
        client.organization = client.project = None
        return provider("openai").client(model_from_spec("openai/any", client=client), self._connection)

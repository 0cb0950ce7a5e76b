"""OpenAI, and every server that speaks its Chat Completions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from bonwise.calls.ask import Ask, Model
from bonwise.calls.failure import Problem
from bonwise.calls.providers.address import Address, find_address
from bonwise.calls.providers.chat_completions import NAMES, NOT_IN_KEY, chat_body, chat_parameters, chat_reply
from bonwise.calls.providers.custom_headers import custom_headers
from bonwise.calls.providers.failures import problem_of
from bonwise.calls.providers.keys import Key, find_key
from bonwise.calls.providers.protocol import Capabilities, Client, Connection, Response
from bonwise.calls.providers.versions import api_version
from bonwise.calls.rate_limits import RateLimits
from bonwise.calls.reply import Reply
from bonwise.calls.request import Request
from bonwise.calls.waiting import openai_limits

__all__ = ["OpenAI"]

DEFAULT = "https://api.openai.com/v1"
ENDPOINT = "/chat/completions"
NO_KEY = "none"
"""Sent where no key is set: the SDK insists on one, and servers of one's own need none."""

CUSTOM_HEADERS = "OPENAI_CUSTOM_HEADERS"


class OpenAI:
    """Chat Completions, through the official SDK.

    The key is read from ``OPENAI_API_KEY``; a server of one's own (``base_url`` or ``OPENAI_BASE_URL``)
    works without one.

    Examples
    --------
    >>> ask = Ask(Model("openai", "gpt-5-mini", "http://localhost:8000/v1"), "Be brief.", "Why?", read=str)
    >>> OpenAI().request(ask, samples=3, dropped=frozenset()).parameters
    {'max_tokens': 1024, 'schema': False, 'n': 3}
    """

    name: ClassVar[str] = "openai"
    capabilities: ClassVar[Capabilities] = Capabilities(
        temperature=True,
        samples=True,
        logprobs=True,
        schema=True,
        draws_differ_by="sampling at the temperature that was sent",
    )

    def request(self, ask: Ask, samples: int, dropped: frozenset[str]) -> Request:
        """Build the request for some samples of an ask, without the parameters known to be refused."""
        body = chat_body(ask, samples, dropped)
        address, version = _server(ask.model)
        model = ask.model.name
        return Request(self.name, address.url, version, ENDPOINT, body, model, chat_parameters(body), NOT_IN_KEY)

    def account(self, model: Model) -> str:
        """Return a word that tells accounts apart and reveals nothing of the key.

        Raises
        ------
        bonwise.errors.CallError
            OpenAI itself is asked and there is no key.
        """
        return _key(_address(model)).account if model.client is None else model.client.account

    def client(self, model: Model, connection: Connection) -> Client:
        """Make a client for the model's server, in the running event loop, or send by the user's own."""
        if model.client is not None:
            return model.client.connected(connection)
        # The SDK and what it stands on take most of a second to import.
        import openai  # noqa: PLC0415

        from bonwise.calls.providers.clients import SdkClient, connecting  # noqa: PLC0415

        address = _address(model)
        key = _key(address)
        headers = custom_headers(CUSTOM_HEADERS)
        client = openai.AsyncOpenAI(
            api_key=key.secret or NO_KEY,
            **connecting(openai, address, connection, headers),
        )
        # Whose the account is, the SDK reads from the environment and sends along.
        account = (client.organization or "", client.project or "")
        secrets = (key.secret, *account, *address.secrets, *headers.secrets)
        return SdkClient(client, openai, address.origin, secrets=secrets)

    def reply(self, content: bytes) -> Reply:
        """Read a successful response; ValueError where it is not an answer."""
        return chat_reply(content)

    def problem(self, response: Response, now: float) -> Problem:
        """Say what an unsuccessful response means."""
        return problem_of(response, now, NAMES)

    def rate_limits(self, headers: Mapping[str, str], now: float) -> RateLimits:
        """Read the allowances a response names."""
        return openai_limits(headers, now)


def _server(model: Model) -> tuple[Address, str]:
    """Return where the requests go, and the version that enters the ledger's key."""
    if model.client is not None:
        return model.client.address, model.client.version()
    address = _address(model)
    return address, api_version("", address, CUSTOM_HEADERS)


def _address(model: Model) -> Address:
    return find_address(model.base_url, "OPENAI_BASE_URL", DEFAULT)


def _key(address: Address) -> Key:
    at_home = address.origin == Address(DEFAULT).origin
    return find_key("openai", ("OPENAI_API_KEY",), required=at_home)

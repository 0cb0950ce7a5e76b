"""Anthropic, and every server that speaks its Messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from bonwise.calls.ask import Ask, Model
from bonwise.calls.failure import Problem
from bonwise.calls.providers.address import Address, find_address
from bonwise.calls.providers.custom_headers import custom_headers
from bonwise.calls.providers.failures import problem_of
from bonwise.calls.providers.keys import Key, find_key
from bonwise.calls.providers.messages import NAMES, NOT_IN_KEY, messages_body, messages_parameters, messages_reply
from bonwise.calls.providers.protocol import Capabilities, Client, Connection, Response
from bonwise.calls.providers.supplied import SuppliedClient
from bonwise.calls.providers.versions import api_version
from bonwise.calls.rate_limits import RateLimits
from bonwise.calls.reply import Reply
from bonwise.calls.request import Request
from bonwise.calls.waiting import anthropic_limits

__all__ = ["Anthropic"]

DEFAULT = "https://api.anthropic.com"
ENDPOINT = "/v1/messages"
NO_KEY = "none"
"""Sent where no key is set: the SDK insists on one, and servers of one's own need none."""

VERSION_HEADER = "anthropic-version"
API_VERSION = "2026-10-21"
"""What the bodies here are written for. Each request carries it, so an SDK with another default changes nothing."""

CUSTOM_HEADERS = "ANTHROPIC_CUSTOM_HEADERS"

_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")


class Anthropic:
    """Messages, through the official SDK.

    The key is read from ``ANTHROPIC_API_KEY``, or else ``ANTHROPIC_AUTH_TOKEN``; a server of one's own
    (``base_url`` or ``ANTHROPIC_BASE_URL``) works without one.

    Examples
    --------
    >>> ask = Ask(Model("anthropic", "claude-opus-5"), "Be brief.", "Why?", read=str, temperature=1.0)
    >>> Anthropic().request(ask, samples=1, dropped=frozenset()).parameters
    {'max_tokens': 1024, 'schema': False}
    """

    name: ClassVar[str] = "anthropic"
    capabilities: ClassVar[Capabilities] = Capabilities(
        temperature=False,
        samples=False,
        logprobs=False,
        schema=True,
        draws_differ_by="the provider's own noise only: its requests carry no temperature",
    )

    def request(self, ask: Ask, samples: int, dropped: frozenset[str]) -> Request:  # noqa: ARG002
        """Build the request for one sample, the only number a request can ask for."""
        body = messages_body(ask, dropped)
        address, version = _server(ask.model)
        model = ask.model.name
        return Request(self.name, address.url, version, ENDPOINT, body, model, messages_parameters(body), NOT_IN_KEY)

    def account(self, model: Model) -> str:
        """Return a word that tells accounts apart and reveals nothing of the key.

        Raises
        ------
        bonwise.errors.CallError
            Anthropic itself is asked and there is no key.
        """
        return _key(_address(model)).account if model.client is None else model.client.account

    def client(self, model: Model, connection: Connection) -> Client:
        """Make a client for the model's server, in the running event loop, or send by the user's own."""
        if model.client is not None:
            return model.client.connected(connection, VERSION_HEADER)
        # The SDK and what it stands on take most of a second to import.
        import anthropic  # noqa: PLC0415

        from bonwise.calls.providers.clients import SdkClient, connecting  # noqa: PLC0415

        address = _address(model)
        key = _key(address)
        headers = custom_headers(CUSTOM_HEADERS)
        is_token = key.variable == "ANTHROPIC_AUTH_TOKEN"
        client = anthropic.AsyncAnthropic(
            api_key=None if is_token else key.secret or NO_KEY,
            auth_token=key.secret if is_token else None,
            **connecting(anthropic, address, connection, headers),
        )
        secrets = (key.secret, *address.secrets, *headers.secrets)
        return SdkClient(client, anthropic, address.origin, VERSION_HEADER, secrets=secrets)

    def reply(self, content: bytes) -> Reply:
        """Read a successful response; ValueError where it is not an answer."""
        return messages_reply(content)

    def problem(self, response: Response, now: float) -> Problem:
        """Say what an unsuccessful response means."""
        return problem_of(response, now, NAMES)

    def rate_limits(self, headers: Mapping[str, str], now: float) -> RateLimits:
        """Read the allowances a response names."""
        return anthropic_limits(headers, now)


def _server(model: Model) -> tuple[Address, str]:
    """Return where the requests go, and the version that enters the ledger's key."""
    if model.client is not None:
        return model.client.address, model.client.version(_version_of(model.client), VERSION_HEADER)
    address = _address(model)
    return address, api_version(_version(), address, CUSTOM_HEADERS, VERSION_HEADER)


def _version_of(client: SuppliedClient) -> str:
    """Return the version that is sent by a client of the user's; Bedrock and Vertex get theirs from the SDK."""
    if not client.sends(VERSION_HEADER):
        return ""
    return client.headers.values.get(VERSION_HEADER) or API_VERSION


def _address(model: Model) -> Address:
    return find_address(model.base_url, "ANTHROPIC_BASE_URL", DEFAULT)


def _key(address: Address) -> Key:
    at_home = address.origin == Address(DEFAULT).origin
    return find_key("anthropic", _KEYS, required=at_home)


def _version() -> str:
    """Return the version that is sent: the environment's headers may name another, and then mean it."""
    return custom_headers(CUSTOM_HEADERS).values.get(VERSION_HEADER) or API_VERSION

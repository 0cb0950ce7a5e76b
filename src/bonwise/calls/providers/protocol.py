"""The contract of a provider, on one screen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from bonwise.calls.failure import Problem
from bonwise.calls.providers.http import AsyncTransport
from bonwise.calls.rate_limits import RateLimits
from bonwise.calls.reply import Reply
from bonwise.calls.request import Request
from bonwise.errors import UsageError
from bonwise.extras import FAST

if TYPE_CHECKING:
    from bonwise.calls.ask import Ask, Model

__all__ = ["USUAL_TIMEOUT", "Capabilities", "Client", "Connection", "Provider", "Response"]

USUAL_TIMEOUT = 600.0
"""Seconds for an attempt, without a byte and in all, where nothing is said."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a provider's language can express at all; what a model takes is learnt from its server."""

    temperature: bool
    """Whether a request can carry a temperature, ask for several samples at once (``n``), ask for log probabilities
    of tokens, and bind the answer to a JSON schema.
    """
    samples: bool
    """Whether a request can carry a temperature, ask for several samples at once (``n``), ask for log probabilities
    of tokens, and bind the answer to a JSON schema.
    """
    logprobs: bool
    """Whether a request can carry a temperature, ask for several samples at once (``n``), ask for log probabilities
    of tokens, and bind the answer to a JSON schema.
    """
    schema: bool
    """Whether a request can carry a temperature, ask for several samples at once (``n``), ask for log probabilities
    of tokens, and bind the answer to a JSON schema.
    """
    draws_differ_by: str
    """What makes repeated answers to one request differ, in plain words."""


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP response, whatever its status."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class Connection:
    """How clients connect.

    Raises
    ------
    bonwise.errors.UsageError
        `transport` is another word.
    bonwise.errors.MissingExtraError
        ``"aiohttp"`` is not installed.
    """

    timeout: float = USUAL_TIMEOUT
    """Seconds without a byte before an attempt is given up."""
    connect_timeout: float = 30.0
    """Seconds; a burst of connections on a busy machine takes long."""
    connections: int = 64
    """Kept alive at once."""
    attempt_timeout: float = USUAL_TIMEOUT
    """Seconds that an attempt may take in all: a server that sends a byte now and then is given up too."""
    transport: AsyncTransport | str | None = None
    """What carries the requests. ``"aiohttp"`` takes less than half of the CPU (``pip install 'bonwise[fast]'``);
    addresses for which the environment has a proxy are reached without it. Or what stands in for the network: of
    httpx where the SDK stands on it, else of httpx2.
    """

    def __post_init__(self) -> None:
        if isinstance(self.transport, str):
            if self.transport != "aiohttp":
                raise UsageError(f"transport is {self.transport!r}", hint='give "aiohttp", or leave it out')
            FAST.require('transport="aiohttp"')


class Client(Protocol):
    """A connection to one server, bound to one event loop."""

    async def send(self, request: Request) -> Response:
        """Send once, without any retry.

        Raises
        ------
        bonwise.calls.failure.AttemptError
            Nothing came back: ``broken`` or ``timeout``; or more than anyone reads: ``oversized``.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


class Provider(Protocol):
    """One service, or one language that several services speak. All but `client` is pure."""

    @property
    def name(self) -> str:
        """As in ``name/model``."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What its language can express."""
        ...

    def request(self, ask: Ask, samples: int, dropped: frozenset[str]) -> Request:
        """Build the request for some samples of an ask, without the parameters known to be refused."""
        ...

    def account(self, model: Model) -> str:
        """Return a word that tells accounts apart and reveals nothing of the key.

        Raises
        ------
        bonwise.errors.CallError
            There is no key; the message names the environment variable.
        """
        ...

    def client(self, model: Model, connection: Connection) -> Client:
        """Make a client for the model's server, in the running event loop."""
        ...

    def reply(self, content: bytes) -> Reply:
        """Read a successful response.

        Raises
        ------
        ValueError
            The bytes are no answer: cut short, no JSON, or of another shape.
        """
        ...

    def problem(self, response: Response, now: float) -> Problem:
        """Say what an unsuccessful response means; `now` is the wall clock, in seconds since 1970."""
        ...

    def rate_limits(self, headers: Mapping[str, str], now: float) -> RateLimits:
        """Read the allowances a response names."""
        ...

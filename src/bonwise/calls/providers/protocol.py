"""The contract of a provider, the installed ones by name, and their clients' HTTP library and event loop."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any, Protocol

from bonwise.calls.ask import Problem, Reply, Request
from bonwise.calls.providers.secrets import one_line
from bonwise.calls.rate_limits import RateLimits
from bonwise.errors import UsageError
from bonwise.extras import FAST
from bonwise.plugins import load_plugin, what_failed

if TYPE_CHECKING:
    from bonwise.calls.ask import Ask, Model

_LIBRARIES = frozenset({"httpx", "httpx2"})


class AsyncTransport(Protocol):
    """What carries requests instead of the network: an asynchronous transport of the SDK's own HTTP library."""

    async def handle_async_request(self, request: Any) -> Any:
        """Answer one request with a response of the same library."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


@cache
def http_library(sdk: ModuleType) -> ModuleType:
    """Return an SDK's own HTTP library: httpx for openai 2 and anthropic before 1.0, httpx2 for later ones."""
    return library_of(sdk.DefaultAsyncHttpxClient)


def library_of(kind: type) -> ModuleType:
    """Return the HTTP library that a class or the class it extends comes from; a `LookupError` if from neither."""
    packages = (parent.__module__.partition(".")[0] for parent in kind.__mro__)
    name = next((package for package in packages if package in _LIBRARIES), None)
    if name is None:
        raise LookupError(f"{kind.__qualname__} is of no known HTTP library")
    return import_module(name)


USUAL_TIMEOUT = 600.0
"""Seconds for an attempt, without a byte and in all, where nothing is said."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a provider's language can express at all; what a model takes is learnt from its server."""

    temperature: bool
    """Whether a request can carry a temperature."""
    samples: bool
    """Whether it can ask for several samples at once (``n``)."""
    logprobs: bool
    """Whether it can ask for log probabilities of tokens."""
    schema: bool
    """Whether it can bind the answer to a JSON schema."""
    draws_differ_by: str
    """What makes repeated answers to one request differ, in plain words."""
    seed: bool = False
    """Whether it can carry a ``seed`` of the sampling."""
    images: bool = False
    """Whether it can carry images."""
    decisions: bool = False
    """Whether there is an endpoint that answers a question by the probabilities of its possible answers."""


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP response, whatever its status."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class Connection:
    """How clients connect."""

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
        bonwise.calls.ask.AttemptError
            Nothing came back: ``broken`` or ``timeout``; or more than anyone reads: ``oversized``.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """What a service says of a batch."""

    id: str
    """The service's own name of it."""
    ended: bool
    """Whether its results are there, as many as there will be."""
    done: int = 0
    """Requests that are over, as far as the service tells while it works."""
    files: tuple[str, ...] = ()
    """What holds the results."""
    failure: str = ""
    """Why the service took none of its requests, in one line."""


@dataclass(frozen=True, slots=True)
class BatchLine:
    """The result of one request of a batch."""

    custom_id: str
    response: Response | None
    """As a live call would have had it; None where the request was not worked on, and costs nothing."""
    why: str = ""
    """Why it was not worked on, in one line."""


class BatchClient(Protocol):
    """Sends batches to one server; every method raises `bonwise.calls.ask.AttemptError` where no answer comes."""

    most_requests: int
    most_bytes: int
    """Both: what one batch may hold."""
    is_marked: bool
    """Whether the service tells the mark of a submission, so that `sent_since` knows it."""

    def line(self, custom_id: str, endpoint: str, body: str) -> bytes:
        """Return one request as it stands in the input."""

    async def submit(self, lines: IO[bytes], endpoint: str, mark: str) -> str:
        """Have the service work on a batch, and return its own name of it."""

    async def sent_since(self, since: float, mark: str, requests: int) -> list[BatchStatus]:
        """Return the batches submitted since a time (of 1970) that carry the mark, else those of so many requests."""

    async def status(self, batch: str) -> BatchStatus:
        """Ask how far a batch is."""

    def results(self, status: BatchStatus) -> AsyncIterator[BatchLine]:
        """Yield the results of a batch that has ended, in any order; nothing of them is kept in memory."""

    async def aclose(self) -> None:
        """Close the connections."""


class Provider(Protocol):
    """One service, or one language that several services speak. All but `client` is pure.

    An attribute `sdk`, where there is one, names the package that clients need: it is imported beforehand. A method
    ``batches(model, connection, version)``, if any, returns a `BatchClient`; `version` is that of the requests.
    """

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


_PORTAL_LOOPS: weakref.WeakSet[asyncio.AbstractEventLoop] = weakref.WeakSet()


def note_portal_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Remember that a loop serves synchronous callers."""
    _PORTAL_LOOPS.add(loop)


def is_portal_loop(loop: asyncio.AbstractEventLoop) -> bool:
    """Tell whether a loop serves synchronous callers, and none of the user's own asynchronous code."""
    return loop in _PORTAL_LOOPS


GROUP = "bonwise.providers"

_MEMBERS = ("name", "capabilities", "request", "account", "client", "reply", "problem", "rate_limits")


@cache
def provider(name: str) -> Provider:
    """Return the provider of that name, made once; a UsageError also for two such, or one that cannot be loaded."""
    installed = _installed()
    if name not in installed:
        raise UsageError(f"no provider {name!r}", hint=f"the providers are {', '.join(installed)}")
    return _make(name, installed[name])


def load_sdk(model: Model) -> None:
    """Import the SDK that a model's provider names as its `sdk`, where bonwise makes the client: half a second."""
    sdk = getattr(provider(model.provider), "sdk", None)
    if sdk is not None and model.client is None:
        import_module(sdk)


def known() -> dict[str, str]:
    """Return every installed provider's name and what is wrong with it, empty where nothing is."""
    return {name: _fault(name) for name in _installed()}


def _installed() -> dict[str, list[EntryPoint]]:
    entries: dict[str, list[EntryPoint]] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, entry.value)):
        same = entries.setdefault(entry.name, [])
        if all(entry.value != other.value for other in same):
            same.append(entry)
    return entries


def _make(name: str, entries: list[EntryPoint]) -> Provider:
    if len(entries) > 1:
        places = " and ".join(entry.value for entry in entries)
        raise UsageError(f"two plug-ins call themselves {name!r}: {places}", hint="uninstall one of them")
    hint = f"mend or uninstall {entries[0].value}"
    try:
        made: Provider = load_plugin(entries[0])()
        absent = [member for member in _MEMBERS if not hasattr(made, member)]
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plug-in may raise anything
        fault = one_line(what_failed(error))
    else:
        if not absent:
            return made
        fault = f"it lacks {', '.join(absent)}"
    # Raised outside the handler: one line, no traceback of somebody else's code.
    raise UsageError(f"the plug-in behind provider {name!r} failed: {fault}", hint=hint)


def _fault(name: str) -> str:
    try:
        provider(name)
    except UsageError as error:
        return str(error)
    return ""

"""Send by a client that the user made: one attempt per call, and its secrets hidden from what comes back."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextvars import copy_context
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from bonwise.calls.ask import AttemptError, Problem, Request
from bonwise.calls.providers import clients, protocol, secrets, service
from bonwise.errors import UsageError

if TYPE_CHECKING:
    from bonwise.calls.providers.supplied import SuppliedClient

_LOOPS: weakref.WeakKeyDictionary[Any, weakref.ref[asyncio.AbstractEventLoop]] = weakref.WeakKeyDictionary()
"""By HTTP client, which several clients may share, the loop that its connections belong to."""


class SuppliedSender:
    """Sends by a user's client, in its event loop or, where it blocks, in threads.

    Time-outs, proxies, redirects and connections are the client's own; a connection's time limit below the usual one,
    as a deadline sets it, shortens the time-outs of single requests. `version_header` carries the version within the
    request's `api_version`; it is empty where the client sends none. Raises `bonwise.errors.UsageError` where the
    client cannot work in the running event loop, or the connection has a transport of its own.
    """

    def __init__(self, supplied: SuppliedClient, connection: protocol.Connection, version_header: str = "") -> None:
        if connection.transport is not None:
            raise UsageError(
                "a transport was given, and client= sends by its own",
                hint="leave out one of the two, or give the transport to the HTTP client of client=",
            )
        if supplied.asynchronous:
            check_loop(supplied.client)
        self._supplied, self._connection, self._version_header = supplied, connection, version_header
        self._client = supplied.client
        self._sdk = import_module(supplied.sdk)
        self._http = protocol.http_library(self._sdk)
        self._origin = supplied.address.origin
        self._scrubber = (frozenset[str](), clients.SecretScrubber(()))

    def __repr__(self) -> str:
        return f"SuppliedSender({self._origin!r})"

    async def send(self, request: Request) -> protocol.Response:
        """Send once; AttemptError where nothing or too much came, UsageError once it works in another event loop."""
        if self._supplied.asynchronous:
            claim_loop(self._client)
        response = await self._received(request)
        # The client's own HTTP client has no hook that stops at this size, so all of it has been read.
        if not isinstance(response, Problem) and len(response.content) > clients.LARGEST:
            response = clients.too_large(self._origin, response.status_code)
        if isinstance(response, Problem):
            # Raised here, outside the handlers: the SDK's error holds the request with its key.
            raise AttemptError(response)
        return self._echoes_of(secrets.sent_secrets(response)).response(response)

    async def aclose(self) -> None:
        """Leave the client open: it is the user's."""

    async def _received(self, request: Request) -> Any:
        if self._client.is_closed():
            return Problem("denied", f"the {type(self._client).__name__} given as client= is closed")
        body = dict(request.sent_body())
        # The SDK rewrites the path for Azure, Bedrock and Vertex only where it gets a mapping and a relative path.
        post = partial(
            self._client.post,
            request.endpoint,
            body=body,
            cast_to=self._http.Response,
            options=self._options(request),
        )
        try:
            return await (post() if self._supplied.asynchronous else in_daemon_thread(post))
        except self._sdk.APIStatusError as error:
            return error.response
        except self._sdk.APIConnectionError as error:
            return self._broken(error.__cause__)
        except asyncio.CancelledError as error:
            if _is_cancelled():
                raise
            return self._not_sent(error)
        except Exception as error:  # noqa: BLE001 - functions of the user's that return keys may raise anything
            return self._not_sent(error)

    def _options(self, request: Request) -> dict[str, Any]:
        # Whether there is another attempt is decided by the engine. `client.copy(max_retries=0)` would not do: of
        # a Bedrock client some SDKs copy neither the profile nor the HTTP client.
        options: dict[str, Any] = {"max_retries": 0}
        version = service.version_alone(request.api_version)
        if self._version_header and version:
            options["headers"] = {self._version_header: version}
        if self._connection.timeout < protocol.Connection().timeout:
            options["timeout"] = _shortened(self._http, self._client.timeout, self._connection.timeout)
        return options

    def _broken(self, error: BaseException | None) -> Problem:
        problem = clients.no_response(self._http_of_client(), self._origin, error)
        return Problem(problem.kind, self._hidden(problem.message), sent=problem.sent)

    def _not_sent(self, error: BaseException) -> Problem:
        """Say why the client sent nothing. What others' code says may hold a secret, so it is not repeated."""
        words = type(error).__name__
        if isinstance(error, (ImportError, self._root_error())):
            words += f": {secrets.one_line(self._hidden(str(error)))}"
        passing = isinstance(error, OSError) or getattr(error, "retryable", False) is True
        return Problem("broken" if passing else "denied", f"the client given as client= could not send ({words})")

    def _root_error(self) -> type[Exception]:
        root: type[Exception] = self._sdk.OpenAIError if self._supplied.sdk == "openai" else self._sdk.AnthropicError
        return root

    def _http_of_client(self) -> ModuleType:
        """Return the library whose errors the client raises: openai 3 takes HTTP clients of either."""
        try:
            return protocol.library_of(type(self._client._client))  # noqa: SLF001 - the SDKs show it nowhere else
        except (AttributeError, LookupError):
            return self._http

    def _hidden(self, text: str) -> str:
        return self._echoes_of(frozenset()).hidden(text.encode(errors="replace")).decode(errors="replace")

    def _echoes_of(self, sent: frozenset[str]) -> clients.SecretScrubber:
        secrets = self._supplied.secrets | sent
        if secrets != self._scrubber[0]:
            self._scrubber = secrets, clients.SecretScrubber(secrets)
        return self._scrubber[1]


def _is_cancelled() -> bool:
    """Tell whether somebody has cancelled who sends, and not a function of the user's itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _shortened(http: ModuleType, timeout: Any, most: float) -> Any:
    """Return a client's time-outs, none of them longer than so many seconds."""
    own = http.Timeout(timeout) if timeout is None or isinstance(timeout, (int, float)) else timeout
    limits = {name: most if limit is None else min(limit, most) for name, limit in own.as_dict().items()}
    return http.Timeout(**limits)


def check_loop(client: Any) -> None:
    """Refuse a running event loop that serves a synchronous caller, or is not the one the client has worked in."""
    _check(client, _LOOPS.get(_connections(client)))


def claim_loop(client: Any) -> None:
    """Bind an asynchronous client to the running event loop, unless it is bound already; raises as `check_loop`."""
    check_loop(client)
    running = weakref.ref(asyncio.get_running_loop())
    # Another thread may have bound it meanwhile.
    _check(client, _LOOPS.setdefault(_connections(client), running))


def _check(client: Any, bound: weakref.ref[asyncio.AbstractEventLoop] | None) -> None:
    running = asyncio.get_running_loop()
    name = type(client).__name__
    blocking = name.removeprefix("Async") if name.startswith("Async") else "its synchronous form"
    if protocol.is_portal_loop(running):
        raise UsageError(
            f"client= is asynchronous ({name}), and this call is synchronous",
            hint=f"pass {blocking} instead, or await aselect()",
        )
    # A loop that is gone leaves its connections in the client.
    if bound is not None and bound() is not running:
        raise UsageError(
            f"client= is asynchronous ({name}) and was first used in another event loop",
            hint=f"make a client and a judge in each event loop, or pass {blocking}, which works in all of them",
        )


def _connections(client: Any) -> Any:
    return getattr(client, "_client", client)


async def in_daemon_thread(call: Callable[[], Any]) -> Any:
    """Await a call in its own thread; cancelled, it runs on, and holds up neither a pool nor a program's end."""
    context = copy_context()
    value, error = await asyncio.get_running_loop().run_in_executor(_DaemonThread(), context.run, call)
    if error is None:
        return value
    # What is no plain exception would end the event loop, or pass for the end of whoever waits.
    raise error if isinstance(error, Exception) else RuntimeError(f"{type(error).__name__} in a thread")


class _DaemonThread(Executor):
    """An executor, for event loops keep an eye on those."""

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **settings: Any) -> Future[Any]:
        """Start a thread."""
        result: Future[Any] = Future()

        def run() -> None:
            if not result.set_running_or_notify_cancel():
                return
            try:
                outcome: tuple[Any, BaseException | None] = call(*arguments, **settings), None
            except BaseException as error:  # noqa: BLE001 - nobody could catch it here, and who waits would wait for ever
                outcome = None, error
            # A value, for the future of an event loop does not take every exception.
            result.set_result(outcome)

        threading.Thread(target=run, name="bonwise-client", daemon=True).start()
        return result

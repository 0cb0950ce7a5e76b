"""One process that serves: what it needs is checked first, connections are bounded, and its end loses no request."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import signal
import socket
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary

from bonwise.calls.ledger import place
from bonwise.errors import UsageError
from bonwise.serving import EXTRA, app, client_keys
from bonwise.serving.config import ServeConfig, ServerLimits

EXTRA.require("bonwise serve")

import uvicorn  # noqa: E402
from uvicorn.protocols.http.auto import AutoHTTPProtocol  # noqa: E402

__all__ = [
    "ACCOUNTS",
    "METRICS",
    "allow_many_files",
    "bound_socket",
    "check_host",
    "log_to_standard_error",
    "run_folder",
    "serve_alone",
    "serve_here",
]


_BACKLOG = 2048

_LAST_REQUESTS = 0.5
"""Seconds after the door is closed in which requests on connections that are open already are read."""


def check_host(host: str, config: ServeConfig) -> None:
    """Refuse an address that other machines reach, unless clients need a key."""
    if not config.keys and not _is_loopback(host):
        raise UsageError(
            f"--host {host} is reached by other machines, and the file of settings has no [keys]",
            hint='add [keys] with NAME = {env = "VARIABLE"}, or leave --host out',
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError, OverflowError) as error:
        raise _unusable(host, port, error) from error
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        # Whoever connects before the server is ready waits for it.
        made.listen(_BACKLOG)
    except OSError as error:
        made.close()
        raise _unusable(host, port, error) from error
    return made


def _unusable(host: str, port: int, error: Exception) -> UsageError:
    reason = getattr(error, "strerror", None) or error
    return UsageError(f"{host} port {port} cannot be served: {reason}", hint="choose --host and --port")


def allow_many_files() -> None:
    """Let this process open as many files as the system allows it: each connection is one."""
    if sys.platform != "win32":
        import resource  # noqa: PLC0415 - there is none on Windows

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def serve_here(
    endpoint: app.ChatEndpoint,
    limits: ServerLimits,
    door: socket.socket,
    *,
    ready: Callable[[], None] = lambda: None,
    each_second: Callable[[], bool] = lambda: True,
) -> int:
    """Serve until a signal comes; return the exit code.

    `door` listens already. `ready` is called when requests are answered and signals are heard, `each_second` about
    once a second; where it returns False, the process ends as by a signal.
    """
    allow_many_files()
    config = uvicorn.Config(
        endpoint.app,
        http=_bounded(limits.max_connections),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=_BACKLOG,
        timeout_keep_alive=max(1, int(limits.body_timeout)),
        timeout_graceful_shutdown=max(1, round(limits.shutdown_timeout)),
    )
    server = _Server(config, endpoint, limits.body_timeout, ready, each_second)
    server.run(sockets=[door])
    return 0 if server.started and not server.cut_off else 1


def _bounded(most: int) -> type[Any]:
    """Return the class of connections of which there are at most so many at once."""
    plain: Any = AutoHTTPProtocol

    class BoundedConnection(plain):  # type: ignore[misc]
        """A connection that is closed at once where there are too many."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > most:
                transport.abort()

    return BoundedConnection


class _Server(uvicorn.Server):
    """Closes what stays silent, and ends without losing a request."""

    def __init__(
        self,
        config: uvicorn.Config,
        endpoint: app.ChatEndpoint,
        silence: float,
        ready: Callable[[], None],
        each_second: Callable[[], bool],
    ) -> None:
        super().__init__(config)
        self._endpoint, self._silence, self._ready, self._each_second = endpoint, silence, ready, each_second
        self._quiet_since: WeakKeyDictionary[Any, float] = WeakKeyDictionary()
        self.cut_off = False

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take signals to stop; unlike with the original, the process does not die of them afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield  # signals come to the main thread alone
            return
        taken = (signal.SIGINT, signal.SIGTERM)
        before = {one: signal.signal(one, self.handle_exit) for one in taken}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; a second Ctrl-C leaves at once."""
        del frame
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin, and tell that it has begun."""
        await super().startup(sockets)
        self._ready()

    async def on_tick(self, counter: int) -> bool:
        """Look after connections about once a second."""
        if counter % 10 == 0:
            self._close_silent_connections()
            if not self._each_second():
                self.should_exit = True
        return await super().on_tick(counter)

    def _close_silent_connections(self) -> None:
        """Close connections on which no request has been complete for too long: a head may come byte by byte."""
        now = time.monotonic()
        for one in list(self.server_state.connections):
            cycle = getattr(one, "cycle", None)
            if cycle is not None and not cycle.response_complete:
                self._quiet_since.pop(one, None)
            elif now - self._quiet_since.setdefault(one, now) > self._silence:
                one.transport.close()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End without new connections; idle ones stay for a moment, as a request may be on its way on them."""
        self._endpoint.closing = True
        doors = [one.dup() for one in sockets or []]
        for server in self.servers:
            server.close()
        for door in doors:
            await self._take_those_who_stand_there(door)
        if not self.force_exit:
            await asyncio.sleep(_LAST_REQUESTS)
        await super().shutdown(sockets)
        self.cut_off = self._endpoint.cut_off or bool(self.server_state.tasks)

    async def _take_those_who_stand_there(self, door: socket.socket) -> None:
        """Accept connections that clients hold for open, and then close the door."""
        waiting = []
        door.setblocking(False)  # noqa: FBT003 - the name of the parameter is "flag"
        with contextlib.suppress(OSError):
            while True:
                waiting.append(door.accept()[0])
        door.close()
        for one in waiting:
            one.setblocking(False)  # noqa: FBT003
            with contextlib.suppress(OSError):
                await asyncio.get_running_loop().connect_accepted_socket(self._connection, one)

    def _connection(self) -> asyncio.Protocol:
        kind: Any = self.config.http_protocol_class
        made: asyncio.Protocol = kind(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made


ACCOUNTS = "serve.sqlite"
"""What each key has spent, in the run folder."""

METRICS = "serve-metrics.sqlite"
"""What each worker has counted since the server was started."""

_LOCK = "serve.lock"


def log_to_standard_error() -> None:
    """Write one line per request, and what goes wrong."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
    logging.getLogger("bonwise.serving").setLevel(logging.INFO)


@contextmanager
def run_folder(run: str) -> Iterator[Path]:
    """Make a run folder where there is none, and keep other servers out of it; yield the file of accounts."""
    folder = Path(run)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = sqlite3.connect(folder / _LOCK, timeout=0, isolation_level=None)
    except (OSError, sqlite3.Error) as error:
        raise UsageError(f"--run {run} cannot be used: {error}", hint="name another folder") from error
    try:
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            used = place.is_locked(error)
            what = f"another bonwise serve uses --run {run}" if used else f"--run {run} cannot be used: {error}"
            raise UsageError(what, hint="name another folder") from error
        yield folder / ACCOUNTS
    finally:
        lock.close()


def serve_alone(
    config: ServeConfig, door: socket.socket, run: str | None, *, ready: Callable[[], None] = lambda: None
) -> int:
    """Serve in this process on a listening `door`, `ready` once signals are heard; return the exit code."""
    with nullcontext(None) if run is None else run_folder(run) as accounts:
        limits = client_keys.KeyLimits(accounts)
        try:
            # Those of a server that was killed: what they cost nobody knows.
            limits.give_up()
            return serve_here(app.ChatEndpoint(config, run, limits), config.limits, door, ready=ready)
        finally:
            limits.close()

"""One process that serves: what it needs is checked first, connections are bounded, and its end loses no request."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import sqlite3
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Any

from bonwise.calls.ledger import place
from bonwise.errors import UsageError
from bonwise.serving import EXTRA, app, client_keys
from bonwise.serving.config import ServeConfig, ServerLimits

EXTRA.require("bonwise serve")

import uvicorn  # noqa: E402
from uvicorn.protocols.http.auto import AutoHTTPProtocol  # noqa: E402

_BACKLOG = 2048

_LAST_REQUESTS = 0.5
"""Seconds after the door is closed in which requests on connections that are open already are read."""


def check_host(host: str, config: ServeConfig) -> None:
    """Refuse an address that other machines reach, unless clients need a key."""
    if not config.keys and not client_keys.is_loopback(host):
        raise UsageError(
            f"--host {host} is reached by other machines, and the file of settings has no [keys]",
            hint='add [keys] with NAME = {env = "VARIABLE"}, or leave --host out',
        )


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
    """Serve by an open `door` until a signal, or a False `each_second`; `ready` once answered. Return exit code."""
    allow_many_files()
    connections = _Connections(limits, endpoint)
    config = uvicorn.Config(
        endpoint.app,
        http=_counted(connections),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=_BACKLOG,
        timeout_keep_alive=max(1, int(limits.body_timeout)),
        timeout_graceful_shutdown=max(1, round(limits.shutdown_timeout)),
    )
    server = _Server(config, endpoint, connections, ready, each_second)
    server.run(sockets=[door])
    return 0 if server.started and not server.cut_off else 1


_RESERVED = 8
"""Connections beyond the most there may be, for looks at ``/health``."""


class _Connections:
    """The connections of a server: how many there may be, and how long one may be idle, or its client not read."""

    def __init__(self, limits: ServerLimits, endpoint: app.ChatEndpoint) -> None:
        self._limits, self._add = limits, endpoint.records.metrics.add
        self._idle_since: dict[Any, float] = {}
        """All connections, in the order in which they became idle, as far as they are."""
        self._sending: dict[Any, tuple[Any, float]] = {}

    def enter(self, new: Any) -> None:
        """Take a connection, in the place of the one that is idle longest where there are too many."""
        limits = self._limits
        self._idle_since[new] = time.monotonic()  # it is the last of those that are idle
        if len(self._idle_since) > limits.max_connections_per_address:
            same = [one for one in self._idle_since if one.address == new.address]
            if len(same) > limits.max_connections_per_address:
                self._close(next(filter(_is_idle, same)), "per_address")
        if len(self._idle_since) <= limits.max_connections or new not in self._idle_since:
            return
        plain = [one for one in self._idle_since if not one.reserved]
        if len(plain) <= limits.max_connections:
            return
        first = next(filter(_is_idle, plain))
        if first is new:
            new.reserved = True
            reserved = [one for one in self._idle_since if one.reserved]
            first = next(filter(_is_idle, reserved))
            if len(reserved) <= _RESERVED:
                return
        self._close(first, "too_many")

    def leave(self, gone: Any) -> None:
        """Let a connection go that has ended."""
        self._sending.pop(gone, None)
        self._idle_since.pop(gone, None)

    def rest(self, one: Any) -> None:
        """Note that the answer on a connection is complete."""
        if self._idle_since.pop(one, None) is not None:
            self._idle_since[one] = time.monotonic()

    def close_overdue(self) -> None:
        """Close connections on which no head has been complete for too long, or an answer is not taken in time."""
        now = time.monotonic()
        for one, since in list(self._idle_since.items()):
            if now - self._sent_since(one, now) > self._limits.send_timeout:
                self._close(one, "not_read")
            elif _is_idle(one) and now - since > self._limits.body_timeout:
                self._close(one, "idle")

    def _sent_since(self, one: Any, now: float) -> float:
        """Return since when an answer is being sent; `now` where none is."""
        cycle = one.cycle
        if _is_idle(one) or not cycle.response_started:
            self._sending.pop(one, None)
        elif self._sending.setdefault(one, (cycle, now))[0] is not cycle:
            self._sending[one] = (cycle, now)
        # A client may take a large answer bit by bit, or leave the end of one unread.
        return min(self._sending.get(one, (None, now))[1], one.full_since or now)

    def _close(self, one: Any, reason: str) -> None:
        self.leave(one)
        self._add("bonwise_closed_connections_total", 1, reason=reason)
        if reason == "not_read":
            # The system too lets go of what it has taken to send.
            one.transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
        one.transport.abort()


def _is_idle(one: Any) -> bool:
    """Tell whether no request is under way on a connection: none with a complete head and no complete answer."""
    return one.cycle is None or one.cycle.response_complete


def _counted(connections: _Connections) -> type[Any]:
    """Return the class of connections that are counted."""
    plain: Any = AutoHTTPProtocol

    class CountedConnection(plain):  # type: ignore[misc]
        """A connection that says when it begins, rests and ends, and since when its client has not read."""

        reserved, address = False, ""
        app_state: dict[str, Any]
        full_since: float | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            # A client that reads leaves nothing to be kept.
            transport.set_write_buffer_limits(high=0)
            self.address = self.client[0] if self.client else ""
            connections.enter(self)
            if self.reserved:
                self.app_state = {**self.app_state, app.RESERVED: True}

        def connection_lost(self, exc: Exception | None) -> None:
            connections.leave(self)
            super().connection_lost(exc)

        def on_response_complete(self) -> None:
            connections.rest(self)
            super().on_response_complete()

        def pause_writing(self) -> None:
            self.full_since = time.monotonic()
            super().pause_writing()

        def resume_writing(self) -> None:
            self.full_since = None
            super().resume_writing()

    return CountedConnection


class _Server(uvicorn.Server):
    """Closes what stays silent, and ends without losing a request."""

    def __init__(
        self,
        config: uvicorn.Config,
        endpoint: app.ChatEndpoint,
        connections: _Connections,
        ready: Callable[[], None],
        each_second: Callable[[], bool],
    ) -> None:
        super().__init__(config)
        self._endpoint, self._connections, self._ready, self._each_second = endpoint, connections, ready, each_second
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
            self._connections.close_overdue()
            self._endpoint.give_memory_back()
            if not self._each_second():
                self.should_exit = True
        return await super().on_tick(counter)

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

"""A scripted service on a port of this machine.

::

    python -m bonwise.testing.server --port 0 --latency .05 --faults throttled=.1,cut=.02 --log calls.jsonl

prints its address as the first line, serves until it is stopped, and tells its counts at ``GET /stats``.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from bonwise.errors import BonwiseError
from bonwise.testing import faults, wire
from bonwise.testing.script import Delivery, Script

__all__ = ["ScriptedServer", "main"]

_MOST_BODY = 64 * 1024 * 1024
_JSON = {"content-type": "application/json"}
_REASONS = {status.value: status.phrase for status in HTTPStatus}


class ScriptedServer:
    """Serves a script over HTTP/1.1 on the loopback address.

    Parameters
    ----------
    script : Script
    port : int
        0 lets the system choose.

    Attributes
    ----------
    url : str
        Where it serves, empty before it does. A client of OpenAI takes ``url + "/v1"`` as its base URL, one of
        Anthropic `url` itself. Clients of clouds are served as well: of Azure with `url` as ``azure_endpoint``, of
        Bedrock with `url` and of Vertex with ``url + "/v1"`` as the base URL.

    Examples
    --------
    >>> with ScriptedServer(Script()).in_thread() as server:
    ...     server.url.rpartition(":")[0]
    'http://127.0.0.1'
    """

    def __init__(self, script: Script, *, port: int = 0) -> None:
        self.script = script
        self.url = ""
        self._port = port
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self._port, backlog=1024)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is None:
            return
        self._server.close()
        # Whoever still waits for an answer is cut off: a test that ended wants none.
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()
        self._server = None
        self.url = ""

    @contextlib.contextmanager
    def in_thread(self) -> Iterator[Self]:
        """Serve from a thread of its own while the block runs, for code without an event loop."""
        started: Future[Callable[[], object]] = Future()
        thread = threading.Thread(target=lambda: asyncio.run(self._serve(started)), name="scripted server")
        thread.start()
        try:
            stop = started.result()
            try:
                yield self
            finally:
                stop()
        finally:
            thread.join()

    async def _serve(self, started: Future[Callable[[], object]]) -> None:
        loop, stopped = asyncio.get_running_loop(), asyncio.Event()
        try:
            async with self:
                started.set_result(lambda: loop.call_soon_threadsafe(stopped.set))
                await stopped.wait()
        except OSError as error:
            started.set_exception(error)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)
        # A peer that hangs up in the middle of anything is no error of the server.
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while await self._exchange(reader, writer):
                pass
        writer.close()
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; tell whether another may follow on this connection."""
        try:
            head = _read_head(await reader.readuntil(b"\r\n\r\n"))
        except asyncio.LimitOverrunError:
            head = _Head("", "", {}, problem=431)
        if head.problem:
            writer.write(
                _packed(wire.WireResponse(head.problem, _JSON, b'{"error":{"message":"no such HTTP"}}'), last=True)
            )
            await writer.drain()
            return False
        if head.headers.get("expect", "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        content = await reader.readexactly(head.length) if head.length else b""
        if head.method == "GET" and head.path == "/stats":
            stats = json.dumps(self.script.counts.to_dict()).encode()
            writer.write(_packed(wire.WireResponse(200, _JSON, stats), last=not head.lasting))
            await writer.drain()
            return head.lasting
        return await self._play(head, content, writer)

    async def _play(self, head: _Head, content: bytes, writer: asyncio.StreamWriter) -> bool:
        loop = asyncio.get_running_loop()
        try:
            delivery = self.script.receive(head.method, head.path, head.headers, content, loop.time())
        except Exception as error:  # noqa: BLE001 - the script is anybody's code: the client hears of it, and so does the log
            loop.call_exception_handler({"message": "a script failed to answer", "exception": error})
            said = json.dumps({"error": {"message": f"the script failed: {error!r}"}}).encode()
            writer.write(_packed(wire.WireResponse(500, _JSON, said), last=True))
            await writer.drain()
            return False
        whole = False
        try:
            if delivery.delay:
                await asyncio.sleep(delivery.delay)
            await _send(delivery, writer, last=not head.lasting)
            whole = delivery.cut_at is None
        finally:
            self.script.finish(delivery, whole=whole)
        return whole and head.lasting


@dataclass(frozen=True, slots=True)
class _Head:
    method: str
    path: str
    headers: Mapping[str, str]
    length: int = 0
    lasting: bool = False
    problem: int = 0


def _read_head(raw: bytes) -> _Head:
    lines = raw.decode("latin-1").split("\r\n")
    try:
        method, target, version = lines[0].split(" ")
        pairs = [line.split(":", 1) for line in lines[1:] if line]
        headers = {name.lower(): value.strip() for name, value in pairs}
        length = int(headers.get("content-length", "0"))
    except ValueError:
        return _Head("", "", {}, problem=400)
    problem = 0
    if not version.startswith("HTTP/1.") or length < 0:
        problem = 400
    elif "transfer-encoding" in headers or (method == "POST" and "content-length" not in headers):
        problem = 411
    elif length > _MOST_BODY:
        problem = 413
    lasting = version != "HTTP/1.0" and headers.get("connection", "").lower() != "close"
    return _Head(method, target.partition("?")[0], headers, length, lasting, problem)


async def _send(delivery: Delivery, writer: asyncio.StreamWriter, *, last: bool) -> None:
    packed = _packed(delivery.response, last=last)
    if delivery.cut_at is not None:
        packed = packed[: len(packed) - len(delivery.response.content) + delivery.cut_at]
    writer.write(packed)
    await writer.drain()


def _packed(response: wire.WireResponse, *, last: bool) -> bytes:
    headers = "".join(f"{name}: {value}\r\n" for name, value in response.headers.items())
    return (
        f"HTTP/1.1 {response.status} {_REASONS.get(response.status, 'Overloaded')}\r\n"
        f"{headers}connection: {'close' if last else 'keep-alive'}\r\n"
        f"content-length: {len(response.content)}\r\n\r\n"
    ).encode("latin-1") + response.content


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until a signal comes; return the exit status."""
    asked = _parser().parse_args(arguments)
    try:
        with contextlib.ExitStack() as opened:
            log = opened.enter_context(Path(asked.log).open("a", encoding="utf-8")) if asked.log else None
            script = _script(asked, log)
            asyncio.run(_until_stopped(ScriptedServer(script, port=asked.port)))
    except (BonwiseError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bonwise.testing.server", description="A scripted model service.")
    parser.add_argument("--port", type=int, default=0, help="0 lets the system choose")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each response")
    parser.add_argument("--faults", default="", help="shares, such as throttled=.1,retry_after=.05,cut=.02")
    parser.add_argument("--seed", type=int, default=0, help="of the faults")
    parser.add_argument("--rate-limit", type=int, help="requests accepted in any minute")
    parser.add_argument("--ignores", default="", help="of n,logprobs,schema")
    parser.add_argument("--refuses", default="", help="parameters that get 400, such as temperature,logprobs")
    parser.add_argument("--log", help="file that gets one line for each paid answer")
    return parser


def _script(asked: argparse.Namespace, log: IO[str] | None) -> Script:
    def note(request: wire.WireRequest) -> None:
        if log is not None:
            log.write(json.dumps({"digest": request.digest, "attempt": request.attempt, "time": time.time()}) + "\n")
            log.flush()

    return Script(
        faults=faults.Faults.from_text(asked.faults),
        seed=asked.seed,
        latency=asked.latency,
        rate_limit=asked.rate_limit,
        ignores=frozenset(filter(None, asked.ignores.split(","))),
        refuses_parameters=frozenset(filter(None, asked.refuses.split(","))),
        on_paid=note,
    )


async def _until_stopped(server: ScriptedServer) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        # Not every system lets a loop take signals; there an interrupt ends the process.
        with contextlib.suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        await stopped.wait()


if __name__ == "__main__":
    sys.exit(main())

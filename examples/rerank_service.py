"""A service that keeps the best of n answers: POST a prompt with its candidates, get the best one and why.

Runs as it is, without a key, puts a few questions to itself and ends: ``python examples/rerank_service.py``.
With a model it serves until SIGTERM: ``python examples/rerank_service.py openai/gpt-5-mini 8080 runs/prod``.
"""

import asyncio
import json
import signal
import sys
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from tempfile import TemporaryDirectory
from typing import Any

import bonwise as bw
from bonwise.testing import Script, ScriptedServer

PATIENCE = 5.0  # seconds for a request to come in
NO_REQUEST = (EOFError, LookupError, TypeError, ValueError, TimeoutError, RecursionError, asyncio.LimitOverrunError)


async def answered(selector: bw.Selector, reader: asyncio.StreamReader) -> tuple[HTTPStatus, str]:
    """Read one request and choose; what is wrong with a request is its sender's to mend."""
    try:
        async with asyncio.timeout(PATIENCE):
            head = await reader.readuntil(b"\r\n\r\n")
            _, _, length = head.lower().partition(b"content-length:")
            given = json.loads(await reader.readexactly(min(int(length.split()[0]), 2**20)))
        pick = await selector.aselect(given["prompt"], given["candidates"])
        why = {"decided_by": pick.decided_by, "scores": pick.scores, "failure": pick.failure, "calls": pick.calls}
        # Python reads NaN, and no JSON holds it.
        return HTTPStatus.OK, json.dumps({"best": pick.best, "index": pick.index, **why}, allow_nan=False)
    except (bw.InputError, *NO_REQUEST) as error:
        return HTTPStatus.BAD_REQUEST, json.dumps({"error": f"{type(error).__name__}: {error}"})


async def serve(selector: bw.Selector, port: int, client: Callable[[int], Awaitable[None]] | None = None) -> None:
    """Answer until SIGTERM, or until a client has had enough; requests under way are still answered."""
    stop, under_way = asyncio.Event(), set[Any]()
    for sent in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(sent, stop.set)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        under_way.add(task := asyncio.current_task())
        try:
            status, found = await answered(selector, reader)
            body = found.encode()
            head = f"HTTP/1.1 {status} {status.phrase}\r\ncontent-type: application/json\r\nconnection: close"
            writer.write(f"{head}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)
            await writer.drain()
        except ConnectionError:
            pass  # whoever asked has left
        finally:
            under_way.discard(task)
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", port)
    await (stop.wait() if client is None else client(server.sockets[0].getsockname()[1]))
    server.close()
    await asyncio.gather(*under_way, return_exceptions=True)


async def run(model: str, ledger: str, port: int, **more: Any) -> None:
    """Serve with one selector: answers are kept, and a slow or broken model costs quality, never an answer."""
    judge = bw.Pointwise(model, base_url=more.pop("base_url", None))
    async with bw.Selector(judge, deadline=2.0, on_failure="first", ledger=ledger) as selector:
        await serve(selector, port, **more)


async def demo(folder: str) -> None:
    """Serve from a scripted model, and ask: a question, the same again, one while the model hangs, and nonsense."""

    async def ask(port: int) -> None:
        texts = ["red", "I would rather not say", "a kind of blue"]
        for prompt, script.latency in (("a colour", 0.0), ("a colour", 0.0), ("a fish", 60.0), (None, 0.0)):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            body = json.dumps({"prompt": prompt, "candidates": texts}).encode()
            writer.write(b"POST / HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
            print((await reader.read()).decode().partition("\r\n\r\n")[2])
            writer.close()

    async with ScriptedServer(script := Script()) as server:
        await run("openai/any", folder, 0, client=ask, base_url=f"{server.url}/v1")


if len(sys.argv) == 4:
    asyncio.run(run(sys.argv[1], sys.argv[3], int(sys.argv[2])))
else:
    with TemporaryDirectory() as here:
        asyncio.run(demo(here))

import asyncio
import contextlib
import gzip
import tracemalloc
from functools import partial

import pytest

from bonwise.calls.ask import Model
from bonwise.calls.providers.clients import LARGEST
from bonwise.calls.providers.protocol import Connection
from bonwise.calls.reply import AttemptError
from calls.held_time import run_held

OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
WHOLE = OK + b'content-length: 8\r\n\r\n{"a": 1}'


@pytest.fixture
def exchange(provider, ask, any_transport):
    """Return what sends to a server that says what it is told to, and returns what came of each request."""
    return partial(_exchange, any_transport, provider, ask)


def _exchange(transport, provider, ask, said, *, hang=False, times=1):
    async def main():
        connections = []

        async def serve(reader, writer):
            connections.append(writer)
            for _ in range(times):
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                await reader.readexactly(length)
                writer.write(said)
                await writer.drain()
            if hang:
                asyncio.get_running_loop().let_go()
                await reader.read()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        model = Model(provider.name, "m", f"http://127.0.0.1:{port}/v1")
        client = provider.client(model, Connection(timeout=60.0, connections=1, transport=transport))
        try:
            request = provider.request(ask(model), 1, frozenset())
            return [await client.send(request) for _ in range(times)], len(connections)
        finally:
            await client.aclose()
            server.close()
            for writer in connections:
                writer.close()
                with contextlib.suppress(ConnectionError):
                    await writer.wait_closed()

    return run_held(main())


def test_a_whole_answer_arrives_and_the_connection_is_kept(exchange):
    """Two calls one after the other share a connection."""
    responses, connections = exchange(WHOLE, times=2)
    assert [response.content for response in responses] == [b'{"a": 1}'] * 2
    assert connections == 1


@pytest.mark.parametrize(
    ("said", "hang", "kind"),
    [
        (b"", False, "broken"),
        (b"", True, "timeout"),
        (WHOLE[:-3], False, "broken"),
        (WHOLE[:-3], True, "timeout"),
        (OK + b"transfer-encoding: chunked\r\n\r\n8\r\n{", False, "broken"),
        (OK + b"content-encoding: gzip\r\n" + WHOLE[len(OK) :], False, "broken"),
        (b"220 smtp.example.org\r\n", False, "broken"),
    ],
)
def test_what_breaks_on_a_real_socket_may_be_billed(exchange, said, hang, kind):
    """Silence, a cut body, a broken encoding and another protocol: the request was sent, no answer came."""
    with pytest.raises(AttemptError) as caught:
        exchange(said, hang=hang)
    assert (caught.value.problem.kind, caught.value.problem.sent) == (kind, True)


def packed(status, size):
    """Return a response that is small on its way and has a size when unpacked."""
    content = gzip.compress(b"{" + b" " * (size - 2) + b"}", 1)
    head = f"HTTP/1.1 {status} x\r\ncontent-encoding: gzip\r\ncontent-length: {len(content)}\r\n\r\n"
    return head.encode() + content


@pytest.mark.parametrize("status", [200, 400])
def test_no_response_fills_the_memory(exchange, status):
    """A small response that unpacks to more than any answer has is not unpacked, and may be billed."""
    said = packed(status, 6 * LARGEST)
    tracemalloc.start()
    try:
        with pytest.raises(AttemptError, match="is larger than 32 MiB") as caught:
            exchange(said)
        assert tracemalloc.get_traced_memory()[1] < 2 * LARGEST
    finally:
        tracemalloc.stop()
    assert (caught.value.problem.kind, caught.value.problem.sent) == (
        "oversized" if status == 200 else "broken",
        True,
    )


def test_a_large_answer_is_whole(exchange):
    """Up to that size every byte arrives."""
    responses, _ = exchange(packed(200, LARGEST))
    assert len(responses[0].content) == LARGEST

import asyncio
import json
import socket

import pytest

import bonwise as bw
from bonwise.calls.ask import Ask, AttemptError, Model
from bonwise.calls.engine import Engine
from bonwise.calls.providers.protocol import Connection
from bonwise.errors import MissingExtraError, UsageError
from bonwise.testing.script import Script
from bonwise.testing.server import ScriptedServer
from calls.recorded_port import OK, Recorded, listening

pytest.importorskip("aiohttp", reason="bonwise[fast] is not installed")

COOKIE = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nset-cookie: seen=1\r\n\r\n{}"
AIOHTTP = Connection(transport="aiohttp")


def _send(provider, ask, connection, texts, *, said=OK, path="/v1", host="127.0.0.1"):
    """Send texts to a server; return what came, and the heads that the server saw."""

    async def main():
        server = Recorded(said, well=len(texts) - 1, before=said)
        async with listening(server) as port:
            model = Model(provider.name, "m", f"http://{host}:{port}{path}")
            client = provider.client(model, connection)
            try:
                requests = [provider.request(ask(model, user=text), 1, frozenset()) for text in texts]
                return [await client.send(request) for request in requests], server.heads
            finally:
                await client.aclose()

    return asyncio.run(main())


def _fields(head):
    first, *lines = head.strip().split("\r\n")
    port_less = [line.partition(": ") for line in lines if not line.lower().startswith("host:")]
    return first, sorted((name.lower(), value) for name, _, value in port_less)


def test_the_same_request_goes_out(provider, ask, monkeypatch):
    """Every header and query is the one that the HTTP library of the SDK sends, and no cookie is."""
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-One: 1")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-One: 1")
    texts = ["a", "bb", "ccc"]
    (_, usual), (_, direct) = (
        _send(provider, ask, connection, texts, said=COOKIE, path="/v1?sig=a%2Fb", host="me:secret@127.0.0.1")
        for connection in (Connection(), AIOHTTP)
    )
    assert [_fields(head) for head in direct] == [_fields(head) for head in usual]
    assert "seen=1" not in direct[-1]
    assert "sig=a%2Fb" in direct[-1]


def test_long_headers_are_read(provider, ask):
    """A gateway may say much in one header."""
    said = b"HTTP/1.1 200 OK\r\nx-policy: " + b"p" * 30_000 + b"\r\ncontent-length: 2\r\n\r\n{}"
    (response,), _ = _send(provider, ask, AIOHTTP, ["a"], said=said)
    assert len(response.headers["x-policy"]) == 30_000


def test_where_nobody_listens_nothing_was_sent(provider, ask, any_transport):
    """The message names the server and no library."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    model = Model(provider.name, "m", f"http://127.0.0.1:{port}/v1")

    async def main():
        client = provider.client(model, Connection(transport=any_transport))
        try:
            await client.send(provider.request(ask(model), 1, frozenset()))
        finally:
            await client.aclose()

    with pytest.raises(AttemptError) as caught:
        asyncio.run(main())
    problem = caught.value.problem
    assert (problem.kind, problem.sent) == ("broken", False)
    assert problem.message.startswith(f"no connection to http://127.0.0.1:{port}")


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY"])
def test_a_proxy_of_the_environment_applies(provider, ask, monkeypatch, variable):
    """The request goes to the proxy, with the address in full."""

    async def main():
        proxy = Recorded()
        async with listening(proxy) as port:
            monkeypatch.setenv(variable.lower(), f"http://127.0.0.1:{port}")
            model = Model(provider.name, "m", "http://models.example.org/v1")
            client = provider.client(model, AIOHTTP)
            await client.send(provider.request(ask(model), 1, frozenset()))
            await client.aclose()
            return proxy.heads

    (head,) = asyncio.run(main())
    assert head.startswith("POST http://models.example.org/v1/")


def test_an_address_without_proxy_is_reached_directly(provider, ask, monkeypatch):
    """NO_PROXY holds."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    (response,), _ = _send(provider, ask, AIOHTTP, ["a"])
    assert response.status == 200


def test_a_run_of_one_transport_goes_on_with_the_other(tmp_path, monkeypatch):
    """Keys and answers are the same: nothing is asked again."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")

    async def ask_all(url, transport, texts):
        async with Engine(tmp_path / "run", connection=Connection(transport=transport)) as engine:
            for text in texts:
                model = Model("openai", "m", f"{url}/v1")
                asked = Ask(model=model, system="Judge.", user=text, read=lambda choice: choice.text, max_tokens=5)
                (answer,) = (await engine.ask(asked)).answers
                assert isinstance(answer.reading, str)
            return engine.totals.bill.calls

    texts = [f"{'why ' * length}?" for length in range(5)]
    with ScriptedServer(Script()).in_thread() as server:
        assert asyncio.run(ask_all(server.url, "aiohttp", texts)) == 5
        assert asyncio.run(ask_all(server.url, None, texts)) == 0


def test_a_cancelled_request_leaves_no_socket(provider, ask):
    """What was given up is closed at once."""

    async def main():
        gone = asyncio.Event()

        async def serve(reader, writer):
            await reader.read()
            gone.set()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        model = Model(provider.name, "m", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
        client = provider.client(model, AIOHTTP)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await client.send(provider.request(ask(model), 1, frozenset()))
        await asyncio.wait_for(gone.wait(), 5)
        await client.aclose()
        server.close()

    asyncio.run(main())


def test_what_is_no_transport_is_refused(monkeypatch):
    """One line says what to give, or what to install."""
    with pytest.raises(UsageError, match="transport is 'httpx9'"):
        Connection(transport="httpx9")
    monkeypatch.setattr("bonwise.extras._is_installed", lambda _name: False)
    with pytest.raises(MissingExtraError, match=r"needs bonwise\[fast\]: aiohttp is not installed"):
        Connection(transport="aiohttp")


def test_a_selector_states_its_transport():
    """It is a plain value: it is written and read like the other settings."""
    judge = bw.Pointwise("openai/m")
    written = json.loads(json.dumps(bw.Selector(judge, connection=AIOHTTP).to_dict()))
    assert written["connection"]["transport"] == "aiohttp"
    assert bw.Selector.from_dict(written).to_dict() == written
    assert "transport" not in bw.Selector(judge, connection=Connection(timeout=5.0)).to_dict()["connection"]

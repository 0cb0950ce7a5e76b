"""Requests sent: errors of the wire, each SDK by its own HTTP library, and over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import subprocess
import sys
import tracemalloc
from collections import Counter
from functools import partial
from importlib.metadata import version

import httpx
import pytest

import bonwise as bw
from bonwise.calls.ask import AttemptError, Model
from bonwise.calls.ledger.ledger import Ledger
from bonwise.calls.providers.clients import LARGEST
from bonwise.calls.providers.protocol import Connection, http_library, library_of
from bonwise.errors import CallError, UsageError
from bonwise.testing import FakeTransport, Script
from bonwise.testing.stand_in import stand_in
from calls.held_time import run_held
from calls.virtual_time import run_virtual
from http_libraries import HTTP, INSTALLED, SDKS, each_library

NEVER_SENT = {
    "ConnectError": ("broken", False),
    "ConnectTimeout": ("timeout", False),
    "PoolTimeout": ("timeout", False),
    "ProxyError": ("broken", False),
}
PERHAPS_SENT = {
    "ReadTimeout": ("timeout", True),
    "WriteTimeout": ("timeout", True),
    "ReadError": ("broken", True),
    "WriteError": ("broken", True),
    "CloseError": ("broken", True),
    "RemoteProtocolError": ("broken", True),
    "DecodingError": ("broken", True),
}


def test_a_response_comes_back_as_it_was(route, send):
    """Status, headers and bytes of an answer are handed on untouched."""
    route.mock(return_value=httpx.Response(200, content=b'{"a": 1}', headers={"X-Request-Id": "r1"}))
    response = send()
    assert (response.status, response.content, response.headers["x-request-id"]) == (200, b'{"a": 1}', "r1")


@pytest.mark.parametrize("status", [301, 400, 401, 404, 408, 409, 422, 429, 500, 503, 529])
def test_an_unsuccessful_response_comes_back_too(route, send, status):
    """Every status is an answer to the caller, never an exception."""
    route.mock(
        return_value=httpx.Response(status, content=b"no", headers={"retry-after": "1", "location": "/elsewhere"})
    )
    response = send()
    assert (response.status, response.content, response.headers["retry-after"]) == (status, b"no", "1")


@pytest.mark.parametrize("status", [408, 429, 500])
def test_nothing_is_sent_twice(route, send, status):
    """A response that the SDK would retry is sent once."""
    route.mock(return_value=httpx.Response(status, headers={"x-should-retry": "true", "retry-after-ms": "1"}))
    send()
    assert route.call_count == 1


@pytest.mark.parametrize("any_transport", [None], indirect=True)  # the errors planted are those of its library
@pytest.mark.parametrize(("error", "expected"), [*NEVER_SENT.items(), *PERHAPS_SENT.items()])
def test_a_failure_says_whether_the_server_may_have_worked(route, failure, provider, error, expected):
    """A connection that never stood sent nothing; whatever broke later may have been billed. Once, each."""
    route.mock(side_effect=getattr(HTTP[provider.name], error)("planted"))
    problem = failure().problem
    assert (problem.kind, problem.sent) == expected
    assert problem.transient
    assert problem.status is None
    assert route.call_count == 1


def test_a_body_that_cannot_be_decoded_is_broken(route, failure):
    """A response that says it is compressed and is not brings no answer, and may be billed."""
    route.mock(return_value=httpx.Response(200, stream=_Stream(b"plain"), headers={"content-encoding": "gzip"}))
    problem = failure().problem
    assert (problem.kind, problem.sent) == ("broken", True)


@pytest.mark.parametrize("status", [200, 500])
def test_a_response_in_memory_is_not_larger_than_one_of_the_network(provider, model, ask, status):
    """What stands in for the network has the same bound, whatever the status."""
    http = HTTP[provider.name]
    transport = http.MockTransport(lambda _: http.Response(status, content=bytes(LARGEST + 1)))

    async def main():
        client = provider.client(model, Connection(transport=transport))
        with pytest.raises(AttemptError, match="is larger than 32 MiB") as caught:
            await client.send(provider.request(ask(model), 1, frozenset()))
        await client.aclose()
        return caught.value.problem

    problem = asyncio.run(main())
    assert (problem.kind, problem.sent) == ("oversized" if status == 200 else "broken", True)


class _Stream(httpx.AsyncByteStream):
    def __init__(self, content):
        self.content = content

    async def __aiter__(self):
        yield self.content


def test_a_port_where_nobody_listens_is_broken_and_unsent(failure, provider):
    """With a real socket: nothing is sent where there is no server."""
    problem = failure(to=Model(provider.name, "m", "http://127.0.0.1:9")).problem
    assert (problem.kind, problem.sent) == ("broken", False)
    assert "http://127.0.0.1:9" in problem.message


@pytest.mark.parametrize("way", ["argument", "environment"])
def test_a_server_of_ones_own_needs_no_key(routes, monkeypatch, provider, send, way):
    """Without a key a placeholder is sent there, with the login and the query of its address."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name)
    base = "http://me:p%40ss@localhost:8000/base?version=3"
    route = routes.post(path__startswith="/base/").mock(return_value=httpx.Response(200))
    if way == "environment":
        monkeypatch.setenv(f"{provider.name.upper()}_BASE_URL", base)
    model = Model(provider.name, "m", base if way == "argument" else None)
    send(to=model)
    sent = route.calls.last.request
    assert str(sent.url).startswith("http://localhost:8000/base/")
    assert sent.url.params["version"] == "3"
    assert sent.headers["authorization"] == "Basic bWU6cEBzcw=="
    assert provider.account(model) == "none"


def test_the_key_of_the_environment_is_sent(route, send, provider, canaries):
    """The provider's own key, and no other, goes to the provider."""
    send()
    mine, other = canaries if provider.name == "openai" else canaries[::-1]
    headers = str(route.calls.last.request.headers.raw)
    assert mine in headers
    assert other not in headers


def test_a_token_takes_the_place_of_a_key(route, monkeypatch, send, provider):
    """Where Anthropic's key is absent its token is used."""
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-5522")
    send()
    sent = route.calls.last.request.headers["authorization"]
    assert (sent == "Bearer token-5522") is (provider.name == "anthropic")


@pytest.mark.parametrize("base_url", [None, "default"])
def test_the_provider_itself_wants_a_key(monkeypatch, provider, model, base_url):
    """Without a key nothing is sent to the provider; the error names the variable to set."""
    default = {"openai": "https://API.openai.com/v1/", "anthropic": "https://api.anthropic.com"}[provider.name]
    model = Model(provider.name, "m", default if base_url else None)
    variable = f"{provider.name.upper()}_API_KEY"
    monkeypatch.setenv(variable, " \n")
    for act in (lambda: provider.account(model), lambda: provider.client(model, Connection())):
        with pytest.raises(CallError, match=f"no key for {provider.name} .set {variable}.$"):
            act()


@pytest.mark.parametrize(
    "base_url", ["ftp://me:hush@host", "localhost:8000", "http://", "http://h:hush/", "http://[hush", "http://a hush"]
)
def test_only_http_addresses_are_servers(provider, ask, base_url):
    """Another address is refused, and not repeated: it may hold a password."""
    model = Model(provider.name, "m", base_url)
    for act in (lambda: provider.account(model), lambda: provider.request(ask(model), 1, frozenset())):
        with pytest.raises(UsageError, match="base_url is no http or https address") as caught:
            act()
        assert "hush" not in str(caught.value)


def test_accounts_are_told_apart_by_their_key(monkeypatch, provider, model):
    """The same key gives the same word, another key another, and neither shows the key."""
    one = provider.account(model)
    assert one == provider.account(model)
    monkeypatch.setenv(f"{provider.name.upper()}_API_KEY", "another-key\n")
    assert provider.account(model) not in {one, "none"}
    assert len(one) == 12


def test_clients_share_what_is_slow_to_make(provider, model):
    """Reading the certificates happens once, whatever the number of clients."""

    async def main():
        clients = [provider.client(model, Connection()) for _ in range(2)]
        contexts = {id(client._client._client._transport._pool._ssl_context) for client in clients}
        for client in clients:
            await client.aclose()
        return contexts

    assert len(asyncio.run(main())) == 1


def test_a_connection_sets_the_limits(provider, model):
    """Time limits and kept connections of the client are those of the connection; the SDK retries nothing."""

    async def main():
        client = provider.client(model, Connection(timeout=7.0, connect_timeout=3.0, connections=5))
        sdk = client._client
        await client.aclose()
        return sdk

    sdk = asyncio.run(main())
    assert (sdk.max_retries, sdk.timeout.read, sdk.timeout.connect) == (0, 7.0, 3.0)
    assert sdk._client._transport._pool._max_keepalive_connections == 5


def test_a_transport_stands_in_for_the_network(provider, model, ask):
    """A connection's transport carries the requests."""
    seen = []
    http = HTTP[provider.name]

    def answer(request):
        seen.append(json.loads(request.content))
        return http.Response(200, content=b"{}")

    async def main():
        client = provider.client(model, Connection(transport=http.MockTransport(answer)))
        request = provider.request(ask(model), 1, frozenset())
        response = await client.send(request)
        await client.aclose()
        return request, response

    request, response = asyncio.run(main())
    assert seen == [request.body]
    assert response.status == 200


# Each SDK is sent with the HTTP library it stands on, whatever the other one stands on.


FIRST_ON_HTTPX2 = {"openai": 3, "anthropic": 1}


class Watched(FakeTransport):
    """Carries requests to a script, and counts them by address and HTTP library."""

    def __init__(self, script):
        super().__init__(script)
        self.carried = Counter()

    async def handle_async_request(self, request):
        """Count and carry."""
        self.carried[request.url.path, library_of(type(request)).__name__] += 1
        return await super().handle_async_request(request)


def library_name(sdk):
    """Return which HTTP library the installed version of an SDK stands on, by its release notes."""
    return "httpx2" if int(version(sdk).partition(".")[0]) >= FIRST_ON_HTTPX2[sdk] else "httpx"


def test_each_sdk_has_its_own_library():
    """The library is the one that the SDK's own clients extend."""
    for name, sdk in SDKS.items():
        found = http_library(sdk)
        assert found.__name__ == library_name(name)
        assert issubclass(sdk.DefaultAsyncHttpxClient, found.AsyncClient)


@each_library
def test_the_library_of_a_class_is_known_for_what_extends_it_too(http):
    """Requests, clients and what a user derives from them; the names are not confused."""

    class Mine(http.AsyncClient):
        pass

    assert library_of(Mine) is library_of(http.Request) is http


def test_a_class_of_another_library_is_refused():
    """A transport that sends requests of its own kind gets no answer of a wrong kind."""
    with pytest.raises(LookupError, match=r"^Counter is of no known HTTP library$"):
        library_of(Counter)


def test_a_client_is_made_of_its_own_library(provider, model):
    """Client, time limits and connection pool are objects of the library that the SDK expects."""

    async def main():
        client = provider.client(model, Connection())
        sdk = client._client
        await client.aclose()
        return sdk

    sdk, http = asyncio.run(main()), HTTP[provider.name]
    assert type(sdk._client) is http.AsyncClient
    assert type(sdk.timeout) is http.Timeout
    assert type(sdk._client._transport) is http.AsyncHTTPTransport


def test_no_library_takes_the_name_of_the_other():
    """In a process that asks both services, httpx is httpx and httpx2 is httpx2."""
    code = (
        "import asyncio, sys\n"
        "from bonwise.calls.ask import Model\n"
        "from bonwise.calls.providers.protocol import Connection\n"
        "from bonwise.calls.providers.protocol import provider\n"
        "async def main():\n"
        "    for name in ('anthropic', 'openai'):\n"
        "        client = provider(name).client(Model(name, 'm', 'http://127.0.0.1:9'), Connection())\n"
        "        print(type(client._client._client).__module__.partition('.')[0])\n"
        "        await client.aclose()\n"
        "asyncio.run(main())\n"
        "print(*(sys.modules[name].__name__ for name in ('httpx', 'httpx2') if name in sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *used, loaded = done.stdout.splitlines()
    assert used == [HTTP["anthropic"].__name__, HTTP["openai"].__name__]
    assert set(used) <= set(loaded.split()) <= {http.__name__ for http in INSTALLED}


def level(request):
    """Score every candidate alike, and compare them as the stand-in does."""
    return '{"score": 50}' if request.service == "openai" else stand_in(request)


def test_one_selection_asks_both_services(tmp_path):
    """A judge of one service and a tie-break by the other share a transport; each request is of its own library."""
    transport = Watched(Script(level))
    judge, tie_break = bw.Pointwise("openai/gpt-5-mini"), bw.TieBreak(bw.Pairwise("anthropic/claude-opus-5"))

    async def main():
        connection = Connection(transport=transport)
        async with bw.Selector(judge, strategy=tie_break, ledger=tmp_path, connection=connection) as selector:
            return await selector.aselect("A prompt", ["an answer", "another answer"])

    pick = run_virtual(main())
    chat, messages = ("/v1/chat/completions", HTTP["openai"].__name__), ("/v1/messages", HTTP["anthropic"].__name__)
    assert transport.carried == {chat: 2, messages: 2}
    assert (pick.calls, pick.unscored) == (4, {})
    with Ledger.open(tmp_path) as ledger:
        assert Counter(row.provider for row in ledger.rows()) == {"openai": 2, "anthropic": 2}


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

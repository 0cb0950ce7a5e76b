import asyncio
import json

import httpx
import pytest

from bonwise.calls.ask import Model
from bonwise.calls.providers.clients import LARGEST
from bonwise.calls.providers.protocol import Connection
from bonwise.calls.reply import AttemptError
from bonwise.errors import CallError, UsageError
from http_libraries import HTTP

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

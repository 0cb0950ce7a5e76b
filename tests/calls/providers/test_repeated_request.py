import asyncio
import gzip
import ssl

import anyio
import pytest

from bonwise.calls.ask import Model
from bonwise.calls.providers.clients import LARGEST
from bonwise.calls.providers.protocol import Connection
from bonwise.calls.reply import AttemptError
from http_libraries import HTTP, SDKS

LEARNT = 2
"""Requests after which the SDK makes no other."""

OF_ONE = {"content-length", "cookie"}


class _Server:
    """Answers from memory, keeps what it received, and counts what an SDK sent."""

    def __init__(self, monkeypatch, provider, answers=()):
        self.http = HTTP[provider.name]
        self.answers = list(answers)
        self.requests = []
        self.by_sdk = 0
        name = {"openai": "AsyncOpenAI", "anthropic": "AsyncAnthropic"}[provider.name]
        kind = getattr(SDKS[provider.name], name)
        real = kind.post

        async def post(client, *given, **named):
            self.by_sdk += 1
            return await real(client, *given, **named)

        monkeypatch.setattr(kind, "post", post)

    @property
    def transport(self):
        return self.http.MockTransport(self._answer)

    def _answer(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0) if self.answers else self.http.Response(200, json={})
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def served(monkeypatch, provider):
    """Return a maker of servers."""
    return lambda *answers: _Server(monkeypatch, provider, answers)


@pytest.fixture
def send_all(provider, model, ask):
    """Return a function that sends one request a text by one client; an error stands for its response."""

    def run(server, texts, to=model):
        async def main():
            client = provider.client(to, Connection(transport=server.transport))
            found = []
            for text in texts:
                try:
                    found.append(await client.send(provider.request(ask(to, user=text), 1, frozenset())))
                except AttemptError as error:
                    found.append(error.problem)
            await client.aclose()
            return found

        return asyncio.run(main())

    return run


def _headers(request):
    return [one for one in request.headers.multi_items() if one[0].lower() not in OF_ONE]


@pytest.mark.parametrize("query", ["", "?api-version=7&sig=hush"])
@pytest.mark.parametrize("login", ["", "me:secret@"])
def test_a_repeated_request_is_what_the_sdk_sends(provider, served, send_all, monkeypatch, login, query):
    """Address, headers in their order, body and time limits are the same, whoever made the request."""
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-One: 1\nX-Two: 2")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-One: 1\nX-Two: 2")
    server = served()
    texts = ["a", "bb", "ccc", "caf\u00e9"]
    send_all(server, texts, Model(provider.name, "m", f"https://{login}models.example.org/v1{query}"))
    assert server.by_sdk == LEARNT
    first, *others = server.requests
    for text, other in zip(texts[1:], others, strict=True):
        assert _headers(other) == _headers(first)
        assert (str(other.url), other.url.raw_path, other.method) == (str(first.url), first.url.raw_path, "POST")
        assert other.extensions["timeout"] == first.extensions["timeout"]
        assert text in other.read().decode()
        assert other.headers["content-length"] == str(len(other.content))


def test_requests_of_one_length_go_on_through_the_sdk(provider, served, send_all):
    """Whether a header is reckoned from the body is seen only where bodies differ."""
    server = served()
    send_all(server, ["same", "size", "each", "time"])
    assert server.by_sdk == 4


def test_an_sdk_whose_headers_differ_makes_every_request(provider, served, send_all, monkeypatch):
    """A header that each request has anew, such as a signature, is never repeated."""
    server = served()
    count = iter(range(99))
    http = server.http
    real = http.AsyncClient.build_request

    def build_request(client, *given, **named):
        request = real(client, *given, **named)
        request.headers["x-signature"] = str(next(count))
        return request

    monkeypatch.setattr(http.AsyncClient, "build_request", build_request)
    send_all(server, ["a", "bb", "ccc", "dddd"])
    assert server.by_sdk == 4
    assert len({request.headers["x-signature"] for request in server.requests}) == 4


def test_cookies_go_along_and_are_renewed(provider, served, send_all):
    """A cookie that a server sets reaches the requests that follow, as with the SDK."""
    http = HTTP[provider.name]
    answers = [http.Response(200, json={}, headers={"set-cookie": f"seen={number}"}) for number in range(4)]
    server = served(*answers)
    send_all(server, ["a", "bb", "ccc", "dddd"])
    assert server.by_sdk == LEARNT
    assert [request.headers.get("cookie") for request in server.requests] == [None, "seen=0", "seen=1", "seen=2"]


def test_another_version_of_the_service_is_learnt_anew(provider, served, ask):
    """Headers belong to one address and one version of it."""
    server = served()
    one, other = (Model(provider.name, "m", f"https://models.example.org/v{number}") for number in (1, 2))

    async def main():
        client = provider.client(one, Connection(transport=server.transport))
        for model in (one, one, one, other, other, other):
            text = "x" * (len(server.requests) + 1)
            await client.send(provider.request(ask(model, user=text), 1, frozenset()))
        await client.aclose()

    asyncio.run(main())
    assert server.by_sdk == 2 * LEARNT
    assert [str(request.url).split("/")[3] for request in server.requests] == ["v1"] * 3 + ["v2"] * 3


@pytest.mark.parametrize("status", [301, 400, 401, 408, 429, 500, 529])
def test_every_status_is_a_response(provider, served, send_all, status):
    """Nothing is raised, followed or sent twice."""
    http = HTTP[provider.name]
    told = http.Response(status, content=b"no", headers={"retry-after": "1", "location": "/elsewhere"})
    server = served(http.Response(200), http.Response(200), told)
    found = send_all(server, ["a", "bb", "ccc"])[-1]
    assert (found.status, found.content, found.headers["retry-after"]) == (status, b"no", "1")
    assert (server.by_sdk, len(server.requests)) == (LEARNT, 3)


ERRORS = {
    "ConnectError": ("broken", False),
    "PoolTimeout": ("timeout", False),
    "ReadTimeout": ("timeout", True),
    "ReadError": ("broken", True),
    "RemoteProtocolError": ("broken", True),
}


@pytest.mark.parametrize(("error", "expected"), ERRORS.items())
def test_a_failure_says_whether_the_server_may_have_worked(provider, served, send_all, error, expected):
    """As where the SDK sends."""
    http = HTTP[provider.name]
    server = served(http.Response(200), http.Response(200), getattr(http, error)("planted"))
    problem = send_all(server, ["a", "bb", "ccc"])[-1]
    assert (problem.kind, problem.sent) == expected
    assert "planted" not in problem.message or error == "ConnectError"


@pytest.mark.parametrize("error", [ssl.SSLError("planted"), anyio.EndOfStream()])
def test_a_broken_encryption_is_a_broken_connection(provider, served, send_all, error):
    """What the HTTP library does not translate is no error of the program."""
    http = HTTP[provider.name]
    problem = send_all(served(http.Response(200), http.Response(200), error), ["a", "bb", "ccc"])[-1]
    assert (problem.kind, problem.sent) == ("broken", True)


def test_a_response_that_unpacks_to_too_much_is_not_read_to_its_end(provider, served, send_all):
    """The bound on a response holds, and the message has no text of it."""
    http = HTTP[provider.name]
    packed = gzip.compress(bytes(LARGEST + 1))
    large = http.Response(200, stream=http.ByteStream(packed), headers={"content-encoding": "gzip"})
    problem = send_all(served(http.Response(200), http.Response(200), large), ["a", "bb", "ccc"])[-1]
    assert problem.kind == "oversized"

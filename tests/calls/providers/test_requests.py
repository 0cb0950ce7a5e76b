"""Requests to the byte, also those that are sent again."""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
from dataclasses import replace
from pathlib import Path

import anyio
import httpx
import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from pydantic import TypeAdapter

from bonwise.calls.ask import AttemptError, Model, Request
from bonwise.calls.providers.clients import LARGEST
from bonwise.calls.providers.protocol import Connection
from bonwise.calls.providers.service import custom_headers, version_alone
from http_libraries import HTTP, SDKS

GOLDEN = Path(__file__).parent / "golden" / "requests"
KEYS = json.loads((GOLDEN.parent / "ledger_keys.json").read_text())
SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer"}},
    "required": ["score"],
    "additionalProperties": False,
}
EVERYTHING = {"schema": SCHEMA, "temperature": 0.7, "top_logprobs": 30}
REFUSABLE = {"temperature", "response_format", "output_config", "logprobs", "n", "max_completion_tokens"}
SHAPES = {
    "plain": ({}, 1, set()),
    "unsystematic": ({"system": ""}, 1, set()),
    "schema": ({"schema": SCHEMA}, 1, set()),
    "temperature": ({"temperature": 0.7}, 1, set()),
    "logprobs": ({"top_logprobs": 30}, 1, set()),
    "samples": ({}, 3, set()),
    "old": ({}, 1, {"max_completion_tokens"}),
    "bare": (EVERYTHING, 3, REFUSABLE),
}
FILES = sorted(path.stem for path in GOLDEN.glob("*.json"))
TYPES = {"openai": CompletionCreateParamsNonStreaming, "anthropic": MessageCreateParamsNonStreaming}


def golden(name):
    """Read a body written by hand."""
    return json.loads((GOLDEN / f"{name}.json").read_text())


@pytest.fixture
def build(provider, model, ask):
    """Return a function that builds the request of a shape."""

    def make(shape):
        settings, samples, dropped = SHAPES[shape]
        return provider.request(ask(model, **settings), samples, frozenset(dropped))

    return make


@pytest.mark.parametrize("shape", SHAPES)
def test_a_body_is_the_one_written_by_hand(provider, build, shape):
    """Each shape of request has exactly the golden body, and each golden body has its shape."""
    name = f"{provider.name}_{shape}"
    assert name in FILES or (provider.name, shape) == ("anthropic", "old")
    if name in FILES:
        assert build(shape).body == golden(name)


@pytest.mark.parametrize("name", FILES)
def test_a_body_fits_the_types_of_the_sdk(name):
    """A golden body has no field that the SDK does not know, and each of its fields has the SDK's type."""
    params = TYPES[name.partition("_")[0]]
    body = golden(name)
    assert body.keys() <= params.__required_keys__ | params.__optional_keys__
    # The SDK types messages as an iterable, which pydantic checks only while it is walked.
    list(TypeAdapter(params).validate_python(body)["messages"])


@pytest.mark.parametrize("shape", SHAPES)
def test_the_body_that_is_sent_is_the_body_that_is_kept(route, provider, model, ask, send, shape):
    """What goes over the wire, in place and content, is what `Request` says."""
    settings, _, _ = SHAPES[shape]
    send(**settings)
    sent = route.calls.last.request
    request = provider.request(ask(model, **settings), 1, frozenset())
    assert json.loads(sent.content) == request.body
    assert str(sent.url) == request.base_url + request.endpoint
    assert sent.headers["content-type"] == "application/json"
    assert sent.headers.get("anthropic-version", "") == request.api_version


def test_words_that_no_utf8_can_hold_are_sent_all_the_same(route, send):
    """A lone surrogate goes out as a JSON escape."""
    send(user="half \ud83d")
    assert json.loads(route.calls.last.request.content)["messages"][-1]["content"] == "half \ud83d"


@pytest.mark.parametrize("shape", SHAPES)
def test_a_key_of_the_ledger_never_changes(provider, build, shape):
    """Whatever SDKs are installed, the same question has the key under which 0.1.0 stored its answer."""
    assert build(shape).keys([0])[0].hex() == KEYS[f"{provider.name} {shape}"]


def test_a_key_of_an_address_or_of_headers_never_changes(monkeypatch, provider, model, ask):
    """So do the query of an address and the headers of the environment."""
    (key,) = keys(provider, model, ask, "/?b=2&a=1&key=hush")
    assert key.hex() == KEYS[f"{provider.name} address"]
    monkeypatch.setenv(f"{provider.name.upper()}_CUSTOM_HEADERS", "X-Route: a\nanthropic-version: 2023-06-01")
    assert provider.request(ask(model), 1, frozenset()).keys([0])[0].hex() == KEYS[f"{provider.name} headers"]


def test_a_key_of_the_ledger_follows_the_version_that_is_sent(route, monkeypatch, provider, model, ask, send):
    """A version named in the environment's headers is sent, and gives other keys."""
    before = provider.request(ask(model), 1, frozenset())
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-gateway: a\nAnthropic-Version: 2023-06-01")
    after = provider.request(ask(model), 1, frozenset())
    send()
    assert route.calls.last.request.headers.get("anthropic-version", "") == version_alone(after.api_version)
    assert after.api_version.startswith("2023-06-01#headers=") is (provider.name == "anthropic")
    assert (before.keys([0]) == after.keys([0])) is (provider.name == "openai")


@pytest.mark.parametrize("version", ["2023-06-01", "a b", "50%?#3F"])
def test_the_version_header_carries_the_version_itself(routes, monkeypatch, provider, model, ask, send, version):
    """Whatever else enters the key, the header has the version and nothing more."""
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", f"anthropic-beta: b\nanthropic-version: {version}")
    route = routes.post(path__startswith="/base/").mock(return_value=httpx.Response(200))
    to = replace(model, base_url="http://localhost:8000/base?api-version=2")
    send(to=to)
    expected = version if provider.name == "anthropic" else None
    assert route.calls.last.request.headers.get("anthropic-version") == expected
    assert version_alone(provider.request(ask(to), 1, frozenset()).api_version) == (expected or "")


def keys(provider, model, ask, query=""):
    """Return the key of one question at an address with a query."""
    to = replace(model, base_url=f"http://localhost:8000/v1{query}")
    return provider.request(ask(to), 1, frozenset()).keys([0])


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("?api-version=2024", "?api-version=2025", False),
        ("", "?api-version=2024", False),
        ("?a=1&b=2", "?b=2&a=1", True),
        ("?a=1&a=2", "?a=2", True),  # the SDKs send the last
        ("?a=1%26b=2", "?a=1&b=2", False),
        ("?key=hush1&v=1", "?key=hush2&v=1", True),
        ("?sig=hush1", "", True),
        ("?access_token=hush1&code=hush&password=hush", "", True),
    ],
)
def test_a_query_enters_the_key_without_its_secrets(provider, model, ask, one, other, same):
    """Two addresses that differ in what they ask for have two keys; another secret is no other question."""
    assert (keys(provider, model, ask, one) == keys(provider, model, ask, other)) is same
    shown = provider.request(ask(replace(model, base_url=f"http://localhost:8000/v1{one}")), 1, frozenset())
    assert "hush" not in repr(shown)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("anthropic-beta: context-1m-2025-08-07", "", False),
        ("anthropic-beta: a", "anthropic-beta: b", False),
        ("x-route: a\nx-mode: b", "X-Mode:b\nX-Route:a\n", True),
        ("x-route: a\nx-route: b", "x-route: b", True),  # the SDKs send the last
        ("x-route: a\nX-Route: b", "x-route: b", True),
        ("no header", "", True),
        ("authorization: Bearer hush", "", True),
        ("Cookie: hush\nx-api-key: hush\nX-Gateway-Token: hush", "", True),
        ("x-upstream: sk-hush-hush-hush", "", True),
        ("x-stainless-retry-count: 3", "", True),
    ],
)
def test_headers_of_the_environment_enter_the_key_without_their_secrets(
    monkeypatch, provider, model, ask, one, other, same
):
    """A header that may change an answer gives other keys; another secret is no other question."""
    found = []
    for headers in (one, other):
        monkeypatch.setenv(f"{provider.name.upper()}_CUSTOM_HEADERS", headers)
        found.append(keys(provider, model, ask))
    assert (found[0] == found[1]) is same


def test_the_headers_in_the_key_are_those_that_are_sent(route, monkeypatch, provider, send):
    """What is read of the environment's headers is what the SDK makes of them."""
    text = "x-route: a\nX-Route: b\n x-mode :c: d \nno header\nx-route: e"
    monkeypatch.setenv(f"{provider.name.upper()}_CUSTOM_HEADERS", text)
    send()
    sent = route.calls.last.request.headers
    read = custom_headers(f"{provider.name.upper()}_CUSTOM_HEADERS").values
    assert read == {"x-route": "b", "x-mode": "c: d"}
    assert {name: sent.get_list(name) for name in read} == {name: [value] for name, value in read.items()}


@pytest.mark.parametrize("name", ["Authorization", "AUTHORIZATION", "x-api-key", "User-agent", "X-Stainless-Lang"])
def test_a_header_of_the_environment_takes_the_place_of_the_sdks_own(route, monkeypatch, provider, send, name):
    """However it is spelt, it is sent once, and the SDK's is not."""
    monkeypatch.setenv(f"{provider.name.upper()}_CUSTOM_HEADERS", f"{name}: Bearer mine")
    send()
    assert route.calls.last.request.headers.get_list(name) == ["Bearer mine"]


def test_the_login_of_an_address_goes_before_a_header_of_the_environment(routes, monkeypatch, provider, send):
    """A server that is named with a user and a password is sent these."""
    monkeypatch.setenv(f"{provider.name.upper()}_CUSTOM_HEADERS", "Authorization: Bearer mine\nx-team: a")
    route = routes.post(path__startswith="/base/").mock(return_value=httpx.Response(200))
    send(to=Model(provider.name, "m", "http://me:pass@localhost:8000/base"))
    sent = route.calls.last.request.headers
    assert sent.get_list("authorization") == ["Basic bWU6cGFzcw=="]
    assert sent.get_list("x-team") == ["a"]


def test_another_default_of_the_sdk_changes_nothing(route, monkeypatch, provider, model, ask, send):
    """An SDK that speaks another version by itself sends the one that the bodies are written for."""
    monkeypatch.setattr("anthropic._client.ANTHROPIC_API_VERSION", "2001-01-01", raising=False)
    send()
    expected = {"openai": None, "anthropic": "2026-10-21"}[provider.name]
    assert route.calls.last.request.headers.get("anthropic-version") == expected
    assert provider.request(ask(model), 1, frozenset()).api_version == (expected or "")


PARAMETERS = {
    ("openai", "plain"): {"max_tokens": 64, "schema": False},
    ("openai", "schema"): {"max_tokens": 64, "schema": True},
    ("openai", "temperature"): {"max_tokens": 64, "schema": False, "temperature": 0.7},
    ("openai", "logprobs"): {"max_tokens": 64, "schema": False, "top_logprobs": 20},
    ("openai", "samples"): {"max_tokens": 64, "schema": False, "n": 3},
    ("openai", "bare"): {"max_tokens": 64, "schema": False},
    ("anthropic", "temperature"): {"max_tokens": 64, "schema": False},
    ("anthropic", "schema"): {"max_tokens": 64, "schema": True},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_parameters_are_those_that_are_sent(provider, build, shape):
    """A parameter that is not in the body is not among the effective ones."""
    if (provider.name, shape) in PARAMETERS:
        assert build(shape).parameters == PARAMETERS[provider.name, shape]


@pytest.mark.parametrize(
    ("dropped", "absent"),
    [
        ("temperature", {"temperature"}),
        ("response_format", {"response_format"}),
        ("output_config", {"output_config"}),
        ("logprobs", {"logprobs", "top_logprobs"}),
        ("top_logprobs", {"top_logprobs"}),
        ("n", {"n"}),
        ("max_completion_tokens", {"max_completion_tokens"}),
    ],
)
def test_a_refused_parameter_is_left_out_alone(provider, model, ask, dropped, absent):
    """Dropping one name removes it, what hangs on it, and nothing else."""
    full = provider.request(ask(model, **EVERYTHING), 3, frozenset()).body
    less = provider.request(ask(model, **EVERYTHING), 3, frozenset({dropped})).body
    assert {name: value for name, value in full.items() if name not in absent} == {
        name: value for name, value in less.items() if name in full
    }


@pytest.mark.parametrize(
    "dropped", [{"max_tokens"}, {"max_completion_tokens"}, {"max_tokens", "max_completion_tokens"}]
)
def test_a_limit_of_tokens_always_stands(provider, model, ask, dropped):
    """Whatever a server refuses, no request asks for an answer without end."""
    body = provider.request(ask(model), 1, frozenset(dropped)).body
    assert [body[name] for name in ("max_tokens", "max_completion_tokens") if name in body] == [64]


@pytest.mark.parametrize(
    "base_url",
    ["http://localhost:8000/v1/", "HTTP://localhost:8000/v1", "http://me:secret@localhost:8000/v1?key=secret#a"],
)
def test_an_address_is_kept_without_its_secrets(provider, model, ask, base_url):
    """User, password, query and the last slash are no part of where a request goes."""
    request = provider.request(ask(replace(model, base_url=base_url)), 1, frozenset())
    assert request.base_url == "http://localhost:8000/v1"
    assert "secret" not in repr(request)


def test_the_request_of_an_ask_never_changes(provider, model, ask):
    """Two requests of one ask have the same keys."""
    one, other = (provider.request(ask(model, **EVERYTHING), 2, frozenset()) for _ in range(2))
    assert one.keys([0, 1]) == other.keys([0, 1])


def test_what_does_not_enter_the_key_is_each_providers_own():
    """A field of a body enters the key unless its own provider has named it."""

    def key(body, *left_out):
        return Request("mine", "http://h", "", "/x", {"model": "m", **body}, "m", {}, frozenset(left_out)).keys([0])

    assert key({"user": "question 1"}) != key({"user": "question 2"})
    assert key({"user": "question 1", "n": 2}, "n") != key({"user": "question 2", "n": 3}, "n")
    assert key({"user": "question 1"}, "user") == key({"user": "question 2"}, "user") == key({}, "user")


def test_the_sample_index_stands_for_the_number_of_samples(provider, model, ask):
    """How many samples a request asks for gives no other keys, and no field is left out that could change words."""
    one, three = (provider.request(ask(model, **EVERYTHING), number, frozenset()) for number in (1, 3))
    assert one.keys([0]) == three.keys([0])
    assert one.not_in_key <= {"n", "metadata", "user", "safety_identifier"}


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


def test_no_cookie_is_kept(provider, served, send_all):
    """A cookie that a server sets for one request goes out with no other: they may be of several users."""
    http = HTTP[provider.name]
    answers = [http.Response(200, json={}, headers={"set-cookie": f"seen={number}"}) for number in range(4)]
    server = served(*answers)
    send_all(server, ["a", "bb", "ccc", "dddd"])
    assert server.by_sdk == LEARNT
    assert [request.headers.get("cookie") for request in server.requests] == [None] * 4


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

"""Providers by name, what they can do, and that their secrets stay secret."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import traceback
from importlib import metadata
from urllib.parse import quote_plus

import httpx
import pytest

from bonwise.calls.ask import Model
from bonwise.calls.providers import protocol as registry
from bonwise.calls.providers.openai import OpenAI
from bonwise.calls.providers.protocol import Connection, Response
from bonwise.calls.providers.secrets import one_line
from bonwise.calls.providers.service import find_address
from bonwise.errors import CallError, UsageError
from http_libraries import HTTP


@pytest.fixture
def plug_ins(monkeypatch):
    """Return a function that installs entry points beside the built-in ones."""

    def install(**values):
        real = metadata.entry_points(group=registry.GROUP)
        extra = [metadata.EntryPoint(name, value, registry.GROUP) for name, value in values.items()]
        monkeypatch.setattr(registry, "entry_points", lambda **_: [*real, *extra])
        registry.provider.cache_clear()

    yield install
    registry.provider.cache_clear()


class Lacking:
    """A plug-in that is not a provider."""

    name = "lacking"


class Failing:
    """A plug-in that cannot be made."""

    def __init__(self):
        raise RuntimeError("no luck\nwith key sk-abcdefgh12345678")


class Third(OpenAI):
    """A plug-in that keeps the contract."""

    name = "third"


def test_the_built_in_providers_come_through_the_door_of_plug_ins():
    """Both are found by name, nothing is wrong with them, and each is made once."""
    assert registry.known().items() >= {"openai": "", "anthropic": ""}.items()
    assert registry.provider("openai") is registry.provider("openai")
    assert registry.provider("anthropic").name == "anthropic"


def test_an_unknown_name_is_told_the_known_ones():
    """The error lists what is installed."""
    with pytest.raises(
        UsageError,
        match=r"no provider 'opnai' .the providers are anthropic, cohere, jina, openai, tei, vllm, voyage.$",
    ):
        registry.provider("opnai")


def test_a_third_party_provider_is_as_good_as_a_built_in_one(plug_ins):
    """An entry point is all a plug-in needs."""
    plug_ins(third=f"{__name__}:Third")
    assert registry.provider("third").name == "third"


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("no_such_module:Thing", "ModuleNotFoundError"),
        ("bonwise.calls.providers.openai:Nothing", "AttributeError"),
        (f"{__name__}:Failing", r"RuntimeError: no luck with key \[key\]"),
        (f"{__name__}:Lacking", "it lacks capabilities, request"),
    ],
)
def test_a_broken_plug_in_is_one_line(plug_ins, value, fault):
    """A plug-in that fails is named with its fault, harms no other, and shows no traceback or secret."""
    plug_ins(broken=value)
    with pytest.raises(UsageError, match=f"the plug-in behind provider 'broken' failed: .*{fault}") as caught:
        registry.provider("broken")
    assert value in caught.value.hint
    assert "\n" not in str(caught.value)
    assert caught.value.__context__ is None
    listing = registry.known()
    assert listing["broken"] == str(caught.value)
    assert listing["openai"] == ""


def test_two_plug_ins_of_one_name_are_never_chosen_between(plug_ins):
    """A second `openai` makes the name unusable until one of them goes; the other providers stay."""
    plug_ins(openai=f"{__name__}:Third")
    with pytest.raises(UsageError, match="two plug-ins call themselves 'openai'"):
        registry.provider("openai")
    assert registry.known()["anthropic"] == ""


def test_listing_providers_imports_no_sdk():
    """Requests can be built and providers listed before an SDK is loaded."""
    code = (
        "import sys; from bonwise.calls.providers.protocol import known, provider; known();"
        "from bonwise.calls.ask import Ask, Model; from bonwise.calls.providers.rerank import question;"
        "asks = [Ask(Model(n, 'm'), '', question('q', ['d']), read=str) for n in known()];"
        "[provider(ask.model.provider).request(ask, 1, frozenset()) for ask in asks];"
        "print(*known(), *{'openai', 'anthropic', 'httpx', 'httpx2', 'pydantic', 'numpy'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["anthropic", "cohere", "jina", "openai", "tei", "vllm", "voyage"]  # no module


def test_capabilities_agree_with_the_requests(provider, model, ask):
    """What a provider says it can express is what its requests carry when asked for everything."""
    asked = ask(model, schema={"type": "object"}, temperature=0.5, top_logprobs=2)
    body = provider.request(asked, 2, frozenset()).body
    can = provider.capabilities
    carried = [name in body for name in ("temperature", "n", "logprobs")]
    assert carried == [can.temperature, can.samples, can.logprobs]
    assert can.schema == bool({"response_format", "output_config"} & body.keys())


def test_what_makes_draws_differ_is_told(provider):
    """The sentence names the temperature where there is one, and its absence where there is none."""
    assert ("temperature that was sent" in provider.capabilities.draws_differ_by) is provider.capabilities.temperature


CAUSES = [
    ("ConnectError", "{}"),
    ("ConnectError", "http://u:{}@h"),
    ("LocalProtocolError", "Illegal header value b'Bearer {}'"),
    ("ReadTimeout", "{}"),
]


def holds(error, secret):
    """Search everything that an exception can show: its words, its traceback, its locals, its causes."""
    whole = traceback.TracebackException.from_exception(error, capture_locals=False)
    shown = [str(error), repr(error), repr(error.args), repr(vars(error)), "".join(whole.format())]
    linked = [link for link in (error.__cause__, error.__context__) if link is not None]
    return any(secret in text for text in shown) or any(holds(link, secret) for link in linked)


@pytest.mark.parametrize("any_transport", [None], indirect=True)  # the errors planted are those of its library
@pytest.mark.parametrize(("cause", "said"), CAUSES)
def test_a_failure_never_shows_the_key(route, failure, provider, canaries, cause, said):
    """Whatever broke, and whatever it said, the error and all it is linked to show no key."""
    for canary in canaries:
        route.mock(side_effect=getattr(HTTP[provider.name], cause)(said.format(canary)))
        error = failure()
        assert not holds(error, canary)
        assert error.__context__ is None
        assert "\n" not in error.problem.message


@pytest.mark.parametrize("status", [302, 400, 401, 403, 404, 422, 429, 500, 529])
def test_a_server_that_repeats_the_key_is_not_quoted(route, send, provider, canaries, status):
    """A key that comes back in a body or a header is in no problem."""
    for canary in canaries:
        body = {
            "error": {"message": f"Incorrect API key provided: {canary}\nsee above", "code": canary, "type": canary}
        }
        route.mock(
            return_value=httpx.Response(status, json=body, headers={"x-echo": canary, "location": f"/{canary}"})
        )
        problem = provider.problem(send(), 0.0)
        assert canary not in repr(problem)
        assert "\n" not in problem.message


@pytest.mark.parametrize("status", [200, 201, 400, 500])
def test_no_response_holds_a_secret(routes, monkeypatch, send, provider, canaries, status):
    """Key, login, query and headers that a server repeats, however it spells them, are gone before anyone sees it."""
    mine = canaries[0] if provider.name == "openai" else canaries[1]
    monkeypatch.setenv(f"{provider.name.upper()}_CUSTOM_HEADERS", "x-gateway-key: Bearer gate/way+1+2")
    secrets = [mine, 'p"w/d1 of ours', "query/secret=", "gate/way+1+2"]
    route = routes.post(path__startswith="/base/")
    whole = json.dumps({"said": secrets, "more": "kept"})
    spelt = " ".join(way(secret) for secret in secrets for way in (str, quote_plus, json.dumps))
    content = (whole + whole.replace("/", "\\/") + spelt).encode()
    headers = {"x-request-id": mine, "x-sent": "gate/way+1+2", "x-more": "kept"}
    route.mock(return_value=httpx.Response(status, content=content, headers=headers))
    base = "http://me:p%22w%2Fd1%20of%20ours@localhost:8000/base?key=query%2Fsecret%3D"
    response = send(to=Model(provider.name, "m", base))
    seen = response.content.decode() + repr(response.headers)
    assert not any(way(secret).strip('"') in seen for secret in secrets for way in (str, quote_plus, json.dumps))
    assert (seen.count("kept"), response.headers["x-request-id"]) == (3, "[key]")


def test_what_the_libraries_log_holds_no_secret(route, monkeypatch, caplog, send, provider, canaries):
    """Neither SDK nor HTTP library writes a key or a header of the environment into a log, at any level."""
    monkeypatch.setenv(f"{provider.name.upper()}_CUSTOM_HEADERS", "x-gateway-key: gateway-secret-4e")
    caplog.set_level(logging.DEBUG)
    send()
    assert route.calls.last.request.headers["x-gateway-key"] == "gateway-secret-4e"
    assert provider.name in {record.name.partition(".")[0] for record in caplog.records}
    assert not any(secret in caplog.text for secret in (*canaries, "gateway-secret-4e"))


def test_a_query_is_sent_and_not_logged(routes, caplog, send, provider):
    """HTTP libraries log every address: what stands in its query reaches the server and no log."""
    caplog.set_level(logging.DEBUG)
    route = routes.post(path__startswith="/base/").mock(return_value=httpx.Response(200, json={}))
    send(to=Model(provider.name, "m", "http://localhost:8000/base?pwd=hunter&k=k-of-mine&api-version=2024"))
    assert dict(route.calls.last.request.url.params) == {"pwd": "hunter", "k": "k-of-mine", "api-version": "2024"}
    assert "localhost:8000/base" in caplog.text
    assert "hunter" not in caplog.text
    assert "k-of-mine" not in caplog.text


SECRET_QUERIES = [
    "pwd=Hun7",
    "pass=hunter",
    "k=hunter2",
    "otp=123456",
    "sig=abc",
    "x=c4n4Ry8Zq0T7xW2mB5",
    "c=sk-abcdef1",
]
OPEN_QUERIES = [
    "api-version=2024-10-21-preview",
    "k=5",
    "deployment=gpt-5-mini-2025-08-07",
    "compass=north",
    "region=eu",
]


@pytest.mark.parametrize("query", SECRET_QUERIES)
def test_a_secret_of_a_query_is_not_kept(query):
    """By its name or by the shape of its value: it is hidden in what comes back, and not part of what is stored."""
    value = query.partition("=")[2]
    address = find_address(f"http://localhost/v1?{query}", "NO_SUCH_URL", "")
    assert value in address.secrets
    assert value not in repr(address.open_query)


@pytest.mark.parametrize("query", OPEN_QUERIES)
def test_an_open_query_is_kept(query):
    """Versions, names and counts stay readable."""
    address = find_address(f"http://localhost/v1?{query}", "NO_SUCH_URL", "")
    assert (address.secrets, address.open_query) == ((), (tuple(query.split("=")),))


def test_values_that_look_drawn_are_told_apart():
    """A value that may be a key may be a tenant too: two of them have two keys of the ledger."""
    queries = [
        find_address(f"http://localhost/v1?tenant={value}", "NO_SUCH_URL", "").open_query
        for value in ("9b2f1c7e-3d54-4a0e-8f21-7c6a5b4d3e2f", "9b2f1c7e-3d54-4a0e-8f21-7c6a5b4d3e20")
    ]
    assert queries[0] != queries[1]


@pytest.mark.parametrize(("key", "hidden"), [("abcd", True), ("ab+d/", True), ("abc", False)])
def test_a_short_key_is_hidden_where_it_is_a_word(route, send, monkeypatch, key, hidden):
    """From 4 characters on a key is hidden in headers, errors and messages; parts of other words stay."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, key)
    content = json.dumps({"error": f"no such key: {key}, max_{key}s"}).encode()
    route.mock(return_value=httpx.Response(401, content=content, headers={"x-echo": f"Bearer {key}"}))
    response = send()
    seen = response.content.decode().replace("\\/", "/") + response.headers["x-echo"] + one_line(f"bad key {key}.")
    assert (f" {key}" not in seen) is hidden
    assert f"max_{key}s" in seen


@pytest.mark.parametrize(("status", "kept"), [(200, True), (500, False)])
def test_a_placeholder_is_a_word_of_a_paid_answer(route, send, provider, monkeypatch, status, kept):
    """Local servers take any word as a key: in an answer it is left alone, elsewhere it is hidden all the same."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "ollama")
    route.mock(return_value=httpx.Response(status, json={"said": "I like ollama"}))
    assert (b"ollama" in send().content) is kept


def test_a_user_without_a_password_is_a_secret():
    """Some services take the key as the name of a user who has no password."""
    secrets = find_address("http://me-key:@localhost", "NO_SUCH_URL", "").secrets
    assert "me-key" in secrets
    assert "me-key" not in find_address("http://me-key:hush@localhost", "NO_SUCH_URL", "").secrets


def test_a_response_without_a_secret_is_handed_on_untouched(route, send):
    """What holds no secret is as it came, byte for byte."""
    content = bytes(range(256))
    route.mock(return_value=httpx.Response(200, content=content, headers={"x-request-id": "r"}))
    response = send()
    assert (response.content, response.headers["x-request-id"]) == (content, "r")


def test_an_error_in_place_of_an_answer_shows_no_key(provider, canaries):
    """The reader's error is scrubbed as well, and does not carry the body along."""
    for content in (
        b'{"error": {"message": "bad %s"}}',
        b'"%s',
        b'{"choices": [{"message": "%s"}], "content": "%s"}',
    ):
        for canary in canaries:
            with pytest.raises(ValueError, match=r"answer|choice") as caught:
                provider.reply(content.replace(b"%s", canary.encode()))
            assert not holds(caught.value, canary)


def test_requests_and_clients_show_no_key(provider, model, ask, canaries):
    """Neither what is kept nor what connects has the key in its repr."""
    seen = repr(provider.request(ask(model), 1, frozenset())) + repr(provider) + provider.account(model)
    http = HTTP[provider.name]
    with_transport = Connection(transport=http.MockTransport(lambda _: http.Response(200)))
    seen += repr(provider.client(model, with_transport))
    assert not any(canary in seen for canary in canaries)


def test_a_key_that_no_header_can_carry_is_refused_unseen(monkeypatch, provider, model):
    """A key with a line feed inside, or with letters that headers do not know, is an error that hides it."""
    for key in ("first-half\nsecond-half", "schl\u00fcssel-key"):
        monkeypatch.setenv(f"{provider.name.upper()}_API_KEY", key)
        with pytest.raises(CallError, match="holds characters that no key has") as caught:
            provider.client(model, Connection())
        assert not holds(caught.value, "half")
        assert not holds(caught.value, "schl")


@pytest.mark.parametrize(
    "said",
    [
        "sk-abcdefgh12345678",
        "sk-proj-ab_cd-ef*****************wxyz",
        "sk-ant-api03-AbCd_1234",
        "Bearer abc.def.ghi-123",
        "hf_abcdefghijk",
        "AIzaSyAbcdefghij1234567",
    ],
)
def test_what_looks_like_a_key_is_taken_for_one(said):
    """A key that is not ours is scrubbed by its looks, masked or not, and the sentence around it stays."""
    line = one_line(f"Incorrect key: {said}, see docs")
    assert said.removeprefix("Bearer ") not in line
    assert line.startswith("Incorrect key: ")
    assert line.endswith("[key], see docs")


def test_secrets_of_other_variables_are_scrubbed_too(monkeypatch):
    """Keys of gateways and values of custom headers are secrets as well."""
    monkeypatch.setenv("MY_GATEWAY_TOKEN", "gateway-secret")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "x-team: team-secret\nx-more: more-secret")
    assert one_line("gateway-secret team-secret more-secret") == "[key] [key] [key]"


def test_a_message_is_short_and_quotes_no_request(provider):
    """A validation error that repeats the request is cut before it does, and no message is long."""
    said = "[{'loc': ('body', 'messages'), 'msg': 'Field required', 'input': 'the words of a prompt'}]" + "x" * 9999
    problem = provider.problem(Response(400, {}, json.dumps({"message": said}).encode()), 0.0)
    assert "Field required" in problem.message
    assert "words of a prompt" not in problem.message
    detail = b'{"detail": [{"loc": ["body", "messages"], "msg": "too long", "input": "the words of a prompt"}]}'
    problem = provider.problem(Response(422, {}, detail), 0.0)
    assert problem.message == "the server answered HTTP 422: 'messages': too long"
    long = provider.problem(Response(400, {}, b'{"message": "%s"}' % (b"x" * 9999)), 0.0)
    assert len(long.message) < 340

"""What of a user's client enters the ledger's key, and that its secrets are found nowhere."""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools
import json
import logging
import re
import traceback
from urllib.parse import quote

import openai
import pytest

import bonwise as bw
from bonwise.calls.ask import Ask, Model
from bonwise.calls.engine import MOST_CLIENTS, Engine
from bonwise.calls.providers.protocol import provider
from bonwise.calls.providers.secrets import held_secrets
from bonwise.calls.providers.supplied import supplied_model
from bonwise.judges.scoring import judge_pools
from bonwise.table.pools import Candidate, Pool
from bonwise.testing import Script
from bonwise.testing.script import Delivery
from bonwise.testing.wire import WireResponse
from calls.clients.makers import SECRETS, SIGNS, Maker
from calls.clients.recorder import recording

# What of a user's client enters the ledger's key, and what tells the endpoints of clients apart.


URL = "http://127.0.0.1:9"


def request(maker, client):
    """Return the request that a question becomes."""
    ask = Ask(supplied_model(maker.model, client), "Judge.", "Why?", read=str)
    return provider(maker.service).request(ask, 1, frozenset())


def key(maker, url=URL, **settings):
    """Return the key of a question that a client sends, which is closed."""
    client = maker(url, **settings)
    found = request(maker, client).keys([0])[0]
    asyncio.run(client.close()) if maker.asynchronous else client.close()
    return found


OTHER_SETTINGS = {
    "OpenAI": [
        {"base_url": "http://127.0.0.1:8/v1"},
        {"base_url": "http://127.0.0.1:9/v2"},
        {"default_headers": {"x-mode": "strict"}},
        {"default_query": {"mode": "strict"}},
    ],
    "AzureOpenAI": [
        {"azure_endpoint": "http://127.0.0.1:8"},
        {"azure_deployment": "one"},
        {"azure_deployment": "two"},
        {"api_version": "2025-01-01"},
        {"default_headers": {"x-mode": "strict"}},
    ],
    "Anthropic": [
        {"base_url": "http://127.0.0.1:8"},
        {"default_headers": {"anthropic-beta": "context-1m-2025-08-07"}},
        {"default_headers": {"anthropic-version": "2023-06-01"}},
    ],
    "AnthropicBedrock": [
        {"base_url": "http://127.0.0.1:8"},
        {"aws_region": "us-east-1"},
        {"default_headers": {"anthropic-beta": "context-1m-2025-08-07"}},
    ],
    "AnthropicVertex": [{"base_url": "http://127.0.0.1:8/v1"}, {"region": "us-east5"}],
}
"""Settings that may change an answer."""

SAME_SETTINGS = {
    "OpenAI": [
        {"api_key": "another-key-0a1b2c"},
        {"timeout": 3},
        {"organization": "org-1", "project": "proj-1"},
        {"default_headers": {"x-api-key": "canary-1"}},
        {"default_query": {"api-key": "canary-1"}},
        {"base_url": "http://me:hush@127.0.0.1:9/v1/"},
    ],
    "AzureOpenAI": [{"api_key": None, "azure_ad_token": "a-token-0a1b2c"}, {"azure_endpoint": "http://127.0.0.1:9/"}],
    "Anthropic": [{"api_key": None, "auth_token": "a-token-0a1b2c"}, {"max_retries": 1}],
    "AnthropicBedrock": [{"aws_secret_key": "another-secret-0a"} if SIGNS else {"api_key": "another-key-0a1b2c"}],
    "AnthropicVertex": [{"access_token": "another-token-0a"}, {"project_id": "another-project"}],
}
"""Settings that say whose the account is, or how it is reached."""


def test_clients_that_differ_have_other_keys(maker):
    """Class, host, deployment, version of the API, region and open headers tell clients apart."""
    kind = maker.kind.removeprefix("Async")
    found = [key(maker), *(key(maker, **settings) for settings in OTHER_SETTINGS[kind])]
    assert len(set(found)) == len(found)


def test_clients_that_send_the_same_have_one_key(maker):
    """Neither a secret nor the account nor a time-out enters the key, and sync and async clients share it."""
    kind = maker.kind.removeprefix("Async")
    found = {key(maker, **settings) for settings in SAME_SETTINGS[kind]}
    assert found == {key(maker), key(Maker(kind))}


def test_every_class_has_a_key_of_its_own():
    """The class enters the key, and so does the fact that there is a client at all."""
    assert len({key(Maker(kind)) for kind in ("AnthropicBedrock", "Anthropic")}) == 2
    plain = Ask(Model("openai", "gpt-5-mini", f"{URL}/v1"), "Judge.", "Why?", read=str)
    without = provider("openai").request(plain, 1, frozenset())
    with Maker("OpenAI")(URL) as client:
        with_client = request(Maker("OpenAI"), client)
    assert (with_client.base_url, with_client.content) == (without.base_url, without.content)
    assert (without.api_version, with_client.api_version) == ("", "#client=OpenAI")


def test_what_is_kept_of_a_client_is_readable_and_stays(sync_maker):
    """Address and version as the ledger shows them; they are what keys of later releases must give again."""
    with sync_maker("https://host.example") as client:
        found = request(sync_maker, client)
    assert (found.base_url, found.api_version, found.endpoint) == {
        "OpenAI": ("https://host.example/v1", "#client=OpenAI", "/chat/completions"),
        "AzureOpenAI": (
            "https://host.example/openai",
            "?api-version=2024-10-21#client=AzureOpenAI",
            "/chat/completions",
        ),
        "Anthropic": ("https://host.example", "2026-10-21#client=Anthropic", "/v1/messages"),
        "AnthropicBedrock": ("https://host.example", "#client=AnthropicBedrock&region=eu-west-1", "/v1/messages"),
        "AnthropicVertex": ("https://host.example/v1", "#client=AnthropicVertex&region=eu-west-1", "/v1/messages"),
    }[sync_maker.kind]


def test_a_subclass_of_the_user_s_is_its_parent():
    """The key names the SDK's class: a name that only one program knows would lose its ledger."""

    class Ours(openai.AzureOpenAI):
        """Adds nothing."""

    maker = Maker("AzureOpenAI")
    settings = {"api_key": SECRETS["api_key"], "azure_endpoint": URL, "api_version": "2024-10-21"}
    with Ours(**settings) as client:
        assert request(maker, client).keys([0])[0] == key(maker)


def test_endpoints_are_told_apart_by_client():
    """Two clients of one server have endpoints of their own, and no word of a endpoint shows a key."""
    maker = Maker("OpenAI")

    async def main():
        async with Engine() as engine:
            with maker(URL) as first, maker(URL, api_key="canary-other-key-77") as second:
                judges = [bw.Pointwise(maker.model, client=one) for one in (first, first, second)]
                endpoints = [engine.endpoint(judge.asks("p", ["a"])[0]) for judge in judges]
                plain = engine.endpoint(bw.Pointwise(maker.model, base_url=f"{URL}/v1").asks("p", ["a"])[0])
                assert endpoints[0] is endpoints[1]
                assert len({*map(id, endpoints), id(plain)}) == 3
                accounts = [endpoint.provider.account(endpoint.model) for endpoint in endpoints]
                assert accounts[0] != accounts[2]
                shown = " ".join(
                    [*accounts, *map(repr, endpoints), *(repr(endpoint.model) for endpoint in endpoints)]
                )
                assert "canary" not in shown

    asyncio.run(main())


def test_an_engine_does_not_keep_every_client():
    """An engine that all share outlives clients made for one request each: it keeps the last endpoints only."""
    maker = Maker("OpenAI")

    async def main():
        async with Engine() as engine:
            clients = [maker(URL) for _ in range(MOST_CLIENTS + 1)]
            asks = [bw.Pointwise(maker.model, client=one).asks("p", ["a"])[0] for one in clients]
            first = engine.endpoint(asks[0])
            for ask in asks[:-1]:
                engine.endpoint(ask)
            assert engine.endpoint(asks[0]) is first
            second = engine.endpoint(asks[1])
            engine.endpoint(asks[0])
            for ask in asks[2:]:
                engine.endpoint(ask)
            assert engine.endpoint(asks[0]) is first
            assert engine.endpoint(asks[1]) is not second
            for one in clients:
                one.close()

    asyncio.run(main())


@pytest.mark.parametrize("kind", ["OpenAI", "AsyncOpenAI"])
def test_a_key_that_is_renewed_is_one_account(kind):
    """A function that returns the key anew for each request leaves the account, and so its pace, as it is."""
    maker = Maker(kind)
    client = maker(URL, api_key=lambda: "canary-1")
    model = supplied_model(maker.model, client)
    before = provider("openai").account(model)
    client.api_key = "canary-renewed-2"
    assert provider("openai").account(model) == before
    with Maker("OpenAI")(URL) as other:
        stated = supplied_model(maker.model, other)
        before = provider("openai").account(stated)
        other.api_key = "canary-renewed-2"
        assert provider("openai").account(stated) != before
    asyncio.run(client.close()) if maker.asynchronous else client.close()


# The secrets of a user's client are found nowhere: not in files, logs, reprs or tracebacks, however a call ends.


CANARY = "canary"
"""Every secret here begins with it."""

LOGIN = "canary-user-51:canary-password-ab"
HEADERS = {"x-gateway-key": "Bearer canary-gateway-9912ab", "x-mode": "strict"}
QUERY = {"sig": "canary-query-c9d3e1f0"}
POOLS = [Pool("p", "Name a colour", (Candidate("a", "red"), Candidate("b", "a long answer")))]


class Repeating(Script):
    """Answers with one status, and repeats in body and headers what it was sent, also the parts of a signature."""

    def __init__(self, status, known=()):
        super().__init__()
        self.status, self.known = status, known

    def receive(self, method, path, headers, content, now):
        """Repeat it all, in several spellings."""
        delivery = super().receive(method, path, headers, content, now)
        signed = re.findall(r"(?:Credential|Signature)=([^\s,/]+)", headers.get("authorization", ""))
        seen = [*self.known, *signed, *headers.values()]
        spelt = " ".join(way(one) for one in seen for way in (str, lambda one: quote(one, safe=""), json.dumps))
        answered = delivery.response
        said = json.loads(answered.content) if self.status == 200 else {"error": {"message": spelt, "code": "error"}}
        body = json.dumps({**said, "debug": seen}).encode()
        shown = {**answered.headers, "x-request-id": seen[0], "x-echo": headers.get("authorization", "none")}
        return Delivery(WireResponse(self.status, shown, body), digest=delivery.digest)


@pytest.fixture
def logs(caplog):
    """Catch what bonwise logs, at every level."""
    caplog.set_level(logging.DEBUG, logger="bonwise")
    return lambda: "".join(record.getMessage() for record in caplog.records if record.name.startswith("bonwise"))


def leaks(shown, words=(CANARY,)):
    """Return where a secret is found, and a part of what stands there."""
    texts = {name: one.decode(errors="replace") if isinstance(one, bytes) else one for name, one in shown.items()}
    found = {(name, text.find(word)): text for name, text in texts.items() for word in words if word in text}
    return [(name, text[max(0, at - 60) : at + 60]) for (name, at), text in found.items()]


def asked(maker, client, run, **settings):
    """Judge by a client with an engine made for it; return all that was to be seen of it."""
    judge = bw.Pointwise(maker.model, client=client)
    shown = {"judge": f"{judge!r} {judge} {judge.name} {judge.version}"}

    async def main():
        engine = Engine(run, attempts=2, **settings)
        try:
            found = [one async for one in judge_pools(POOLS, [judge], engine)]
            shown["judgments"] = repr(found)
            shown["denial"] = f"{engine.denial()} {engine.denial()!r}"
        except Exception as error:  # noqa: BLE001 - what it says is the point
            shown["error"] = "".join(traceback.format_exception(error, chain=True)) + repr(error) + repr(vars(error))
        ask = judge.asks("a prompt", ["a candidate"])[0]
        endpoint = engine.endpoint(ask)
        parts = [
            *vars(endpoint).values(),
            ask,
            ask.model,
            ask.model.client,
            engine.totals,
            engine.terms,
            endpoint.denied,
        ]
        parts += [provider(maker.service).request(ask, 1, frozenset()), *(line.client for line in endpoint._lines)]
        shown["parts"] = "\n".join(map(repr, parts))
        await engine.aclose()
        if maker.asynchronous:
            await client.close()

    asyncio.run(main())
    if not maker.asynchronous:
        client.close()
    return shown | {str(path): path.read_bytes() for path in run.rglob("*") if path.is_file()}


@pytest.mark.parametrize("status", [200, 400, 401, 500])
def test_a_server_that_repeats_it_all(maker, tmp_path, logs, status):
    """Whatever a server repeats of keys, tokens, signature, login, headers and query is gone before it is kept."""
    known = [*maker.secrets, *HEADERS.values(), *QUERY.values(), LOGIN.partition(":")[2]]
    with recording(Repeating(status, known)) as recorder:
        url = recorder.url.replace("://", f"://{LOGIN}@")
        client = maker(url, default_headers=HEADERS, default_query=QUERY)
        shown = asked(maker, client, tmp_path) | {"logs": logs()}
        assert {"sig" in one.target for one in recorder.arrived} == {True}
        assert {"x-gateway-key" in one.headers for one in recorder.arrived} == {True}
        sent = " ".join(" ".join(one.headers.values()) for one in recorder.arrived)
        assert CANARY in sent
    assert any(path.endswith(".sqlite") for path in shown)
    assert leaks(shown) == []
    assert "[key]" in " ".join(map(str, shown.values()))
    assert "Signature=" not in str(shown)


RENEWED = {
    "OpenAI": lambda tokens: {"api_key": lambda: next(tokens)},
    "AzureOpenAI": lambda tokens: {"api_key": None, "azure_ad_token_provider": lambda: next(tokens)},
}


def renewing(tokens):
    """Return credentials of Google that are renewed for each request."""
    credentials = pytest.importorskip("google.auth.credentials")

    class Renewed(credentials.Credentials):
        """Expired whenever it is looked at."""

        @property
        def expired(self):
            return True

        def refresh(self, _request):
            """Take the next token."""
            self.token = next(tokens)
            self.expiry = dt.datetime(2020, 1, 1)  # noqa: DTZ001 - as the library has it

    return Renewed()


@pytest.mark.parametrize("kind", ["OpenAI", "AsyncOpenAI", "AzureOpenAI", "AsyncAzureOpenAI"])
@pytest.mark.parametrize("status", [200, 400])
def test_a_token_that_is_renewed_is_hidden_too(tmp_path, kind, status):
    """What a function returns anew for each request is known only from what was sent, and hidden all the same."""
    maker, numbers = Maker(kind), itertools.count()
    tokens = (f"canary-renewed-token-{number:06}" for number in numbers)
    settings = RENEWED[kind.removeprefix("Async")](tokens)
    if maker.asynchronous and kind == "AsyncOpenAI":

        async def renewed():
            return next(tokens)

        settings = {"api_key": renewed}
    with recording(Repeating(status)) as recorder:
        shown = asked(maker, maker(recorder.url, **settings), tmp_path)
        assert len({one.headers["authorization"] for one in recorder.arrived}) == len(recorder.arrived) == 2
    assert leaks(shown) == []


@pytest.mark.parametrize("kind", ["AnthropicVertex", "AsyncAnthropicVertex"])
def test_credentials_that_are_renewed_are_hidden_too(tmp_path, kind):
    """Vertex renews its credentials by itself: the token that was sent is hidden."""
    maker = Maker(kind)
    credentials = renewing(f"canary-renewed-token-{number:06}" for number in itertools.count())
    with recording(Repeating(200)) as recorder:
        client = maker(recorder.url, access_token=None, credentials=credentials)
        shown = asked(maker, client, tmp_path)
        assert all(one.headers["authorization"].startswith("Bearer canary") for one in recorder.arrived)
    assert leaks(shown) == []


FAILURES = {
    # In the event loop of an asynchronous client, an interrupt is the program's.
    "AzureOpenAI": [
        ValueError,
        RuntimeError,
        StopIteration,
        ConnectionError,
        KeyboardInterrupt,
        asyncio.CancelledError,
    ],
    "AsyncAzureOpenAI": [ValueError, RuntimeError, StopIteration, ConnectionError, asyncio.CancelledError],
}


@pytest.mark.parametrize(("kind", "error"), [(kind, error) for kind, errors in FAILURES.items() for error in errors])
def test_a_function_that_returns_no_token_is_not_quoted(tmp_path, kind, error):
    """What a user's own function raises may hold a secret: its kind is said, and nothing was sent."""
    maker = Maker(kind)

    def failing():
        raise error("canary-token-in-an-error-1234")

    with recording(Script()) as recorder:
        client = maker(recorder.url, api_key=None, azure_ad_token_provider=failing)
        shown = asked(maker, client, tmp_path)
        assert recorder.arrived == []
    assert leaks(shown) == []
    wrapped = {StopIteration} if maker.asynchronous else {StopIteration, KeyboardInterrupt, asyncio.CancelledError}
    said = "RuntimeError" if error in wrapped else error.__name__
    assert f"the client given as client= could not send ({said})" in shown["judgments"]


def test_what_the_sdk_lacks_is_said(tmp_path, monkeypatch):
    """A package that the user's SDK needs is named: that message is no secret."""
    maker = Maker("AnthropicBedrock")

    def absent(*_, **__):
        raise ImportError("install the package extra-for-signing")

    with recording(Script()) as recorder:
        client = maker(recorder.url)
        monkeypatch.setattr(client, "_prepare_request", absent)
        shown = asked(maker, client, tmp_path)
    assert "(ImportError: install the package extra-for-signing)" in shown["judgments"]


def test_a_key_that_boto3_finds_is_hidden(tmp_path, monkeypatch):
    """Such a key stands nowhere but in the signature that was sent."""
    pytest.importorskip("boto3")
    for name, secret in (("ACCESS_KEY_ID", "api_key"), ("SECRET_ACCESS_KEY", "secret"), ("SESSION_TOKEN", "session")):
        monkeypatch.setenv(f"AWS_{name}", SECRETS[secret])
    stated = dict.fromkeys(("aws_access_key", "aws_secret_key", "aws_session_token"))
    # The SDK keeps what it found for a region, in this process maybe in another test.
    stated["aws_region"] = "eu-north-1"
    with recording(Repeating(200)) as recorder:
        shown = asked(Maker("AnthropicBedrock"), Maker("AnthropicBedrock")(recorder.url, **stated), tmp_path)
        assert SECRETS["api_key"] in recorder.arrived[0].headers["authorization"]
    assert leaks(shown) == []


def test_a_placeholder_is_no_secret():
    """What a client says in place of an absent key is a word like any other."""
    with Maker("AzureOpenAI")("http://127.0.0.1:9", api_key=None, azure_ad_token=SECRETS["token"]) as client:
        assert held_secrets(client) == (SECRETS["token"],)

"""What of a user's client enters the ledger's key, and what tells the endpoints of clients apart."""

from __future__ import annotations

import asyncio

import openai
import pytest

import bonwise as bw
from bonwise.calls.ask import Ask, Model
from bonwise.calls.engine import MOST_CLIENTS, Engine
from bonwise.calls.providers.protocol import provider
from bonwise.calls.providers.supplied import supplied_model
from calls.clients.makers import SECRETS, SIGNS, Maker

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
    "AnthropicBedrock": [
        {"aws_secret_key": "another-secret-0a"} if SIGNS else {"api_key": "another-key-0a1b2c"},
    ],
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
        "AnthropicBedrock": (
            "https://host.example",
            "#client=AnthropicBedrock&region=eu-west-1",
            "/v1/messages",
        ),
        "AnthropicVertex": (
            "https://host.example/v1",
            "#client=AnthropicVertex&region=eu-west-1",
            "/v1/messages",
        ),
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

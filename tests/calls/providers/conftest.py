"""Keys that must never be seen, and short ways to ask and to send."""

from __future__ import annotations

import asyncio
import os
from contextlib import nullcontext

import httpx
import pytest

from bonwise.calls.ask import Ask, AttemptError, Model
from bonwise.calls.providers.anthropic import Anthropic
from bonwise.calls.providers.openai import OpenAI
from bonwise.calls.providers.protocol import Connection
from calls.routed_port import behind_a_port

CANARIES = {"OPENAI_API_KEY": "canary-openai-8f2a6b", "ANTHROPIC_API_KEY": "canary-anthropic-91cc04"}
MODELS = {"openai": Model("openai", "gpt-5-mini"), "anthropic": Model("anthropic", "claude-opus-5")}
URLS = {"openai": "https://api.openai.com/v1/chat/completions", "anthropic": "https://api.anthropic.com/v1/messages"}


@pytest.fixture(autouse=True)
def canaries(monkeypatch):
    """Set a known key for each provider, and nothing else that the SDKs read."""
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "ANTHROPIC_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    for name, value in CANARIES.items():
        monkeypatch.setenv(name, value)
    return tuple(CANARIES.values())


@pytest.fixture(params=["openai", "anthropic"])
def provider(request):
    """Each provider in turn."""
    return {"openai": OpenAI, "anthropic": Anthropic}[request.param]()


@pytest.fixture
def model(provider):
    """Return a model of the provider in turn."""
    return MODELS[provider.name]


@pytest.fixture
def route(routes, provider):
    """Return the one address that answers, until told otherwise with an empty object."""
    return routes.post(URLS[provider.name]).mock(return_value=httpx.Response(200, json={}))


@pytest.fixture
def ask():
    """Return a maker of asks."""

    def make(model, **settings):
        given = {"system": "Judge the answer.", "user": "Two and two is four.", "max_tokens": 64, **settings}
        return Ask(model, read=str, **given)

    return make


@pytest.fixture
def send(provider, model, ask, any_transport, request, monkeypatch):
    """Return a function that sends one plain request, by each transport in turn, and gives its response."""
    # The router stands in for the network in the SDKs' own libraries; for aiohttp it answers behind a port.
    routed = any_transport is not None and "routes" in request.fixturenames
    router = request.getfixturevalue("routes") if routed else None

    def run(*, to=model, **settings):
        async def main():
            async with behind_a_port(router, monkeypatch) if routed else nullcontext():
                client = provider.client(to, Connection(transport=any_transport))
                try:
                    return await client.send(provider.request(ask(to, **settings), 1, frozenset()))
                finally:
                    await client.aclose()

        return asyncio.run(main())

    return run


@pytest.fixture
def failure(send):
    """Return a function that sends one plain request in vain and gives the error."""

    def run(**settings):
        with pytest.raises(AttemptError) as caught:
            send(**settings)
        return caught.value

    return run

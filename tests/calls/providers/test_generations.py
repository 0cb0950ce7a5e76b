"""Each SDK is sent with the HTTP library it stands on, whatever the other one stands on."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from importlib.metadata import version

import pytest

import bonwise as bw
from bonwise.calls.ledger.ledger import Ledger
from bonwise.calls.providers.protocol import Connection, http_library, library_of
from bonwise.testing import FakeTransport, Script
from bonwise.testing.stand_in import stand_in
from calls.virtual_time import run_virtual
from http_libraries import HTTP, INSTALLED, SDKS, each_library

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

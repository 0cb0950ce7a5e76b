"""Rules that every transport keeps: certificates, proxies, redirects, large questions; also once a client is warm."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from types import SimpleNamespace

import pytest

from bonwise.calls.ask import AttemptError, Model
from bonwise.calls.providers import clients
from bonwise.calls.providers.protocol import Connection
from bonwise.calls.providers.service import read_address
from calls.recorded_port import Recorded, listening
from http_libraries import INSTALLED

WARM = 3
"""Requests of a client, of different lengths, after which it has learnt how the SDK makes them."""


@pytest.fixture
def outcome(provider, ask, any_transport):
    """Return what sends to an address by one client, and returns the last response or the problem."""

    async def of(url, texts=("a",), **settings):
        model = Model(provider.name, "m", url)
        client = provider.client(model, Connection(transport=any_transport, **settings))
        try:
            for text in texts:
                response = await client.send(provider.request(ask(model, user=text), 1, frozenset()))
        except AttemptError as error:
            return error.problem
        finally:
            await client.aclose()
        return response

    return of


ENDS = {
    "cut": (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{", ("broken", True)),
    "hung up": (b"", ("broken", True)),
    "another protocol": (b"220 smtp.example.org\r\n", ("broken", True)),
    "switching": (b"HTTP/1.1 101 x\r\nupgrade: y\r\n\r\n", ("broken", True)),
    "not packed": (b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 5\r\n\r\nplain", ("broken", True)),
    "throttled": (b"HTTP/1.1 429 x\r\ncontent-length: 0\r\n\r\n", 429),
}


@pytest.mark.parametrize("well", [0, WARM])
@pytest.mark.parametrize("end", ENDS)
def test_what_comes_of_a_request_is_the_same(outcome, end, well):
    """By each transport, and for the first request as for those that are made without the SDK."""
    said, expected = ENDS[end]

    async def main():
        async with listening(Recorded(said, well=well)) as port:
            return await outcome(f"http://127.0.0.1:{port}", ["a" * length for length in range(1, well + 2)])

    found = asyncio.run(main())
    assert (found.status if isinstance(expected, int) else (found.kind, found.sent)) == expected


@pytest.mark.parametrize("well", [0, WARM])
def test_no_redirect_is_followed(outcome, well):
    """Neither key nor prompt goes to a server that another server names."""

    async def main():
        other = Recorded()
        async with listening(other) as elsewhere:
            moved = b"HTTP/1.1 307 x\r\nlocation: http://127.0.0.1:%d/\r\ncontent-length: 0\r\n\r\n" % elsewhere
            async with listening(Recorded(moved, well=well)) as port:
                found = await outcome(f"http://127.0.0.1:{port}", ["a" * length for length in range(1, well + 2)])
        return found.status, other.heads

    assert asyncio.run(main()) == (307, [])


@pytest.mark.parametrize("well", [0, WARM])
def test_a_large_question_is_sent_whole(outcome, well):
    """Every byte of more than a mebibyte arrives."""

    async def main():
        server = Recorded(well=well)
        async with listening(server) as port:
            texts = ["a" * length for length in range(1, well + 1)]
            found = await outcome(f"http://127.0.0.1:{port}", [*texts, "~" * 3 * 2**20])
        return found.status, server.bodies[-1].count(b"~")

    assert asyncio.run(main()) == (200, 3 * 2**20)


def test_a_handshake_that_never_ends_was_no_connection(outcome):
    """A server that takes connections and says nothing gets no request within the time to connect."""

    async def serve(reader, writer):
        await reader.read()
        writer.close()

    async def main():
        async with listening(SimpleNamespace(serve=serve)) as port:
            return await outcome(f"https://127.0.0.1:{port}", connect_timeout=0.2)

    found = asyncio.run(main())
    assert (found.kind, found.sent) == ("timeout", False)


@pytest.fixture
def certificate(tmp_path):
    """Make a certificate of this machine, which nobody trusts yet."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    key, found = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1"
    where = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(found)]
    subprocess.run([*command.split(), *where], check=True, capture_output=True)
    clients._certificates.cache_clear()
    yield key, found
    clients._certificates.cache_clear()


@pytest.mark.parametrize("trusted", [True, False])
def test_a_certificate_is_checked(outcome, certificate, monkeypatch, trusted):
    """What ``SSL_CERT_FILE`` names is trusted; a server with another certificate gets no request."""
    key, found = certificate
    served = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    served.load_cert_chain(found, key)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(found))

    async def main():
        server = Recorded()
        async with listening(server, ssl=served) as port:
            return await outcome(f"https://127.0.0.1:{port}"), server.heads

    came, heads = asyncio.run(main())
    if trusted:
        assert (came.status, len(heads)) == (200, 1)
    else:
        assert (came.kind, came.sent, heads) == ("broken", False, [])


def test_a_proxy_that_refuses_a_tunnel_sees_no_key(outcome, canaries, monkeypatch):
    """Nothing was sent, neither key nor prompt left in the clear, and the proxy's password is not repeated."""

    async def main():
        refusing = Recorded(b"HTTP/1.1 407 no\r\ncontent-length: 0\r\n\r\n")
        async with listening(refusing) as port:
            monkeypatch.setenv("HTTPS_PROXY", f"http://proxy-user:proxy-hush@127.0.0.1:{port}")
            return await outcome("https://nowhere.invalid"), refusing

    found, refusing = asyncio.run(main())
    assert (found.kind, found.sent) == ("broken", False)
    assert refusing.heads[0].startswith("CONNECT nowhere.invalid:443 ")
    assert refusing.bodies == [b""]
    assert not any(canary in refusing.heads[0] for canary in canaries)
    assert "hush" not in repr(found)


URLS = [
    "http://example.com/v1",
    "https://example.com/v1",
    "https://api.example.com/v1",
    "https://notexample.com/v1",
    "http://example.com:8080/v1",
    "http://localhost:8000/v1",
    "http://127.0.0.1:8000/v1",
    "http://192.168.3.4/v1",
    "http://[::1]:8000/v1",
]
PROXIES = [{"HTTP_PROXY": "http://one:1"}, {"HTTPS_PROXY": "http://two:2"}, {"ALL_PROXY": "three:3"}]
EXCEPTED = [
    "",
    "*",
    "example.com",
    ".example.com",
    " other.org , .EXAMPLE.com",
    ".example.com:8080",
    "localhost,127.0.0.1,::1",
    "http://example.com",
    "example.com:8080",
    "a,*,b",
    "com",
]


def through_proxy(http):
    """Return the addresses that a client of an HTTP library reaches through a proxy."""
    with http.Client(verify=ssl.create_default_context()) as client:
        pools = {url: client._transport_for_url(http.URL(url))._pool for url in URLS}
    return [url for url, pool in pools.items() if getattr(pool, "_proxy_url", None) is not None]


@pytest.mark.parametrize("proxies", PROXIES, ids="".join)
def test_nothing_is_taken_past_a_proxy(monkeypatch, proxies):
    """Where the usual transport goes through a proxy, no other transport goes without it."""
    past = []
    for name, value in proxies.items():
        monkeypatch.setenv(name, value)
    for excepted in EXCEPTED:
        monkeypatch.setenv("NO_PROXY", excepted)
        proxied = {url for http in INSTALLED for url in through_proxy(http)}
        past += [(excepted, url) for url in proxied if not clients._is_behind_proxy(read_address(url, "the test"))]
    assert past == []


@pytest.mark.parametrize("excepted", ["example.com", "*", ".com", "localhost, example.com"])
def test_what_is_excepted_needs_no_proxy(monkeypatch, excepted):
    """The faster transport then serves it."""
    monkeypatch.setenv("ALL_PROXY", "http://one:1")
    monkeypatch.setenv("NO_PROXY", excepted)
    assert not clients._is_behind_proxy(read_address("http://example.com/v1", "the test"))

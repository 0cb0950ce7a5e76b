"""An answer larger than anyone reads is paid for once."""

from __future__ import annotations

import asyncio

import pytest

from bonwise.calls.ask import Ask, Model
from bonwise.calls.engine import Engine
from bonwise.calls.ledger.ledger import Ledger
from bonwise.calls.providers.clients import LARGEST
from bonwise.calls.providers.protocol import Connection
from calls.virtual_time import run_virtual
from http_libraries import HTTP

HTTPX = HTTP["openai"]
MODEL = Model("openai", "m", "http://scripted/v1")
REASON = "the response of http://scripted is larger than 32 MiB"
CHUNK = bytes(2**20)


class Large(HTTPX.AsyncByteStream):
    """A body of a size, in parts, as it comes over a network."""

    def __init__(self, size):
        self.size = size

    async def __aiter__(self):
        for _ in range(self.size // len(CHUNK)):
            yield CHUNK
        yield CHUNK[: self.size % len(CHUNK)]


class Service(HTTPX.AsyncBaseTransport):
    """Answers every request with a body of the same size and counts them."""

    def __init__(self, status, *, size=LARGEST + 1, streamed=True):
        self.status, self.size, self.streamed = status, size, streamed
        self.requests = 0

    async def handle_async_request(self, request):  # noqa: ARG002 - the interface of a transport
        """Answer at once."""
        self.requests += 1
        body = {"stream": Large(self.size)} if self.streamed else {"content": bytes(self.size)}
        return HTTPX.Response(self.status, headers={"content-type": "application/json"}, **body)


def ask(service, *, numbers=(0,), **settings):
    """Ask numbered questions through an engine of their own; return their readings and what it counted."""

    async def main():
        async with Engine(connection=Connection(transport=service), **settings) as engine:
            asks = (Ask(MODEL, "Judge.", f"Question {number}?", lambda choice: choice) for number in numbers)
            found = await asyncio.gather(*(engine.ask(one) for one in asks))
            return [answers.answers[0].reading for answers in found], engine

    return run_virtual(main())


@pytest.mark.parametrize("streamed", [True, False])
def test_what_is_too_large_is_asked_for_once(tmp_path, streamed):
    """One request, an answer that is final and not owed, with its reason; from the ledger it says the same."""
    service = Service(200, streamed=streamed)
    for unknown in (1, 0):
        (reading,), engine = ask(service, ledger=tmp_path)
        assert (reading.reason, reading.owed) == (REASON, False)
        assert service.requests == 1
        bill = engine.totals.bill
        assert (bill.calls, bill.unknown, bill.owed, bill.from_ledger) == (0, unknown, 0, 1 - unknown)
        assert engine.totals.unscored == 1
        assert engine.totals.retries == 0


def test_what_was_too_large_stands_in_the_ledger(tmp_path):
    """The call is refused for good, may have been billed, and nobody knows what it cost."""
    ask(Service(200), ledger=tmp_path)
    with Ledger.open(tmp_path) as ledger:
        (row,) = ledger.rows()
        stats = ledger.stats()
    assert (row.state, row.status, row.raw, row.note) == ("rejected", 200, b"", REASON)
    assert (row.attempts, row.lost_attempts, row.cost) == (1, 1, None)
    assert (stats.calls, stats.lost_attempts) == ({"rejected": 1}, 1)


def test_what_was_too_large_is_asked_for_again_where_that_is_wanted(tmp_path):
    """Who asks for a second reading of what is unscored pays for it once more, and no oftener."""
    service = Service(200)
    ask(service, ledger=tmp_path)
    for _ in range(2):
        (reading,), _ = ask(service, ledger=tmp_path, reask=1)
        assert reading.reason == REASON
        assert service.requests == 2


def test_what_is_too_large_is_charged_at_its_worst(tmp_path):
    """A limit on tokens reckons with the answer that nobody could count."""
    service = Service(200)
    _, engine = ask(service, ledger=tmp_path, max_tokens=10**6)
    assert engine.spending.tokens == 0
    assert engine.spending.possible_tokens > 0


def test_one_answer_that_is_too_large_stops_no_other(tmp_path):
    """The endpoint stays open: each question is sent, once."""
    service = Service(200)
    readings, _ = ask(service, numbers=range(3), ledger=tmp_path)
    assert [reading.reason for reading in readings] == [REASON] * 3
    assert service.requests == 3


def test_an_error_page_that_is_too_large_is_asked_again():
    """A server in trouble has made no answer: the question is still owed after the attempts allowed."""
    service = Service(503)
    (reading,), _ = ask(service, attempts=2)
    assert (reading.reason, reading.owed) == (f"owed: {REASON}", True)
    assert service.requests == 2

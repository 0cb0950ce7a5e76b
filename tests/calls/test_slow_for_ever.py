"""Answers without an end: too slow, or too large for anyone."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time

import pytest
from openai import AsyncOpenAI

import bonwise as bw
from bonwise.calls import engine as engines
from bonwise.calls.ask import Ask, Model
from bonwise.calls.engine import Engine
from bonwise.calls.ledger.ledger import Ledger
from bonwise.calls.providers.clients import LARGEST
from bonwise.calls.providers.protocol import Connection
from bonwise.calls.providers.supplied import SuppliedClient
from bonwise.selection import run as control
from bonwise.table.verdicts import Unscored
from calls.dripping import DRIPS, dripping
from calls.virtual_time import run_virtual
from crash.runs import start
from http_libraries import HTTP
from processes import ended

# A server that answers for ever holds nobody for ever: attempts, picks, closing and signals come to an end.


POOL = ("Name a colour", ["red", "a long colour", "no colour at all"])
INTERRUPTED = 130


@pytest.fixture
def key(monkeypatch):
    """Any key will do."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")


@pytest.fixture
def grace(monkeypatch):
    """Shorten what is left to calls on the wire."""
    for module in (engines, control):
        monkeypatch.setattr(module, "GRACE", 0.2)


def question(server):
    """Ask for one word."""
    model = Model("openai", "m", server.url)
    return Ask(model=model, system="Judge.", user="Which?", read=lambda choice: choice.text, max_tokens=5)


def reasons(answers):
    """Return why there is no answer."""
    return [one.reading.reason for one in answers.answers if isinstance(one.reading, Unscored)]


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize("what", DRIPS)
def test_an_attempt_ends_although_bytes_come(what, tmp_path, any_transport):
    """It is given up after its time in all, made again, owed in the end, and told as perhaps billed."""

    async def main(server):
        connection = Connection(attempt_timeout=0.3, transport=any_transport)
        async with Engine(tmp_path / "run", attempts=2, connection=connection) as engine:
            return await engine.ask(question(server)), engine.totals

    with dripping(what) as server:
        found, totals = asyncio.run(main(server))
    assert server.requests == 2
    assert reasons(found) == [f"owed: {server.url} gave no whole answer within 0.3 s"]
    assert totals.bill.unknown == 2
    with Ledger.open(tmp_path / "run") as ledger:
        assert ledger.stats().lost_attempts == 2


@pytest.mark.usefixtures("key")
def test_a_client_of_the_users_that_waits_longer_is_given_its_time():
    """Its own time-out counts where it is above the usual one, and a shorter limit always does."""
    slow = Model("openai", "m", client=SuppliedClient(AsyncOpenAI(timeout=1800.0)))
    usual = Model("openai", "m", client=SuppliedClient(AsyncOpenAI(timeout=20.0)))
    ends = {}
    for name, model, connection in (
        ("slow", slow, Connection()),
        ("usual", usual, Connection()),
        ("hurried", slow, Connection(attempt_timeout=2.0)),
    ):
        ask = Ask(model=model, system="Judge.", user="?", read=lambda choice: choice.text, max_tokens=5)
        ends[name] = Engine(connection=connection).endpoint(ask).attempt_timeout
    assert ends == {"slow": 1800.0, "usual": 600.0, "hurried": 2.0}


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize("what", DRIPS)
def test_a_pick_comes_at_its_deadline_and_closing_comes_after_it(what, grace, any_transport):
    """The deadline of a selector is kept, and so is the time that closing takes."""

    async def main(server):
        judge = bw.Pointwise("openai/m", base_url=server.url)
        begun = time.monotonic()
        connection = Connection(transport=any_transport)
        async with bw.Selector(judge, deadline=0.3, on_failure="first", connection=connection) as selector:
            found = await selector.aselect(*POOL)
            picked = time.monotonic() - begun
        return found, picked, time.monotonic() - begun

    with dripping(what) as server:
        found, picked, closed = asyncio.run(main(server))
    assert (found.best, found.decided_by) == ("red", "first")
    assert picked < 2
    assert closed < 4


@pytest.mark.usefixtures("key")
def test_closing_gives_up_what_is_on_the_wire(tmp_path, grace, any_transport):
    """Without a deadline too: what was asked is owed, and may be billed."""

    async def main(server):
        engine = Engine(tmp_path / "run", connection=Connection(transport=any_transport))
        asking = asyncio.create_task(engine.ask(question(server)))
        await asyncio.to_thread(server.asked.wait)
        await engine.aclose()
        return await asking, engine.totals

    with dripping("body") as server:
        found, totals = asyncio.run(main(server))
    assert reasons(found) == ["owed: the engine is closed"]
    assert totals.bill.unknown == 1
    with Ledger.open(tmp_path / "run") as ledger:
        assert ledger.stats().lost_attempts == 1


@pytest.mark.usefixtures("key")
def test_a_synchronous_selector_closes(grace):
    """The thread of its own ends although a call never does."""
    with dripping("chunks") as server:
        selector = bw.Selector(bw.Pointwise("openai/m", base_url=server.url), deadline=0.3, on_failure="first")
        selector.select(*POOL)
        begun = time.monotonic()
        selector.close()
    assert time.monotonic() - begun < 4


@pytest.mark.usefixtures("key")
def test_a_run_told_to_stop_ends(grace, tmp_path):
    """One request is enough: what is on the wire has its time, and is then pending."""
    stop = bw.Stop()

    async def main(server):
        judge = bw.Pointwise("openai/m", base_url=server.url)
        running = asyncio.create_task(bw.ajudge([POOL], judge=judge, run=tmp_path / "run", stop=stop))
        await asyncio.to_thread(server.asked.wait)
        stop.request()
        return await running

    with dripping("headers") as server:
        found = asyncio.run(main(server))
    assert found.pending == {"interrupted": 3}


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM], ids=lambda sent: sent.name)
def test_one_signal_ends_a_command(tmp_path, sent):
    """The command waits 5 seconds, says what may be billed, and prints how to go on."""
    pools = tmp_path / "pools.jsonl"
    pools.write_text(json.dumps({"prompt_id": "p", "prompt": POOL[0], "candidates": POOL[1]}) + "\n")
    with dripping("body") as server:
        arguments = ["judge", str(pools), "--judge", "pointwise:openai/m", "--base-url", server.url]
        running = start([*arguments, "--run", str(tmp_path / "run"), "--out", str(tmp_path / "scores.csv")])
        assert server.asked.wait(60)
        begun = time.monotonic()
        os.kill(running.pid, sent)
        code, _, said = ended(running)
    assert code == INTERRUPTED, said
    assert 4 < time.monotonic() - begun < 30
    assert "may be billed" in said
    assert "bonwise judge" in said


@pytest.mark.usefixtures("key")
def test_a_deadline_of_a_command_holds(tmp_path):
    """``judge --deadline`` ends against a server that drips, with everything pending."""
    pools = tmp_path / "pools.jsonl"
    pools.write_text(json.dumps({"prompt_id": "p", "prompt": POOL[0], "candidates": POOL[1]}) + "\n")
    with dripping("body") as server:
        arguments = ["judge", str(pools), "--judge", "pointwise:openai/m", "--base-url", server.url]
        running = start(
            [*arguments, "--deadline", "5", "--run", str(tmp_path / "run"), "--out", str(tmp_path / "s.csv")]
        )
        code, _, said = ended(running)
    assert code == 4, said
    assert "3 calls were sent and never answered; the server may bill for that" in said


# An answer larger than anyone reads is paid for once.


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

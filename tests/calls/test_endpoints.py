from __future__ import annotations

import asyncio
import json

import pytest

from bonwise.calls.ask import Ask, Model
from bonwise.calls.bill import MOST_REASONS, CallTotals
from bonwise.calls.endpoint import CLOSED_FOR
from bonwise.calls.engine import Engine
from bonwise.calls.ledger.ledger import Ledger
from bonwise.calls.providers.protocol import Connection
from bonwise.calls.rate_limits import PATIENCE
from bonwise.errors import UsageError
from bonwise.table.verdicts import Unscored
from bonwise.testing import FakeTransport, Faults, Script
from calls.virtual_time import run_virtual
from http_libraries import HTTP

HTTPX = HTTP["openai"]
MODEL = Model("openai", "gpt-5-mini")


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    """Set a key for each provider, at the services' own addresses."""
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "BONWISE_PRICES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-first-key")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-first-key")


def question(user="Question?", **settings):
    """Return a question whose answer is taken as it stands."""
    given = {"model": MODEL, "system": "Judge.", "user": user, "read": lambda choice: choice.text}
    return Ask(**given | settings)


def engine_over(script, **settings):
    """Return an engine in front of a script."""
    return Engine(connection=Connection(transport=FakeTransport(script)), **settings)


def is_owed(answers):
    """Tell whether an answer did not arrive."""
    (answer,) = answers.answers
    return isinstance(answer.reading, Unscored) and answer.reading.owed


def chat(text):
    """Return a plain reply of the chat service."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return HTTPX.Response(200, json={"id": "x", "object": "chat.completion", "model": "m", "choices": [choice]})


def handled(handler, **settings):
    """Return an engine in front of a function of the request."""

    async def answer(request):
        return handler(request)

    return Engine(connection=Connection(transport=HTTPX.MockTransport(answer)), **settings)


def test_a_closed_endpoint_is_tried_again_later():
    """A service that lives long goes on by itself once the key is right again, and hammers nobody until then."""
    script = Script(keys={"sk-other"})

    async def main():
        async with engine_over(script) as engine:
            assert is_owed(await engine.ask(question("one")))
            asked = script.counts.requests
            assert is_owed(await engine.ask(question("two")))
            assert script.counts.requests == asked
            script.keys = None
            await asyncio.sleep(CLOSED_FOR + 1)
            assert not is_owed(await engine.ask(question("two")))
            assert engine.denial() is None

    run_virtual(main())


def test_another_key_opens_a_endpoint_at_once(monkeypatch):
    """The key is that of the moment: a new one is used, and tried although the old one was refused."""
    script = Script(keys={"sk-second-key"})

    async def main():
        async with engine_over(script) as engine:
            assert is_owed(await engine.ask(question("one")))
            monkeypatch.setenv("OPENAI_API_KEY", "sk-second-key")
            assert not is_owed(await engine.ask(question("one")))

    run_virtual(main())


def test_a_text_that_a_firewall_forbids_closes_nothing():
    """Where answers have come, a refusal that is not of the key concerns its own request; it is owed, not stored."""

    def guarded(request):
        if b"DROP TABLE" in request.content:
            return HTTPX.Response(403, text="<html>Forbidden</html>")
        return chat("fine")

    async def main():
        async with handled(guarded) as engine:
            assert not is_owed(await engine.ask(question("one")))
            assert is_owed(await engine.ask(question("'; DROP TABLE answers")))
            assert not is_owed(await engine.ask(question("two")))

    run_virtual(main())


def test_a_wrong_address_closes_the_endpoint_before_many_calls_are_sent():
    """Where nothing has ever been answered, the first 404 is the last."""
    seen = []

    def nowhere(request):
        seen.append(request)
        return HTTPX.Response(404, text="not found")

    async def main():
        async with handled(nowhere, max_concurrency=4) as engine:
            found = await asyncio.gather(*(engine.ask(question(str(number))) for number in range(40)))
            assert all(is_owed(answers) for answers in found)
            assert "/v1" in engine.denial().hint

    run_virtual(main())
    assert len(seen) <= 8


def test_endpoints_follow_the_address_of_the_moment(monkeypatch):
    """The same server is one endpoint, however its address is given; another address is another endpoint."""
    script = Script()

    async def main():
        async with engine_over(script) as engine:
            monkeypatch.setenv("OPENAI_BASE_URL", "http://one.test/v1")
            by_environment = engine.endpoint(question())
            assert (
                engine.endpoint(question(model=Model("openai", "gpt-5-mini", "http://one.test/v1"))) is by_environment
            )
            monkeypatch.setenv("OPENAI_BASE_URL", "http://two.test/v1")
            assert engine.endpoint(question()).base_url == "http://two.test/v1"

    run_virtual(main())


def test_calls_that_wait_leave_out_what_was_refused_meanwhile():
    """Only calls on the wire carry a parameter after the server has refused it."""
    script = Script(refuses_parameters={"temperature"}, latency=1.0)

    async def main():
        async with engine_over(script, max_concurrency=8) as engine:
            asks = (question(str(number), temperature=0.5) for number in range(60))
            return await asyncio.gather(*(engine.ask(ask) for ask in asks))

    found = run_virtual(main())
    assert not any(is_owed(answers) for answers in found)
    assert script.counts.requests <= 60 + 8


def test_a_server_that_asks_for_hours_is_left_for_later():
    """A wait beyond patience ends in owed answers at once, and sends nothing more for a while."""
    seen = []

    def tomorrow(request):
        seen.append(request)
        return HTTPX.Response(
            429, headers={"retry-after": str(int(PATIENCE) + 1)}, json={"error": {"message": "later"}}
        )

    async def main():
        start = asyncio.get_running_loop().time()
        async with handled(tomorrow, max_concurrency=4) as engine:
            found = await asyncio.gather(*(engine.ask(question(str(number))) for number in range(20)))
            assert all(is_owed(answers) for answers in found)
            assert asyncio.get_running_loop().time() - start < 10

    run_virtual(main())
    assert len(seen) <= 8


def test_an_engine_belongs_to_one_loop():
    """Used in a second event loop it says so, instead of failing somewhere inside."""
    engine = engine_over(Script())

    async def ask():
        return await engine.ask(question())

    assert not is_owed(run_virtual(ask()))
    with pytest.raises(UsageError, match="another event loop"):
        run_virtual(ask())


def test_paid_is_in_the_totals_though_the_payer_has_gone():
    """Whoever paid may be cancelled: the call is counted, and whoever shared it got it for nothing."""
    script = Script(latency=2.0)

    async def main():
        async with engine_over(script) as engine:
            payer = asyncio.create_task(engine.ask(question()))
            await asyncio.sleep(0.5)
            sharer = asyncio.create_task(engine.ask(question()))
            await asyncio.sleep(0.5)
            payer.cancel()
            found = await sharer
            assert (found.bill.calls, found.bill.from_ledger) == (0, 1)
            assert engine.totals.bill.calls == engine.spending.calls == 1
            assert engine.totals.bill.cost == pytest.approx(engine.spending.cost)

    run_virtual(main())


def test_calls_in_trouble_are_counted_while_they_wait():
    """Totals say how many calls wait to be tried again, and why, and forget it when they are through."""
    script = Script(faults=Faults(server_error=0.6), seed=3, latency=0.1)
    seen = []

    async def main():
        async with engine_over(script) as engine:
            asked = asyncio.gather(*(engine.ask(question(str(number))) for number in range(20)))
            while not asked.done():
                seen.append((engine.totals.waiting, engine.totals.trouble))
                await asyncio.sleep(0.2)
            assert not any(is_owed(answers) for answers in await asked)
            assert (engine.totals.waiting, engine.totals.trouble) == (0, "")

    run_virtual(main())
    assert max(waiting for waiting, _ in seen) > 1
    assert any("500" in trouble for _, trouble in seen)


def test_a_temperature_that_no_request_carries_is_said_whoever_asks_first():
    """The notice does not depend on whether the first question of a endpoint wanted one."""
    claude = Model("anthropic", "claude-opus-5")

    async def main():
        async with engine_over(Script()) as engine:
            await engine.ask(question(model=claude))
            assert not engine.totals.notices
            await engine.ask(question("again", model=claude, temperature=1.0))
            assert list(engine.totals.notices) == ["anthropic/claude-opus-5 takes no temperature: none is sent"]

    run_virtual(main())


@pytest.mark.parametrize("reading", [float("nan"), {("a", "b"): 1}, object()], ids=["nan", "tuple keys", "object"])
def test_what_a_reader_found_is_noted_whatever_it_is(tmp_path, reading):
    """A reading that JSON does not know is noted in words; the paid answer is handed on."""

    async def main():
        async with engine_over(Script(), ledger=tmp_path) as engine:
            found = await engine.ask(question(read=lambda _: reading))
            assert found.answers[0].reading is reading
        async with engine_over(Script(), ledger=tmp_path) as engine:
            (row,) = engine.ledger.rows()
            json.loads(row.reading, parse_constant=pytest.fail)

    run_virtual(main())


def test_reasons_do_not_grow_without_end():
    """Reasons beyond a hundred are counted together."""
    totals = CallTotals()
    for number in range(1000):
        totals.owe(f"request {number} failed")
    assert totals.owed_because.total() == 1000
    assert len(totals.owed_because) == MOST_REASONS + 1


@pytest.mark.parametrize("settings", [{"attempts": 0}, {"reask": -1}, {"deadline": 0.0}, {"deadline": float("nan")}])
def test_settings_that_mean_nothing_are_refused(settings):
    """An engine that could never answer is not made."""
    with pytest.raises(UsageError, match=next(iter(settings))):
        engine_over(Script(), **settings)


@pytest.mark.parametrize("limits", [{}, {"x-ratelimit-limit-requests": "600", "x-ratelimit-remaining-requests": "0"}])
def test_a_429_holds_its_own_call_back_and_all_where_limits_are_named(limits):
    """The call that was refused waits as long as the server asked for; the others where an allowance is used up."""
    sent = []

    def throttled_once(request):
        sent.append(asyncio.get_running_loop().time())
        if len(sent) == 1:
            headers = {"retry-after": "30", **limits}
            return HTTPX.Response(429, headers=headers, json={"error": {"message": "slow down"}})
        return chat("fine")

    async def main():
        async with handled(throttled_once, max_concurrency=1) as engine:
            found = await asyncio.gather(*(engine.ask(question(str(number))) for number in range(10)))
            assert not any(is_owed(answers) for answers in found)
            assert engine.totals.retries == 1

    run_virtual(main())
    assert len(sent) == 11
    assert sent[-1] >= 30
    assert (min(sent[1:]) >= 30) == bool(limits)


def test_a_request_refused_for_good_is_a_call():
    """What a server refuses was sent: it is in the bill, and max_calls counts it."""
    script = Script(context_length=1)

    async def main():
        async with engine_over(script, max_calls=2) as engine:
            found = [await engine.ask(question(str(number))) for number in range(5)]
            assert [is_owed(answers) for answers in found] == [False, False, True, True, True]
            assert sum(answers.bill.calls for answers in found) == engine.totals.bill.calls == 2

    run_virtual(main())
    assert script.counts.requests == 2


def test_only_the_samples_that_nobody_asks_for_are_asked_for(tmp_path):
    """Where another is asking for one of three samples, the request asks for the other two."""
    asked = []

    def counted(request):
        body = json.loads(request.content)
        asked.append(body.get("n", 1))
        reply = chat("fine").json()
        reply["choices"] = [{**reply["choices"][0], "index": at} for at in range(body.get("n", 1))]
        return HTTPX.Response(200, json=reply)

    async def main(other):
        async with handled(counted, ledger=tmp_path) as engine:
            wanted = question(samples=3)
            request = engine.endpoint(wanted).provider.request(wanted, 1, frozenset())
            claim = await other.claim(request.keys([0]), request, 0.0)
            asking = asyncio.create_task(engine.ask(wanted))
            while not asked:  # noqa: ASYNC110 - the server tells nobody
                await asyncio.sleep(0.01)
            await other.give_up(claim.call_id, 1, 0, "given up")
            return await asking

    with Ledger.open(tmp_path) as other:
        found = asyncio.run(main(other))
    assert len(found.answers) == 3
    assert asked == [2, 1]

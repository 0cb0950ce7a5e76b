"""What an engine may send, and what becomes of a run that is stopped, abandoned or loses its ledger."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import threading
from dataclasses import replace

import pytest

from bonwise.calls.bill import Bill, Usage
from bonwise.calls.engine import Engine
from bonwise.calls.ledger.ledger import Ledger
from bonwise.calls.limiter import EndpointLimiter
from bonwise.errors import LedgerError, UsageError
from bonwise.testing.faults import Faults
from bonwise.testing.script import Script
from calls.engines import CLAUDE, MODEL, OWN, ask_all, on_the_wire, over, owed, question, readings, set_keys
from calls.virtual_time import run_virtual


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    """Set a key for each provider, and nothing else that the SDKs read."""
    set_keys(monkeypatch)


# Limits.


def test_max_calls_is_kept_and_the_next_engine_pays_the_rest(tmp_path):
    """Exactly so many calls are sent, the rest is owed, and a second engine sends exactly the rest."""
    script = Script(latency=1.0)
    asks = [question(number) for number in range(10)]
    found, engine = ask_all(script, asks, ledger=tmp_path, max_calls=4)
    assert script.counts.requests == engine.totals.bill.calls == 4
    assert owed(found) == ["owed: max_calls=4 is reached"] * 6
    assert engine.totals.owed_because == {"max_calls=4 is reached": 6}
    found, engine = ask_all(script, asks, ledger=tmp_path)
    assert not owed(found)
    assert (script.counts.requests, engine.totals.bill.calls) == (10, 6)


@pytest.mark.parametrize("model", [MODEL, CLAUDE], ids=str)
def test_every_owed_answer_has_a_reason(model):
    """The reasons are counted in answers, as the bill counts what is owed, however many one call would bring."""
    found, engine = ask_all(Script(latency=1.0), [question(n, model=model, samples=3) for n in range(3)], max_calls=1)
    assert engine.totals.owed_because.total() == engine.totals.bill.owed == len(owed(found))


def test_what_is_not_answered_before_the_deadline_is_owed():
    """No attempt begins after the deadline: what did not start is owed, and what started before may land."""
    script = Script(latency=4.0)
    asks = [question(number) for number in range(6)]
    found, engine = ask_all(script, asks, max_concurrency=1, deadline=10.0)
    assert script.counts.requests == engine.totals.bill.calls == 3
    assert owed(found) == ["owed: no answer before the deadline"] * 3
    assert engine.totals.owed_because == {"no answer before the deadline": 3}


def test_no_retry_begins_after_the_deadline():
    """A server that asks to wait beyond the deadline is not waited for: the answer is owed at once."""

    async def main():
        async with over(script, deadline=10.0) as engine:
            found = await engine.ask(question())
            return found, asyncio.get_running_loop().time()

    script = Script(faults=Faults(throttled=1.0, retry_after=60.0))
    found, ended = run_virtual(main())
    assert len(owed([found])) == 1
    assert ended < 10.0
    assert script.counts.requests == 1


def test_attempts_are_counted_and_bounded():
    """A transport failure is tried again up to ``attempts`` times, then the answer is owed with the last reason."""
    script = Script(faults=Faults(overloaded=1.0))
    (found,), engine = ask_all(script, [question()], attempts=3)
    assert script.counts.requests == 3
    assert engine.totals.retries == 2
    (reason,) = owed([found])
    assert "overloaded" in reason


def test_an_unknown_price_is_no_cost_of_zero(tmp_path):
    """Where the price is not known the cost is None, not 0; where it is known it is what the tokens cost."""
    script = Script(usage=lambda *_: Usage(uncached=1000, cache_read=200, output=50))
    (own,), engine = ask_all(script, [question(model=OWN)], ledger=tmp_path)
    assert own.bill.cost is None
    assert engine.totals.bill.cost is None
    assert (own.bill.input_tokens, own.bill.output_tokens) == (1200, 50)
    (known,), engine = ask_all(script, [question()], ledger=tmp_path)
    rates = engine.prices.price("openai", "gpt-5-mini").rates
    expected = (1000 * rates.input + 200 * rates.cached_input + 50 * rates.output) / 1e6
    assert known.bill.cost == pytest.approx(expected, rel=1e-12)
    with Ledger.open(tmp_path) as ledger:
        assert ledger.stats().unpriced == 1


def test_a_cost_limit_needs_a_price():
    """With ``max_cost`` a model without a known price is refused before anything is sent."""
    script = Script()
    with pytest.raises(UsageError, match="max_cost"):
        ask_all(script, [question(model=OWN)], max_cost=1.0)
    assert script.counts.requests == 0


def test_no_call_at_once_is_refused():
    """A bound of no calls at once is refused."""
    with pytest.raises(UsageError, match="max_concurrency is 0"):
        Engine(max_concurrency=0)


class Watched(EndpointLimiter):
    """A limiter that keeps what it was told."""

    def __init__(self, seen):
        super().__init__(2)
        self.seen = seen

    async def acquire(self, tokens, deadline=None):
        """Note the expected tokens, and what the lease is settled with."""
        lease = await super().acquire(tokens, deadline)
        settle = lease.settle

        class Noted:
            def settle(_self, **outcome):  # noqa: N805 - the outer one is still needed
                self.seen.append((tokens, outcome["tokens"], outcome["problem"]))
                settle(**outcome)

        return Noted()


def test_a_limiter_of_ones_own_paces_the_calls():
    """A limiter that is brought is asked before each attempt, once a model, and hears how each went."""
    seen, models = [], []

    def limiter(model):
        models.append(model)
        return Watched(seen)

    script = Script(latency=1.0, usage=lambda *_: Usage(uncached=30, output=4))
    asks = [question(number, max_tokens=100) for number in range(5)]
    ask_all(script, asks, limiter=limiter, max_concurrency=64)
    assert models == [MODEL]
    assert script.counts.peak == 2
    assert [(used, problem) for _, used, problem in seen] == [(34, None)] * 5
    assert all(100 < expected < 120 for expected, _, _ in seen)


# Beginning and end.


def test_a_call_lands_although_whoever_asked_has_gone(tmp_path):
    """Cancelling whoever asked does not cancel the call: it lands, is kept, and closing waits for it."""
    script = Script(latency=5.0)

    async def main():
        async with over(script, ledger=tmp_path) as engine:
            asking = asyncio.create_task(engine.ask(question()))
            await on_the_wire(script)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            gone = asyncio.get_running_loop().time()
        return gone, asyncio.get_running_loop().time()

    gone, closed = run_virtual(main())
    assert gone < 5.0 <= closed
    (found,), engine = ask_all(script, [question()], ledger=tmp_path)
    assert script.counts.requests == 1
    assert engine.totals.bill == Bill(from_ledger=1, reused_tokens=18)
    assert not owed([found])


def test_whoever_still_waits_gets_the_answer_of_one_who_has_gone():
    """One of two who wait for the same call goes away: the other gets the answer."""
    script = Script(latency=5.0)

    async def main():
        async with over(script) as engine:
            first, second = (asyncio.create_task(engine.ask(question())) for _ in range(2))
            await on_the_wire(script)
            first.cancel()
            return await second

    found = run_virtual(main())
    assert not owed([found])
    assert script.counts.requests == 1


def test_after_a_stop_nothing_new_is_sent_and_what_flies_lands(tmp_path):
    """Stopping lets calls on the wire land, leaves the rest owed with the reason, and still serves what is stored."""
    script = Script(latency=2.0)
    asks = [question(number) for number in range(6)]

    async def main():
        async with over(script, ledger=tmp_path, max_concurrency=2) as engine:
            running = [asyncio.create_task(engine.ask(ask)) for ask in asks]
            await on_the_wire(script, 2)
            engine.stop("enough")
            found = await asyncio.gather(*running)
            late = await asyncio.gather(engine.ask(question(99)), engine.ask(question(0)))
            return found, late, engine

    found, late, engine = run_virtual(main())
    assert script.counts.requests == 2
    assert [bool(owed([answers])) for answers in found] == [False, False, True, True, True, True]
    assert owed(found) == ["owed: enough"] * 4
    assert [bool(owed([answers])) for answers in late] == [True, False]
    assert engine.totals.owed_because == {"enough": 5}
    _, engine = ask_all(script, asks, ledger=tmp_path)
    assert engine.totals.bill.calls == 4


def test_after_a_stop_no_failed_attempt_is_repeated(tmp_path):
    """A call on the wire that fails after the stop is not tried again, and whoever asked is told at once."""
    script = Script(latency=2.0, faults=Faults(overloaded=1.0))

    async def main():
        async with over(script, ledger=tmp_path) as engine:
            running = asyncio.create_task(engine.ask(question()))
            await on_the_wire(script)
            engine.stop("enough")
            return await running

    assert len(owed([run_virtual(main())])) == 1
    assert script.counts.requests == 1


def test_abandoning_waits_for_nothing_and_says_what_may_be_billed(tmp_path):
    """Abandoned calls on the wire are noted as perhaps billed; the next engine asks them again and says so."""
    script = Script(latency=1000.0)

    async def main():
        async with over(script, ledger=tmp_path) as engine:
            running = asyncio.create_task(engine.ask(question()))
            await on_the_wire(script)
            engine.abandon("now")
            found = await running
        return found, asyncio.get_running_loop().time()

    found, ended = run_virtual(main())
    assert ended < 1000.0
    assert owed([found]) == ["owed: now"]
    with Ledger.open(tmp_path) as ledger:
        assert ledger.stats().lost_attempts == 1
    script.latency = 0.0
    (found,), _ = ask_all(script, [question()], ledger=tmp_path)
    assert not owed([found])


def break_file(file):
    """Take the file of a ledger away."""
    file.unlink()


def break_table(file):
    """Spoil a ledger from another process's point of view: the table of calls is gone."""
    connection = sqlite3.connect(file)
    connection.execute("ALTER TABLE call RENAME TO gone")
    connection.commit()
    connection.close()


@pytest.mark.parametrize("spoil", [break_file, break_table])
def test_nothing_is_sent_once_the_ledger_cannot_be_written(tmp_path, spoil):
    """When the ledger goes away the run ends with `LedgerError`, and nothing more is sent that could not be kept."""
    script = Script(latency=1.0)

    async def main():
        async with over(script, ledger=tmp_path) as engine:
            await engine.ask(question(0))
            spoil(engine.ledger.path)
            for number in range(1, 4):
                with pytest.raises(LedgerError, match=r"cannot be (written|used|read)"):
                    await engine.ask(question(number))

    run_virtual(main())
    assert script.counts.requests == 1


@pytest.mark.parametrize("spoil", [break_file, break_table])
def test_an_answer_that_cannot_be_kept_is_not_handed_on(tmp_path, spoil):
    """When the ledger goes away while calls are on the wire whoever asked gets `LedgerError`, and the rest stays."""
    script = Script(latency=1.0)

    async def main():
        async with over(script, ledger=tmp_path, max_concurrency=2) as engine:
            running = [asyncio.create_task(engine.ask(question(number))) for number in range(6)]
            await on_the_wire(script, 2)
            spoil(engine.ledger.path)
            return await asyncio.gather(*running, return_exceptions=True)

    assert all(isinstance(one, LedgerError) for one in run_virtual(main()))
    assert script.counts.requests == 2


@pytest.mark.parametrize("together", [True, False], ids=["one ledger object", "one file"])
def test_two_engines_in_two_loops_share_a_ledger(tmp_path, together):
    """Two event loops in two threads ask the same questions of one ledger: each is paid once, both get all."""
    scripts = [Script(latency=0.01), Script(latency=0.01)]
    asks = [question(number) for number in range(20)]
    found = {}

    async def main(which, ledger):
        async with over(scripts[which], ledger=ledger) as engine:
            found[which] = [readings(one) for one in await asyncio.gather(*(engine.ask(ask) for ask in asks))]

    with Ledger.open(tmp_path) as ledger:
        where = ledger if together else tmp_path
        threads = [threading.Thread(target=lambda at=at: asyncio.run(main(at, where))) for at in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found[0] == found[1]
        assert ledger.stats().calls == {"answered": 20}
    assert sum(script.counts.answers for script in scripts) == 20


def test_a_ledger_that_was_brought_stays_open(tmp_path):
    """An engine closes the ledger that it opened itself, and leaves one that it was given."""
    with Ledger.open(tmp_path) as ledger:
        ask_all(Script(), [question()], ledger=ledger)
        found, _ = ask_all(Script(), [question()], ledger=ledger)
        assert all(answer.from_ledger for answer in found[0].answers)
        assert ledger.stats().samples == 1


def test_nothing_is_left_behind(tmp_path):
    """After closing no task, no socket and no file is left, whatever happened before."""
    script = Script(latency=1.0, faults=Faults(throttled=0.2, cut=0.2, refusal=0.1, retry_after=1.0))

    async def main():
        async with over(script, ledger=tmp_path) as engine:
            running = [asyncio.create_task(engine.ask(question(number))) for number in range(30)]
            await on_the_wire(script, 5)
            await asyncio.sleep(1.5)
            for task in running[::3]:
                task.cancel()
            await asyncio.sleep(0.5)
            engine.stop("enough")
            await asyncio.gather(*running, return_exceptions=True)
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert run_virtual(main()) == set()
    # What is dropped without being closed warns, and here a warning is an error.
    gc.collect()
    with Ledger.open(tmp_path) as ledger:
        assert "sent" not in ledger.stats().calls


def test_the_totals_are_the_sum_of_the_bills(tmp_path):
    """Calls, tokens, cost, stored and owed answers of a run are the sums over what was asked."""
    script = Script(latency=1.0)
    ask_all(script, [question(0)], ledger=tmp_path)
    asks = [question(number, samples=1 + number % 3) for number in range(8)]
    found, engine = ask_all(script, asks, ledger=tmp_path, max_calls=5)
    assert sum((one.bill for one in found), Bill()) == replace(
        engine.totals.bill, cost=pytest.approx(engine.totals.bill.cost)
    )
    assert engine.totals.answers + engine.totals.bill.owed == sum(ask.samples for ask in asks)

"""What nobody waits for any more is kept; three workers on one ledger, one of them killed."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing

import pytest

from bonwise.calls.ask import Ask, Model
from bonwise.calls.engine import Engine
from bonwise.calls.ledger.ledger import Ledger
from bonwise.calls.providers.protocol import Connection
from bonwise.testing.faults import Faults
from bonwise.testing.script import Script
from bonwise.testing.server import ScriptedServer
from bonwise.testing.transport import FakeTransport
from crash.runs import Trap, done, judging, pool_file, start
from processes import ended

# What an engine has received is kept, even when nobody waits for it any more.


ASK = Ask(Model("openai", "m", "http://127.0.0.1:9/v1"), "Judge.", "An answer.", read=str)


async def until(condition):
    """Wait until something is true."""
    while not condition():  # noqa: ASYNC110 - a script tells nobody
        await asyncio.sleep(0.01)


def test_an_answer_that_is_being_written_is_kept(tmp_path):
    """A call that is abandoned while the ledger writes its answer stands as answered, not as failed."""
    script = Script(latency=0.2)

    async def main():
        async with Engine(tmp_path, connection=Connection(transport=FakeTransport(script))) as engine:
            asking = asyncio.create_task(engine.ask(ASK))
            await until(lambda: script.counts.in_flight)
            with closing(sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                await until(lambda: script.counts.delivered)
                for _ in range(100):  # what has come goes to the ledger without waiting for anything
                    await asyncio.sleep(0)
                engine.abandon("leaving")
                await asyncio.sleep(0)
                other.execute("ROLLBACK")
            return await asking

    asyncio.run(main())
    with Ledger.open(tmp_path) as ledger:
        assert ledger.stats().calls == {"answered": 1}
        assert ledger.stats().samples == 1


def test_a_call_on_the_wire_that_is_abandoned_may_be_billed(tmp_path):
    """Leaving a call on the wire is counted as a lost attempt, in the ledger and against the limits."""
    script = Script(latency=3600.0)

    async def main():
        async with Engine(tmp_path, connection=Connection(transport=FakeTransport(script))) as engine:
            asking = asyncio.create_task(engine.ask(ASK))
            await until(lambda: script.counts.in_flight)
            engine.abandon("leaving")
            found = await asking
            return found, engine.spending.possible_tokens

    found, possible = asyncio.run(main())
    assert found.answers[0].reading.owed
    assert possible > 0
    with Ledger.open(tmp_path) as ledger:
        assert ledger.stats().calls == {"failed": 1}
        assert ledger.stats().lost_attempts == 1


# Three workers on one ledger, before a server that fails now and then; one of them is killed.


AT_ONCE = 16
KILLED = -9
TENTH = Faults(
    throttled=0.02,
    server_error=0.02,
    overloaded=0.02,
    cut=0.02,
    malformed=0.02,
    retry_after=0.02,
    with_retry_after=1.0,
)


@pytest.mark.parametrize("prompts", [40, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)]
)
def test_the_others_go_on(tmp_path, prompts, seed):
    """Right scores, nothing asked again that was on the disk, a sound ledger; a new worker finds all done."""
    calls = 4 * prompts
    pool_file(tmp_path / "pools.jsonl", prompts)
    with ScriptedServer(Script()).in_thread() as server:
        done(judging(tmp_path, server.url, "--run", str(tmp_path / "alone"), out="alone.csv"))
    trap = Trap()
    script = Script(latency=0.03, faults=TENTH, seed=seed, on_paid=trap)
    with ScriptedServer(script).in_thread() as server:
        outs = ("one.csv", "two.csv", "three.csv")
        with trap.being_set():
            workers = [
                start(judging(tmp_path, server.url, "--max-concurrency", str(AT_ONCE), out=out)) for out in outs
            ]
            trap.set((calls // 2, 0.0, workers[0].kill))
        ends = [ended(worker) for worker in workers]
        done(judging(tmp_path, server.url, out="new.csv"))
    assert trap.sprung
    assert [end[0] for end in ends] == [KILLED, 0, 0], ends
    scores = (tmp_path / "alone.csv").read_bytes()
    assert {(tmp_path / out).read_bytes() for out in (*outs[1:], "new.csv")} == {scores}
    assert script.counts.faults.total() > 0
    # Handed over and asked for again: what could not be read, and what the killed worker had on the wire.
    again = sum(times - 1 for times in script.counts.delivered.values())
    assert again - script.counts.faults["malformed"] <= AT_ONCE
    with Ledger.open(tmp_path / "run") as ledger:
        found = ledger.check()
        states = ledger.stats().calls
    assert not found.damage
    assert states["answered"] == calls
    assert set(states) <= {"answered", "unknown"}

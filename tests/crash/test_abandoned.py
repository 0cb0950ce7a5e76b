"""What an engine has received is kept, even when nobody waits for it any more."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing

from bonwise.calls.ask import Ask, Model
from bonwise.calls.engine import Engine
from bonwise.calls.ledger.ledger import Ledger
from bonwise.calls.providers.protocol import Connection
from bonwise.testing.script import Script
from bonwise.testing.transport import FakeTransport

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

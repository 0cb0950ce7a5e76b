"""A ledger on PostgreSQL does what that of a run folder does."""

from __future__ import annotations

import asyncio
import os

import pytest

from bonwise.calls.ask import Ask, Model
from bonwise.calls.engine import Engine
from bonwise.calls.ledger.ledger import Ledger
from bonwise.calls.ledger.postgres import PostgresLedger, split_address
from bonwise.calls.providers.protocol import Connection
from bonwise.errors import LedgerError, UsageError
from bonwise.testing.script import Script
from bonwise.testing.transport import FakeTransport
from calls.ledgers import ask, key, recorded, request


def run(course):
    """Run a coroutine."""
    return asyncio.run(course)


def test_what_was_answered_is_never_claimed_again(ledger):
    """Texts that no database holds are kept as escapes."""

    async def course():
        first = await ask(ledger, key(1), key(2), cost=0.25, effective={"a": "\0 \ud800"}, note="n\0")
        again = await ledger.claim([key(1), key(2), key(3)], request(), wall=2.0)
        return first, again, await ledger.look_up([key(1), key(9)])

    first, again, known = run(course())
    assert first.claimed == (key(1), key(2))
    assert again.claimed == (key(3),)
    assert set(again.stored) == {key(1), key(2)}
    assert set(known) == {key(1)}
    assert known[key(1)].cost == 0.25
    assert known[key(1)].choice == 0


def test_a_key_that_is_asked_for_is_busy_and_free_again_when_it_failed(ledger, address):
    """Between two ledgers, as between two processes."""

    async def course(other):
        mine = await ledger.claim([key(1)], request(), wall=1.0)
        busy = await other.claim([key(1)], request(), wall=1.0)
        await ledger.give_up(mine.call_id, 1, 1, "no answer")
        return busy, await other.claim([key(1)], request(), wall=2.0)

    with PostgresLedger(address) as other:
        busy, free = run(course(other))
    assert busy.busy == (key(1),)
    assert busy.call_id is None
    assert free.claimed == (key(1),)


def test_a_ledger_that_closes_leaves_its_calls_unknown(ledger, address):
    """They may have been billed."""

    async def course(other):
        await other.claim([key(1)], request(), wall=1.0)

    with PostgresLedger(address) as other:
        run(course(other))
    claim = run(ledger.claim([key(1)], request(), wall=2.0))
    assert (claim.claimed, claim.unknown) == ((key(1),), 1)
    assert ledger.stats().calls == {"sent": 1, "unknown": 1}


def test_a_claim_that_is_cancelled_is_taken_back(ledger):
    """Whoever asks next gets the key."""

    async def course():
        task = asyncio.create_task(ledger.claim([key(1)], request(), wall=1.0))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for _ in range(100):
            if (claim := await ledger.claim([key(1)], request(), wall=2.0)).claimed:
                return claim
            await asyncio.sleep(0.05)
        return None

    assert run(course()).claimed == (key(1),)


def test_a_rejected_request_is_stored_for_each_of_its_keys(ledger):
    """Asking again would bring the same."""

    async def course():
        claim = await ledger.claim([key(1), key(2)], request(), wall=1.0)
        await ledger.answer(claim.call_id, recorded({}, rejected=True, status=400, raw=b"no"))
        return await ledger.look_up([key(1), key(2)])

    known = run(course())
    assert [known[key(number)].rejected for number in (1, 2)] == [True, True]


def test_it_holds_what_a_run_folder_holds(ledger, tmp_path):
    """The same rows and the same sums, of whatever became of calls."""

    async def fill(where):
        for number in range(7):
            await ask(where, key(number), cost=0.5, answered_at=3.0, model=f"m{number % 2}")
        claim = await where.claim([key(90)], request(), wall=4.0)
        await where.give_up(claim.call_id, 3, 2, "why not")
        await where.drop("url", "m", "temperature", "unknown field")

    def told(where):
        plain = [(row.key, row.choice, row.state, row.body, row.cost, row.attempts, row.note) for row in where.rows()]
        return plain, where.stats().models, where.dropped("url", "m")

    with Ledger.open(tmp_path / "run") as folder:
        run(fill(folder))
        run(fill(ledger))
        assert sorted(told(ledger)[0]) == sorted(told(folder)[0])
        assert told(ledger)[1:] == told(folder)[1:]
        prefix = key(3).hex()[:6]
        assert [row.key for row in ledger.rows(key_prefix=prefix.upper())] == [key(3).hex()]
        assert len(list(ledger.rows(state="answered", limit=3))) == 3


def test_what_was_changed_in_the_database_is_no_answer(ledger, server, address):
    """Its digest tells."""
    run(ask(ledger, key(1)))
    server.sql("UPDATE response SET raw = 'other'", split_address(address)[1])
    with pytest.raises(LedgerError, match="damaged"):
        run(ledger.look_up([key(1)]))


def test_one_value_that_cannot_be_held_fails_alone(ledger):
    """Also where both are written by one transaction."""

    async def course():
        good, bad = await ledger.claim([key(1)], request(), 1.0), await ledger.claim([key(2)], request(), 1.0)
        wrong = recorded({key(2): 2**70})
        return await asyncio.gather(
            ledger.answer(good.call_id, recorded({key(1): 0})),
            ledger.answer(bad.call_id, wrong),
            return_exceptions=True,
        )

    fine, failed = run(course())
    assert fine is None
    assert isinstance(failed, LedgerError)
    assert ledger.stored(key(1)) is not None


def test_the_server_may_be_killed_while_calls_are_under_way(ledger, server):
    """Answers wait for it to come back."""

    async def course():
        claims = [await ledger.claim([key(number)], request(), 1.0) for number in range(20)]
        server.kill()
        answers = [
            asyncio.create_task(ledger.answer(claim.call_id, recorded({key(number): 0})))
            for number, claim in enumerate(claims)
        ]
        await asyncio.sleep(0.3)
        await asyncio.to_thread(server.start)
        await asyncio.gather(*answers)
        return await ledger.look_up([key(number) for number in range(20)])

    assert len(run(course())) == 20


def test_a_process_that_forked_does_not_use_the_ledger(ledger):
    """The connections belong to its parent, which goes on."""
    run(ask(ledger, key(1)))
    child = os.fork()
    if not child:
        try:
            ledger.dropped("url", "m")
        except LedgerError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    run(ask(ledger, key(2)))
    assert ledger.stored(key(2)) is not None


SECRET = "hunter2-and-more"  # noqa: S105 - nobody's


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://u:{SECRET}@h/db",
        f"postgresql://u:{SECRET}/w@h/db",
        f"postgresql://u@h/db?password={SECRET}",
        f"postgresql://u@h/db?sslpassword={SECRET}",
        f"postgresql://u@h/db?unknown={SECRET}",
        f"postgresql://u@h:{SECRET}/db",
        f"postgresql://u@h/db?schema={SECRET}",
        f"postgresql://u@h/db#{SECRET}",
        f"postgresql://u@h/db?{SECRET}",
    ],
)
def test_an_address_with_a_password_is_refused_and_not_repeated(text):
    """Nor is anything else that may be one."""
    with pytest.raises(UsageError) as refused:
        split_address(text)
    assert SECRET not in f"{refused.value} {refused.value.hint}"


def test_a_schema_is_a_ledger_of_its_own(server):
    """Two of them share nothing."""
    with PostgresLedger(server.address("one")) as first, PostgresLedger(server.address("two")) as second:
        run(ask(first, key(1)))
        assert second.stored(key(1)) is None


def test_a_server_that_is_not_there_is_one_sentence(tmp_path, server):
    """Nothing waits for it."""
    with pytest.raises(LedgerError, match="cannot be used"):
        PostgresLedger(f"postgresql://u@/db?host={tmp_path}")


def test_a_password_comes_from_the_environment_and_is_never_told(server, monkeypatch):
    """Also where it is wrong."""
    monkeypatch.setenv("PGPASSWORD", SECRET)
    with pytest.raises(LedgerError) as refused:
        PostgresLedger(f"postgresql://nobody@/postgres?host={server.folder}")
    assert SECRET not in f"{refused.value} {refused.value.hint} {refused.value.__cause__}"


def test_an_engine_asks_nothing_that_another_engine_has_asked(address):
    """Over the address of the database alone."""
    asked = []
    script = Script(lambda _: "7", on_paid=asked.append)

    async def course():
        answers = []
        for _ in range(2):
            connection = Connection(transport=FakeTransport(script))
            async with Engine(address, connection=connection) as engine:
                for number in range(5):
                    model = Model("openai", "gpt-5-mini", "http://127.0.0.1:9/v1")
                    answers.append(await engine.ask(Ask(model, "Judge.", f"Answer {number}", read=str)))
        return answers

    answers = run(course())
    assert len(answers) == 10
    assert len(asked) == 5


def test_money_that_nobody_waits_for_any_more_is_free_again(ledger):
    """Also where its caller went away while the database was setting it aside."""

    async def course():
        most = 1000
        for _ in range(5):
            task = asyncio.create_task(ledger.hold_money(most, most, 3600.0, 60.0))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        for _ in range(100):
            if row := await ledger.hold_money(most, most, 3600.0, 60.0):
                return row, await ledger.hold_money(1, most, 3600.0, 60.0)
            await asyncio.sleep(0.05)
        return None

    row, more = run(course())
    assert row
    assert more == 0


def test_what_is_spent_is_seen_by_all_and_leaves_the_window(ledger, address):
    """A limit that is reached stays so until its window has passed; a clock that goes back frees nothing."""

    async def course(other):
        for number in range(3):
            row = await ledger.hold_money(300, 1000, 3600.0, 6000.0)
            ledger.spend_money(300, 6000.0 + number, row)
        await asyncio.sleep(3.5)  # what this one has set aside and does not use is given back
        late = 6000.0 + 3700.0
        full = [await other.hold_money(200, 1000, 3600.0, wall) for wall in (6010.0, 10.0)]
        return (
            full,
            await other.hold_money(100, 1000, 3600.0, 6010.0),
            await other.hold_money(900, 1000, 3600.0, late),
        )

    with PostgresLedger(address) as other:
        full, fits, later = run(course(other))
    assert full == [None, None]
    assert fits
    assert later

"""The laws of a ledger within one process, and whether the process behind a lease still lives."""

from __future__ import annotations

import asyncio
import inspect
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from bonwise.calls.bill import Usage
from bonwise.calls.ledger import place as owner
from bonwise.calls.ledger.ledger import Ledger, NullLedger
from bonwise.calls.ledger.place import SILENCE, is_alive, this_process
from bonwise.calls.ledger.records import Stored
from bonwise.calls.ledger.transactions import LedgerTransactions
from bonwise.errors import LedgerError
from calls.ledgers import URL, ask, key, recorded, request

# The laws of a ledger within one process.


@pytest.fixture
def ledger(tmp_path):
    """Return an empty ledger."""
    with Ledger.open(tmp_path / "run") as opened:
        yield opened


def query(ledger, statement):
    """Ask the file itself, as another program would."""
    with closing(sqlite3.connect(ledger.path)) as connection:
        return connection.execute(statement).fetchall()


def test_an_answer_comes_back_as_it_was_recorded(ledger):
    """Everything that is recorded of an answered sample is read back unchanged, after reopening too."""
    usage = Usage(1, 2, 3, 4, 5, 6)
    came = {"raw": b"\x00{}", "model": "m-1", "fingerprint": "fp", "usage": usage, "cost": 0.25, "price_version": "v"}
    claim = asyncio.run(ask(ledger, key(0), key(1), effective={"temperature": 0.5}, **came))
    ledger.note_reading(key(1), '{"score": 3}')
    ledger.close()
    wanted = Stored(claim.call_id, 1, b"\x00{}", 200, '{"score": 3}', "m-1", "fp", usage, 0.25, {"temperature": 0.5})
    with Ledger.open(ledger.path) as again:
        assert again.stored(key(1)) == wanted
        assert again.stored(key(2)) is None


def test_what_is_unknown_stays_unknown(ledger):
    """A call without a usage or a price is stored without one, never with zero."""
    asyncio.run(ask(ledger, key(0)))
    stored = ledger.stored(key(0))
    assert stored.usage is None
    assert stored.cost is None
    assert ledger.stats().unpriced == 1


def test_a_rejected_request_is_final(ledger):
    """A request the server refused for good is stored, and nobody can claim it again."""

    async def main():
        claim = await ledger.claim([key(0)], request(), wall=1.0)
        await ledger.answer(claim.call_id, recorded({}, status=400, raw=b"no", rejected=True))
        return await ledger.claim([key(0)], request(), wall=1.0)

    second = asyncio.run(main())
    assert second.call_id is None
    assert second.stored[key(0)].rejected
    assert (ledger.stored(key(0)).status, ledger.stored(key(0)).raw) == (400, b"no")


def test_a_claim_sorts_keys_into_stored_busy_and_claimed(tmp_path):
    """A claim takes only what nobody has answered or is asking for, each key once."""

    async def main(one, two):
        await ask(one, key(0))
        await one.claim([key(1)], request(), wall=1.0)
        return await two.claim([key(0), key(1), key(2), key(2)], request(), wall=1.0)

    with Ledger.open(tmp_path) as one, Ledger.open(tmp_path) as two:
        claim = asyncio.run(main(one, two))
    assert (list(claim.stored), claim.busy, claim.claimed) == ([key(0)], (key(1),), (key(2),))
    assert claim.unknown == 0


def test_samples_without_a_choice_are_released(ledger):
    """Where a server answers fewer samples than it was asked for, the others can be claimed again."""

    async def main():
        claim = await ledger.claim([key(0), key(1), key(2)], request(), wall=1.0)
        await ledger.answer(claim.call_id, recorded({key(0): 0}))
        return await ledger.claim([key(0), key(1), key(2)], request(), wall=1.0)

    second = asyncio.run(main())
    assert second.claimed == (key(1), key(2))
    assert list(second.stored) == [key(0)]
    assert second.unknown == 0


def test_a_call_given_up_releases_its_samples(ledger):
    """A call that brought nothing is kept as failed, with what it may have cost; its samples are free."""

    async def main():
        claim = await ledger.claim([key(0)], request(), wall=1.0)
        await ledger.give_up(claim.call_id, 4, 2, "no connection")
        return await ledger.claim([key(0)], request(), wall=1.0)

    assert asyncio.run(main()).claimed == (key(0),)
    failed = next(ledger.rows(state="failed"))
    assert (failed.call, failed.attempts, failed.lost_attempts, failed.note) == (1, 4, 2, "no connection")


def test_nothing_is_handed_on_before_it_is_committed(ledger):
    """When an awaited claim or answer returns, another connection sees it."""

    async def main():
        claim = await ledger.claim([key(0)], request(), wall=1.0)
        sent = query(ledger, "SELECT state FROM call")
        await ledger.answer(claim.call_id, recorded({key(0): 0}))
        return sent, query(ledger, "SELECT state FROM call")

    assert asyncio.run(main()) == ([("sent",)], [("answered",)])


def test_work_that_queues_shares_a_commit(ledger, monkeypatch):
    """What arrives during a commit is committed together."""
    commits = []
    commit = LedgerTransactions.commit
    monkeypatch.setattr(LedgerTransactions, "commit", lambda transactions: commits.append(1) or commit(transactions))

    async def main():
        await asyncio.gather(*(ask(ledger, key(number)) for number in range(50)))

    asyncio.run(main())
    assert len(commits) < 50
    assert ledger.stats().samples == 50


def test_a_cancelled_claim_is_withdrawn(ledger):
    """A claim nobody waits for any more leaves neither a call nor a lease."""

    async def main():
        task = asyncio.create_task(ledger.claim([key(0)], request(), wall=1.0))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await ledger.claim([key(0)], request(), wall=1.0)

    assert asyncio.run(main()).claimed == (key(0),)
    assert query(ledger, "SELECT count(*) FROM call") == query(ledger, "SELECT count(*) FROM request") == [(1,)]


def test_a_cancelled_answer_is_kept(ledger):
    """An answer is paid for: it is recorded although nobody waits for the record."""

    async def main():
        claim = await ledger.claim([key(0)], request(), wall=1.0)
        task = asyncio.create_task(ledger.answer(claim.call_id, recorded({key(0): 0})))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())
    ledger.close()
    assert query(ledger, "SELECT state FROM call") == [("answered",)]


def test_a_value_that_does_not_fit_fails_alone(ledger):
    """What the file cannot hold fails its own caller, not those who share the commit."""

    async def main():
        huge = ask(ledger, key(0), usage=Usage(uncached=2**70))
        return await asyncio.gather(huge, *(ask(ledger, key(n)) for n in range(1, 9)), return_exceptions=True)

    first, *others = asyncio.run(main())
    assert isinstance(first, LedgerError)
    assert not any(isinstance(other, Exception) for other in others)
    assert ledger.stats().samples == 8


def test_an_answer_is_recorded_whole_or_not_at_all(ledger):
    """Where one part of an answer does not fit, the call stands as it was."""

    async def main():
        claim = await ledger.claim([key(0), key(1)], request(), wall=1.0)
        with pytest.raises(LedgerError, match="cannot hold"):
            await ledger.answer(claim.call_id, recorded({key(0): 0, key(1): 2**70}))

    asyncio.run(main())
    assert ledger.stored(key(0)) is None
    assert [row.state for row in ledger.rows()] == ["sent", "sent"]


def test_an_answer_to_no_call_is_an_error(ledger):
    """An answer whose call is gone is not silently lost."""
    with pytest.raises(LedgerError, match="call 7 is not in the ledger"):
        asyncio.run(ledger.answer(7, recorded({key(0): 0})))


def test_a_lock_held_too_long_fails_all_and_stays(tmp_path):
    """A commit that cannot be made fails every caller of its batch, and all that come later."""

    async def main(ledger):
        with closing(sqlite3.connect(ledger.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            return await asyncio.gather(*(ask(ledger, key(number)) for number in range(3)), return_exceptions=True)

    with Ledger.open(tmp_path, busy_timeout=0.05) as ledger:
        errors = asyncio.run(main(ledger))
        with pytest.raises(LedgerError, match="locked"):
            asyncio.run(ask(ledger, key(9)))
    assert [type(error) for error in errors] == [LedgerError] * 3


def test_a_full_disk_fails_the_answer(ledger):
    """An answer that does not fit on the disk is an error, and what was kept before is sound."""

    async def main():
        await ask(ledger, key(0))
        ledger._writer._clerk._connection.execute("PRAGMA max_page_count = 1")
        await ask(ledger, key(1), raw=b"x" * 100_000)

    with pytest.raises(LedgerError, match="full"):
        asyncio.run(main())
    assert ledger.integrity() == "ok"
    assert [row.key for row in ledger.rows(state="answered")] == [key(0).hex()]


def test_a_file_that_is_gone_fails_the_answer(ledger):
    """Answers are not written into a file that nobody can find again."""

    async def main():
        await ask(ledger, key(0))
        ledger.path.unlink()
        await ask(ledger, key(1))

    with pytest.raises(LedgerError, match="No such file"):
        asyncio.run(main())


def test_a_late_answer_does_not_replace_another(tmp_path):
    """Where a lease was taken over, the first process's late answer is kept with its call, not with the sample."""

    async def main(slow, quick):
        late = await slow.claim([key(0)], request(), wall=1.0)
        with closing(sqlite3.connect(slow.path)) as connection, connection:
            connection.execute("UPDATE owner SET boot = 'another'")
        claim = await quick.claim([key(0)], request(), wall=1.0)
        await quick.answer(claim.call_id, recorded({key(0): 0}, raw=b"quick"))
        await slow.answer(late.call_id, recorded({key(0): 1}, raw=b"late"))
        return claim

    with Ledger.open(tmp_path) as slow, Ledger.open(tmp_path) as quick:
        claim = asyncio.run(main(slow, quick))
        assert claim.unknown == 1
        assert (quick.stored(key(0)).raw, quick.stored(key(0)).choice) == (b"quick", 0)
        assert [row.raw for row in quick.rows(state="answered")] == [b"late", b"quick"]


def test_closing_gives_leases_back(tmp_path):
    """A call without an answer is free when its ledger closes, and is counted as unknown once."""

    async def main(second):
        return [await second.claim([name], request(), wall=1.0) for name in (key(0), key(1))]

    with Ledger.open(tmp_path) as first:
        asyncio.run(first.claim([key(0), key(1)], request(), wall=1.0))
    with Ledger.open(tmp_path) as second:
        assert second.stats().calls == {"unknown": 1}
        assert [claim.unknown for claim in asyncio.run(main(second))] == [1, 0]
        assert second.stats().calls == {"unknown": 1, "sent": 2}


def test_loops_in_several_threads_share_a_ledger(ledger):
    """Each event loop hears of its own work, whichever commit it was part of."""

    def work(start):
        async def main():
            await asyncio.gather(*(ask(ledger, key(number)) for number in range(start, start + 20)))

        asyncio.run(main())

    threads = [threading.Thread(target=work, args=(start,)) for start in (0, 20, 40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.stats().samples == 60


def test_a_closed_ledger_refuses(ledger):
    """After closing, every use is an error; closing again is none."""
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        asyncio.run(ledger.claim([key(0)], request(), wall=1.0))
    with pytest.raises(LedgerError, match="closed"):
        ledger.stored(key(0))


def test_refused_parameters_are_remembered(tmp_path):
    """What a server does not take is known to later runs, for that server and model only."""
    with Ledger.open(tmp_path) as ledger:
        asyncio.run(ledger.drop(URL, "m", "temperature", "not supported"))
    with Ledger.open(tmp_path) as ledger:
        assert ledger.dropped(URL, "m") == {"temperature"}
        assert ledger.dropped(URL, "other") == frozenset()
        assert [dropped.message for dropped in ledger.stats().dropped] == ["not supported"]


def test_refused_parameters_can_be_forgotten(ledger):
    """Forgetting takes off what is known of a model, of a parameter or of everything, and counts it."""

    async def main():
        for model, parameter in (("m", "temperature"), ("m", "n"), ("other", "n"), ("other", "seed")):
            await ledger.drop(URL, model, parameter, "")

    asyncio.run(main())
    assert ledger.forget(model="m", parameter="seed") == 0
    assert ledger.forget(parameter="n") == 2
    assert (ledger.dropped(URL, "m"), ledger.dropped(URL, "other")) == ({"temperature"}, {"seed"})
    assert ledger.forget(model="m") == 1
    assert (ledger.forget(), ledger.forget()) == (1, 0)
    assert ledger.stats().dropped == ()


@pytest.mark.parametrize("effective", ["{bad", "[]", None, b"\xff"])
def test_a_damaged_answer_is_an_error_that_names_its_call(tmp_path, effective):
    """Where the parameters of a call are no longer what was written, nobody takes its answer for sound."""
    with Ledger.open(tmp_path) as ledger:
        asyncio.run(ask(ledger, key(0)))
        with closing(sqlite3.connect(ledger.path)) as connection, connection:
            connection.execute("CREATE TABLE loose AS SELECT * FROM call")
            connection.execute("DROP TABLE call")
            connection.execute("ALTER TABLE loose RENAME TO call")
            connection.execute("UPDATE call SET effective = ?", (effective,))
        with pytest.raises(LedgerError, match="call 1 is damaged") as caught:
            ledger.stored(key(0))
        assert str(ledger.path) in str(caught.value)
        with pytest.raises(LedgerError, match="call 1 is damaged"):
            asyncio.run(ledger.claim([key(0)], request(), wall=1.0))
        with pytest.raises(LedgerError, match="call 1 is damaged"):
            list(ledger.rows())


def test_text_that_utf8_cannot_hold_is_kept(ledger):
    """A lone surrogate in a prompt or an answer does not stop a run."""

    async def main():
        claim = await ledger.claim([key(0)], request("half \ud800"), wall=1.0)
        await ledger.answer(claim.call_id, recorded({key(0): 0}, model="m\ud800"))
        ledger.note_reading(key(0), '"\ud800"')

    asyncio.run(main())
    ledger.close()
    assert query(ledger, "SELECT reading FROM sample") == [('"\\ud800"',)]
    assert "half \\ud800" in query(ledger, "SELECT body FROM request")[0][0]


@pytest.mark.parametrize(
    "method", ["stored", "claim", "answer", "give_up", "note_reading", "dropped", "drop", "close"]
)
def test_no_ledger_has_the_interface_of_a_ledger(method):
    """What works with a ledger works without one."""
    real, absent = (getattr(kind, method) for kind in (Ledger, NullLedger))
    assert inspect.signature(real) == inspect.signature(absent)
    assert inspect.iscoroutinefunction(real) == inspect.iscoroutinefunction(absent)


def test_no_ledger_keeps_nothing():
    """Without a ledger every key is claimed, again and again, each call under a new number."""
    ledger = NullLedger()

    async def main():
        claims = [await ask(ledger, key(0), key(1)) for _ in range(2)]
        await ledger.give_up(1, 1, 0, "")
        await ledger.drop(URL, "m", "seed", "")
        return claims

    first, second = asyncio.run(main())
    ledger.note_reading(key(0), "1")
    ledger.close()
    assert first.claimed == second.claimed == (key(0), key(1))
    assert first.call_id != second.call_id
    assert ledger.stored(key(0)) is None
    assert (ledger.dropped(URL, "m"), ledger.dropped(URL, "n")) == ({"seed"}, frozenset())


# Whether the process behind a lease still lives.


HERE = this_process()
linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="start times are read from /proc")


def lives(of, heartbeat=0.0, now=0.0):
    """Ask about an owner from this process."""
    return is_alive(of, heartbeat, HERE, now)


@linux
def test_this_process_lives_however_long_it_is_silent():
    """A process of this machine that runs holds its leases, whatever its last sign of life."""
    assert lives(HERE, heartbeat=0.0, now=10 * SILENCE)


def test_an_owner_that_has_left_is_dead():
    """No sign of life at all is how a process says that it gave its leases back."""
    assert not lives(HERE, heartbeat=None)


def test_another_boot_of_this_machine_is_dead():
    """No process outlives a restart of its machine, even under the same number."""
    assert not lives(replace(HERE, boot="another"))


@linux
def test_a_number_given_to_another_process_is_dead():
    """The same process number with another start time is another process."""
    assert not lives(replace(HERE, started="1"))


@linux
def test_a_killed_process_is_dead_before_its_parent_has_asked():
    """A process that ended and is still listed as a zombie holds no lease."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    begun = replace(HERE, pid=child.pid, started=owner._started(child.pid))
    alive = lives(begun)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    dead = not lives(begun)
    child.communicate()
    assert alive
    assert dead


SILENCES = [(SILENCE - 1, True), (SILENCE + 1, False), (1 - SILENCE, True), (-SILENCE - 1, False), (-1e9, False)]
"""Seconds since the last sign of life, and whether it counts; negative where the clock was set back since."""


@pytest.mark.parametrize(("silent", "alive"), SILENCES)
def test_a_process_elsewhere_lives_while_it_is_heard(silent, alive):
    """A process that cannot be looked at is judged by its last sign of life."""
    assert lives(replace(HERE, host="elsewhere"), heartbeat=0.0, now=silent) is alive


@pytest.mark.parametrize(("silent", "alive"), SILENCES)
def test_where_start_times_are_not_shown_a_process_must_be_heard_too(monkeypatch, silent, alive):
    """A process number alone may have been given away, so it counts only with a recent sign of life."""
    monkeypatch.setattr(owner, "_started", lambda _: None)
    assert lives(replace(HERE, started=""), heartbeat=0.0, now=silent) is alive


def test_where_start_times_are_not_shown_a_missing_number_is_dead(monkeypatch):
    """A process number that no process has is a dead owner."""
    monkeypatch.setattr(owner, "_started", lambda _: None)
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert not lives(replace(HERE, pid=child.pid, started=""))

"""Which files are ledgers, what people see of one, and the laws of one that several processes share."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
from contextlib import closing, suppress
from pathlib import Path

import pytest

from bonwise.calls.bill import Usage
from bonwise.calls.ledger import place, schema
from bonwise.calls.ledger.ledger import Ledger
from bonwise.calls.ledger.schema import FIRST_VERSION, MIGRATIONS, migrate
from bonwise.errors import LedgerError, UsageError
from calls.ledgers import ask, key, process, recorded, request

# Which files are ledgers, and what people can see of one and remove from it.


def connect(path):
    """Open a file as another program would."""
    return closing(sqlite3.connect(path, isolation_level=None))


def test_a_run_folder_holds_one_ledger(tmp_path):
    """A folder, the file in it, and a path that is still to be made all lead to a ledger."""
    for path, file in [
        (tmp_path / "a" / "run", tmp_path / "a" / "run" / "ledger.sqlite"),
        (tmp_path / "a" / "run" / "ledger.sqlite", tmp_path / "a" / "run" / "ledger.sqlite"),
        (tmp_path / "b" / "prod.sqlite", tmp_path / "b" / "prod.sqlite"),
    ]:
        with Ledger.open(str(path)) as ledger:
            assert ledger.path == file
            assert file.exists()


CURRENT = FIRST_VERSION + len(MIGRATIONS) - 1


def test_a_ledger_is_private(tmp_path):
    """Only its owner can read a ledger or the files beside it."""
    with Ledger.open(tmp_path) as ledger:
        asyncio.run(ask(ledger, key(0)))
        assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}


def test_commits_are_durable(tmp_path):
    """The writer's commits wait for the disk."""
    with Ledger.open(tmp_path) as ledger:
        asyncio.run(ask(ledger, key(0)))
        connection = ledger._writer._clerk._connection
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_an_older_ledger_is_migrated(tmp_path):
    """An older file keeps its rows and gets what newer versions added, step by step."""
    with Ledger.open(tmp_path) as ledger:
        asyncio.run(ask(ledger, key(0)))
    steps = [
        *MIGRATIONS,
        ("ALTER TABLE call ADD COLUMN one TEXT",),
        ("ALTER TABLE call ADD COLUMN two INT DEFAULT 2",),
    ]
    with connect(ledger.path) as connection:
        migrate(connection, steps)
        migrate(connection, steps)
        assert connection.execute("SELECT state, one, two FROM call").fetchall() == [("answered", None, 2)]
        assert connection.execute("PRAGMA user_version").fetchone() == (CURRENT + 2,)


def test_a_migration_that_fails_changes_nothing(tmp_path):
    """A migration is made whole or not at all."""
    with Ledger.open(tmp_path) as ledger:
        pass
    steps = [*MIGRATIONS, ("ALTER TABLE call ADD COLUMN one TEXT", "ALTER TABLE nowhere ADD COLUMN two TEXT")]
    with connect(ledger.path) as connection:
        with pytest.raises(sqlite3.OperationalError):
            migrate(connection, steps)
        assert connection.execute("PRAGMA user_version").fetchone() == (CURRENT,)
        assert "one" not in [row[1] for row in connection.execute("PRAGMA table_info(call)")]


def test_a_newer_ledger_is_refused(tmp_path):
    """A file of a later version is not touched."""
    with Ledger.open(tmp_path) as ledger:
        pass
    with connect(ledger.path) as connection:
        connection.execute(f"PRAGMA user_version = {CURRENT + 1}")
    with pytest.raises(LedgerError, match="newer bonwise") as caught:
        Ledger.open(tmp_path)
    assert str(ledger.path) in caught.value.message


def test_a_ledger_without_digests_is_refused(tmp_path):
    """A file of a version before the first that is read is not touched."""
    with Ledger.open(tmp_path) as ledger:
        pass
    with connect(ledger.path) as connection:
        connection.execute(f"PRAGMA user_version = {FIRST_VERSION - 1}")
    with pytest.raises(LedgerError, match="an older bonwise wrote it, and it cannot be upgraded"):
        Ledger.open(tmp_path)


def test_a_ledger_that_another_process_is_making_is_no_foreign_file(tmp_path, monkeypatch):
    """What marks a file as a ledger and its version are read from one moment, also while it is being made."""
    file = tmp_path / "ledger.sqlite"
    file.touch()
    figure = schema._figure

    def read_slowly(connection, pragma):
        found = figure(connection, pragma)
        monkeypatch.setattr(schema, "_figure", figure)
        with connect(file) as other, suppress(sqlite3.OperationalError):
            other.execute("PRAGMA busy_timeout = 0")
            migrate(other)
        return found

    monkeypatch.setattr(schema, "_figure", read_slowly)
    with Ledger.open(file) as ledger:
        assert ledger.integrity() == "ok"


def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path):
    """A text file under the name of a ledger is refused, and stays as it is."""
    file = tmp_path / "notes.sqlite"
    file.write_text("my notes " * 100)
    with pytest.raises(LedgerError, match="not a database"):
        Ledger.open(file)
    assert file.read_text() == "my notes " * 100


def test_a_database_of_another_program_is_refused_and_kept(tmp_path):
    """Another program's database is refused, and stays as it is."""
    file = tmp_path / "other.sqlite"
    with connect(file) as connection:
        connection.execute("CREATE TABLE theirs (a)")
    before = file.read_bytes()
    with pytest.raises(LedgerError, match="another program"):
        Ledger.open(file)
    assert file.read_bytes() == before


def test_a_plain_file_is_no_run_folder(tmp_path):
    """A file without the suffix of a ledger is not taken for a folder."""
    file = tmp_path / "scores.csv"
    file.write_text("a,b\n")
    with pytest.raises(LedgerError, match="no run folder"):
        Ledger.open(file)
    with pytest.raises(LedgerError, match="cannot be used"):
        Ledger.open(file / "run")


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "smb3"])
def test_a_network_filesystem_is_refused(tmp_path, monkeypatch, kind):
    """A ledger is not made where its locks do not hold."""
    monkeypatch.setattr(place, "filesystem", lambda *_: kind)
    with pytest.raises(LedgerError, match=kind) as caught:
        Ledger.open(tmp_path / "run.sqlite")
    assert "this machine" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_the_nearest_mount_point_counts():
    """A path lies on the filesystem of its longest mount point; of two on the same point, the later."""
    mounts = "/dev/a / ext4 rw 0 0\nh:/ /home nfs4 rw 0 0\ntmpfs /home/me tmpfs rw 0 0\nh:/ /home/me cifs rw 0 0"
    paths = ["/", "/homes/x", "/home/you/x", "/home/me/run"]
    assert [place.filesystem(place.Path(path), mounts) for path in paths] == ["ext4", "ext4", "nfs4", "cifs"]


async def fill(ledger):
    """Leave one call in every state behind, those of model m of known cost."""
    await ask(ledger, key(0), key(1), usage=Usage(uncached=10, cache_read=5, output=3), cost=0.5, attempts=2)
    claim = await ledger.claim([key(2)], request(model="n"), wall=5.0)
    await ledger.answer(claim.call_id, recorded({key(2): 0}, answered_at=6.0, lost_attempts=1))
    claim = await ledger.claim([key(3)], request(), wall=1.0)
    await ledger.answer(claim.call_id, recorded({}, status=400, rejected=True))
    claim = await ledger.claim([key(4)], request(), wall=1.0)
    await ledger.give_up(claim.call_id, 3, 2, "timeout")
    await ledger.claim([key(5)], request(), wall=1.0)


@pytest.fixture
def filled(tmp_path):
    """Return a ledger whose last owner has left a call behind."""
    with Ledger.open(tmp_path) as ledger:
        asyncio.run(fill(ledger))
    with Ledger.open(tmp_path) as ledger:
        yield ledger


def test_stats_add_up(filled):
    """The sums of a ledger are those of its calls; what is not known is counted, not taken for zero."""
    stats = filled.stats()
    assert stats.calls == {"answered": 2, "rejected": 1, "failed": 1, "unknown": 1}
    assert (stats.samples, stats.input_tokens, stats.output_tokens) == (3, 15, 3)
    assert (stats.cost, stats.unpriced, stats.lost_attempts) == (0.5, 1, 1 + 2 + 1)
    assert [(tally.model, tally.samples, tally.unpriced) for tally in stats.models] == [("m", 2, 0), ("n", 1, 1)]
    assert stats.models[0].usage == Usage(uncached=10, cache_read=5, output=3)


def test_rows_show_samples_and_calls_without_any(filled):
    """Every sample is one row with its call, and a call that has none is one row too."""
    rows = list(filled.rows())
    assert [row.state for row in rows] == ["answered", "answered", "answered", "rejected", "failed", "sent"]
    assert {row.key for row in rows} == {key(n).hex() for n in range(6)}
    assert (rows[0].usage, rows[0].cost, rows[0].effective, rows[0].attempts) == (Usage(10, 5, 0, 0, 3), 0.5, {}, 2)
    assert (rows[-1].raw, rows[-1].answered_at, rows[-1].usage) == (None, None, None)
    assert "which is better?" in rows[-1].body


def test_a_call_whose_samples_went_elsewhere_is_still_a_row(filled):
    """A call taken over by another has no sample any more, and is shown all the same."""
    asyncio.run(filled.claim([key(4)], request(), wall=3.0))
    assert [row.key for row in filled.rows(state="failed")] == [""]


def test_rows_can_be_chosen(filled):
    """Rows are chosen by model, state, key and number."""
    assert [row.model for row in filled.rows(model="n")] == ["n"]
    assert [row.state for row in filled.rows(state="rejected")] == ["rejected"]
    assert [row.key for row in filled.rows(key_prefix=key(1).hex()[:9])] == [key(1).hex()]
    assert len(list(filled.rows(limit=2))) == 2
    with pytest.raises(UsageError, match="begins no key"):
        filled.rows(key_prefix="%")


def test_pruning_leaves_what_was_answered(filled):
    """Pruning removes failed calls, unknown ones only where they are named, and nothing that was answered."""
    assert filled.prune() == 1
    assert filled.stats().calls == {"answered": 2, "rejected": 1, "unknown": 1}
    assert filled.prune(states=["unknown"]) == 1
    assert filled.stats().calls == {"answered": 2, "rejected": 1}
    assert {row.key for row in filled.rows()} == {key(number).hex() for number in range(4)}
    assert filled.integrity() == "ok"
    with connect(filled.path) as connection:
        assert connection.execute("SELECT count(*) FROM sample").fetchone() == (4,)


def test_answered_calls_are_pruned_only_by_date(filled):
    """Answered calls go only where they are named and older than a date; calls under way never."""
    with pytest.raises(UsageError, match="takes a date"):
        filled.prune(states=["answered"])
    with pytest.raises(UsageError, match="under way"):
        filled.prune(states=["sent"])
    assert filled.prune(states=["answered"], before=6.0) == 1
    assert [row.model for row in filled.rows(state="answered")] == ["n"]
    assert filled.stored(key(0)) is None


def test_pruning_spares_calls_under_way(filled):
    """A call of a living process is not pruned, and its answer finds it."""

    async def main():
        claim = await filled.claim([key(9)], request(), wall=1.0)
        filled.prune()
        await filled.answer(claim.call_id, recorded({key(9): 0}))

    asyncio.run(main())
    assert filled.stored(key(9)) is not None


# The laws of a ledger that several processes share, and of processes that die.


HOLD = """
import asyncio, sys
from calls.ledgers import key, request
from bonwise.calls.ledger.ledger import Ledger

async def main():
    for keys in ([key(0), key(1)], [key(2)]):
        await ledger.claim(keys, request(), wall=1.0)

with Ledger.open(sys.argv[1]) as ledger:
    asyncio.run(main())
    print("holding", flush=True)
    sys.stdin.readline()
"""

SHARE = """
import asyncio, sys
from calls.ledgers import key, recorded, request
from bonwise.calls.ledger.ledger import Ledger

async def one(ledger, name):
    claim = await ledger.claim([name], request(), wall=1.0)
    while claim.busy:
        await asyncio.sleep(0.001)
        claim = await ledger.claim([name], request(), wall=1.0)
    if claim.claimed:
        await ledger.answer(claim.call_id, recorded({name: 0}))
    return len(claim.claimed)

async def main():
    paid = 0
    for start in range(0, 120, 20):
        paid += sum(await asyncio.gather(*(one(ledger, key(n)) for n in range(start, start + 20))))
    print(paid)

sys.stdin.readline()
with Ledger.open(sys.argv[1]) as ledger:
    asyncio.run(main())
"""

STORM = """
import asyncio, sys
from calls.ledgers import ask, key
from bonwise.calls.ledger.ledger import Ledger

async def work(ledger, start):
    for number in range(start, start + 100_000, 8):
        await ask(ledger, key(number))
        print(number, flush=True)

async def main():
    await asyncio.gather(*(work(ledger, start) for start in range(8)))

ledger = Ledger.open(sys.argv[1])
asyncio.run(main())
"""

FORGETFUL = """
import asyncio, sys
from calls.ledgers import ask, key
from bonwise.calls.ledger.ledger import Ledger

ledger = Ledger.open(sys.argv[1])
asyncio.run(ask(ledger, key(0)))
ledger.note_reading(key(0), "7")
"""

FORK = """
import asyncio, os, sys
from calls.ledgers import ask, key, recorded, request
from bonwise.calls.ledger.ledger import Ledger

def open_files():
    folder = "/proc/self/fd"
    numbers = os.listdir(folder) if os.path.exists(folder) else []
    return [os.readlink(f"{folder}/{n}") for n in numbers if os.path.islink(f"{folder}/{n}")]

ledger = Ledger.open(sys.argv[1])
first = asyncio.run(ledger.claim([key(0), key(1)], request(), wall=1.0))
ledger.stored(key(0))
child = os.fork()
if child == 0:
    try:
        inherited = [file for file in open_files() if "ledger.sqlite" in file]
        claim = asyncio.run(ledger.claim([key(0)], request(), wall=1.0))
        asyncio.run(ask(ledger, key(2)))
        ledger.close()
        os._exit(0 if claim.busy and not inherited else 1)
    finally:
        os._exit(2)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
asyncio.run(ledger.answer(first.call_id, recorded({key(0): 0})))
again = asyncio.run(ledger.claim([key(1)], request(), wall=1.0))
print(code, len(again.claimed), ledger.stored(key(2)) is not None, ledger.stored(key(0)) is not None)
ledger.close()
"""


def holder(folder):
    """Start a process that holds two calls."""
    running = process(HOLD, folder)
    assert running.stdout.readline() == "holding\n"
    return running


async def claim_all(ledger):
    """Claim what the holder holds."""
    return await ledger.claim([key(number) for number in range(3)], request(), wall=2.0)


def test_a_living_process_keeps_its_leases(tmp_path):
    """What another process is asking for is busy until it ends; then it is free and counted as unknown."""
    with Ledger.open(tmp_path) as ledger:
        running = holder(tmp_path)
        busy = asyncio.run(claim_all(ledger))
        running.communicate("\n")
        free = asyncio.run(claim_all(ledger))
    assert (busy.call_id, len(busy.busy), busy.unknown) == (None, 3, 0)
    assert (len(free.claimed), free.busy, free.unknown) == (3, (), 2)


def test_the_leases_of_a_killed_process_are_void_at_once(tmp_path):
    """After a kill nothing waits for a timeout: the next claim takes over, and counts what may be billed."""
    running = holder(tmp_path)
    running.kill()
    running.communicate()
    with Ledger.open(tmp_path) as ledger:
        claim = asyncio.run(claim_all(ledger))
        stats = ledger.stats()
    assert (len(claim.claimed), claim.unknown) == (3, 2)
    assert stats.calls == {"unknown": 2, "sent": 1}
    assert stats.lost_attempts == 2


def test_processes_never_pay_twice(tmp_path):
    """Processes that make the same ledger at once and want the same samples ask for each exactly once."""
    running = [process(SHARE, tmp_path / "run") for _ in range(3)]
    for one in running:
        one.stdin.write("\n")
        one.stdin.flush()
    paid = [int(one.communicate()[0]) for one in running]
    assert sum(paid) == 120
    with Ledger.open(tmp_path / "run") as ledger:
        assert ledger.stats().calls == {"answered": 120}


def test_a_folder_that_another_process_makes_meanwhile_is_no_file(tmp_path, monkeypatch):
    """Between two questions about a path it may become a folder."""
    run, is_there = tmp_path / "run", Path.exists

    def made_meanwhile(path):
        run.mkdir(exist_ok=True)
        return is_there(path)

    monkeypatch.setattr(Path, "exists", made_meanwhile)
    assert place.ledger_file(run) == run / "ledger.sqlite"


@pytest.mark.parametrize("answers", [1, 7, 40])
def test_a_kill_at_any_moment_loses_no_awaited_answer(tmp_path, answers):
    """A process killed among many claims and answers leaves a sound file with every answer it was told of."""
    running = process(STORM, tmp_path)
    told = [int(running.stdout.readline()) for _ in range(answers)]
    running.kill()
    told += [int(line) for line in running.stdout.read().splitlines()]
    running.communicate()
    with Ledger.open(tmp_path) as ledger:
        assert ledger.integrity() == "ok"
        assert all(ledger.stored(key(number)) for number in told)
        asyncio.run(ask(ledger, key("afterwards")))


def test_a_ledger_that_nobody_closes_is_closed_at_exit(tmp_path):
    """A process that ends by itself commits what it had queued."""
    running = process(FORGETFUL, tmp_path)
    running.communicate()
    assert running.returncode == 0
    with Ledger.open(tmp_path) as ledger:
        assert ledger.stored(key(0)).reading == "7"


def test_a_process_that_forks_becomes_two_owners(tmp_path):
    """After a fork both processes go on, each with its own leases."""
    running = process(FORK, tmp_path)
    assert running.communicate()[0].split() == ["0", "1", "True", "True"]
    with Ledger.open(tmp_path) as ledger:
        assert ledger.integrity() == "ok"
        with closing(sqlite3.connect(ledger.path)) as connection:
            assert len(set(connection.execute("SELECT pid FROM owner").fetchall())) == 2


def test_answers_while_another_process_prunes(tmp_path):
    """Pruning from elsewhere does not disturb a process that is asking."""

    async def main(ledger):
        claim = await ledger.claim([key(5)], request(), wall=1.0)
        pruner.prune()
        await ledger.answer(claim.call_id, recorded({key(5): 0}))

    holder(tmp_path).communicate("\n")
    with Ledger.open(tmp_path) as ledger, Ledger.open(tmp_path) as pruner:
        asyncio.run(main(ledger))
        calls = ledger.stats().calls
        assert {state: count for state, count in calls.items() if count} == {"answered": 1, "unknown": 2}

"""What a ledger does with answers that are no longer what was written, and on a failing disk."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import shutil
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from bonwise.calls.bill import Usage
from bonwise.calls.ledger import damage as checking
from bonwise.calls.ledger import schema
from bonwise.calls.ledger.damage import repair
from bonwise.calls.ledger.ledger import Ledger
from bonwise.calls.ledger.schema import answer_digest, key_digest, read_sum
from bonwise.errors import LedgerError
from calls.ledgers import ask, key, process, recorded, request

# What a ledger does with answers that are no longer what was written, and with those of version 0.1.0.


@pytest.fixture
def path(tmp_path):
    """Return a closed ledger with ten calls of two samples each."""
    with Ledger.open(tmp_path / "run") as ledger:
        for number in range(10):
            asyncio.run(ask(ledger, key(2 * number), key(2 * number + 1), raw=b'{"score": %d}' % number))
    return ledger.path


def change(path, statement, *values):
    """Change a file as a failing disk might."""
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(statement, values).rowcount


def claimed(path, *keys):
    """Claim keys as the next run would."""
    with Ledger.open(path) as ledger:
        return asyncio.run(ledger.claim(keys, request(), wall=9.0))


def test_the_digests_are_those_of_the_formula(path):
    """Worked by another way: BLAKE2b of 16 bytes, of key, call and choice, and of the figures with the bytes."""
    hand = hashlib.blake2b(key(0) + b"(1, 0)", digest_size=16).digest()
    assert key_digest(key(0), 1, 0) == hand
    written = b"(7, ('answered', 2.0, None, 'caf\\xe9'))" + b"\0{}"
    hand = hashlib.blake2b(written, digest_size=16).digest()
    assert answer_digest(7, ("answered", 2.0, None, "caf\u00e9"), b"{}") == hand
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT key, digest FROM sample").fetchall()
        answers = connection.execute("SELECT digest FROM response").fetchall()
        found = read_sum(connection)
    keys_xor = answers_xor = 0
    for name, digest in rows:
        keys_xor ^= int(name.hex(), 16) ^ int(digest.hex(), 16)
    for (digest,) in answers:
        answers_xor ^= int(digest.hex(), 16)
    assert found == (20, keys_xor, 10, answers_xor)


def test_numbers_come_back_as_they_were_digested(tmp_path):
    """Whatever kind of number a provider's adapter counts with, what is read has the digest of what was written."""
    odd = {
        "status": True,
        "answered_at": 2,
        "cost": -0.0,
        "usage": Usage(12.0, True, np.int64(3), 0, np.float64(5.0)),
    }
    with Ledger.open(tmp_path) as ledger:
        asyncio.run(ask(ledger, key(0), **odd))
        assert ledger.stored(key(0)).usage == Usage(12, 1, 3, 0, 5, 0)


def test_the_sum_follows_every_change(path):
    """After answers, refusals, failures, pruning and a lost process the row still counts what is there."""

    async def more(ledger):
        claim = await ledger.claim([key(100), key(101)], request(), wall=1.0)
        await ledger.answer(claim.call_id, recorded({}, status=400, rejected=True))
        claim = await ledger.claim([key(102)], request(), wall=1.0)
        await ledger.give_up(claim.call_id, 1, 1, "timeout")
        await ledger.claim([key(103)], request(), wall=1.0)

    with Ledger.open(path) as ledger:
        asyncio.run(more(ledger))
        assert (ledger.check().keys, ledger.check().damage) == (22, ())
        ledger.prune()
        ledger.prune(["rejected"])
        assert (ledger.check().keys, ledger.check().damage) == (20, ())
        ledger.prune(["answered"], before=9.0)
        assert (ledger.check().keys, ledger.check().damage) == (0, ())


CHANGES = {
    "answer": ("UPDATE response SET raw = CAST(replace(raw, '3', '9') AS BLOB) WHERE call = 4", "call 4"),
    "choice": ("UPDATE sample SET choice = 1 - choice WHERE call = 4", "call 4"),
    "call": ("UPDATE sample SET call = 5 WHERE call = 4", "call 5"),
    "no choice": ("UPDATE sample SET choice = NULL WHERE call = 4", "call 4"),
    "no digest": ("UPDATE sample SET digest = NULL WHERE call = 4", "call 4"),
    "no digest of the answer": ("UPDATE response SET digest = NULL WHERE call = 4", "call 4"),
    "no answer": ("DELETE FROM response WHERE call = 4", "call 4"),
    "no call": ("DELETE FROM call WHERE id = 4", "call 4"),
    "status": ("UPDATE call SET status = 201 WHERE id = 4", "call 4"),
    "state": ("UPDATE call SET state = 'failed' WHERE id = 4", "call 4"),
    "cost": ("UPDATE call SET cost = 0.5 WHERE id = 4", "call 4"),
    "name": ("UPDATE call SET answered_model = CAST(x'ff' AS TEXT) WHERE id = 4", "call 4"),
}


@pytest.mark.parametrize("change_name", CHANGES)
def test_a_changed_answer_is_never_given_out(path, change_name):
    """A read, a claim and a check all name the call; its neighbours are read as before; a repair drops it alone."""
    statement, named = CHANGES[change_name]
    with Ledger.open(path) as ledger:
        neighbour = ledger.stored(key(0))
    change(path, statement)
    with Ledger.open(path) as ledger:
        with pytest.raises(LedgerError, match=named):
            ledger.stored(key(6)) or asyncio.run(ledger.claim([key(6)], request(), wall=9.0))
        assert ledger.stored(key(0)) == neighbour
    with Ledger.open(path) as ledger, pytest.raises(LedgerError, match=named):
        asyncio.run(ledger.claim([key(6)], request(), wall=9.0))
    with Ledger.open(path) as ledger:
        assert int(named.removeprefix("call ")) in ledger.check().calls
    done = repair(path)
    assert (done.kept, done.dropped) == (18, 2)
    with Ledger.open(path) as ledger:
        assert ledger.check().damage == ()
        assert ledger.stored(key(6)) is None
        assert ledger.stored(key(0)) == neighbour
    assert claimed(path, key(6), key(7)).claimed == (key(6), key(7))


def test_a_lost_key_is_noticed_before_anything_is_paid(path):
    """Keys that are gone are asked again by nobody before somebody is told; then, dropped, by whoever needs them."""
    change(path, "DELETE FROM sample WHERE call = 4")
    with Ledger.open(path) as ledger:
        assert ledger.stored(key(6)) is None
        with pytest.raises(LedgerError, match="2 of 20 keys are missing"):
            asyncio.run(ledger.claim([key(500)], request(), wall=9.0))
        assert ledger.check().missing == 2
    assert repair(path).dropped == 2
    assert claimed(path, key(6), key(500)).claimed == (key(6), key(500))


def test_a_key_out_of_place_is_noticed(path, monkeypatch):
    """Pages that were swapped hold every key, and none is found by its name: the order says so."""
    with closing(sqlite3.connect(path)) as connection:
        assert checking._keys_are_whole(connection)
        monkeypatch.setattr(schema, "STORED_KEYS", schema.STORED_KEYS + " ORDER BY key DESC")
        assert not checking._keys_are_whole(connection)


def test_an_unclean_end_has_all_answers_checked(path):
    """After a kill the next process that pays for a call checks the answers too, once."""
    code = "import sys, asyncio, os; from bonwise.calls.ledger.ledger import Ledger; from calls.ledgers import *\n"
    code += "ledger = Ledger.open(sys.argv[1]); asyncio.run(ask(ledger, key(900))); os.kill(os.getpid(), 9)"
    process(code, path).communicate()
    change(path, "UPDATE response SET raw = CAST(replace(raw, '3', '9') AS BLOB) WHERE call = 4")
    with Ledger.open(path) as ledger, pytest.raises(LedgerError, match="call 4"):
        asyncio.run(ledger.claim([key(901)], request(), wall=9.0))
    change(path, "UPDATE response SET raw = CAST(replace(raw, '9', '3') AS BLOB) WHERE call = 4")
    assert claimed(path, key(902)).claimed
    change(path, "UPDATE response SET raw = CAST(replace(raw, '3', '9') AS BLOB) WHERE call = 4")
    assert claimed(path, key(903)).claimed  # its own end was clean: only keys are checked


def test_a_page_that_fails_has_the_file_checked(path):
    """Where SQLite says that a page is malformed, the error names the calls on it."""
    with closing(sqlite3.connect(path)) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'response'").fetchone()
    content = bytearray(path.read_bytes())
    content[(root - 1) * 4096 : root * 4096] = random.Random(1).randbytes(4096)  # noqa: S311
    path.write_bytes(content)
    with Ledger.open(path) as ledger, pytest.raises(LedgerError, match=r"damaged: call 1, call 2, .*call 10"):
        ledger.stored(key(0))
    assert repair(path).dropped == 20


def test_a_file_that_was_cut_off_is_read_as_far_as_it_goes(path):
    """SQLite refuses all of a file that is too short; the error names calls, and a repair keeps what is left."""
    with Ledger.open(path) as ledger:
        for number in range(10, 60):
            asyncio.run(ask(ledger, key(2 * number), raw=b"%d" % number * 500))
    with path.open("r+b") as stream:
        stream.truncate(path.stat().st_size - 3 * 4096)
    with pytest.raises(LedgerError, match=r"damaged: .*call 5"):
        Ledger.open(path)
    done = repair(path)
    assert done.kept >= 20
    assert done.kept + done.dropped == 70
    with Ledger.open(path) as ledger:
        assert ledger.check().keys == done.kept


def test_a_repair_waits_for_those_who_use_the_ledger(path):
    """While a process holds the ledger nothing is put in its place."""
    with Ledger.open(path) as ledger:
        asyncio.run(ask(ledger, key(800)))
        with pytest.raises(LedgerError, match="in use"):
            repair(path)
    assert repair(path).kept == 21


def test_a_repair_keeps_the_damaged_file(path):
    """Nothing that was paid for is thrown away: the old file stays under another name."""
    before = path.read_bytes()
    first, second = repair(path), repair(path)
    assert first.before.read_bytes() == before
    assert {first.before.name, second.before.name} == {"ledger.damaged-1.sqlite", "ledger.damaged-2.sqlite"}


# A ledger on a failing disk: whatever became of its bytes, no answer is ever taken for another one.


PAGE = 4096
CALLS = 80
KINDS = ("bit", "bits", "swap", "copy", "truncate", "noise", "zeros")
FULL, THINNED = 1000, 42


def raw_of(number):
    """Return what was answered: some of it fills more than one page."""
    return json.dumps({"score": number, "padding": "x" * (9000 if number % 20 == 0 else number * 7)}).encode()


async def fill(ledger):
    """Answer calls of one and of two samples, refuse some, and leave one without an answer."""
    for number in range(CALLS):
        keys = [key(3 * number), key(3 * number + 1)][: 1 + number % 2]
        claim = await ledger.claim(keys, request(f"question {number}"), wall=1.0)
        if number % 13 == 5:
            await ledger.answer(claim.call_id, recorded({}, status=400, raw=raw_of(number), rejected=True))
        else:
            choices = {name: place for place, name in enumerate(keys)}
            came = {"usage": Usage(uncached=number, output=3), "cost": 0.125 * number, "request_id": f"id-{number}"}
            await ledger.answer(claim.call_id, recorded(choices, raw=raw_of(number), **came))
    claim = await ledger.claim([key(10_000)], request("no answer"), wall=1.0)
    await ledger.give_up(claim.call_id, 2, 1, "timeout")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return a ledger and all that it holds, by key."""
    folder = tmp_path_factory.mktemp("whole")
    with Ledger.open(folder) as ledger:
        asyncio.run(fill(ledger))
    with Ledger.open(folder) as ledger:
        names = [key(3 * number + place) for number in range(CALLS) for place in range(1 + number % 2)]
        return ledger.path, {name: ledger.stored(name) for name in names}


def mutated(content, kind, chance):
    """Change a file as disks, copies and other programs do."""
    found, pages = bytearray(content), len(content) // PAGE
    if kind in ("bit", "bits"):
        for _ in range(1 if kind == "bit" else 8):
            found[chance.randrange(len(found))] ^= 1 << chance.randrange(8)
    elif kind == "swap":
        one, other = (slice(at * PAGE, (at + 1) * PAGE) for at in chance.sample(range(pages), 2))
        found[one], found[other] = found[other], found[one]
    elif kind == "copy":
        one, other = (slice(at * PAGE, (at + 1) * PAGE) for at in chance.sample(range(pages), 2))
        found[one] = found[other]
    elif kind == "truncate":
        del found[chance.randrange(len(found)) :]
    else:
        start, size = chance.randrange(len(found)), chance.choice([1, 4, 30, 512, PAGE])
        for at in range(start, min(start + size, len(found))):
            found[at] = 0 if kind == "zeros" else chance.randrange(256)
    return bytes(found)


def read(path, truth):
    """Ask for every key as a run does; return what was said and how many keys would be asked again."""
    said, again = set(), 0
    try:
        with Ledger.open(path) as ledger:
            for name, right in truth.items():
                try:
                    stored = ledger.stored(name)
                    if stored is None:
                        claim = asyncio.run(ledger.claim([name], request(), wall=9.0))
                        stored = claim.stored.get(name)
                        again += name in claim.claimed
                except LedgerError as error:
                    said.add(error.message)
                    continue
                assert stored is None or stored == right
    except LedgerError as error:
        said.add(error.message)
    return said, again


def survives(path, truth, kind, seed, folder):
    """Mutate a copy, read it, repair it and read it again; return what was found out."""
    copy = folder / "ledger.sqlite"
    for old in folder.iterdir():
        old.unlink()
    content = mutated(path.read_bytes(), kind, random.Random(f"{kind} {seed}"))  # noqa: S311 - seeded on purpose
    copy.write_bytes(content)
    said, again = read(copy, truth)
    assert not again, "asked again without a word"
    shutil.rmtree(folder)
    folder.mkdir()
    copy.write_bytes(content)
    try:
        repaired = repair(copy)
    except LedgerError:
        return "lost" if said else "only the repair says so"
    later, again = read(copy, truth)
    assert not later
    with Ledger.open(copy) as ledger:
        assert not ledger.check().damage
    assert again <= repaired.dropped + 1
    return "said" if said else "whole"


def run(whole, tmp_path, count):
    """Mutate so many times, every kind as often."""
    path, truth = whole
    folder = tmp_path / "copy"
    folder.mkdir()
    found = [survives(path, truth, KINDS[seed % len(KINDS)], seed, folder) for seed in range(count)]
    assert found.count("said") > count // 3  # the mutations do meet what is stored
    assert found.count("lost") < count // 3
    assert "only the repair says so" not in found


def test_a_mutated_ledger_is_right_or_says_so(whole, tmp_path):
    """Bit flips, pages that are swapped, copied, cut off, zero or noise: the right answer, or an error."""
    run(whole, tmp_path, THINNED)


@pytest.mark.slow
def test_a_thousand_mutated_ledgers_are_right_or_say_so(whole, tmp_path):
    """The same, a thousand times."""
    run(whole, tmp_path, FULL)


# A folder that locks badly, and a disk that fails, at any statement: one sentence, and what was kept is there.


FAILURES = {
    "database is locked": (sqlite3.OperationalError, "SQLITE_BUSY"),
    "disk I/O error": (sqlite3.OperationalError, "SQLITE_IOERR"),
    "database disk image is malformed": (sqlite3.DatabaseError, "SQLITE_CORRUPT"),
    "attempt to write a readonly database": (sqlite3.OperationalError, "SQLITE_READONLY"),
    "database or disk is full": (sqlite3.OperationalError, "SQLITE_FULL"),
}
CONNECT = sqlite3.connect
STATEMENTS = 90
"""Fewer than a life of a ledger has, however its pieces of work share transactions."""


class FailingDisk:
    """Lets statements of all connections pass until one, and fails at that one, or also at all later ones."""

    def __init__(self, monkeypatch, words, at, *, lasting):
        self.words, self.at, self.lasting, self.count = words, at, lasting, 0
        check = self.check

        class Connection(sqlite3.Connection):
            def execute(self, statement, *values):
                check()
                return super().execute(statement, *values)

            def executemany(self, statement, values):
                check()
                return super().executemany(statement, values)

        monkeypatch.setattr(sqlite3, "connect", lambda *place, **how: CONNECT(*place, **how, factory=Connection))

    def check(self):
        """Count one statement, and fail where it is time to."""
        self.count += 1
        if self.count == self.at or (self.lasting and self.count > self.at):
            kind, name = FAILURES[self.words]
            error = kind(self.words)
            error.sqlite_errorname = name
            raise error


async def life(path, kept):
    """Do all that a run does with its ledger; `kept` gets each key whose answer was awaited."""
    with Ledger.open(path, busy_timeout=0.02) as ledger:
        ledger.dropped("url", "m")
        for number in range(3):
            assert ledger.stored(key(number)) is None or number in kept
            row = await ledger.hold_money(10, 10**12, 3600.0, 1.0)
            await ask(ledger, key(number))
            kept.append(number)
            ledger.note_reading(key(number), "1")
            ledger.spend_money(5, 1.0, row)
        await ledger.drop("url", "m", "temperature", "no")
        assert ledger.stats().samples == 3
        assert len(list(ledger.rows())) == 3


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("words", FAILURES)
@pytest.mark.parametrize("offset", [0, *(pytest.param(number, marks=pytest.mark.slow) for number in range(1, 9))])
def test_a_failure_at_any_statement_loses_nothing(tmp_path, monkeypatch, words, lasting, offset):
    """It is a LedgerError in one line, which names the file; every answer that was awaited is found afterwards."""
    for at in range(1 + offset, STATEMENTS, 9):
        path, kept, said = tmp_path / str(at), [], ""
        with monkeypatch.context() as patches:
            disk = FailingDisk(patches, words, at, lasting=lasting)
            try:
                asyncio.run(life(path, kept))
            except LedgerError as error:
                said = str(error)
            assert disk.count >= at
        assert said or not lasting
        assert not said or ((words in said or "damaged" in said) and str(path) in said and "\n" not in said)
        with Ledger.open(path) as ledger:
            assert ledger.check().damage == ()
            assert all(ledger.stored(key(number)).raw == b"{}" for number in kept)
            missing = [key(number) for number in range(3) if number not in kept]
            claim = asyncio.run(ledger.claim(missing, request(), wall=9.0))
            assert {*claim.claimed, *claim.stored} == set(missing)


def test_a_disk_that_fails_is_not_waited_for(tmp_path, monkeypatch):
    """Only a lock of another process may be waited for when a ledger is opened."""
    monkeypatch.setattr("bonwise.calls.ledger.place.time.sleep", lambda _: pytest.fail("it waits"))
    Ledger.open(tmp_path / "whole").close()
    disk = FailingDisk(monkeypatch, "disk I/O error", 10**9, lasting=True)
    Ledger.open(tmp_path / "count").close()
    for at in range(1, disk.count + 1):
        with monkeypatch.context() as patches:
            FailingDisk(patches, "disk I/O error", at, lasting=True)
            with pytest.raises(LedgerError, match="disk I/O error"):
                Ledger.open(tmp_path / str(at))

"""What a ledger does with answers that are no longer what was written, and with those of version 0.1.0."""

from __future__ import annotations

import asyncio
import hashlib
import random
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from bonwise.calls.bill import Usage
from bonwise.calls.ledger import damage as checking
from bonwise.calls.ledger.damage import repair
from bonwise.calls.ledger.ledger import Ledger
from bonwise.calls.ledger.schema import answer_digest, key_digest, read_sum
from bonwise.errors import LedgerError
from calls.ledgers import ask, key, process, recorded, request


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
        monkeypatch.setattr(checking, "STORED_KEYS", checking.STORED_KEYS + " ORDER BY key DESC")
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

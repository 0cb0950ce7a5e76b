"""The tables of a ledger, how values are in their columns, and the digests by which damage is noticed."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from bonwise.calls.bill import Usage
from bonwise.calls.ledger.records import Stored
from bonwise.errors import LedgerError

SIZE = 16
"""Bytes of a digest."""


def key_digest(key: bytes, call: int, choice: int | None) -> bytes:
    """Return the digest of a key and of the answer that it leads to: a call, and a choice of its reply."""
    return hashlib.blake2b(key + ascii((call, choice)).encode(), digest_size=SIZE).digest()


def answer_digest(call: int, columns: tuple[Any, ...], raw: bytes) -> bytes:
    """Return the digest of an answer: its call, the figures beside it as SQLite gives them back, and its bytes."""
    # `ascii` writes the same in every version of Python and is made in C; `json` takes four times as long.
    return hashlib.blake2b(ascii((call, columns)).encode() + b"\0" + raw, digest_size=SIZE).digest()


def digests_of(
    call: int, columns: tuple[Any, ...], raw: bytes, choices: Mapping[bytes, int | None]
) -> tuple[bytes, dict[bytes, bytes]]:
    """Return the digest of an answer, and that of each key that leads to a choice of it."""
    return answer_digest(call, columns, raw), {key: key_digest(key, call, choice) for key, choice in choices.items()}


KEY = 32
"""Bytes of a key."""

STORED_KEYS = "SELECT key, digest FROM sample NOT INDEXED WHERE (choice IS NOT NULL OR digest IS NOT NULL)"
"""What is counted, in the order in which the file holds it: a lease has neither choice nor digest."""


def _number(content: bytes | None) -> int:
    """Return a key or a digest as the number that is combined with others; 0 where there is none."""
    return int.from_bytes(content or b"", "big")


class DigestSum(NamedTuple):
    """How many answers a ledger holds, and the XOR of their digests."""

    keys: int = 0
    """Keys that lead to an answer."""
    keys_xor: int = 0
    """Of these keys and of their digests."""
    answers: int = 0
    """Responses."""
    answers_xor: int = 0
    """Of their digests."""

    def plus(
        self, keys: Iterable[tuple[bytes, bytes | None]], answers: Iterable[bytes | None] = (), each: int = 1
    ) -> DigestSum:
        """Return the sum with these keys, with their digests, and digests of responses; without them (`each` -1)."""
        key_count, keys_xor, answer_count, answers_xor = self
        for key, digest in keys:
            key_count, keys_xor = key_count + each, keys_xor ^ _number(key) ^ _number(digest)
        for digest in answers:
            answer_count, answers_xor = answer_count + each, answers_xor ^ _number(digest)
        return DigestSum(key_count, keys_xor, answer_count, answers_xor)


def read_sum(connection: sqlite3.Connection) -> DigestSum | None:
    """Read the row; None where it is gone or is not what was written."""
    row = connection.execute(
        "SELECT keys, keys_xor, answers, answers_xor, digest FROM digest_sum WHERE id = 1"
    ).fetchone()
    if row is None or not isinstance(row[1], bytes) or not isinstance(row[3], bytes):
        return None
    keys, keys_xor, answers, answers_xor, digest = row
    digest_sum = DigestSum(keys, _number(keys_xor), answers, _number(answers_xor))
    return digest_sum if _digest_of(digest_sum) == digest else None


def write_sum(connection: sqlite3.Connection, digest_sum: DigestSum) -> None:
    """Write the row."""
    keys_xor, answers_xor = digest_sum.keys_xor.to_bytes(KEY, "big"), digest_sum.answers_xor.to_bytes(SIZE, "big")
    columns = "id, keys, keys_xor, answers, answers_xor, digest"
    connection.execute(
        f"INSERT OR REPLACE INTO digest_sum ({columns}) VALUES (1, ?, ?, ?, ?, ?)",  # noqa: S608 - named above
        (digest_sum.keys, keys_xor, digest_sum.answers, answers_xor, _digest_of(digest_sum)),
    )


def add_to_sum(
    connection: sqlite3.Connection,
    keys: Iterable[tuple[bytes, bytes | None]],
    answers: Iterable[bytes | None],
    each: int = 1,
) -> None:
    """Add to the row, or take off it (`each` -1); one that is not what was written stays so, for a check."""
    so_far = read_sum(connection)
    if so_far is not None:
        write_sum(connection, so_far.plus(keys, answers, each))


def _digest_of(digest_sum: DigestSum) -> bytes:
    values = (digest_sum.keys, digest_sum.keys_xor, digest_sum.answers, digest_sum.answers_xor)
    return key_digest(repr(values).encode(), 0, None)


Step = str | Callable[[sqlite3.Connection], None]
"""A statement, or what takes more than one."""

APPLICATION_ID = 0x424F4E57
"""What marks a SQLite file as a ledger."""

_NEWER = "upgrade bonwise, or name another run folder"
_FOREIGN = "name another file: nothing was changed in this one"
OLDER = "take an older copy of it, or begin a new run folder"

# Request and response stand apart from the figures of a call: the row that changes stays small, a change
# does not write the texts again, and sums over all calls do not read them.
TABLES: tuple[Step, ...] = (
    """
    CREATE TABLE owner (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        host TEXT NOT NULL,
        boot TEXT NOT NULL,
        pid INTEGER NOT NULL,
        started TEXT NOT NULL,
        heartbeat REAL
    )
    """,
    """
    CREATE TABLE call (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        state TEXT NOT NULL CHECK (state IN ('sent', 'answered', 'rejected', 'failed', 'unknown')),
        owner INTEGER NOT NULL,
        provider TEXT NOT NULL,
        base_url TEXT NOT NULL,
        api_version TEXT NOT NULL,
        endpoint TEXT NOT NULL,
        model TEXT NOT NULL,
        samples INTEGER NOT NULL,
        sent_at REAL NOT NULL,
        answered_at REAL,
        status INTEGER,
        request_id TEXT NOT NULL DEFAULT '',
        answered_model TEXT NOT NULL DEFAULT '',
        fingerprint TEXT NOT NULL DEFAULT '',
        uncached INTEGER,
        cache_read INTEGER,
        cache_write_5m INTEGER,
        cache_write_1h INTEGER,
        output INTEGER,
        reasoning INTEGER,
        cost REAL,
        price_version TEXT NOT NULL DEFAULT '',
        attempts INTEGER NOT NULL DEFAULT 0,
        lost_attempts INTEGER NOT NULL DEFAULT 0,
        effective TEXT NOT NULL DEFAULT '{}',
        note TEXT NOT NULL DEFAULT ''
    )
    """,
    "CREATE TABLE request (call INTEGER PRIMARY KEY, body TEXT NOT NULL)",
    "CREATE TABLE response (call INTEGER PRIMARY KEY, raw BLOB NOT NULL, digest BLOB)",
    """
    CREATE TABLE sample (
        key BLOB PRIMARY KEY,
        call INTEGER NOT NULL,
        choice INTEGER,
        reading TEXT,
        digest BLOB
    ) WITHOUT ROWID
    """,
    "CREATE INDEX sample_of_call ON sample (call)",
    """
    CREATE TABLE dropped (
        base_url TEXT NOT NULL,
        model TEXT NOT NULL,
        parameter TEXT NOT NULL,
        message TEXT NOT NULL,
        learnt_at REAL NOT NULL,
        PRIMARY KEY (base_url, model, parameter)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE digest_sum (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        keys INTEGER NOT NULL,
        keys_xor BLOB NOT NULL,
        answers INTEGER NOT NULL,
        answers_xor BLOB NOT NULL,
        digest BLOB NOT NULL
    )
    """,
    lambda connection: write_sum(connection, DigestSum()),
)

FIRST_VERSION = 3
"""Files of lower versions lack digests, and are refused."""

# Pico-dollars, so that small costs do not drift; SQLite goes on with floating point where a sum has too many digits.
_MONEY: tuple[Step, ...] = (
    "CREATE TABLE spent (minute INTEGER PRIMARY KEY, at REAL NOT NULL, cost INTEGER NOT NULL CHECK (cost >= 0))",
    "CREATE TABLE held (id INTEGER PRIMARY KEY AUTOINCREMENT, owner INTEGER NOT NULL, cost INTEGER NOT NULL)",
    """
    INSERT INTO spent (minute, at, cost)
    SELECT CAST(answered_at / 60 AS INTEGER), max(answered_at), CAST(total(cost) * 1e12 AS INTEGER) FROM call
    WHERE cost > 0 AND answered_at >= 0 GROUP BY CAST(answered_at / 60 AS INTEGER)
    """,
)

# A call of a batch belongs to no process: its owner is 0, and it stays as sent until the batch has ended.
_BATCHES: tuple[Step, ...] = (
    """
    CREATE TABLE batch (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        state TEXT NOT NULL CHECK (state IN ('planned', 'sending', 'sent', 'ended', 'lost')),
        owner INTEGER NOT NULL,
        provider TEXT NOT NULL,
        base_url TEXT NOT NULL,
        api_version TEXT NOT NULL,
        endpoint TEXT NOT NULL,
        model TEXT NOT NULL,
        price TEXT NOT NULL,
        price_version TEXT NOT NULL,
        mark TEXT NOT NULL,
        requests INTEGER NOT NULL DEFAULT 0,
        bytes INTEGER NOT NULL DEFAULT 0,
        tokens INTEGER NOT NULL DEFAULT 0,
        cost INTEGER NOT NULL DEFAULT 0,
        remote TEXT NOT NULL DEFAULT '',
        sent_at REAL
    )
    """,
    "ALTER TABLE call ADD COLUMN batch INTEGER",
    "CREATE INDEX call_of_batch ON call (batch) WHERE batch IS NOT NULL",
)

MIGRATIONS: tuple[tuple[Step, ...], ...] = (TABLES, _MONEY, _BATCHES)
"""Steps to the first version, and from each version to the next."""


def migrate(connection: sqlite3.Connection, migrations: Sequence[Sequence[Step]] = MIGRATIONS) -> None:
    """Bring a file to the current version, all or nothing; a LedgerError for another program's file or version."""
    current = FIRST_VERSION + len(migrations) - 1
    if _version(connection, current) == current:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection, current)
        for steps in migrations[version - FIRST_VERSION + 1 if version else 0 :]:
            for step in steps:
                connection.execute(step) if isinstance(step, str) else step(connection)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {current}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection, current: int) -> int:
    alone = not connection.in_transaction
    if alone:
        connection.execute("BEGIN")  # all of it from one moment: another process may be making the file
    try:
        application, version = (_figure(connection, name) for name in ("application_id", "user_version"))
        empty = not connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    finally:
        if alone:
            connection.execute("ROLLBACK")
    if application != APPLICATION_ID:
        if application or version or not empty:
            raise LedgerError("a SQLite file of another program, no ledger", hint=_FOREIGN)
        return 0
    if version > current:
        raise LedgerError(f"written by a newer bonwise (version {version}, known up to {current})", hint=_NEWER)
    if version < FIRST_VERSION:
        raise LedgerError("an older bonwise wrote it, and it cannot be upgraded", hint=OLDER)
    return version


def _figure(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


ANSWER_COLUMNS = """
    c.state, c.answered_at, c.status, c.request_id, c.answered_model, c.fingerprint,
    c.uncached, c.cache_read, c.cache_write_5m, c.cache_write_1h, c.output, c.reasoning,
    c.cost, c.price_version, c.attempts, c.lost_attempts, c.effective, c.note
"""
"""What stands beside an answer and is in its digest, in the order in which it is recorded."""

STORED = f"""
    SELECT s.call, s.choice, s.reading, s.digest, r.raw, r.digest,
           c.id, c.batch, {ANSWER_COLUMNS}
    FROM sample s LEFT JOIN call c ON c.id = s.call LEFT JOIN response r ON r.call = s.call
    WHERE s.key = ? AND (s.choice IS NOT NULL OR s.digest IS NOT NULL OR c.state = 'rejected')
"""  # noqa: S608 - columns that are named here

DAMAGED = "bonwise ledger check RUN lists all damage; bonwise ledger repair RUN drops it, and the next run asks again"


def stored_from(key: bytes, row: tuple[Any, ...]) -> Stored:
    """Read a row of `STORED`; where it is not what was written, a `bonwise.errors.LedgerError` names the call."""
    call, choice, reading, of_key, raw, of_answer, call_row, batch = row[:8]
    columns = row[8:]
    because = "" if call_row == call else "the call is missing"
    because = because or key_trouble(key, call, choice, of_key) or answer_trouble(call, columns, raw, of_answer)
    if because:
        raise LedgerError(f"call {call} is damaged: {because}", hint=DAMAGED)
    _, _, status, _, model, fingerprint, *rest = columns
    *counts, cost, _, _, _, effective, note = rest
    sent = effective_from(effective, call)
    usage, batched = usage_from(counts), batch is not None
    return Stored(call, choice, raw, status, reading, model, fingerprint, usage, cost, sent, note, batched)


def key_trouble(key: Any, call: Any, choice: Any, digest: Any) -> str:
    """Say why a key does not lead to what it was written for, empty where it does."""
    if digest is None:
        return "the digest of a key is missing"
    right = _is_digest(digest, key_digest, key, call, choice)
    return "" if right else "a key does not lead to the answer that was written for it"


def answer_trouble(call: int, columns: tuple[Any, ...], raw: Any, digest: Any) -> str:
    """Say why an answer is not what was written, empty where it is."""
    if raw is None:
        return "its answer is missing"
    if digest is None:
        return "the digest of its answer is missing"
    right = _is_digest(digest, answer_digest, call, columns, raw)
    return "" if right else "its answer is not what was written"


def json_from(text: Any, call: int, column: str) -> Any:
    """Read a column of JSON, with NaN and infinity as their names; a LedgerError for anything else names the call."""
    try:
        return json.loads(text, parse_constant=str)
    except (TypeError, ValueError, RecursionError):
        raise _damaged(call, column) from None


def effective_from(text: Any, call: int) -> dict[str, Any]:
    """Read the parameters that were sent; if no JSON object, a `bonwise.errors.LedgerError` names the call."""
    parameters = json_from(text, call, "effective")
    if not isinstance(parameters, dict):
        raise _damaged(call, "effective")
    return parameters


def usage_from(counts: Sequence[int | None]) -> Usage | None:
    """Read the columns of a usage; None where the server counted nothing."""
    return None if counts[0] is None else Usage(*(count or 0 for count in counts))


def _is_digest(digest: Any, make: Callable[..., bytes], *values: Any) -> bool:
    """Tell whether a digest is that of some values, which may be of any type where the file is damaged."""
    try:
        return bool(make(*values) == digest)
    except (TypeError, ValueError):
        return False


def _damaged(call: int, column: str) -> LedgerError:
    return LedgerError(f"call {call} is damaged: its column {column!r} is not what was written", hint=DAMAGED)

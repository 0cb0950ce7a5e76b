"""The tables of a ledger, and how an older file becomes a current one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from bonwise.calls.ledger.first_release import add_digests
from bonwise.errors import LedgerError

__all__ = ["APPLICATION_ID", "MIGRATIONS", "is_older", "migrate"]

Step = str | Callable[[sqlite3.Connection], None]
"""A statement, or what takes more than one."""

APPLICATION_ID = 0x424F4E57
"""What marks a SQLite file as a ledger."""

_NEWER = "upgrade bonwise, or name another run folder"
_FOREIGN = "name another file: nothing was changed in this one"

# Request and response stand apart from the figures of a call: the row that changes stays small, a change
# does not write the texts again, and sums over all calls do not read them.
_FIRST = (
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
    "CREATE TABLE response (call INTEGER PRIMARY KEY, raw BLOB NOT NULL)",
    """
    CREATE TABLE sample (
        key BLOB PRIMARY KEY,
        call INTEGER NOT NULL,
        choice INTEGER,
        reading TEXT
    ) WITHOUT ROWID
    """,
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
)

_DIGESTS = (
    "ALTER TABLE sample ADD COLUMN digest BLOB",
    "ALTER TABLE response ADD COLUMN digest BLOB",
    "CREATE INDEX sample_of_call ON sample (call)",
    """
    CREATE TABLE digest_sum (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        keys INTEGER NOT NULL,
        keys_xor BLOB NOT NULL,
        answers INTEGER NOT NULL,
        answers_xor BLOB NOT NULL,
        unverified_up_to INTEGER NOT NULL,
        digest BLOB NOT NULL
    )
    """,
    add_digests,
)

MIGRATIONS: tuple[tuple[Step, ...], ...] = (_FIRST, _DIGESTS)
"""Steps that lead from each version to the next; the number of them is the current version."""


def migrate(connection: sqlite3.Connection, migrations: Sequence[Sequence[Step]] = MIGRATIONS) -> None:
    """Bring a file to the current version, all or nothing; a current one is only read.

    Raises
    ------
    bonwise.errors.LedgerError
        It is another program's, or a newer version made it.

    Examples
    --------
    >>> connection = sqlite3.connect(":memory:", isolation_level=None)
    >>> migrate(connection)
    >>> connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    True
    >>> connection.close()
    """
    if _version(connection, len(migrations)) == len(migrations):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for steps in migrations[_version(connection, len(migrations)) :]:
            for step in steps:
                connection.execute(step) if isinstance(step, str) else step(connection)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def is_older(connection: sqlite3.Connection) -> bool:
    """Tell whether a file is a ledger that an older version made."""
    return 0 < _version(connection, len(MIGRATIONS)) < len(MIGRATIONS)


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
    return version


def _figure(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])

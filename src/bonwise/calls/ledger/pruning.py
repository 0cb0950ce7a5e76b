"""Removing calls from a ledger, and what it says of servers."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from contextlib import closing, suppress
from pathlib import Path

from bonwise.calls.ledger.digest_sum import STORED_KEYS, read_sum, write_sum
from bonwise.calls.ledger.owner import dead_owners
from bonwise.calls.ledger.place import as_ledger_errors, connect
from bonwise.calls.ledger.records import State
from bonwise.errors import UsageError

__all__ = ["forget", "prune"]

_DOOMED = """
    CREATE TEMP TABLE doomed AS SELECT id FROM call
    WHERE state IN (SELECT value FROM prunable) AND (:before IS NULL OR coalesce(answered_at, sent_at) < :before)
"""
_WITHDRAWN = "DELETE FROM sample WHERE choice IS NULL AND digest IS NULL AND call NOT IN (SELECT id FROM call)"
_DOOMED_KEYS = STORED_KEYS + " AND call IN (SELECT id FROM doomed)"  # noqa: S608 - the two are named here
_FORGET = """
    DELETE FROM dropped WHERE (:model IS NULL OR model = :model) AND (:parameter IS NULL OR parameter = :parameter)
"""
_LEFT_BEHIND = "UPDATE call SET state = 'unknown', lost_attempts = 1 WHERE state = 'sent' AND owner = ?"


def prune(file: Path, busy_timeout: float, states: Collection[State], before: float | None) -> int:
    """Delete calls; see `bonwise.calls.ledger.ledger.Ledger.prune`."""
    _check(states, before)
    with as_ledger_errors(file), closing(connect(file, busy_timeout)) as connection:
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(_LEFT_BEHIND, [(owner,) for owner in dead_owners(connection)])
        count = _delete(connection, states, before)
        connection.execute("COMMIT")
        with suppress(sqlite3.OperationalError):  # another process reads: the space is used again all the same
            connection.execute("VACUUM")
    return count


def forget(file: Path, busy_timeout: float, model: str | None, parameter: str | None) -> int:
    """Forget refused parameters; see `bonwise.calls.ledger.ledger.Ledger.forget`."""
    with as_ledger_errors(file), closing(connect(file, busy_timeout)) as connection:
        return connection.execute(_FORGET, {"model": model, "parameter": parameter}).rowcount


def _check(states: Collection[State], before: float | None) -> None:
    if "sent" in states:
        raise UsageError("calls under way cannot be pruned", hint="those of ended processes are unknown, not sent")
    if "answered" in states and before is None:
        raise UsageError(
            "pruning answered calls takes a date", hint="they were paid for: say before which day (--before)"
        )


def _delete(connection: sqlite3.Connection, states: Collection[State], before: float | None) -> int:
    connection.execute("CREATE TEMP TABLE prunable (value TEXT)")
    connection.executemany("INSERT INTO prunable VALUES (?)", [(state,) for state in states])
    connection.execute(_DOOMED, {"before": before})
    _take_off(connection)
    connection.execute("DELETE FROM request WHERE call IN (SELECT id FROM doomed)")
    connection.execute("DELETE FROM response WHERE call IN (SELECT id FROM doomed)")
    count = connection.execute("DELETE FROM call WHERE id IN (SELECT id FROM doomed)").rowcount
    connection.execute("DELETE FROM sample WHERE call IN (SELECT id FROM doomed)")
    connection.execute(_WITHDRAWN)
    return count


def _take_off(connection: sqlite3.Connection) -> None:
    """Take off the sum of digests what is about to be deleted; what is missing already stays in it, for a check."""
    left = read_sum(connection)
    if left is None:
        return
    for key, digest in connection.execute(_DOOMED_KEYS):
        left = left.with_key(key, digest, -1)
    for (digest,) in connection.execute("SELECT digest FROM response WHERE call IN (SELECT id FROM doomed)"):
        left = left.with_answer(digest, -1)
    write_sum(connection, left)

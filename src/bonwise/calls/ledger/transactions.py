"""Every change that is made to a ledger, each inside a transaction, and the removal of calls from it."""

from __future__ import annotations

import math
import os
import sqlite3
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from bonwise.calls.ledger import damage, place, records, schema
from bonwise.errors import LedgerError, UsageError

__all__ = ["LedgerTransactions", "forget", "prune"]

HEARTBEAT = 10.0
"""Seconds after which a commit carries a new sign of life."""

_STANDING = """
    SELECT s.choice, s.digest, s.call, c.state, c.owner
    FROM sample s LEFT JOIN call c ON c.id = s.call WHERE s.key = ?
"""
_SEND = """
    INSERT INTO call (state, owner, samples, sent_at, provider, base_url, api_version, endpoint, model)
    VALUES ('sent', ?, ?, ?, ?, ?, ?, ?, ?)
"""
_ANSWER = """
    UPDATE call SET state = ?, answered_at = ?, status = ?, request_id = ?, answered_model = ?, fingerprint = ?,
        uncached = ?, cache_read = ?, cache_write_5m = ?, cache_write_1h = ?, output = ?, reasoning = ?,
        cost = ?, price_version = ?, attempts = ?, lost_attempts = ?, effective = ?, note = ?
    WHERE id = ?
"""
_FILL = """
    INSERT INTO sample (key, call, choice, digest) VALUES (?, ?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET choice = excluded.choice, digest = excluded.digest
    WHERE call = excluded.call AND digest IS NULL
"""
_SPEND = """
    INSERT INTO spent (minute, at, cost) VALUES (?, ?, ?)
    ON CONFLICT (minute) DO UPDATE SET at = max(at, excluded.at), cost = cost + excluded.cost
"""
MOST_AT_ONCE = 10**18
"""Pico-dollars of one call that SQLite still takes as a whole number."""

_GIVEN_UP: set[tuple[tuple[int, int], int]] = set()
"""Files and owners of this process that have failed: it lives, and still nobody waits for their answers."""

_LOSE = "UPDATE call SET state = 'unknown', lost_attempts = 1, note = 'its process ended' WHERE id = ?"


class LedgerTransactions:
    """One connection that writes for one process; `owner` is its number in this ledger, and None enters it anew."""

    def __init__(self, file: Path, busy_timeout: float, owner: int | None) -> None:
        self._file = file
        self._busy_timeout = busy_timeout
        self._connection = place.connect(file, busy_timeout)
        self._here = place.this_process()
        self._heartbeat = 0.0
        self._living: dict[int, bool] = {}
        self._added = self._added_before_piece = schema.DigestSum()
        self._unchecked = owner is None
        self._damage: LedgerError | None = None
        try:
            self._inode = self._identity()
            self.owner = self._enter() if owner is None else owner
        except BaseException:
            self._connection.close()
            raise

    def begin(self) -> None:
        """Begin a transaction."""
        self._connection.execute("BEGIN IMMEDIATE")
        self._added = schema.DigestSum()
        self._living.clear()
        now = time.time()
        if abs(now - self._heartbeat) > HEARTBEAT:
            self._connection.execute("UPDATE owner SET heartbeat = ? WHERE id = ?", (now, self.owner))
            self._heartbeat = now

    def commit(self) -> None:
        """Commit it; what it changed is on the disk when this returns."""
        # SQLite writes on happily into a file whose name is gone.
        if self._identity() != self._inode:
            raise LedgerError("the file was replaced while it was in use")
        self._add_up()
        self._connection.execute("COMMIT")

    def roll_back(self) -> None:
        """Undo the transaction."""
        self._connection.rollback()
        self._heartbeat = 0.0

    def mark(self) -> None:
        """Begin one piece of the transaction, which can fail by itself."""
        self._connection.execute("SAVEPOINT piece")
        self._added_before_piece = self._added

    def keep(self) -> None:
        """End the piece."""
        self._connection.execute("RELEASE piece")

    def undo(self) -> None:
        """Undo the piece."""
        self._connection.execute("ROLLBACK TO piece")
        self._added = self._added_before_piece

    def void_leases(self) -> None:
        """Give back every lease for this process alone, where the file cannot be written any more."""
        _GIVEN_UP.add((self._inode, self.owner))

    def leave(self) -> None:
        """Give back every lease: calls that were sent and not answered belong to a process that has ended."""
        self._connection.execute("UPDATE owner SET heartbeat = NULL WHERE id = ?", (self.owner,))

    def close(self) -> None:
        """Close the connection; a transaction that is open is undone."""
        self._connection.close()

    def claim(self, keys: Iterable[bytes], where: tuple[str, ...], body: str, wall: float) -> records.Claim:
        """Enter a call for every key that is neither answered nor being asked for; see `Ledger.claim`."""
        self._check_once()
        stored: dict[bytes, records.Stored] = {}
        busy, free = [], []
        lost = set()
        for key in keys:
            row = self._row(_STANDING, key)
            choice, digest, call, state, owner = row or (None, None, 0, "", 0)
            if choice is not None or digest is not None or state == "rejected":
                stored[key] = self._stored(key)
            elif state == "sent" and self._is_alive(owner):
                busy.append(key)
            else:
                free.append(key)
                if state == "sent":
                    lost.add(call)
        for call in lost:
            self._connection.execute(_LOSE, (call,))
        claimed = tuple(free)
        return records.Claim(self._send(claimed, where, body, wall), claimed, stored, tuple(busy), len(lost))

    def answer(self, call: int, columns: tuple[Any, ...], raw: bytes, choices: Mapping[bytes, int]) -> None:
        """Record a response and the choices that answer samples; see `Ledger.answer`."""
        if not self._connection.execute(_ANSWER, (*columns, call)).rowcount:
            raise LedgerError(f"call {call} is not in the ledger", hint="was it pruned while it was under way?")
        digest = schema.answer_digest(call, columns, raw)
        self._connection.execute("INSERT INTO response (call, raw, digest) VALUES (?, ?, ?)", (call, raw, digest))
        self._added = self._added.with_answer(digest)
        if columns[0] == "rejected":
            keys = self._connection.execute("SELECT key FROM sample WHERE call = ?", (call,)).fetchall()
            self._fill(call, {key: None for (key,) in keys})
        else:
            self._fill(call, choices)

    def give_up(self, call: int, attempts: int, lost_attempts: int, note: str) -> None:
        """Record that a call brought nothing; only a call that stands as sent leases its samples."""
        self._connection.execute(
            "UPDATE call SET state = 'failed', attempts = ?, lost_attempts = ?, note = ? WHERE id = ?",
            (attempts, lost_attempts, note, call),
        )

    def withdraw(self, call: int) -> None:
        """Remove a call that was never sent; its samples, then of no call, are free."""
        self._connection.execute("DELETE FROM call WHERE id = ?", (call,))
        self._connection.execute("DELETE FROM request WHERE call = ?", (call,))

    def note_reading(self, key: bytes, reading: str) -> None:
        """Record what was read from a sample."""
        self._connection.execute("UPDATE sample SET reading = ? WHERE key = ?", (reading, key))

    def drop(self, base_url: str, model: str, parameter: str, message: str) -> None:
        """Record that a server does not take a parameter."""
        self._connection.execute(
            "INSERT OR REPLACE INTO dropped (base_url, model, parameter, message, learnt_at) VALUES (?, ?, ?, ?, ?)",
            (base_url, model, parameter, message, time.time()),
        )

    def hold_money(self, cost: int, most: int, seconds: float, wall: float) -> int | None:
        """Set pico-dollars aside for a call; see `Ledger.hold_money`."""
        now = self._spending_time(wall)
        owners = self._connection.execute(
            "SELECT DISTINCT owner FROM held WHERE owner != ?", (self.owner,)
        ).fetchall()
        for (owner,) in owners:
            if not self._is_alive(owner):  # what it had in flight may be billed
                self._add_spent(int(self._sum("held WHERE owner = ?", owner)), now)
                self._connection.execute("DELETE FROM held WHERE owner = ?", (owner,))
        since = now - seconds
        spent = self._sum("spent WHERE minute >= ? AND at > ?", math.floor(since / 60), since)
        if spent + cost > most:
            return None
        if spent + self._sum("held") + cost > most:
            return 0
        held = self._connection.execute(
            "INSERT INTO held (owner, cost) VALUES (?, ?)", (self.owner, min(cost, MOST_AT_ONCE))
        )
        return held.lastrowid

    def spend_money(self, row: int | None, cost: int, wall: float) -> None:
        """Record what a call has cost in place of what was held for it; see `Ledger.spend_money`."""
        if row is not None and not self._connection.execute("DELETE FROM held WHERE id = ?", (row,)).rowcount:
            return  # another process took this one for dead, and has counted the whole
        self._add_spent(cost, self._spending_time(wall))

    def _spending_time(self, wall: float) -> float:
        """Return the time at which money is spent: never before that of what was spent last."""
        last = self._connection.execute("SELECT at FROM spent ORDER BY minute DESC LIMIT 1").fetchone()
        return wall if last is None else max(wall, last[0])

    def _add_spent(self, cost: int, now: float) -> None:
        if cost:
            self._connection.execute(_SPEND, (int(now // 60), now, min(cost, MOST_AT_ONCE)))

    def _sum(self, rows: str, *values: Any) -> float:
        statement = f"SELECT total(cost) FROM {rows}"  # noqa: S608 - the tables are named here
        return float(self._connection.execute(statement, values).fetchone()[0])

    def _stored(self, key: bytes) -> records.Stored:
        row = self._row(schema.STORED, key)
        with place.as_ledger_errors(self._file):
            return schema.stored_from(key, row)

    def _row(self, statement: str, key: bytes) -> Any:
        try:
            return self._connection.execute(statement, (key,)).fetchone()
        except place.UNREADABLE as error:
            # A row that cannot be read is the trouble of those who ask for it, and no reason to write nothing more.
            with place.as_ledger_errors(self._file):
                damage.explain(self._file, self._busy_timeout, error)
                raise

    def _fill(self, call: int, choices: Mapping[bytes, int | None]) -> None:
        for key, choice in choices.items():
            digest = schema.key_digest(key, call, choice)
            # A key that another call has taken over, or that is answered already, stays as it is.
            if self._connection.execute(_FILL, (key, call, choice, digest)).rowcount:
                self._added = self._added.with_key(key, digest)

    def _add_up(self) -> None:
        """Write what this transaction has added into the sum of digests."""
        if self._added != schema.DigestSum():
            so_far = schema.read_sum(self._connection)
            if so_far is not None:  # else the next check says that it is damaged
                schema.write_sum(self._connection, so_far.plus(self._added))
            self._added = schema.DigestSum()

    def _check_once(self) -> None:
        """Check the ledger before this process pays for its first call."""
        if self._damage is not None:
            raise self._damage
        if not self._unchecked:
            return
        self._add_up()
        ended = place.unclean_owners(self._connection)
        try:
            with place.as_ledger_errors(self._file):
                damage.refuse_damage(self._connection, thorough=bool(ended))
        except LedgerError as error:
            self._damage = error
            raise
        self._connection.executemany("UPDATE owner SET heartbeat = NULL WHERE id = ?", [(owner,) for owner in ended])
        self._unchecked = False

    def _enter(self) -> int:
        here, now = self._here, time.time()
        entered = self._connection.execute(
            "INSERT INTO owner (host, boot, pid, started, heartbeat) VALUES (?, ?, ?, ?, ?)",
            (here.host, here.boot, here.pid, here.started, now),
        )
        self._heartbeat = now
        return int(entered.lastrowid or 0)

    def _send(self, keys: tuple[bytes, ...], where: tuple[str, ...], body: str, wall: float) -> int | None:
        if not keys:
            return None
        call = self._connection.execute(_SEND, (self.owner, len(keys), wall, *where)).lastrowid
        assert call is not None  # noqa: S101 - the statement has inserted a row; only its type allows None
        self._connection.execute("INSERT INTO request (call, body) VALUES (?, ?)", (call, body))
        for key in keys:
            self._connection.execute("INSERT OR REPLACE INTO sample (key, call) VALUES (?, ?)", (key, call))
        return call

    def _is_alive(self, owner: int) -> bool:
        if (self._inode, owner) in _GIVEN_UP:
            return False
        if owner not in self._living:
            found = self._connection.execute(
                "SELECT host, boot, pid, started, heartbeat FROM owner WHERE id = ?", (owner,)
            ).fetchone()
            alive = found is not None and place.is_alive(place.Owner(*found[:4]), found[4], self._here, time.time())
            self._living[owner] = alive
        return self._living[owner]

    def _identity(self) -> tuple[int, int]:
        found = os.stat(self._file)  # noqa: PTH116 - once a commit: half the time of a Path's
        return found.st_dev, found.st_ino


_DOOMED = """
    CREATE TEMP TABLE doomed AS SELECT id FROM call
    WHERE state IN (SELECT value FROM prunable) AND (:before IS NULL OR coalesce(answered_at, sent_at) < :before)
"""
_WITHDRAWN = "DELETE FROM sample WHERE choice IS NULL AND digest IS NULL AND call NOT IN (SELECT id FROM call)"
_DOOMED_KEYS = schema.STORED_KEYS + " AND call IN (SELECT id FROM doomed)"  # noqa: S608 - the two are named here
_FORGET = """
    DELETE FROM dropped WHERE (:model IS NULL OR model = :model) AND (:parameter IS NULL OR parameter = :parameter)
"""
_LEFT_BEHIND = "UPDATE call SET state = 'unknown', lost_attempts = 1 WHERE state = 'sent' AND owner = ?"


def prune(file: Path, busy_timeout: float, states: Collection[records.State], before: float | None) -> int:
    """Delete calls; see `bonwise.calls.ledger.ledger.Ledger.prune`."""
    _check(states, before)
    with place.as_ledger_errors(file), closing(place.connect(file, busy_timeout)) as connection:
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(_LEFT_BEHIND, [(owner,) for owner in place.dead_owners(connection)])
        count = _delete(connection, states, before)
        connection.execute("COMMIT")
        with suppress(sqlite3.OperationalError):  # another process reads: the space is used again all the same
            connection.execute("VACUUM")
    return count


def forget(file: Path, busy_timeout: float, model: str | None, parameter: str | None) -> int:
    """Forget refused parameters; see `bonwise.calls.ledger.ledger.Ledger.forget`."""
    with place.as_ledger_errors(file), closing(place.connect(file, busy_timeout)) as connection:
        return connection.execute(_FORGET, {"model": model, "parameter": parameter}).rowcount


def _check(states: Collection[records.State], before: float | None) -> None:
    if "sent" in states:
        raise UsageError("calls under way cannot be pruned", hint="those of ended processes are unknown, not sent")
    if "answered" in states and before is None:
        raise UsageError(
            "pruning answered calls takes a date", hint="they were paid for: say before which day (--before)"
        )


def _delete(connection: sqlite3.Connection, states: Collection[records.State], before: float | None) -> int:
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
    left = schema.read_sum(connection)
    if left is None:
        return
    for key, digest in connection.execute(_DOOMED_KEYS):
        left = left.with_key(key, digest, -1)
    for (digest,) in connection.execute("SELECT digest FROM response WHERE call IN (SELECT id FROM doomed)"):
        left = left.with_answer(digest, -1)
    schema.write_sum(connection, left)

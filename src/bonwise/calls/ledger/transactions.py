"""Every change that is made to a ledger, and the one thread that makes them: what has queued goes into one commit."""

from __future__ import annotations

import asyncio
import math
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from bonwise.calls.ledger import damage, place, records, schema
from bonwise.errors import BonwiseError, LedgerError

T = TypeVar("T")

HEARTBEAT = 10.0
"""Seconds after which a commit carries a new sign of life."""

_STANDING = """
    SELECT s.choice, s.digest, s.call, c.state, c.owner, c.batch, b.state, b.owner
    FROM sample s LEFT JOIN call c ON c.id = s.call LEFT JOIN batch b ON b.id = c.batch WHERE s.key = ?
"""
_UNASKED = (None, None, 0, "", 0, None, "", 0)
SEND = """
    INSERT INTO call (state, owner, samples, sent_at, provider, base_url, api_version, endpoint, model)
    VALUES ('sent', ?, ?, ?, ?, ?, ?, ?, ?)
"""
ANSWER = """
    UPDATE call SET state = ?, answered_at = ?, status = ?, request_id = ?, answered_model = ?, fingerprint = ?,
        uncached = ?, cache_read = ?, cache_write_5m = ?, cache_write_1h = ?, output = ?, reasoning = ?,
        cost = ?, price_version = ?, attempts = ?, lost_attempts = ?, effective = ?, note = ?
    WHERE id = ?
"""
FILL = """
    INSERT INTO sample (key, call, choice, digest) VALUES (?, ?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET choice = excluded.choice, digest = excluded.digest
    WHERE sample.call = excluded.call AND sample.digest IS NULL
"""
_SPEND = """
    INSERT INTO spent (minute, at, cost) VALUES (?, ?, ?)
    ON CONFLICT (minute) DO UPDATE SET at = max(at, excluded.at), cost = cost + excluded.cost
"""
MOST_AT_ONCE = 10**18
"""Pico-dollars of one call that SQLite still takes as a whole number."""

_GIVEN_UP: set[tuple[tuple[int, int], int]] = set()
"""Files and owners of this process that have failed: it lives, and still nobody waits for their answers."""

LOSE = "UPDATE call SET state = 'unknown', lost_attempts = 1, note = 'its process ended' WHERE id = ?"


class LedgerTransactions:
    """One connection that writes for one process; `owner` is its number in this ledger, and None enters it anew."""

    def __init__(self, file: Path, busy_timeout: float, owner: int | None) -> None:
        self._file = file
        self._busy_timeout = busy_timeout
        self._connection = place.connect(file, busy_timeout)
        self._here = place.this_process()
        self._heartbeat = 0.0
        self._living: dict[int, bool] = {}
        self._keys: list[tuple[bytes, bytes | None]] = []  # with their digests; both are of this transaction
        self._answers: list[bytes | None] = []
        self._before_piece = self._keys, self._answers
        self._unchecked = owner is None
        self._damage: LedgerError | None = None
        try:
            self._inode = self._identity()
            self.owner = self._enter() if owner is None else owner
        except BaseException:
            self._connection.close()
            raise

    @property
    def connection(self) -> sqlite3.Connection:
        """What statements of a transaction go by."""
        return self._connection

    def begin(self) -> None:
        """Begin a transaction."""
        self._connection.execute("BEGIN IMMEDIATE")
        self._keys, self._answers = [], []
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
        self._before_piece = self._keys[:], self._answers[:]

    def keep(self) -> None:
        """End the piece."""
        self._connection.execute("RELEASE piece")

    def undo(self) -> None:
        """Undo the piece."""
        self._connection.execute("ROLLBACK TO piece")
        self._keys, self._answers = self._before_piece

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
        self.check_once()
        by_state: dict[str, list[bytes]] = {"stored": [], "busy": [], "batched": [], "free": []}
        lost = set()
        for key in keys:
            state, call = self.standing(key)
            by_state[state].append(key)
            lost |= {call} if state == "free" and call else set()
        for call in lost:
            self._connection.execute(LOSE, (call,))
        stored, claimed = {key: self._stored(key) for key in by_state["stored"]}, tuple(by_state["free"])
        sent = self._send(claimed, where, body, wall)
        return records.Claim(sent, claimed, stored, tuple(by_state["busy"]), len(lost), tuple(by_state["batched"]))

    def standing(self, key: bytes) -> tuple[str, int]:
        """Return whether a key is stored, busy, batched or free, and the call of a dead process that was for it."""
        choice, digest, call, state, owner, batch, its_state, its_owner = self._row(_STANDING, key) or _UNASKED
        if choice is not None or digest is not None or state == "rejected":
            return "stored", 0
        if state != "sent":
            return "free", 0
        if batch is None:
            return ("busy", 0) if self.is_alive(owner) else ("free", call)
        # What was only planned holds its requests as long as its process lives.
        held = its_state in {"sending", "sent"} or (its_state == "planned" and self.is_alive(its_owner))
        return "batched" if held else "free", 0

    def answer(self, call: int, columns: tuple[Any, ...], raw: bytes, choices: Mapping[bytes, int | None]) -> None:
        """Record a response and the choices that answer samples; see `Ledger.answer`."""
        if not self._connection.execute(ANSWER, (*columns, call)).rowcount:
            raise LedgerError(f"call {call} is not in the ledger", hint="was it pruned while it was under way?")
        if columns[0] == "rejected":
            keys = self._connection.execute("SELECT key FROM sample WHERE call = ?", (call,)).fetchall()
            choices = {key: None for (key,) in keys}
        digest, of_keys = schema.digests_of(call, columns, raw, choices)
        self._connection.execute("INSERT INTO response (call, raw, digest) VALUES (?, ?, ?)", (call, raw, digest))
        self._answers.append(digest)
        for key, choice in choices.items():
            # A key that another call has taken over, or that is answered already, stays as it is.
            if self._connection.execute(FILL, (key, call, choice, of_keys[key])).rowcount:
                self._keys.append((key, of_keys[key]))

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
        now = self.spending_time(wall)
        owners = self._connection.execute(
            "SELECT DISTINCT owner FROM held WHERE owner != ?", (self.owner,)
        ).fetchall()
        for (owner,) in owners:
            if not self.is_alive(owner):  # what it had in flight may be billed
                self.add_spent(int(self._sum("held WHERE owner = ?", owner)), now)
                self._connection.execute("DELETE FROM held WHERE owner = ?", (owner,))
        spent, calls = self.spent_since(now - seconds), self._sum("held")
        set_aside = self.set_aside()
        if spent + set_aside - calls + cost > most:  # a batch takes up to a day, and only --batch takes its results
            return None
        if spent + set_aside + cost > most:
            return 0
        held = self._connection.execute(
            "INSERT INTO held (owner, cost) VALUES (?, ?)", (self.owner, min(cost, MOST_AT_ONCE))
        )
        return held.lastrowid

    def spent_since(self, since: float) -> float:
        """Return the pico-dollars that were spent after a time."""
        return self._sum("spent WHERE minute >= ? AND at > ?", math.floor(since / 60), since)

    def set_aside(self) -> float:
        """Return the pico-dollars that calls under way, and batches that have not ended, may cost."""
        planned = self._connection.execute("SELECT owner, cost FROM batch WHERE state = 'planned'").fetchall()
        held = [self._sum("held"), self._sum("batch WHERE state IN ('sending', 'sent')")]
        return math.fsum([*held, *(cost for owner, cost in planned if self.is_alive(owner))])

    def spend_money(self, row: int | None, cost: int, wall: float) -> None:
        """Record what a call has cost in place of what was held for it; see `Ledger.spend_money`."""
        if row is not None and not self._connection.execute("DELETE FROM held WHERE id = ?", (row,)).rowcount:
            return  # another process took this one for dead, and has counted the whole
        self.add_spent(cost, self.spending_time(wall))

    def spending_time(self, wall: float) -> float:
        """Return the time at which money is spent: never before that of what was spent last."""
        last = self._connection.execute("SELECT at FROM spent ORDER BY minute DESC LIMIT 1").fetchone()
        return wall if last is None else max(wall, last[0])

    def add_spent(self, cost: int, now: float) -> None:
        """Add pico-dollars to what is spent."""
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

    def _add_up(self) -> None:
        """Write what this transaction has added into the sum of digests."""
        if self._keys or self._answers:
            schema.add_to_sum(self._connection, self._keys, self._answers)
            self._keys, self._answers = [], []

    def check_once(self) -> None:
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
        call = self._connection.execute(SEND, (self.owner, len(keys), wall, *where)).lastrowid
        assert call is not None  # noqa: S101 - the statement has inserted a row; only its type allows None
        self._connection.execute("INSERT INTO request (call, body) VALUES (?, ?)", (call, body))
        for key in keys:
            self._connection.execute("INSERT OR REPLACE INTO sample (key, call) VALUES (?, ?)", (key, call))
        return call

    def is_alive(self, owner: int) -> bool:
        """Tell whether the process of that number lives."""
        if (self._inode, owner) in _GIVEN_UP:
            return False
        if owner not in self._living:
            row = self._connection.execute(
                "SELECT host, boot, pid, started, heartbeat FROM owner WHERE id = ?", (owner,)
            ).fetchone()
            alive = row is not None and place.is_alive(place.Owner(*row[:4]), row[4], self._here, time.time())
            self._living[owner] = alive
        return self._living[owner]

    def _identity(self) -> tuple[int, int]:
        status = os.stat(self._file)  # noqa: PTH116 - once a commit: half the time of a Path's
        return status.st_dev, status.st_ino


_LOST = "answers could not be kept: mend the disk or the lock, then run the same again"
_ONE_ONLY = (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.ProgrammingError, sqlite3.InterfaceError)


@dataclass(slots=True, eq=False)
class WriteTask:
    """One piece of work, and who waits for it."""

    work: Any
    """Called with `LedgerTransactions`; on PostgreSQL a kind of work and its values."""
    loop: asyncio.AbstractEventLoop | None = None
    future: asyncio.Future[Any] | None = None
    result: Any = None
    error: BonwiseError | None = None


class Writer:
    """Runs work in transactions, several pieces in one; its thread starts with the first piece."""

    def __init__(self, file: Path, busy_timeout: float) -> None:
        self._file = file
        self._busy_timeout = busy_timeout
        self._closed = False
        self._begin()
        place.watch(self)

    async def do(
        self, work: Callable[[LedgerTransactions], T], undo: Callable[[LedgerTransactions, T], None] | None = None
    ) -> T:
        """Run one piece of work and return its result, once committed; `undo` takes it back if nobody waits."""
        job, future = self._queued(work)
        try:
            result: T = await future
        except (asyncio.CancelledError, GeneratorExit):
            if undo is not None:
                with suppress(LedgerError):
                    # Queued after the work itself, so its result is known by then.
                    self.post(lambda ledger_file: undo(ledger_file, job.result) if job.error is None else None)
            raise
        return result

    def submit(self, work: Callable[[LedgerTransactions], T]) -> asyncio.Future[T]:
        """Queue one piece of work that is never taken back, and return what to await; raises what `do` raises."""
        return self._queued(work)[1]

    def post(self, work: Callable[[LedgerTransactions], object]) -> None:
        """Queue one piece of work that nobody waits for."""
        self._put(WriteTask(work))

    def take_along(self, work: Callable[[LedgerTransactions], object]) -> None:
        """Queue work that nobody waits for and that wakes nobody: it goes with the next transaction."""
        with self._door:
            if self._closed:
                raise LedgerError("the ledger is closed")
            self._luggage.append(WriteTask(work))

    def close(self) -> None:
        """Commit what has queued, give back the leases, and end the thread."""
        with self._door:
            if self._closed:
                return
            self._closed = True
            if self._luggage:
                self._start()
            self._queue.put(None)
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def pause(self) -> None:
        """Close the connection between two commits; see `bonwise.calls.ledger.place`."""
        self._door.acquire()
        self._turn.acquire()
        self._hang_up()

    def resume(self) -> None:
        """Go on with the queue."""
        self._turn.release()
        self._door.release()

    def restart(self) -> None:
        """Begin anew: what has queued belongs to the process that forked."""
        self._begin()

    def _begin(self) -> None:
        self._queue: SimpleQueue[WriteTask | None] = SimpleQueue()
        self._luggage: deque[WriteTask] = deque()
        self._door = threading.Lock()
        self._turn = threading.Lock()
        self._thread: threading.Thread | None = None
        self._clerk: LedgerTransactions | None = None
        self._owner: int | None = None
        self._failure = ""

    def _queued(self, work: Callable[[LedgerTransactions], T]) -> tuple[WriteTask, asyncio.Future[T]]:
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        job = WriteTask(work, loop, future)
        self._put(job)
        return job, future

    def _put(self, job: WriteTask) -> None:
        with self._door:
            if self._closed:
                raise LedgerError("the ledger is closed")
            self._queue.put(job)
            self._start()

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="bonwise ledger", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        last = False
        while not last:
            batch, last = self._next()
            with self._turn:
                self._write(batch)
                if last:
                    self._leave()
            hand_over(batch)

    def _next(self) -> tuple[list[WriteTask], bool]:
        batch: list[WriteTask] = []
        job = self._queue.get()
        with suppress(Empty):
            while job is not None:
                batch.append(job)
                job = self._queue.get_nowait()
            return batch + self._taken_along(), True
        return batch + self._taken_along(), False

    def _taken_along(self) -> list[WriteTask]:
        luggage = []
        with suppress(IndexError):
            while True:
                luggage.append(self._luggage.popleft())
        return luggage

    def _write(self, batch: list[WriteTask]) -> None:
        if batch and not self._failure:
            try:
                ledger_file = self._arrive()
                ledger_file.begin()
                if not _run_together(batch, ledger_file):
                    ledger_file.roll_back()
                    ledger_file.begin()
                    for job in batch:
                        _run_piece(job, ledger_file)
                ledger_file.commit()
            except Exception as error:  # noqa: BLE001 - whatever it is, those who wait must hear of it
                if self._clerk is not None:
                    self._clerk.void_leases()
                self._hang_up()
                self._failure = f"the ledger {self._file} cannot be written: {self._reason(error)}"
            else:
                return
        for job in batch:
            job.error = LedgerError(self._failure, hint=_LOST)

    def _arrive(self) -> LedgerTransactions:
        if self._clerk is None:
            self._clerk = LedgerTransactions(self._file, self._busy_timeout, self._owner)
            self._owner = self._clerk.owner
        return self._clerk

    def _reason(self, error: Exception) -> str:
        if isinstance(error, place.UNREADABLE):
            try:
                damage.explain(self._file, self._busy_timeout, error)
            except LedgerError as damage_error:
                return damage_error.message
        return str(error) or type(error).__name__

    def _leave(self) -> None:
        with suppress(sqlite3.Error):  # the leases of a process that ends are void anyway
            if self._owner is not None and not self._failure:
                self._arrive().leave()
        self._hang_up()

    def _hang_up(self) -> None:
        if self._clerk is not None:
            self._clerk.close()
            self._clerk = None


def _run_together(batch: list[WriteTask], ledger_file: LedgerTransactions) -> bool:
    # A savepoint for each piece would cost as much as the piece, and hardly any piece ever fails.
    try:
        for job in batch:
            job.result = job.work(ledger_file)
    except Exception:  # noqa: BLE001 - the pieces that run one by one say which it was, and whom it concerns
        return False
    return True


def _run_piece(job: WriteTask, ledger_file: LedgerTransactions) -> None:
    ledger_file.mark()
    try:
        job.result = job.work(ledger_file)
    except BonwiseError as error:
        job.error = error
        ledger_file.undo()
    except _ONE_ONLY as error:
        job.error = LedgerError(f"the ledger cannot hold this: {error}")
        ledger_file.undo()
    except sqlite3.Error:
        raise
    except Exception as error:  # noqa: BLE001 - one caller's value must not fail the others
        job.error = LedgerError(f"the ledger cannot hold this: {error}")
        ledger_file.undo()
    ledger_file.keep()


def hand_over(batch: list[WriteTask]) -> None:
    """Tell those who wait what became of their work."""
    by_loop: dict[asyncio.AbstractEventLoop, list[WriteTask]] = {}
    for job in batch:
        if job.loop is not None:
            by_loop.setdefault(job.loop, []).append(job)
    for loop, jobs in by_loop.items():
        with suppress(RuntimeError):  # a loop that was closed waits for nothing
            loop.call_soon_threadsafe(_settle, jobs)


def _settle(jobs: list[WriteTask]) -> None:
    for job in jobs:
        if job.future is None or job.future.done():
            continue
        if job.error is None:
            job.future.set_result(job.result)
        else:
            job.future.set_exception(job.error)

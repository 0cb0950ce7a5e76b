"""One thread that writes: whatever has queued since the last commit goes into the next one."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from bonwise.calls.ledger.damage import explain
from bonwise.calls.ledger.place import UNREADABLE, watch
from bonwise.calls.ledger.transactions import LedgerTransactions
from bonwise.errors import BonwiseError, LedgerError

__all__ = ["Writer"]

T = TypeVar("T")

_LOST = "answers could not be kept: mend the disk or the lock, then run the same again"
_ONE_ONLY = (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.ProgrammingError, sqlite3.InterfaceError)


class _WriteTask:
    """One piece of work, and who waits for it."""

    __slots__ = ("error", "future", "loop", "result", "work")

    def __init__(self, work: Callable[[LedgerTransactions], Any]) -> None:
        self.work = work
        self.loop: asyncio.AbstractEventLoop | None = None
        self.future: asyncio.Future[Any] | None = None
        self.result: Any = None
        self.error: BonwiseError | None = None


class Writer:
    """Runs work in transactions, several pieces in one; its thread starts with the first piece."""

    def __init__(self, file: Path, busy_timeout: float) -> None:
        self._file = file
        self._busy_timeout = busy_timeout
        self._closed = False
        self._begin()
        watch(self)

    async def do(
        self, work: Callable[[LedgerTransactions], T], undo: Callable[[LedgerTransactions, T], None] | None = None
    ) -> T:
        """Run one piece of work and return its result, once committed; `undo` takes it back if nobody waits for it.

        Raises LedgerError also where an earlier commit failed, or the writer is closed.
        """
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
        self._put(_WriteTask(work))

    def take_along(self, work: Callable[[LedgerTransactions], object]) -> None:
        """Queue work that nobody waits for and that wakes nobody: it goes with the next transaction."""
        with self._door:
            if self._closed:
                raise LedgerError("the ledger is closed")
            self._luggage.append(_WriteTask(work))

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
        self._queue: SimpleQueue[_WriteTask | None] = SimpleQueue()
        self._luggage: deque[_WriteTask] = deque()
        self._door = threading.Lock()
        self._turn = threading.Lock()
        self._thread: threading.Thread | None = None
        self._clerk: LedgerTransactions | None = None
        self._owner: int | None = None
        self._failure = ""

    def _queued(self, work: Callable[[LedgerTransactions], T]) -> tuple[_WriteTask, asyncio.Future[T]]:
        job = _WriteTask(work)
        job.loop = asyncio.get_running_loop()
        job.future = future = job.loop.create_future()
        self._put(job)
        return job, future

    def _put(self, job: _WriteTask) -> None:
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
            _hand_over(batch)

    def _next(self) -> tuple[list[_WriteTask], bool]:
        batch: list[_WriteTask] = []
        job = self._queue.get()
        with suppress(Empty):
            while job is not None:
                batch.append(job)
                job = self._queue.get_nowait()
            return batch + self._taken_along(), True
        return batch + self._taken_along(), False

    def _taken_along(self) -> list[_WriteTask]:
        luggage = []
        with suppress(IndexError):
            while True:
                luggage.append(self._luggage.popleft())
        return luggage

    def _write(self, batch: list[_WriteTask]) -> None:
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
        if isinstance(error, UNREADABLE):
            try:
                explain(self._file, self._busy_timeout, error)
            except LedgerError as damage:
                return damage.message
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


def _run_together(batch: list[_WriteTask], ledger_file: LedgerTransactions) -> bool:
    # A savepoint for each piece would cost as much as the piece, and hardly any piece ever fails.
    try:
        for job in batch:
            job.result = job.work(ledger_file)
    except Exception:  # noqa: BLE001 - the pieces that run one by one say which it was, and whom it concerns
        return False
    return True


def _run_piece(job: _WriteTask, ledger_file: LedgerTransactions) -> None:
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


def _hand_over(batch: list[_WriteTask]) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[_WriteTask]] = {}
    for job in batch:
        if job.loop is not None:
            by_loop.setdefault(job.loop, []).append(job)
    for loop, jobs in by_loop.items():
        with suppress(RuntimeError):  # a loop that was closed waits for nothing
            loop.call_soon_threadsafe(_settle, jobs)


def _settle(jobs: list[_WriteTask]) -> None:
    for job in jobs:
        if job.future is None or job.future.done():
            continue
        if job.error is None:
            job.future.set_result(job.result)
        else:
            job.future.set_exception(job.error)

"""The ledger that a run folder holds, and what stands in for one where none is kept."""

from __future__ import annotations

import itertools
import json
import sqlite3
import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

from bonwise.calls import ask, bill
from bonwise.calls.ledger import batches, damage, place, reading, schema
from bonwise.calls.ledger.records import Claim, LedgerRow, LedgerStats, Recorded, State, Stored
from bonwise.calls.ledger.transactions import LedgerTransactions, Writer
from bonwise.errors import LedgerError

if TYPE_CHECKING:
    from bonwise.calls.ledger.postgres import PostgresLedger

T = TypeVar("T")

FAILED: tuple[State, ...] = ("failed",)
"""What is pruned unless more is named: an unknown call may have been billed, and its record is kept."""

_NO_USAGE = (None,) * 6
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))  # made once: `json.dumps` would at each call


class Ledger:
    """Every call of a run in one SQLite file, written before it is handed on; use `open`, which makes the file."""

    def __init__(self, path: Path, busy_timeout: float) -> None:
        self.path = path
        self._busy_timeout = busy_timeout
        self._writer = Writer(path, busy_timeout)
        self._begin()
        place.watch(self)

    @classmethod
    def open(cls, path: str | Path, *, busy_timeout: float = 60.0) -> Self:
        """Open the ledger of a run folder, or a ``.sqlite`` file, or make it; none on a network filesystem."""
        file = place.ledger_file(path).absolute()
        try:
            place.prepare(file, busy_timeout)
        except LedgerError as error:
            if error.hint == schema.DAMAGED and error.__cause__ is not None:
                with place.as_ledger_errors(file):
                    damage.explain(file, busy_timeout, error.__cause__)
            raise
        return cls(file, busy_timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"

    def stored(self, key: bytes) -> Stored | None:
        """Return an answered or rejected sample, None where there is none."""
        rows = self._read(schema.STORED, (key,))
        if not rows:
            return None
        with place.as_ledger_errors(self.path):
            return schema.stored_from(key, rows[0])

    async def look_up(self, keys: Collection[bytes]) -> dict[bytes, Stored]:
        """Return those of some samples that are answered or rejected."""
        return {key: stored for key in keys if (stored := self.stored(key)) is not None}

    async def claim(self, keys: Sequence[bytes], request: ask.Request, wall: float) -> Claim:
        """Enter a call for those keys (one a sample) that are free; undone if cancelled. `wall` is Unix time."""
        where, body = request_columns(request)
        wanted = tuple(dict.fromkeys(keys))
        work = partial(LedgerTransactions.claim, keys=wanted, where=where, body=body, wall=wall)
        return await self._writer.do(work, _withdraw)

    async def answer(self, call_id: int, recorded: Recorded) -> None:
        """Record a call's outcome, even if cancelled; samples without a choice are freed unless it was rejected."""
        columns, choices = response_columns(recorded), dict(recorded.choices)
        await self._writer.submit(
            partial(LedgerTransactions.answer, call=call_id, columns=columns, raw=recorded.raw, choices=choices)
        )

    async def give_up(self, call_id: int, attempts: int, lost_attempts: int, note: str) -> None:
        """Record a call without answer, free its samples; `lost_attempts` may be billed, `note` holds no secret."""
        why = as_text(note)
        await self._writer.submit(lambda ledger_file: ledger_file.give_up(call_id, attempts, lost_attempts, why))

    async def work(self, work: Callable[[LedgerTransactions], T]) -> T:
        """Do other work in a transaction, and return its result once it is on the disk."""
        return await self._writer.do(work)

    def batches(self) -> list[batches.BatchRow]:
        """Return the batches that have not ended."""
        return [batches.row_from(row) for row in self._read(batches.OPEN, ())]

    def batch_of(self, key: bytes) -> tuple[str, str, str, str] | None:
        """Return state and name of the batch that a key was last asked in, with state and note of the call."""
        rows = self._read(batches.HELD_BY, (key,))
        return rows[0] if rows else None

    def note_reading(self, key: bytes, reading: str) -> None:
        """Queue what was read from a sample, as JSON text; nobody waits for it."""
        self._writer.take_along(partial(LedgerTransactions.note_reading, key=key, reading=as_text(reading)))

    def dropped(self, base_url: str, model: str) -> frozenset[str]:
        """Return the parameters that a model was found not to take."""
        rows = self._read("SELECT parameter FROM dropped WHERE base_url = ? AND model = ?", (base_url, model))
        return frozenset(name for (name,) in rows)

    async def drop(self, base_url: str, model: str, parameter: str, message: str) -> None:
        """Remember that a model does not take a parameter, and what its server said."""
        words = as_text(message)
        await self._writer.submit(lambda ledger_file: ledger_file.drop(base_url, model, parameter, words))

    async def hold_money(self, cost: int, most: int, seconds: float, wall: float) -> int | None:
        """Set pico-dollars aside, with at most `most` in so many seconds; 0 to wait for calls, None for no room."""
        return await self._writer.do(
            lambda ledger_file: ledger_file.hold_money(cost, most, seconds, wall),
            lambda ledger_file, row: ledger_file.spend_money(row, 0, 0.0),
        )

    def spend_money(self, cost: int, wall: float, row: int | None = None) -> None:
        """Queue what a call has cost, in place of what was held for it at `row`, where something was."""
        work = partial(LedgerTransactions.spend_money, row=row, cost=cost, wall=wall)
        with suppress(LedgerError):  # of a ledger that is closed, what is held counts as spent
            if row is not None:
                self._writer.post(work)
            elif cost:
                self._writer.take_along(work)

    def close(self) -> None:
        """Commit what has queued and give back the leases; a call without an answer becomes unknown."""
        self._finalize()

    def stats(self) -> LedgerStats:
        """Sum up the ledger."""
        return reading.read_stats(self.path, self._busy_timeout)

    def rows(
        self, *, model: str | None = None, state: State | None = None, key_prefix: str = "", limit: int | None = None
    ) -> Iterator[LedgerRow]:
        """Walk through samples with their calls, and calls without one, as sent; `key_prefix` is hexadecimal."""
        return reading.read_rows(self.path, self._busy_timeout, model, state, key_prefix, limit)

    def prune(self, states: Collection[State] = FAILED, before: float | None = None) -> int:
        """Delete calls of some states, answered ones only with `before`, in seconds since 1970; return how many."""
        return reading.prune(self.path, self._busy_timeout, states, before)

    def forget(self, *, model: str | None = None, parameter: str | None = None) -> int:
        """Forget parameters that servers were found not to take, and return how many: they are sent again."""
        return reading.forget(self.path, self._busy_timeout, model, parameter)

    def integrity(self) -> str:
        """Return SQLite's own verdict on the file, ``ok`` where nothing is wrong."""
        return damage.integrity(self.path, self._busy_timeout)

    def check(self) -> damage.LedgerCheck:
        """Compare all that the ledger holds with the digests that were stored with it."""
        return damage.check_file(self.path, self._busy_timeout)

    def pause(self) -> None:
        """Close the connection that reads; see `bonwise.calls.ledger.place`."""
        self._door.acquire()
        _hang_up(self._reading)

    def resume(self) -> None:
        """Let it be opened again."""
        self._door.release()

    def restart(self) -> None:
        """Begin anew in a new process; what was closed stays so."""
        if self._finalize.detach() is None:
            self._door = threading.Lock()
        else:
            self._begin()

    def _begin(self) -> None:
        self._door = threading.Lock()
        self._reading: list[sqlite3.Connection] = []  # one for all threads, once it is needed
        # It must not hold the ledger, which would then live for ever.
        closes = weakref.finalize(self, _close, self._writer, self._door, self._reading)
        self._finalize: weakref.finalize[..., Any] = closes

    def _read(self, statement: str, values: tuple[Any, ...]) -> list[Any]:
        try:
            with self._door:
                if not self._finalize.alive:
                    raise LedgerError("the ledger is closed")
                if not self._reading:
                    self._reading.append(place.connect(self.path, self._busy_timeout))
                return self._reading[0].execute(statement, values).fetchall()
        except place.UNREADABLE as error:
            with place.as_ledger_errors(self.path):
                damage.explain(self.path, self._busy_timeout, error)
                raise


def _withdraw(ledger_file: LedgerTransactions, claim: Claim) -> None:
    if claim.call_id is not None:
        ledger_file.withdraw(claim.call_id)


def _close(writer: Writer, door: threading.Lock, reading: list[sqlite3.Connection]) -> None:
    writer.close()
    with door:
        _hang_up(reading)


def _hang_up(reading: list[sqlite3.Connection]) -> None:
    while reading:
        reading.pop().close()


def as_text(text: str) -> str:
    r"""Return text that any database can hold: a lone surrogate, and NUL, become the escapes that JSON has."""
    plain = text if text.isascii() else text.encode(errors="backslashreplace").decode()
    return plain.replace("\0", "\\u0000")


def request_columns(request: ask.Request) -> tuple[tuple[str, ...], str]:
    """Return what says where a request goes, and its body as JSON text."""
    where = (request.provider, request.base_url, request.api_version, request.endpoint, request.model)
    return tuple(map(as_text, where)), request.content.decode()


def response_columns(recorded: Recorded) -> tuple[Any, ...]:
    """Return an answered call's figures in the statement's order, typed as SQLite gives them back: for a digest."""
    usage = recorded.usage
    return (
        "rejected" if recorded.rejected else "answered",
        float(recorded.answered_at),
        int(recorded.status),
        as_text(recorded.request_id),
        as_text(recorded.model),
        as_text(recorded.fingerprint),
        *(_NO_USAGE if usage is None else _counts(usage)),
        None if recorded.cost is None else recorded.cost + 0.0,
        recorded.price_version,
        int(recorded.attempts),
        int(recorded.lost_attempts),
        as_text(_JSON.encode(recorded.effective)) if recorded.effective else "{}",
        as_text(recorded.note),
    )


def _counts(usage: bill.Usage) -> tuple[int, ...]:
    return (
        int(usage.uncached),
        int(usage.cache_read),
        int(usage.cache_write_5m),
        int(usage.cache_write_1h),
        int(usage.output),
        int(usage.reasoning),
    )


class NullLedger:
    """A ledger that keeps nothing but which parameters a server refused: every call is sent and paid for again."""

    path: None = None

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._dropped: set[tuple[str, str, str]] = set()

    def stored(self, key: bytes) -> Stored | None:  # noqa: ARG002 - the interface of Ledger
        """Return None: nothing is stored."""
        return None

    async def look_up(self, keys: Collection[bytes]) -> dict[bytes, Stored]:  # noqa: ARG002 - the same
        """Return nothing: nothing is stored."""
        return {}

    async def claim(self, keys: Sequence[bytes], request: ask.Request, wall: float) -> Claim:  # noqa: ARG002 - the same
        """Claim every key."""
        claimed = tuple(dict.fromkeys(keys))
        return Claim(next(self._numbers) if claimed else None, claimed)

    async def answer(self, call_id: int, recorded: Recorded) -> None:
        """Keep nothing."""

    async def give_up(self, call_id: int, attempts: int, lost_attempts: int, note: str) -> None:
        """Keep nothing."""

    def note_reading(self, key: bytes, reading: str) -> None:
        """Keep nothing."""

    def dropped(self, base_url: str, model: str) -> frozenset[str]:
        """Return the parameters that a model was found not to take."""
        return frozenset(name for url, name_of, name in self._dropped if (url, name_of) == (base_url, model))

    async def drop(self, base_url: str, model: str, parameter: str, message: str) -> None:  # noqa: ARG002 - the same
        """Remember that a model does not take a parameter."""
        self._dropped.add((base_url, model, parameter))

    def spend_money(self, cost: int, wall: float) -> None:
        """Keep nothing."""

    def close(self) -> None:
        """Do nothing."""


LedgerProtocol: TypeAlias = "Ledger | NullLedger | PostgresLedger"

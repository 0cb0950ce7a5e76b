"""A ledger on PostgreSQL, for processes on many machines; on one machine that of a run folder is faster."""

from __future__ import annotations

import asyncio
import os
import re
import threading
import weakref
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from bonwise.calls.ledger import reading, records, slices
from bonwise.calls.ledger.ledger import as_text, request_columns, response_columns
from bonwise.calls.ledger.postgres_transactions import PostgresTransactions, prepare_schema
from bonwise.calls.ledger.transactions import WriteTask, hand_over
from bonwise.errors import LedgerError, UsageError
from bonwise.extras import POSTGRES

if TYPE_CHECKING:
    from bonwise.calls import ask

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds that work waits for a server that is down."""

TICK = 1.0
"""Seconds after which what nobody waits for is written."""

_EXAMPLE = "write it as postgresql://USER@HOST/DATABASE"
_SECRETS = {"password", "passfile", "sslpassword"}
_PARAMETERS = ("host", "port", "sslmode", "sslrootcert", "sslcert", "sslkey", "schema")


def split_address(text: str) -> tuple[str, str]:
    """Return the address of a database without the schema, and the schema; what is refused is never repeated."""
    try:
        parts = urlsplit(text)
        values = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
        user, _, _ = parts.netloc.rpartition("@")
        if ":" in user or "@" in parts.path or _SECRETS & values.keys():
            hint = "set PGPASSWORD, or write it into ~/.pgpass: others can read a command line and its logs"
            raise UsageError("the ledger's address contains a password", hint=hint)
        schema = values.pop("schema", "bonwise")
        wrong = parts.fragment or values.keys() - set(_PARAMETERS) or parts.port == 0
    except ValueError:  # of a port, or of what follows the question mark
        raise UsageError("the ledger's address cannot be read", hint=_EXAMPLE) from None
    if wrong or not re.fullmatch("[a-z_][a-z0-9_]{0,62}", schema):
        known = f"after ? it takes {', '.join(_PARAMETERS)}; a schema is written with a-z, 0-9 and _"
        raise UsageError("the ledger's address cannot be read", hint=f"{_EXAMPLE}; {known}")
    return urlunsplit((*parts[:3], urlencode(values), "")), schema


class PostgresLedger:
    """Every call of a run in one schema of a database, written before it is handed on; it does what a `Ledger` does.

    The address is ``postgresql://USER@HOST/DATABASE``, with ``?schema=NAME`` for another ledger than ``bonwise``.
    """

    def __init__(self, address: str) -> None:
        dsn, schema = split_address(address)
        POSTGRES.require("a ledger on PostgreSQL")
        self.path = address
        self._money = slices.MoneySlices()
        self._database = _Database(address, dsn, schema, self._money)
        self._finalize = weakref.finalize(self, self._database.close)
        self._database.run(partial(prepare_schema, name=schema), patience=0.0).result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"PostgresLedger({self.path!r})"

    async def look_up(self, keys: Collection[bytes]) -> dict[bytes, records.Stored]:
        """Return those of some samples that are answered or rejected."""
        return await asyncio.wrap_future(self._database.run(partial(PostgresTransactions.stored, keys=list(keys))))

    def stored(self, key: bytes) -> records.Stored | None:
        """Return an answered or rejected sample, None where there is none; waits for the server."""
        return self._database.run(partial(PostgresTransactions.stored, keys=[key])).result().get(key)

    async def claim(self, keys: Sequence[bytes], request: ask.Request, wall: float) -> records.Claim:
        """Enter a call for those keys that are free; undone if cancelled."""
        wanted = _WantedCall(tuple(dict.fromkeys(keys)), *request_columns(request), wall)
        try:
            claim: records.Claim = await self._database.do("claim", wanted)
        except (asyncio.CancelledError, GeneratorExit):
            with suppress(LedgerError):
                self._database.post("withdraw", wanted)
            raise
        return claim

    async def answer(self, call_id: int, recorded: records.Recorded) -> None:
        """Record a call's outcome, even if cancelled."""
        await self._database.do("answer", call_id, response_columns(recorded), recorded.raw, dict(recorded.choices))

    async def give_up(self, call_id: int, attempts: int, lost_attempts: int, note: str) -> None:
        """Record a call without answer, and free its samples."""
        await self._database.do("give_up", call_id, attempts, lost_attempts, as_text(note))

    def note_reading(self, key: bytes, reading: str) -> None:
        """Queue what was read from a sample, as JSON text; nobody waits for it."""
        self._database.post("note_reading", key, as_text(reading))

    def dropped(self, base_url: str, model: str) -> frozenset[str]:
        """Return the parameters that a model was found not to take."""
        rows = self._fetch("SELECT parameter FROM dropped WHERE base_url = $1 AND model = $2", base_url, model)
        return frozenset(name for (name,) in rows)

    async def drop(self, base_url: str, model: str, parameter: str, message: str) -> None:
        """Remember that a model does not take a parameter, and what its server said."""
        await self._database.do("drop", base_url, model, parameter, as_text(message))

    async def hold_money(self, cost: int, most: int, seconds: float, wall: float) -> int | None:
        """Set pico-dollars aside, with at most `most` in so many seconds; 0 to wait for calls, None for no room."""
        if number := self._money.hold((most, seconds), cost):
            return number
        task = self._database.put("hold", (most, seconds), cost, wall)
        try:
            held: int | None = await task.future
        except (asyncio.CancelledError, GeneratorExit):
            with suppress(LedgerError):
                self._database.post("release", task)
            raise
        return held

    def spend_money(self, cost: int, wall: float, row: int | None = None) -> None:
        """Count what a call has cost, in place of what was held for it at `row`, where something was."""
        self._money.spend(cost, wall, row)

    def bucket(
        self, endpoint: str, kind: str, limit: int, spent: float = 0.0, *, own: bool = False
    ) -> slices.SharedBucket:
        """Return a bucket of requests or tokens per minute, filled out of one that all processes share."""
        del spent  # what has been used here is known to the server, whose word all processes hear

        async def lease(connection: Any, *terms: float) -> tuple[float, float]:
            granted, left = await connection.fetchrow(slices.LEASE_PACE, endpoint, kind, *terms)
            return granted, left

        def ask(want: float, holds: float, rate: float) -> Future[tuple[float, float]]:
            return self._database.run(lambda connection: lease(connection, holds, want, rate))

        return slices.SharedBucket(limit, ask, own=own)

    def close(self) -> None:
        """Commit what has queued and give back the leases; a call without an answer becomes unknown."""
        self._finalize()

    def stats(self) -> records.LedgerStats:
        """Sum up the ledger."""

        async def read(connection: Any) -> records.LedgerStats:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                dead = await self._database.transactions.dead(connection, reading.SENDERS)
                tables = (reading.SAMPLES, reading.TALLY, reading.DROPPED)
                samples, tallies, dropped = [
                    [tuple(map(_plain, row)) for row in await connection.fetch(table)] for table in tables
                ]
            return reading.stats_from(samples, tallies, dropped, dead)

        return self._database.run(read).result()

    def integrity(self) -> str:
        """Say who looks after the file."""
        return "kept by PostgreSQL"

    def rows(
        self,
        *,
        model: str | None = None,
        state: records.State | None = None,
        key_prefix: str = "",
        limit: int | None = None,
    ) -> Iterator[records.LedgerRow]:
        """Walk through samples with their calls, and calls without one, as sent; `key_prefix` is hexadecimal."""
        reading.check_prefix(key_prefix)
        return self._walk(model, state, key_prefix.lower(), limit)

    def _walk(self, *wanted: Any) -> Iterator[records.LedgerRow]:
        statement = reading.ROWS.replace("ORDER BY", "AND c.id > $5 AND c.id <= $6 ORDER BY")
        for of_sqlite, here in _ROWS.items():
            statement = statement.replace(of_sqlite, here)
        first, (*filters, left) = 0, wanted
        # Whole calls, so that a page begins behind the last one; a call has few samples.
        while left != 0 and (page := self._fetch("SELECT id FROM call WHERE id > $1 ORDER BY id LIMIT 500", first)):
            last = page[-1][0]
            rows = self._fetch(statement, *filters, left, first, last)
            yield from (reading.row_from(tuple(row)) for row in rows)
            first, left = last, None if left is None else left - len(rows)

    def _fetch(self, statement: str, *values: Any) -> list[Any]:
        rows: list[Any] = self._database.run(lambda connection: connection.fetch(statement, *values)).result()
        return rows


_ROWS = {
    "lower(hex(s.key))": "encode(s.key, 'hex')",
    "hex(s.key)": "encode(s.key, 'hex')",
    ":model": "$1::text",
    ":state": "$2::text",
    ":prefix": "$3::text",
    ":limit": "$4::bigint",
}


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, Decimal) else value


@dataclass(slots=True, eq=False)
class _WantedCall:
    """A call that is to be entered; its number is given once, so that the transaction can be repeated."""

    keys: tuple[bytes, ...]
    where: tuple[str, ...]
    body: str
    wall: float
    number: int | None = None


class _Database:
    """A thread with an event loop of its own, which reads at once and writes in batches."""

    def __init__(self, address: str, dsn: str, schema: str, money: slices.MoneySlices) -> None:
        self.transactions = PostgresTransactions(money)
        self._address, self._dsn = address, dsn
        self._settings = {"search_path": schema, "application_name": "bonwise"}
        self._process = os.getpid()
        self._queue: deque[WriteTask] = deque()
        self._loop = asyncio.new_event_loop()
        self._begun, self._wanted = Future[None](), asyncio.Event()
        self._closed, self._failure = False, ""
        self._thread = threading.Thread(target=self._serve_here, name="bonwise ledger", daemon=True)
        self._thread.start()
        self._begun.result()

    async def do(self, *work: Any) -> Any:
        return await self.put(*work).future

    def put(self, *work: Any) -> Any:
        """Have something written, and return what holds the future of its result."""
        self._check()
        task = WriteTask(work, loop := asyncio.get_running_loop(), loop.create_future())
        self._queue.append(task)
        self._loop.call_soon_threadsafe(self._wanted.set)
        return task

    def post(self, *work: Any) -> None:
        """Have something written with the next transaction; nobody waits for it."""
        self._check()
        self._queue.append(WriteTask(work))

    def run(self, work: Callable[[Any], Awaitable[T]], patience: float = PATIENCE) -> Future[T]:
        """Run something with a connection."""
        self._check()
        return asyncio.run_coroutine_threadsafe(self._refusing(work, patience), self._loop)

    def close(self) -> None:
        if not self._closed and self._process == os.getpid():
            self._closed = True
            with suppress(RuntimeError):  # the thread has ended by itself
                self._loop.call_soon_threadsafe(self._wanted.set)
            self._thread.join(PATIENCE)

    def _check(self) -> None:
        if self._process != os.getpid():
            raise LedgerError("the ledger belongs to the process that was forked", hint="open it in each process")
        if self._closed:
            raise LedgerError("the ledger is closed")

    def _serve_here(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        import asyncpg  # noqa: PLC0415 - an extra brings it

        # A connection is never given back in another state than it was taken in, so that nothing is to be reset.
        terms = {"timeout": 10.0, "command_timeout": PATIENCE, "server_settings": self._settings}
        self._pool = await asyncpg.create_pool(self._dsn, min_size=0, max_size=4, reset=_keep, **terms)
        self._passing = (  # a server is down, ends, begins, or sees two transactions in each other's way
            OSError,
            asyncpg.InterfaceError,
            asyncpg.InternalClientError,
            asyncpg.PostgresConnectionError,
            asyncpg.OperatorInterventionError,
            asyncpg.TransactionRollbackError,
            asyncpg.TooManyConnectionsError,
        )
        self._of_one = (
            asyncpg.DataError,
            asyncpg.IntegrityConstraintViolationError,
            LedgerError,
            ValueError,
            TypeError,
        )
        self._begun.set_result(None)
        while not (self._closed and not self._queue):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wanted.wait(), TICK)
            self._wanted.clear()
            await self._write([self._queue.popleft() for _ in range(len(self._queue))])
        if self.transactions.owner:
            await self._write([WriteTask(("leave",))])
        self._pool.terminate()

    async def _write(self, tasks: list[WriteTask]) -> None:
        """Write a batch, or a sign of life; where something cannot be written, each piece by itself."""
        if not self._failure and (tasks or self.transactions.is_due(self._loop.time())):
            try:
                await self._patiently(partial(self._transact, tasks), PATIENCE)
            except self._of_one as error:
                if len(tasks) > 1:
                    for task in tasks:
                        await self._write([task])
                    return
                for task in tasks:
                    task.error = LedgerError(f"the ledger cannot hold this: {error}")
            except Exception as error:  # noqa: BLE001 - whatever it is, those who wait must hear of it
                self._failure = self._refused(error).message
        for task in tasks if self._failure else ():
            task.error = LedgerError(self._failure, hint=_LOST)
        hand_over(tasks)

    async def _transact(self, tasks: list[WriteTask], connection: Any) -> None:
        await self.transactions.write(connection, tasks, self._loop.time())

    async def _refusing(self, work: Callable[[Any], Awaitable[T]], patience: float) -> T:
        try:
            return await self._patiently(work, patience)
        except Exception as error:  # noqa: BLE001 - drivers and systems say it in many ways
            raise self._refused(error) from None

    async def _patiently(self, work: Callable[[Any], Awaitable[T]], patience: float) -> T:
        """Do something with a connection, again for as long as the server may come back."""
        until, pause = self._loop.time() + patience, 0.05
        while True:
            try:
                async with self._pool.acquire() as connection:
                    try:
                        return await work(connection)
                    except self._passing:
                        connection.terminate()
                        raise
            except self._passing:
                if self._loop.time() >= until:
                    raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, 1.0)

    def _refused(self, error: Exception) -> LedgerError:
        if isinstance(error, LedgerError):
            return LedgerError(f"{self._address}: {error.message}", hint=error.hint)
        return LedgerError(
            f"the ledger {self._address} cannot be used: {error or type(error).__name__}", hint=_USABLE
        )


async def _keep(connection: Any) -> None:
    """Leave a connection as it is."""


_USABLE = "is the server running, and may this user connect? Passwords are read from PGPASSWORD and ~/.pgpass"
_LOST = "answers could not be kept: mend the database, then run the same again"

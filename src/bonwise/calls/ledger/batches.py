"""Batches in a ledger: planned, submitted, and answered, each step in one transaction."""

from __future__ import annotations

import math
import re
import secrets
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Literal

from bonwise.calls.bill import NOTHING_PAID, PICO, Bill
from bonwise.calls.ledger.transactions import MOST_AT_ONCE, LedgerTransactions

BatchState = Literal["planned", "sending", "sent", "ended", "lost"]
"""
planned  its requests are claimed; nothing is submitted
sending  being submitted; without the service's id nobody knows whether it was
sent     the service has it
ended    its results are in the ledger
lost     given up by the user: the service may work on it, and bill it
"""

PREFIX = 24
"""Bytes of a key in the id of a request; the mark of its batch stands behind them."""


@dataclass(frozen=True, slots=True)
class BatchHeader:
    """What all requests of a batch have in common."""

    provider: str
    base_url: str
    api_version: str
    endpoint: str
    model: str
    price: str = "null"
    """JSON of the price in a batch, or null."""
    price_version: str = ""


@dataclass(frozen=True, slots=True)
class BatchRow:
    """One batch."""

    id: int
    state: BatchState
    owner: int
    """Number of the process that planned or submitted it."""
    header: BatchHeader
    mark: str
    """A word of its own, by which a submission is known."""
    requests: int
    tokens: int
    cost: int
    """Both at worst; pico-dollars, 0 where a price is not known."""
    remote: str
    """The service's name of the batch; empty until it is known."""
    sent_at: float | None
    """When it was submitted for the last time, in seconds since 1970."""


OPEN = """
    SELECT id, state, owner, provider, base_url, api_version, endpoint, model, price, price_version, mark, requests,
           tokens, cost, remote, sent_at
    FROM batch WHERE state IN ('planned', 'sending', 'sent') ORDER BY id
"""
HELD_BY = """
    SELECT b.state, b.remote, c.state, c.note
    FROM sample s JOIN call c ON c.id = s.call JOIN batch b ON b.id = c.batch
    WHERE s.key = ?
"""
"""What batch had a key last: its state and name, and what became of the call."""


def row_from(row: Sequence[Any]) -> BatchRow:
    """Read a row of `OPEN`."""
    number, state, owner, *columns = row
    return BatchRow(number, state, owner, BatchHeader(*columns[:7]), *columns[7:])


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One request of a batch to be."""

    keys: tuple[bytes, ...]
    body: str
    """JSON text."""
    effective: str
    """JSON text of the parameters that shape the sampling."""
    size: int
    """Bytes in the input."""
    tokens: int
    """At worst."""
    cost: int
    """Pico-dollars at worst."""


def custom_id(key: bytes, mark: str) -> str:
    """Return the id of a request within its batch: hexadecimal digits of its first key, and the mark."""
    return key[:PREFIX].hex() + mark


def key_range(asked: str, mark: str) -> tuple[bytes, bytes] | None:
    """Return the first and the last key that an id may stand for; None where it is of another batch."""
    if not re.fullmatch(f"[0-9a-f]{{{2 * PREFIX}}}{mark}", asked):
        return None
    prefix = bytes.fromhex(asked.removesuffix(mark))
    return prefix + bytes(32 - PREFIX), prefix + b"\xff" * (32 - PREFIX)


def open_batches(ledger_file: LedgerTransactions) -> list[BatchRow]:
    """Return the batches that have not ended."""
    return [row_from(row) for row in ledger_file.connection.execute(OPEN)]


def add(
    ledger_file: LedgerTransactions,
    header: BatchHeader,
    calls: Iterable[PlannedCall],
    most: tuple[int, int],
    money: tuple[int, float] | None,
) -> bool:
    """Claim what is free for planned batches of this process, with `most` requests and bytes each.

    `money` is a limit in pico-dollars and the seconds of its window; tell whether it had room for all.
    """
    connection, now = ledger_file.connection, time.time()
    where, has_room, left = astuple(header)[:5], True, math.inf
    if money is not None:
        spent = ledger_file.spent_since(ledger_file.spending_time(now) - money[1])
        left = money[0] - spent - ledger_file.set_aside()
    whose = ledger_file.owner, *astuple(header)
    batch, requests, size = connection.execute(_PLANNED, whose).fetchone() or (0, 0, 0)
    for call in calls:
        if any(ledger_file.standing(key)[0] != "free" for key in call.keys):
            continue
        if call.cost > left:
            has_room = False
            continue
        if not batch or requests >= most[0] or size + call.size > most[1]:
            batch = connection.execute(_BEGIN, (*whose, secrets.token_hex(8))).lastrowid
            requests = size = 0
        row = connection.execute(_CALL, (len(call.keys), now, *where, call.effective, batch)).lastrowid
        connection.execute("INSERT INTO request (call, body) VALUES (?, ?)", (row, call.body))
        for key in call.keys:
            connection.execute("INSERT OR REPLACE INTO sample (key, call) VALUES (?, ?)", (key, row))
        connection.execute(_GROW, (call.size, call.tokens, min(call.cost, MOST_AT_ONCE), batch))
        left, requests, size = left - call.cost, requests + 1, size + call.size
    return has_room


_CALL = """
    INSERT INTO call
        (state, owner, samples, sent_at, provider, base_url, api_version, endpoint, model, effective, batch)
    VALUES ('sent', 0, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_GROW = """
    UPDATE batch SET requests = requests + 1, bytes = bytes + ?, tokens = tokens + ?, cost = cost + ? WHERE id = ?
"""
_BEGIN = """
    INSERT INTO batch (state, owner, provider, base_url, api_version, endpoint, model, price, price_version, mark)
    VALUES ('planned', ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_PLANNED = """
    SELECT id, requests, bytes FROM batch WHERE state = 'planned' AND owner = ? AND provider = ? AND base_url = ?
    AND api_version = ? AND endpoint = ? AND model = ? AND price = ? AND price_version = ? ORDER BY id DESC LIMIT 1
"""


def change(ledger_file: LedgerTransactions, batch: int, **columns: Any) -> None:
    """Set columns of a batch."""
    names = ", ".join(f"{name} = ?" for name in columns)
    statement = f"UPDATE batch SET {names} WHERE id = ?"  # noqa: S608 - the columns are named by the callers here
    ledger_file.connection.execute(statement, (*columns.values(), batch))


def discard(ledger_file: LedgerTransactions) -> None:
    """Remove what processes have planned that live no more, or this one before: nothing of it was submitted."""
    ledger_file.check_once()
    for row in open_batches(ledger_file):
        if row.state == "planned" and (row.owner == ledger_file.owner or not ledger_file.is_alive(row.owner)):
            calls = "(SELECT id FROM call WHERE batch = ?)"
            for table in ("sample", "request"):
                ledger_file.connection.execute(f"DELETE FROM {table} WHERE call IN {calls}", (row.id,))  # noqa: S608 - as above
            ledger_file.connection.execute("DELETE FROM call WHERE batch = ?", (row.id,))
            ledger_file.connection.execute("DELETE FROM batch WHERE id = ?", (row.id,))


def take_over(ledger_file: LedgerTransactions, *, resubmit: bool) -> list[BatchRow]:
    """Return the batches under way that no other living process submits, each now of this process.

    With `resubmit` those whose submission is unknown are lost: their calls may be billed, and their keys are free.
    """
    taken = []
    for row in open_batches(ledger_file):
        if row.state == "planned" or (row.state == "sending" and ledger_file.is_alive(row.owner)):
            continue
        if resubmit and not row.remote:
            lose(ledger_file, row)
        else:
            change(ledger_file, row.id, owner=ledger_file.owner)
            taken.append(row)
    return taken


def lose(ledger_file: LedgerTransactions, row: BatchRow) -> None:
    """Give a batch up that the service may work on: its calls may be billed, and its keys are free."""
    change(ledger_file, row.id, state="lost")
    ledger_file.connection.execute(
        "UPDATE call SET state = 'unknown', lost_attempts = 1, note = 'its batch was given up' "
        "WHERE batch = ? AND state = 'sent'",
        (row.id,),
    )
    ledger_file.add_spent(row.cost, ledger_file.spending_time(time.time()))


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """The result of one request, ready to be recorded."""

    keys: tuple[bytes, bytes]
    """Between these two lies the first key of the call."""
    columns: tuple[Any, ...] = ()
    """Of an answer; empty where there is none."""
    raw: bytes = b""
    answered: tuple[int, ...] = ()
    """Choices that answer, in the order of the samples."""
    note: str = ""
    """Why there is no answer."""
    lost: bool = False
    """Whether it was paid for although there is no answer."""
    bill: Bill = NOTHING_PAID
    """What it took."""


_EFFECTIVE = 16
"""Where the parameters stand among the columns of an answer."""


def record(ledger_file: LedgerTransactions, batch: int, answers: Iterable[BatchAnswer]) -> list[BatchAnswer]:
    """Record results of a batch, and return those that were not recorded before."""
    recorded = []
    for answer in answers:
        row = ledger_file.connection.execute(_OF_KEY, (batch, *answer.keys)).fetchone()
        if row is None:  # recorded before the process was killed, or of somebody else's
            continue
        call, effective = row
        if answer.columns:
            keys = [key for (key,) in ledger_file.connection.execute(_KEYS, (call,))]
            columns = (*answer.columns[:_EFFECTIVE], effective, *answer.columns[_EFFECTIVE + 1 :])
            ledger_file.answer(call, columns, answer.raw, dict(zip(keys, answer.answered, strict=False)))
        else:
            ledger_file.give_up(call, 1, int(answer.lost), answer.note)
        recorded.append(answer)
    return recorded


_OF_KEY = """
    SELECT c.id, c.effective FROM sample s JOIN call c ON c.id = s.call
    WHERE c.batch = ? AND c.state = 'sent' AND s.key BETWEEN ? AND ? LIMIT 1
"""
_KEYS = "SELECT key FROM sample WHERE call = ? ORDER BY key"


def end(ledger_file: LedgerTransactions, batch: int, note: str) -> Mapping[str, int]:
    """Record that a batch has ended: what has no answer is free; return the number of its calls by state."""
    connection = ledger_file.connection
    connection.execute(
        "UPDATE call SET state = 'failed', attempts = 1, note = ? WHERE batch = ? AND state = 'sent'", (note, batch)
    )
    ended = "UPDATE batch SET state = 'ended' WHERE id = ? AND state != 'ended'"
    if connection.execute(ended, (batch,)).rowcount:  # another process may have been quicker
        (cost,) = connection.execute(_SPENT, (PICO, PICO, batch)).fetchone()
        ledger_file.add_spent(round(cost), ledger_file.spending_time(time.time()))
    return dict(connection.execute("SELECT state, count(*) FROM call WHERE batch = ? GROUP BY state", (batch,)))


# What was paid for and not counted may have taken its share of the worst case.
_SPENT = """
    SELECT total(CASE
        WHEN (c.state = 'failed' AND c.lost_attempts) OR (c.state = 'answered' AND NOT coalesce(
            c.output * (c.uncached + c.cache_read + c.cache_write_5m + c.cache_write_1h), 0))
        THEN max(coalesce(c.cost, 0) * ?, 1.0 * b.cost / b.requests) ELSE c.cost * ? END)
    FROM call c JOIN batch b ON b.id = c.batch WHERE b.id = ?
"""


def lines_of(connection: sqlite3.Connection, row: BatchRow) -> Iterator[tuple[str, str]]:
    """Yield id and body of each request of a batch, read one by one."""
    for key, body in connection.execute(_INPUT, (row.id,)):
        yield custom_id(key, row.mark), body


_INPUT = """
    SELECT (SELECT min(s.key) FROM sample s WHERE s.call = c.id), q.body
    FROM call c JOIN request q ON q.call = c.id WHERE c.batch = ? AND c.state = 'sent' ORDER BY c.id
"""


def body_of(ledger_file: LedgerTransactions, batch: int, keys: tuple[bytes, bytes]) -> str:
    """Return the body of a request that has no result yet; empty where there is none."""
    call, _ = ledger_file.connection.execute(_OF_KEY, (batch, *keys)).fetchone() or (0, "")
    row = ledger_file.connection.execute("SELECT body FROM request WHERE call = ?", (call,)).fetchone()
    return row[0] if row else ""


def is_known(ledger_file: LedgerTransactions, remote: str) -> bool:
    """Tell whether a batch of the service is one of this ledger."""
    return ledger_file.connection.execute("SELECT 1 FROM batch WHERE remote = ?", (remote,)).fetchone() is not None

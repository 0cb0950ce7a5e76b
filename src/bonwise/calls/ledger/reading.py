"""Reading a ledger: one sample at once, and all of it for people."""

from __future__ import annotations

import math
import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

from bonwise.calls.bill import Usage
from bonwise.calls.ledger import damage, place, schema
from bonwise.calls.ledger.records import DroppedParameter, LedgerRow, LedgerStats, ModelTally, State, Stored
from bonwise.errors import LedgerError, UsageError

__all__ = ["Reader", "read_rows", "read_stats"]

_TALLY = """
    SELECT provider, model, state, owner, COUNT(*), SUM(attempts), SUM(lost_attempts), SUM(cost),
           SUM(state = 'answered' AND cost IS NULL), SUM(uncached), SUM(cache_read), SUM(cache_write_5m),
           SUM(cache_write_1h), SUM(output), SUM(reasoning)
    FROM call GROUP BY provider, model, state, owner ORDER BY provider, model
"""
_SAMPLES = """
    SELECT c.provider, c.model, COUNT(*) FROM sample s JOIN call c ON c.id = s.call
    WHERE s.choice IS NOT NULL GROUP BY c.provider, c.model
"""
_ROWS = """
    SELECT coalesce(lower(hex(s.key)), ''), s.choice, s.reading, c.id, c.state, c.provider, c.base_url,
           c.api_version, c.endpoint, c.model, q.body, c.samples, c.sent_at, c.answered_at, c.status, c.request_id,
           r.raw, c.answered_model, c.fingerprint, c.cost, c.price_version, c.effective, c.attempts,
           c.lost_attempts, c.note, c.uncached, c.cache_read, c.cache_write_5m, c.cache_write_1h, c.output,
           c.reasoning
    FROM call c JOIN request q ON q.call = c.id LEFT JOIN response r ON r.call = c.id
         LEFT JOIN sample s ON s.call = c.id
    WHERE (:model IS NULL OR c.model = :model) AND (:state IS NULL OR c.state = :state)
          AND (:prefix = '' OR hex(s.key) LIKE :prefix || '%')
    ORDER BY c.id, s.key LIMIT :limit
"""


class Reader:
    """One connection that only reads an existing ledger, for all threads of a process."""

    def __init__(self, file: Path, busy_timeout: float) -> None:
        self._file = file
        self._busy_timeout = busy_timeout
        self._closed = False
        self._begin()
        place.watch(self)

    def stored(self, key: bytes) -> Stored | None:
        """Return a sample that needs no call any more."""
        rows = self._all(schema.STORED, (key,))
        if not rows:
            return None
        with place.as_ledger_errors(self._file):
            return schema.stored_from(key, rows[0])

    def dropped(self, base_url: str, model: str) -> frozenset[str]:
        """Return the parameters a model is known not to take."""
        rows = self._all("SELECT parameter FROM dropped WHERE base_url = ? AND model = ?", (base_url, model))
        return frozenset(name for (name,) in rows)

    def close(self) -> None:
        """Close the connection."""
        with self._door:
            self._closed = True
            self._hang_up()

    def pause(self) -> None:
        """Close the connection; see `bonwise.calls.ledger.place`."""
        self._door.acquire()
        self._hang_up()

    def resume(self) -> None:
        """Let it be opened again."""
        self._door.release()

    def restart(self) -> None:
        """Begin anew in a new process."""
        self._begin()

    def _begin(self) -> None:
        self._door = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def _all(self, statement: str, values: tuple[Any, ...]) -> list[Any]:
        try:
            with self._door:
                if self._connection is None:
                    self._connection = self._open()
                return self._connection.execute(statement, values).fetchall()
        except place.UNREADABLE as error:
            with place.as_ledger_errors(self._file):
                damage.explain(self._file, self._busy_timeout, error)
                raise

    def _open(self) -> sqlite3.Connection:
        if self._closed:
            raise LedgerError("the ledger is closed")
        return place.connect(self._file, self._busy_timeout)

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def read_stats(file: Path, busy_timeout: float) -> LedgerStats:
    """Sum up a ledger; see `bonwise.calls.ledger.ledger.Ledger.stats`."""
    with place.as_ledger_errors(file), closing(place.connect(file, busy_timeout)) as connection:
        connection.execute("BEGIN")  # all figures from one moment
        dead = place.dead_owners(connection)
        samples = {(provider, model): count for provider, model, count in connection.execute(_SAMPLES)}
        groups: dict[tuple[str, str], list[Any]] = {}
        for row in connection.execute(_TALLY):
            groups.setdefault((row[0], row[1]), []).append(row[2:])
        dropped = connection.execute("SELECT base_url, model, parameter, message, learnt_at FROM dropped").fetchall()
        models = tuple(_tally(*name, rows, samples.get(name, 0), dead) for name, rows in groups.items())
    return LedgerStats(models, tuple(DroppedParameter(*row) for row in dropped))


def read_rows(
    file: Path, busy_timeout: float, model: str | None, state: State | None, key_prefix: str, limit: int | None
) -> Iterator[LedgerRow]:
    """Walk through a ledger; see `bonwise.calls.ledger.ledger.Ledger.rows`."""
    if not re.fullmatch("[0-9a-fA-F]*", key_prefix):
        raise UsageError(f"{key_prefix!r} begins no key", hint="a key is written in the digits 0-9 and a-f")
    wanted = {"model": model, "state": state, "prefix": key_prefix, "limit": -1 if limit is None else limit}
    return _walk(file, busy_timeout, wanted)


def _walk(file: Path, busy_timeout: float, wanted: dict[str, Any]) -> Iterator[LedgerRow]:
    with place.as_ledger_errors(file), closing(place.connect(file, busy_timeout)) as connection:
        for row in connection.execute(_ROWS, wanted):
            yield _row(row)


def _row(row: tuple[Any, ...]) -> LedgerRow:
    names, cost, price_version, effective, ending, counts = row[:19], row[19], row[20], row[21], row[22:25], row[25:]
    values = (
        *names,
        schema.usage_from(counts),
        cost,
        price_version,
        schema.effective_from(effective, row[3]),
        *ending,
    )
    return LedgerRow(*values)


def _tally(provider: str, model: str, rows: list[Any], samples: int, dead: set[int]) -> ModelTally:
    calls: dict[State, int] = {}
    lost = 0
    for state, owner, count, *_ in rows:
        left = state == "sent" and owner in dead
        name = cast("State", "unknown" if left else state)
        calls[name] = calls.get(name, 0) + count
        lost += count if left else 0
    attempts, lost_attempts, cost, unpriced, *counts = (
        sum(value or 0 for value in column) for column in zip(*(row[3:] for row in rows), strict=True)
    )
    if not math.isfinite(cost):
        raise LedgerError(f"the cost of {provider}/{model} is damaged: {cost}")
    return ModelTally(
        provider, model, calls, samples, Usage(*counts), float(cost), unpriced, attempts, lost_attempts + lost
    )

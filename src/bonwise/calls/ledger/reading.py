"""A ledger as a whole, for people: its sums, its rows, and the removal of calls from it."""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, cast

from bonwise.calls.bill import Usage
from bonwise.calls.ledger import place, schema
from bonwise.calls.ledger.records import DroppedParameter, LedgerRow, LedgerStats, ModelTally, State
from bonwise.errors import LedgerError, UsageError

TALLY = """
    SELECT provider, model, state, owner, COUNT(*), SUM(attempts), SUM(lost_attempts), SUM(cost),
           SUM(CASE WHEN state = 'answered' AND cost IS NULL THEN 1 ELSE 0 END),
           SUM(uncached), SUM(cache_read), SUM(cache_write_5m), SUM(cache_write_1h), SUM(output), SUM(reasoning)
    FROM call GROUP BY provider, model, state, owner ORDER BY provider, model
"""
SAMPLES = """
    SELECT c.provider, c.model, COUNT(*) FROM sample s JOIN call c ON c.id = s.call
    WHERE s.choice IS NOT NULL GROUP BY c.provider, c.model
"""
SENDERS = "SELECT DISTINCT owner FROM call WHERE state = 'sent'"
DROPPED = "SELECT base_url, model, parameter, message, learnt_at FROM dropped"
ROWS = """
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


def read_stats(file: Path, busy_timeout: float) -> LedgerStats:
    """Sum up a ledger; see `bonwise.calls.ledger.ledger.Ledger.stats`."""
    with place.as_ledger_errors(file), closing(place.connect(file, busy_timeout)) as connection:
        connection.execute("BEGIN")  # all figures from one moment
        dead = place.dead_owners(connection)
        samples, rows, dropped = (connection.execute(read).fetchall() for read in (SAMPLES, TALLY, DROPPED))
        return stats_from(samples, rows, dropped, dead)


def stats_from(
    samples: Iterable[tuple[Any, ...]],
    rows: Iterable[tuple[Any, ...]],
    dropped: Iterable[tuple[Any, ...]],
    dead: set[int],
) -> LedgerStats:
    """Sum up what `SAMPLES`, `TALLY` and `DROPPED` read, with the owners that live no more."""
    counts = {(provider, model): count for provider, model, count in samples}
    groups: dict[tuple[str, str], list[Any]] = {}
    for row in rows:
        groups.setdefault((row[0], row[1]), []).append(row[2:])
    models = tuple(_tally(*name, group, counts.get(name, 0), dead) for name, group in groups.items())
    return LedgerStats(models, tuple(DroppedParameter(*row) for row in dropped))


def read_rows(
    file: Path, busy_timeout: float, model: str | None, state: State | None, key_prefix: str, limit: int | None
) -> Iterator[LedgerRow]:
    """Walk through a ledger; see `bonwise.calls.ledger.ledger.Ledger.rows`."""
    check_prefix(key_prefix)
    wanted = {"model": model, "state": state, "prefix": key_prefix, "limit": -1 if limit is None else limit}
    return _walk(file, busy_timeout, wanted)


def check_prefix(key_prefix: str) -> None:
    """Refuse what begins no key."""
    if not re.fullmatch("[0-9a-fA-F]*", key_prefix):
        raise UsageError(f"{key_prefix!r} begins no key", hint="a key is written in the digits 0-9 and a-f")


def _walk(file: Path, busy_timeout: float, wanted: dict[str, Any]) -> Iterator[LedgerRow]:
    with place.as_ledger_errors(file), closing(place.connect(file, busy_timeout)) as connection:
        for row in connection.execute(ROWS, wanted):
            yield row_from(row)


def row_from(row: tuple[Any, ...]) -> LedgerRow:
    """Make what `ROWS` reads."""
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


def prune(file: Path, busy_timeout: float, states: Collection[State], before: float | None) -> int:
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
    answers = connection.execute("SELECT digest FROM response WHERE call IN (SELECT id FROM doomed)")
    schema.add_to_sum(connection, connection.execute(_DOOMED_KEYS), (digest for (digest,) in answers), -1)

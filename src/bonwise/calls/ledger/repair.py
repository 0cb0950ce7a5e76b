"""A ledger without what is damaged in it: all that can be read and is what was written goes into a new file."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bonwise.calls.ledger.checking import lenient
from bonwise.calls.ledger.digest_sum import DigestSum, read_sum, write_sum
from bonwise.calls.ledger.entries import ANSWER_COLUMNS, answer_trouble, key_trouble
from bonwise.calls.ledger.owner import living_owners
from bonwise.calls.ledger.place import OLDER, UNREADABLE, as_ledger_errors, connect, connect_leniently, prepare
from bonwise.errors import LedgerError

__all__ = ["Repaired", "repair"]

TABLES = {
    "call": "id",
    "request": "call",
    "response": "call",
    "sample": "key",
    "dropped": "base_url, model, parameter",
}
"""What is copied, by what each table is ordered."""

_FORGOTTEN = "its answer was damaged and is dropped"
_COLUMNS = ", ".join(column.strip().removeprefix("c.") for column in ANSWER_COLUMNS.split(","))
_IN_USE = "end the programs that use this run folder, then run it again"


@dataclass(frozen=True, slots=True)
class Repaired:
    """What a repair has kept and dropped."""

    kept: int
    """Keys that lead to an answer as before."""
    dropped: int
    """Keys whose answers are dropped: the next run asks for them again."""
    calls: tuple[int, ...]
    """Whose answers were dropped, as far as they are known."""
    before: Path
    """The damaged file, which is kept under this name."""


def repair(file: Path, busy_timeout: float = 60.0) -> Repaired:
    """Put a ledger without damage in the place of a damaged one, and keep the old file beside it.

    Raises
    ------
    bonwise.errors.LedgerError
        A living process uses it, or nothing of it can be read.
    """
    new, before = file.with_name(f"{file.name}.repair"), _free_name(file)
    with as_ledger_errors(file), closing(connect_leniently(file, busy_timeout)) as old:
        with suppress(*UNREADABLE):
            if living_owners(old):
                raise LedgerError("in use by another process", hint=_IN_USE)
        rows = {table: list(_salvaged(old, table, order)) for table, order in TABLES.items()}
        written = _sum_of(old)
        if not rows["sample"] and (written is None or written.keys):
            raise LedgerError("none of its keys can be read", hint=OLDER)
        if any("digest" not in row.keys() for row in rows["sample"][:1]):  # noqa: SIM118 - a row is no mapping
            raise LedgerError("an older bonwise wrote it, and it cannot be upgraded", hint=OLDER)
    new.unlink(missing_ok=True)
    prepare(new, busy_timeout)
    with as_ledger_errors(new), closing(connect(new, busy_timeout)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        found, calls = _fill(connection, rows, written)
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with as_ledger_errors(file):
        _replace(file, new, before)
    before_keys = found.keys if written is None else written.keys
    lost = max(before_keys, len([row for row in rows["sample"] if _is_stored(row)])) - found.keys
    return Repaired(found.keys, max(lost, 0), calls, before)


def _salvaged(connection: sqlite3.Connection, table: str, order: str) -> Iterator[sqlite3.Row]:
    """Yield the rows of a table once each, as far as they can be read from either end."""
    seen = set()
    key = [column.strip() for column in order.split(",")]
    forward = f"SELECT * FROM {table} NOT INDEXED"  # noqa: S608 - the tables are named here
    for statement in (forward, f"{forward} ORDER BY {', '.join(f'{column} DESC' for column in key)}"):
        with lenient(connection), suppress(*UNREADABLE):
            cursor = connection.cursor()
            cursor.row_factory = sqlite3.Row
            for row in cursor.execute(statement):
                name = tuple(row[column] for column in key)
                if name not in seen:
                    seen.add(name)
                    yield row
            return


def _fill(
    connection: sqlite3.Connection, rows: dict[str, list[sqlite3.Row]], written: DigestSum | None
) -> tuple[DigestSum, tuple[int, ...]]:
    """Copy what is whole; return the sum of it, and the calls whose answers are dropped."""
    up_to = _unverified_up_to(rows["response"]) if written is None else written.unverified_up_to
    calls = {row["id"]: row for row in rows["call"] if _insert(connection, "call", row)}
    for row in rows["request"]:
        if row["call"] in calls:
            _insert(connection, "request", row)
    for row in rows["dropped"]:
        _insert(connection, "dropped", row)
    answers = _fill_answers(connection, rows["response"], calls, up_to)
    keys = _fill_keys(connection, rows["sample"], calls, answers, up_to)
    found = DigestSum(unverified_up_to=up_to)
    for digest in answers.values():
        found = found.with_answer(digest)
    for row in keys:
        found = found.with_key(row["key"], row["digest"])
    write_sum(connection, found)
    # What such a call has cost stays in the sums, and its keys are free.
    forget = "UPDATE call SET state = 'failed', note = ? WHERE state IN ('answered', 'rejected') AND id = ?"
    connection.executemany(forget, [(_FORGOTTEN, call) for call in calls if call not in answers])
    once = {row["call"] for row in rows["response"]} | {row["call"] for row in rows["sample"] if _is_stored(row)}
    still = answers.keys() & {row["call"] for row in keys}
    return found, tuple(sorted(call for call in once - still if isinstance(call, int)))


def _fill_answers(
    connection: sqlite3.Connection, rows: list[sqlite3.Row], calls: Mapping[int, sqlite3.Row], up_to: int
) -> dict[int, bytes | None]:
    """Copy the answers that are whole, and return their digests by call."""
    digests = {}
    for row in rows:
        call = calls.get(row["call"])
        if call is not None and not _answer_trouble(call, row, up_to) and _insert(connection, "response", row):
            digests[row["call"]] = row["digest"]
    return digests


def _fill_keys(
    connection: sqlite3.Connection,
    rows: list[sqlite3.Row],
    calls: Mapping[int, sqlite3.Row],
    answers: Collection[int],
    up_to: int,
) -> list[sqlite3.Row]:
    """Copy the keys that lead to an answer that is whole, and return them; leases are copied too."""
    kept = []
    for row in rows:
        if not _is_stored(row):
            if row["call"] in calls:
                _insert(connection, "sample", row)
        elif row["call"] in answers and not key_trouble(row["key"], row["call"], row["choice"], row["digest"], up_to):
            kept += [row] if _insert(connection, "sample", row) else []
    return kept


def _answer_trouble(call: sqlite3.Row, response: sqlite3.Row, up_to: int) -> str:
    columns = tuple(call[name.strip()] for name in _COLUMNS.split(","))
    return answer_trouble(call["id"], columns, response["raw"], response["digest"], up_to)


def _insert(connection: sqlite3.Connection, table: str, row: sqlite3.Row) -> bool:
    places = ", ".join("?" * len(row))
    statement = f"INSERT OR IGNORE INTO {table} ({', '.join(row.keys())}) VALUES ({places})"  # noqa: S608 - as above
    try:
        return bool(connection.execute(statement, tuple(row)).rowcount)
    except (sqlite3.Error, ValueError):  # a value that no ledger holds
        return False


def _is_stored(row: sqlite3.Row) -> bool:
    return row["choice"] is not None or row["digest"] is not None


def _unverified_up_to(responses: Sequence[Any]) -> int:
    """Return the last call of an older bonwise, where the row that says it is gone: those after it have digests."""
    digested = [row["call"] for row in responses if row["digest"] is not None]
    return min(digested) - 1 if digested else max((row["call"] for row in responses), default=0)


def _sum_of(connection: sqlite3.Connection) -> DigestSum | None:
    try:
        return read_sum(connection)
    except UNREADABLE:
        return None


def _free_name(file: Path) -> Path:
    number = 1
    while (name := file.with_name(f"{file.stem}.damaged-{number}{file.suffix}")).exists():
        number += 1
    return name


def _replace(file: Path, new: Path, before: Path) -> None:
    """Keep the old file with its log under another name, and give its name to the new one."""
    file.rename(before)
    for end in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            Path(f"{file}{end}").rename(f"{before}{end}")
        Path(f"{new}{end}").unlink(missing_ok=True)
    new.replace(file)

"""Whether a ledger still holds what was written, which calls are damaged, and a new file without them."""

from __future__ import annotations

import operator
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from bonwise.calls.ledger import place, schema
from bonwise.errors import LedgerError

KEYS = "SELECT key, call, choice, digest FROM sample NOT INDEXED WHERE choice IS NOT NULL OR digest IS NOT NULL"
ANSWERS = f"""
    SELECT r.call, r.raw, r.digest, c.id, {schema.ANSWER_COLUMNS} FROM response r LEFT JOIN call c ON c.id = r.call
"""  # noqa: S608 - columns that are named here
T = TypeVar("T")

NAMED = 10
"""Calls that one sentence names."""


@dataclass(frozen=True, slots=True)
class Damage:
    """One thing that is not what was written."""

    call: int | None
    """Whose answer it concerns; None where nobody can tell."""
    what: str
    """In one line."""

    def __str__(self) -> str:
        return self.what if self.call is None else f"call {self.call}: {self.what}"


@dataclass(frozen=True, slots=True)
class LedgerCheck:
    """What a check of a ledger found."""

    keys: int
    """Keys that lead to an answer, damaged ones too."""
    missing: int
    """Keys that were written and cannot be found; negative where there are more than were written."""
    damage: tuple[Damage, ...]

    @property
    def calls(self) -> tuple[int, ...]:
        """The damaged calls that are known by number."""
        return tuple(sorted({damage.call for damage in self.damage if damage.call is not None}))

    def summary(self) -> str:
        """Say in one line what is damaged, empty where nothing is."""
        if not self.damage:
            return ""
        named = [f"call {call}" for call in self.calls]
        more = f" and {len(named) - NAMED} more" if len(named) > NAMED else ""
        others = [damage.what for damage in self.damage if damage.call is None]
        return "; ".join([", ".join(named[:NAMED]) + more] * bool(named) + others[:3])


def check_file(file: Path, busy_timeout: float) -> LedgerCheck:
    """Read all of a ledger and say what is damaged; see `bonwise.calls.ledger.ledger.Ledger.check`."""
    with place.as_ledger_errors(file), closing(place.connect_leniently(file, busy_timeout)) as connection:
        connection.execute("BEGIN")  # all of it from one moment
        return check(connection)


def integrity(file: Path, busy_timeout: float) -> str:
    """Return SQLite's own verdict on a file, ``ok`` where nothing is wrong."""
    with place.as_ledger_errors(file), closing(place.connect(file, busy_timeout)) as connection:
        return "; ".join(line for (line,) in connection.execute("PRAGMA integrity_check"))


def refuse_damage(connection: sqlite3.Connection, *, thorough: bool) -> None:
    """Refuse a ledger from which answers are gone, or with `thorough` also one whose answers were changed."""
    if thorough or not _keys_are_whole(connection):
        _refuse(check(connection))


def explain(file: Path, busy_timeout: float, error: BaseException) -> None:
    """Refuse a ledger with an unreadable page by its damaged calls; return where error or file tell nothing of it."""
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_IOERR")) or not name:
        try:
            ledger_check = check_file(file, busy_timeout)
        except LedgerError:
            return
        _refuse(ledger_check)


@contextmanager
def lenient(connection: sqlite3.Connection) -> Iterator[None]:
    """Read texts that are not UTF-8 all the same."""
    before = connection.text_factory
    connection.text_factory = lambda content: content.decode(errors="surrogateescape")
    try:
        yield
    finally:
        connection.text_factory = before


def check(connection: sqlite3.Connection) -> LedgerCheck:
    """Compare everything in a ledger with its digests, and these with their count and sum."""
    damage: list[Damage] = []
    with lenient(connection):
        written = _tried(lambda: schema.read_sum(connection), damage, "the row of count and sum")
        answers = _check_answers(connection, damage)
        keys = _checked_keys(connection, answers.keys(), damage)
        counted = schema.DigestSum().plus(keys, map(_as_bytes, answers.values()))
        structure = _tried(lambda: _structure(connection), damage, "SQLite's own check") or []
    damage += [Damage(None, line) for line in structure]
    if written is None and not any("row of count" in row.what for row in damage):
        damage.append(Damage(None, "the row of count and sum is missing"))
    missing = 0
    if written is not None:
        missing = written.keys - counted.keys
        damage += _differences(written, counted)
    return LedgerCheck(counted.keys, missing, tuple(damage))


def _keys_are_whole(connection: sqlite3.Connection) -> bool:
    """Tell whether every key that was written can be found; it takes about a second per million."""
    try:
        written = schema.read_sum(connection)
        rows = connection.execute(schema.STORED_KEYS).fetchall()
        keys = [row[0] for row in rows]
        counted = schema.DigestSum().plus(rows)
    except (*place.UNREADABLE, TypeError):
        return False
    # What is found by walking is found by its key only where the keys stand in order.
    in_order = all(map(operator.lt, keys, keys[1:]))
    return written is not None and in_order and (written.keys, written.keys_xor) == (counted.keys, counted.keys_xor)


def _check_answers(connection: sqlite3.Connection, damage: list[Damage]) -> dict[int, bytes | None]:
    """Return the digests of the answers that are there, by call."""
    digests: dict[int, bytes | None] = {}
    for call, raw, digest, state, *columns in _walked(connection, ANSWERS, "the answers", damage):
        digests[call] = digest
        trouble = "the call is missing" if state is None else schema.answer_trouble(call, tuple(columns), raw, digest)
        if trouble:
            damage.append(Damage(call, trouble))
    return digests


def _checked_keys(
    connection: sqlite3.Connection, answered: Any, damage: list[Damage]
) -> Iterator[tuple[bytes, bytes | None]]:
    """Yield the keys that are there with their digests."""
    last = b""
    for key, call, choice, digest in _walked(connection, KEYS, "the keys", damage):
        trouble = schema.key_trouble(key, call, choice, digest)
        if not trouble and call not in answered:
            trouble = "its answer is missing"
        if not isinstance(key, bytes) or not key > last:
            trouble = trouble or "a key is out of place"
        else:
            last = key
        if trouble:
            damage.append(Damage(call if isinstance(call, int) else None, trouble))
        yield _as_bytes(key), _as_bytes(digest)


def _differences(written: schema.DigestSum, counted: schema.DigestSum) -> Iterator[Damage]:
    for what, count, there in (("key", written.keys, counted.keys), ("answer", written.answers, counted.answers)):
        if count > there:
            yield Damage(None, f"{count - there:,} of {count:,} {what}s are missing")
        elif count < there:
            yield Damage(None, f"{there - count:,} {what}s more than were written")
    if (written.keys, written.answers) == (counted.keys, counted.answers) and (
        (written.keys_xor, written.answers_xor) != (counted.keys_xor, counted.answers_xor)
    ):
        yield Damage(None, "the sum of all digests is not what was written")


def _as_bytes(content: Any) -> bytes:
    return content if isinstance(content, bytes) else b""


def _structure(connection: sqlite3.Connection) -> list[str]:
    lines = [line for (line,) in connection.execute("PRAGMA integrity_check(5)")]
    return [] if lines == ["ok"] else [f"SQLite says: {' '.join(line.split())}" for line in lines]


def _walked(connection: sqlite3.Connection, statement: str, what: str, damage: list[Damage]) -> Iterator[Any]:
    try:
        yield from connection.execute(statement)
    except place.UNREADABLE as error:
        damage.append(Damage(None, f"{what} cannot be read to their end: {error}"))


def _tried(work: Callable[[], T], damage: list[Damage], what: str) -> T | None:
    try:
        return work()
    except place.UNREADABLE as error:
        damage.append(Damage(None, f"{what} cannot be read: {error}"))
        return None


def _refuse(check: LedgerCheck) -> None:
    if check.damage:
        raise LedgerError(f"the ledger is damaged: {check.summary()}", hint=schema.DAMAGED)


TABLES = {
    "call": "id",
    "request": "call",
    "response": "call",
    "sample": "key",
    "dropped": "base_url, model, parameter",
    "spent": "minute",
    "held": "id",
    "batch": "id",
}
"""What is copied, by what each table is ordered."""

_FORGOTTEN = "its answer was damaged and is dropped"
_COLUMNS = ", ".join(column.strip().removeprefix("c.") for column in schema.ANSWER_COLUMNS.split(","))
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
    """Replace a damaged ledger that no living process uses by one without damage, and keep the old file."""
    new, before = file.with_name(f"{file.name}.repair"), _free_name(file)
    with place.as_ledger_errors(file), closing(place.connect_leniently(file, busy_timeout)) as old:
        with suppress(*place.UNREADABLE):
            if place.living_owners(old):
                raise LedgerError("in use by another process", hint=_IN_USE)
        rows = {table: list(_salvaged(old, table, order)) for table, order in TABLES.items()}
        written = _kept_sum(old)
        if not rows["sample"] and (written is None or written.keys):
            raise LedgerError("none of its keys can be read", hint=schema.OLDER)
    new.unlink(missing_ok=True)
    place.prepare(new, busy_timeout)
    with place.as_ledger_errors(new), closing(place.connect(new, busy_timeout)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        counted, calls = _fill(connection, rows)
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with place.as_ledger_errors(file):
        _replace(file, new, before)
    before_keys = counted.keys if written is None else written.keys
    lost = max(before_keys, len([row for row in rows["sample"] if _is_stored(row)])) - counted.keys
    return Repaired(counted.keys, max(lost, 0), calls, before)


def _salvaged(connection: sqlite3.Connection, table: str, order: str) -> Iterator[sqlite3.Row]:
    """Yield the rows of a table once each, as far as they can be read from either end."""
    seen = set()
    key = [column.strip() for column in order.split(",")]
    forward = f"SELECT * FROM {table} NOT INDEXED"  # noqa: S608 - the tables are named here
    for statement in (forward, f"{forward} ORDER BY {', '.join(f'{column} DESC' for column in key)}"):
        with lenient(connection), suppress(*place.UNREADABLE):
            cursor = connection.cursor()
            cursor.row_factory = sqlite3.Row
            for row in cursor.execute(statement):
                name = tuple(row[column] for column in key)
                if name not in seen:
                    seen.add(name)
                    yield row
            return


def _fill(
    connection: sqlite3.Connection, rows: dict[str, list[sqlite3.Row]]
) -> tuple[schema.DigestSum, tuple[int, ...]]:
    """Copy what is whole; return the sum of it, and the calls whose answers are dropped."""
    calls = {row["id"]: row for row in rows["call"] if _insert(connection, "call", row)}
    for row in rows["request"]:
        if row["call"] in calls:
            _insert(connection, "request", row)
    for table in ("dropped", "spent", "held", "batch"):
        for row in rows[table]:
            _insert(connection, table, row)
    answers = _fill_answers(connection, rows["response"], calls)
    keys = _fill_keys(connection, rows["sample"], calls, answers)
    counted = schema.DigestSum().plus(((row["key"], row["digest"]) for row in keys), answers.values())
    schema.write_sum(connection, counted)
    # What such a call has cost stays in the sums, and its keys are free.
    forget = "UPDATE call SET state = 'failed', note = ? WHERE state IN ('answered', 'rejected') AND id = ?"
    connection.executemany(forget, [(_FORGOTTEN, call) for call in calls if call not in answers])
    once = {row["call"] for row in rows["response"]} | {row["call"] for row in rows["sample"] if _is_stored(row)}
    still = answers.keys() & {row["call"] for row in keys}
    return counted, tuple(sorted(call for call in once - still if isinstance(call, int)))


def _fill_answers(
    connection: sqlite3.Connection, rows: list[sqlite3.Row], calls: Mapping[int, sqlite3.Row]
) -> dict[int, bytes | None]:
    """Copy the answers that are whole, and return their digests by call."""
    digests = {}
    for row in rows:
        call = calls.get(row["call"])
        if call is not None and not _answer_trouble(call, row) and _insert(connection, "response", row):
            digests[row["call"]] = row["digest"]
    return digests


def _fill_keys(
    connection: sqlite3.Connection,
    rows: list[sqlite3.Row],
    calls: Mapping[int, sqlite3.Row],
    answers: Collection[int],
) -> list[sqlite3.Row]:
    """Copy the keys that lead to an answer that is whole, and return them; leases are copied too."""
    kept = []
    for row in rows:
        if not _is_stored(row):
            if row["call"] in calls:
                _insert(connection, "sample", row)
        elif row["call"] in answers and not schema.key_trouble(row["key"], row["call"], row["choice"], row["digest"]):
            kept += [row] if _insert(connection, "sample", row) else []
    return kept


def _answer_trouble(call: sqlite3.Row, response: sqlite3.Row) -> str:
    columns = tuple(call[name.strip()] for name in _COLUMNS.split(","))
    return schema.answer_trouble(call["id"], columns, response["raw"], response["digest"])


def _insert(connection: sqlite3.Connection, table: str, row: sqlite3.Row) -> bool:
    places = ", ".join("?" * len(row))
    statement = f"INSERT OR IGNORE INTO {table} ({', '.join(row.keys())}) VALUES ({places})"  # noqa: S608 - as above
    try:
        return bool(connection.execute(statement, tuple(row)).rowcount)
    except (sqlite3.Error, ValueError):  # a value that no ledger holds
        return False


def _is_stored(row: sqlite3.Row) -> bool:
    return row["choice"] is not None or row["digest"] is not None


def _kept_sum(connection: sqlite3.Connection) -> schema.DigestSum | None:
    try:
        return schema.read_sum(connection)
    except place.UNREADABLE:
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

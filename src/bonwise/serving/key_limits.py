"""What the keys of clients may cost, and how many requests at once: counted for all processes of one host."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from bonwise.calls.amount import PICO
from bonwise.errors import LedgerError
from bonwise.serving.api_errors import NO_RETRY, ApiError
from bonwise.serving.client_keys import ClientKey

__all__ = ["KeyLimits"]

_TABLES = """
CREATE TABLE IF NOT EXISTS spent (name TEXT PRIMARY KEY, pico INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS open (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, process INTEGER NOT NULL, pico INTEGER NOT NULL
);
"""
_WAIT = 10.0
"""Seconds for another process to finish its transaction, which takes less than a millisecond."""


class KeyLimits:
    """The account of each key, in a file that all processes of a host share.

    A request is admitted where its worst case fits beside all that is spent and under way. What it really cost is
    charged when it ends; where that is not known, its worst case.

    Parameters
    ----------
    place : pathlib.Path, optional
        A file; without one the accounts are those of this process, and end with it.

    Raises
    ------
    bonwise.errors.LedgerError
        The file cannot be used.

    Examples
    --------
    >>> limits, key = KeyLimits(), ClientKey("alice", "secret", max_cost=1.0)
    >>> admitted = limits.admit(key, worst=0.8)
    >>> limits.settle(admitted, 0.3)
    >>> limits.spent("alice")
    0.3
    """

    def __init__(self, place: Path | None = None) -> None:
        self._process = os.getpid()
        try:
            # Made where settings are checked, used where the event loop runs; never by two threads at once.
            self._file = sqlite3.connect(
                place or ":memory:", timeout=_WAIT, isolation_level=None, check_same_thread=False
            )
            self._file.execute("PRAGMA journal_mode=WAL")
            self._file.execute("PRAGMA synchronous=NORMAL")
            self._file.executescript(_TABLES)
        except sqlite3.Error as error:
            raise LedgerError(f"{place}: the accounts of keys cannot be opened: {error}") from error

    def admit(self, key: ClientKey, worst: float) -> int:
        """Set the worst case of one request aside; return its number.

        Raises
        ------
        ApiError
            429: too many requests at once, or the worst case does not fit.
        """
        need = round(worst * PICO)
        with _Transaction(self._file):
            row = self._file.execute(
                "SELECT count(*), coalesce(sum(pico), 0), (SELECT pico FROM spent WHERE name = ?1) "
                "FROM open WHERE name = ?1",
                (key.name,),
            ).fetchone()
            at_once, reserved, spent = row[0], row[1], row[2] or 0
            if key.max_concurrency is not None and at_once >= key.max_concurrency:
                raise ApiError(
                    429,
                    f"the key {key.name!r} has {at_once} requests under way, as many as it may",
                    "rate_limit_exceeded",
                    kind="rate_limit_error",
                    headers={"retry-after": "1"},
                )
            if key.max_cost is not None and spent + reserved + need > round(key.max_cost * PICO):
                # What is under way may end cheaper than its worst case: then a later try fits.
                final = spent + need > round(key.max_cost * PICO)
                raise ApiError(
                    429,
                    f"max_cost of the key {key.name!r} leaves no room for the worst case of this request, "
                    f"{worst:.6f} US dollars",
                    "insufficient_quota" if final else "rate_limit_exceeded",
                    kind="insufficient_quota" if final else "rate_limit_error",
                    headers=NO_RETRY if final else {"retry-after": "1"},
                )
            found = self._file.execute(
                "INSERT INTO open (name, process, pico) VALUES (?, ?, ?)", (key.name, self._process, need)
            )
            return int(found.lastrowid or 0)

    def settle(self, number: int, cost: float | None) -> None:
        """Charge what a request cost, in US dollars; None charges its worst case."""
        with _Transaction(self._file):
            self._end("id = ?", number, None if cost is None else round(cost * PICO))

    def give_up(self, process: int | None = None) -> None:
        """Charge the worst case of requests that nobody ends any more: those of a process, or of all."""
        with _Transaction(self._file):
            if process is None:
                self._end("? IS NULL", None, None)
            else:
                self._end("process = ?", process, None)

    def spent(self, name: str) -> float:
        """Return what the requests of a key have cost, in US dollars."""
        row = self._file.execute("SELECT pico FROM spent WHERE name = ?", (name,)).fetchone()
        return 0.0 if row is None else row[0] / PICO

    def under_way(self, name: str) -> int:
        """Return how many requests of a key are under way."""
        row = self._file.execute("SELECT count(*) FROM open WHERE name = ?", (name,)).fetchone()
        return int(row[0])

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _end(self, which: str, value: int | None, pico: int | None) -> None:
        ended = self._file.execute(f"DELETE FROM open WHERE {which} RETURNING name, pico", (value,)).fetchall()  # noqa: S608 - three fixed texts
        for name, worst in ended:
            self._file.execute(
                "INSERT INTO spent VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET pico = pico + ?2",
                (name, worst if pico is None else pico),
            )


class _Transaction:
    """A transaction that no other process interrupts."""

    def __init__(self, file: sqlite3.Connection) -> None:
        self._file = file

    def __enter__(self) -> None:
        self._file.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._file.execute("COMMIT")
        else:
            with suppress(sqlite3.Error):
                self._file.execute("ROLLBACK")

"""The metrics of all workers of one host: each writes its own, and the one that is asked adds them up."""

from __future__ import annotations

import json
import os
import sqlite3
import uuid
from collections.abc import Mapping
from pathlib import Path

from bonwise.errors import LedgerError

__all__ = ["WorkerMetrics"]

_TABLE = "CREATE TABLE IF NOT EXISTS worker (id TEXT PRIMARY KEY, process INTEGER NOT NULL, said TEXT NOT NULL)"
_WAIT = 10.0
_GAUGE = "bonwise_requests_in_flight"


class WorkerMetrics:
    """What each worker has said, in a file that all of them share.

    Parameters
    ----------
    place : pathlib.Path

    Raises
    ------
    bonwise.errors.LedgerError
        The file cannot be used.
    """

    def __init__(self, place: Path) -> None:
        # Process numbers come again; what a worker that has ended counted stays.
        self._id = uuid.uuid4().hex
        try:
            self._file = sqlite3.connect(place, timeout=_WAIT, isolation_level=None, check_same_thread=False)
            self._file.execute("PRAGMA journal_mode=WAL")
            self._file.execute("PRAGMA synchronous=OFF")
            self._file.execute(_TABLE)
        except sqlite3.Error as error:
            raise LedgerError(f"{place}: the metrics of workers cannot be kept: {error}") from error

    def clear(self) -> None:
        """Forget an earlier server's: counters begin at 0."""
        self._file.execute("DELETE FROM worker")

    def write(self, values: Mapping[str, float]) -> None:
        """Write this worker's own."""
        self._file.execute(
            "INSERT OR REPLACE INTO worker VALUES (?, ?, ?)", (self._id, os.getpid(), json.dumps(dict(values)))
        )

    def of_others(self) -> list[dict[str, float]]:
        """Return those of all other workers, as they were at most about a second ago."""
        rows = self._file.execute("SELECT said FROM worker WHERE id != ?", (self._id,)).fetchall()
        return [json.loads(row[0]) for row in rows]

    def end(self, process: int) -> None:
        """Take a worker that is gone out of the gauge; what it counted stays."""
        for name, said in self._file.execute("SELECT id, said FROM worker WHERE process = ?", (process,)).fetchall():
            kept = {series: value for series, value in json.loads(said).items() if not series.startswith(_GAUGE)}
            self._file.execute("UPDATE worker SET said = ? WHERE id = ?", (json.dumps(kept), name))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

"""What is kept of each request: a line of log without its words, and metrics, added up over a host's workers."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import time
import uuid
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bonwise.calls.providers.openai import chat_usage
from bonwise.errors import LedgerError
from bonwise.hosts.adapters import judge_usage
from bonwise.serving.best_of_model import RequestOutcome

_BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)

_HELP = {
    "bonwise_requests_total": ("counter", "Requests, by model and HTTP status; 499 is a client that left."),
    "bonwise_request_seconds": ("histogram", "Seconds from a request to its answer."),
    "bonwise_requests_in_flight": ("gauge", "Requests under way."),
    "bonwise_upstream_calls_total": ("counter", "Answers of the upstream."),
    "bonwise_upstream_unknown_total": ("counter", "Calls of the upstream that were sent and never answered."),
    "bonwise_upstream_tokens_total": ("counter", "Tokens of all candidates, by kind."),
    "bonwise_upstream_cost_dollars_total": ("counter", "US dollars for candidates, where the price is known."),
    "bonwise_candidates_total": ("counter", "Candidates that were drawn."),
    "bonwise_failed_draws_total": ("counter", "Candidates that could not be drawn."),
    "bonwise_unjudged_total": ("counter", "Requests in which no judge had a say, because it failed."),
    "bonwise_unscored_total": ("counter", "Candidates without a score."),
    "bonwise_closed_connections_total": ("counter", "Connections that the server closed, by reason."),
    "bonwise_judge_calls_total": ("counter", "Calls of the judges' models."),
    "bonwise_judge_tokens_total": ("counter", "Tokens of the judges, by kind."),
    "bonwise_judge_cost_dollars_total": ("counter", "US dollars for judging, where the price is known."),
}


class Metrics:
    """Counters, a gauge and a histogram."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}
        """By name and labels, as they are printed."""

    def add(self, name: str, value: float, **labels: str) -> None:
        """Add to a counter or a gauge."""
        series = f"{name}{_labels(labels)}"
        self.values[series] = self.values.get(series, 0) + value

    def observe(self, name: str, value: float, **labels: str) -> None:
        """Count a value in a histogram."""
        at = bisect_left(_BUCKETS, value)
        for place, bound in enumerate((*_BUCKETS, "+Inf")):
            self.add(f"{name}_bucket", 1 if place >= at else 0, **labels, le=str(bound))
        self.add(f"{name}_sum", value, **labels)
        self.add(f"{name}_count", 1, **labels)


def rendered(several: Iterable[Mapping[str, float]]) -> str:
    """Return the sum of the metrics of all workers as text."""
    total: dict[str, float] = {}
    for values in several:
        for series, value in values.items():
            total[series] = total.get(series, 0) + value
    lines = []
    for name, (kind, meaning) in _HELP.items():
        found = [series for series in total if _family(series) == name]
        if found:
            lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
            lines += [f"{series} {total[series]:.15g}" for series in found]
    return "\n".join(lines) + "\n"


def _family(series: str) -> str:
    name = series.partition("{")[0]
    return name if name in _HELP else name.rpartition("_")[0]


def _labels(labels: Mapping[str, str]) -> str:
    written = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{written}}}" if written else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


logger = logging.getLogger("bonwise.serving.requests")


@dataclass(slots=True)
class RequestRecord:
    """A request under way."""

    request_id: str
    key: str = ""
    model: str = ""
    """Both: names, empty where they are not known (yet)."""
    outcome: RequestOutcome = field(default_factory=RequestOutcome)
    begun: float = field(default_factory=time.monotonic)


class RequestRecords:
    """Counts requests and writes one line of JSON about each, at level INFO of ``bonwise.serving.requests``."""

    def __init__(self) -> None:
        self.metrics = Metrics()

    def begin(self, request_id: str) -> RequestRecord:
        """Begin to count a request."""
        self.metrics.add("bonwise_requests_in_flight", 1)
        return RequestRecord(request_id)

    def end(self, record: RequestRecord, status: int, code: str) -> None:
        """Count how a request ended, and log it."""
        seconds = time.monotonic() - record.begun
        add, model = self.metrics.add, record.model
        add("bonwise_requests_in_flight", -1)
        add("bonwise_requests_total", 1, model=model, status=str(status))
        self.metrics.observe("bonwise_request_seconds", seconds, model=model)
        self._count(record.outcome, model)
        if logger.isEnabledFor(logging.INFO):
            said = {
                "time": round(time.time(), 3),
                "request": record.request_id,
                "key": record.key,
                "model": model,
                "status": status,
                "seconds": round(seconds, 4),
                **({"error": code} if code else {}),
                **_told(record.outcome),
            }
            logger.info(json.dumps(said))

    def _count(self, outcome: RequestOutcome, model: str) -> None:
        add, drawn, chosen = self.metrics.add, outcome.drawn, outcome.chosen
        if drawn is not None:
            add("bonwise_upstream_calls_total", drawn.calls, model=model)
            add("bonwise_upstream_unknown_total", drawn.unknown, model=model)
            add("bonwise_candidates_total", len(drawn.choices), model=model)
            add("bonwise_failed_draws_total", len(drawn.failed), model=model)
            add("bonwise_upstream_cost_dollars_total", drawn.cost or 0.0, model=model)
            for usage in filter(None, map(chat_usage, drawn.usages)):
                add("bonwise_upstream_tokens_total", usage.input, model=model, kind="input")
                add("bonwise_upstream_tokens_total", usage.output, model=model, kind="output")
        if chosen is not None:
            bill = chosen.selection.bill
            add("bonwise_unjudged_total", chosen.unjudged, model=model)
            add("bonwise_unscored_total", len(chosen.selection.unscored), model=model)
            add("bonwise_judge_calls_total", bill.calls, model=model)
            add("bonwise_judge_tokens_total", bill.input_tokens, model=model, kind="input")
            add("bonwise_judge_tokens_total", bill.output_tokens, model=model, kind="output")
            add("bonwise_judge_cost_dollars_total", bill.cost or 0.0, model=model)


def _told(outcome: RequestOutcome) -> dict[str, Any]:
    drawn, chosen = outcome.drawn, outcome.chosen
    if drawn is None:
        return {}
    found = {
        "candidates": len(drawn.choices),
        "failed_draws": len(drawn.failed),
        "upstream_calls": drawn.calls,
        "upstream_unknown": drawn.unknown,
        "cost": drawn.cost,
    }
    if chosen is None:
        return found
    selection = chosen.selection
    return found | {
        "index": selection.index,
        "decided_by": selection.decided_by,
        "unjudged": chosen.unjudged,
        "judge": judge_usage(selection.bill),
    }


_TABLE = "CREATE TABLE IF NOT EXISTS worker (id TEXT PRIMARY KEY, process INTEGER NOT NULL, said TEXT NOT NULL)"
_WAIT = 10.0
_GAUGE = "bonwise_requests_in_flight"


class WorkerMetrics:
    """What each worker has said, in a file that all of them share."""

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

"""What is kept of each request: a line of log without any of its words, and metrics."""

from __future__ import annotations

import json
import logging
import time
from dataclasses import dataclass, field
from typing import Any

from bonwise.calls.providers.openai import chat_usage
from bonwise.hosts.trail import judge_usage
from bonwise.serving.best_of_model import RequestOutcome
from bonwise.serving.metrics import Metrics

__all__ = ["RequestRecord", "RequestRecords"]

logger = logging.getLogger("bonwise.serving.requests")


@dataclass(slots=True)
class RequestRecord:
    """A request under way."""

    request_id: str
    key: str = ""
    """Names, empty where they are not known (yet)."""
    model: str = ""
    """Names, empty where they are not known (yet)."""
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

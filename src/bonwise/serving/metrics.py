"""What the endpoint has done, in the text format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping

__all__ = ["Metrics", "rendered"]

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
    "bonwise_judge_calls_total": ("counter", "Calls of the judges' models."),
    "bonwise_judge_tokens_total": ("counter", "Tokens of the judges, by kind."),
    "bonwise_judge_cost_dollars_total": ("counter", "US dollars for judging, where the price is known."),
}


class Metrics:
    """Counters, a gauge and a histogram.

    Examples
    --------
    >>> metrics = Metrics()
    >>> metrics.add("bonwise_candidates_total", 4, model="fast")
    >>> rendered([metrics.values]).splitlines()[-1]
    'bonwise_candidates_total{model="fast"} 4'
    """

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

"""Gates: is a metric above a value, below it, or not settled?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, isfinite
from typing import Any, Literal

from bonwise.errors import UsageError
from bonwise.stats.estimate import Estimate

__all__ = ["Gate", "check_gate", "open_gate"]

State = Literal["met", "not met", "inconclusive"]

ONE_SIDED = 0.95
"""Confidence of the bound that decides a gate; the printed interval stays two-sided."""


@dataclass(frozen=True)
class Gate:
    """Outcome of ``METRIC=VALUE``.

    Parameters
    ----------
    judge, metric : str
    value : float
    state : {"met", "not met", "inconclusive"}
        Met when the one-sided 95 % lower bound exceeds the value, not met when the upper bound lies
        below it.
    low, high : float or None
        The one-sided bounds.
    more_labels : int or None
        About how many more labels would decide, where that can be said.
    sentence : str
    """

    judge: str
    metric: str
    value: float
    state: State
    low: float | None
    high: float | None
    more_labels: int | None
    sentence: str

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def check_gate(
    metrics: Mapping[str, Estimate],
    metric: str,
    value: float,
    *,
    judge: str,
    labels_a_prompt: float,
    unsettled: str = "",
) -> Gate:
    """Hold one metric against a value.

    Parameters
    ----------
    metrics : mapping of str to Estimate
    metric : str
    value : float
    judge : str
    labels_a_prompt : float
        Mean number of candidates, all of which are labelled.
    unsettled : str
        Why the figures do not speak for all prompts, such that no gate on them can pass; empty where they do.

    Raises
    ------
    bonwise.errors.UsageError
        A name that is no metric.
    """
    if metric not in metrics:
        raise UsageError(f"no metric named {metric!r}", hint=f"choose of {', '.join(metrics)}")
    if not isfinite(value):
        raise UsageError(f"the gate of {metric} must be finite, not {value}", hint="such as 0.2")
    found = metrics[metric]
    ends = found.bounds(2 * ONE_SIDED - 1)
    name = f"{metric} > {value:g}"
    if found.estimate is None or ends is None:
        return open_gate(metric, value, judge=judge, why=found.reason or "no interval")
    if unsettled:
        return Gate(judge, metric, value, "inconclusive", *ends, None, f"{name}: inconclusive: {unsettled}.")
    if found.method == "labelled_only":
        return _unknown_population(judge, name, metric, value, ends)
    if ends[0] > value:
        sentence = f"{name}: met, the one-sided 95 % lower bound is {ends[0]:.4g}."
        return Gate(judge, metric, value, "met", *ends, None, sentence)
    if ends[1] < value:
        sentence = f"{name}: not met, the one-sided 95 % upper bound is {ends[1]:.4g}."
        return Gate(judge, metric, value, "not met", *ends, None, sentence)
    more = _more_labels(found.estimate, found.n, ends, value, labels_a_prompt)
    sentence = f"{name}: inconclusive, the one-sided 95 % bounds are {ends[0]:.4g} and {ends[1]:.4g}; " + (
        f"about {more:,} more labels would decide if the estimate holds."
        if more is not None
        else "the estimate lies at the gate, so no number of labels can be named."
    )
    return Gate(judge, metric, value, "inconclusive", *ends, more, sentence)


def open_gate(metric: str, value: float, *, judge: str, why: str) -> Gate:
    """Return a gate that nothing is known about."""
    return Gate(judge, metric, value, "inconclusive", None, None, None, f"{metric} > {value:g}: inconclusive: {why}.")


def _unknown_population(judge: str, name: str, metric: str, value: float, ends: tuple[float, float]) -> Gate:
    sentence = (
        f"{name}: inconclusive: only part of the prompts is labelled and how they were chosen is unknown, so no "
        "gate on all prompts can pass; label the others, or a random sample of all."
    )
    return Gate(judge, metric, value, "inconclusive", *ends, None, sentence)


def _more_labels(
    estimate: float, n: int, ends: tuple[float, float], value: float, labels_a_prompt: float
) -> int | None:
    """Scale the half-width on the gate's side as 1 / sqrt(prompts)."""
    distance = estimate - value
    half = estimate - ends[0] if distance > 0 else ends[1] - estimate
    if abs(distance) < 1e-3 * max(half, 1e-12):
        return None
    prompts = n * (half / abs(distance)) ** 2
    return max(1, ceil((prompts - n) * labels_a_prompt))

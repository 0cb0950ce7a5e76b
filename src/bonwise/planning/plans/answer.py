"""From a sized question to what a plan states: counts, price, power table, verdict, sequential reserve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from bonwise.planning.plans.asked import Asked
from bonwise.planning.plans.sizing import Counts, Layout, Sizing

__all__ = ["Verdict", "cost", "detectable", "interval", "power_table", "sequential", "shown_at", "verdict"]

Verdict = Literal["feasible", "underpowered", "infeasible"]

_MULTIPLES = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)

_SOONER = {1: (0.95, 1.05), 2: (0.80, 0.85)}
"""Mean stopping time of an anytime-valid two-sided test, as a part of the fixed number, by the sides of the plan."""

_RESERVE = 2.0
"""What one study in ten takes, as a multiple of the fixed number."""

_PRIOR = (1.0, 50.0)


def verdict(asked: Asked, needed: Counts | None) -> Verdict:
    """Say whether what there is suffices."""
    if needed is None:
        return "infeasible"
    enough = (asked.labels is None or needed.labels <= asked.labels) and (
        asked.prompts is None or needed.prompts <= asked.prompts
    )
    return "feasible" if enough else "underpowered"


def shown_at(sizing: Sizing, layout: Layout, *, labels: float | None, prompts: float | None) -> float | None:
    """Return the power, or the half-width, that so many labels and prompts give."""
    units = layout.units(labels=labels, prompts=prompts)
    found = sizing.at(units) if units > 0 else math.inf
    return _finite(found)


def detectable(sizing: Sizing, layout: Layout, asked: Asked, needed: Counts | None) -> float | None:
    """Return the smallest effect found with what there is, or with what the plan takes where nothing was said."""
    labels, prompts = asked.labels, asked.prompts
    if labels is None and prompts is None:
        if needed is None:
            return None
        labels, prompts = needed.labels, needed.prompts
    return _finite(sizing.reach(layout.units(labels=labels, prompts=prompts)))


def power_table(sizing: Sizing, layout: Layout, asked: Asked, needed: Counts | None) -> list[dict[str, Any]]:
    """Return labels, prompts and power around the plan, and at what there is."""
    counts: Sequence[Counts | None] = ()
    if sizing.n is not None and needed is not None:
        counts = [layout.counts(part * sizing.n) for part in _MULTIPLES]
    rows = {one.labels: one for one in counts if one is not None}
    if asked.labels is not None or asked.prompts is not None:
        units = layout.units(labels=asked.labels, prompts=asked.prompts)
        if (there := layout.counts(units)) is not None and units > 0:
            prompts = min(there.prompts, asked.prompts or there.prompts)
            rows.setdefault(there.labels, Counts(prompts, there.labels))
    return [
        {
            "labels": one.labels,
            "prompts": one.prompts,
            sizing.shows: shown_at(sizing, layout, labels=one.labels, prompts=one.prompts),
        }
        for _, one in sorted(rows.items())
    ]


def cost(asked: Asked, sizing: Sizing, needed: Counts | None) -> float | None:
    """Return the price in the unit of the prices given, None without any."""
    if needed is None or (asked.label_cost is None and asked.judge_cost is None):
        return None
    scores = needed.prompts * sizing.scores
    return needed.labels * (asked.label_cost or 0.0) + scores * (asked.judge_cost or 0.0)


def interval(sizing: Sizing, layout: Layout) -> list[int | None] | None:
    """Return the interval on labels that a pilot leaves; None for an end without a number."""
    if sizing.ends is None:
        return None
    ends = [None if end is None else layout.counts(end) for end in sizing.ends]
    return [None if one is None else one.labels for one in ends]


def sequential(asked: Asked, sizing: Sizing, needed: Counts | None) -> dict[str, Any] | None:
    """Return what stopping early is expected to take, in labels; None where no valid rule is offered."""
    if needed is None or sizing.sequential in {None, "precision"}:
        return None
    if asked.one_cluster or (asked.icc and sizing.sequential == "votes"):
        return None  # the sequential test of votes holds for independent ones
    least, most = _SOONER[sizing.sides]
    found: dict[str, Any] = {
        "fixed": needed.labels,
        "mean": [round(least * needed.labels), round(most * needed.labels)],
        "reserve": math.ceil(_RESERVE * needed.labels),
    }
    if sizing.margin:
        low, high = _PRIOR
        found["prior"] = min(max(1 / (8 * sizing.margin**2), low), high)
    return found


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None

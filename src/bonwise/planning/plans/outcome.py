"""From a sized question to what a plan states: counts, price, power table, verdict, sequential reserve."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bonwise.documents.plan import AllowingForPilot, PlanVerdict, PowerRow, RedrawnPilotRecord, SequentialRecord
from bonwise.planning.plans.request import PlanRequest
from bonwise.planning.plans.sizing import Layout, Sizing, StudySize
from bonwise.stats.power.sample_size import SMALLEST_MARGIN, mean_units, votes
from bonwise.stats.power.stopping import gain_stopping
from bonwise.stats.sequential.confidence_sequence import EARLIEST
from bonwise.stats.sequential.e_process import mixture_weight

__all__ = [
    "FEW",
    "cost",
    "detectable",
    "interval",
    "power_table",
    "redrawn",
    "sequential",
    "shown_at",
    "small_study",
    "verdict",
]

_MULTIPLES = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)

_SOONER = (0.80, 0.85)
"""Mean number of votes until the sequential test of votes stops, as a part of the fixed number of power .9."""

_RESERVE = 2.0
"""What one study of votes in ten takes, as a multiple of the same number."""

_USUAL_POWER = 0.9

FEW = 20
"""Prompts below which a normal test promises more than Student's interval keeps."""


def verdict(request: PlanRequest, needed: StudySize | None) -> PlanVerdict:
    """Say whether what there is suffices."""
    if needed is None:
        return "infeasible"
    enough = (request.labels is None or needed.labels <= request.labels) and (
        request.prompts is None or needed.prompts <= request.prompts
    )
    return "feasible" if enough else "underpowered"


def shown_at(sizing: Sizing, layout: Layout, *, labels: float | None, prompts: float | None) -> float | None:
    """Return the power, or the half-width, that so many labels and prompts give."""
    units = layout.units(labels=labels, prompts=prompts)
    found = sizing.at(units) if units > 0 else math.inf
    return _finite(found)


def detectable(sizing: Sizing, layout: Layout, request: PlanRequest, needed: StudySize | None) -> float | None:
    """Return the smallest effect found with what there is, or with what the plan takes where nothing was said."""
    labels, prompts = request.labels, request.prompts
    if labels is None and prompts is None:
        if needed is None:
            return None
        labels, prompts = needed.labels, needed.prompts
    return _finite(sizing.reach(layout.units(labels=labels, prompts=prompts)))


def power_table(sizing: Sizing, layout: Layout, request: PlanRequest, needed: StudySize | None) -> list[PowerRow]:
    """Return labels, prompts and power around the plan, and at what there is."""
    counts: Sequence[StudySize | None] = ()
    if sizing.n is not None and needed is not None:
        counts = [layout.counts(part * sizing.n) for part in _MULTIPLES]
    rows = {one.labels: one for one in counts if one is not None}
    if request.labels is not None or request.prompts is not None:
        units = layout.units(labels=request.labels, prompts=request.prompts)
        if (there := layout.counts(units)) is not None and units > 0:
            prompts = min(there.prompts, request.prompts or there.prompts)
            rows.setdefault(there.labels, StudySize(prompts, there.labels))
    return [_row(sizing, layout, one) for _, one in sorted(rows.items())]


def _row(sizing: Sizing, layout: Layout, one: StudySize) -> PowerRow:
    shown = shown_at(sizing, layout, labels=one.labels, prompts=one.prompts)
    if sizing.shows == "power":
        return PowerRow(labels=one.labels, prompts=one.prompts, power=shown)
    return PowerRow(labels=one.labels, prompts=one.prompts, half_width=shown)


def cost(request: PlanRequest, sizing: Sizing, needed: StudySize | None) -> float | None:
    """Return the price in the unit of the prices given, None without any."""
    if needed is None or (request.label_cost is None and request.judge_cost is None):
        return None
    scores = needed.prompts * sizing.scores
    return needed.labels * (request.label_cost or 0.0) + scores * (request.judge_cost or 0.0)


def interval(sizing: Sizing, layout: Layout) -> list[int | None] | None:
    """Return the interval on labels that a pilot leaves; None for an end without a number."""
    if sizing.ends is None:
        return None
    ends = [None if end is None else layout.counts(end) for end in sizing.ends]
    return [None if one is None else one.labels for one in ends]


def sequential(
    request: PlanRequest, sizing: Sizing, layout: Layout, needed: StudySize | None
) -> SequentialRecord | None:
    """Return the labels that stopping early takes; None where ``bonwise monitor`` has no rule for the design."""
    if needed is None or sizing.n is None or request.one_cluster:
        return None
    if sizing.sequential == "votes" and request.raters == 1:
        return _votes(request, sizing, layout, needed)
    if sizing.sequential == "significance":
        return _significance(request, sizing, layout, needed)
    return None


def _votes(request: PlanRequest, sizing: Sizing, layout: Layout, needed: StudySize) -> SequentialRecord:
    """When votes stop follows from their margin, whatever the power of the fixed study."""
    margin = float(sizing.margin or SMALLEST_MARGIN)
    usual = votes(margin, _USUAL_POWER, request.confidence).settled / (1 - layout.tie_rate)
    least, most = _SOONER
    return SequentialRecord(
        fixed=needed.labels,
        mean=[round(least * usual), round(most * usual)],
        reserve=math.ceil(_RESERVE * usual),
        saves=bool(most * usual < needed.labels),
        prior=float(mixture_weight(margin)),
    )


def _significance(request: PlanRequest, sizing: Sizing, layout: Layout, needed: StudySize) -> SequentialRecord:
    units = float(sizing.n or 0.0)
    prompts = float(layout.groups(units) or 0.0)
    standardised = math.sqrt(mean_units(1.0, request.power, request.confidence, 1) / prompts)
    found = gain_stopping(standardised, needed.prompts, request.confidence)
    each = sizing.each * request.raters
    return SequentialRecord(
        fixed=needed.labels,
        mean=[round(found.mean[0]) * each, round(found.mean[1]) * each],
        # Where nearly all studies stop at the first look, what one in ten exceeds lies below the mean.
        reserve=math.ceil(max(found.late, found.mean[1])) * each,
        saves=bool(found.mean[1] < needed.prompts),
        first_look_prompts=EARLIEST,
    )


def redrawn(sizing: Sizing, layout: Layout) -> RedrawnPilotRecord | None:
    """Return what drawing the pilot again said; None where that was not done."""
    said = sizing.redrawn
    if said is None:
        return None
    found, allowing = said.found, layout.counts(said.allowing)
    return RedrawnPilotRecord(
        unit="prompts" if sizing.clusters is None else "clusters",
        draws=0 if found is None else found.samples,
        sizes=[] if found is None else list(found.sizes),
        powers=[] if found is None else list(found.powers),
        seed=said.seed,
        formula_prompts=said.formula,
        allowing=None if allowing is None else AllowingForPilot(prompts=allowing.prompts, labels=allowing.labels),
    )


def small_study(sizing: Sizing, needed: StudySize | None) -> tuple[str, ...]:
    """Return what to say of a study, or of a pilot, of a few prompts."""
    notes = []
    drawn = sizing.redrawn is not None and sizing.redrawn.found is not None
    normal = sizing.sequential != "votes" and sizing.design != "votes" and not drawn
    if needed is not None and needed.prompts < FEW and normal:
        notes.append(f"{needed.prompts} prompts are too few for the normal approximation: use at least {FEW}.")
    of_pilot = None if sizing.pilot is None else sizing.pilot.prompts
    if of_pilot is not None and of_pilot < FEW:
        notes.append(f"A pilot of {of_pilot} prompts is a guess: its standard error is not known well either.")
    return tuple(notes)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None

"""Types of prompts: where an allocation of votes is weakest, what two-stage screening finds, and a replay of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from bonwise.arrays import Floats, Ints
from bonwise.errors import ColumnError, RowError, UsageError
from bonwise.planning import result, votes_question
from bonwise.planning.request import PilotSource, PlanRequest
from bonwise.planning.sizing import Sizing
from bonwise.printable import quoted
from bonwise.table import numbers, reading
from bonwise.votes import concentration, detectability, pair_votes
from bonwise.votes.result import PairScreening

_KEPT, _RULE, _RUNS, _CURVE = 0.2, 10, 300, (0.5, 0.75, 1.0, 1.5, 2.0)
"""Share of types kept; c of the published first stage, ``ceil(c ln m)``; runs of a replay; parts of the budget."""

_MOST = {"votes": (0, 1e9), "margin": (-0.5, 0.5)}


def _read_types(source: reading.RowSource, what: str) -> tuple[list[str], Floats, Floats]:
    """Read the names of types, their weights, scaled to a sum of 1, and their votes or margins."""
    frame, name = reading.open_frame(source, "types")
    columns = {str(column).strip().lower(): column for column in frame.columns}
    hint = f"a file of types has the columns type, weight and {what}"
    for wanted in ("type", "weight", what):
        if wanted not in columns:
            raise ColumnError(f"{name}: there is no column {wanted}", hint=hint)
    weights, values = (
        numbers.parse_numbers(frame[columns[role]], role=role, source=name) for role in ("weight", what)
    )
    names, (least, most) = frame[columns["type"]].astype(str).tolist(), _MOST[what]
    repeated = pd.Index(names).duplicated()
    for at, (row, kind) in enumerate(zip(frame.index, names, strict=True)):
        if not (weights[at] > 0 and least <= values[at] <= most) or repeated[at]:
            worded = "votes" if what == "votes" else f"a {what}"
            hint = f"each type has one row, a weight above 0 and {worded} from {least:g} to {most:g}"
            raise RowError(f"{name}, row {row}: type {quoted(kind)} cannot be used", hint=hint)
    if len(names) < 2:
        raise RowError(f"{name}: votes are spread over two types or more", hint=hint)
    return names, weights / weights.sum(), values


def allocation(source: reading.RowSource) -> result.AllocationRecord:
    """Return ``min N_i / w_i`` and the votes on each type that would raise it to the number of all votes."""
    names, weights, votes = _read_types(source, "votes")
    ratios, lacking = votes / weights, np.ceil(votes.sum() * weights - 1e-9) - votes
    return result.AllocationRecord(
        votes=int(votes.sum()),
        bottleneck=float(ratios.min()),
        worst=names[int(ratios.argmin())],
        more={name: int(max(more, 0)) for name, more in zip(names, lacking, strict=True)},
    )


def screening(request: PlanRequest, source: PilotSource) -> Sizing:
    """Compare screening with votes in proportion, at the margins of a file of types or at those of a pilot."""
    if request.pilot is not None:
        return _of_pilot(request, source)
    _, weights, margins = _read_types(source.source, "margin")  # type: ignore[arg-type]  # of an allocation
    mean = request.model_copy(update={"effect": float(margins @ weights)})
    return _screened(request, votes_question.margin_from_effect(mean), margins, weights)


def _screened(request: PlanRequest, sizing: Sizing, margins: Floats, weights: Floats) -> Sizing:
    """Simulate both allocations at the votes there are, and around them."""
    votes, share = int(request.required("labels")), request.kept_share or _KEPT

    def simulated(budget: int, moved: float = 0.0) -> PairScreening:
        plan = pair_votes.screening(budget, len(margins), share=share, factor=_RULE, each=request.first_stage)
        shifted = np.clip(margins - moved, -0.5, 0.5)
        return PairScreening(
            plan=plan, simulated=pair_votes.simulate_screening(shifted, weights, plan, seed=request.seed)
        )

    here, null = simulated(votes), simulated(votes, float(margins @ weights / weights.sum())).simulated
    assert here.plan is not None and null is not None  # noqa: PT018, S101 - as they were made above
    budgets = [budget for part in _CURVE if (budget := round(part * votes)) > here.plan.first_stage]
    record = result.ScreeningRecord(here=here, null=null, curve=[simulated(budget) for budget in budgets])
    sentence = (
        "Two-stage screening rejects 'no type has a preference', never 'there is no preference on average'. With "
        f"these margins moved to a mean of 0 it rejects {null.two_stage:.0%} of the time, and votes in proportion "
        f"{null.proportional:.0%}, at a nominal 5%. Test the mean on votes in proportion."
    )
    return replace(sizing, screening=record, notes=(*sizing.notes, sentence))


def _of_pilot(request: PlanRequest, source: PilotSource) -> Sizing:
    """Compare them at the likely margins of a pilot's prompts, and replay both on its votes."""
    pilot = votes_question.vote_pilot(source, request)
    if not pilot.by_pair or request.ties == "half":
        hint = "give a file of votes, and drop ties or count them pessimistically"
        raise UsageError("screening is replayed on whole votes with their prompts", hint=hint)
    known = {names: ~np.isnan(values) for names, (values, _) in pilot.by_pair.items()}
    counted = {names: (pilot.by_pair[names][0][some], pilot.by_pair[names][1][some]) for names, some in known.items()}
    rows = [
        row.model_copy(update=dict(zip(("proportional", "two_stage"), powers, strict=True)))
        for row in pilot.pairs[1:]
        for powers in [replayed(*counted[row.first, row.second], request)]
    ]
    prompts = max(len(np.unique(prompt)) for _, prompt in counted.values())
    rule, mean = pair_votes.first_stage_votes(prompts, _RULE), sum(row.votes for row in rows) / len(rows) / prompts
    means = [np.mean([getattr(row, way) or 0.0 for row in rows]) for way in ("proportional", "two_stage")]
    sentence = (
        f"Replayed on the pilot's votes, {request.first_stage or 1:,} per prompt first: a preference shows in "
        f"{means[0]:.1%} of draws in proportion and in {means[1]:.1%} in two stages, mean of {len(rows):,} pairs. "
        f"The published first stage takes {_RULE} ln {prompts} = {rule:,} votes per prompt, and a pair has about "
        f"{mean:.2g}, so no replay of these votes follows that rule."
    )
    sizing = votes_question.margin_from_pilot(request, pilot)
    sizing = replace(sizing, pairs=rows, notes=(*sizing.notes, sentence))
    likely = concentration.likely_rates(*counted[pilot.pairs[0].first, pilot.pairs[0].second])
    if likely is None or (request.labels or 0) <= len(likely[0]) * (request.first_stage or rule):
        return sizing
    return _screened(request, sizing, likely[0] - 0.5, likely[1])


def replayed(values: Floats, prompt: Ints, request: PlanRequest) -> tuple[float, float]:
    """Return how often votes drawn without replacement show a preference: in proportion, and in two stages.

    In two stages: so many votes on every prompt, the rest of the votes asked for on the share of prompts whose
    margins are largest, and a binomial test at .05 of the rest.
    """
    rng, owner = np.random.default_rng(request.seed), np.unique(prompt, return_inverse=True)[1]
    kept = concentration.kept_types(int(owner.max()) + 1, request.kept_share or _KEPT)
    votes, shown = min(request.labels or len(values), len(values)), np.zeros(2)
    for _ in range(_RUNS):
        order = rng.permutation(len(values))
        # Votes of one prompt one after the other, each prompt's in the order that was drawn.
        together = order[np.argsort(owner[order], kind="stable")]
        place = np.arange(len(values)) - np.searchsorted(owner[together], owner[together])
        early = together[place < (request.first_stage or 1)]
        seen = np.bincount(owner[early], weights=values[early]) / np.bincount(owner[early])
        strongest = np.lexsort((rng.random(len(seen)), -np.round((seen - 0.5) ** 2, 12)))[:kept]
        late = order[~np.isin(order, early) & np.isin(owner[order], strongest)][: max(votes - len(early), 0)]
        shown += [_rejects(values[order[:votes]]), _rejects(values[late])]
    proportional, two_stage = (shown / _RUNS).tolist()
    return proportional, two_stage


_rejections = cache(detectability.rejections)


def _rejects(values: Floats) -> bool:
    return len(values) > 0 and bool(_rejections(len(values), 0.05)[round(values.sum())])

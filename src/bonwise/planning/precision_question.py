"""Questions about a figure itself: recovery to a half-width, and a within-prompt correlation above a threshold."""

from __future__ import annotations

import math

from scipy import special

from bonwise.errors import UsageError
from bonwise.planning.mean_question import NORMAL
from bonwise.planning.normal_picks import CLOSEST, recovery_residual
from bonwise.planning.pilot import GainPilot
from bonwise.planning.request import SMALLEST_EFFECT, PlanRequest
from bonwise.planning.result import EffectName, PilotOfScores
from bonwise.planning.sizing import Sizing
from bonwise.stats.sample_size import (
    correlation_pairs,
    correlation_power,
    critical_value,
    equal_mean_units,
    mean_units,
)

__all__ = ["recovery_from_pilot", "recovery_from_r", "threshold_from_pilot", "threshold_from_r"]

_HALF_WIDTH = "half-width of recovery's interval"


def recovery_from_r(request: PlanRequest) -> Sizing:
    """Size recovery to a half-width from a within-prompt correlation, which is the recovery under normality."""
    n, r = int(request.required("candidates")), float(request.required("within_r"))
    if r > CLOSEST:
        raise UsageError(
            f"within_r is {r:g}: such a judge errs too little to leave a width to plan for",
            hint=f"give a within_r up to {CLOSEST:g}",
        )
    return _recovery(request, recovery_residual(n, r), n, effect={"within_r": r}, notes=(NORMAL,))


def recovery_from_pilot(request: PlanRequest, pilot: GainPilot) -> Sizing:
    """Size recovery to a half-width from the influence of a pilot's prompts."""
    found = pilot.residual()
    if not math.isfinite(found.estimate):
        raise UsageError(
            f"{pilot.source}: the labels do not differ within prompts, or the judge is never wrong",
            hint="a pilot must hold prompts on which something can be gained and lost",
        )
    low, high = found.at(request.confidence)
    z2 = (critical_value(request.confidence, 2) / float(request.required("half_width"))) ** 2
    ends = tuple(z2 * math.exp(end) if math.isfinite(end) else None for end in (low, high))
    recovery = float((pilot.sums.J - pilot.sums.R).sum() / (pilot.sums.M - pilot.sums.R).sum())
    sizing = _recovery(
        request,
        math.exp(found.estimate),
        pilot.candidates,
        effect={"recovery": recovery},
        ends=(ends[0], ends[1]),
        pilot=pilot.describe(
            found, request.confidence, "standard deviation of one prompt's influence", lambda x: math.exp(x / 2)
        ),
        notes=pilot.unused,
    )
    clusters = pilot.recovery_clustering()
    return sizing if clusters is None else clusters.spread(sizing)


def _recovery(
    request: PlanRequest,
    residual: float,
    candidates: float,
    *,
    effect: dict[EffectName, float],
    ends: tuple[float | None, float | None] | None = None,
    pilot: PilotOfScores | None = None,
    notes: tuple[str, ...] = (),
) -> Sizing:
    half_width = float(request.required("half_width"))
    z = critical_value(request.confidence, 2)

    def width(units: float) -> float:
        return z * math.sqrt(residual / units) if units > 0 else math.inf

    return Sizing(
        design="complete",
        sides=2,
        n=residual * (z / half_width) ** 2,
        at=width,
        reach=lambda units: width(units) if units > 0 else None,
        reach_of=_HALF_WIDTH,
        effect={**effect, "half_width": half_width},
        shows="half_width",
        each=round(candidates),
        scores=candidates,
        ends=ends,
        sequential="precision",
        pilot=pilot,
        notes=notes,
    )


def threshold_from_r(request: PlanRequest) -> Sizing:
    """Size ``within_r>=r0`` from the correlation that is expected, by Fisher's z."""
    n, r, r0 = int(request.required("candidates")), float(request.required("within_r")), float(request.required("r0"))
    if r <= r0:
        raise UsageError(
            f"within_r {r:g} is not above r0 {r0:g}: no number of labels shows that it is",
            hint="give a within_r above r0",
        )
    apart, degrees = math.atanh(r) - math.atanh(r0), n - 1
    drift = math.sqrt(mean_units(1.0, request.power, request.confidence, 1))

    def reach(units: float) -> float | None:
        pairs = units * degrees - 2
        return math.tanh(math.atanh(r0) + drift / math.sqrt(pairs)) if pairs > 0 else None

    return Sizing(
        design="complete",
        sides=1,
        n=correlation_pairs(apart, request.power, request.confidence) / degrees,
        at=lambda units: correlation_power(r, r0, units * degrees, request.confidence),
        reach=reach,
        reach_of="within_r",
        effect={"within_r": r, "r0": r0},
        each=n,
        scores=n,
        equal=(2 + equal_mean_units(apart, request.power, request.confidence)) / degrees,
        equal_to=f"within_r lies no further from {r0:g} than planned for, on either side",
        notes=(NORMAL,),
    )


def threshold_from_pilot(request: PlanRequest, pilot: GainPilot) -> Sizing:
    """Size ``within_r>=r0`` from a pilot: its correlation, and the scatter of its Fisher z over prompts."""
    r0, found = float(request.required("r0")), pilot.within_z()
    if not math.isfinite(found.estimate) or not math.isfinite(found.se) or found.se == 0:
        raise UsageError(
            f"{pilot.source}: the pilot has no within-prompt correlation with a standard error",
            hint="scores and labels must both differ within prompts",
        )
    one, start = pilot.within_z_of_one(), math.atanh(r0)
    drift = math.sqrt(mean_units(1.0, request.power, request.confidence, 1))

    def units(z: float) -> float | None:
        return one * (drift / (z - start)) ** 2 if z - start >= SMALLEST_EFFECT else None

    low, high = found.at(request.confidence)
    ends = units(high), units(low)
    apart = found.estimate - start
    z_alpha = critical_value(request.confidence, 1)
    sizing = Sizing(
        design="complete",
        sides=1,
        n=units(found.estimate),
        at=lambda some: float(special.ndtr(apart * math.sqrt(max(some, 0.0) / one) - z_alpha)),
        reach=lambda some: math.tanh(start + drift * math.sqrt(one / some)) if some > 0 else None,
        reach_of="within_r",
        effect={"within_r": math.tanh(found.estimate), "r0": r0},
        each=round(pilot.candidates),
        scores=pilot.candidates,
        ends=None if ends == (None, None) else ends,
        equal=(
            one * equal_mean_units(abs(apart), request.power, request.confidence)
            if abs(apart) >= SMALLEST_EFFECT
            else None
        ),
        equal_to=f"within_r lies no further from {r0:g} than the pilot's, on either side",
        pilot=pilot.describe(found, request.confidence, "within_r", math.tanh),
        notes=pilot.unused,
    )
    clusters = pilot.within_clustering()
    return sizing if clusters is None else clusters.spread(sizing)

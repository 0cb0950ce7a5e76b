"""Questions about a mean over prompts: is a gain above 0, and do two judges' picks differ in worth?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import optimize

from bonwise.errors import InputError, UsageError
from bonwise.planning import normal_picks
from bonwise.planning.pilot import ClusterEffect, GainPilot, RivalPilot
from bonwise.planning.request import SMALLEST_EFFECT, PlanRequest
from bonwise.planning.sizing import RedrawnPilot, Sizing, at_least_fewest, times
from bonwise.stats.pilot_effect import MOST_UNITS, Redrawn, Shift, redraw, small_sample_units
from bonwise.stats.sample_size import critical_value, detectable_mean, equal_mean_units, mean_power, mean_units

NORMAL = (
    "Assumed: score and label are jointly normal within a prompt and labels spread alike in all prompts; "
    "a pilot needs neither."
)

_CONTRASTS = {"complete": normal_picks.complete_contrast, "two_label": normal_picks.two_label_contrast}
_SMALLEST, _LARGEST = 1e-6, 1 - 1e-9


def gain_from_r(request: PlanRequest) -> Sizing:
    """Size ``recovery>0`` from a within-prompt correlation."""
    n, r = int(request.required("candidates")), float(request.required("within_r"))
    design = request.design
    contrast = _CONTRASTS[design]
    found, none = contrast(n, r), contrast(n, 0.0)
    theta = found.standardised

    def reach(units: float, power: float) -> float | None:
        def excess(one: float) -> float:
            return mean_power(contrast(n, one).standardised, units, request.confidence, 1) - power

        if units <= 0 or excess(_LARGEST) < 0:
            return None
        return float(optimize.brentq(excess, _SMALLEST, _LARGEST)) if excess(_SMALLEST) < 0 else _SMALLEST

    return Sizing(
        design=design,
        sides=1,
        n=mean_units(theta, request.power, request.confidence, 1),
        at=lambda units: mean_power(theta, units, request.confidence, 1),
        reach=reach,
        reach_of="within_r",
        effect={"within_r": r},
        each=n if design == "complete" else 2,
        scores=n,
        equal=equal_mean_units(
            normal_picks.Contrast(found.mean, none.variance).standardised, request.power, request.confidence
        ),
        equal_to=f"the gain of a judge with within_r 0 lies within that of {r:g} on either side of 0",
        sequential="significance" if design == "complete" else None,
        notes=(NORMAL,),
        admits=normal_picks.chance_of_enough(n) if design == "complete" else at_least_fewest,
    )


class _Rivals(NamedTuple):
    picks: normal_picks.TwoPicks
    contrast: normal_picks.Contrast
    none: normal_picks.Contrast


def two_judges(request: PlanRequest) -> tuple[int, float, float, float]:
    """Return the candidates, what both judges correlate with the labels by, which differs, and their errors."""
    n, first, second, errors = map(request.required, ("candidates", "within_r", "rival_r", "error_correlation"))
    if first == second:
        raise UsageError(
            "both judges have the same within_r: there is no difference to find", hint="give another rival_r"
        )
    return int(n), float(first), float(second), float(errors)


def _rivals(request: PlanRequest) -> _Rivals:
    n, r_a, r_b, errors = two_judges(request)
    found, alike = normal_picks.two_picks(n, r_a, r_b, errors), normal_picks.two_picks(n, r_b, r_b, errors)
    e, v = normal_picks.largest_of_normals(n)
    mean, square_a, square_b = (r_a - r_b) * e, _square(r_a, e, v), _square(r_b, e, v)
    variance = square_a + square_b - 2 * found.product - mean**2
    return _Rivals(
        found, normal_picks.Contrast(mean, variance), normal_picks.Contrast(mean, 2 * square_b - 2 * alike.product)
    )


def _square(r: float, e: float, v: float) -> float:
    """Return the expectation of the pick's squared label."""
    return r * r * (v + e * e) + 1 - r * r


def rivals_from_r(request: PlanRequest) -> Sizing:
    """Size judge A against judge B, each pick graded, from their within-prompt correlations."""
    found = _rivals(request)
    theta, share = found.contrast.standardised, found.picks.disagree
    spread = math.sqrt(found.contrast.variance)
    equal = equal_mean_units(abs(found.none.standardised), request.power, request.confidence)
    return Sizing(
        design="discordant",
        sides=2,
        n=mean_units(abs(theta), request.power, request.confidence, 2) * share,
        at=lambda units: mean_power(abs(theta), units / share, request.confidence, 2),
        reach=lambda units, power: spread * detectable_mean(units / share, power, request.confidence, 2),
        reach_of="difference of mean label in within-prompt standard deviations",
        effect={
            "within_r": float(request.required("within_r")),
            "rival_r": float(request.required("rival_r")),
            "difference": found.contrast.mean,
            "disagree": share,
        },
        share=share,
        each=2,
        scores=2 * float(request.required("candidates")),
        equal=equal * share,
        equal_to="two equally good judges differ by less than the planned difference",
        admits=at_least_fewest,
        notes=(NORMAL, f"The errors of the two judges are taken to correlate by {request.error_correlation:g}."),
    )


def rival_from_pilot(request: PlanRequest, pilot: RivalPilot) -> Sizing:
    """Size judge A against judge B, each pick graded, from a pilot with both judges."""
    refuse_constant(pilot.source, pilot.standardised())
    theta, spread, share = pilot.standardised(), pilot.spread(), pilot.disagree
    n, ends = _from_shift(theta, request)
    sizing = Sizing(
        design="discordant",
        sides=2,
        n=times(n, share),
        at=lambda units: mean_power(abs(theta.estimate), units / share, request.confidence, 2),
        reach=lambda units, power: spread * detectable_mean(units / share, power, request.confidence, 2),
        reach_of="difference of mean label in the unit of the labels",
        effect={"difference": pilot.difference, "standardised": theta.estimate, "disagree": share},
        share=share,
        each=2,
        scores=2 * pilot.candidates,
        ends=None if ends is None else (times(ends[0], share), times(ends[1], share)),
        equal=times(equal_units(theta, request), share),
        equal_to="the difference lies within the pilot's on either side of 0",
        admits=at_least_fewest,
        pilot=pilot.describe(theta, request.confidence, "standardised difference of the picks"),
        notes=("Where a judge ties several candidates, its pick is one of them at random.", *pilot.first.unused),
    )
    clusters = pilot.clustering()
    return sizing if clusters is None else clusters.spread(sizing)


def refuse_constant(source: str, theta: Shift) -> None:
    """Refuse a pilot in which the picks' labels do not scatter over prompts."""
    if not math.isfinite(theta.estimate):
        raise InputError(
            f"{source}: the picks' labels do not scatter over prompts, so no number can be taken from them",
            hint="check that labels differ within prompts and that the judge does not tie everything",
        )


def equal_units(theta: Shift, request: PlanRequest) -> float | None:
    """Return the units that show an effect smaller than the pilot's; None where the pilot's is none itself."""
    bound = abs(theta.estimate)
    return equal_mean_units(bound, request.power, request.confidence) if bound >= SMALLEST_EFFECT else None


def _from_shift(theta: Shift, request: PlanRequest) -> tuple[float | None, tuple[float | None, float | None] | None]:
    """Invert an interval of a standardised difference: the larger the effect, the smaller the number."""
    low, high = theta.at(request.confidence)
    if high < -low:
        low, high = -high, -low

    def units(one: float) -> float | None:
        # As of a correlation: what is smaller cannot be told from no effect.
        planned = SMALLEST_EFFECT <= one < math.inf
        return mean_units(one, request.power, request.confidence, 2) if planned else None

    least, most = units(high), units(low)
    return units(abs(theta.estimate)), None if least is None and most is None else (least, most)


_ALLOWING = 0.6
"""Confidence of the interval whose lower end allows for the pilot: one-sided, at 80 %."""

_LEAST_VARIANCE = 0.05
"""Of the standardised gain of one prompt: a pilot never knows it better."""


def gain_from_pilot(request: PlanRequest, pilot: GainPilot) -> Sizing:
    """Size ``recovery>0`` from a pilot."""
    design = request.design
    theta = pilot.standardised(design)
    refuse_constant(pilot.source, theta)
    floor = math.sqrt(_LEAST_VARIANCE / theta.units)
    theta = theta._replace(se=float(np.fmax(theta.se, floor))) if math.isfinite(theta.se) else theta
    found, share = _Redraw.of(request, pilot, theta), pilot.share(design)
    spread = pilot.spread(design)
    equal, effect = equal_units(theta, request), found.effect
    return Sizing(
        design=design,
        sides=1,
        n=times(found.prompts, share),
        at=lambda units: found.power(units / share),
        reach=lambda units, power: found.reach(units / share, power, spread),
        reach_of="gain in the unit of the labels",
        effect={"gain": pilot.gain, "standardised": theta.estimate},
        share=share,
        each=round(pilot.candidates) if design == "complete" else 2,
        scores=pilot.candidates,
        ends=found.ends(share),
        equal=None if equal is None else equal * share * effect,
        equal_to="the gain lies within the pilot's on either side of 0",
        admits=at_least_fewest,
        sequential="significance" if design == "complete" else None,
        pilot=pilot.describe(theta, request.confidence, f"standardised gain, {design}"),
        clusters=None if found.clusters is None else found.clusters.of_pilot,
        redrawn=found.record(share),
        notes=(*_unequal_pools(pilot.unequal), *pilot.unused),
    )


@dataclass(frozen=True, slots=True)
class _Redraw:
    """The number of prompts, by the pilot drawn again or, where that is very large, by the normal formula."""

    request: PlanRequest
    theta: Shift
    """Standardised gain."""
    clusters: ClusterEffect | None
    drawn: Redrawn | None
    """In prompts, or clusters."""
    floor: Shift
    """Log of the prompts below which the gate refuses samples like the pilot."""

    @classmethod
    def of(cls, request: PlanRequest, pilot: GainPilot, theta: Shift) -> _Redraw:
        """Draw the pilot again."""
        clusters = pilot.clustering()
        bare = cls(request, theta, clusters, None, pilot.log_fewest(request.design))
        formula = bare.admitted(theta.estimate, bare.floor.estimate)
        start = None if formula is None else formula / bare.per_unit
        if start is None or start > MOST_UNITS:
            return bare
        gate = pilot.gate(request.design, request.confidence)
        units = len(pilot.leaders) if clusters is None else clusters.of_pilot.clusters
        return replace(bare, drawn=redraw(gate, units, start, request.power, request.seed))

    @property
    def effect(self) -> float:
        """The design effect of clusters."""
        return 1.0 if self.clusters is None else self.clusters.value

    @property
    def per_unit(self) -> float:
        """Prompts of what is drawn, a cluster's so many times fewer as its effect is planned for with caution."""
        return 1.0 if self.clusters is None else self.clusters.per_cluster * self.clusters.caution

    def formula(self, standardised: float) -> float | None:
        """Return the prompts by the normal formula; None for an effect that cannot be told from none."""
        if not SMALLEST_EFFECT <= standardised < math.inf:
            return None
        return small_sample_units(standardised, self.request.power, self.request.confidence) * self.effect

    def admitted(self, standardised: float, floor: float) -> float | None:
        """Return the same, as many as the gate admits where the floor is that."""
        formula = self.formula(standardised)
        return None if formula is None or floor == math.inf else max(formula, math.exp(floor))

    @property
    def prompts(self) -> float | None:
        """Prompts if the pilot is right."""
        if self.drawn is None:
            return self.admitted(self.theta.estimate, self.floor.estimate)
        return times(self.drawn.units, self.per_unit)

    @property
    def ratio(self) -> float:
        """Prompts drawn over those of the formula."""
        formula, prompts = self.admitted(self.theta.estimate, self.floor.estimate), self.prompts
        return 1.0 if formula is None or prompts is None else prompts / formula

    def ends(self, share: float) -> tuple[float | None, float | None] | None:
        """Return the interval on n: the ends of the effect, the larger the fewer, and those of the floor."""
        pairs = zip(
            reversed(self.theta.at(self.request.confidence)), self.floor.at(self.request.confidence), strict=True
        )
        least, most = (times(self.admitted(*pair), self.ratio * share) for pair in pairs)
        return None if least is None and most is None else (least, most)

    def record(self, share: float) -> RedrawnPilot | None:
        """Return what to say of it; None where no number is planned for."""
        formula = self.formula(self.theta.estimate)
        if formula is None:
            return None
        low, floor = self.theta.at(_ALLOWING)[0], self.floor.at(_ALLOWING)[1]
        allowing = None if self.prompts is None else times(self.admitted(low, floor), self.ratio * share)
        return RedrawnPilot(self.drawn, self.request.seed, formula, allowing)

    def power(self, prompts: float) -> float:
        """Return the share of samples of so many prompts that pass."""
        if self.drawn is None:
            return mean_power(self.theta.estimate, prompts / self.effect, self.request.confidence, 1)
        return self.drawn.power(prompts / self.per_unit)

    def reach(self, prompts: float, power: float, spread: float) -> float | None:
        """Return the smallest gain that is found, by the formula made to fit what was drawn; None below floors."""
        confidence, formula = self.request.confidence, prompts / self.ratio
        units = formula / self.effect - critical_value(confidence, 1) ** 2 / 2
        return (
            spread * detectable_mean(units, power, confidence, 1)
            if units > 0 and formula >= math.exp(self.floor.estimate)
            else None
        )


def _unequal_pools(unequal: bool) -> tuple[str, ...]:
    if not unequal:
        return ()
    return ("Pools of the pilot differ in size: labels are counted with the mean number of candidates.",)

"""``recovery>0`` from a pilot: its prompts, or clusters, are drawn again through the gate of an audit."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from bonwise.documents.plan import PlanDesign
from bonwise.planning.plans.mean_question import equal_units, refuse_constant
from bonwise.planning.plans.pilot_clusters import ClusterEffect
from bonwise.planning.plans.pilot_figures import GainPilot
from bonwise.planning.plans.request import SMALLEST_EFFECT, PlanRequest
from bonwise.planning.plans.sizing import RedrawnPilot, Sizing, times
from bonwise.stats.power.pilot_effect import Shift
from bonwise.stats.power.power import critical_value, mean_power
from bonwise.stats.power.redrawn import MOST_UNITS, Redrawn, redraw, small_sample_units
from bonwise.stats.power.sample_size import mean_units

__all__ = ["gain_from_pilot"]

_ALLOWING = 0.6
"""Confidence of the interval whose lower end allows for the pilot: one-sided, at 80 %."""

_LEAST_VARIANCE = 0.05
"""Of the standardised gain of one prompt: a pilot never knows it better."""


def gain_from_pilot(request: PlanRequest, design: PlanDesign, pilot: GainPilot) -> Sizing:
    """Size ``recovery>0`` from a pilot."""
    theta = pilot.standardised(design)
    refuse_constant(pilot.source, theta)
    floor = math.sqrt(_LEAST_VARIANCE / theta.units)
    theta = theta._replace(se=float(np.fmax(theta.se, floor))) if math.isfinite(theta.se) else theta
    found, share = _Redraw.of(request, design, pilot, theta), pilot.share(design)
    spread = pilot.spread(design)
    equal, effect = equal_units(theta, request), found.effect
    return Sizing(
        design=design,
        sides=1,
        n=times(found.prompts, share),
        at=lambda units: found.power(units / share),
        reach=lambda units: found.reach(units / share, spread),
        reach_of="gain in the unit of the labels",
        effect={"gain": pilot.gain, "standardised": theta.estimate},
        share=share,
        each=round(pilot.candidates) if design == "complete" else 2,
        scores=pilot.candidates,
        ends=found.ends(share),
        equal=None if equal is None else equal * share * effect,
        equal_to="the gain lies within the pilot's on either side of 0",
        sequential="significance" if design == "complete" else None,
        pilot=pilot.describe(theta, request.confidence, f"standardised gain, {design}"),
        clusters=None if found.clusters is None else found.clusters.record(),
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

    @classmethod
    def of(cls, request: PlanRequest, design: PlanDesign, pilot: GainPilot, theta: Shift) -> _Redraw:
        """Draw the pilot again."""
        clusters = pilot.clustering()
        bare = cls(request, theta, clusters, None)
        formula = bare.formula(theta.estimate)
        start = None if formula is None else formula / bare.per_unit
        if start is None or start > MOST_UNITS:
            return bare
        gate = pilot.gate(design, request.confidence)
        units = len(pilot.leaders) if clusters is None else clusters.clusters
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

    @property
    def prompts(self) -> float | None:
        """Prompts if the pilot is right."""
        if self.drawn is None:
            return self.formula(self.theta.estimate)
        return times(self.drawn.units, self.per_unit)

    @property
    def ratio(self) -> float:
        """Prompts drawn over those of the formula."""
        formula, prompts = self.formula(self.theta.estimate), self.prompts
        return 1.0 if formula is None or prompts is None else prompts / formula

    def ends(self, share: float) -> tuple[float | None, float | None] | None:
        """Return the interval on n: the ends of the effect, the larger the fewer."""
        low, high = self.theta.at(self.request.confidence)
        least, most = (times(self.formula(end), self.ratio * share) for end in (high, low))
        return None if least is None and most is None else (least, most)

    def record(self, share: float) -> RedrawnPilot | None:
        """Return what to say of it; None where no number is planned for."""
        formula = self.formula(self.theta.estimate)
        if formula is None:
            return None
        low, _ = self.theta.at(_ALLOWING)
        allowing = None if self.prompts is None else times(self.formula(low), self.ratio * share)
        return RedrawnPilot(self.drawn, self.request.seed, formula, allowing)

    def power(self, prompts: float) -> float:
        """Return the share of samples of so many prompts that pass."""
        if self.drawn is None:
            return mean_power(self.theta.estimate, prompts / self.effect, self.request.confidence, 1)
        return self.drawn.power(prompts / self.per_unit)

    def reach(self, prompts: float, spread: float) -> float | None:
        """Return the smallest gain that is found, by the formula made to fit what was drawn."""
        request = self.request
        drift = mean_units(1.0, request.power, request.confidence, 1)
        units = prompts / self.effect / self.ratio - critical_value(request.confidence, 1) ** 2 / 2
        return math.sqrt(drift / units) * spread if units > 0 else None


def _unequal_pools(unequal: bool) -> tuple[str, ...]:
    if not unequal:
        return ()
    return ("Pools of the pilot differ in size: labels are counted with the mean number of candidates.",)

"""How a question is sized: units needed, power at any number of them, and how units become prompts and labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from bonwise.documents.plan import ClustersOfPilot, EffectName, PilotOfScores, PilotOfVotes, PlanDesign
from bonwise.planning.plans.request import PlanRequest
from bonwise.stats.power.design_effect import Clusters, Dependence, OneCluster
from bonwise.stats.power.redrawn import Redrawn

__all__ = ["Layout", "RedrawnPilot", "Sizing", "StudySize", "times"]

_ROUNDING = 1e-9

Sequential = Literal["votes", "significance", "precision"]


class RedrawnPilot(NamedTuple):
    """What drawing a pilot again through the gate said."""

    found: Redrawn | None
    """None where the number is so large that the normal formula says it."""
    seed: int
    formula: float
    """Units by the normal formula."""
    allowing: float | None
    """Units that allow for the pilot; None where its effect may be none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizing:
    """The answer to a question in units: prompts that are labelled, or decisive votes."""

    design: PlanDesign
    """What is labelled of a prompt."""
    sides: Literal[1, 2]
    """1 or 2, of the test or interval."""
    n: float | None
    """Independent units needed, not rounded; None where no number is enough."""
    at: Callable[[float], float]
    """Units to the figure named by `shows`."""
    reach: Callable[[float], float | None]
    """Units to the smallest effect found with the power asked for, None where there is none."""
    reach_of: str
    """What that effect is, with its unit."""
    effect: Mapping[EffectName, float]
    """What was planned for."""
    shows: Literal["power", "half_width"] = "power"
    share: float = 1.0
    """Units a prompt: below 1 where only some prompts need labels."""
    each: int = 1
    """Labels a unit and rater."""
    scores: float = 0.0
    """Judge scores per prompt, for the price."""
    ends: tuple[float | None, float | None] | None = None
    """Interval on n from a pilot; None in place of an end that is infinite or unknown."""
    equal: float | None = None
    """Units with which two one-sided tests show that there is no effect of the planned size."""
    equal_to: str = ""
    """What these tests show."""
    tie_rate: float = 0.0
    """Share of votes that decide nothing."""
    sequential: Sequential | None = None
    """Which rule for stopping early there is for the design; None for none."""
    margin: float | None = None
    """Of votes, for the prior of the sequential test."""
    pilot: PilotOfScores | PilotOfVotes | None = None
    """What the pilot said."""
    clusters: ClustersOfPilot | None = None
    """What the clusters of the pilot's prompts say."""
    redrawn: RedrawnPilot | None = None
    """What drawing the pilot again said."""
    notes: tuple[str, ...] = field(default=())
    """Sentences on assumptions."""


class StudySize(NamedTuple):
    """What a study takes."""

    prompts: int
    labels: int


@dataclass(frozen=True, slots=True)
class Layout:
    """How independent units become prompts and labels: raters, their likeness, ties, prompts without labels.

    Examples
    --------
    >>> Layout(Clusters(3, 0.25), raters=3, each=2).counts(100.0)
    StudySize(prompts=50, labels=300)
    """

    dependence: Dependence
    raters: int = 1
    share: float = 1.0
    each: int = 1
    tie_rate: float = 0.0

    @classmethod
    def of(cls, sizing: Sizing, request: PlanRequest) -> Layout:
        """Return the layout of a question."""
        icc = request.icc or 0.0
        dependence = OneCluster(icc) if request.one_cluster else Clusters(request.raters, icc)
        return cls(dependence, request.raters, sizing.share, sizing.each, sizing.tie_rate)

    def groups(self, units: float) -> float | None:
        """Return the labelled prompts that so many independent units take, not rounded; None where none suffice."""
        ratings = self.dependence.inflated(units)
        return None if ratings is None else ratings / (1 - self.tie_rate) / self.raters

    def counts(self, units: float | None) -> StudySize | None:
        """Return the prompts and labels that so many independent units take."""
        groups = None if units is None else self.groups(units)
        if groups is None:
            return None
        labels = math.ceil(groups - _ROUNDING) * self.each * self.raters
        return StudySize(math.ceil(groups / self.share - _ROUNDING), labels)

    def units(self, *, labels: float | None, prompts: float | None) -> float:
        """Return the independent units that so many labels and prompts are worth."""
        groups = math.inf if labels is None else labels // (self.each * self.raters)
        if prompts is not None:
            groups = min(groups, prompts * self.share)
        return self.dependence.effective(groups * self.raters * (1 - self.tie_rate))


def times(value: float | None, factor: float) -> float | None:
    """Return a number of units scaled by a factor; None where no number suffices."""
    return None if value is None else value * factor

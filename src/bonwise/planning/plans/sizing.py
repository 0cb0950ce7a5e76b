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
    """What drawing a pilot again through the gate said.

    Parameters
    ----------
    found : Redrawn or None
        None where the number is so large that the normal formula says it.
    seed : int
    formula : float
        Units by the normal formula.
    allowing : float or None
        Units that allow for the pilot; None where its effect may be none.
    """

    found: Redrawn | None
    seed: int
    formula: float
    allowing: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizing:
    """The answer to a question in units: prompts that are labelled, or decisive votes.

    Parameters
    ----------
    design : str
        What is labelled of a prompt.
    sides : int
        1 or 2, of the test or interval.
    n : float or None
        Independent units needed, not rounded; None where no number is enough.
    at : callable
        Units to the figure named by `shows`.
    shows : {"power", "half_width"}
    reach : callable
        Units to the smallest effect found with the power asked for, None where there is none.
    reach_of : str
        What that effect is, with its unit.
    effect : mapping of str to float
        What was planned for.
    share : float
        Units a prompt: below 1 where only some prompts need labels.
    each : int
        Labels a unit and rater.
    scores : float
        Judge scores per prompt, for the price.
    ends : tuple, optional
        Interval on n from a pilot; None in place of an end that is infinite or unknown.
    equal : float or None
        Units with which two one-sided tests show that there is no effect of the planned size.
    equal_to : str
        What these tests show.
    tie_rate : float
        Share of votes that decide nothing.
    sequential : {"votes", "significance", "precision"}, optional
        Which rule for stopping early there is for the design; None for none.
    margin : float, optional
        Of votes, for the prior of the sequential test.
    pilot : PilotOfScores or PilotOfVotes, optional
        What the pilot said.
    clusters : ClustersOfPilot, optional
        What the clusters of the pilot's prompts say.
    redrawn : RedrawnPilot, optional
        What drawing the pilot again said.
    notes : tuple of str
        Sentences on assumptions.
    """

    design: PlanDesign
    sides: Literal[1, 2]
    n: float | None
    at: Callable[[float], float]
    reach: Callable[[float], float | None]
    reach_of: str
    effect: Mapping[EffectName, float]
    shows: Literal["power", "half_width"] = "power"
    share: float = 1.0
    each: int = 1
    scores: float = 0.0
    ends: tuple[float | None, float | None] | None = None
    equal: float | None = None
    equal_to: str = ""
    tie_rate: float = 0.0
    sequential: Sequential | None = None
    margin: float | None = None
    pilot: PilotOfScores | PilotOfVotes | None = None
    clusters: ClustersOfPilot | None = None
    redrawn: RedrawnPilot | None = None
    notes: tuple[str, ...] = field(default=())


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

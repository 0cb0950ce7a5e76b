"""How a question is sized, and what a plan states of it: counts, price, power table, verdict, sequential reserve."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from bonwise.arrays import Floats
from bonwise.planning import result
from bonwise.planning.request import PlanRequest
from bonwise.stats import pilot_effect, repeated_looks, sample_size, support

MOST_SHARED = 0.95
"""n0 rho from which on no number of labels of one cluster is called enough (the paper's rule)."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """Many clusters of one size, such as c raters per prompt: ``n = n0 (1 + (c - 1) rho)``."""

    size: int = 1
    """c, 1 or more."""
    correlation: float = 0.0
    """rho, in [0, 1]."""

    @property
    def factor(self) -> float:
        """The design effect."""
        return 1 + (self.size - 1) * self.correlation

    def inflated(self, independent: float) -> float:
        """Return how many labels are worth so many independent ones."""
        return independent * self.factor

    def effective(self, labels: float) -> float:
        """Return how many independent labels so many are worth."""
        return labels / self.factor


@dataclass(frozen=True, slots=True)
class OneCluster:
    """Labels exchangeable in one cluster, ``n = n0 (1 - rho) / (1 - n0 rho)``; no number beyond `MOST_SHARED`."""

    correlation: float
    """rho, in [0, 1]."""

    def inflated(self, independent: float) -> float | None:
        """Return how many labels are worth so many independent ones, None where no number is."""
        shared = independent * self.correlation
        return None if shared >= MOST_SHARED else independent * (1 - self.correlation) / (1 - shared)

    def effective(self, labels: float) -> float:
        """Return how many independent labels so many are worth."""
        return labels / (1 + max(labels - 1, 0.0) * self.correlation)


_PATHS, _LOOKS, _SEED = 2000, 500, 20261122
_FARTHEST = 60.0
"""m theta^2 by which all but one path in thousands has stopped."""
_LATE = 0.9


class Stopping(NamedTuple):
    """Prompts at which a study stops."""

    mean: tuple[float, float]
    """Two standard errors of the simulated mean below and above it."""
    late: float
    """What one study in ten exceeds."""


def gain_stopping(standardised: float, target: float, confidence: float) -> Stopping:
    """Simulate after how many prompts ``bonwise monitor`` tells a gain of `standardised` theta from 0."""
    last = max(repeated_looks.EARLIEST + 1.0, _FARTHEST / standardised**2)
    looks = np.linspace(repeated_looks.EARLIEST, last, _LOOKS)
    bound = np.sqrt(repeated_looks.squared_critical(looks, target, confidence))
    steps = np.sqrt(np.diff(looks, prepend=0.0))
    chance = np.random.default_rng(_SEED)
    stopped: Floats = np.empty(_PATHS)
    for path in range(_PATHS):  # one at a time: all of them together would be as large as they are many
        z = standardised * np.sqrt(looks) + np.cumsum(chance.standard_normal(_LOOKS) * steps) / np.sqrt(looks)
        over = np.abs(z) > bound
        stopped[path] = looks[over.argmax()] if over.any() else last
    mean, error = float(stopped.mean()), 2 * float(stopped.std()) / np.sqrt(_PATHS)
    return Stopping((float(mean - error), float(mean + error)), float(np.quantile(stopped, _LATE)))


_ROUNDING = 1e-9

Sequential = Literal["votes", "significance", "precision"]


class RedrawnPilot(NamedTuple):
    """What drawing a pilot again through the gate said."""

    found: pilot_effect.Redrawn | None
    """None where the number is so large that the normal formula says it."""
    seed: int
    formula: float
    """Units by the normal formula."""
    allowing: float | None
    """Units that allow for the pilot; None where its effect may be none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizing:
    """The answer to a question in units: prompts that are labelled, or decisive votes."""

    design: result.PlanDesign
    """What is labelled of a prompt."""
    sides: Literal[1, 2]
    """1 or 2, of the test or interval."""
    n: float | None
    """Independent units needed, not rounded; None where no number is enough."""
    at: Callable[[float], float]
    """Units to the figure named by `shows`."""
    reach: Callable[[float, float], float | None]
    """Units and power to the smallest effect found with it, None where there is none."""
    reach_of: str
    """What that effect is, with its unit."""
    effect: Mapping[result.EffectName, float]
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
    pilot: result.PilotOfScores | result.PilotOfVotes | None = None
    """What the pilot said."""
    clusters: result.ClustersOfPilot | None = None
    """What the clusters of the pilot's prompts say."""
    redrawn: RedrawnPilot | None = None
    """What drawing the pilot again said."""
    pairs: Sequence[result.PairOfPilot] | None = None
    screening: result.ScreeningRecord | None = None
    notes: tuple[str, ...] = field(default=())
    """Sentences on assumptions."""
    admits: Callable[[int], float] | None = None
    """Labelled prompts to the chance that the gate's floors admit them; None where `at` knows, or without a gate."""


class StudySize(NamedTuple):
    """What a study takes."""

    prompts: int
    labels: int


@dataclass(frozen=True, slots=True)
class Layout:
    """How independent units become prompts and labels: raters, their likeness, ties, prompts without labels."""

    dependence: Clusters | OneCluster
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

    def units_of(self, groups: float) -> float:
        """Return the independent units that so many labelled prompts are worth."""
        return self.dependence.effective(groups * self.raters * (1 - self.tie_rate))

    def units(self, *, labels: float | None, prompts: float | None) -> float:
        """Return the independent units that so many labels and prompts are worth."""
        groups = math.inf if labels is None else labels // (self.each * self.raters)
        if prompts is not None:
            groups = min(groups, prompts * self.share)
        return self.units_of(groups)


def times(value: float | None, factor: float) -> float | None:
    """Return a number of units scaled by a factor; None where no number suffices."""
    return None if value is None else value * factor


_MULTIPLES = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)

_SOONER = (0.80, 0.85)
"""Mean number of votes until the sequential test of votes stops, as a part of the fixed number of power .9."""

_RESERVE = 2.0
"""What one study of votes in ten takes, as a multiple of the same number."""

_USUAL_POWER = 0.9


def at_least_fewest(prompts: int) -> float:
    """Return the chance that a gate with no floor but that of prompts admits so many: 1 or 0."""
    return float(prompts >= support.FEWEST)


_OFTEN = 0.5
"""Chance with which a number of prompts must be admitted to be named as an end."""

_FARTHER = 1000
"""Prompts beyond the normal number up to which floors are looked at."""


def with_floors(sizing: Sizing, layout: Layout, power: float) -> Sizing:
    """Return a sizing of what the gate decides, whose floors refuse few prompts however large the effect is."""
    admits, at, reach, normal = sizing.admits, sizing.at, sizing.reach, layout.counts(sizing.n)
    if admits is None:
        return sizing

    def admitted(units: float) -> float:
        return admits(math.floor((layout.groups(units) or 0.0) + _ROUNDING))

    def within(units: float, power: float) -> float | None:
        # What is found so often is admitted and then found; a half-width has no power.
        chance = admitted(units)
        return reach(units, power / chance) if (chance >= _OFTEN if precise else chance > power) else None

    n, few = sizing.n, tuple[str, ...]()
    precise = sizing.shows == "half_width"
    often = (count for count in range(support.FEWEST, _FARTHER) if admits(count) >= _OFTEN)
    floor = layout.units_of(next(often, _FARTHER))
    if precise and n is not None and n < floor:
        words = "labelled prompts, nor by prompts that are worth fewer"
        n, few = floor, (f"No recovery is settled by fewer than {support.FEWEST} {words}.",)
    elif n is not None and normal is not None:
        least = math.ceil((layout.groups(n) or 0.0) - _ROUNDING)
        units = map(layout.units_of, range(least, least + _FARTHER))
        found = next((one for one in units if at(one) * admitted(one) >= power - _ROUNDING), layout.units_of(least))
        if found > layout.units_of(least) and layout.counts(found) != normal:
            words = "labelled prompts, nor prompts that are worth fewer, however large the effect is"
            n, few = found, (f"A gate admits no fewer than {support.FEWEST} {words}.",)
    return replace(
        sizing,
        n=n,
        ends=None if sizing.ends is None else (_at_least(sizing.ends[0], floor), _at_least(sizing.ends[1], floor)),
        equal=_at_least(sizing.equal, floor),
        at=at if precise else lambda units: at(units) * admitted(units),
        reach=within,
        notes=(*sizing.notes, *few),
    )


def _at_least(units: float | None, floor: float) -> float | None:
    return None if units is None else max(units, floor)


def verdict(request: PlanRequest, needed: StudySize | None) -> result.PlanVerdict:
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
    return _finite(sizing.reach(layout.units(labels=labels, prompts=prompts), request.power))


def power_table(
    sizing: Sizing, layout: Layout, request: PlanRequest, needed: StudySize | None
) -> list[result.PowerRow]:
    """Return labels, prompts and power around the plan, and at what there is."""
    counts: Sequence[StudySize | None] = ()
    if sizing.n is not None and needed is not None:
        counts = [layout.counts(part * sizing.n) for part in _MULTIPLES]
    rows = {count.labels: count for count in counts if count is not None}
    if request.labels is not None or request.prompts is not None:
        units = layout.units(labels=request.labels, prompts=request.prompts)
        if (there := layout.counts(units)) is not None and units > 0:
            prompts = min(there.prompts, request.prompts or there.prompts)
            rows.setdefault(there.labels, StudySize(prompts, there.labels))
    return [_row(sizing, layout, one) for _, one in sorted(rows.items())]


def _row(sizing: Sizing, layout: Layout, one: StudySize) -> result.PowerRow:
    shown = shown_at(sizing, layout, labels=one.labels, prompts=one.prompts)
    if sizing.shows == "power":
        return result.PowerRow(labels=one.labels, prompts=one.prompts, power=shown)
    return result.PowerRow(labels=one.labels, prompts=one.prompts, half_width=shown)


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
) -> result.SequentialRecord | None:
    """Return the labels that stopping early takes; None where ``bonwise monitor`` has no rule for the design."""
    if needed is None or sizing.n is None or request.one_cluster:
        return None
    if sizing.sequential == "votes" and request.raters == 1:
        return _votes(request, sizing, layout, needed)
    if sizing.sequential == "significance":
        return _significance(request, sizing, layout, needed)
    return None


def _votes(request: PlanRequest, sizing: Sizing, layout: Layout, needed: StudySize) -> result.SequentialRecord:
    """When votes stop follows from their margin, whatever the power of the fixed study."""
    margin = float(sizing.margin or sample_size.SMALLEST_MARGIN)
    usual = sample_size.votes(margin, _USUAL_POWER, request.confidence).settled / (1 - layout.tie_rate)
    least, most = _SOONER
    return result.SequentialRecord(
        fixed=needed.labels,
        mean=[round(least * usual), round(most * usual)],
        reserve=math.ceil(_RESERVE * usual),
        saves=bool(most * usual < needed.labels),
        prior=float(repeated_looks.mixture_weight(margin)),
    )


def _significance(request: PlanRequest, sizing: Sizing, layout: Layout, needed: StudySize) -> result.SequentialRecord:
    units = float(sizing.n or 0.0)
    prompts = float(layout.groups(units) or 0.0)
    standardised = math.sqrt(sample_size.mean_units(1.0, request.power, request.confidence, 1) / prompts)
    stopping = gain_stopping(standardised, needed.prompts, request.confidence)
    each = sizing.each * request.raters
    return result.SequentialRecord(
        fixed=needed.labels,
        mean=[round(stopping.mean[0]) * each, round(stopping.mean[1]) * each],
        # Where nearly all studies stop at the first look, what one in ten exceeds lies below the mean.
        reserve=math.ceil(max(stopping.late, stopping.mean[1])) * each,
        saves=bool(stopping.mean[1] < needed.prompts),
        first_look_prompts=repeated_looks.EARLIEST,
    )


def redrawn(sizing: Sizing, layout: Layout) -> result.RedrawnPilotRecord | None:
    """Return what drawing the pilot again said; None where that was not done."""
    said = sizing.redrawn
    if said is None:
        return None
    found, allowing = said.found, layout.counts(said.allowing)
    return result.RedrawnPilotRecord(
        unit="prompts" if sizing.clusters is None else "clusters",
        draws=0 if found is None else found.samples,
        sizes=[] if found is None else list(found.sizes),
        powers=[] if found is None else list(found.powers),
        seed=said.seed,
        formula_prompts=said.formula,
        allowing=None
        if allowing is None
        else result.AllowingForPilot(prompts=allowing.prompts, labels=allowing.labels),
    )


def small_study(sizing: Sizing, needed: StudySize | None) -> tuple[str, ...]:
    """Return what to say of a study, or of a pilot, of a few prompts."""
    notes = []
    drawn = sizing.redrawn is not None and sizing.redrawn.found is not None
    normal = sizing.sequential != "votes" and sizing.design != "votes" and not drawn
    if needed is not None and needed.prompts < support.FEWEST and normal:
        few = "prompt is" if needed.prompts == 1 else "prompts are"
        notes.append(f"{needed.prompts} {few} too few for the normal approximation: use at least {support.FEWEST}.")
    of_pilot = None if sizing.pilot is None else sizing.pilot.prompts
    if of_pilot is not None and of_pilot < support.FEWEST:
        notes.append(f"A pilot of {of_pilot} prompts is a guess: its standard error is not known well either.")
    return tuple(notes)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None

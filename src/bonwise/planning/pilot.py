"""A pilot: a labelled score table read into what the questions ask of one judge, of two, and of clusters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.errors import InputError, UsageError
from bonwise.planning import normal_picks, redrawn_gates, request, result
from bonwise.planning.sizing import Sizing, times
from bonwise.printable import listed, quoted
from bonwise.stats import correlation, laws, no_gain, pilot_effect, support, top_of_scores
from bonwise.stats.clusters import intraclass_correlation, typical_size, upper_correlation
from bonwise.stats.sums import Sums, prompt_sums, tie_decimals
from bonwise.table import opening, score_table
from bonwise.table.panel import LabelsInPart, Panel, lay_out

FEW = 10
"""Clusters below which the correlation is taken at the end of its one-sided interval."""

_UPPER = 0.8
_MARGIN = 1.2  # by which nine of ten samples have no larger kurtosis than their law

_SAMPLES, _LONGEST, _SEED = 400, 600, 20261130


@dataclass(frozen=True, slots=True)
class ClusterEffect:
    """The design effect of a pilot's clusters, ``1 + (m* - 1) icc``."""

    of_pilot: result.ClustersOfPilot
    typical: float
    """m*, prompts of the cluster that a random prompt is in."""

    @classmethod
    def of(cls, values: Floats, clusters: Ints | None) -> ClusterEffect | None:
        """Estimate it from what each prompt adds to the estimate; None without clusters."""
        if clusters is None:
            return None
        count, icc, typical = (
            len(np.unique(clusters)),
            intraclass_correlation(values, clusters),
            typical_size(clusters),
        )
        used = upper_correlation(values, clusters, _UPPER) if count < FEW else icc
        effect = 1 + (typical - 1) * used
        return cls(
            result.ClustersOfPilot(clusters=count, prompts=len(values), icc=icc, icc_used=used, design_effect=effect),
            typical,
        )

    @property
    def value(self) -> float:
        """The design effect planned with."""
        return self.of_pilot.design_effect

    @property
    def caution(self) -> float:
        """How many times the design effect planned with is that of the estimated correlation."""
        return self.value / (1 + (self.typical - 1) * self.of_pilot.icc)

    @property
    def per_cluster(self) -> float:
        """Prompts per cluster."""
        return self.of_pilot.prompts / self.of_pilot.clusters

    def spread(self, sizing: Sizing) -> Sizing:
        """Return a sizing for prompts that come in such clusters: every number of units so many times larger."""
        effect, at, reach = self.value, sizing.at, sizing.reach
        ends = sizing.ends
        return replace(
            sizing,
            n=times(sizing.n, effect),
            at=lambda units: at(units / effect),
            reach=lambda units, power: reach(units / effect, power),
            ends=None if ends is None else (times(ends[0], effect), times(ends[1], effect)),
            equal=times(sizing.equal, effect),
            clusters=self.of_pilot,
        )


_WHOLE_PROMPTS = (
    "a plan rests on how the figures of prompts labelled whole vary. bonwise audit --design cells uses them, if the "
    "labelled candidates are a random sample of all."
)


class Moments(NamedTuple):
    """Means of each prompt's labels and of their squares, taken from the table's mean label to keep digits."""

    mean: Floats
    square: Floats


@dataclass(frozen=True, eq=False)
class GainPilot:
    """One judge on completely labelled prompts."""

    source: str
    judge: str
    sums: Sums = field(repr=False)
    """One value per prompt."""
    leaders: Floats = field(repr=False)
    """Candidates that share the highest score."""
    picks: Moments = field(repr=False)
    labels: Moments = field(repr=False)
    """Over those leaders, and over all candidates."""
    worst: Floats = field(repr=False)
    """What the worst candidate of each prompt loses against a random one."""
    dealt: no_gain.Dealt = field(repr=False)
    """Moments of the gain if labels were dealt at random within prompts."""
    pairs: redrawn_gates.PairLabels = field(repr=False)
    """Labels of the leaders and of the others, of which pairs are drawn."""
    kurtosis: float
    """The larger one of scores and labels; 0 where both have ends."""
    clusters: Ints | None = field(default=None, repr=False)
    in_part: LabelsInPart = field(default=LabelsInPart(0, 0, 0), repr=False)
    """Labels of prompts that are labelled in part: in no figure."""
    unit: float = 1.0
    """What labels were divided by, so that their powers are doubles."""

    @property
    def unused(self) -> tuple[str, ...]:
        """A sentence on the labels that the plan does not use; empty where it uses all."""
        return (f"{self.in_part.unused}: {_WHOLE_PROMPTS}",) if self.in_part.prompts else ()

    @property
    def candidates(self) -> float:
        """Mean number of candidates per prompt."""
        return float(self.sums.cells.mean())

    @property
    def unequal(self) -> bool:
        """Whether pools differ in size."""
        return bool(np.ptp(self.sums.cells) > 0)

    @property
    def gain(self) -> float:
        """Mean label of the pick less that of a random candidate."""
        return float(np.mean(self.sums.J - self.sums.R)) * self.unit

    def standardised(self, design: str) -> pilot_effect.Shift:
        """Return the mean contrast of a design over its standard deviation."""
        return pilot_effect.standardised(*self._moments(design), self.clusters)

    def clustering(self) -> ClusterEffect | None:
        """Return the design effect of the pilot's clusters on the gain; None without clusters."""
        return ClusterEffect.of(self.sums.J - self.sums.R, self.clusters)

    def recovery_clustering(self) -> ClusterEffect | None:
        """Return that on the recovery."""
        gain, room = self.sums.J - self.sums.R, self.sums.M - self.sums.R
        return ClusterEffect.of(gain - gain.sum() / room.sum() * room, self.clusters)

    def within_clustering(self) -> ClusterEffect | None:
        """Return that on the within-prompt correlation."""
        score, label, both = self.sums.eSS, self.sums.eOO, self.sums.eSO
        r = both.sum() / np.sqrt(score.sum() * label.sum())
        influence = both / both.sum() if both.sum() else both
        influence = r * (influence - score / score.sum() / 2 - label / label.sum() / 2)
        return ClusterEffect.of(influence, self.clusters)

    def gate(self, design: str, confidence: float) -> redrawn_gates.GateWithFloors:
        """Return the gate that an audit of a design has, for samples of the pilot."""
        if design == "complete":
            room = self.sums.M - self.sums.R
            test = redrawn_gates.CompleteGate.of(self.dealt, room, self.clusters, confidence)
            return redrawn_gates.GateWithFloors.complete(test, self.dealt.gain, room, self.worst, self.clusters)
        pairs = redrawn_gates.PairGate.of(self.pairs, self.clusters, confidence)
        return redrawn_gates.GateWithFloors.pairs(pairs, self.clusters)

    def log_fewest(self, design: str) -> pilot_effect.Shift:
        """Estimate the log of the prompts, labelled or not, below which a gate refuses samples like the pilot."""
        room = self.sums.M - self.sums.R
        if design != "complete":
            room = (self.leaders < self.sums.cells).astype(np.float64)
        return pilot_effect.log_fewest(room, support.FEWEST, self.clusters)

    def chance_of_enough(self, of: Literal["room", "spread"], effect: ClusterEffect | None) -> Callable[[int], float]:
        """Return prompts to the chance that samples of the pilot are worth what a gate needs."""
        weights = self.sums.M - self.sums.R if of == "room" else np.sqrt(self.sums.eOO)
        drawn = np.random.default_rng(_SEED).integers(0, len(weights), (_SAMPLES, _LONGEST))
        chance = normal_picks.chance_of_samples(weights[drawn], 1.0 if effect is None else effect.value)
        return lambda prompts: chance(prompts) * (of == "room" or self.light(prompts))

    def light(self, prompts: int) -> bool:
        """Tell whether nine of ten samples like the pilot have tails with which within_r has an interval."""
        return _MARGIN * self.kurtosis <= correlation.most_kurtosis(prompts * self.candidates)

    def spread(self, design: str) -> float:
        """Return the standard deviation of a design's contrast, in the unit of the labels."""
        m1, m2 = self._moments(design)
        return float(np.sqrt(max(m2.mean() - m1.mean() ** 2, 0.0))) * self.unit

    def residual(self) -> pilot_effect.Shift:
        """Return the logarithm of the variance that decides the width of recovery's interval."""
        return pilot_effect.log_residual(self.sums.J - self.sums.R, self.sums.M - self.sums.R, self.clusters)

    def within_z(self) -> pilot_effect.Shift:
        """Return Fisher's z of the within-prompt correlation."""
        return pilot_effect.within_z(self.sums.eSS, self.sums.eOO, self.sums.eSO, self.clusters)

    def share(self, design: str) -> float:
        """Return the share of prompts that a design labels: a pool that the judge ties throughout tells nothing."""
        return 1.0 if design == "complete" else float(np.mean(self.leaders < self.sums.cells))

    def _moments(self, design: str) -> tuple[Floats, Floats]:
        n, pick, mean = self.sums.cells, self.picks.mean, self.labels.mean
        if design == "complete":
            return pick - mean, (pick - mean) ** 2
        # One of the tied leaders and one of the rest, weighted by the part of the pool that the rest is.
        apart, rest = np.maximum(n - self.leaders, 1.0), 1 - self.leaders / n
        other = (n * mean - self.leaders * pick) / apart
        square = (n * self.labels.square - self.leaders * self.picks.square) / apart
        return pick - mean, rest**2 * (self.picks.square + square - 2 * pick * other)

    def describe(
        self, found: pilot_effect.Shift, confidence: float, of: str, shown: Callable[[float], float] = float
    ) -> result.PilotOfScores:
        """Return the pilot's part of the document, the figure turned into what a reader knows."""
        return _described(self.source, [self.judge], len(self.leaders), found, confidence, of, shown)


@dataclass(frozen=True, eq=False)
class RivalPilot:
    """Two judges on the same completely labelled prompts."""

    source: str
    judges: tuple[str, str]
    """A and B."""
    first: GainPilot = field(repr=False)
    second: GainPilot = field(repr=False)
    apart: Floats = field(repr=False)
    """Probability that the picks differ."""
    wins: Floats = field(repr=False)
    losses: Floats = field(repr=False)
    """Probability that A's pick has the higher label, and that B's has."""

    @property
    def candidates(self) -> float:
        """Mean number of candidates per prompt."""
        return self.first.candidates

    @property
    def disagree(self) -> float:
        """Share of prompts on which the picks differ."""
        return float(self.apart.mean())

    @property
    def difference(self) -> float:
        """Mean label of A's pick less that of B's."""
        return float(np.mean(self.first.sums.J - self.second.sums.J)) * self.first.unit

    def standardised(self) -> pilot_effect.Shift:
        """Return the mean difference of the picks' labels over its standard deviation."""
        return pilot_effect.standardised(*self._moments(), self.first.clusters)

    def clustering(self) -> ClusterEffect | None:
        """Return the design effect of the pilot's clusters on the difference of the picks' labels."""
        return ClusterEffect.of(self.first.sums.J - self.second.sums.J, self.first.clusters)

    def vote_clustering(self) -> ClusterEffect | None:
        """Return that on the votes that the picks get."""
        return ClusterEffect.of(self.wins - self.losses, self.first.clusters)

    def spread(self) -> float:
        """Return the standard deviation of the difference, in the unit of the labels."""
        m1, m2 = self._moments()
        return float(np.sqrt(max(m2.mean() - m1.mean() ** 2, 0.0))) * self.first.unit

    def _moments(self) -> tuple[Floats, Floats]:
        a, b = self.first.picks, self.second.picks
        return a.mean - b.mean, a.square + b.square - 2 * a.mean * b.mean

    def describe(self, found: pilot_effect.Shift, confidence: float, of: str) -> result.PilotOfScores:
        """Return the pilot's part of the document."""
        return _described(self.source, list(self.judges), len(self.apart), found, confidence, of)


def _described(
    source: str,
    judges: Sequence[str],
    prompts: int,
    found: pilot_effect.Shift,
    confidence: float,
    of: str,
    shown: Callable[[float], float] = float,
) -> result.PilotOfScores:
    figures = (found.estimate, *found.at(confidence))
    estimate, low, high = (shown(figure) if np.isfinite(figure) else None for figure in figures)
    return result.PilotOfScores(
        source=source, judges=list(judges), prompts=prompts, of=of, estimate=estimate, low=low, high=high
    )


LEAST_PROMPTS = 5
"""Labelled prompts a pilot must hold for an interval on anything."""


def gain_pilot(source: request.PilotSource, judges: Sequence[str] = ()) -> GainPilot:
    """Read a labelled pilot of one judge, with `LEAST_PROMPTS` labelled prompts or more."""
    panels = _panels(source, judges)
    if len(panels) > 1:
        raise UsageError(
            f"{source.name}: {len(panels)} judges where one is planned for",
            hint=f"name one with judge (--judge), of {listed(panel.judge for panel in panels)}",
        )
    return _gain(source, _labelled(source, panels[0]), LabelsInPart.of_panel(panels[0]))


def rival_pilot(source: request.PilotSource, judges: Sequence[str] = ()) -> RivalPilot:
    """Read a pilot of two judges, on the prompts that both scored."""
    panels = _panels(source, judges)
    if len(panels) != 2:
        raise UsageError(f"{source.name}: a-vs-b compares two judges, not {len(panels)}", hint=_which_two(panels))
    first, second = (panel.keep(panel.prompt_ids.isin(other.prompt_ids)) for panel, other in _both(panels))
    in_part = LabelsInPart.of_panel(first)
    first, second = _labelled(source, first), _labelled(source, second)
    apart, wins, losses = _against(first, second)
    pilots = _gain(source, first, in_part), _gain(source, second, in_part)
    return RivalPilot(source.name, (first.judge, second.judge), *pilots, apart, wins, losses)


def _both(panels: Sequence[Panel]) -> tuple[tuple[Panel, Panel], tuple[Panel, Panel]]:
    return (panels[0], panels[1]), (panels[1], panels[0])


def _which_two(panels: Sequence[Panel]) -> str:
    names = listed(panel.judge for panel in panels)
    if len(panels) < 2:
        return f"give a pilot that two judges scored, told apart by its column judge; this one is of {names}"
    return f"name two with judge (--judge, given twice), A first, of {names}"


def _panels(source: request.PilotSource, judges: Sequence[str]) -> tuple[Panel, ...]:
    panels = {panel.judge: panel for panel in lay_out(_table(source), exclude=source.reading.exclude)}
    for judge in judges:
        if judge not in panels:
            raise UsageError(
                f"{source.name}: no judge named {quoted(judge)}", hint=f"the judges are {listed(panels)}"
            )
    if len(set(judges)) < len(judges):
        raise UsageError("judge names a judge twice", hint="name each judge once")
    return tuple(panels[judge] for judge in judges or panels)


def _table(source: request.PilotSource) -> score_table.ScoreTable:
    table = opening.open_scores(source.source, source.reading)
    if not table.has_labels:
        raise InputError(
            f"{source.name}: a pilot without oracle labels says nothing",
            hint="its labels are in its own column oracle_label, or the one that --label-col (columns) names",
        )
    return table


def _labelled(source: request.PilotSource, panel: Panel) -> Panel:
    kept = panel.keep(panel.labelled_cells == panel.sizes)
    if len(kept.sizes) < LEAST_PROMPTS:
        raise InputError(
            f"{source.name}: {len(kept.sizes)} prompts with a label for every candidate are no pilot",
            hint=f"label {LEAST_PROMPTS} prompts or more; 30 to 100 say something",
        )
    return kept


def _gain(source: request.PilotSource, panel: Panel, in_part: LabelsInPart) -> GainPilot:
    unit, of_scores = (laws.power_of_two(float(np.abs(values).max())) for values in (panel.labels, panel.scores))
    ranked, panel = panel.ranked, replace(panel, labels=panel.labels / unit)
    sums = Sums(*prompt_sums(panel.scores / of_scores, panel.labels, panel.sizes, ranked))
    starts = np.cumsum(panel.sizes) - panel.sizes
    at_top = top_of_scores.at_top(ranked, panel.sizes)
    top, labels = at_top.astype(np.float64), panel.labels - panel.labels.mean()
    leaders = np.add.reduceat(top, starts)
    picks, every = (
        Moments(*(np.add.reduceat(weights * value, starts) / count for value in (labels, labels**2)))
        for weights, count in ((top, leaders), (np.ones_like(top), panel.sizes))
    )
    return GainPilot(
        source.name,
        panel.judge,
        sums,
        leaders,
        picks,
        every,
        sums.R - panel.lowest_labels(),
        no_gain.dealt(ranked, panel.labels, panel.sizes),
        redrawn_gates.PairLabels.of(panel.labels, at_top, panel.sizes),
        max(correlation.kurtoses(panel.scores, panel.labels).values(), default=0.0),
        panel.clusters,
        in_part,
        unit,
    )


def _against(first: Panel, second: Panel) -> tuple[Floats, Floats, Floats]:
    """Return, a prompt, how likely the picks differ, A's is the better one, and B's is."""
    mine, other = (top_of_scores.at_top(panel.ranked, panel.sizes) for panel in (first, second))
    starts = np.cumsum(first.sizes) - first.sizes
    both, of_first, of_second = (
        np.add.reduceat(tops.astype(np.int64), starts) for tops in (mine & other, mine, other)
    )
    same: Floats = both / (of_first * of_second)
    wins, losses = np.zeros(len(starts)), np.zeros(len(starts))
    decimals = tie_decimals(first.labels)
    for x, (start, size) in enumerate(zip(starts.tolist(), first.sizes.tolist(), strict=True)):
        cells = slice(start, start + size)
        labels = first.labels[cells]
        ahead = np.sign(np.round(labels[mine[cells]][:, None] - labels[other[cells]][None, :], decimals))
        wins[x], losses[x] = np.mean(ahead > 0), np.mean(ahead < 0)
    return 1 - same, wins, losses

"""What a pilot's labelled prompts say of one judge, and of two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.data.labels_in_part import LabelsInPart
from bonwise.documents.plan import PilotOfScores
from bonwise.planning.plans.pilot_clusters import ClusterEffect
from bonwise.stats.no_gain import Dealt
from bonwise.stats.power.pilot_effect import Shift, log_residual, standardised, within_z
from bonwise.stats.power.redrawn_gates import CompleteGate, PairGate, PairLabels
from bonwise.stats.sums import Floats, Sums

__all__ = ["GainPilot", "Moments", "RivalPilot"]


_Ints = npt.NDArray[np.int64]

_WHOLE_PROMPTS = (
    "a plan rests on how the figures of prompts labelled whole vary. bonwise audit --design cells uses them, if the "
    "labelled candidates are a random sample of all."
)


class Moments(NamedTuple):
    """Of some labels of each prompt, each of shape (prompts,): their mean, and the mean of their squares.

    Labels are taken from the mean label of the table, so that squares keep their digits.
    """

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
    """Over those leaders, and over all candidates."""
    labels: Moments = field(repr=False)
    """Over those leaders, and over all candidates."""
    dealt: Dealt = field(repr=False)
    """Moments of the gain if labels were dealt at random within prompts."""
    pairs: PairLabels = field(repr=False)
    """Labels of the leaders and of the others, of which pairs are drawn."""
    clusters: _Ints | None = field(default=None, repr=False)
    in_part: LabelsInPart = field(default=LabelsInPart(0, 0, 0), repr=False)
    """Labels of prompts that are labelled in part: in no figure."""

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
        return float(np.mean(self.sums.J - self.sums.R))

    def standardised(self, design: str) -> Shift:
        """Return the mean contrast of a design over its standard deviation."""
        return standardised(*self._moments(design), self.clusters)

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

    def gate(self, design: str, confidence: float) -> CompleteGate | PairGate:
        """Return the gate that an audit of a design has, for samples of the pilot."""
        if design == "complete":
            return CompleteGate.of(self.dealt, self.sums.M - self.sums.R, self.clusters, confidence)
        return PairGate.of(self.pairs, self.clusters, confidence)

    def spread(self, design: str) -> float:
        """Return the standard deviation of a design's contrast, in the unit of the labels."""
        m1, m2 = self._moments(design)
        return float(np.sqrt(max(m2.mean() - m1.mean() ** 2, 0.0)))

    def residual(self) -> Shift:
        """Return the logarithm of the variance that decides the width of recovery's interval."""
        return log_residual(self.sums.J - self.sums.R, self.sums.M - self.sums.R, self.clusters)

    def within_z(self) -> Shift:
        """Return Fisher's z of the within-prompt correlation."""
        return within_z(self.sums.eSS, self.sums.eOO, self.sums.eSO, self.clusters)

    def within_z_of_one(self) -> float:
        """Return the variance of Fisher's z from one prompt, were prompts independent."""
        found = within_z(self.sums.eSS, self.sums.eOO, self.sums.eSO)
        return found.units * found.se**2

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
        self, found: Shift, confidence: float, of: str, shown: Callable[[float], float] = float
    ) -> PilotOfScores:
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
    """Probability that A's pick has the higher label, and that B's has."""
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
        return float(np.mean(self.first.sums.J - self.second.sums.J))

    def standardised(self) -> Shift:
        """Return the mean difference of the picks' labels over its standard deviation."""
        return standardised(*self._moments(), self.first.clusters)

    def clustering(self) -> ClusterEffect | None:
        """Return the design effect of the pilot's clusters on the difference of the picks' labels."""
        return ClusterEffect.of(self.first.sums.J - self.second.sums.J, self.first.clusters)

    def vote_clustering(self) -> ClusterEffect | None:
        """Return that on the votes that the picks get."""
        return ClusterEffect.of(self.wins - self.losses, self.first.clusters)

    def spread(self) -> float:
        """Return the standard deviation of the difference, in the unit of the labels."""
        m1, m2 = self._moments()
        return float(np.sqrt(max(m2.mean() - m1.mean() ** 2, 0.0)))

    def _moments(self) -> tuple[Floats, Floats]:
        a, b = self.first.picks, self.second.picks
        return a.mean - b.mean, a.square + b.square - 2 * a.mean * b.mean

    def describe(self, found: Shift, confidence: float, of: str) -> PilotOfScores:
        """Return the pilot's part of the document."""
        return _described(self.source, list(self.judges), len(self.apart), found, confidence, of)


def _described(
    source: str,
    judges: Sequence[str],
    prompts: int,
    found: Shift,
    confidence: float,
    of: str,
    shown: Callable[[float], float] = float,
) -> PilotOfScores:
    figures = (found.estimate, *found.at(confidence))
    estimate, low, high = (shown(one) if np.isfinite(one) else None for one in figures)
    return PilotOfScores(
        source=source, judges=list(judges), prompts=prompts, of=of, estimate=estimate, low=low, high=high
    )

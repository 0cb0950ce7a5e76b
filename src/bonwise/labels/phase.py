"""One phase of labelling: how many prompts of each stratum, which ones, and what that promises."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bonwise.errors import UsageError
from bonwise.labels.population import LabelPopulation
from bonwise.labels.recovery_variance import effective_sample_size, pilot_size, width_ratio
from bonwise.labels.result import DrawCounts, DrawnStratum, DrawRule, WidthRatio
from bonwise.labels.rules import MEANING, Rule
from bonwise.labels.sheet import drawn_pairs
from bonwise.results import given
from bonwise.stats.partial.label_allocation import allocate, draw_within
from bonwise.stats.sums import Floats
from bonwise.table.label_design import BY_CANDIDATE, LabelDesign

__all__ = ["LabelPhase", "share_out"]

ENOUGH_FOR_NEYMAN = 250
"""Labelled prompts below which intervals after a pilot were seen to hold less often than they say."""

_Ints = npt.NDArray[np.int64]
_Mask = npt.NDArray[np.bool_]


def share_out(name: str, rule: Rule, units: int, taken: _Mask, *, first: bool) -> _Ints:
    """Return how many units of each stratum are drawn in the end, over all phases.

    Parameters
    ----------
    name : str
    rule : Rule
    units : int
        Prompts, or clusters of them, asked for over all phases.
    taken : ndarray of bool, shape (units,)
        Drawn before.
    first : bool
        Whether this is the first phase, which of ``neyman`` is the pilot alone.

    Raises
    ------
    bonwise.errors.UsageError
        More pairs than prompts in which the judge tells candidates apart, or a stratum that would have no label.
    """
    if name == "neyman" and first:
        units = pilot_size(units)
    there = rule.open_units
    if units > there.sum():
        raise UsageError(
            f"{units:,} pairs were asked for, and the judge tells candidates apart in {there.sum():,} prompts",
            hint=f"ask for at most {2 * int(there.sum()):,} labels",
        )
    held = np.bincount(rule.strata[taken], minlength=len(there)).astype(np.int64)
    counts = allocate(there, rule.units * rule.sd, units, taken=held)
    if np.any((counts == 0) & (there > 0)):
        raise UsageError(
            f"{units:,} labels do not reach every one of {len(counts)} strata", hint="ask for more labels"
        )
    return counts


@dataclass(frozen=True, eq=False)
class LabelPhase:
    """One phase, ready to be drawn."""

    name: DrawRule
    """Of the rule."""
    population: LabelPopulation
    rule: Rule
    taken: _Mask
    """Drawn before."""
    counts: _Ints
    """Units drawn in the end."""
    before: LabelDesign | None
    """The earlier phases, in the order of the panel."""

    @property
    def number(self) -> int:
        """1, 2, ..."""
        return 1 if self.before is None else int(self.before.phase.max()) + 1

    @property
    def held(self) -> _Ints:
        """Units of each stratum drawn before."""
        return np.bincount(self.rule.strata[self.taken], minlength=len(self.counts)).astype(np.int64)

    @property
    def ess(self) -> float:
        """Effective sample size of the weights."""
        return float(effective_sample_size(self.rule.units, self.counts))

    def draw(self, seed: int) -> tuple[LabelDesign, _Mask]:
        """Return the design of all phases, and what was drawn now.

        Parameters
        ----------
        seed : int
            Each phase has its own stream of it.
        """
        rng = np.random.default_rng([seed, self.number])
        units = self.population.units
        now = draw_within(self.rule.strata, self.counts - self.held, rng, self.taken)[units.of_prompts]
        earlier = np.zeros(len(now), dtype=np.int64) if self.before is None else self.before.phase
        panel = self.population.panel
        picks, others = drawn_pairs(self.name, panel, now, self.before, rng)
        design = LabelDesign(
            panel.prompt_ids,
            np.where(now, self.number, earlier),
            (self.counts / self.rule.units)[self.rule.strata][units.of_prompts],
            self.rule.strata[units.of_prompts],
            self.name,
            seed,
            panel.judge,
            picks,
            others,
            seeds=np.where(earlier > 0, seed if self.before is None else self.before.seeds, seed),
            clusters=[units.names[unit] for unit in units.of_prompts.tolist()] if units.clustered else (),
        )
        return design, now

    def strata(self) -> list[DrawnStratum]:
        """Return each stratum's part of the document."""
        size, held = self.rule.size, self.held
        means = None if size is None else np.bincount(self.rule.strata, weights=size) / self.rule.units
        return [
            DrawnStratum(
                stratum=h,
                prompts=int(there),
                drawn_before=int(held[h]),
                drawn_now=int(self.counts[h] - held[h]),
                propensity=float(self.counts[h] / there),
                mean_size=None if means is None else float(means[h]),
                **given(unit="cluster" if self.population.units.clustered else None),
            )
            for h, there in enumerate(self.rule.units)
        ]

    def width(self) -> WidthRatio:
        """Return the width to expect over that of as many labels at random, where it can be told beforehand."""
        reason = self._no_width()
        if reason:
            return WidthRatio(estimate=None, explained=None, reason=reason)
        if self.name == "uniform":
            return WidthRatio(estimate=1.0, explained=0.0, assumption="no score predicts the outcome")
        assumption = (
            "the outcomes of each stratum vary as the earlier phases showed"
            if self.rule.told
            else "the outcome of a prompt varies in proportion to its size measure, and no score predicts it"
        )
        spread = self.rule.sd if self.rule.told else self._size_of_strata()
        ratio = width_ratio(self.rule.units, self.counts, spread, self.rule.explained)
        return WidthRatio(estimate=float(ratio), explained=float(self.rule.explained), assumption=assumption)

    def _no_width(self) -> str:
        if self.name in BY_CANDIDATE:
            return "pick and pair label single candidates, which need another formula than whole pools"
        if self.name == "neyman" and self.before is None:
            return "the pilot is drawn at random; how outcomes spread is known after it"
        if self.name != "uniform" and (len(self.counts) == 1 or not np.any(self.rule.sd > 0)):
            return "nothing tells prompts apart"
        if self.name == "neyman" and not self.rule.told:
            return "the labels so far say nothing of how outcomes spread"
        return ""

    def _size_of_strata(self) -> Floats:
        """Return the root mean square of the size measure in each stratum."""
        size = np.ones(len(self.rule.strata)) if self.rule.size is None else self.rule.size
        means: Floats = np.sqrt(np.bincount(self.rule.strata, weights=size**2) / self.rule.units)
        return means

    def said(self, counts: DrawCounts, labels: int) -> tuple[str, ...]:
        """Return what was drawn, in words."""
        before = counts.drawn - counts.drawn_now
        more = f" on top of the {before:,} drawn before" if before else ""
        cells = f"{counts.candidate_labels_now:,} candidate labels"
        what = {
            "pick": f"the judge's pick of each ({cells})",
            "pair": f"the judge's pick and one other candidate of each ({cells})",
        }.get(self.name, f"all candidates of each ({cells})")
        verb = "is" if counts.drawn_now == 1 else "are"
        whole = self.population.units
        of = f"{counts.drawn_now:,} of {counts.prompts:,} prompts"
        if whole.clustered:
            of += f", those of {int((self.counts - self.held).sum()):,} of {whole.count:,} clusters,"
        said = [
            f"{of} {verb} to be labelled now{more}: {what}.",
            f"Drawn by {self.name}: {MEANING[self.name]}.",
        ]
        if self.name == "pair" and labels % 2:
            said.append(f"Labels come in pairs: {labels - 1:,} of the {labels:,} asked for are used.")
        return tuple(said)

    def said_of_the_next(self, labels: int) -> tuple[str, ...]:
        """Return what is left to draw after a pilot, in words."""
        if self.name != "neyman" or self.before is not None:
            return ()
        said = (
            f"This is the pilot of {labels:,} labelled prompts: label it, then draw the others with this file as the "
            "earlier draw."
        )
        few = (
            f"With fewer than {ENOUGH_FOR_NEYMAN} labels its intervals hold less often than they say: rule needs no "
            "pilot."
        )
        return (said, few) if labels < ENOUGH_FOR_NEYMAN else (said,)

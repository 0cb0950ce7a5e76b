"""Drawing cells for labelling: what was asked for, what is refused, and the phase of whole pools and pairs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from bonwise.arrays import Ints, Mask
from bonwise.errors import InputError, UsageError
from bonwise.labels import recovery_variance, result, rules, sheet
from bonwise.labels.population import LabelPopulation
from bonwise.printable import quoted
from bonwise.stats.partial import cell_allocation, label_allocation
from bonwise.stats.top_of_scores import TopOfScores, top_of_scores
from bonwise.table import checks, draw_records, label_design, panel

FEWEST_CANDIDATES = 8
"""Candidates per prompt from which pairs beside whole pools narrow the interval of recovery."""

_CONTINUED = ("rule", "uniform", "stratified")
"""Rules that draw whole pools, and how many by scores alone: a draw by cell can go on from them."""


@dataclass(frozen=True, slots=True)
class DrawnBy:
    """What a draw was asked to be."""

    rule: result.DrawRule
    """Of the record."""
    purpose: Literal["recovery", "gain"] | None
    """Of a draw by cell; None where prompts are drawn."""

    @property
    def by_cell(self) -> bool:
        """Whether cells are drawn."""
        return self.purpose is not None


def drawn_by(
    by: str | None, for_: str | None, design: str | None, earlier: label_design.LabelDesign | None
) -> DrawnBy:
    """Read what a draw was asked to be; where nothing is said it is that of the earlier draw."""
    checks.check_text("by", by, "by='cell'")
    checks.check_text("for_", for_, "for_='gain'")
    if by not in (None, "prompt", "cell"):
        raise UsageError(f"unknown unit of a draw {quoted(by)}", hint="by (--by) is prompt or cell")
    kept = earlier is not None and earlier.cells is not None and design is None
    if by is None and kept:
        by = "cell"
    if by != "cell":
        if for_ is not None:
            raise UsageError(
                "for_ (--for) says what a draw by cell is for, and prompts are drawn",
                hint="draw cells with by='cell' (--by cell), or leave it out",
            )
        if earlier is not None and earlier.rule == label_design.WHOLE_AND_PAIR:
            raise UsageError(
                f"{earlier.source} was drawn by cell, and prompts were asked for", hint="leave by (--by) out"
            )
        return DrawnBy(rules.known_rule(design or (earlier.rule if earlier is not None else "rule")), None)
    if design is not None:
        raise UsageError(
            f"by cell the design follows from what the labels are for, and {design} was asked for",
            hint="leave design (--design) out",
        )
    purpose = for_ or ("gain" if earlier is not None and earlier.rule == "pair" else "recovery")
    if purpose == "gain":
        _refuse_other(earlier, ("pair",))
        return DrawnBy("pair", "gain")
    if purpose != "recovery":
        raise UsageError(f"labels are for recovery or gain, not {quoted(purpose)}", hint="such as for_='gain'")
    _refuse_other(earlier, (label_design.WHOLE_AND_PAIR, *_CONTINUED))
    return DrawnBy("whole-and-pair", "recovery")


def _refuse_other(earlier: label_design.LabelDesign | None, rules: tuple[str, ...]) -> None:
    if earlier is not None and earlier.rule not in rules:
        raise UsageError(
            f"{earlier.source} was drawn by {earlier.rule}, which this draw by cell cannot continue",
            hint=f"it continues a draw by {' or '.join(rules)}: draw anew, or go on by prompt",
        )


def with_chances(design: label_design.LabelDesign, population: LabelPopulation) -> label_design.LabelDesign:
    """Return a draw of pairs with the probability of each cell and pair."""
    sizes = population.panel.sizes
    tied = top_of_scores(population.panel.scores, sizes, population.panel.ranked).tied
    none = np.zeros(len(sizes), dtype=bool)
    cells = draw_records.CellChances.of(none, np.zeros(len(sizes)), design.propensity, tied, sizes)
    return replace(design, cells=cells)


@dataclass(frozen=True, eq=False)
class CellPhase:
    """One phase of a draw of whole pools and pairs, with 8 candidates or more and labels for 60 whole pools."""

    population: LabelPopulation
    labels: int
    """Candidates to be labelled, over all phases."""
    before: label_design.LabelDesign | None
    """The earlier phases, in the order of the panel."""
    counts: cell_allocation.CellAllocation = field(init=False, repr=False)
    of_prompts: Ints = field(init=False, repr=False)

    def __post_init__(self) -> None:
        cells = self._cells
        _refuse(self.population, cells, self.labels)
        strata = (
            cell_allocation.cell_strata(cells, self.labels) if self.before is None else self._continued(self.before)
        )
        object.__setattr__(self, "of_prompts", strata)
        self._refuse_fewer()
        object.__setattr__(self, "counts", cell_allocation.allocate_cells(cells, strata, self.labels, held=self.held))

    @cached_property
    def _tops(self) -> TopOfScores:
        return top_of_scores(self.population.panel.scores, self.population.panel.sizes, self.population.panel.ranked)

    @cached_property
    def _cells(self) -> cell_allocation.CellPopulation:
        panel, second = self.population.panel, self.population.second
        size = label_allocation.size_measure(panel.scores, panel.sizes, second)
        return cell_allocation.CellPopulation(panel.sizes, self._tops.tied < panel.sizes, size)

    def _continued(self, before: label_design.LabelDesign) -> Ints:
        """Return the strata of an earlier draw, the open prompts of each apart from the tied ones."""
        order = np.where(self._cells.open, before.stratum, before.stratum.max() + 1 + before.stratum)
        return np.unique(order, return_inverse=True)[1].astype(np.int64)

    @property
    def number(self) -> int:
        """1, 2, ..."""
        return 1 if self.before is None else int(self.before.phase.max()) + 1

    @property
    def taken(self) -> Mask:
        """Whether each prompt was drawn before."""
        return np.zeros(len(self.of_prompts), dtype=bool) if self.before is None else self.before.drawn

    @cached_property
    def held(self) -> cell_allocation.CellAllocation:
        """Whole pools and pairs of each stratum, drawn before."""
        whole = np.zeros(len(self.of_prompts), dtype=bool) if self.before is None else self.before.whole
        many = int(self.of_prompts.max()) + 1
        counted = (np.bincount(self.of_prompts[mask], minlength=many) for mask in (whole, self.taken & ~whole))
        return cell_allocation.CellAllocation(*(counts.astype(np.int64) for counts in counted))

    def _refuse_fewer(self) -> None:
        whole = self.taken if self.before is None else self.before.whole
        drawn = int(self.population.panel.sizes[whole].sum()) + 2 * int(self.held.pairs.sum())
        if drawn and self.labels <= drawn:
            raise UsageError(
                f"{drawn:,} candidates were drawn before, and {self.labels:,} labels asked for in all",
                hint="labels (--labels) counts all phases: ask for more than were drawn before",
            )

    @property
    def prompts(self) -> Ints:
        """N_h, shape (strata,)."""
        return np.bincount(self.of_prompts).astype(np.int64)

    @property
    def ess(self) -> float:
        """Effective sample size of the weights of drawn prompts."""
        return float(recovery_variance.effective_sample_size(self.prompts, self.counts.whole + self.counts.pairs))

    def draw(self, seed: int) -> tuple[label_design.LabelDesign, Mask]:
        """Return the design of all phases, and which prompts were drawn now."""
        rng = np.random.default_rng([seed, self.number])
        strata, taken, counts, held = self.of_prompts, self.taken, self.counts, self.held
        whole = label_allocation.draw_within(strata, counts.whole - held.whole, rng, taken)
        pair = label_allocation.draw_within(strata, counts.pairs - held.pairs, rng, taken | whole)
        panel, before, now = self.population.panel, self.before, whole | pair
        picks, others = sheet.drawn_pairs("pair", panel, pair, before, rng)
        earlier = np.zeros(len(now), dtype=np.int64) if before is None else before.phase
        k, m = (part / self.prompts for part in (counts.whole, counts.pairs))
        all_whole = whole if before is None else whole | before.whole
        design = label_design.LabelDesign(
            panel.prompt_ids,
            np.where(now, self.number, earlier),
            ((counts.whole + counts.pairs) / self.prompts)[strata],
            strata,
            label_design.WHOLE_AND_PAIR,
            seed,
            panel.judge,
            picks,
            others,
            seeds=np.where(earlier > 0, seed if before is None else before.seeds, seed),
            cells=draw_records.CellChances.of(all_whole, k[strata], m[strata], self._tops.tied, panel.sizes),
        )
        return design, now

    def strata(self) -> list[result.DrawnStratum]:
        """Return each stratum's part of the document."""
        means = np.bincount(self.of_prompts, weights=self._cells.measure) / self.prompts
        drawn, held = self.counts.whole + self.counts.pairs, self.held.whole + self.held.pairs
        return [
            result.DrawnStratum(
                stratum=h,
                prompts=int(prompts),
                drawn_before=int(held[h]),
                drawn_now=int(drawn[h] - held[h]),
                propensity=float(drawn[h] / prompts),
                mean_size=float(means[h]),
                whole_pools=int(self.counts.whole[h]),
                pairs=int(self.counts.pairs[h]),
            )
            for h, prompts in enumerate(self.prompts)
        ]

    def width(self) -> result.WidthRatio:
        """Return that the width is not known in advance."""
        reason = "whole pools and pairs together need another formula than whole pools"
        return result.WidthRatio(estimate=None, explained=None, reason=reason)

    def said(self, counts: result.DrawCounts, _labels: int) -> tuple[str, ...]:
        """Return what was drawn, in words."""
        before = counts.drawn - counts.drawn_now
        more = f" on top of the {before:,} drawn before" if before else ""
        whole = int((self.counts.whole - self.held.whole).sum())
        pairs = int((self.counts.pairs - self.held.pairs).sum())
        drawn = (
            f"{counts.drawn_now:,} of {counts.prompts:,} prompts are to be labelled now{more}: {whole:,} with all "
            f"candidates and {pairs:,} as a pair ({counts.candidate_labels_now:,} candidate labels)."
        )
        pair = (
            "A pair is one candidate with the judge's highest score and one of the others, both at random, where the "
            "judge does not tie all candidates."
        )
        return drawn, pair, *rules.looked_at(self.population, self.population.second)

    def said_of_the_next(self, _labels: int) -> tuple[str, ...]:
        """Return what the labels will tell."""
        return ("These labels estimate gain and recovery, and no other metric.",)


def _refuse(population: LabelPopulation, cells: cell_allocation.CellPopulation, labels: int) -> None:
    source, sizes = population.table.source, cells.sizes
    small = sizes < FEWEST_CANDIDATES
    if small.sum() > panel.MAY_LACK * len(sizes):
        tested = " (5 to 7 candidates were not simulated)" if int(np.median(sizes)) > 4 else ""
        raise InputError(
            f"{source}: {int(small.sum()):,} of {len(sizes):,} prompts have fewer than {FEWEST_CANDIDATES} "
            f"candidates, where no draw of cells was seen to estimate recovery better than whole pools{tested}",
            hint="draw whole pools (leave --by out), or draw cells for the gain alone with for_='gain' (--for gain)",
        )
    if not cells.open.any():
        raise InputError(
            f"{source}: the judge ties all candidates of every prompt, so there is no pair to draw",
            hint="draw whole pools (leave --by out)",
        )
    least = round(cell_allocation.FEWEST_WHOLE * float(sizes.mean()))
    if labels < least or len(sizes) < cell_allocation.FEWEST_WHOLE:
        raise UsageError(
            f"{labels:,} labels do not pay for {cell_allocation.FEWEST_WHOLE} whole pools, below which intervals of "
            "recovery hold less often than they say",
            hint=f"ask for at least {least:,} labels of at least {cell_allocation.FEWEST_WHOLE} prompts, or draw "
            "whole pools (leave --by out)",
        )
    if labels > sizes.sum():
        raise UsageError(
            f"{source} holds {int(sizes.sum()):,} candidates, and {labels:,} labels were asked for",
            hint=f"ask for at most {int(sizes.sum()):,}",
        )

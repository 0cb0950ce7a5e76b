"""Drawing prompts, or candidates, for labelling: a table of scores in, a label design out."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bonwise.arrays import Floats, Ints, Mask
from bonwise.errors import InputError, UsageError
from bonwise.labels import recovery_variance, result, rules
from bonwise.labels.cells import CellPhase, DrawnBy, drawn_by, with_chances
from bonwise.labels.population import LabelPopulation, label_population
from bonwise.labels.sheet import drawn_cells, drawn_pairs, label_sheet, with_texts, with_words
from bonwise.printable import quoted
from bonwise.release import release
from bonwise.results import given
from bonwise.stats.partial.label_allocation import allocate, draw_within
from bonwise.table import checks, reading_options
from bonwise.table.label_design import BY_CANDIDATE, WHOLE_AND_PAIR, LabelDesign

if TYPE_CHECKING:
    from bonwise.table import opening, reading, score_table


ENOUGH_FOR_NEYMAN = 250
"""Labelled prompts below which intervals after a pilot were seen to hold less often than they say."""


def share_out(name: str, rule: rules.Rule, units: int, taken: Mask, *, first: bool) -> Ints:
    """Return how many units of each stratum are drawn over all phases; ``neyman``'s first phase is the pilot."""
    if name == "neyman" and first:
        units = recovery_variance.pilot_size(units)
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

    name: result.DrawRule
    """Of the rule."""
    population: LabelPopulation
    rule: rules.Rule
    taken: Mask
    """Drawn before."""
    counts: Ints
    """Units drawn in the end."""
    before: LabelDesign | None
    """The earlier phases, in the order of the panel."""

    @property
    def number(self) -> int:
        """1, 2, ..."""
        return 1 if self.before is None else int(self.before.phase.max()) + 1

    @property
    def held(self) -> Ints:
        """Units of each stratum drawn before."""
        return np.bincount(self.rule.strata[self.taken], minlength=len(self.counts)).astype(np.int64)

    @property
    def ess(self) -> float:
        """Effective sample size of the weights."""
        return float(recovery_variance.effective_sample_size(self.rule.units, self.counts))

    def draw(self, seed: int) -> tuple[LabelDesign, Mask]:
        """Return the design of all phases, and what was drawn now; each phase has its own stream of the seed."""
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

    def strata(self) -> list[result.DrawnStratum]:
        """Return each stratum's part of the document."""
        size, held = self.rule.size, self.held
        means = None if size is None else np.bincount(self.rule.strata, weights=size) / self.rule.units
        return [
            result.DrawnStratum(
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

    def width(self) -> result.WidthRatio:
        """Return the width to expect over that of as many labels at random, where it can be told beforehand."""
        reason = self._no_width()
        if reason:
            return result.WidthRatio(estimate=None, explained=None, reason=reason)
        if self.name == "uniform":
            return result.WidthRatio(estimate=1.0, explained=0.0, assumption="no score predicts the outcome")
        assumption = (
            "the outcomes of each stratum vary as the earlier phases showed"
            if self.rule.told
            else "the outcome of a prompt varies in proportion to its size measure, and no score predicts it"
        )
        spread = self.rule.sd if self.rule.told else self._size_of_strata()
        ratio = recovery_variance.width_ratio(self.rule.units, self.counts, spread, self.rule.explained)
        return result.WidthRatio(estimate=float(ratio), explained=float(self.rule.explained), assumption=assumption)

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
        return np.sqrt(np.bincount(self.rule.strata, weights=size**2) / self.rule.units)

    def said(self, counts: result.DrawCounts, labels: int) -> tuple[str, ...]:
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
        sentences = [
            f"{of} {verb} to be labelled now{more}: {what}.",
            f"Drawn by {self.name}: {rules.MEANING[self.name]}.",
        ]
        if self.name == "pair" and labels % 2:
            sentences.append(f"Labels come in pairs: {labels - 1:,} of the {labels:,} asked for are used.")
        return tuple(sentences)

    def said_of_the_next(self, labels: int) -> tuple[str, ...]:
        """Return what is left to draw after a pilot, in words."""
        if self.name != "neyman" or self.before is not None:
            return ()
        sentence = (
            f"This is the pilot of {labels:,} labelled prompts: label it, then draw the others with this file as the "
            "earlier draw."
        )
        few = (
            f"With fewer than {ENOUGH_FOR_NEYMAN} labels its intervals hold less often than they say: rule needs no "
            "pilot."
        )
        return (sentence, few) if labels < ENOUGH_FOR_NEYMAN else (sentence,)


def drawn_labels(  # noqa: PLR0913 - the one front door of the draw; all but the source are named
    source: opening.ScoreSource,
    options: reading_options.ReadingOptions,
    *,
    labels: int,
    design: str | None,
    judge: str | None,
    seed: int,
    after: str | Path | LabelDesign | None,
    label_file: reading.RowSource | None,
    texts: bool,
    by: str | None,
    for_: str | None,
    pools: str | Path | None,
) -> result.LabelDraw:
    """Draw what to label."""
    earlier = _earlier(after)
    labels, seed = (
        checks.checked_whole("labels", labels, -math.inf, "100"),
        checks.checked_whole("seed", seed, 0, "1"),
    )
    _refuse(labels, design, earlier)
    asked = drawn_by(by, for_, design, earlier)
    _refuse_labels(asked, earlier, label_file)
    population = label_population(
        source,
        options,
        judge=judge or (earlier.judge if earlier is not None else None),
        with_labels=earlier is not None or asked.by_cell,
    )
    before = None if earlier is None else _placed(earlier, population)
    phase, of_rule = _phase(asked, population, labels, before)
    drawn, now = phase.draw(seed)
    if asked.by_cell and drawn.cells is None:
        drawn = with_chances(drawn, population)
    sheet = label_sheet(population, drawn, now)
    cells = drawn_cells(drawn, population.panel, now)
    already = int((cells & ~np.isnan(population.panel.labels)).sum()) if asked.by_cell else None
    counts = result.DrawCounts(
        prompts=len(population.panel.sizes),
        cells=len(population.panel.scores),
        dropped=population.dropped,
        drawn=int(drawn.drawn.sum()),
        drawn_now=int(now.sum()),
        candidate_labels_now=int(cells.sum()) - (already or 0),
        **given(labelled_already=already, clusters=_clusters(population, drawn, now)),
    )
    settings = result.DrawSettings(
        **population.settings.to_dict(),
        design=asked.rule,
        labels=labels,
        seed=seed,
        phase=phase.number,
        texts=bool(texts),
        after=None if earlier is None else earlier.source,
        version=release(),
        **given(drawn_for=asked.purpose, pools=None if pools is None else str(pools)),
    )
    draw = result.LabelDraw(
        settings=settings,
        data=counts,
        strata=phase.strata(),
        ess=phase.ess,
        width_ratio=phase.width(),
        sentences=[*phase.said(counts, labels), *of_rule, *_said_of_labels(already), *phase.said_of_the_next(labels)],
    )
    sheet = _with_words(sheet, source, population.table, texts=texts, pools=pools)
    return draw.computed_from(result.DrawnRows(drawn, sheet))


def _with_words(
    sheet: pd.DataFrame,
    source: opening.ScoreSource,
    table: score_table.ScoreTable,
    *,
    texts: bool,
    pools: str | Path | None,
) -> pd.DataFrame:
    if pools is not None:
        return with_words(sheet, table, pools)
    return with_texts(sheet, source, table) if texts else sheet


def _earlier(after: object) -> LabelDesign | None:
    if after is None or isinstance(after, LabelDesign):
        return after
    if not isinstance(after, str | Path):
        raise UsageError(f"after is an earlier draw, not {quoted(after)}", hint="give its file, or its LabelDesign")
    return LabelDesign.read(after)


def _refuse(labels: int, design: str | None, earlier: LabelDesign | None) -> None:
    checks.check_text("design", design, "design='rule'")
    if design is not None:
        rules.known_rule(design)
    if labels < 2:
        raise UsageError(
            f"{labels} labelled prompt{'' if labels == 1 else 's'} cannot show how much prompts differ",
            hint="ask for at least 2, better 100 or more",
        )
    if design is not None and earlier is not None and earlier.rule != design:
        raise UsageError(
            f"{earlier.source} was drawn by {earlier.rule}, and {design} was asked for",
            hint=f"continue with {earlier.rule}: a design has one rule",
        )


def _refuse_labels(asked: DrawnBy, earlier: LabelDesign | None, label_file: object | None) -> None:
    if label_file is not None and earlier is None and not asked.by_cell:
        raise UsageError(
            "label_file was given, and a first draw looks at no label",
            hint="leave it (--label-file) out, or name the earlier draw (--after)",
        )


def _phase(
    asked: DrawnBy, population: LabelPopulation, labels: int, before: LabelDesign | None
) -> tuple[LabelPhase | CellPhase, tuple[str, ...]]:
    """Return the phase to draw, and what to say of the rule."""
    if population.units.clustered and (asked.by_cell or asked.rule in BY_CANDIDATE):
        raise UsageError(
            f"{population.table.source}: prompts are in clusters, and candidates of single prompts were to be drawn",
            hint="draw clusters, all their prompts with all candidates: design (--design) rule or uniform",
        )
    if asked.rule == WHOLE_AND_PAIR:
        return CellPhase(population, labels, before), ()
    taken = np.zeros(population.units.count, dtype=bool) if before is None else population.units.first(before.drawn)
    wanted = rules.units_asked(
        asked.rule, labels, population, 0 if before is None else int(before.drawn.sum()), taken
    )
    rule, changes = rules.applied_rule(asked.rule, population, wanted, before)
    counts = share_out(asked.rule, rule, wanted, taken, first=before is None)
    return LabelPhase(asked.rule, population, rule, taken, counts, before), (*changes, *rule.sentences)


def _clusters(population: LabelPopulation, drawn: LabelDesign, now: Mask) -> result.DrawnClusters | None:
    units = population.units
    if not units.clustered:
        return None
    taken, taken_now = (int(units.first(mask).sum()) for mask in (drawn.drawn, now))
    return result.DrawnClusters(clusters=units.count, drawn=taken, drawn_now=taken_now)


def _said_of_labels(already: int | None) -> tuple[str, ...]:
    if not already:
        return ()
    have = "candidate drawn now has a label" if already == 1 else "candidates drawn now have labels"
    return (f"{already:,} {have} already and need none.",)


def _placed(earlier: LabelDesign, population: LabelPopulation) -> LabelDesign:
    """Return an earlier design in the order of the panel, refusing one of other prompts or of another judge."""
    panel = population.panel
    if earlier.judge != panel.judge:
        raise InputError(
            f"{earlier.source} was drawn for the audit of {quoted(earlier.judge)}, not of {quoted(panel.judge)}",
            hint="name the same judge",
        )
    at = earlier.prompt_ids.get_indexer(panel.prompt_ids)
    strange, gone = int((at < 0).sum()), len(earlier.prompt_ids) - int((at >= 0).sum())
    if strange or gone:
        raise InputError(
            f"{earlier.source} and {population.table.source} differ: {strange:,} of the prompts in the table alone "
            f"and {gone:,} in the design alone",
            hint="draw from the same table with the same exclude (--exclude) and shape",
        )
    _, stratum = np.unique(earlier.stratum[at], return_inverse=True)
    earlier.refuse_other_clusters(at, panel.clusters)
    picks, others, clusters = (
        [side[x] for x in at.tolist()] if len(side) else ()
        for side in (earlier.picks, earlier.others, earlier.clusters)
    )
    return replace(
        earlier,
        prompt_ids=panel.prompt_ids,
        phase=earlier.phase[at],
        seeds=earlier.seeds[at],
        propensity=earlier.propensity[at],
        stratum=stratum.astype(np.int64),
        picks=picks,
        others=others,
        clusters=clusters,
        cells=None if earlier.cells is None else earlier.cells.at(at),
    )

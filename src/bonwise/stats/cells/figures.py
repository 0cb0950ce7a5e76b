"""Every metric of a judge from every labelled cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bonwise.stats.catalog import ESTIMANDS, METRICS
from bonwise.stats.cells.cell_intervals import ContributedIntervals, limits_of
from bonwise.stats.cells.cell_level import cell_level_bias
from bonwise.stats.cells.contrasts import gain_contributions, random_contributions
from bonwise.stats.cells.counting import cell_counts
from bonwise.stats.cells.folded_ridge import prompt_folds
from bonwise.stats.cells.label_rates import label_rates
from bonwise.stats.cells.maxima import OUTCOMES, complete_weights, maxima
from bonwise.stats.cells.modelled import SizeGroup, modelled
from bonwise.stats.cells.pair_figures import OVER_CELLS, OVER_PAIRS, PairInfluence, pair_influences
from bonwise.stats.cells.pair_totals import pair_totals
from bonwise.stats.cells.refusals import notes, refusals
from bonwise.stats.cells.results import LabelledCellFigures
from bonwise.stats.cells.table import CellTable, Ints
from bonwise.stats.cells.whole_tau import tau_influence
from bonwise.stats.estimate import Estimate
from bonwise.stats.estimation import IntervalRule, estimate
from bonwise.stats.sums import Floats, prompt_sums

__all__ = ["cell_figures"]

_BEST = ("value_oracle", "recovery", "hit_rate", "top1_accuracy", "kendall_tau")


def cell_figures(table: CellTable, rule: IntervalRule, *, seed: int = 0) -> LabelledCellFigures:
    """Estimate every metric from every labelled cell.

    The population is the one that the prompts of the table were drawn from, as where all cells are labelled.

    Parameters
    ----------
    table : CellTable
    rule : IntervalRule
        Its confidence and label range. Intervals are by prompt, or by cluster of the table, also where it asks for a
        bootstrap.
    seed : int
        Deals prompts into folds, and draws patterns of labels for pools of more than 6 candidates.

    Returns
    -------
    LabelledCellFigures
        Metrics carry the method "cells"; those of the scores alone come from all prompts and carry "complete".

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> labels = rng.random((200, 4)).round(1)
    >>> scores = (labels + rng.normal(0, .3, (200, 4))).round(1)
    >>> hidden = np.where(rng.random((200, 4)) < .7, labels, np.nan)
    >>> table = CellTable(np.full(200, 4), scores.ravel(), hidden.ravel())
    >>> found = cell_figures(table, IntervalRule())
    >>> found.metrics["gain"].method, found.counts["recovery"].pools == int((~np.isnan(hidden)).all(1).sum())
    ('cells', True)
    """
    rule = replace(rule, kind="default", clusters=table.clusters)
    zero = np.zeros(len(table.scores))
    sums = prompt_sums(table.scores, zero, table.sizes)
    of_scores = estimate([e for e in ESTIMANDS if not e.on_labels], sums, rule)
    if not table.labelled.any():
        return _without_labels(table, of_scores, sums)
    work = _CellWork(table, rule, seed)
    found = {**of_scores, **work.estimates()}
    counts = cell_counts(work.groups)
    return LabelledCellFigures(
        metrics={metric.name: found[metric.name] for metric in METRICS},
        counts={metric.name: counts[metric.name] for metric in METRICS},
        gain_parts=work.contributions.get("gain"),
        oracle_parts=work.contributions.get("oracle_gain"),
        ess=work.ess,
        notes=tuple(notes(table, work.groups, work.rates, work.why)),
        contributions=work.contributions,
        units=table.units,
        score_sums=sums,
    )


def _without_labels(table: CellTable, of_scores: Mapping[str, Estimate], sums: Floats) -> LabelledCellFigures:
    nothing = Estimate.undefined("undefined: no cell is labelled", 0).with_method("cells")
    counts = cell_counts(())
    return LabelledCellFigures(
        metrics={metric.name: of_scores.get(metric.name, nothing) for metric in METRICS},
        counts={metric.name: counts[metric.name] for metric in METRICS},
        gain_parts=None,
        oracle_parts=None,
        ess=0.0,
        notes=(),
        contributions={},
        units=table.units,
        score_sums=sums,
    )


@dataclass(frozen=True, eq=False)
class _CellWork:
    """What the figures of a table are made of, each computed once."""

    table: CellTable
    rule: IntervalRule
    seed: int

    @cached_property
    def rates(self) -> Floats | None:
        return label_rates(self.table)

    @cached_property
    def folds(self) -> Ints:
        return prompt_folds(self.table, self.seed)

    @cached_property
    def origin(self) -> float:
        return _middle(self.table.labels[self.table.labelled])

    @cached_property
    def groups(self) -> tuple[SizeGroup, ...]:
        return modelled(self.table, self.rates, self.folds, self.origin)

    @cached_property
    def ess(self) -> float:
        weights = complete_weights(self.groups)
        square = float(np.sum(weights * weights))
        return float(weights.sum()) ** 2 / square if square > 0 else 0.0

    @cached_property
    def why(self) -> Mapping[str, str]:
        return refusals(self.table, self.groups, self.rates, self.ess)

    @cached_property
    def pairs(self) -> dict[str, PairInfluence | None]:
        blocks = [one for group in self.groups for one in group.blocks]
        totals = pair_totals(blocks, self.table.prompts, _middle(self.table.scores))
        return {**pair_influences(totals), "kendall_tau": tau_influence(blocks, self.table.prompts)}

    @cached_property
    def contributions(self) -> dict[str, Floats]:
        """What each prompt contributes to each figure that is not refused; ``oracle_gain`` is M - R."""
        n, why = self.table.prompts, self.why
        found: dict[str, Floats] = {}
        if not why["random"]:
            found["value_random"] = random_contributions(self.groups, n) + self.origin
        if not why["gain"]:
            found["gain"] = gain_contributions(self.groups, n)
        if "gain" in found and "value_random" in found:
            found["value_judge"] = found["value_random"] + found["gain"]
        if not why["best"]:
            found.update(zip(OUTCOMES, maxima(self.groups, n, self.seed), strict=True))
            if "value_random" in found:
                found["value_oracle"] = found["value_random"] + found["oracle_gain"]
        for name, influence in self.pairs.items():
            if influence is not None and not self.refused(name):
                found[name] = influence.contributions
        return found

    def refused(self, name: str) -> str:
        """Why a figure is refused; empty where it is not."""
        why = self.why
        return {
            "value_random": why["random"],
            "gain": why["gain"],
            "value_judge": why["random"] or why["gain"],
            "value_oracle": why["best"] or why["random"],
            "recovery": why["best"] or why["gain"],
            **dict.fromkeys(("hit_rate", "top1_accuracy", "kendall_tau"), why["best"]),
            **dict.fromkeys((*OVER_PAIRS, "inflation"), why["pairs"]),
            **dict.fromkeys(OVER_CELLS, ""),
        }[name]

    def estimates(self) -> dict[str, Estimate]:
        """Return every metric that needs labels."""
        counts = cell_counts(self.groups)
        intervals = ContributedIntervals(self.table.units, self.rule)
        found = {}
        for e in ESTIMANDS:
            if not e.on_labels:
                continue
            n, refused = counts[e.name].pools, self.refused(e.name)
            if refused:
                one = Estimate.undefined(f"refused: {refused}", n)
            elif e.name == "recovery":
                one = self._recovery(intervals, n)
            elif e.name == "inflation":
                one = self._inflation(intervals, n)
            elif e.name not in self.contributions:
                one = Estimate.undefined(f"undefined: needs {e.needs}", n)
            else:
                average = e.average_over is not None
                one = intervals.mean(
                    self.contributions[e.name],
                    n,
                    limits_of(e, self.rule),
                    bounded=average and not e.contrast,
                    alike=average,
                )
            weighed = self.rates is not None and e.name in _BEST and one.estimate is not None
            found[e.name] = replace(one, method="cells", ess=self.ess if weighed else None)
        level = cell_level_bias(self.table, self.rates, self.folds, self.rule.confidence)
        return {**found, "level_bias": level.with_method("cells")}

    def _recovery(self, intervals: ContributedIntervals, n: int) -> Estimate:
        above, below = self.contributions["gain"], self.contributions["oracle_gain"]
        if not below.mean() > 1e-12 * float(np.abs(below).max()):
            return Estimate.undefined("undefined: needs a prompt where labels differ", n)
        return intervals.ratio(above, below, n, recovery=True)

    def _inflation(self, intervals: ContributedIntervals, n: int) -> Estimate:
        within, overall = self.pairs["within_r"], self.pairs["global_r"]
        if within is None or overall is None:
            return Estimate.undefined("undefined: needs a global_r other than 0 and a defined within_r", n)
        return intervals.lost(within.contributions, overall.contributions, n)


def _middle(values: Floats) -> float:
    # Centring at a value of the data, not at the mean, leaves a constant column exactly 0.
    return float(values[np.abs(values - values.mean()).argmin()])

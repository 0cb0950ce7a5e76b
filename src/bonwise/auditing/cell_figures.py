"""Every metric of a judge from every labelled cell: how much stands behind each, and which the labels cannot bear."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.auditing import cell_gains, cell_intervals, cell_maxima, cell_table, result_labels
from bonwise.auditing.cell_models import FREQUENT, LEAST_RATE, SizeGroup, label_rates, modelled, prompt_folds
from bonwise.stats import catalog, estimation, jackknife, level_bias, support
from bonwise.stats.estimand import Estimand, Estimate
from bonwise.stats.sums import compared, prompt_sums


def cell_level_bias(table: cell_table.CellTable, rates: Floats | None, folds: Ints, confidence: float) -> Estimate:
    """Estimate ``max_c |mean f(S_c) - mean O_c|``, f isotonic on other folds' labelled cells, which weigh 1 / pi."""
    some = table.labelled & table.scored
    pools = len(np.unique(table.owners[some]))
    if table.names is None or not (recurring := level_bias.recurring_names(table.names, table.prompts)).size:
        return Estimate.undefined("undefined: candidate names do not recur across prompts", pools)
    names, units = table.names[some], table.units[table.owners[some]]
    if len(np.unique(units)) < 2 * level_bias.FOLDS:
        return Estimate.undefined(
            f"undefined: {level_bias.FOLDS} folds need {2 * level_bias.FOLDS} prompts or clusters with a label", pools
        )
    w = np.ones(len(names)) if rates is None else 1 / rates[some]
    labels = table.labels[some]
    residuals = level_bias.calibrated(compared(table.scores[some]), labels, w, folds[table.owners[some]]) - labels
    found = [_mean(residuals[names == c], w[names == c], units[names == c]) for c in recurring.tolist()]
    if any(one is None for one in found):
        return Estimate.undefined("undefined: a candidate that recurs has labels on fewer than two prompts", pools)
    biases, errors, df = np.array([one for one in found if one is not None]).T
    worst = int(np.abs(biases).argmax())
    size = float(abs(biases[worst]))
    if errors.max() <= 1e-12 * float(np.abs(labels).max()):
        return Estimate(size, None, None, 0.0, pools, None, reason="no interval: all prompts are off by the same")
    law = level_bias.LargestOf(biases, errors, df)
    return estimation.under(law, confidence, estimate=size, se=float(errors[worst]), n=pools)


def _mean(residuals: Floats, w: Floats, units: Ints) -> tuple[float, float, float] | None:
    """Return a weighted mean, its standard error over units, and the degrees of freedom."""
    known, codes = np.unique(units, return_inverse=True)
    if len(known) < 2:
        return None
    mean = float(w @ residuals / w.sum())
    pull = np.bincount(codes, weights=w * (residuals - mean)) / w.sum()
    se = float(np.sqrt(len(known) / (len(known) - 1) * np.sum(pull**2)))
    return mean, se, jackknife.kurtosis_df(pull)


_GAIN = ("gain", "value_judge", "recovery")
_FROM_COMPLETE_POOLS = ("value_oracle", "recovery", "hit_rate", "top1_accuracy")
_CELLS = ("value_random", "global_r", "level_bias")


def cell_counts(groups: tuple[SizeGroup, ...]) -> dict[str, result_labels.CellCounts]:
    """Count behind every metric: pairs of labelled cells, for gains across the top, for maxima complete pools."""
    blocks = [one.block for group in groups for one in group.blocks]
    cells = sum(int(block.labelled.sum()) for block in blocks)
    some = sum(int(np.count_nonzero(block.labelled)) for block in blocks)
    complete = sum(int(block.complete.sum()) for block in blocks)
    of_gain = _sum([_gain(block) for block in blocks])
    of_pairs = _sum([_pairs(block) for block in blocks])
    whole = sum(int(block.complete.sum()) * block.K for block in blocks)
    whole_pairs = sum(int(block.complete.sum()) * block.K * (block.K - 1) // 2 for block in blocks)
    found = {metric.name: of_pairs for metric in catalog.METRICS}
    for name in _CELLS:
        found[name] = result_labels.CellCounts(cells=cells, pools=some, pairs=0)
    found["gain"] = of_gain
    found["value_judge"] = result_labels.CellCounts(cells=cells, pools=some, pairs=of_gain.pairs)
    for name in _FROM_COMPLETE_POOLS:
        found[name] = result_labels.CellCounts(
            cells=cells, pools=complete, pairs=of_gain.pairs if name in _GAIN else 0
        )
    found["kendall_tau"] = result_labels.CellCounts(cells=whole, pools=complete, pairs=whole_pairs)
    return found


def _sum(counts: list[result_labels.CellCounts]) -> result_labels.CellCounts:
    return result_labels.CellCounts(
        cells=sum(count.cells for count in counts),
        pools=sum(count.pools for count in counts),
        pairs=sum(count.pairs for count in counts),
    )


def _gain(block: cell_table.PoolBlock) -> result_labels.CellCounts:
    tops, others = (block.L & block.A).sum(axis=1), (block.L & ~block.A).sum(axis=1)
    usable = (tops > 0) & (others > 0)
    cells, pairs = int(block.labelled[usable].sum()), int(np.sum(tops * others))
    return result_labels.CellCounts(cells=cells, pools=int(np.count_nonzero(usable)), pairs=pairs)


def _pairs(block: cell_table.PoolBlock) -> result_labels.CellCounts:
    l = block.labelled
    return result_labels.CellCounts(
        cells=int(l[l > 1].sum()), pools=int(np.count_nonzero(l > 1)), pairs=int(np.sum(l * (l - 1)) // 2)
    )


LEAST_ESS = 30.0
"""Effective complete pools below which figures of the best label are refused where chances of a label differ."""

FEW_COMPLETE = 20
"""Complete pools of a frequent size below which a note says that they are few."""


def refusals(
    table: cell_table.CellTable, groups: tuple[SizeGroup, ...], rates: Floats | None, ess: float
) -> Mapping[str, str]:
    """Return why figures are refused, by kind (``random``, ``gain``, ``best``, ``pairs``); empty if they are not."""
    n = table.prompts
    random, gain = cell_gains.random_refused(groups, n), cell_gains.gain_refused(groups, n)
    if rates is not None and not table.fitted:
        gain = gain or _rare(groups, contrasts=True)
        random = random or _rare(groups, contrasts=False)
    best = cell_maxima.maxima_refused(groups, n)
    if rates is not None and ess < LEAST_ESS:
        best = best or (
            f"the complete pools are worth {ess:.0f} of equal chance to be complete, and {LEAST_ESS:.0f} are needed"
        )
    return {"random": random, "gain": gain, "best": best, "pairs": _without_pairs(groups, n)}


def notes(
    table: cell_table.CellTable, groups: tuple[SizeGroup, ...], rates: Floats | None, why: Mapping[str, str]
) -> list[str]:
    """Return sentences on figures that are given and that the labels bear less well."""
    if why["best"]:
        return []
    found = []
    frequent = [
        int(block.block.complete.sum())
        for group in groups
        for block in group.blocks
        if len(block.block.prompts) >= FREQUENT * table.prompts
    ]
    fewest = min(frequent, default=0)
    if frequent and fewest < FEW_COMPLETE:
        found.append(
            f"Few complete pools: {fewest} of a size are labelled whole, and below {FEW_COMPLETE} the intervals of "
            "value_oracle, recovery, hit_rate and top1_accuracy may be too narrow."
        )
    if rates is not None:
        found.append("hit_rate and top1_accuracy are approximate: cells had different chances of a label.")
    return found


def _rare(groups: tuple[SizeGroup, ...], *, contrasts: bool) -> str:
    for group in groups:
        for block in group.blocks:
            if block.pi is None:
                continue
            counts = block.block.contrast != 0 if contrasts else np.ones(block.pi.shape, dtype=bool)
            if bool((block.pi[counts] < LEAST_RATE).any()):
                return f"some cells that count had a chance of a label below {LEAST_RATE:g}"
    return ""


def _without_pairs(groups: tuple[SizeGroup, ...], prompts: int) -> str:
    every = [one.block for group in groups for one in group.blocks]
    for block in every:
        if len(block.prompts) >= FREQUENT * prompts and not (block.labelled > 1).any():
            return f"no pool of {block.K} candidates has two labels"
    return "" if any((block.labelled > 1).any() for block in every) else "no pool has two labels"


_OF_BEST_LABELS = ("value_oracle", "recovery", "hit_rate", "top1_accuracy", "kendall_tau")


def cell_figures(
    table: cell_table.CellTable, rule: estimation.IntervalRule, *, seed: int = 0
) -> cell_intervals.LabelledCellFigures:
    """Estimate every metric from every labelled cell by the methods "cells" or "complete", by prompt or cluster."""
    rule = replace(rule, kind="default", clusters=table.clusters)
    zero = np.zeros(len(table.scores))
    sums = prompt_sums(table.scores, zero, table.sizes, table.ranked)
    of_scores = estimation.estimate([e for e in catalog.ESTIMANDS if not e.on_labels], sums, rule)
    if not table.labelled.any():
        return _without_labels(table, of_scores, sums)
    work = _CellWork(table, rule, seed)
    found = {**of_scores, **work.estimates()}
    seen = support.SeenPools.of(compared(table.labels), table.at_top, table.sizes)
    found |= support.with_support(found, work.worth(seen), seen.further, rule)
    counts = cell_counts(work.groups)
    return cell_intervals.LabelledCellFigures(
        metrics={metric.name: found[metric.name] for metric in catalog.METRICS},
        counts={metric.name: counts[metric.name] for metric in catalog.METRICS},
        gain_parts=work.contributions.get("gain"),
        oracle_parts=work.contributions.get("oracle_gain"),
        ess=work.ess,
        notes=tuple(notes(table, work.groups, work.rates, work.why)),
        contributions=work.contributions,
        units=table.units,
        score_sums=sums,
    )


def _without_labels(
    table: cell_table.CellTable, of_scores: Mapping[str, Estimate], sums: Floats
) -> cell_intervals.LabelledCellFigures:
    nothing = Estimate.undefined("undefined: no cell is labelled", 0).with_method("cells")
    counts = cell_counts(())
    return cell_intervals.LabelledCellFigures(
        metrics={metric.name: of_scores.get(metric.name, nothing) for metric in catalog.METRICS},
        counts={metric.name: counts[metric.name] for metric in catalog.METRICS},
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

    table: cell_table.CellTable
    rule: estimation.IntervalRule
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
        weights = cell_maxima.complete_weights(self.groups)
        square = float(np.sum(weights * weights))
        return float(weights.sum()) ** 2 / square if square > 0 else 0.0

    @cached_property
    def why(self) -> Mapping[str, str]:
        return refusals(self.table, self.groups, self.rates, self.ess)

    @cached_property
    def totals(self) -> cell_intervals.PairTotals:
        blocks = [block for group in self.groups for block in group.blocks]
        return cell_intervals.pair_totals(blocks, self.table.prompts, _middle(self.table.filled))

    @cached_property
    def pairs(self) -> dict[str, cell_intervals.PairInfluence | None]:
        blocks = [block for group in self.groups for block in group.blocks]
        return {
            **cell_intervals.pair_influences(self.totals),
            "kendall_tau": cell_intervals.tau_influence(blocks, self.table.prompts),
        }

    @cached_property
    def contributions(self) -> dict[str, Floats]:
        """What each prompt contributes to each figure that is not refused; ``oracle_gain`` is M - R."""
        n, why = self.table.prompts, self.why
        found: dict[str, Floats] = {}
        if not why["random"]:
            found["value_random"] = cell_gains.random_contributions(self.groups, n) + self.origin
        if not why["gain"]:
            found["gain"] = cell_gains.gain_contributions(self.groups, n)
        if "gain" in found and "value_random" in found:
            found["value_judge"] = found["value_random"] + found["gain"]
        if not why["best"]:
            found.update(zip(cell_maxima.OUTCOMES, cell_maxima.maxima(self.groups, n, self.seed), strict=True))
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
            **dict.fromkeys((*cell_intervals.OVER_PAIRS, "inflation"), why["pairs"]),
            **dict.fromkeys(cell_intervals.OVER_CELLS, ""),
        }[name]

    def estimates(self) -> dict[str, Estimate]:
        """Return every metric that needs labels."""
        counts = cell_counts(self.groups)
        intervals = cell_intervals.ContributedIntervals(self.table.units, self.rule)
        found = {}
        for e in catalog.ESTIMANDS:
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
                    cell_intervals.limits_of(e, self.rule),
                    bounded=(average and not e.contrast) or e.share_of is not None,
                    alike=average,
                    size=self._size(e),
                    most=self._most_draws(e),
                )
            weighed = self.rates is not None and e.name in _OF_BEST_LABELS and one.estimate is not None
            found[e.name] = replace(one, method="cells", ess=self.ess if weighed else None)
        level = cell_level_bias(self.table, self.rates, self.folds, self.rule.confidence)
        return {**found, "level_bias": level.with_method("cells")}

    def _most_draws(self, e: Estimand) -> float:
        """Return the draws that a share is worth at most, see `bonwise.stats.estimation.JudgeSums.most_draws`."""
        if e.at_most_prompts:
            return self.ess
        t = self.totals
        if e.share_of is not None and estimation.mostly_alike(t.all_apart_O[t.all_pairs > 0] > 0):
            return support.effective_count(cell_intervals.around(t.all_O, t.all_OO, t.all_cells))
        return np.inf

    def worth(self, seen: support.SeenPools) -> dict[str, support.Worth]:
        """Return what figures rest on: B as its mean is estimated, or of the labels seen where that is refused."""
        counts, room = cell_counts(self.groups), self.contributions.get("oracle_gain")
        worth_of = {}
        for e in catalog.ESTIMANDS:
            if e.weight is None:
                continue
            pools = counts[e.name].pools
            if e.name in cell_intervals.OVER_PAIRS or e.name in ("inflation", *cell_intervals.OVER_CELLS):
                spread = cell_intervals.spread(self.totals, over_cells=e.name in cell_intervals.OVER_CELLS)
                worth_of[e.name] = support.Worth(support.effective_count(spread, self.table.clusters), pools)
            elif room is None:
                worth_of[e.name] = support.Worth(support.effective_count(seen.M - seen.R), pools)
            else:
                labelled = min(pools, self.ess) if e.name in _FROM_COMPLETE_POOLS else pools
                worth = support.worth_of_mean(room, labelled, self.table.clusters)
                worth_of[e.name] = support.Worth(worth, pools, labelled * float(room.mean()))
        return worth_of

    def _size(self, e: Estimand) -> float:
        """Return the size of a metric, of which a part is rounding: that of the labels, or of shares."""
        if e.name == "attenuation":
            return float(np.ptp(self.table.filled) / np.ptp(self.table.labels[self.table.labelled]))
        return 1.0 if e.limits is not None else self.rule.label_width

    def _recovery(self, intervals: cell_intervals.ContributedIntervals, n: int) -> Estimate:
        above, below = self.contributions["gain"], self.contributions["oracle_gain"]
        if not below.mean() > 1e-12 * float(np.abs(below).max()):
            return Estimate.undefined("undefined: needs a prompt where labels differ", n)
        return intervals.ratio(above, below, n, recovery=True)

    def _inflation(self, intervals: cell_intervals.ContributedIntervals, n: int) -> Estimate:
        within, overall = self.pairs["within_r"], self.pairs["global_r"]
        if within is None or overall is None or overall.contributions.mean() <= 0:
            return Estimate.undefined("undefined: needs a global_r above 0 and a defined within_r", n)
        return intervals.lost(within.contributions, overall.contributions, n)


def _middle(values: Floats) -> float:
    # Centring at a value of the data, not at the mean, leaves a constant column exactly 0.
    return float(values[np.abs(values - values.mean()).argmin()])

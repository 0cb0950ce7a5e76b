"""The candidates that a judge left without a score: how many, why, and what they cost the picks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.auditing.labelling import Labelling
from bonwise.auditing.result_labels import UnscoredCandidates
from bonwise.auditing.settings import Settings
from bonwise.estimates import EstimateRecord
from bonwise.report.numbers import counted, estimate, interval, listed_counts
from bonwise.results import given
from bonwise.stats import catalog, estimand, estimation, jackknife, laws, level_bias
from bonwise.stats.clusters import cluster_codes, too_few_clusters
from bonwise.stats.sums import Sums, compared, prompt_sums, tie_decimals
from bonwise.table import cell_scores, score_table
from bonwise.table.panel import Panel

FEWEST_SCORED = 30
"""Scored candidates below which nothing can be told of the others."""

_DRAWS, _FEWER_DRAWS, _MANY_CELLS = 200, 40, 5_000
"""Draws of each missing score; fewer where many candidates are concerned."""

_GROUPS = 60
"""Groups of prompts that are left out in turn, at most."""

_CHUNK = 1 << 20


def unscored_cost(
    scores: Floats, labels: Floats, sizes: Ints, *, confidence: float, seed: int, clusters: Ints | None = None
) -> estimand.Estimate:
    """Estimate the recovery that the candidates without a score cost.

    A missing score is drawn as ``S + m(O - L) + r``, at the nearest score that the judge gave: S and L are the mean
    score and label of its prompt's scored candidates, m the isotonic fit of scores on labels, each less the mean of
    the others in its prompt, r a residual of it, 200 seeded draws. It assumes that the loss does not depend on the
    score at equal label; fits are made anew without each of at most 60 groups of prompts or clusters. All cells are
    labelled.
    """
    n = len(sizes)
    if int((~np.isnan(scores)).sum()) < FEWEST_SCORED:
        return estimand.Estimate.undefined(f"undefined: needs {FEWEST_SCORED} scored candidates", n)
    t = Sums(*prompt_sums(scores, labels, sizes))
    room = t.M - t.R
    if not room.sum() > 1e-12 * float(np.abs(t.M).sum() + np.abs(t.R).sum()):
        return estimand.Estimate.undefined("undefined: needs a prompt where labels differ", n)
    pools = _LostPools(compared(scores), labels, sizes, t.J, seed)
    everything = np.ones(n, dtype=bool)
    cost = float(pools.gained(everything).sum() / room.sum())
    if few := too_few_clusters(clusters):
        return estimand.Estimate(cost, None, None, None, n, None, reason=f"no interval: {few}")
    codes, units = (np.arange(n), n) if clusters is None else cluster_codes(clusters)
    count = min(units, _GROUPS)
    group = (np.random.default_rng(seed).permutation(units) % count)[codes]
    left_out = np.array([pools.gained(group != g).sum() / room[group != g].sum() for g in range(count)])
    scatter = jackknife.Scatter.without(left_out)
    if not np.isfinite(scatter.se) or scatter.se == 0:
        return estimand.Estimate(
            cost, None, None, None, n, None, reason="no interval: leaving out prompts changes nothing"
        )
    law = laws.Student(cost, scatter.se, scatter.df, (-np.inf, np.inf))
    return estimation.under(law, confidence, estimate=cost, se=scatter.se, n=n)


@dataclass(frozen=True, eq=False)
class _LostPools:
    """The prompts with candidates that have no score, and what their picks are worth once these are drawn."""

    scores: Floats
    labels: Floats
    sizes: Ints
    J: Floats
    """What the pick of each prompt is worth as it is."""
    seed: int

    @cached_property
    def owners(self) -> Ints:
        """The prompt of each cell."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def lost(self) -> Mask:
        """Whether a cell has no score."""
        return np.isnan(self.scores)

    @cached_property
    def uniforms(self) -> Floats:
        """Which residual each draw of a missing score takes, shape (cells without a score, draws)."""
        count = int(self.lost.sum())
        draws = _DRAWS if count <= _MANY_CELLS else _FEWER_DRAWS
        return np.random.default_rng(self.seed).random((count, draws))

    @cached_property
    def level(self) -> tuple[Floats, Floats, Floats]:
        """Mean score and label of the scored candidates by cell, and a factor to the mean of the others; 0 alone."""
        counts = np.bincount(self.owners, weights=~self.lost)
        none = counts == 0
        of_scores = np.bincount(self.owners, weights=np.where(self.lost, 0.0, self.scores)) / np.maximum(counts, 1)
        of_labels = np.bincount(self.owners, weights=np.where(self.lost, 0.0, self.labels)) / np.maximum(counts, 1)
        of_scores[none] = self.scores[~self.lost].mean()
        of_labels[none] = (np.bincount(self.owners, weights=self.labels) / self.sizes)[none]
        alone = counts < 2
        factor = np.where(alone, 0.0, counts / np.where(alone, 1.0, counts - 1))[self.owners]
        return of_scores[self.owners], of_labels[self.owners], np.where(self.lost, 1.0, factor)

    def gained(self, prompts: Mask) -> Floats:
        """Return what each prompt would gain, fitted on some of them; 0 where every candidate has a score."""
        S, O, factor = self.level
        known = ~self.lost & prompts[self.owners] & (factor > 0)
        gaps, values = (factor * (own - mean) for own, mean in ((self.labels, O), (self.scores, S)))
        distinct, codes = np.unique(np.round(gaps, tie_decimals(self.labels)), return_inverse=True)
        weights = np.bincount(codes[known], minlength=len(distinct)).astype(np.float64)
        sums = np.bincount(codes[known], weights=values[known], minlength=len(distinct)).astype(np.float64)
        fitted = level_bias.isotonic(distinct, weights, sums)[codes]
        residuals = (values - fitted)[known]
        drawn = self._on_scale(
            (S + fitted)[self.lost][:, None] + residuals[(self.uniforms * len(residuals)).astype(np.int64)]
        )
        row = np.cumsum(self.lost) - 1
        gains = np.zeros(len(self.sizes))
        affected = (np.bincount(self.owners, weights=self.lost) > 0) & prompts
        starts = np.cumsum(self.sizes) - self.sizes
        for size in np.unique(self.sizes[affected]).tolist():
            same = np.flatnonzero(affected & (self.sizes == size))
            step = max(1, _CHUNK // (drawn.shape[1] * size))
            for first in range(0, len(same), step):
                some = same[first : first + step]
                cells = starts[some][:, None] + np.arange(size)
                gains[some] = self._worth(cells, drawn, row) - self.J[some]
        return gains

    def _on_scale(self, drawn: Floats) -> Floats:
        """Move each value to the nearest score that the judge gave: it ties as often as the judge does."""
        scale = np.unique(self.scores[~self.lost])
        if len(scale) == 1:
            return np.full(drawn.shape, scale[0])
        after = np.searchsorted(scale, drawn).clip(1, len(scale) - 1)
        below, above = scale[after - 1], scale[after]
        # In the middle of two the higher one is taken, whatever the rounding of each score to its decimals says.
        beyond = np.round(2 * drawn - below - above, tie_decimals(self.scores) - 2)
        nearest: Floats = np.where(beyond < 0, below, above)
        return nearest

    def _worth(self, cells: Ints, drawn: Floats, row: Ints) -> Floats:
        """Return the mean worth of the picks of prompts of one size over the draws of their missing scores."""
        lost = self.lost[cells]
        every = np.repeat(self.scores[cells][:, :, None], drawn.shape[1], axis=2)
        every[lost] = drawn[row[cells[lost]]]
        top = every == every.max(axis=1, keepdims=True)
        worth: Floats = ((top * self.labels[cells][:, :, None]).sum(axis=1) / top.sum(axis=1)).mean(axis=1)
        return worth


_MOVES = 0.02
"""Recovery that unscored candidates cost, from which the verdict says so, ..."""

_TOUCHES = 0.05
"""... as it does where this share of the prompts has one."""

_RECOVERY = next(one for one in catalog.VALUES if one.name == "recovery")


@dataclass(frozen=True, eq=False)
class LostScores:
    """What is known of the candidates without a score."""

    record: UnscoredCandidates | None = None
    metrics: Mapping[str, estimand.Estimate] = field(default_factory=dict)
    sentence: str = ""
    """For the verdict; empty where it does not matter."""


NOTHING_LOST = LostScores()


def unscored_of(labelling: Labelling, table: score_table.ScoreTable, settings: Settings) -> LostScores:
    """Return what the candidates without a score are, and what they cost; nothing where every one has one."""
    panel = labelling.panel
    lost = np.isnan(panel.scores)
    if not lost.any():
        return NOTHING_LOST
    others = panel.keep(labelling.labelled & (panel.scored_cells == panel.sizes))
    of_others = _recovery(others, settings).with_method(labelling.method) if len(others.sizes) else None
    record = UnscoredCandidates(
        candidates=int(lost.sum()),
        prompts=int((panel.scored_cells < panel.sizes).sum()),
        prompts_without_scores=int((panel.scored_cells == 0).sum()),
        reasons=said
        if (said := cell_scores.unscored_reasons(table, panel, lost)).keys() != {cell_scores.NOT_SAID}
        else {},
        **given(recovery_of_others=None if of_others is None else EstimateRecord.of(of_others)),
    )
    metrics = _metrics(labelling, settings)
    return LostScores(record, metrics, _sentence(record, metrics["unscored_cost"], of_others, labelling))


def _metrics(labelling: Labelling, settings: Settings) -> dict[str, estimand.Estimate]:
    panel = labelling.panel
    sums = replace(panel, labels=np.zeros(len(panel.scores))).sums()
    metrics = estimation.estimate(catalog.LOSSES, sums, settings.rule(np.zeros(0), panel.clusters))
    if labelling.method != "complete" or panel.weights is not None:
        needs = "labels of all prompts" if panel.weights is None else "prompts that weigh alike"
        cost = estimand.Estimate.undefined(f"undefined: needs {needs}", len(panel.sizes))
        return {**metrics, "unscored_cost": cost.with_method(labelling.method)}
    cost = unscored_cost(
        panel.scores,
        panel.labels,
        panel.sizes,
        confidence=settings.confidence,
        seed=settings.seed,
        clusters=panel.clusters,
    )
    return {**metrics, "unscored_cost": cost}


def _recovery(panel: Panel, settings: Settings) -> estimand.Estimate:
    rule = settings.rule(panel.labels, panel.clusters)
    return estimation.estimate([_RECOVERY], panel.sums(), rule)["recovery"]


def _sentence(
    record: UnscoredCandidates, cost: estimand.Estimate, of_others: estimand.Estimate | None, labelling: Labelling
) -> str:
    prompts = len(labelling.panel.sizes)
    moves = cost.estimate is not None and abs(cost.estimate) > _MOVES
    if not moves and record.prompts <= _TOUCHES * prompts:
        return ""
    why = f" ({listed_counts(record.reasons.items())})" if record.reasons else ""
    told = f"{counted(record.candidates, 'candidate')} in {record.prompts:,} of {counted(prompts, 'prompt')} "
    told += f"{'has' if record.candidates == 1 else 'have'} no score{why} and cannot be picked"
    if cost.estimate is not None:
        ends = "" if cost.low is None else f" {interval(cost, 'points', sign=True)}"
        told += f": scored like the others they would change recovery by {estimate(cost, 'points', sign=True)}{ends}"
    if of_others is None or of_others.estimate is None:
        return f"{told}."
    ends = "" if of_others.low is None else f" {interval(of_others, 'share')}"
    return f"{told}; on the prompts with all scores recovery is {estimate(of_others, 'share')}{ends}."

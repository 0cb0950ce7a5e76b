"""What an audit found of one judge: its record in the document, and the parts behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from bonwise.arrays import Floats
from bonwise.auditing import label_interval, result, result_labels, result_verdict, simultaneous, unlabelled
from bonwise.auditing.gates import Labelled, bounded_metrics, carried, check_gate, open_gate, whatever_is_missing
from bonwise.auditing.labelling import Labelling
from bonwise.auditing.settings import Settings
from bonwise.auditing.suspected import Outstanding, Suspected
from bonwise.estimates import estimate_records
from bonwise.results import Record, given
from bonwise.stats import catalog, clusters, estimand, estimation, no_gain, sums, support
from bonwise.stats.level_bias import level_bias
from bonwise.stats.sums import Sums
from bonwise.table import facts, scales, score_table
from bonwise.table.panel import Panel
from bonwise.table.picks import Picks

if TYPE_CHECKING:
    from bonwise.auditing.partly_labelled import MissingLabels

NO_SCORES = "a logged pick holds no scores of one judge"


@dataclass(frozen=True, eq=False)
class JudgeMetrics:
    """The metrics of one judge."""

    metrics: Mapping[str, estimand.Estimate] = field(repr=False)
    use: Mapping[str, Any] = field(default_factory=dict)
    """How a sample of labels was used, as fields of `bonwise.auditing.result_labels.Sampling`; empty where the labels
    are no sample.
    """
    cells: unlabelled.CellLabels | None = field(default=None, repr=False)
    """Where candidates are labelled one by one: their labels."""
    influences: simultaneous.UnitInfluences | None = field(default=None, repr=False)
    """How much every prompt, or cluster, moves gain and recovery; None where that is not known."""

    def sampling(self, labelling: Labelling) -> result_labels.Sampling | None:
        """Return how the labelled prompts were drawn and used, for the document; None where no draw is stated."""
        drawn, stated = labelling.drawn, labelling.stated
        if stated is None:
            return None
        if drawn is None:
            unused = "the propensities are" if stated.kind == "propensity" else "the design is"
            return result_labels.Sampling(design=stated.name, how=f"all prompts are labelled: {unused} not used")
        if self.cells is not None:
            return result_labels.Sampling(design=stated.name, how=drawn.words)
        return result_labels.Sampling(
            design=stated.name,
            how=drawn.words,
            drawn_without_labels=drawn.lacking,
            labelled_not_drawn=drawn.not_drawn,
            **self.use,
        )


def by_unit(panel: Panel, values: Mapping[str, Floats]) -> simultaneous.UnitInfluences:
    """Return influences with the units that they are of: the prompts of the panel, or the clusters of these."""
    units = panel.prompt_ids if panel.clusters is None else np.unique(panel.clusters)
    return simultaneous.UnitInfluences(units, values)


def panel_influences(panel: Panel, t: Sums, weights: Floats | None = None) -> simultaneous.UnitInfluences:
    """Return how much every unit of a panel that is labelled whole adds to gain and recovery, from its sums."""
    return by_unit(panel, simultaneous.pick_influences(t.J - t.R, t.M - t.R, panel.clusters, weights))


def judge_only(panel: Panel, settings: Settings) -> dict[str, estimand.Estimate]:
    """Estimate what needs no labels from all prompts."""
    own = [e for e in catalog.ESTIMANDS if not e.on_labels]
    sums = replace(panel, labels=np.zeros(len(panel.scores))).sums()
    rule = settings.rule(np.zeros(0), panel.clusters)
    metrics = estimation.estimate(own, sums, rule)
    return {**metrics, **support.with_support(metrics, {}, (), rule, panel.weights)}


def with_no_gain_tests(
    found: Mapping[str, estimand.Estimate], panel: Panel, t: Sums, rule: estimation.IntervalRule
) -> dict[str, estimand.Estimate]:
    """Return gain and recovery with tests that there is none, where they have intervals; all prompts are labelled."""
    if found["gain"].law is None:
        return {}
    low, high = rule.label_range
    labels = (
        panel.labels
        if panel.weights is None
        else panel.labels * np.repeat(panel.weighted(np.ones(len(panel.sizes))), panel.sizes)
    )
    laws = no_gain.no_gain_laws(t.J - t.R, t.M - t.R, rule.clusters, (low - high, high - low))
    test = partial(no_gain.DealtLabels, panel.ranked, labels, panel.sizes, rule.clusters)
    return estimation.with_no_gain_tests(found, laws, test)


def panel_level_bias(panel: Panel, settings: Settings, weights: Floats | None = None) -> estimand.Estimate:
    """Estimate the level bias on a panel whose prompts are all labelled; `weights` are those of the prompts."""
    lost = np.isnan(panel.scores)
    scored = ~lost if lost.any() else slice(None)
    estimate = level_bias(
        panel.scores[scored],
        panel.labels[scored],
        panel.scored_cells,
        panel.names[scored],
        confidence=settings.confidence,
        seed=settings.seed,
        weights=weights,
        clusters=panel.clusters,
    )
    return (
        estimate
        if weights is None
        else label_interval.where_labels_carry(estimate, float(weights.sum() ** 2 / (weights @ weights)))
    )


_FEW = 20


_VERY_FEW = 10


_LARGE = 1 / 3


def prompt_clusters(of_prompts: np.typing.NDArray[Any] | None) -> result_labels.PromptClusters | None:
    """Return the clusters that prompts are in with what they leave uncertain; None where they are in none."""
    if of_prompts is None:
        return None
    codes, count = clusters.cluster_codes(of_prompts)
    largest = int(np.bincount(codes).max())
    return result_labels.PromptClusters(
        clusters=count, largest=largest, notes=list(_notes(count, largest, len(codes)))
    )


def _notes(count: int, largest: int, prompts: int) -> Iterator[str]:
    if count < clusters.FEWEST:
        yield f"Too few clusters: an interval needs {clusters.FEWEST}, and there are {count}; no gate can be met."
    elif count < _VERY_FEW:
        yield (
            f"Few clusters ({count}): intervals of the values hold the truth in about 90% of tables instead of 95%; "
            "correlations have none."
        )
    elif count < _FEW:
        yield f"Few clusters ({count}): intervals rest on how {count} units differ."
    if largest > _LARGE * prompts:
        yield f"One cluster holds {largest:,} of {prompts:,} prompts: what it says weighs that much in every figure."


_WITHOUT_LABELS = frozenset(e.name for e in catalog.ESTIMANDS if not e.on_labels)


@dataclass(frozen=True, eq=False)
class JudgeAudit:
    """What the audit of one judge rests on."""

    judge: str
    record: result.JudgeFound
    """What was found, as the result of the audit holds it."""
    metrics: Mapping[str, estimand.Estimate] = field(repr=False)
    """With what is known of each, for intervals at any confidence."""
    labelling: Labelling = field(repr=False)
    """The prompts behind the figures."""
    picked: unlabelled.Picked | None = None
    """Of logged picks: how many of the pools have one. The scores then only say what was picked: 1 for what was kept,
    0 for the rest.
    """
    drawn: Labelled | None = field(default=None, repr=False)
    """Where single candidates were drawn: the prompts with their labels, and those that could be drawn."""
    suspected: tuple[Suspected, ...] = field(default=(), repr=False)
    """Why the verdict is not useful and no gate is met, whatever the figures are; empty where they settle both."""
    outstanding: tuple[Outstanding, ...] = field(default=(), repr=False)
    """Outstanding groups that nothing settles: without one of them a figure may not pass its gate."""
    cells: unlabelled.CellLabels | None = field(default=None, repr=False)
    """Where candidates are labelled one by one: their labels."""
    influences: simultaneous.UnitInfluences | None = field(default=None, repr=False)
    """How much every prompt, or cluster, moves gain and recovery; None where that is not known."""
    missing: MissingLabels | None = field(default=None, repr=False)
    """Where a few prompts lack some labels: metrics of picks with these at their worst and at their best."""
    bets: estimation.IntervalRule | None = field(default=None, repr=False)
    """Where bounded tests decide gates, the range of the labels and the clusters."""

    def suspected_at(self, metric: str, value: float) -> tuple[Suspected, ...]:
        """Return what keeps the metric of a verdict from deciding it at a gate."""
        always = (one for one in self.suspected if one.outstanding is None)
        return (*always, *carried(self.metrics, self.outstanding, metric, value))

    def suspected_for(self, metric: str, value: float) -> tuple[Suspected, ...]:
        """Return what keeps a gate on a metric from being met; one that needs no labels lacks none."""
        suspected = self.suspected_at(metric, value)
        if metric not in _WITHOUT_LABELS and self.cells is not None:
            others = (one for one in suspected if one.kind != "few pools")
            return (*others, *self.cells.suspected(metric))
        if metric not in _WITHOUT_LABELS or len(self.labelling.panel.sizes) < support.FEWEST:
            return suspected
        return tuple(one for one in suspected if one.easy is not None or one.outstanding is not None)

    def labelled_for(self, metric: str) -> Labelled:
        """Return the labels behind a metric, and what more of them would be."""
        labelled, sizes = self.labelling.labelled, self.labelling.panel.sizes
        if metric in _WITHOUT_LABELS:
            return Labelled(len(sizes), 0, 0.0)
        if self.drawn is not None:
            return self.drawn
        if self.cells is not None:
            return self.cells.labelled
        return Labelled(int(labelled.sum()), int((~labelled).sum()), float(sizes.mean()))

    def gate(self, metric: str, value: float) -> result_verdict.Gate:
        """Compare a metric with a value by one-sided bounds; a name that is no metric is a `UsageError`."""
        check = partial(
            check_gate,
            metric=metric,
            value=value,
            judge=self.judge,
            labelled=self.labelled_for(metric),
            unsettled=self.unsettled,
            suspected=self.suspected_for(metric, value),
        )
        metrics = self.metrics
        if self.bets is not None and metric in metrics:
            panel = self.labelling.panel.keep(self.labelling.labelled)
            metrics = bounded_metrics(metrics, metric, panel, self.bets)
        if self.missing is None or metric not in self.missing:
            return check(metrics)
        low, high = ({**self.metrics, metric: end} for end in self.missing[metric])
        return whatever_is_missing(check(low), check(metrics), check(high))

    @property
    def logged(self) -> bool:
        """Whether its scores only say what was picked."""
        return self.picked is not None

    @property
    def unsettled(self) -> str:
        """Why no gate on all prompts can pass, whatever the labels; empty where one can."""
        return "" if self.picked is None else self.picked.unsettled


@dataclass(frozen=True, eq=False)
class AuditParts:
    """What an audit was computed from."""

    judges: Mapping[str, JudgeAudit]
    settings: Settings
    table: score_table.ScoreTable
    picks: Picks | None = None
    """The logged picks that were audited, in place of a judge's scores."""
    not_in_passes: Sequence[str] | None = None
    """Of an audit in passes, of which the table is a sample: what was not computed, and why."""

    def check(self, gates: Mapping[str, float], not_audited: Mapping[str, str]) -> list[result_verdict.Gate]:
        """Compare metrics of every judge with values; a judge that could not be audited leaves its gates open."""
        audited = [judge.gate(metric, value) for judge in self.judges.values() for metric, value in gates.items()]
        others = [
            open_gate(metric, value, judge=name, why=why)
            for name, why in not_audited.items()
            for metric, value in gates.items()
        ]
        return [*audited, *others]


def _data(
    labelling: Labelling, picked: unlabelled.Picked | None, candidates: Mapping[str, Record | None]
) -> result_labels.AuditData:
    """Return counts, and every dropped prompt with its reason."""
    panel, sizes = labelling.panel, labelling.panel.sizes
    same = bool((sizes == sizes[0]).all())
    return result_labels.AuditData(
        prompts=len(sizes),
        candidates=int(sizes[0]) if same else None,
        rows=int(sizes.sum()),
        labelled_prompts=int(labelling.labelled.sum()),
        partly_labelled_prompts=labelling.partly,
        dropped=[facts.DroppedPrompt(prompt_id=one.prompt_id, reason=one.reason) for one in panel.dropped],
        **given(
            pools=None if picked is None else picked.pools,
            pools_without_pick=None if picked is None else picked.without,
            candidates_min=None if same else int(sizes.min()),
            candidates_max=None if same else int(sizes.max()),
            **(_ranges(panel) if picked is None else {}),
            scores_tied=None if picked is not None else sums.tied_by_rounding(panel.scores, sizes) or None,
            labels_tied=sums.tied_by_rounding(panel.labels, sizes) or None,
            clusters=prompt_clusters(panel.clusters),
            **candidates,
            effective_prompts=None if panel.weights is None else support.effective_count(panel.weights),
        ),
    )


def _ranges(panel: Panel) -> dict[str, list[float]]:
    """Return from where to where scores and labels run if they look like different scales."""
    if scales.mismatch(panel.scores, panel.labels) is None:
        return {}
    ranges = {"score_range": panel.scores, "label_range": panel.labels}
    return {name: [float(np.nanmin(values)), float(np.nanmax(values))] for name, values in ranges.items()}


def judge_record(
    labelling: Labelling,
    metrics: Mapping[str, estimand.Estimate],
    verdict: result_verdict.Verdict,
    *,
    picked: unlabelled.Picked | None = None,
    candidates: Mapping[str, Record | None] = MappingProxyType({}),
    bounds: Mapping[str, tuple[float, float]],
    suspected: Sequence[Suspected],
    **further: Any,
) -> result.JudgeFound:
    """Return what was found of one judge, without `further` fields that are None; `bounds` where some are finite."""
    written = labelling.method == "labelled_only" or bool(bounds)
    return result.JudgeFound(
        data=_data(labelling, picked, candidates),
        metrics=estimate_records(metrics),
        verdict=verdict,
        **given(
            bounds={name: list(ends) for name, ends in bounds.items() if np.isfinite(ends).all()}
            if written
            else None,
            suspicions=[one.record() for one in suspected] or None,
            **further,
        ),
    )

"""One judge audited: its panels and clusters to metrics, bounds, balance and verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from bonwise.auditing import (
    candidate_attributes,
    gates,
    judge_record,
    partly_labelled,
    result,
    top_kept,
    unlabelled,
    unscored,
)
from bonwise.auditing.labelling import Labelling, StatedDraw, label_state
from bonwise.auditing.result_verdict import DECIDES, Check, CheckState, Level, Subsets, Verdict
from bonwise.auditing.settings import Settings
from bonwise.auditing.suspected import (
    Suspected,
    few_pools,
    light_pools,
    missing_labels,
    of_easy_candidate,
    outstanding_of,
    remarks,
)
from bonwise.auditing.verdict import figures_useful, judge_level, judge_validity, pick_level, pick_validity
from bonwise.errors import InputError, UsageError
from bonwise.estimates import EstimateRecord, estimate_records
from bonwise.metric_groups import unit_of
from bonwise.printable import shell_word
from bonwise.report import numbers, table_facts
from bonwise.stats import catalog, correlation, estimation, support
from bonwise.stats.estimand import Estimate, under_method
from bonwise.stats.sums import Sums
from bonwise.table import cell_scores, label_design, score_table, words
from bonwise.table.panel import Panel, easy_of_panel, lay_out


@dataclass(frozen=True, eq=False)
class FurtherPanels:
    """Panels that are laid out when a judge needs one, once for all judges."""

    table: score_table.ScoreTable
    settings: Settings
    _laid_out: dict[tuple[str, ...], Mapping[str, Panel]] = field(default_factory=dict, repr=False)

    def with_control(self, judge: str) -> Panel | None:
        """Return a judge's panel with the named easy candidates put back; None where none are named."""
        return self._panel(judge, self.settings.exclude) if self.settings.control else None

    def without(self, judge: str, *candidates: str) -> Panel | None:
        """Return a judge's panel as it is without some candidates; None where nothing is left to choose."""
        try:
            return self._panel(judge, (*self.settings.exclude, *self.settings.control, *candidates))
        except InputError:
            return None

    def _panel(self, judge: str, left_out: Sequence[str]) -> Panel:
        key = tuple(left_out)
        if key not in self._laid_out:
            panels = lay_out(self.table, exclude=key, shape=self.settings.shape)
            self._laid_out[key] = {panel.judge: panel for panel in panels}
        return self._laid_out[key][judge]


_WITHOUT_SCORES = frozenset(e.name for e in (*catalog.OF_PICKS, *(e for e in catalog.ESTIMANDS if not e.on_scores)))
"""Metrics that logged picks tell."""


_USE_CELLS = (
    "label all candidates of a prompt, or state --design cells if the labelled candidates are a random sample, or "
    "--unlabelled-is 0 if no label means not relevant"
)

_NOT_JUDGED = "Label the prompts that have no label, or leave them out of the table."


def audit_judge(
    panel: Panel,
    others: FurtherPanels | None,
    settings: Settings,
    *,
    table: score_table.ScoreTable,
    against: str,
    stated: StatedDraw | None = None,
    picked: unlabelled.Picked | None = None,
) -> judge_record.JudgeAudit:
    """Audit one judge of a panel without controls; `others` has other candidates, `against` is a noun."""
    if stated is not None and stated.design is not None and of_candidates(stated, panel):
        return _of_drawn_candidates(panel, settings, table, stated.design)
    labelling = _labelled(panel, stated)
    bets, figures = _bets(labelling, settings), _metrics(labelling, table, settings)
    metrics, lost = _of_scores(figures.metrics, labelling, picked, stated, table, settings)
    kept = top_kept.best_kept(labelling, table, settings)
    metrics = {**metrics, **kept.metrics}
    missing, scope = _of_missing(labelling, metrics, settings)
    scope = _joined(lost.sentence, "" if picked is None else picked.scope, scope)
    without = partial(figures_without, panel.judge, others=others, stated=stated, table=table, settings=settings)
    logged = picked is not None
    suspected = _suspected(labelling, metrics, settings, without, table=table, cells=figures.cells, logged=logged)
    reader = VerdictReader(settings, against, table.label_width, logged)
    decisive = reader.decisive(metrics, missing)
    useful = figures_useful(reader.level(decisive)[0], decisive, settings.thresholds, settings.target)
    scope = _joined(*_asides(panel, metrics, stated, table, settings, logged=logged), scope)
    outstanding = outstanding_of(panel, settings.keep_easy, without)
    metric, gate = settings.deciding
    carrying = gates.carried(metrics, outstanding, metric, gate) if useful else ()
    if not carrying:
        scope = _joined(scope, *remarks(outstanding, metric, metrics[metric]))
    suspected = (*carrying, *suspected)
    subsets, weak = _subsets(labelling, table, settings)
    if weak and useful and not suspected:
        scope = _joined(weak, scope)
    record = judge_record.judge_record(
        labelling,
        metrics,
        reader.verdict(decisive, scope, suspected),
        picked=picked,
        candidates={"unscored": lost.record, "kept": kept.record},
        bounds=_bounds(labelling, figures, missing),
        suspected=suspected,
        sampling=figures.sampling(labelling),
        balance=_balance(labelling, settings, of_scores=picked is None),
        with_control=None
        if others is None
        else _with_control(others.with_control(panel.judge), stated, table, settings),
        unused_labels=labelling.unused,
        labelled_cells=None if figures.cells is None else figures.cells.record(),
        subsets=subsets,
        **_strata(labelling, table, settings, logged=logged),
        candidate_effects=None if picked is not None else _effects(labelling, table, settings),
    )
    return judge_record.JudgeAudit(
        panel.judge,
        record,
        metrics,
        labelling,
        picked,
        suspected=suspected,
        outstanding=outstanding,
        cells=figures.cells,
        influences=figures.influences,
        missing=missing,
        bets=bets,
    )


def _of_drawn_candidates(
    panel: Panel, settings: Settings, table: score_table.ScoreTable, design: label_design.LabelDesign
) -> judge_record.JudgeAudit:
    """Audit a judge on labels of candidates that a design drew; what needs labels of whole pools is refused."""
    from bonwise.auditing.drawn_labels import audit_drawn_labels  # noqa: PLC0415 - few audits need it
    from bonwise.auditing.subsets import refuse_stratum  # noqa: PLC0415

    if settings.top is not None:
        raise UsageError(
            "--top needs pools that are labelled whole, and a design drew candidates", hint="leave --top out"
        )
    if settings.gate == "bounded":
        gates.refuse_bounded(panel.labels, whole=False)
    refuse_stratum(settings)
    return audit_drawn_labels(panel, settings, table, design)


def _balance(labelling: Labelling, settings: Settings, *, of_scores: bool) -> list[result.Balance] | None:
    if labelling.method != "labelled_only" or labelling.panel.weights is not None:
        return None
    return unlabelled.balance(labelling, settings.confidence, of_scores=of_scores)


def _with_control(
    panel: Panel | None, stated: StatedDraw | None, table: score_table.ScoreTable, settings: Settings
) -> Mapping[str, EstimateRecord] | None:
    """Return the figures of a panel with the named easy candidates put back."""
    return (
        None
        if panel is None
        else estimate_records(_metrics(_labelled(panel, stated), table, settings).metrics) or None
    )


def _bets(labelling: Labelling, settings: Settings) -> estimation.IntervalRule | None:
    """Return what bounded gates bet on, None where gates are the usual ones; refuse labels that allow no bets."""
    if settings.gate == "default":
        return None
    gates.refuse_bounded(labelling.panel.labels, whole=labelling.method == "complete")
    panel = labelling.panel.keep(labelling.labelled)
    return settings.rule(panel.labels, panel.clusters)


def _subsets(labelling: Labelling, table: score_table.ScoreTable, settings: Settings) -> tuple[Subsets | None, str]:
    """Return the subsets of the prompts, and what to say of a useful judge that is weak in some."""
    if not table.strata:
        return None, ""
    from bonwise.auditing.subsets import subsets_of, weakness  # noqa: PLC0415 - many tables have no such column

    subsets = subsets_of(labelling, table, settings)
    return subsets, weakness(subsets)


def _strata(
    labelling: Labelling, table: score_table.ScoreTable, settings: Settings, *, logged: bool
) -> dict[str, Any]:
    """Return the metrics by stratum of the prompts; nothing where no column and no text says anything of them."""
    if labelling.method == "cells" or not (
        table.strata or settings.pools or (table.words is not None and words.holds_texts(table))
    ):
        return {}
    from bonwise.auditing.exhibits import strata_of_audit  # noqa: PLC0415 - many tables say nothing of their prompts

    kept, method = labelling.panel.keep(labelling.labelled), labelling.method
    shown, left_out = strata_of_audit(
        table, kept, method, settings.pools, confidence=settings.confidence, logged=logged
    )
    return {"strata": shown or None, "strata_left_out": left_out or None}


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def _of_scores(
    metrics: Mapping[str, Estimate],
    labelling: Labelling,
    picked: unlabelled.Picked | None,
    stated: StatedDraw | None,
    table: score_table.ScoreTable,
    settings: Settings,
) -> tuple[Mapping[str, Estimate], unscored.LostScores]:
    """Return the metrics with those of what has no score; of picks, those of scores are of what they were made by."""
    if picked is None:
        lost = unscored.unscored_of(labelling, table, settings)
        return {**metrics, **lost.metrics}, lost
    behind = None if picked.scores is None else _labelled(picked.scores, stated)
    lost = unscored.NOTHING_LOST if behind is None else unscored.unscored_of(behind, table, settings)
    of_scores = {} if behind is None else _metrics(behind, table, settings).metrics
    own = {
        name: estimate if name in _WITHOUT_SCORES else of_scores.get(name) or _no_scores(estimate)
        for name, estimate in metrics.items()
    }
    return {**own, **lost.metrics}, lost


def _of_missing(
    labelling: Labelling, metrics: Mapping[str, Estimate], settings: Settings
) -> tuple[partly_labelled.MissingLabels | None, str]:
    """Return the ends of what a few missing labels could make of the figures, and what the figures describe."""
    if labelling.with_partly is None or labelling.panel.weights is not None:
        return None, labelling.scope
    missing = partly_labelled.MissingLabels(labelling.with_partly, settings)
    return missing, partly_labelled.said_of_missing(labelling.with_partly, metrics["recovery"], missing)


@dataclass(frozen=True, eq=False)
class VerdictReader:
    """Reads metrics as a verdict."""

    settings: Settings
    against: str
    label_width: float
    logged: bool

    def level(self, metrics: Mapping[str, Estimate]) -> tuple[Level, Mapping[Check, CheckState]]:
        """Return the level on which nothing is suspected, and the checks."""
        if self.logged:
            return pick_level(metrics, self.settings.thresholds)
        return judge_level(metrics, self.settings.thresholds, self.settings.target, label_width=self.label_width)

    def verdict(self, metrics: Mapping[str, Estimate], scope: str, suspected: Sequence[Suspected]) -> Verdict:
        """Return the verdict."""
        if self.logged:
            return pick_validity(metrics, self.settings.thresholds, scope=scope, suspected=suspected)
        return judge_validity(
            metrics,
            self.settings.thresholds,
            self.settings.target,
            against=self.against,
            scope=scope,
            suspected=suspected,
            label_width=self.label_width,
        )

    def decisive(
        self, metrics: Mapping[str, Estimate], missing: partly_labelled.MissingLabels | None
    ) -> Mapping[str, Estimate]:
        """Return the metrics to read: those of the table where these hold whatever the missing labels are."""
        if missing is None:
            return metrics
        # Of the metrics of picks recovery alone decides.
        alike = self.level(metrics) == self.level(missing.widened(metrics, ["recovery"]))
        return metrics if alike else missing.widened(metrics)


def _asides(
    panel: Panel,
    metrics: Mapping[str, Estimate],
    stated: StatedDraw | None,
    table: score_table.ScoreTable,
    settings: Settings,
    *,
    logged: bool,
) -> Iterator[str]:
    """Yield what to ask of the scores: whether a value means that there is none, and which way is up."""
    yield from (sentence for sentence, _ in table_facts.off_scale_words(table, panel.judge))
    below_chance = any((metrics[name].high or 0) < 0 for name in ("recovery", "within_r"))
    if below_chance and not logged and panel.judge not in table.turned:
        reverse = _figures(replace(panel, scores=-panel.scores), stated, table, settings)
        yield from _if_reversed(table.named_scores(panel.judge), reverse, table.label_width, settings)


def _effects(
    labelling: Labelling, table: score_table.ScoreTable, settings: Settings
) -> result.CandidateEffects | None:
    if table.weights is not None or not candidate_attributes.tells_of_candidates(table, settings):
        return None
    from bonwise.auditing.candidate_effects import candidate_effects  # noqa: PLC0415 - many tables do without

    return candidate_effects(labelling, table, settings)


def _suspected(
    labelling: Labelling,
    metrics: Mapping[str, Estimate],
    settings: Settings,
    without: Callable[..., Mapping[str, Estimate]],
    *,
    table: score_table.ScoreTable,
    cells: unlabelled.CellLabels | None,
    logged: bool = False,
) -> tuple[Suspected, ...]:
    """Collect what keeps the verdict from being useful, the easy candidates first."""
    metric = DECIDES[settings.target]
    panel, labelled = labelling.panel, int(labelling.labelled.sum())
    worth = labelled if panel.weights is None else int(support.effective_count(panel.weights[labelling.labelled]))
    found = [
        of_easy_candidate(
            easy, metric, with_it=metrics[metric], without_it=without(easy.name).get(metric), logged=logged
        )
        for easy in easy_of_panel(panel)
        if easy.name not in settings.keep_easy
    ]
    if labelling.method == "labelled_only":
        stated = "" if labelling.drawn is None else labelling.drawn.words
        candidates = int(panel.sizes.sum())
        missing = candidates - int(panel.labelled_cells.sum())
        lacking = missing_labels(missing, candidates, stated, weighted=panel.weights is not None)
        found.append(lacking if table.unlabelled is None else replace(lacking, advice=_NOT_JUDGED))
    if cells is not None:
        found += cells.suspected(metric)
    elif worth < support.FEWEST:
        found.append(few_pools(labelled) if labelled < support.FEWEST else light_pools(labelled, worth))
    return tuple(found)


def figures_without(
    judge: str,
    *candidates: str,
    others: FurtherPanels | None,
    stated: StatedDraw | None,
    table: score_table.ScoreTable,
    settings: Settings,
) -> Mapping[str, Estimate]:
    """Estimate every metric without some candidates; empty where that cannot be."""
    panel = None if others is None else others.without(judge, *candidates)
    return {} if panel is None else _figures(panel, stated, table, settings)


def _figures(
    panel: Panel, stated: StatedDraw | None, table: score_table.ScoreTable, settings: Settings
) -> Mapping[str, Estimate]:
    """Estimate every metric of another panel; empty where that cannot be."""
    try:
        return _metrics(_labelled(panel, stated), table, settings).metrics
    except InputError:
        return {}


def _if_reversed(name: str, reverse: Mapping[str, Estimate], width: float, settings: Settings) -> Iterator[str]:
    """Say that a judge would be useful if its lower scores were the better ones."""
    rule, target = settings.thresholds, settings.target
    if reverse and judge_level(reverse, rule, target, label_width=width)[0] == "useful":
        figure = numbers.with_any_interval(reverse[DECIDES[target]], unit_of(DECIDES[target]))
        yield (
            f"With its scores reversed this judge would be useful ({DECIDES[target]} {figure}): if its lower scores "
            f"are better, add --lower-is-better {shell_word(name)}."
        )


def of_candidates(stated: StatedDraw, panel: Panel) -> bool:
    """Tell whether single candidates were drawn, and their labels are not all there are."""
    by_candidate = stated.design is not None and stated.design.by_candidate
    return by_candidate and bool((panel.labelled_cells < panel.sizes).any())


def _no_scores(found: Estimate) -> Estimate:
    return Estimate.undefined(judge_record.NO_SCORES, found.n).with_method(found.method)


def _labelled(panel: Panel, stated: StatedDraw | None) -> Labelling:
    if not len(panel.sizes):
        reasons = sorted({drop.reason for drop in panel.dropped})
        raise InputError(
            f"no prompt is left to audit {panel.judge!r} on: {'; '.join(reasons[:3])}",
            hint="score every candidate of a prompt, or force --ragged",
        )
    if not panel.scored_cells.any():
        raise InputError(f"{panel.judge!r} scored no candidate", hint="see bonwise doctor, or score some of them")
    labelling = label_state(panel, stated)
    if not labelling.labelled.any() and labelling.method != "cells":
        raise InputError(
            f"no prompt of {panel.judge!r} has labels for all its candidates",
            hint=(_USE_CELLS if panel.weights is None else "label all candidates of a prompt")
            if panel.labelled_cells.any()
            else "add an oracle_label column, --labels FILE, or --oracle judge:NAME",
        )
    return labelling


def _bounds(
    labelling: Labelling, figures: judge_record.JudgeMetrics, missing: partly_labelled.MissingLabels | None
) -> Mapping[str, tuple[float, float]]:
    if figures.cells is not None:
        return figures.cells.bounds
    if labelling.method == "labelled_only":
        return {} if labelling.panel.weights is not None else unlabelled.worst_case(labelling.panel)
    return {} if missing is None else missing.bounds


def _metrics(labelling: Labelling, table: score_table.ScoreTable, settings: Settings) -> judge_record.JudgeMetrics:
    if labelling.method == "cells":
        from bonwise.auditing.partial_metrics import cell_metrics  # noqa: PLC0415 - complete labels do without

        return cell_metrics(labelling, settings)
    if labelling.sample is not None:
        from bonwise.auditing.partial_metrics import sampled_metrics  # noqa: PLC0415 - complete labels do without

        further = cell_scores.further_scores(table, labelling.panel)
        return sampled_metrics(labelling, labelling.sample, further, settings)
    panel = labelling.panel.keep(labelling.labelled)
    rule = settings.rule(panel.labels, panel.clusters)
    # Before the sums, which are most of the memory that an audit takes.
    bias = judge_record.panel_level_bias(panel, settings, panel.weights)
    sums = panel.sum_rows()
    t = Sums(*sums)
    metrics = {**estimation.estimate(catalog.ESTIMANDS, sums, rule), "level_bias": bias}
    metrics = correlation.without_correlations(metrics, correlation.heavy_tails(panel.scores, panel.labels))
    metrics.update(judge_record.with_no_gain_tests(metrics, panel, t, rule))
    metrics |= support.of_whole_prompts(metrics, t, panel.lowest_labels(), rule)
    metrics = under_method(metrics, labelling.method)
    if labelling.method == "labelled_only":
        metrics.update(judge_record.judge_only(labelling.panel, settings))
    return judge_record.JudgeMetrics(metrics, influences=judge_record.panel_influences(panel, t))

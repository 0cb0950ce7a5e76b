"""An audit in passes: figures of what was gathered, the verdict on them, and what is not computed and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations, combinations_with_replacement
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from bonwise.auditing import comparison, gates, judge_audit, judge_record, labelling, passes, result, result_labels
from bonwise.auditing import suspected as grounds
from bonwise.auditing.judge_record import AuditParts, JudgeAudit
from bonwise.auditing.settings import Settings
from bonwise.auditing.simultaneous import UnitInfluences, pick_influences
from bonwise.auditing.verdict import ORACLE, figures_useful
from bonwise.errors import BonwiseError, InputError, UsageError
from bonwise.estimates import estimate_records
from bonwise.printable import quoted
from bonwise.results import given
from bonwise.stats import catalog, correlation, estimation, support
from bonwise.stats.estimand import Estimate, under_method
from bonwise.stats.swept import ROWS, HeldSums, J, M, R
from bonwise.table import batches, canonical, opening, reading, reading_options, score_table, store
from bonwise.table.panel import Panel, easy_of_panel, lay_out

_UNLIKE = "in passes level_bias is not computed: it is fitted to all candidates at once"
_NOT_COMPUTED = (
    "level_bias: it is fitted to all candidates at once",
    "unscored_cost, balance and worst cases of missing labels: they need all candidates at once",
    "rows of single prompts, subsets, drawings and effects of candidates: prompts are not held",
)
_OF_READING = (
    *("labels", "oracle", "label_map", "annotator_rule", "lower_is_better", "missing", "unlabelled_is"),
    *("second_order", "join_col", "by_line", "depth"),
)
_OF_AUDITS = ("control", "stratum", "weight_col", "outcome_model", "pools", "judge_family", "top")
_USUAL = {"interval": "default", "gate": "default", "unpicked": "random"}
_ROUNDING = 1e-18
_ROLES = ("prompt_id", "candidate", "judge", "judge_score", "oracle_label", "cluster")


_Found = tuple[AuditParts, comparison.JudgePairs, Mapping[str, str]]


def passed_over(
    source: Any,
    options: reading_options.ReadingOptions,
    settings: Settings,
    *,
    stats_out: str | Path | None,
    like: str | Path | None,
    unlike: Mapping[str, object],
) -> _Found:
    """Pass over a table, or merge stats files, and estimate what can be; `unlike` holds what must not be stated."""
    stated = dict(unlike)
    stated |= {name: getattr(options, name) for name in _OF_READING}
    stated |= {name: getattr(settings, name) for name in _OF_AUDITS}
    stated |= {name: getattr(options, name, getattr(settings, name, None)) for name in _USUAL}
    for name, value in stated.items():
        if value not in (None, (), {}, "", False, _USUAL.get(name)):
            hint = "prepare the table without it, or audit a sample of its prompts in memory: docs/scale.md"
            raise UsageError(f"{name} is not possible in passes", hint=hint)
    if files := reading.stats_files(source):
        if stats_out is not None or like is not None:
            raise UsageError("stats files are merged as they are", hint="leave --stats-out and --like out")
        whole = passes.merged([passes.read_stats(file) for file in files])
        settings = replace(settings, exclude=tuple(whole.fixed.exclude))
        options = replace(options, exclude=settings.exclude, **passes.declared_scales(whole.fixed))
        try:
            return _Judging(whole, options, settings).audit()
        except BonwiseError:
            raise
        except (ValueError, LookupError, ArithmeticError) as error:
            raise InputError(f"{whole.name}: what it holds does not fit together", hint="make it again") from error
    first = None if like is None else passes.read_stats(Path(like))
    whole = _gathered(source, options, settings, first, keep=stats_out is not None)
    if stats_out is not None:
        passes.write_stats(Path(stats_out), whole)
    return _Judging(whole, options, settings).audit()


def _gathered(
    source: Any,
    options: reading_options.ReadingOptions,
    settings: Settings,
    like: passes.Gathered | None,
    *,
    keep: bool,
) -> passes.Gathered:
    name = str(source) if isinstance(source, str | Path) else "table"
    table = batches.Batches(source, exclude=options.exclude, name=name)
    frame = store.Rows.of(table.first_rows())
    taken = canonical.resolved(frame, options, name)
    strange: list[str] = [role for role in ("draw", "annotator", "propensity") if role in taken]
    table.columns = {role: str(taken[role]) for role in _ROLES if role in taken}
    if strange := strange or [role for role, column in table.columns.items() if column not in frame.columns]:
        raise UsageError(f"{name}: {strange[0]} is not possible in passes", hint="give one row a candidate and judge")
    declared = dict(options.judge_scales)
    if options.label_scale is not None:
        declared["oracle_label"] = options.label_scale
    whole = passes.gathered(table, settings, declared, None if like is None else like.fixed, keep=keep)
    if like is not None:
        passes.refuse_unlike(like.fixed, replace(whole.fixed, columns=table.columns), (like.name, name))
    elif strangers := {*options.exclude} - table.left_out:
        raise UsageError(f"{name}: no candidate named {quoted(min(strangers))} to leave out", hint="check its name")
    return whole


@dataclass(eq=False)
class _Judging:
    """Judges, one after the other."""

    whole: passes.Gathered
    options: reading_options.ReadingOptions
    settings: Settings
    table: score_table.ScoreTable = field(init=False)
    """Of the sample."""
    panels: Mapping[str, Panel] = field(init=False)

    def audit(self) -> _Found:
        """Return what was found of all judges."""
        fixed, name, asked = self.whole.fixed, self.whole.name, self.settings
        usable = [at for at, method in enumerate(fixed.methods) if method in passes.USABLE]
        if not usable:
            raise InputError(f"{name}: no judge can be audited: {fixed.methods[0]}", hint="see bonwise doctor")
        # The rows are on the declared scales by now, and hold none of the candidates that are left out.
        options = replace(self.options, columns=None, exclude=(), judge_scale=None, label_scale=None)
        rows = [{role: value for role, value in row.items() if value is not None} for row in self.whole.sample]
        declared = MappingProxyType(dict(self.options.judge_scales)), self.options.label_scale
        table = opening.open_table(rows, options)
        self.table = replace(table, source=name, judge_scales=declared[0], label_scale=declared[1])
        self.table.check_scales(alike=False)
        self.settings = replace(asked, shape=fixed.shape, exclude=())
        self.panels = {panel.judge: panel for panel in lay_out(self.table, shape=fixed.shape)}
        influences = self._influences(usable)
        audits = {fixed.judges[at]: self.judge(at, influences[at]) for at in usable}
        pairs = {(fixed.judges[i], fixed.judges[j]): self.pair(i, j, audits) for i, j in combinations(usable, 2)}
        lost = {fixed.judges[at]: why for at, why in enumerate(fixed.methods) if at not in usable}
        table = replace(self.table, columns=fixed.columns)
        return AuditParts(audits, asked, table, not_in_passes=tuple(self._not_computed())), pairs, lost

    def _not_computed(self) -> Iterator[str]:
        yield from _NOT_COMPUTED
        if self.whole.sums.only_facts:
            yield "degrees of freedom: intervals have as many as there are prompts less 1, and no skewness"
        if self.whole.sums.prompts > len(self.table.prompts):
            few = f"a sample of {len(self.table.prompts):,} prompts"
            yield f"easy and outstanding candidates and heavy tails of scores are looked for in {few}"

    def _count(self, name: str, at: int, labels: Sequence[int] | None = None) -> int:
        """Return a count of the pools of a judge that count."""
        every = (0,) if self.whole.fixed.methods[at] == "complete" else (0, 1, 2)
        return int(self.whole.counts.of(name, at, self.whole.fixed.kinds, labels or every))

    def judge(self, at: int, influences: UnitInfluences | None) -> JudgeAudit:
        """Audit one judge."""
        name, settings, method = self.whole.fixed.judges[at], self.settings, self.whole.fixed.methods[at]
        prompts, cells = (self._count(what, at) for what in ("prompts", "cells"))
        labelled, whole_cells = (self._count(what, at, (0,)) for what in ("prompts", "cells"))
        panel, metrics = self.panels[name], self._metrics(at, method)
        metrics = correlation.without_correlations(metrics, correlation.heavy_tails(panel.scores, panel.labels))
        metrics["level_bias"] = Estimate.undefined(_UNLIKE, labelled).with_method(method)
        scope = "" if method == "complete" else labelling.of_the_labelled(labelled, prompts)
        suspected = list(self._suspected(metrics, panel, labelled, cells - whole_cells if scope else 0, cells))
        reader = judge_audit.VerdictReader(settings, ORACLE, self.table.label_width, logged=False)
        metric, gate = settings.deciding
        useful = figures_useful(reader.level(metrics)[0], metrics, settings.thresholds, settings.target)
        others = judge_audit.FurtherPanels(self.table, settings)
        without = partial(
            judge_audit.figures_without, name, others=others, stated=None, table=self.table, settings=settings
        )
        outstanding = grounds.outstanding_of(panel, settings.keep_easy, without)
        carrying = gates.carried(metrics, outstanding, metric, gate) if useful else ()
        if not carrying:
            scope = " ".join(filter(None, [scope, *grounds.remarks(outstanding, metric, metrics[metric])]))
        suspected = [*carrying, *suspected]
        record = result.JudgeFound(
            data=self._data(at, prompts, cells, labelled),
            metrics=estimate_records(metrics),
            verdict=reader.verdict(metrics, scope, suspected),
            **given(suspicions=[reason.record() for reason in suspected] or None),
        )
        of_sample = labelling.label_state(panel)
        if method != of_sample.method:
            of_sample = labelling.Labelling(panel, np.ones(len(panel.sizes), dtype=bool), 0, "labelled_only")
        return JudgeAudit(
            name,
            record,
            metrics,
            of_sample,
            drawn=gates.Labelled(labelled, prompts - labelled, cells / prompts),
            suspected=tuple(suspected),
            outstanding=outstanding,
            influences=influences,
        )

    def _metrics(self, at: int, method: str) -> dict[str, Estimate]:
        """Estimate what is a function of totals; what needs no labels from all prompts, where some lack labels."""
        wanted = [*catalog.ESTIMANDS, *(catalog.LOSSES if self._count("lost", at) else ())]
        sample = self.whole.sums.sample(self.settings.rule(np.array(self.whole.fixed.label_ends[at])), at)
        if sample is None:
            raise InputError(f"{self.whole.name}: no prompt is left to audit on", hint="see bonwise doctor")
        metrics = under_method(sample.with_support(estimation.estimated(wanted, sample)), method)
        of_scores = self.whole.of_scores.sample(self.settings.rule(np.zeros(0)), at) if method != "complete" else None
        if of_scores is not None:
            own = estimation.estimated([e for e in wanted if not e.on_labels], of_scores)
            metrics |= {**own, **support.with_support(own, {}, (), of_scores.rule)}
        return metrics

    def _suspected(
        self, metrics: Mapping[str, Estimate], panel: Panel, labelled: int, missing: int, cells: int
    ) -> Iterator[grounds.Suspected]:
        metric = self.settings.deciding[0]
        for easy in easy_of_panel(panel):
            if easy.name not in self.settings.keep_easy:
                yield grounds.of_easy_candidate(easy, metric, with_it=metrics[metric], without_it=None)
        if missing:
            yield grounds.missing_labels(missing, cells)
        if labelled < support.FEWEST:
            yield grounds.few_pools(labelled)

    def _data(self, at: int, prompts: int, cells: int, labelled: int) -> result_labels.AuditData:
        least, most, *lost = (self._count(n, at) for n in ("low_size", "high_size", "lost", "lost_in", "lost_all"))
        every = self.whole.sums if self.whole.fixed.methods[at] == "complete" else self.whole.of_scores
        sample = every.sample(self.settings.rule(np.zeros(0)), at) if every.clusters is not None else None
        unscored = result_labels.UnscoredCandidates(
            candidates=lost[0], prompts=lost[1], prompts_without_scores=lost[2], reasons={}
        )
        return result_labels.AuditData(
            prompts=prompts,
            candidates=least if least == most else None,
            rows=cells,
            labelled_prompts=labelled,
            partly_labelled_prompts=self._count("prompts", at, (1,)),
            dropped=[],
            **given(
                dropped_by_reason=dict(+self.whole.counts.dropped) or None,
                candidates_min=None if least == most else least,
                candidates_max=None if least == most else most,
                clusters=judge_record.prompt_clusters(None if sample is None else sample.rule.clusters),
                unscored=unscored if lost[0] else None,
            ),
        )

    def pair(self, first: int, second: int, audits: Mapping[str, JudgeAudit]) -> comparison.PairedDifferences:
        """Compare two judges on the prompts that both have."""
        fixed = self.whole.fixed
        names, label_ends = (fixed.judges[first], fixed.judges[second]), np.array(fixed.label_ends[first])
        sample = self.whole.sums.sample(self.settings.rule(label_ends), first, second)
        if sample is None:
            return comparison.PairedDifferences(0, {})
        differences = estimation.estimated(catalog.ESTIMANDS, sample)
        differences["level_bias"] = Estimate.undefined(_UNLIKE, sample.prompts)
        sides = audits[names[0]].metrics, audits[names[1]].metrics
        differences = support.of_difference(differences, sides, sample.paired)
        for panel in map(self.panels.__getitem__, names):
            heavy = correlation.heavy_tails(panel.scores, panel.labels)
            differences = correlation.without_correlations(differences, heavy)
        method = "complete" if fixed.methods[first] == fixed.methods[second] == "complete" else "labelled_only"
        return comparison.PairedDifferences(sample.prompts, under_method(differences, method))

    def _influences(self, judges: Sequence[int]) -> dict[int, UnitInfluences | None]:
        """Return influences on gain and recovery; of sums that are not held such as have the same products."""
        sums, rule = self.whole.sums, self.settings.rule(np.zeros(0))
        if sums.held:
            samples = {at: sample for at in judges if isinstance(sample := sums.sample(rule, at), HeldSums)}
            return {at: _held_influences(samples[at]) if at in samples else None for at in judges}
        own = {at: facts.influences() for at in judges if (facts := sums.facts_of(at)) is not None}
        products = np.zeros((2, len(judges), len(judges)))
        for (i, first), (j, second) in combinations_with_replacement(enumerate(judges), 2):
            both = sums.facts_of(*dict.fromkeys((first, second)))
            if both is None or first not in own or second not in own:
                continue
            n, ends = both.prompts, (both.totals[:ROWS], both.totals[-ROWS:])
            for metric, of in enumerate(products):
                (left, a), (right, b) = (own[at][metric] for at in (first, second))
                common = (left @ ends[0] - n * a) * (right @ ends[1] - n * b) / n
                of[i, j] = of[j, i] = left @ both.products[:ROWS, -ROWS:] @ right + common
        roots, units = [_root(square) for square in products], np.arange(len(judges))
        return {
            at: UnitInfluences(units, {"gain": roots[0][i], "recovery": roots[1][i]}) for i, at in enumerate(judges)
        }


def _held_influences(sample: HeldSums) -> UnitInfluences:
    codes, rows = sample.rule.clusters, sample.rows
    units = sample.places if codes is None else np.unique(codes)
    return UnitInfluences(units, pick_influences(rows[J] - rows[R], rows[M] - rows[R], codes))


def _root(products: np.typing.NDArray[np.float64]) -> np.typing.NDArray[np.float64]:
    """Return rows with these products; one that is 0 but for rounding is 0."""
    still = np.diagonal(products) <= _ROUNDING * np.diagonal(products).max()
    sizes, axes = np.linalg.eigh(np.where(still[:, None] | still, 0.0, products))
    root: np.typing.NDArray[np.float64] = axes * np.sqrt(np.maximum(sizes, 0.0))
    return root

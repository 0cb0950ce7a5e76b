"""The metric that decides, by subset of the prompts: intervals that hold over all of them, and shrunken estimates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.auditing import exhibits, result_verdict, simultaneous
from bonwise.auditing.labelling import Labelling
from bonwise.auditing.settings import Settings
from bonwise.errors import UsageError
from bonwise.metric_groups import unit_of
from bonwise.printable import listed, printable
from bonwise.report.numbers import Ends, counted, estimate, listed_counts, with_interval
from bonwise.results import given
from bonwise.stats import catalog, estimand, estimation, laws
from bonwise.stats.clusters import cluster_sums
from bonwise.stats.sums import Sums
from bonwise.table.score_table import ScoreTable
from bonwise.table.store import CodedColumn, coded

_FEWEST, _WEAK_FROM = 10, 30
"""Prompts of a subset, and prompts from which the verdict may call the judge weak there."""

_MOST, _SIMULATED = 1000, 100
"""Values of a column, and subsets up to which their joint scatter is simulated."""


class _PromptSubset(NamedTuple):
    """The prompts of one subset."""

    column: str
    value: str
    at: Ints
    found: estimand.Estimate
    influences: simultaneous.UnitInfluences | None = None
    with_random: laws.Student | None = None
    """The law with one more prompt, whose pick is a random one."""

    @classmethod
    def of(
        cls, column: str, value: str, at: Ints, sums: Floats, rule: estimation.IntervalRule, metric: estimand.Estimand
    ) -> _PromptSubset:
        if len(at) < _FEWEST:
            return cls(column, value, at, estimand.Estimate.undefined(f"fewer than {_FEWEST} prompts", len(at)))
        own, clusters = sums[:, at], at if rule.clusters is None else rule.clusters[at]
        mean = Sums(*own.mean(axis=1, keepdims=True))
        more = np.hstack([own, np.stack(mean._replace(J=mean.R))])
        found, further = (
            estimation.estimate([metric], matrix, replace(rule, clusters=codes))[metric.name]
            for matrix, codes in ((own, clusters), (more, np.append(clusters, -1)))
        )
        unit, units = cluster_sums(own, clusters), np.unique(clusters)
        left = metric.of(Sums(*(unit.sum(axis=1, keepdims=True) - unit)))
        influences = simultaneous.UnitInfluences(units, {metric.name: np.nan_to_num(left - left.mean())})
        law = None
        if found.law is not None and further.estimate is not None and further.se is not None:
            law = laws.Student(further.estimate, further.se, len(units) - 1.0, metric.limits or rule.label_range)
        return cls(column, value, at, found, influences, law)

    def record(self, confidence: float, towards: float | None) -> result_verdict.Subset:
        ends: Mapping[str, float | None] = {"low": None, "high": None}
        why: str | None = (self.found.reason or "no interval").removeprefix("no interval: ")
        if self.with_random is not None:
            # Few prompts show too little scatter: the interval is no narrower than with one more, picked at random.
            both = self.with_random.at(confidence), self.found.bounds(confidence)
            known = [one for one in both if one is not None]
            ends, why = {"low": min(known)[0], "high": max(high for _, high in known)}, None
        figures = {"prompts": len(self.at), "estimate": self.found.estimate, **ends, "shrunk": towards}
        return result_verdict.Subset.model_validate(
            {"column": self.column, "value": self.value, **figures, **given(reason=why)}
        )


def subsets_of(labelling: Labelling, table: ScoreTable, settings: Settings) -> result_verdict.Subsets | None:
    """Return the metric that decides by subset; None where no column says one thing of each prompt."""
    if labelling.method == "cells" or (labelling.sample is not None and not labelling.sample.equal):
        refuse_stratum(settings)
        return None
    panel = labelling.panel.keep(labelling.labelled)
    metric = next(e for e in catalog.ESTIMANDS if e.name == settings.deciding[0])
    sums, rule = panel.sums(), replace(settings.rule(panel.labels, panel.clusters), kind="default")
    cells, left_out = exhibits.prompt_cells(table, panel), {}
    lost: dict[str, str] = {}
    parts: list[_PromptSubset] = []
    for column in settings.stratum or table.strata:
        try:
            values = _by_value(exhibits.values_of_prompts(table, column, cells))
        except exhibits.LeftOut as why:
            # Unless it was named, a column that differs within prompts, or says the same of all, is none of subsets.
            left_out.update({column: str(why)} if settings.stratum else {})
            continue
        enough = sum(len(at) >= _FEWEST for at in values.values())
        if enough > 1 and len(values) <= _MOST:
            parts += [_PromptSubset.of(column, value, at, sums, rule, metric) for value, at in values.items()]
        else:
            left_out[column] = f"of its {counted(len(values), 'value')}, {enough:,} with {_FEWEST} prompts or more"
            if enough and len(values) <= _MOST:
                few = listed(value for value, at in values.items() if len(at) < _FEWEST)
                lost[column] = left_out[column] = f"{left_out[column]}, and not {few}"
    return _subsets(settings, parts, left_out, left_out if settings.stratum else lost) if parts or left_out else None


def refuse_stratum(settings: Settings) -> None:
    """Refuse columns that were named to form subsets where labels do not tell of them."""
    if settings.stratum:
        what = "subsets need prompts that are labelled whole and drawn with equal chances"
        raise UsageError(what, hint="leave --stratum out, or draw labels with --rule uniform")


def simultaneous_confidence(
    influences: Sequence[simultaneous.UnitInfluences], confidence: float, *, seed: int
) -> float:
    """Return the confidence at which subsets hold together: ``confidence^(1 / subsets)``, or by correlations."""
    apart = float(confidence ** (1 / max(len(influences), 1)))
    times = np.bincount(np.concatenate([influence.units for influence in influences])) if influences else np.zeros(1)
    if times.max() <= 1 or len(influences) > _SIMULATED:
        return apart
    (metric,) = influences[0].by_metric
    return min(
        simultaneous.joint_confidence(simultaneous.aligned(influences, metric), confidence, seed=seed).simultaneous,
        apart,
    )


def shrunk(estimates: Floats, errors: Floats, prompts: Ints) -> tuple[Floats, float]:
    """Return estimates shrunk to their mean by empirical Bayes, and the deviation between (DerSimonian, Laird)."""
    n = prompts.astype(float)
    pooled, share = float((n - 1) @ (n * errors**2) / (n - 1).sum()), n / n.sum()
    within = np.maximum(pooled / n, np.finfo(float).tiny)
    around = share @ (estimates - share @ estimates) ** 2
    between = max(0.0, float((around - (len(n) - 1) * pooled / n.sum()) / (1 - share @ share)))
    variance = between + within
    # Relative to the smallest: where nothing varies, its inverse is near the largest number there is.
    weights = variance.min() / variance
    mean = weights @ estimates / weights.sum()
    return mean + between / variance * (estimates - mean), float(np.sqrt(between))


def weakness(found: result_verdict.Subsets | None) -> str:
    """Say where a judge that is useful over all prompts is not; empty where that is not shown of any subset."""
    if found is None or not found.weak:
        return ""
    worst, *others = found.weak
    word = "harmful" if worst.high is not None and worst.high < 0 else "weak"
    also = f", and not useful in {counted(len(others), 'more subset')}" if others else ""
    return f"Useful over all prompts, {word} {_told(found, worst)}{also}."


def _by_value(values: CodedColumn) -> dict[str, Ints]:
    """Return the prompts of each value."""
    codes, names = coded(values.where([exhibits.written(value) for value in values.cells], "(blank)", object))
    if len(names) < 2:
        raise exhibits.LeftOut("it has the same value for every prompt")
    return dict(
        zip(names, np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1]), strict=True)
    )


def _subsets(
    settings: Settings, parts: Sequence[_PromptSubset], left_out: dict[str, str], named: Mapping[str, str]
) -> result_verdict.Subsets:
    influences = [part.influences for part in parts if part.influences is not None]
    confidence = simultaneous_confidence(influences, settings.confidence, seed=settings.seed)
    (metric, gate), rows, between = settings.deciding, [], {}
    for column in dict.fromkeys(part.column for part in parts):
        own = [part for part in parts if part.column == column]
        known = [one for one in own if one.found.estimate is not None and one.found.se is not None]
        towards: dict[str, float] = {}
        if len(known) > 1:
            values, errors = np.array([(one.found.estimate, one.found.se) for one in known], dtype=float).T
            kept, between[column] = shrunk(values, errors, np.array([len(one.at) for one in known]))
            towards = dict(zip((one.value for one in known), kept.tolist(), strict=True))
        rows += [one.record(confidence, towards.get(one.value)) for one in own]
    rows.sort(key=lambda one: (one.estimate is None, one.estimate or 0.0))
    shown = [row for row in rows if row.low is not None]
    weak = [one for one in shown if one.prompts >= _WEAK_FROM and one.high is not None and one.high < gate]
    ends = given(worst=shown[0], best=shown[-1]) if shown else {}
    subsets = result_verdict.Subsets(
        metric=metric, confidence=confidence, weak=weak, rows=rows, between=between, left_out=left_out, **ends
    )
    return subsets.model_copy(update={"sentence": " ".join(_sentences(subsets, named))})


def _sentences(found: result_verdict.Subsets, left_out: Mapping[str, str]) -> Iterator[str]:
    if found.worst is not None and found.best is not None and found.worst is not found.best:
        columns = list(dict.fromkeys(row.column for row in found.rows))
        by = printable(columns[0], longest=40) if len(columns) == 1 else counted(len(columns), "column")
        worst, best = (_told(found, one, shrunken=True) for one in (found.worst, found.best))
        compared = counted(sum(row.low is not None for row in found.rows), "subset")
        title = f"{found.metric[:1].upper()}{found.metric[1:]} by {by}"
        yield f"{title}: worst {worst}; best {best}. The intervals hold over all {compared} at once."
    without = [row for row in found.rows if row.reason is not None]
    if reasons := Counter(row.reason for row in without if row.reason is not None):
        which = listed(f"{row.column} {row.value}" for row in without)
        yield f"Subsets without an interval: {listed_counts(reasons.most_common())}: {which}."
    yield from (f"No subsets by {printable(name, longest=40)}: {why}." for name, why in left_out.items())


def _told(found: result_verdict.Subsets, one: result_verdict.Subset, *, shrunken: bool = False) -> str:
    unit, kept = unit_of(found.metric), Ends(one.shrunk if shrunken else None, one.low, one.high)
    also = "" if kept.estimate is None else f", shrunk {estimate(kept, unit)}"
    where = f"where {printable(one.column, longest=40)} is {printable(one.value, longest=40)}"
    return f"{where}: {with_interval(one, unit)} ({counted(one.prompts, 'prompt')}{also})"

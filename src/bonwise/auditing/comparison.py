"""Judge against judge on the same prompts: paired differences, and which of several is the best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.auditing.judge_record import JudgeAudit, panel_level_bias
from bonwise.auditing.paired_columns import FiguresOfPair, PairedColumns
from bonwise.auditing.result import CHOSEN_BY, ChoiceConfidences, ChoiceRecord, DifferenceFromBest
from bonwise.auditing.settings import Settings
from bonwise.auditing.simultaneous import UnitInfluences, aligned, joint_confidence
from bonwise.estimates import EstimateRecord, estimate_records
from bonwise.results import given
from bonwise.stats import catalog, correlation, estimation, level_bias, support, top_of_scores
from bonwise.stats.estimand import Estimate, under_method
from bonwise.stats.laws import Ends, Percentile, Turned
from bonwise.stats.partial.label_sample import LabelSample
from bonwise.stats.sums import Sums
from bonwise.table.panel import Panel

_BEYOND = 5
"""Resamples beyond an end of an interval below which that end is an accident of a few of them."""

_SAME = 1e-12
"""Estimates that differ by less are equal but for rounding."""

_UNBOUNDED = "unbounded at the confidence that a choice among several takes"

_BY_CANDIDATE = "where single candidates were drawn for labels, their joint scatter is not known"


@dataclass(frozen=True, eq=False)
class Compared:
    """One of those that are compared."""

    metrics: Mapping[str, Estimate]
    influences: UnitInfluences | None
    """How much every unit moves its gain and its recovery; None where that is not known."""


def choices(
    compared: Mapping[str, Compared],
    difference: Callable[[str, str, str], Estimate | None],
    confidence: float,
    *,
    seed: int,
) -> dict[str, ChoiceRecord]:
    """Choose the best by each metric that two or more have; `difference` is None where there is none."""
    found = {}
    for metric in CHOSEN_BY:
        of = {name: one for name, one in compared.items() if one.metrics[metric].estimate is not None}
        if len(of) > 1:
            found[metric] = _choice(metric, of, difference, confidence, seed)
    return found


def turned(found: Estimate) -> Estimate:
    """Return a difference of a and b as that of b and a."""
    if found.estimate is None:
        return found
    low, high = (None, None) if found.low is None or found.high is None else (-found.high, -found.low)
    law = None if found.law is None else Turned(found.law)
    rests = None if found.support is None else found.support.turned()
    return replace(found, estimate=0.0 - found.estimate, low=low, high=high, law=law, support=rests)


def _choice(
    metric: str,
    of: Mapping[str, Compared],
    difference: Callable[[str, str, str], Estimate | None],
    confidence: float,
    seed: int,
) -> ChoiceRecord:
    estimates = {name: one.metrics[metric] for name, one in of.items()}
    values = {name: estimate.estimate for name, estimate in estimates.items() if estimate.estimate is not None}
    highest = max(values.values())
    best = [name for name, value in values.items() if value >= highest - _SAME]
    others = {name: difference(best[0], name, metric) for name in of if name != best[0]}
    before = _spanned([_ends_of(estimates[name]) for name in best])
    known = [
        one.influences for one in of.values() if one.influences is not None and metric in one.influences.by_metric
    ]
    at = None
    reason = _BY_CANDIDATE
    if len(known) == len(of):
        at = joint_confidence(aligned(known, metric), confidence, seed=seed)
        reason = _too_few([*estimates.values(), *(other for other in others.values() if other is not None)], at)
        at = None if reason else at
    after = None if at is None else _spanned([_after(estimates[name], at) for name in best])
    if at is not None and after is None:
        whys = (estimates[name].reason for name in best)
        reason = next((why.removeprefix("no interval: ") for why in whys if why), _UNBOUNDED)
    return ChoiceRecord(
        best=best,
        estimate=highest,
        before=_listed(before),
        after=_listed(after),
        simultaneous={
            name: None if at is None else _listed(estimate.bounds(at.simultaneous))
            for name, estimate in estimates.items()
        },
        differences={
            name: DifferenceFromBest(
                estimate=other.estimate, interval=None if at is None else _listed(_apart(other, at.differences))
            )
            for name, other in others.items()
            if other is not None
        },
        **given(confidences=at, reason=reason or None),
    )


def _apart(difference: Estimate, confidence: float) -> Ends:
    """Return the interval of a difference; None where it tells the two apart and rests on too little for that."""
    ends = difference.bounds(confidence)
    return None if ends and not ends[0] <= 0 <= ends[1] and support.open_ground(difference, 0.0) else ends


def _after(found: Estimate, at: ChoiceConfidences) -> Ends:
    """Return the interval of an estimate chosen as the highest: its lower end is one of those that hold together."""
    lower, own = found.bounds(at.after), _ends_of(found)
    return None if lower is None or own is None else (lower[0], own[1])


def _too_few(found: list[Estimate], at: ChoiceConfidences) -> str:
    """Say how many resamples are needed where a bootstrap has too few; empty where it has enough."""
    laws = [one.law.law if isinstance(one.law, Turned) else one.law for one in found]
    drawn = [len(law.replicates) for law in laws if isinstance(law, Percentile)]
    needed = ceil(_BEYOND * 2 / (1 - max(at.simultaneous, at.after, at.differences)))
    if not drawn or min(drawn) >= needed:
        return ""
    return f"intervals that hold together need {needed:,} resamples of the bootstrap, and there are {min(drawn):,}"


def _spanned(ends: list[Ends]) -> Ends:
    known = [end for end in ends if end is not None]
    if len(known) < len(ends):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _ends_of(found: Estimate) -> Ends:
    return None if found.low is None or found.high is None else (found.low, found.high)


def _listed(ends: Ends) -> list[float] | None:
    return None if ends is None else list(ends)


class PairedDifferences(NamedTuple):
    """Metric differences of two judges, first minus second."""

    prompts: int
    """Prompts that both judges scored completely and that are labelled; of single labels those with any."""
    differences: Mapping[str, Estimate]
    """By metric; empty without a common prompt. All are paired but level_bias, of which each judge's own is taken."""

    @property
    def records(self) -> Mapping[str, EstimateRecord | dict[str, Any]]:
        """What a document holds of them."""
        known = self.differences
        return known.records if isinstance(known, FiguresOfPair) else estimate_records(known)


JudgePairs = Mapping[tuple[str, str], PairedDifferences]
"""Every pair of judges, by their names."""


def compare_judges(judges: Sequence[JudgeAudit], settings: Settings) -> JudgePairs:
    """Compare every pair of judges on the prompts both scored completely."""
    labelled = [_LabelledJudge(judge, settings) for judge in judges]
    pairs: dict[tuple[str, str], PairedDifferences] = {}
    for group in _compared_at_once(labelled, settings):
        columns = PairedColumns([judge.audit for judge in group], [judge.panel for judge in group], settings)
        names = combinations([judge.audit.judge for judge in group], 2)
        figures = zip(columns.prompts.tolist(), columns.records(), strict=True)
        for at, (pair, (prompts, records)) in enumerate(zip(names, figures, strict=True)):
            differences = FiguresOfPair(columns, at, records) if prompts else {}
            pairs[pair] = PairedDifferences(prompts, differences)
    every = [((first.audit.judge, second.audit.judge), first, second) for first, second in combinations(labelled, 2)]
    return {pair: pairs.get(pair) or _compare(first, second, settings) for pair, first, second in every}


def choice_of_judges(judges: Sequence[JudgeAudit], pairs: JudgePairs, settings: Settings) -> dict[str, ChoiceRecord]:
    """Choose the best judge by recovery and by gain, with intervals that hold after the choice."""

    def difference(first: str, second: str, metric: str) -> Estimate | None:
        if (first, second) in pairs:
            return pairs[first, second].differences.get(metric)
        found = pairs[second, first].differences.get(metric)
        return None if found is None else turned(found)

    compared = {judge.judge: Compared(judge.metrics, judge.influences) for judge in judges}
    return choices(compared, difference, settings.confidence, seed=settings.seed)


class _LabelledJudge:
    """A judge on its labelled prompts, or on those in `panel`; what follows from it alone is computed once."""

    def __init__(self, audit: JudgeAudit, settings: Settings, panel: Panel | None = None) -> None:
        self.audit, self._settings = audit, settings
        self.panel = audit.labelling.panel.keep(audit.labelling.labelled) if panel is None else panel
        self._biases: list[tuple[Floats | None, Estimate]] = []
        if panel is None and audit.labelling.method == "complete":
            # The audit has fitted it to the same prompts already.
            self._biases.append((self.panel.weights, audit.metrics["level_bias"]))

    @cached_property
    def sums(self) -> Floats:
        """Sums of its prompts."""
        return self.panel.sums()

    def bias(self, weights: Floats | None) -> Estimate:
        """Return the level bias under weights of the prompts."""
        for known, found in self._biases:
            if known is weights or (known is not None and weights is not None and np.array_equal(known, weights)):
                return found
        found = panel_level_bias(self.panel, self._settings, weights)
        self._biases.append((weights, found))
        return found

    def on(self, other: _LabelledJudge) -> _LabelledJudge:
        """Return the judge on the prompts that the other judge scored completely too: itself where these are all."""
        if self.panel.prompt_ids.equals(other.panel.prompt_ids):
            return self
        panel = self.panel.keep(self.panel.prompt_ids.isin(other.panel.prompt_ids))
        return self if panel is self.panel else _LabelledJudge(self.audit, self._settings, panel)


def _compared_at_once(judges: Sequence[_LabelledJudge], settings: Settings) -> list[list[_LabelledJudge]]:
    """Return the groups of judges whose differences are made in columns."""
    groups: list[list[_LabelledJudge]] = []
    for judge in judges:
        labelling, panel = judge.audit.labelling, judge.panel
        if labelling.method == "cells" or labelling.sample is not None or not len(panel.sizes):
            continue
        alike = panel.clusters is None and panel.weights is None
        of_prompts = (group for group in groups if alike or group[0].panel.prompt_ids.equals(panel.prompt_ids))
        if (group := next(of_prompts, None)) is None:
            groups.append([judge])
        else:
            group.append(judge)
    return [group for group in groups if len(group) > 1 and settings.interval == "default"]


def _compare(first: _LabelledJudge, second: _LabelledJudge, settings: Settings) -> PairedDifferences:
    audits = first.audit, second.audit
    if any(audit.labelling.method == "cells" for audit in audits):
        return _compare_cells(*audits, settings)
    left, right = first.on(second), second.on(first)
    if not len(left.panel.sizes):
        return PairedDifferences(0, {})
    sample, weights = _common_sample(*audits), left.panel.weights
    if sample is not None:
        from bonwise.auditing.weighted_metrics import weighted_difference  # noqa: PLC0415 - complete labels do without

        rule = settings.rule(left.panel.labels, left.panel.clusters)
        differences = weighted_difference(catalog.ESTIMANDS, left.sums, right.sums, sample, rule)
        weights = _weights(sample)
        few = audits[0].labelling.few_carry
        differences = {name: correlation.without_interval(estimate, few) for name, estimate in differences.items()}
        method = "weighted"
    else:
        rule = settings.rule(left.panel.labels, left.panel.clusters)
        differences = estimation.difference(catalog.ESTIMANDS, left.sums, right.sums, rule)
        complete = all(audit.labelling.method == "complete" for audit in audits)
        method = "complete" if complete else "labelled_only"
    differences["level_bias"] = level_bias.level_bias_difference(
        left.bias(weights), right.bias(weights), settings.confidence
    )
    paired = Sums(*left.sums).J - Sums(*right.sums).J, Sums(*left.sums), left.panel.lowest_labels()
    differences = support.of_difference(differences, (first.audit.metrics, second.audit.metrics), paired)
    for side in (left, right):
        heavy = correlation.heavy_tails(side.panel.scores, side.panel.labels)
        differences = correlation.without_correlations(differences, heavy)
    return PairedDifferences(len(left.panel.sizes), under_method(differences, method))


def _compare_cells(first: JudgeAudit, second: JudgeAudit, settings: Settings) -> PairedDifferences:
    """Compare two judges on every labelled candidate of the prompts that both scored completely."""
    from bonwise.auditing.partial_metrics import cell_differences  # noqa: PLC0415 - complete labels do without

    labellings = first.labelling, second.labelling
    found, prompts = cell_differences(*labellings, settings)
    return PairedDifferences(prompts, support.of_difference(found, (first.metrics, second.metrics)))


def _common_sample(first: JudgeAudit, second: JudgeAudit) -> LabelSample | None:
    """Return the sample of the prompts that both judges scored; None where their labels are no sample."""
    if first.labelling.sample is None or second.labelling.sample is None:
        return None
    both = first.labelling.panel.prompt_ids.isin(second.labelling.panel.prompt_ids)
    return first.labelling.sample.keep(both)


def _weights(sample: LabelSample) -> Floats:
    return sample.weights[sample.labelled]


SAME_PICKS = "both make the same picks"

OF_THE_TOP = ("top1_tie_rate", *(e.name for e in catalog.OF_PICKS if e.on_scores))
"""What follows from the candidates at the top alone."""


def pick_alike(first: Floats, second: Floats, sizes: Ints) -> bool:
    """Tell whether the same candidates share the highest score in every prompt; equal worth is not enough."""
    return bool(np.array_equal(top_of_scores.at_top(first, sizes), top_of_scores.at_top(second, sizes)))


def differing_by_nothing(found: Mapping[str, Estimate], names: Sequence[str] = OF_THE_TOP) -> dict[str, Estimate]:
    """Return differences of picks that are alike: 0 for what has a figure and depends on picks, with the reason."""
    return {
        name: Estimate(0.0, None, None, None, one.n, None, one.method, SAME_PICKS)
        if name in names and one.estimate is not None
        else one
        for name, one in found.items()
    }

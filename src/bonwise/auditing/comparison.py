"""Judge against judge on the same prompts: paired differences with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np

from bonwise.auditing.choice import BestChoice, Compared, choices, turned
from bonwise.auditing.judge_audit import JudgeAudit
from bonwise.auditing.level import panel_level_bias
from bonwise.auditing.settings import Settings
from bonwise.data.panel import Panel
from bonwise.documents.audited.compared import JudgesCompared
from bonwise.documents.estimate import estimate_records
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimate import Estimate, under_method
from bonwise.stats.estimation import difference
from bonwise.stats.judge_differences import JudgeDifferences
from bonwise.stats.level_bias import level_bias_difference
from bonwise.stats.partial.label_sample import LabelSample
from bonwise.stats.sums import Floats, prompt_sums

__all__ = ["PairedDifferences", "choice_of_judges", "compare_judges"]


@dataclass(frozen=True)
class PairedDifferences:
    """Metric differences, first judge minus second, paired by prompt."""

    first: str
    second: str
    prompts: int
    """Prompts that both judges scored completely and that are labelled; of single labelled candidates those with any.

    """
    differences: Mapping[str, Estimate] = field(repr=False)
    """By metric; empty without a common prompt. All are paired but level_bias, whose interval holds whatever the
    pairing is.
    """

    def record(self) -> JudgesCompared:
        """Return what the document of the audit holds."""
        return JudgesCompared(
            first=self.first,
            second=self.second,
            prompts=self.prompts,
            differences=estimate_records(self.differences),
        )


def compare_judges(judges: Sequence[JudgeAudit], settings: Settings) -> tuple[PairedDifferences, ...]:
    """Compare every pair of judges on the prompts both scored completely."""
    labelled = [_LabelledJudge(judge, settings) for judge in judges]
    _share_what_is_alike(labelled, settings)
    return tuple(_compare(first, second, settings) for first, second in combinations(labelled, 2))


def choice_of_judges(
    judges: Sequence[JudgeAudit], comparisons: Sequence[PairedDifferences], settings: Settings
) -> dict[str, BestChoice]:
    """Choose the best judge by recovery and by gain, with intervals that hold after the choice."""
    pairs = {(one.first, one.second): one.differences for one in comparisons}

    def difference(first: str, second: str, metric: str) -> Estimate | None:
        if (first, second) in pairs:
            return pairs[first, second].get(metric)
        found = pairs[second, first].get(metric)
        return None if found is None else turned(found)

    compared = {one.judge: Compared(one.metrics, one.influences) for one in judges}
    return choices(compared, difference, settings.confidence, seed=settings.seed)


class _LabelledJudge:
    """A judge on its labelled prompts, or on some of them; what follows from it alone is computed once.

    Parameters
    ----------
    audit : JudgeAudit
    settings : Settings
    panel : Panel, optional
        Some of its labelled prompts; all of them where it is not given.
    """

    def __init__(self, audit: JudgeAudit, settings: Settings, panel: Panel | None = None) -> None:
        self.audit, self._settings = audit, settings
        self.panel = audit.labelling.panel.keep(audit.labelling.labelled) if panel is None else panel
        self.alike: JudgeDifferences | None = None
        self.place = 0
        self._biases: list[tuple[Floats | None, Estimate]] = []
        if panel is None and audit.labelling.method == "complete":
            # The audit has fitted it to the same prompts already.
            self._biases.append((None, audit.metrics["level_bias"]))

    @cached_property
    def sums(self) -> Floats:
        """Sums of its prompts."""
        return prompt_sums(self.panel.scores, self.panel.labels, self.panel.sizes)

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


def _share_what_is_alike(judges: Sequence[_LabelledJudge], settings: Settings) -> None:
    """Put judges with the same labelled prompts together."""
    groups: list[list[_LabelledJudge]] = []
    for judge in judges:
        if judge.audit.labelling.method == "cells":
            continue
        prompts = judge.panel.prompt_ids
        found = next((group for group in groups if group[0].panel.prompt_ids.equals(prompts)), None)
        if found is None:
            groups.append([judge])
        else:
            found.append(judge)
    for group in groups:
        if len(group) > 1 and len(group[0].panel.sizes):
            rule = settings.rule(group[0].panel.labels, group[0].panel.clusters)
            together = JudgeDifferences(ESTIMANDS, [one.sums for one in group], rule)
            for place, judge in enumerate(group):
                judge.alike, judge.place = together, place


def _compare(first: _LabelledJudge, second: _LabelledJudge, settings: Settings) -> PairedDifferences:
    names, audits = (first.audit.judge, second.audit.judge), (first.audit, second.audit)
    if any(one.labelling.method == "cells" for one in audits):
        return _compare_cells(*audits, settings)
    left, right = first.on(second), second.on(first)
    if not len(left.panel.sizes):
        return PairedDifferences(*names, 0, {})
    sample, weights = _common_sample(*audits), None
    if sample is not None:
        from bonwise.stats.partial.weighted import weighted_difference  # noqa: PLC0415 - complete labels do without

        rule = settings.rule(left.panel.labels, left.panel.clusters)
        found, weights = weighted_difference(ESTIMANDS, left.sums, right.sums, sample, rule), _weights(sample)
        method = "weighted"
    else:
        found = _difference(left, right, settings)
        complete = all(one.labelling.method == "complete" for one in audits)
        method = "complete" if complete else "labelled_only"
    found["level_bias"] = level_bias_difference(left.bias(weights), right.bias(weights), settings.confidence)
    return PairedDifferences(*names, len(left.panel.sizes), under_method(found, method))


def _compare_cells(first: JudgeAudit, second: JudgeAudit, settings: Settings) -> PairedDifferences:
    """Compare two judges on every labelled candidate of the prompts that both scored completely."""
    from bonwise.auditing.cell_metrics import cell_differences  # noqa: PLC0415 - complete labels do without

    labellings = first.labelling, second.labelling
    found, prompts = cell_differences(*labellings, settings)
    return PairedDifferences(first.judge, second.judge, prompts, found)


def _difference(left: _LabelledJudge, right: _LabelledJudge, settings: Settings) -> dict[str, Estimate]:
    if left.alike is not None and left.alike is right.alike:
        return left.alike.difference(left.place, right.place)
    return difference(ESTIMANDS, left.sums, right.sums, settings.rule(left.panel.labels, left.panel.clusters))


def _common_sample(first: JudgeAudit, second: JudgeAudit) -> LabelSample | None:
    """Return the sample of the prompts that both judges scored; None where their labels are no sample."""
    if first.labelling.sample is None or second.labelling.sample is None:
        return None
    both = first.labelling.panel.prompt_ids.isin(second.labelling.panel.prompt_ids)
    return first.labelling.sample.keep(both)


def _weights(sample: LabelSample) -> Floats:
    weights: Floats = sample.weights[sample.labelled]
    return weights

"""Judge against judge on the same prompts: paired differences with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from bonwise.auditing.judge_audit import JudgeAudit
from bonwise.auditing.level import panel_level_bias
from bonwise.auditing.settings import Settings
from bonwise.data.panel import Panel
from bonwise.documents.audited.compared import JudgesCompared
from bonwise.documents.estimate import estimate_records
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimate import Estimate, under_method
from bonwise.stats.estimation import difference
from bonwise.stats.level_bias import level_bias_difference
from bonwise.stats.partial.label_sample import LabelSample
from bonwise.stats.sums import Floats, prompt_sums

__all__ = ["PairedDifferences", "compare_judges"]


@dataclass(frozen=True)
class PairedDifferences:
    """Metric differences, first judge minus second, paired by prompt.

    Parameters
    ----------
    first, second : str
    prompts : int
        Prompts that both judges scored completely and that are labelled.
    differences : mapping of str to Estimate
        By metric; empty without a common prompt. All are paired but level_bias, whose interval holds
        whatever the pairing is.
    """

    first: str
    second: str
    prompts: int
    differences: Mapping[str, Estimate] = field(repr=False)

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
    return tuple(_compare(first, second, settings) for first, second in combinations(judges, 2))


def _compare(first: JudgeAudit, second: JudgeAudit, settings: Settings) -> PairedDifferences:
    left, right = _common(first, second), _common(second, first)
    if not len(left.sizes):
        return PairedDifferences(first.judge, second.judge, 0, {})
    sums = [prompt_sums(panel.scores, panel.labels, panel.sizes) for panel in (left, right)]
    rule, sample = settings.rule(left.labels), _common_sample(first, second)
    if sample is not None:
        from bonwise.stats.partial.weighted import weighted_difference  # noqa: PLC0415 - complete labels do without

        found, weights = weighted_difference(ESTIMANDS, sums[0], sums[1], sample, rule), _weights(sample)
        method = "weighted"
    else:
        found, weights = difference(ESTIMANDS, sums[0], sums[1], rule), None
        complete = first.labelling.method == second.labelling.method == "complete"
        method = "complete" if complete else "labelled_only"
    biases = [panel_level_bias(panel, settings, weights) for panel in (left, right)]
    found["level_bias"] = level_bias_difference(biases[0], biases[1], settings.confidence)
    differences = under_method(found, method)
    return PairedDifferences(first.judge, second.judge, len(left.sizes), differences)


def _common(judge: JudgeAudit, other: JudgeAudit) -> Panel:
    """Return a judge's labelled prompts that the other judge scored completely too."""
    panel = judge.labelling.panel.keep(judge.labelling.labelled)
    theirs = other.labelling.panel.keep(other.labelling.labelled)
    return panel.keep(panel.prompt_ids.isin(theirs.prompt_ids))


def _common_sample(first: JudgeAudit, second: JudgeAudit) -> LabelSample | None:
    """Return the sample of the prompts that both judges scored; None where their labels are no sample."""
    if first.labelling.sample is None or second.labelling.sample is None:
        return None
    both = first.labelling.panel.prompt_ids.isin(second.labelling.panel.prompt_ids)
    return first.labelling.sample.keep(both)


def _weights(sample: LabelSample) -> Floats:
    weights: Floats = sample.weights[sample.labelled]
    return weights

"""Judge against judge on the same prompts: paired differences with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from bonwise.auditing.judge_audit import JudgeAudit, label_range
from bonwise.auditing.settings import Settings
from bonwise.data.panel import Panel
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimate import Estimate
from bonwise.stats.estimation import difference
from bonwise.stats.sums import prompt_sums

__all__ = ["Comparison", "compare_judges"]


@dataclass(frozen=True)
class Comparison:
    """Metric differences, first judge minus second, paired by prompt.

    Parameters
    ----------
    first, second : str
    prompts : int
        Prompts that both judges scored completely and that are labelled.
    differences : mapping of str to Estimate
        By metric; level_bias has no paired difference.
    """

    first: str
    second: str
    prompts: int
    differences: Mapping[str, Estimate] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {
            "first": self.first,
            "second": self.second,
            "prompts": self.prompts,
            "differences": {name: found.to_dict() for name, found in self.differences.items()},
        }


def compare_judges(judges: Sequence[JudgeAudit], settings: Settings) -> tuple[Comparison, ...]:
    """Compare every pair of judges on the prompts both scored completely."""
    panels = [judge.labelling.panel.keep(judge.labelling.labelled) for judge in judges]
    methods = [judge.labelling.method for judge in judges]
    found = []
    for (left, how_left), (right, how_right) in combinations(zip(panels, methods, strict=True), 2):
        method = "complete" if how_left == how_right == "complete" else "labelled_only"
        found.append(_compare(left, right, settings, method))
    return tuple(comparison for comparison in found if comparison.prompts)


def _compare(left: Panel, right: Panel, settings: Settings, method: str) -> Comparison:
    both = left.prompt_ids.intersection(right.prompt_ids)
    left, right = left.keep(left.prompt_ids.isin(both)), right.keep(right.prompt_ids.isin(both))
    if not len(both):
        return Comparison(left.judge, right.judge, 0, {})
    sums = [prompt_sums(panel.scores, panel.labels, panel.sizes) for panel in (left, right)]
    found = difference(ESTIMANDS, sums[0], sums[1], settings.rule(label_range(left.labels)))
    return Comparison(
        left.judge,
        right.judge,
        len(both),
        {name: e.with_method(method) for name, e in found.items()},
    )

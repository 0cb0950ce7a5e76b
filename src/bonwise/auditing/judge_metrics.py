"""The metrics of one judge with what is to be said of them, and those metrics that need no labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from bonwise.auditing.settings import Settings
from bonwise.data.panel import Panel
from bonwise.documents.audited.sampling import SampleUse
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimate import Estimate
from bonwise.stats.estimation import estimate
from bonwise.stats.sums import prompt_sums

__all__ = ["JudgeMetrics", "judge_only"]


@dataclass(frozen=True, eq=False)
class JudgeMetrics:
    """The metrics of one judge.

    Parameters
    ----------
    metrics : mapping of str to Estimate
    use : SampleUse or None
        How a sample of labels was used: effective sample size, outcome model and what further judges bring. None
        where the labels are no sample.
    """

    metrics: Mapping[str, Estimate] = field(repr=False)
    use: SampleUse | None = None


def judge_only(panel: Panel, settings: Settings) -> dict[str, Estimate]:
    """Estimate what needs no labels from all prompts."""
    own = [e for e in ESTIMANDS if not e.on_labels]
    sums = prompt_sums(panel.scores, np.zeros(len(panel.scores)), panel.sizes)
    return estimate(own, sums, settings.rule(np.zeros(0)))

"""All metrics, in the order in which documents hold them."""

from __future__ import annotations

from bonwise.stats import agreement, level_bias, recovery, ties, top1, within_prompt
from bonwise.stats.estimand import Metric

__all__ = ["ESTIMANDS", "METRICS", "OF_PICKS"]

OF_PICKS = (*top1.ESTIMANDS, *recovery.ESTIMANDS)
"""Metrics that follow from what was picked: of scores they need no more than the candidates at the top."""

ESTIMANDS = (
    *within_prompt.ESTIMANDS,
    *ties.ESTIMANDS,
    *agreement.ESTIMANDS,
    *OF_PICKS,
)
"""Metrics that are functions of totals."""

METRICS: tuple[Metric, ...] = (*ESTIMANDS, level_bias.METRIC)

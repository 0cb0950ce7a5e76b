"""All metrics that are functions of totals, in the order in which they are reported."""

from __future__ import annotations

from bonwise.stats import agreement, recovery, ties, top1, within_prompt

__all__ = ["ESTIMANDS", "OF_PICKS"]

OF_PICKS = (*top1.ESTIMANDS, *recovery.ESTIMANDS)
"""Metrics that follow from what was picked: of scores they need no more than the candidates at the top."""

ESTIMANDS = (
    *within_prompt.ESTIMANDS,
    *ties.ESTIMANDS,
    *agreement.ESTIMANDS,
    *OF_PICKS,
)

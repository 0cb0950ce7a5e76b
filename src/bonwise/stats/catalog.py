"""All metrics that are functions of totals, in the order in which they are reported."""

from __future__ import annotations

from bonwise.stats import agreement, recovery, ties, top1, within_prompt

__all__ = ["ESTIMANDS"]

ESTIMANDS = (
    *within_prompt.ESTIMANDS,
    *ties.ESTIMANDS,
    *agreement.ESTIMANDS,
    *top1.ESTIMANDS,
    *recovery.ESTIMANDS,
)

"""How often a judge, or the oracle, cannot tell two candidates of a prompt apart."""

from __future__ import annotations

from bonwise.stats.estimand import Estimand, ratio
from bonwise.stats.sums import Floats, Sums

__all__ = ["ESTIMANDS"]


def tie_rate(t: Sums) -> Floats:
    """Share of within-prompt pairs to which the judge gives equal scores."""
    return 1 - ratio(t.apart_S, t.pairs)


def oracle_tie_rate(t: Sums) -> Floats:
    """Share of within-prompt pairs with equal labels."""
    return 1 - ratio(t.apart_O, t.pairs)


def top1_tie_rate(t: Sums) -> Floats:
    """Share of prompts where more than one candidate has the highest score."""
    return ratio(t.tied_top, t.prompts)


ESTIMANDS = (
    Estimand(
        "tie_rate",
        tie_rate,
        "a pair",
        on_labels=False,
        average_over=lambda t: t.pairs,
        group="Within prompts",
        meaning="pairs with equal scores",
        unit="share",
    ),
    Estimand(
        "oracle_tie_rate",
        oracle_tie_rate,
        "a pair",
        on_scores=False,
        average_over=lambda t: t.pairs,
        group="Within prompts",
        meaning="pairs with equal labels",
        unit="share",
    ),
    Estimand(
        "top1_tie_rate",
        top1_tie_rate,
        "a prompt",
        on_labels=False,
        average_over=lambda t: t.prompts,
        group="Within prompts",
        meaning="prompts with more than one top score",
        unit="share",
    ),
)

"""Does the judge's pick stand at the top of the oracle's order? Ties in expectation on both sides."""

from __future__ import annotations

from bonwise.stats.estimand import Estimand, OutcomeWeights, ratio
from bonwise.stats.sums import Floats, Sums

__all__ = ["ESTIMANDS"]


def top1_accuracy(t: Sums) -> Floats:
    """Probability that a random top-scored candidate is a random best-labelled one (PCS).

    Mean of ``|A and B| / (|A| |B|)``; a judge that picks at random gets exactly 1/K.
    """
    return ratio(t.same_top, t.prompts)


def hit_rate(t: Sums) -> Floats:
    """Probability that a random top-scored candidate is among the best-labelled ones.

    Mean of ``|A and B| / |A|``; a judge that picks at random gets E|B| / K.
    """
    return ratio(t.hit, t.prompts)


ESTIMANDS = (
    Estimand(
        "top1_accuracy",
        top1_accuracy,
        "a prompt",
        average_over=lambda t: t.prompts,
        outcomes=OutcomeWeights(top1=1.0),
        group="Picks",
        meaning="the pick is the best (chance 1/n)",
        unit="share",
    ),
    Estimand(
        "hit_rate",
        hit_rate,
        "a prompt",
        average_over=lambda t: t.prompts,
        outcomes=OutcomeWeights(hit=1.0),
        group="Picks",
        meaning="the pick is among the best candidates",
        unit="share",
    ),
)

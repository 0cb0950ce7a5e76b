"""What the picks are worth, and how much of the possible gain the judge recovers."""

from __future__ import annotations

import numpy as np

from bonwise.stats.estimand import Estimand, OutcomeWeights, ratio
from bonwise.stats.sums import Floats, Sums

__all__ = ["ESTIMANDS", "recovery"]


def value_random(t: Sums) -> Floats:
    """Expected label of a candidate picked at random."""
    return ratio(t.R, t.prompts)


def value_judge(t: Sums) -> Floats:
    """Expected label of the judge's pick, ties broken at random, in expectation."""
    return ratio(t.J, t.prompts)


def value_oracle(t: Sums) -> Floats:
    """Expected label of the best candidate."""
    return ratio(t.M, t.prompts)


def gain(t: Sums) -> Floats:
    """Mean of what the judge's pick is worth beyond a random pick, in the unit of the labels."""
    return ratio(t.J - t.R, t.prompts)


def recovery(t: Sums) -> Floats:
    """Share of the possible gain over a random pick that the judge's picks bring (equation 1).

    ``(value_judge - value_random) / (value_oracle - value_random)``: a ratio of means, because a
    prompt whose labels are all equal has no ratio of its own.
    """
    return ratio(t.J - t.R, t.M - t.R, np.abs(t.M) + np.abs(t.R))


_GAIN, _ROOM = OutcomeWeights(judge_gain=1.0), OutcomeWeights(oracle_gain=1.0)

ESTIMANDS = (
    Estimand(
        "value_random",
        value_random,
        "a prompt",
        None,
        on_scores=False,
        average_over=lambda t: t.prompts,
        outcomes=OutcomeWeights(random=1.0),
        group="Picks",
        meaning="mean label of a random pick",
        unit="number",
        place=3,
    ),
    Estimand(
        "value_judge",
        value_judge,
        "a prompt",
        None,
        average_over=lambda t: t.prompts,
        outcomes=OutcomeWeights(random=1.0, judge_gain=1.0),
        group="Picks",
        meaning="mean label of the judge's pick",
        unit="number",
        place=3,
    ),
    Estimand(
        "value_oracle",
        value_oracle,
        "a prompt",
        None,
        on_scores=False,
        average_over=lambda t: t.prompts,
        outcomes=OutcomeWeights(random=1.0, oracle_gain=1.0),
        group="Picks",
        meaning="mean label of the best candidate",
        unit="number",
        place=3,
    ),
    Estimand(
        "gain",
        gain,
        "a prompt",
        None,
        average_over=lambda t: t.prompts,
        contrast=True,
        outcomes=_GAIN,
        group="Picks",
        meaning="value of the picks minus random picks",
        unit="number",
        place=2,
    ),
    Estimand(
        "recovery",
        recovery,
        "a prompt where labels differ",
        (-np.inf, 1.0),
        parts=lambda t: (t.J - t.R, t.M - t.R),
        outcomes=_GAIN,
        outcomes_below=_ROOM,
        group="Picks",
        meaning="share of the possible gain",
        unit="share",
        place=1,
        headline=True,
    ),
)

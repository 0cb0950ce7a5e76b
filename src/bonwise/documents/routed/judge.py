"""What routing from one judge to one that never errs is worth, as documents hold it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from bonwise.documents.dropped_prompt import DroppedPrompt
from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.record import Record
from bonwise.documents.routed.signal import RoutedShareRecord, SignalRecord
from bonwise.documents.router import SignalName
from bonwise.documents.values import Count, NonNegative, Number, Positive, Share

__all__ = [
    "BudgetRecord",
    "CheckRecord",
    "GainGrid",
    "JudgeRoute",
    "MarginGroup",
    "PerfectOrder",
    "PredictedBound",
    "RecommendedRoute",
    "RoutedData",
]


class RoutedData(Record):
    """The prompts behind the figures of a judge."""

    prompts: Count
    """Those that the judge scored completely, and those with labels for all candidates."""
    labelled_prompts: Count
    """Those that the judge scored completely, and those with labels for all candidates."""
    dropped: list[DroppedPrompt]
    method: Literal["complete", "labelled_only", "weighted"]
    """What the figures describe: all prompts; the labelled ones, where it is unknown why the others lack labels; or
    all prompts, through weights of 1 / propensity.
    """

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.labelled_prompts > self.prompts:
            raise ValueError("more prompts are labelled than there are")
        return self


class PredictedBound(Record):
    """How far the features of a prompt could carry at one share, and how far the expected gain carries."""

    share: Share
    bound: EstimateRecord
    """Estimate of the largest lift that a router can reach which reads no more out of the features."""
    achieved: EstimateRecord
    """Part of it that the signal ``expected_gain`` reaches."""
    gaussian: Number
    """Part of it that normally distributed gains allow."""


class MarginGroup(Record):
    """Prompts with about the same margin between the two highest scores."""

    margin: Number
    """Their mean margin."""
    mean: EstimateRecord
    """Of what is compared with it."""


class CheckRecord(Record):
    """Whether a figure moves with the margin as it should."""

    answer: Literal["yes", "no", "inconclusive"]
    reason: str
    """What the answer rests on."""
    correlation: EstimateRecord
    """Of the margin with the figure."""
    groups: list[MarginGroup]
    """From the smallest margin up."""


class RecommendedRoute(Record):
    """The signal to route by at the share that was asked for."""

    signal: SignalName
    share: Share
    threshold: Number
    """Prompts whose signal lies above it are sent; those at it, with the probability that fills the share."""
    captured: EstimateRecord
    """Part of the possible lift; of a learnt signal cross-fitted."""
    sentences: list[str]


class BudgetRecord(Record):
    """A mean number of calls for each prompt, split between a stronger judge and further draws of this one."""

    mean_calls: Positive
    """Calls for each prompt in all, and the price of one that is sent on, in calls."""
    strong_cost: Positive
    """Calls for each prompt in all, and the price of one that is sent on, in calls."""
    share: Share
    """Part of the prompts to send on."""
    further_calls: NonNegative
    """Mean calls of further draws for each of the others."""
    gain: EstimateRecord
    """Expected gain in the mean label over the first scores."""
    route_only: Number
    """The same where all is spent on one use."""
    redraw_only: Number
    """The same where all is spent on one use."""
    over_routing: EstimateRecord
    """Gain minus that of routing alone, paired by prompt."""
    sentence: str


GainGrid = Annotated[
    list[Annotated[list[EstimateRecord], Field(min_length=4, max_length=4)]], Field(min_length=4, max_length=4)
]
"""Mean gain by margin (0, to 0.05, to 0.10, above) and mean score (below 0.7, to 0.8, to 0.9, from 0.9)."""


PerfectOrder = Annotated[list[RoutedShareRecord], Field(min_length=1)]
"""Prompts in the order of their true gain, at every share."""


class JudgeRoute(Record):
    """What routing is worth, signal by signal."""

    data: RoutedData
    signals: dict[SignalName, SignalRecord]
    perfect: PerfectOrder
    """Prompts in the order of their true gain."""
    bound: list[PredictedBound]
    """Empty where the signal ``expected_gain`` has no figures."""
    gain_by_margin_and_level: GainGrid | None
    """Mean gain by margin (0, to 0.05, to 0.10, above) and mean score (below 0.7, to 0.8, to 0.9, from 0.9); None
    where scores leave [0, 1].
    """
    confidence_calibrated: CheckRecord
    """Whether a pick with a larger margin is right more often."""
    voi_calibrated: CheckRecord
    """Whether a larger margin means less to gain."""
    recommendation: RecommendedRoute
    budget: BudgetRecord | None = None
    """Where a joint budget was given."""

    @model_validator(mode="after")
    def _holds_all_signals_against_the_same_shares(self) -> Self:
        shares = [one.share for one in self.perfect]
        for name, signal in self.signals.items():
            if signal.shares and [one.share for one in signal.shares] != shares:
                raise ValueError(f"signals.{name} has other shares than perfect")
        taken = self.recommendation
        if taken.signal not in self.signals or not self.signals[taken.signal].shares:
            raise ValueError(f"recommendation names the signal {taken.signal}, which has no figures")
        if taken.share not in shares:
            raise ValueError("recommendation has a share that perfect lacks")
        return self

    @property
    def studied(self) -> dict[SignalName, SignalRecord]:
        """The signals that have figures."""
        return {name: one for name, one in self.signals.items() if one.shares}

    def perfect_at(self, share: float) -> RoutedShareRecord:
        """Return the figures of the perfect order at one of the shares."""
        return next(one for one in self.perfect if one.share == share)

"""What routing by one signal is worth, as documents hold it."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.record import Record
from bonwise.documents.values import Count, NonNegative, Number, PositiveShare

__all__ = ["AcrossBins", "GainBinRecord", "GainDecomposition", "RoutedShareRecord", "SignalRecord"]


class RoutedShareRecord(Record):
    """Sending one share of the prompts to a judge that never errs."""

    share: PositiveShare
    """Part of the prompts that is sent."""
    value: Number | None
    """Mean label afterwards, with its interval and standard error."""
    value_low: Number | None
    """Mean label afterwards, with its interval and standard error."""
    value_high: Number | None
    """Mean label afterwards, with its interval and standard error."""
    value_se: NonNegative | None
    """Mean label afterwards, with its interval and standard error."""
    lift: Number | None
    """That mean minus the one where as many prompts are sent at random."""
    lift_low: Number | None
    """That mean minus the one where as many prompts are sent at random."""
    lift_high: Number | None
    """That mean minus the one where as many prompts are sent at random."""
    lift_se: NonNegative | None
    """That mean minus the one where as many prompts are sent at random."""
    captured: Number | None
    """Lift as a part of the largest possible one; the largest itself has no interval."""
    low: Number | None
    """Lift as a part of the largest possible one; the largest itself has no interval."""
    high: Number | None
    """Lift as a part of the largest possible one; the largest itself has no interval."""
    se: NonNegative | None
    """Lift as a part of the largest possible one; the largest itself has no interval."""
    n: Count
    """Labelled prompts."""
    reason: str | None = None
    """Why the part captured, or its interval, is missing."""

    @property
    def at_random(self) -> float | None:
        """Mean label where as many prompts are sent at random."""
        return None if self.value is None or self.lift is None else self.value - self.lift


class AcrossBins(Record):
    """Correlations of the signal with the means of its bins; they hide noise, and so lie far above the others."""

    bins: Count
    """Groups of prompts with about the same signal."""
    wrong: Number | None
    """None where there are fewer than three bins."""
    gap: Number | None
    """None where there are fewer than three bins."""
    gain: Number | None
    """None where there are fewer than three bins."""
    reason: str | None = None
    """Why they are missing."""


class GainBinRecord(Record):
    """Prompts with about the same signal."""

    prompts: Count
    signal: Number
    """Mean of the signal."""
    wrong: EstimateRecord
    """How likely the pick is not among the best candidates."""
    gap: EstimateRecord
    """What it loses where it is not."""
    gain: EstimateRecord
    """What it loses on average."""


class GainDecomposition(Record):
    """Mean gain, split into how likely the pick is wrong and what it loses if it is."""

    corr_wrong: EstimateRecord
    """Correlations of the signal with the two factors, and with the gain itself, over prompts."""
    corr_gap: EstimateRecord
    """Correlations of the signal with the two factors, and with the gain itself, over prompts."""
    corr_gain: EstimateRecord
    """Correlations of the signal with the two factors, and with the gain itself, over prompts."""
    across_bins: AcrossBins
    bins: list[GainBinRecord]
    """From the lowest signal up."""


class SignalRecord(Record):
    """One signal at every share, or why it has no figures."""

    meaning: str
    """What the signal is."""
    learnt: bool
    """Whether it is a model of the gain, cross-fitted."""
    reason: Annotated[str, Field(min_length=1)] | None = None
    """Why there are no figures."""
    note: Annotated[str, Field(min_length=1)] | None = None
    """What the figures leave out."""
    shares: list[RoutedShareRecord]
    """In rising order of the share."""
    corr_gain: EstimateRecord | None
    """Correlation of the signal with the gain, over prompts."""
    features: list[str] | None = None
    """What the signal looks at."""
    lacking: Count | None = None
    """Labelled prompts without a value of the signal, which are sent last."""
    decomposition: GainDecomposition | None = None

    @model_validator(mode="after")
    def _figures_or_a_reason(self) -> Self:
        figures = {
            "shares": bool(self.shares),
            "corr_gain": self.corr_gain is not None,
            "features": self.features is not None,
            "lacking": self.lacking is not None,
            "decomposition": self.decomposition is not None,
        }
        wrong = [name for name, there in figures.items() if there != (self.reason is None)]
        if wrong:
            raise ValueError(
                f"has {'no ' if self.reason is None else ''}{wrong[0]}, with "
                f"{'no' if self.reason is None else 'a'} reason why there are no figures"
            )
        return self

    def at(self, share: float) -> RoutedShareRecord:
        """Return the figures at one of the shares."""
        return next(one for one in self.shares if one.share == share)

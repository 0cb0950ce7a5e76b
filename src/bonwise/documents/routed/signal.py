"""What routing by one signal is worth, as documents hold it."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.record import Record
from bonwise.documents.values import Count, NonNegative, Number, PositiveShare

__all__ = ["AcrossBins", "GainBinRecord", "GainDecomposition", "RoutedShareRecord", "SignalRecord"]


class RoutedShareRecord(Record):
    """Sending one share of the prompts to a judge that never errs.

    Parameters
    ----------
    share : float
        Part of the prompts that is sent.
    value, value_low, value_high, value_se : float or None
        Mean label afterwards, with its interval and standard error.
    lift, lift_low, lift_high, lift_se : float or None
        That mean minus the one where as many prompts are sent at random.
    captured, low, high, se : float or None
        Lift as a part of the largest possible one; the largest itself has no interval.
    n : int
        Labelled prompts.
    reason : str, optional
        Why the part captured, or its interval, is missing.
    """

    share: PositiveShare
    value: Number | None
    value_low: Number | None
    value_high: Number | None
    value_se: NonNegative | None
    lift: Number | None
    lift_low: Number | None
    lift_high: Number | None
    lift_se: NonNegative | None
    captured: Number | None
    low: Number | None
    high: Number | None
    se: NonNegative | None
    n: Count
    reason: str | None = None

    @property
    def at_random(self) -> float | None:
        """Mean label where as many prompts are sent at random."""
        return None if self.value is None or self.lift is None else self.value - self.lift


class AcrossBins(Record):
    """Correlations of the signal with the means of its bins; they hide noise, and so lie far above the others.

    Parameters
    ----------
    bins : int
        Groups of prompts with about the same signal.
    wrong, gap, gain : float or None
        None where there are fewer than three bins.
    reason : str, optional
        Why they are missing.
    """

    bins: Count
    wrong: Number | None
    gap: Number | None
    gain: Number | None
    reason: str | None = None


class GainBinRecord(Record):
    """Prompts with about the same signal.

    Parameters
    ----------
    prompts : int
    signal : float
        Mean of the signal.
    wrong : EstimateRecord
        How likely the pick is not among the best candidates.
    gap : EstimateRecord
        What it loses where it is not.
    gain : EstimateRecord
        What it loses on average.
    """

    prompts: Count
    signal: Number
    wrong: EstimateRecord
    gap: EstimateRecord
    gain: EstimateRecord


class GainDecomposition(Record):
    """Mean gain, split into how likely the pick is wrong and what it loses if it is.

    Parameters
    ----------
    corr_wrong, corr_gap, corr_gain : EstimateRecord
        Correlations of the signal with the two factors, and with the gain itself, over prompts.
    across_bins : AcrossBins
    bins : list of GainBinRecord
        From the lowest signal up.
    """

    corr_wrong: EstimateRecord
    corr_gap: EstimateRecord
    corr_gain: EstimateRecord
    across_bins: AcrossBins
    bins: list[GainBinRecord]


class SignalRecord(Record):
    """One signal at every share, or why it has no figures.

    Parameters
    ----------
    meaning : str
        What the signal is.
    learnt : bool
        Whether it is a model of the gain, cross-fitted.
    reason : str, optional
        Why there are no figures.
    note : str, optional
        What the figures leave out.
    shares : list of RoutedShareRecord
        In rising order of the share.
    corr_gain : EstimateRecord or None
        Correlation of the signal with the gain, over prompts.
    features : list of str, optional
        What the signal looks at.
    lacking : int, optional
        Labelled prompts without a value of the signal, which are sent last.
    decomposition : GainDecomposition, optional
    """

    meaning: str
    learnt: bool
    reason: Annotated[str, Field(min_length=1)] | None = None
    note: Annotated[str, Field(min_length=1)] | None = None
    shares: list[RoutedShareRecord]
    corr_gain: EstimateRecord | None
    features: list[str] | None = None
    lacking: Count | None = None
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

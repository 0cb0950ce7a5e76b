"""What scores and verdicts say of the same pairs, as the study of ways of asking holds it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.record import Record
from bonwise.documents.values import Count, NonNegative

__all__ = ["GapGroup", "MatchedPairs", "OrderEffects", "PairWay", "WayMetrics", "WhereTied"]

PairWay = Literal["pointwise", "pairwise", "pairwise_one_order"]


class OrderEffects(Record):
    """What the order of presentation did."""

    first_shown_advantage: EstimateRecord
    """What being shown first is worth."""
    flips: EstimateRecord
    """Share of the pairs whose verdict changes with the order."""


class WayMetrics(Record):
    """Metrics of one way, and how they differ from those of scores."""

    metrics: dict[str, EstimateRecord]
    minus_pointwise: dict[str, EstimateRecord] | None = None
    """Of every way but scores."""

    @model_validator(mode="after")
    def _has_recovery(self) -> Self:
        if "recovery" not in self.metrics:
            raise ValueError("metrics lack recovery, by which ways are compared")
        strange = [key for key in self.less if key not in self.metrics]
        if strange:
            raise ValueError(f"the difference of {strange[0]} is told, and {strange[0]} is not a metric")
        return self

    @property
    def less(self) -> dict[str, EstimateRecord]:
        """The differences; none of scores themselves."""
        return self.minus_pointwise or {}


class GapGroup(Record):
    """Pairs with about one gap of labels."""

    low: NonNegative
    """Ends of the gap; the first group holds its lower end."""
    high: NonNegative
    """Ends of the gap; the first group holds its lower end."""
    pairs: Count
    decided_pairs: Count
    accuracy: EstimateRecord
    """Of the decided pairs."""

    @model_validator(mode="after")
    def _decides_its_pairs(self) -> Self:
        if self.decided_pairs > self.pairs:
            raise ValueError("decided_pairs are more than pairs")
        return self


class WhereTied(Record):
    """What verdicts decide on the pairs that scores tie and the oracle does not."""

    pairs: Count
    decided_pairs: Count
    decided: EstimateRecord
    """Share, weighted where pairs were drawn."""
    accuracy: EstimateRecord
    """Of the decided pairs."""
    by_gap: list[GapGroup]

    @model_validator(mode="after")
    def _decides_its_pairs(self) -> Self:
        if self.decided_pairs > self.pairs:
            raise ValueError("decided_pairs are more than pairs")
        return self


class MatchedPairs(Record):
    """The pairs that were judged both ways, as pools of two."""

    prompts: Count
    """Plain counts."""
    pairs: Count
    """Plain counts."""
    oracle_decided_pairs: Count
    """Plain counts."""
    orders: Annotated[int, Field(ge=1, le=2)]
    """Presentation orders of the verdicts."""
    weighted: bool
    """Whether pairs were drawn, and shares are weighted."""
    ways: dict[PairWay, WayMetrics]
    order: OrderEffects | None = None
    """Of verdicts in two orders."""
    where_pointwise_tied: WhereTied

    @property
    def by_name(self) -> dict[str, WayMetrics]:
        """The ways under names of any kind."""
        return {name: way for name, way in self.ways.items()}  # noqa: C416 - keys of another type

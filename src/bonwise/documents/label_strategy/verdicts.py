"""Pairwise verdicts alone, one order against both: the kind ``verdicts`` of the study ``label-strategy``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from bonwise.documents.document import FrameRow
from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.judge_counts import StudyCounts
from bonwise.documents.label_strategy.of_any_kind import LabelStrategyDocument
from bonwise.documents.label_strategy.pairs import OrderEffects
from bonwise.documents.label_strategy.rows import way_rows
from bonwise.documents.record import Record
from bonwise.documents.study import StudyJudge
from bonwise.documents.values import Confidence, Count

__all__ = ["VerdictCounts", "VerdictMetrics", "VerdictsDocument", "VerdictsJudge", "VerdictsSettings", "VerdictsWay"]

VerdictsWay = Literal["first_order", "second_order", "both_orders"]


class VerdictCounts(StudyCounts):
    """Counts behind the figures of a judge."""

    prompts: Count
    pairs: Count
    oracle_ties: Count
    dropped: dict[str, Count]
    """Rows by reason."""


class VerdictMetrics(Record):
    """How the verdicts of one way fare against the oracle's."""

    tie_rate: EstimateRecord
    """Agreement counts ties one half, the accuracy leaves them out."""
    agreement: EstimateRecord
    """Agreement counts ties one half, the accuracy leaves them out."""
    accuracy_decided: EstimateRecord
    """Agreement counts ties one half, the accuracy leaves them out."""

    def by_name(self) -> dict[str, EstimateRecord]:
        """Return the metrics by name."""
        return {name: getattr(self, name) for name in type(self).model_fields}


class VerdictsJudge(StudyJudge):
    """What was found of one judge."""

    data: VerdictCounts
    ways: dict[VerdictsWay, VerdictMetrics]
    minus_both_orders: dict[VerdictsWay, VerdictMetrics]
    """Each order less both together; empty of one order."""
    order: OrderEffects | None
    no_order: str | None = None
    """Why it is None."""
    sentences: list[str]

    @model_validator(mode="after")
    def _has_its_orders(self) -> Self:
        wanted = {"first_order"} if self.order is None else {"first_order", "second_order", "both_orders"}
        if set(self.ways) != wanted:
            raise ValueError(f"ways must be {', '.join(sorted(wanted))}")
        return self

    @property
    def best_known(self) -> VerdictMetrics:
        """The metrics of both orders, of the one order where there is no other."""
        return self.ways["first_order" if self.order is None else "both_orders"]


class VerdictsSettings(Record):
    """What was asked for."""

    confidence: Confidence
    source: str
    verdict_columns: Annotated[list[str], Field(min_length=1, max_length=2)]
    """One or two, for two presentation orders."""
    oracle: str
    """Column with the oracle's verdict."""
    prompt: list[str]
    """Columns that together name a pair's prompt, its judge, and what tells the pairs of a prompt apart."""
    judge: list[str]
    """Columns that together name a pair's prompt, its judge, and what tells the pairs of a prompt apart."""
    pair: list[str]
    """Columns that together name a pair's prompt, its judge, and what tells the pairs of a prompt apart."""
    version: str


class VerdictsDocument(LabelStrategyDocument):
    """Verdicts on pairs, one presentation order against both."""

    settings: VerdictsSettings
    judges: dict[str, VerdictsJudge]
    kind: Literal["verdicts"] = "verdicts"
    sentences: list[str]
    """What holds of the judges together."""

    @model_validator(mode="after")
    def _has_the_orders_asked_for(self) -> Self:
        two = len(self.settings.verdict_columns) > 1
        strange = [name for name, judge in self.judges.items() if (judge.order is not None) != two]
        if strange:
            raise ValueError(f"judges.{strange[0]}.order does not fit the number of settings.verdict_columns")
        return self

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per judge, way and metric, with the estimate and the difference to both orders."""
        for name, judge in self.judges.items():
            for way, metrics in judge.ways.items():
                less = judge.minus_both_orders.get(way)
                yield from way_rows(name, "verdicts", way, metrics.by_name(), {} if less is None else less.by_name())
            if judge.order is not None:
                effects = {"first_shown_advantage": judge.order.first_shown_advantage, "flips": judge.order.flips}
                yield from way_rows(name, "verdicts", "order", effects, {})

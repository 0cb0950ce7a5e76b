"""Scores and verdicts of the same candidates compared: the kind ``strategies`` of the study ``label-strategy``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from bonwise.documents.document import FrameRow
from bonwise.documents.judge_counts import JudgeCounts
from bonwise.documents.label_strategy.of_any_kind import LabelStrategyDocument
from bonwise.documents.label_strategy.pairs import MatchedPairs, WayMetrics
from bonwise.documents.label_strategy.rows import estimate_cells, way_rows
from bonwise.documents.record import Record
from bonwise.documents.study import StudyJudge
from bonwise.documents.study_settings import StudySettings
from bonwise.documents.values import Count, Number

__all__ = [
    "PromptGroup",
    "PromptsWithVerdicts",
    "RangeFrom",
    "ScoreRange",
    "StrategiesDocument",
    "StrategiesJudge",
    "StrategiesSettings",
    "StrategyCounts",
    "Way",
]

Way = Literal[
    "pointwise",
    "quantised",
    "pairwise",
    "pairwise_one_order",
    "sparse",
    "sparse_one_order",
    "tie_break",
    "partial",
]
"""Scores as they are and in bins; every pair and some, in both orders and one; tied tops; the pairs there are."""

PromptsWithVerdicts = Literal["every_pair", "some_pairs"]
"""Prompts with a verdict on every pair of candidates, and those with one on some pair."""


RangeFrom = Literal["declared scale", "lowest and highest score"]


class ScoreRange(Record):
    """The range of scores that is cut into bins."""

    low: Number
    high: Number
    from_: RangeFrom = Field(alias="from")


class StrategyCounts(JudgeCounts):
    """Counts, and how many pairs the study is made on."""

    pairs: Count
    """With scores, labels and a verdict."""
    pairs_left_out: dict[str, Count]
    """By reason."""
    prompts_without_verdicts: Count
    score_range: ScoreRange


class PromptGroup(Record):
    """The ways of asking on some of the prompts."""

    prompts: Count
    pairs: Count
    candidates_in_no_pair: Count
    strategies: dict[Way, WayMetrics]
    """By way; scores, ``pointwise``, are among them."""

    @model_validator(mode="after")
    def _compares_with_scores(self) -> Self:
        if "pointwise" not in self.strategies:
            raise ValueError("strategies lack pointwise, which the others are compared with")
        return self

    @property
    def by_name(self) -> dict[str, WayMetrics]:
        """The ways under names of any kind."""
        return {name: way for name, way in self.strategies.items()}  # noqa: C416 - keys of another type


class StrategiesJudge(StudyJudge):
    """What was found of one judge."""

    data: StrategyCounts
    strategies: dict[PromptsWithVerdicts, PromptGroup]
    """By how many of a prompt's pairs have a verdict."""
    no_strategies: dict[PromptsWithVerdicts, str]
    """Which group there is not, and why."""
    matched_pairs: MatchedPairs
    sentences: list[str]


class StrategiesSettings(StudySettings):
    """What was asked for."""

    verdicts: str
    """File of the verdicts, and whose they are."""
    pairwise: str
    """File of the verdicts, and whose they are."""
    drawn: str | None
    """Record of the pairs, where they were drawn."""
    bins: Annotated[int, Field(ge=2)]
    """Of quantised scores."""
    edges: Annotated[int, Field(ge=1)] | None
    """Pairs per prompt of the sparse comparison; as many as candidates where None."""


class StrategiesDocument(LabelStrategyDocument):
    """Ways of asking a judge, compared on the same prompts and pairs."""

    settings: StrategiesSettings
    judges: dict[str, StrategiesJudge]
    kind: Literal["strategies"] = "strategies"

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per judge, part, way and metric, with the estimate and the difference to scores."""
        for name, judge in self.judges.items():
            for part, group in judge.strategies.items():
                for way, found in group.strategies.items():
                    yield from way_rows(name, part, way, found.metrics, found.less)
            for pair_way, one in judge.matched_pairs.ways.items():
                yield from way_rows(name, "matched_pairs", pair_way, one.metrics, one.less)
            for row in judge.matched_pairs.where_pointwise_tied.by_gap:
                key = {"judge": name, "part": "by_gap", "way": f"{row.low:g} to {row.high:g}", "metric": "accuracy"}
                yield {**key, **estimate_cells(row.accuracy)}

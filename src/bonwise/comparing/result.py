"""Two sets of logged picks, paired by prompt: ``bonwise.compare/1``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, model_validator

from bonwise.auditing.result import ChoiceRecord
from bonwise.estimates import EstimateRecord
from bonwise.report.numbers import counted
from bonwise.results import Confidence, Count, Document, FrameRow, Record
from bonwise.table.facts import DroppedPrompt, LabelsLeftOut, PicksMade, Shape, UnusedLabels, ValuesRead

if TYPE_CHECKING:
    import pandas as pd

WORTH = ("value_random", "value_judge", "value_oracle", "gain", "recovery", "top1_accuracy", "hit_rate")
"""What the picks are worth."""

DECIDING = ("recovery", "gain")
"""The first of them that is defined tells which picks are better."""

COSTS = (
    *("calls_per_prompt", "tokens_per_prompt", "gain_per_call", "gain_per_1000_tokens"),
    *("recovery_per_call", "recovery_per_1000_tokens"),
)
"""What the picks took, and what they are worth for it."""


class PicksSide(Record):
    """One of two sets of picks, on the prompts that both share."""

    source: str
    """File."""
    picks: PicksMade
    calls: Count | None
    tokens: Count | None
    """Both: sums over the compared prompts; None where unknown."""
    only_here: list[str]
    """Prompts that the other set does not hold."""
    metrics: dict[str, EstimateRecord]


class CompareSettings(ValuesRead):
    """What was asked for, and what the picks were taken for."""

    confidence: Confidence
    """Of the two-sided intervals, clustered by prompt."""
    shape: Shape
    version: str
    """Of bonwise."""
    labels_left_out: LabelsLeftOut | None = None


class PickComparison(Document):
    """What two sets of picks are worth and what they took, on the same prompts.

    What depends on the pools alone differs by 0, without an interval; so does what depends on the picks where these
    are alike on every prompt.
    """

    schema_: Literal["bonwise.compare/1"] = Field(default="bonwise.compare/1", alias="schema")
    prompts: Count
    """Behind all figures."""
    first: PicksSide
    second: PicksSide
    differences: dict[str, EstimateRecord]
    """First minus second, paired by prompt."""
    dropped: list[DroppedPrompt]
    """Prompts of both sets that could not be compared."""
    settings: CompareSettings
    unused_labels: UnusedLabels | None = None
    """Labels of prompts that are labelled in part, where these count as unlabelled."""
    chosen: dict[str, ChoiceRecord] | None = Field(default=None, alias="choice")
    """The best by ``recovery`` and by ``gain``, with intervals that hold after the choice and intervals that hold
    together; absent where fewer than two are compared.
    """

    unsettled: str | None = None
    """Why the difference does not tell which picks are better where its interval alone would."""

    frame_columns = (
        *("metric", "first", "first_low", "first_high", "second", "second_low", "second_high"),
        *("difference", "difference_low", "difference_high", "difference_se", "n", "reason"),
    )

    @model_validator(mode="after")
    def _has_each_metric_three_times(self) -> Self:
        missing = [name for name in (*WORTH, *COSTS) if name not in self.differences]
        if missing:
            raise ValueError(f"differences lacks {missing[0]}")
        for side, audited in (("first", self.first), ("second", self.second)):
            odd = sorted(audited.metrics.keys() ^ self.differences.keys())
            if odd:
                raise ValueError(f"{odd[0]} is in one of {side}.metrics and differences, not in both")
        return self

    def __repr__(self) -> str:
        files = f"{self.first.source} and {self.second.source}"
        return f"<PickComparison of {files} on {counted(self.prompts, 'prompt')}>"

    @property
    def choice(self) -> Mapping[str, ChoiceRecord]:
        """The best by ``recovery`` and by ``gain``; empty where fewer than two are compared."""
        return self.chosen or {}

    @property
    def metrics(self) -> list[str]:
        """Every metric: what the picks are worth, what else is known of them, what they took."""
        others = [name for name in self.differences if name not in (*WORTH, *COSTS)]
        return [*WORTH, *others, *COSTS]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per metric: both sides and first minus second, paired by prompt.

        Columns: ``metric``; ``first``, ``second`` and ``difference``, each with ``_low`` and ``_high``;
        ``difference_se``, ``n`` prompts, and ``reason``: why the difference, or its interval, is missing.
        """
        return super().to_frame()

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per metric: both sides, and first minus second."""
        for metric, apart in self.differences.items():
            sides = {"first": self.first.metrics[metric], "second": self.second.metrics[metric], "difference": apart}
            row: dict[str, object] = {"metric": metric}
            for name, side in sides.items():
                row |= {name: side.estimate, f"{name}_low": side.low, f"{name}_high": side.high}
            yield {**row, "difference_se": apart.se, "n": apart.n, "reason": apart.reason}


class RegimeSide(Record):
    """A judge on one of two sets of prompts."""

    source: str
    judge: str
    prompts: Count
    metrics: dict[str, EstimateRecord]


class RegimePair(Record):
    """A judge on both."""

    first: RegimeSide
    second: RegimeSide
    differences: dict[str, EstimateRecord]
    """First minus second, of independent samples."""

    @property
    def metrics(self) -> list[str]:
        """Those that are compared."""
        return list(self.differences)


class RegimeComparison(Document):
    """Two audits side by side."""

    schema_: Literal["bonwise.regimes/1"] = Field(default="bonwise.regimes/1", alias="schema")
    judges: dict[str, RegimePair]
    confidence: Confidence
    """Of the two-sided intervals."""
    shared_prompts: Count | None
    """Prompts of one name in both, which independent samples do not have; None where an audit was loaded."""

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per judge and metric: both sides, and first minus second."""
        for name, pair in self.judges.items():
            for metric, apart in pair.differences.items():
                sides = {"first": pair.first.metrics[metric].estimate, "second": pair.second.metrics[metric].estimate}
                yield {"judge": name, "metric": metric, **sides, **apart.to_dict()}

"""What judges state of their confidence, compared with what was the case: ``bonwise.confidence/1``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from bonwise.estimates import EstimateRecord
from bonwise.results import Confidence, Count, Document, FrameRow, NonNegative, Record, Share
from bonwise.table.facts import LabelsLeftOut, ValuesRead


class BinRecord(Record):
    """Statements of about one probability."""

    low: Share
    high: Share
    """Both: ends of the bin."""
    statements: Count
    stated: Share | None
    """Mean of what was stated."""
    observed: EstimateRecord
    error: EstimateRecord
    """Both: share of the outcomes, and its difference from `stated`."""


class Level(Record):
    """Statements of one level of confidence in words, 1 the lowest."""

    level: int
    statements: Count
    accuracy: EstimateRecord


class StatementCounts(Record):
    """The counts behind the figures of a judge."""

    statements: Count
    prompts: Count
    oracle_ties_counted_half: Count | None = None
    dropped: dict[str, Count]
    """Statements without a label to compare with, by reason."""
    mean_width: NonNegative | None = None
    """Of stated intervals, in the unit of the labels."""


class JudgeConfidence(Record):
    """What one judge stated."""

    data: StatementCounts
    bins: list[BinRecord] | None = None
    """Of probabilities."""
    metrics: dict[str, EstimateRecord]
    """Empty where no statement could be compared with a label."""
    levels: list[Level] | None = None
    """Of verdicts with a confidence in words."""


class ConfidenceSettings(ValuesRead):
    """What was asked for."""

    source: str
    confidence: Confidence
    oracle_ties: Literal["exclude", "half"] | None = None
    version: str
    labels_left_out: LabelsLeftOut | None = None


class ConfidenceAudit(Document):
    """What judges state of their confidence, compared with oracle labels."""

    schema_: Literal["bonwise.confidence/1"] = Field(default="bonwise.confidence/1", alias="schema")
    kind: Literal["statements", "pairs", "intervals"]
    """What the file held."""
    judges: dict[str, JudgeConfidence]
    settings: ConfidenceSettings

    frame_columns = ("judge", "metric", "estimate", "low", "high", "se", "n", "interval", "method", "reason")

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per judge and metric; a judge without a statement to compare with a label has none.

        Columns: ``judge``, ``metric``, ``estimate``, ``low``, ``high``, ``se``, ``n`` prompts, ``interval``,
        ``method`` and ``reason``: why something is missing.
        """
        for name, judge in self.judges.items():
            for metric, estimate in judge.metrics.items():
                yield {"judge": name, "metric": metric, **estimate.to_dict()}

    def __repr__(self) -> str:
        return f"ConfidenceAudit(kind={self.kind!r})"

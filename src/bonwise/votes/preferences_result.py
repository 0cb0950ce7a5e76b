"""Pairwise verdicts compared with an oracle's: ``bonwise.preferences/1``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, model_validator

from bonwise.estimates import EstimateRecord
from bonwise.results import Confidence, Count, Document, FrameRow, Record
from bonwise.table.facts import JoinedLabels

DroppedVerdict = Literal[
    "no verdict",
    "a verdict in one order only",
    "no label",
    "no label of the pair",
    "no label of the prompt",
    "a model against itself",
]
"""Why a judge's row is left out."""


class ContextCount(Record):
    """What all judges share."""

    contexts: Count
    """Of the rows that are used."""


class PreferenceCounts(Record):
    """The counts behind the figures of a judge."""

    prompts: Count
    pairs: Count
    dropped: dict[DroppedVerdict, Count]
    """Rows left out, by reason."""
    contexts_of_one_pair: Count | None = None
    """Contexts with a single pair of this judge, where there are any: they count in the totals and are lent the part
    within of the others.
    """
    pairs_in_both_orders: Count | None = None
    """Pairs in two rows, each side first in one of them: their verdicts are averaged."""


class PreferenceMetrics(Record):
    """The figures of a judge."""

    agreement: EstimateRecord
    """Share of the oracle's verdicts that the judge shares, a tie counting half; share of its own that are ties."""
    judge_tie_rate: EstimateRecord
    """Share of the oracle's verdicts that the judge shares, a tie counting half; share of its own that are ties."""
    phi: EstimateRecord
    phi_within: EstimateRecord
    """Both: correlation of the verdicts, over all pairs and within contexts."""
    covariance: EstimateRecord
    """Of judge and oracle: the whole, the part between contexts and that within them, and the share of the part
    between, which may be negative. The chance scatter of the means of contexts is no part between.
    """
    covariance_between: EstimateRecord
    """Of judge and oracle: the whole, the part between contexts and that within them, and the share of the part
    between, which may be negative. The chance scatter of the means of contexts is no part between.
    """
    covariance_within: EstimateRecord
    """Of judge and oracle: the whole, the part between contexts and that within them, and the share of the part
    between, which may be negative. The chance scatter of the means of contexts is no part between.
    """
    covariance_between_share: EstimateRecord
    """Of judge and oracle: the whole, the part between contexts and that within them, and the share of the part
    between, which may be negative. The chance scatter of the means of contexts is no part between.
    """
    oracle_variance: EstimateRecord
    oracle_variance_between: EstimateRecord
    oracle_variance_within: EstimateRecord
    oracle_between_share: EstimateRecord
    """All four: the same of the oracle alone."""
    order_agreement: EstimateRecord | None = None
    """How often all presentation orders agree, where there are several."""


class JudgePreferences(Record):
    """What was found of one judge."""

    data: PreferenceCounts
    metrics: PreferenceMetrics


class PreferenceSettings(Record):
    """What was asked for."""

    confidence: Confidence
    verdicts: Annotated[list[str], Field(min_length=1)]
    """Columns of the judge's verdict, one per presentation order."""
    oracle: str
    """Column of the oracle's verdict."""
    prompt: list[str]
    judge: list[str]
    context: list[str]
    pair: list[str]
    """All four: columns that together name each of these."""
    source: str
    version: str
    readings: dict[str, str] | None = None
    """How the files were read, by column; ``columns`` says which play a role."""
    verdict_map: dict[str, Literal["first", "second", "tie", "none"]] | None = None
    """What verdicts say, where the user said it."""


class PreferenceAudit(Document):
    """Agreement of pairwise verdicts with an oracle's, split between and within contexts."""

    schema_: Literal["bonwise.preferences/1"] = Field(default="bonwise.preferences/1", alias="schema")
    data: ContextCount
    settings: PreferenceSettings
    judges: Annotated[dict[str, JudgePreferences], Field(min_length=1)]
    labels: JoinedLabels | None = None
    """What became of the labels, where these are in a second file."""

    frame_columns = ("judge", "metric", "estimate", "low", "high", "se", "n", "interval", "method", "reason")

    @model_validator(mode="after")
    def _orders_agree_where_there_are_several(self) -> PreferenceAudit:
        several = len(self.settings.verdicts) > 1
        for name, judge in self.judges.items():
            if (judge.metrics.order_agreement is not None) != several:
                raise ValueError(f"should have order_agreement of {name!r} where there are several orders alone")
        return self

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per judge and metric.

        Columns: ``judge``, ``metric``, ``estimate``, ``low``, ``high``, ``se``, ``n`` prompts, ``interval``,
        ``method`` and ``reason``: why something is missing.
        """
        for name, judge in self.judges.items():
            for metric, estimate in judge.metrics.to_dict().items():
                yield {"judge": name, "metric": metric, **estimate}

    def __repr__(self) -> str:
        return f"<PreferenceAudit of {len(self.judges)} judges on {self.settings.source}>"

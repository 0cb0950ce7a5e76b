"""Label designs compared on a table whose labels are known: ``bonwise.label_designs/1``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from bonwise.documents.document import Document, FrameRow
from bonwise.documents.dropped_prompt import DroppedPrompt
from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.label_population import PopulationSettings
from bonwise.documents.record import Record
from bonwise.documents.values import Confidence, Count, NonNegative

__all__ = [
    "MODEL",
    "ComparedCounts",
    "ComparedDesign",
    "ComparedShare",
    "ComparisonSettings",
    "DesignName",
    "LabelDesignsDocument",
    "ProxyLinkRecord",
]

_Squared = Annotated[float, Field(ge=0, le=1 + 1e-9)]
"""A squared correlation, which rounding may carry beyond 1."""

DesignName = Literal["uniform", "margin", "neyman", "stratified", "rule", "rule_further", "label_spread", "optimum"]


class ComparedShare(Record):
    """The variance of recovery under a design at one share, over that of as many labels drawn at random."""

    share: Annotated[float, Field(gt=0, lt=1)]
    """Of the prompts."""
    labels: Count
    """Prompts labelled."""
    labels_only: NonNegative
    """By the first-order formula, labels alone."""
    with_scores: NonNegative | None
    """The same where the model of an audit takes its part off; None where labels are used alone."""
    model: str
    drawn: NonNegative | None
    """Labels alone, by repeated draws, with its Monte-Carlo standard error."""
    drawn_se: NonNegative | None
    """Labels alone, by repeated draws, with its Monte-Carlo standard error."""


class ComparedDesign(Record):
    """One design."""

    meaning: str
    """What its labels go to."""
    feasible: bool
    """Whether it looks only at what is known before labelling."""
    shares: list[ComparedShare]


class ComparedCounts(Record):
    """What the designs were compared on."""

    prompts: Count
    cells: Count
    unlabelled: Count
    dropped: list[DroppedPrompt]
    recovery: float
    all_tied: Count
    """Prompts whose candidates the judge ties throughout."""


class ComparisonSettings(PopulationSettings):
    """What was asked for."""

    shares: Annotated[list[float], Field(min_length=1)]
    draws: Annotated[int, Field(ge=2)]
    seed: Count
    confidence: Confidence
    version: str


class ProxyLinkRecord(Record):
    """How far one figure of a prompt tells another."""

    from_: str = Field(alias="from")
    to: str
    correlation: EstimateRecord
    """Over prompts."""
    explained: _Squared | None
    """The squared correlation."""
    explained_low: _Squared | None
    """The squared correlation."""
    explained_high: _Squared | None
    """The squared correlation."""


class LabelDesignsDocument(Document):
    """What each label design would have cost or saved."""

    schema_: Literal["bonwise.label_designs/1"] = Field(default="bonwise.label_designs/1", alias="schema")
    settings: ComparisonSettings
    data: ComparedCounts
    designs: dict[DesignName, ComparedDesign]
    proxy_chain: list[ProxyLinkRecord]
    """What the judge's spread tells of the labels' spread and of the residuals."""
    sentences: list[str]

    frame_columns = (
        *("design", "feasible", "share", "labels", "labels_only", "with_scores", "model", "drawn", "drawn_se"),
    )

    @model_validator(mode="after")
    def _each_share_once(self) -> Self:
        if "uniform" not in self.designs:
            raise ValueError("designs hold no uniform, which the others are compared with")
        for name, design in self.designs.items():
            if [one.share for one in design.shares] != self.settings.shares:
                raise ValueError(f"{name} holds other shares than the settings")
        return self

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per design and share."""
        for name, design in self.designs.items():
            for one in design.shares:
                yield {"design": name, "feasible": design.feasible, **one.to_dict()}


MODEL = LabelDesignsDocument

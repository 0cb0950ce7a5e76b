"""What was drawn to be labelled, and how: ``bonwise.labels/1``."""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from bonwise.documents.document import Document, FrameRow
from bonwise.documents.dropped_prompt import DroppedPrompt
from bonwise.documents.label_population import PopulationSettings
from bonwise.documents.record import Record
from bonwise.documents.values import Count, NonNegative, Share

__all__ = [
    "MODEL",
    "DrawCounts",
    "DrawRule",
    "DrawSettings",
    "DrawnClusters",
    "DrawnStratum",
    "LabelsDocument",
    "WidthRatio",
]

DrawRule = Literal["rule", "uniform", "stratified", "neyman", "pick", "pair", "whole-and-pair"]
"""By what prompts are chosen."""

_ROUNDING = 1e-9


class DrawnStratum(Record):
    """Prompts that were drawn alike."""

    stratum: Count
    prompts: Annotated[int, Field(ge=1)]
    drawn_before: Count
    drawn_now: Count
    propensity: Share
    """Probability of being drawn, over all phases."""
    mean_size: NonNegative | None
    """What the rule takes the spread of the outcome to be in proportion to; None where it looks at no size."""
    whole_pools: Count | None = None
    """Of a draw by cell for recovery: prompts drawn with all candidates, and as a pair, over all phases."""
    pairs: Count | None = None
    """Of a draw by cell for recovery: prompts drawn with all candidates, and as a pair, over all phases."""
    unit: Literal["cluster"] | None = None
    """Where clusters are drawn whole, `prompts`, `drawn_before` and `drawn_now` count clusters."""

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        drawn = self.drawn_before + self.drawn_now
        if drawn > self.prompts:
            raise ValueError(f"{drawn} of {self.prompts} prompts were drawn")
        if not isclose(self.propensity, drawn / self.prompts, rel_tol=_ROUNDING):
            raise ValueError(
                f"{drawn} of {self.prompts} prompts were drawn, a propensity other than {self.propensity}"
            )
        return self


class DrawnClusters(Record):
    """Clusters of prompts, each drawn whole or not at all: of the table, over all phases, and in this one."""

    clusters: Count
    drawn: Count
    drawn_now: Count


class DrawCounts(Record):
    """Prompts of the table, and those drawn."""

    prompts: Count
    """Prompts that could be drawn, and their candidates."""
    cells: Count
    """Prompts that could be drawn, and their candidates."""
    dropped: list[DroppedPrompt]
    drawn: Count
    """Over all phases, and in this one."""
    drawn_now: Count
    """Over all phases, and in this one."""
    candidate_labels_now: Count
    labelled_already: Count | None = None
    """Of a draw by cell: candidates drawn now that have a label, and need none."""
    clusters: DrawnClusters | None = None
    """Where the table names clusters: they are drawn whole."""


class DrawSettings(PopulationSettings):
    """What was asked for."""

    design: DrawRule
    labels: Annotated[int, Field(ge=2)]
    seed: Count
    phase: Annotated[int, Field(ge=1)]
    texts: bool
    after: str | None
    version: str
    drawn_for: Literal["recovery", "gain"] | None = None
    """What the labels are for; of a draw by cell alone."""
    pools: str | None = None
    """Where the words of the sheet come from; the sheet then shows no names."""


class WidthRatio(Record):
    """Width of the interval to expect, over that of as many labels drawn at random."""

    estimate: NonNegative | None
    explained: Share | None
    """Share of the outcome's variance that scores are taken to explain."""
    assumption: str | None = None
    """What the estimate rests on."""
    reason: str | None = None
    """Why there is none."""

    @model_validator(mode="after")
    def _says_why(self) -> Self:
        if (self.estimate is None) != (self.reason is not None) or (self.estimate is None) != (
            self.assumption is None
        ):
            raise ValueError("an estimate has an assumption, and no estimate a reason")
        return self


class LabelsDocument(Document):
    """Which prompts to label now, and how they were drawn."""

    schema_: Literal["bonwise.labels/1"] = Field(default="bonwise.labels/1", alias="schema")
    settings: DrawSettings
    data: DrawCounts
    strata: list[DrawnStratum]
    ess: NonNegative
    """Effective sample size of the weights."""
    width_ratio: WidthRatio
    sentences: list[str]

    frame_columns = ("stratum", "prompts", "drawn_before", "drawn_now", "propensity", "mean_size")

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        data, strata = self.data.clusters or self.data, self.strata
        units = self.data.prompts if self.data.clusters is None else self.data.clusters.clusters
        for what, told, found in (
            ("prompts" if self.data.clusters is None else "clusters", units, sum(one.prompts for one in strata)),
            ("drawn_now", data.drawn_now, sum(one.drawn_now for one in strata)),
            ("drawn", data.drawn, sum(one.drawn_before + one.drawn_now for one in strata)),
        ):
            if told != found:
                raise ValueError(f"data say {what} {told}, the strata {found}")
        return self

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per stratum."""
        for one in self.strata:
            yield one.to_dict()


MODEL = LabelsDocument

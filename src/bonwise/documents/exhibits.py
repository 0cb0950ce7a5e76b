"""What the page of an audit shows beyond its figures: ``bonwise.exhibits/1``."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from bonwise.documents.document import Document
from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.record import Record
from bonwise.documents.values import Count, NonNegative, Number, Share
from bonwise.documents.what_if import WhatIf
from bonwise.documents.worst_prompts import WorstPrompts

__all__ = [
    "MODEL",
    "Chance",
    "ColumnLeftOut",
    "Differences",
    "DifferencesOf",
    "ExhibitsDocument",
    "JudgeExhibits",
    "LabelsToDecide",
    "Points",
    "Spread",
    "Stratum",
    "StratumRow",
]


class Chance(Record):
    """What random picks reach."""

    top1_accuracy: Share | None
    """On the prompts that the audit describes."""
    hit_rate: Share | None
    """On those with labels."""


class DifferencesOf(Record):
    """Differences of two values of one prompt, as a histogram that is symmetric about 0."""

    edges: list[Number]
    """Of the bins, one of which is centred at 0."""
    counts: list[Count]
    """Of the pairs that are not tied, in both directions."""
    ties: Count
    """Each pair once."""
    pairs: Count
    """Each pair once."""
    largest: NonNegative
    """Of the differences, 0 where all pairs tie."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if len(self.edges) != len(self.counts) + 1:
            raise ValueError("there is one edge more than counts")
        if self.ties > self.pairs:
            raise ValueError("more pairs tie than there are")
        return self


class Differences(Record):
    """Differences of scores and of labels; None without a prompt."""

    judge: DifferencesOf | None
    """Of scores."""
    oracle: DifferencesOf | None
    """Of labels."""


class Points(Record):
    """Points of a scatter."""

    judge: list[Number]
    """Of one length."""
    oracle: list[Number]
    """Of one length."""

    @model_validator(mode="after")
    def _of_one_length(self) -> Self:
        if len(self.judge) != len(self.oracle):
            raise ValueError("judge and oracle are of different lengths")
        return self


class Spread(Record):
    """What lies between prompts against what lies within them."""

    between: Points
    """The mean of each prompt."""
    within: Points
    """The deviation of each candidate from it."""
    prompts_shown: Count
    """How many of how many."""
    prompts: Count
    """How many of how many."""
    cells_shown: Count
    """How many of how many."""
    cells: Count
    """How many of how many."""


class StratumRow(Record):
    """Metrics of the prompts of which a column says one thing."""

    value: str
    """What it says."""
    kind: Literal["value", "range", "blank", "other"]
    """``range`` of numbers; ``other`` for rare values together."""
    prompts: Count
    """How many."""
    metrics: dict[str, EstimateRecord]
    """Recovery, within_r, tie_rate and top1_accuracy."""


class Stratum(Record):
    """Metrics by what a column says of each prompt."""

    column: str
    """Its name."""
    rows: list[StratumRow]
    """What it says."""


class ColumnLeftOut(Record):
    """A column without rows."""

    column: str
    """Its name."""
    reason: str
    """Why it is not shown."""


class LabelsToDecide(Record):
    """About how many more labels would take an interval off the gate of the verdict, if the estimate holds."""

    prompts: Count | None
    """Labelled prompts; None where the estimate is too close to the gate to say."""
    labels: Count | None
    """Labels of their candidates."""


class JudgeExhibits(Record):
    """What is drawn of one judge."""

    chance: Chance
    """What random picks reach."""
    differences: Differences | None
    """None of logged picks."""
    spread: Spread | None
    """Prompt means, and deviations from them."""
    strata: list[Stratum]
    """By the columns that say one thing of each prompt."""
    strata_left_out: list[ColumnLeftOut]
    """The other columns."""
    to_decide: LabelsToDecide | None = None
    """Where the interval of the metric that decides spans the gate."""


class ExhibitsDocument(Document):
    """What is drawn of each judge, and the prompts to look into."""

    schema_: Literal["bonwise.exhibits/1"] = Field(default="bonwise.exhibits/1", alias="schema")
    judges: dict[str, JudgeExhibits]
    """By name."""
    prompts: WorstPrompts
    """The prompts where judges lost most."""
    what_if: WhatIf | None = None
    """What would change the verdict; absent where it does not rest on a recovery with an interval."""


MODEL = ExhibitsDocument

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
    """What random picks reach.

    Parameters
    ----------
    top1_accuracy : float or None
        On the prompts that the audit describes.
    hit_rate : float or None
        On those with labels.
    """

    top1_accuracy: Share | None
    hit_rate: Share | None


class DifferencesOf(Record):
    """Differences of two values of one prompt, as a histogram that is symmetric about 0.

    Parameters
    ----------
    edges : list of float
        Of the bins, one of which is centred at 0.
    counts : list of int
        Of the pairs that are not tied, in both directions.
    ties, pairs : int
        Each pair once.
    largest : float
        Of the differences, 0 where all pairs tie.
    """

    edges: list[Number]
    counts: list[Count]
    ties: Count
    pairs: Count
    largest: NonNegative

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if len(self.edges) != len(self.counts) + 1:
            raise ValueError("there is one edge more than counts")
        if self.ties > self.pairs:
            raise ValueError("more pairs tie than there are")
        return self


class Differences(Record):
    """Differences of scores and of labels; None without a prompt.

    Parameters
    ----------
    judge : DifferencesOf or None
        Of scores.
    oracle : DifferencesOf or None
        Of labels.
    """

    judge: DifferencesOf | None
    oracle: DifferencesOf | None


class Points(Record):
    """Points of a scatter.

    Parameters
    ----------
    judge, oracle : list of float
        Of one length.
    """

    judge: list[Number]
    oracle: list[Number]

    @model_validator(mode="after")
    def _of_one_length(self) -> Self:
        if len(self.judge) != len(self.oracle):
            raise ValueError("judge and oracle are of different lengths")
        return self


class Spread(Record):
    """What lies between prompts against what lies within them.

    Parameters
    ----------
    between : Points
        The mean of each prompt.
    within : Points
        The deviation of each candidate from it.
    prompts_shown, prompts, cells_shown, cells : int
        How many of how many.
    """

    between: Points
    within: Points
    prompts_shown: Count
    prompts: Count
    cells_shown: Count
    cells: Count


class StratumRow(Record):
    """Metrics of the prompts of which a column says one thing.

    Parameters
    ----------
    value : str
        What it says.
    kind : {"value", "range", "blank", "other"}
        ``range`` of numbers; ``other`` for rare values together.
    prompts : int
        How many.
    metrics : dict of str to EstimateRecord
        Recovery, within_r, tie_rate and top1_accuracy.
    """

    value: str
    kind: Literal["value", "range", "blank", "other"]
    prompts: Count
    metrics: dict[str, EstimateRecord]


class Stratum(Record):
    """Metrics by what a column says of each prompt.

    Parameters
    ----------
    column : str
        Its name.
    rows : list of StratumRow
        What it says.
    """

    column: str
    rows: list[StratumRow]


class ColumnLeftOut(Record):
    """A column without rows.

    Parameters
    ----------
    column : str
        Its name.
    reason : str
        Why it is not shown.
    """

    column: str
    reason: str


class LabelsToDecide(Record):
    """About how many more labels would take an interval off the gate of the verdict, if the estimate holds.

    Parameters
    ----------
    prompts : int or None
        Labelled prompts; None where the estimate is too close to the gate to say.
    labels : int or None
        Labels of their candidates.
    """

    prompts: Count | None
    labels: Count | None


class JudgeExhibits(Record):
    """What is drawn of one judge.

    Parameters
    ----------
    chance : Chance
        What random picks reach.
    differences : Differences or None
        None of logged picks.
    spread : Spread or None
        Prompt means, and deviations from them.
    strata : list of Stratum
        By the columns that say one thing of each prompt.
    strata_left_out : list of ColumnLeftOut
        The other columns.
    to_decide : LabelsToDecide, optional
        Where the interval of the metric that decides spans the gate.
    """

    chance: Chance
    differences: Differences | None
    spread: Spread | None
    strata: list[Stratum]
    strata_left_out: list[ColumnLeftOut]
    to_decide: LabelsToDecide | None = None


class ExhibitsDocument(Document):
    """What is drawn of each judge, and the prompts to look into.

    Parameters
    ----------
    judges : dict of str to JudgeExhibits
        By name.
    prompts : WorstPrompts
        The prompts where judges lost most.
    what_if : WhatIf, optional
        What would change the verdict; absent where it does not rest on a recovery with an interval.
    """

    schema_: Literal["bonwise.exhibits/1"] = Field(default="bonwise.exhibits/1", alias="schema")
    judges: dict[str, JudgeExhibits]
    prompts: WorstPrompts
    what_if: WhatIf | None = None


MODEL = ExhibitsDocument

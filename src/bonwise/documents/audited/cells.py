"""Single labelled candidates of a judge: what is stated of them, and what each figure rests on."""

from __future__ import annotations

from typing import Literal

from bonwise.documents.record import Record
from bonwise.documents.values import Count, NonNegative, Number

__all__ = ["CellCountsRecord", "LabelledCells", "LabelledShareRecord", "PoolsByLabelsRecord"]


class CellCountsRecord(Record):
    """What a figure rests on."""

    cells: Count
    """Labelled candidates, prompts, and pairs of labelled candidates of a prompt."""
    pools: Count
    """Labelled candidates, prompts, and pairs of labelled candidates of a prompt."""
    pairs: Count
    """Labelled candidates, prompts, and pairs of labelled candidates of a prompt."""


class LabelledShareRecord(Record):
    """How many of a group of candidates are labelled."""

    by: Literal["name", "top", "score"]
    """What tells the group from the others: the candidate's name, whether its score is the highest of its prompt (of
    prompts that the judge does not tie entirely), or the third of the scores that its own lies in.
    """
    group: str
    cells: Count
    share: Number
    """Labelled, of the group."""
    difference: Number
    """The share minus that of the other candidates, and its standard error, clustered by prompt."""
    se: NonNegative
    """The share minus that of the other candidates, and its standard error, clustered by prompt."""
    t: Number | None
    """The difference in standard errors; None where it is the same in every prompt."""


class PoolsByLabelsRecord(Record):
    """Prompts with a number of labels, and how many there would be at one rate."""

    candidates: Count
    labels: Count
    pools: Count
    expected: NonNegative
    """Were each candidate labelled at random and with the same chance."""


class LabelledCells(Record):
    """Every labelled candidate as part of the figures."""

    statement: Literal["at random", "propensities", "model"]
    """What is stated of who was labelled: each candidate with the same chance, each with its propensity in the table,
    or with a chance that depends on scores and names alone and is fitted.
    """
    labels: Count
    """Labelled candidates, and all."""
    cells: Count
    """Labelled candidates, and all."""
    labels_of_whole_prompts: Count
    """Labels in prompts that are labelled whole, and those prompts."""
    whole_prompts: Count
    """Labels in prompts that are labelled whole, and those prompts."""
    effective_prompts: NonNegative
    """What the prompts labelled whole are worth, in prompts drawn alike."""
    counts: dict[str, CellCountsRecord]
    """What each metric rests on."""
    shares: list[LabelledShareRecord]
    """How many are labelled of each group of candidates; at random these are alike."""
    pools: list[PoolsByLabelsRecord]
    """Prompts by their number of labels."""
    contradictions: list[str]
    """What the labels say against the statement; empty where they do not."""
    notes: list[str]
    """What to keep in mind."""

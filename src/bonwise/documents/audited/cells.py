"""Single labelled candidates of a judge: what is stated of them, and what each figure rests on."""

from __future__ import annotations

from typing import Literal

from bonwise.documents.record import Record
from bonwise.documents.values import Count, NonNegative, Number

__all__ = ["CellCountsRecord", "LabelledCells", "LabelledShareRecord", "PoolsByLabelsRecord"]


class CellCountsRecord(Record):
    """What a figure rests on.

    Parameters
    ----------
    cells, pools, pairs : int
        Labelled candidates, prompts, and pairs of labelled candidates of a prompt.
    """

    cells: Count
    pools: Count
    pairs: Count


class LabelledShareRecord(Record):
    """How many of a group of candidates are labelled.

    Parameters
    ----------
    by : {"name", "top", "score"}
        What tells the group from the others: the candidate's name, whether its score is the highest of its prompt
        (of prompts that the judge does not tie entirely), or the third of the scores that its own lies in.
    group : str
    cells : int
    share : float
        Labelled, of the group.
    difference, se : float
        The share minus that of the other candidates, and its standard error, clustered by prompt.
    t : float or None
        The difference in standard errors; None where it is the same in every prompt.
    """

    by: Literal["name", "top", "score"]
    group: str
    cells: Count
    share: Number
    difference: Number
    se: NonNegative
    t: Number | None


class PoolsByLabelsRecord(Record):
    """Prompts with a number of labels, and how many there would be at one rate.

    Parameters
    ----------
    candidates, labels, pools : int
    expected : float
        Were each candidate labelled at random and with the same chance.
    """

    candidates: Count
    labels: Count
    pools: Count
    expected: NonNegative


class LabelledCells(Record):
    """Every labelled candidate as part of the figures.

    Parameters
    ----------
    statement : {"at random", "propensities", "model"}
        What is stated of who was labelled: each candidate with the same chance, each with its propensity in the
        table, or with a chance that depends on scores and names alone and is fitted.
    labels, cells : int
        Labelled candidates, and all.
    labels_of_whole_prompts, whole_prompts : int
        Labels in prompts that are labelled whole, and those prompts.
    effective_prompts : float
        What the prompts labelled whole are worth, in prompts drawn alike.
    counts : dict of str to CellCountsRecord
        What each metric rests on.
    shares : list of LabelledShareRecord
        How many are labelled of each group of candidates; at random these are alike.
    pools : list of PoolsByLabelsRecord
        Prompts by their number of labels.
    contradictions : list of str
        What the labels say against the statement; empty where they do not.
    notes : list of str
        What to keep in mind.
    """

    statement: Literal["at random", "propensities", "model"]
    labels: Count
    cells: Count
    labels_of_whole_prompts: Count
    whole_prompts: Count
    effective_prompts: NonNegative
    counts: dict[str, CellCountsRecord]
    shares: list[LabelledShareRecord]
    pools: list[PoolsByLabelsRecord]
    contradictions: list[str]
    notes: list[str]

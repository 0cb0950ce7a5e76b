"""What a judge prefers at equal label: longer answers, its own family, the first place."""

from __future__ import annotations

from typing import Literal

from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.record import Record
from bonwise.documents.values import Count, Share

__all__ = ["CandidateEffect", "CandidateEffects", "CandidateGroup"]


class CandidateGroup(Record):
    """How often picks fall on a group of candidates, in prompts that hold the group and others."""

    group: str
    """Such as the longest of its prompt, a family, or the first place."""
    candidates: Count
    """The candidates of the group in these prompts, and the prompts."""
    prompts: Count
    """The candidates of the group in these prompts, and the prompts."""
    chance: Share
    """Share of random picks that fall on the group."""
    picked: EstimateRecord
    """Share of the judge's picks, and of the best labels; ties share a pick."""
    best: EstimateRecord
    """Share of the judge's picks, and of the best labels; ties share a pick."""
    difference: EstimateRecord
    """The first minus the second."""


class CandidateEffect(Record):
    """What a judge's scores and picks owe to one attribute of candidates at equal label."""

    attribute: Literal["length", "family", "position"]
    """What is known of a candidate."""
    source: str
    """The column that says it; ``text`` where the length is that of the candidate's text, in characters."""
    contrast: str
    """What the effect compares, such as ``per doubling of length``."""
    prompts: Count
    """Prompts whose candidates differ in the attribute, and their candidates."""
    candidates: Count
    """Prompts whose candidates differ in the attribute, and their candidates."""
    prompts_left_out: Count
    """Labelled prompts with a candidate of which the attribute is not known."""
    adjusted_for: Literal["levels", "pieces"] | None = None
    """The label has an indicator for each level, or is joined by straight pieces with knots at its quintiles."""
    score: EstimateRecord | None = None
    """Effect on the score at equal label within prompts, in standard deviations of the scores within prompts."""
    score_unadjusted: EstimateRecord | None = None
    """The same without the label."""
    score_jointly: EstimateRecord | None = None
    """The same with the other attributes adjusted for too."""
    recovery_cost: EstimateRecord | None = None
    """Recovery of the scores with the effect taken out, minus recovery as it is: what the preference costs."""
    regret_cost: EstimateRecord | None = None
    """The same in label points per pick."""
    picks_changed: Count | None = None
    """Prompts where other candidates are picked with the effect taken out."""
    groups: list[CandidateGroup]
    """Picks by group of candidates."""
    reason: str | None = None
    """Why there is no effect."""
    sentences: list[str]
    """What was found, in words."""


class CandidateEffects(Record):
    """What a judge prefers at equal label."""

    effects: list[CandidateEffect]
    """By attribute, of those that the table tells."""
    notes: list[str]
    """How to read them."""

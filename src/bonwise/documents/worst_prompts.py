"""The prompts where judges lost most, with their candidates, as the exhibits of an audit hold them."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from bonwise.documents.record import Record
from bonwise.documents.values import Count, NonNegative, Number

__all__ = ["CandidateSeen", "PromptSeen", "WorstPrompts"]


class CandidateSeen(Record):
    """A candidate."""

    id: str
    """Its name."""
    score: Number | None
    """Of the judge, and of the oracle."""
    label: Number | None
    """Of the judge, and of the oracle."""
    text: str | None
    """Its words, and what the judge said of it."""
    text_left_out: Count
    """Characters that were cut."""
    raw: str | None
    """Its words, and what the judge said of it."""
    raw_left_out: Count
    """Characters that were cut."""
    picked: bool
    """Whether it has the highest score, and the highest label."""
    best: bool
    """Whether it has the highest score, and the highest label."""


class PromptSeen(Record):
    """A prompt with what a judge picked."""

    prompt_id: str
    """Which prompt, and whose pick."""
    judge: str
    """Which prompt, and whose pick."""
    pick: str
    """Names of up to three candidates that are tied."""
    pick_more: Count
    """How many more are tied."""
    best: str
    """Names of up to three candidates that are tied."""
    best_more: Count
    """How many more are tied."""
    value_pick: Number | None
    """Label of the pick, of the best, and their difference; top score minus the second."""
    value_best: Number | None
    """Label of the pick, of the best, and their difference; top score minus the second."""
    gain_lost: Number | None
    """Label of the pick, of the best, and their difference; top score minus the second."""
    margin: NonNegative | None
    """Label of the pick, of the best, and their difference; top score minus the second."""
    tied: Count
    """Candidates with the top score."""
    prompt: str | None
    """Its words."""
    prompt_left_out: Count
    """Characters that were cut."""
    candidates: list[CandidateSeen]
    """Those that are shown."""
    candidates_left_out: Count
    """How many are not."""
    words_left_out: bool
    """Whether there was no room for any words."""


class WorstPrompts(Record):
    """The prompts whose pick lost something, in the order of their loss, the greatest first."""

    rows: list[PromptSeen]
    """One a judge and prompt."""
    of: Count
    """How many there are in all."""
    without_loss: Count = 0
    """How many more have a pick that lost nothing."""
    unknown_loss: Count = 0
    """How many more have no label of the pick or of another candidate, so that no loss is known."""

    @model_validator(mode="after")
    def _no_more_than_there_are(self) -> Self:
        if len(self.rows) > self.of:
            raise ValueError("more rows than there are prompts")
        return self

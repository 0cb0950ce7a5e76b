"""The prompts where judges lost most, with their candidates, as the exhibits of an audit hold them."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from bonwise.documents.record import Record
from bonwise.documents.values import Count, NonNegative, Number

__all__ = ["CandidateSeen", "PromptSeen", "WorstPrompts"]


class CandidateSeen(Record):
    """A candidate.

    Parameters
    ----------
    id : str
        Its name.
    score, label : float or None
        Of the judge, and of the oracle.
    text, raw : str or None
        Its words, and what the judge said of it.
    text_left_out, raw_left_out : int
        Characters that were cut.
    picked, best : bool
        Whether it has the highest score, and the highest label.
    """

    id: str
    score: Number | None
    label: Number | None
    text: str | None
    text_left_out: Count
    raw: str | None
    raw_left_out: Count
    picked: bool
    best: bool


class PromptSeen(Record):
    """A prompt with what a judge picked.

    Parameters
    ----------
    prompt_id, judge : str
        Which prompt, and whose pick.
    pick, best : str
        Names of up to three candidates that are tied.
    pick_more, best_more : int
        How many more are tied.
    value_pick, value_best, gain_lost, margin : float or None
        Label of the pick, of the best, and their difference; top score minus the second.
    tied : int
        Candidates with the top score.
    prompt : str or None
        Its words.
    prompt_left_out : int
        Characters that were cut.
    candidates : list of CandidateSeen
        Those that are shown.
    candidates_left_out : int
        How many are not.
    words_left_out : bool
        Whether there was no room for any words.
    """

    prompt_id: str
    judge: str
    pick: str
    pick_more: Count
    best: str
    best_more: Count
    value_pick: Number | None
    value_best: Number | None
    gain_lost: Number | None
    margin: NonNegative | None
    tied: Count
    prompt: str | None
    prompt_left_out: Count
    candidates: list[CandidateSeen]
    candidates_left_out: Count
    words_left_out: bool


class WorstPrompts(Record):
    """The prompts whose pick lost something, in the order of their loss, the greatest first.

    Parameters
    ----------
    rows : list of PromptSeen
        One a judge and prompt.
    of : int
        How many there are in all.
    without_loss : int
        How many more have a pick that lost nothing.
    unknown_loss : int
        How many more have no label of the pick or of another candidate, so that no loss is known.
    """

    rows: list[PromptSeen]
    of: Count
    without_loss: Count = 0
    unknown_loss: Count = 0

    @model_validator(mode="after")
    def _no_more_than_there_are(self) -> Self:
        if len(self.rows) > self.of:
            raise ValueError("more rows than there are prompts")
        return self

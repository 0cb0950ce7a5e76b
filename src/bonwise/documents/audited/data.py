"""The prompts behind a judge's figures, as the document of an audit counts them."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from bonwise.documents.audited.clusters import PromptClusters
from bonwise.documents.dropped_prompt import DroppedPrompt
from bonwise.documents.record import Record
from bonwise.documents.values import Count, Ends

__all__ = ["AuditData"]


class AuditData(Record):
    """Counts, and every dropped prompt with its reason."""

    prompts: Count
    """Those that were not dropped."""
    candidates: Count | None
    """Of each prompt; None where they have different numbers of them."""
    rows: Count
    """Candidates of all these prompts."""
    labelled_prompts: Count
    """Prompts with labels for all candidates, and for some."""
    partly_labelled_prompts: Count
    """Prompts with labels for all candidates, and for some."""
    dropped: list[DroppedPrompt]
    """The prompts that are in no figure."""
    pools: Count | None = None
    """Of logged picks."""
    pools_without_pick: Count | None = None
    """Of logged picks."""
    candidates_min: Count | None = None
    """Where prompts have different numbers of candidates."""
    candidates_max: Count | None = None
    """Where prompts have different numbers of candidates."""
    score_range: Ends | None = None
    """Lowest and highest score and label, where the two look like different scales and none is declared."""
    label_range: Ends | None = None
    """Lowest and highest score and label, where the two look like different scales and none is declared."""
    clusters: PromptClusters | None = None
    """Where the table names clusters of prompts."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.labelled_prompts + self.partly_labelled_prompts > self.prompts:
            raise ValueError("more prompts are labelled than there are")
        if (self.candidates is None) != (self.candidates_min is not None and self.candidates_max is not None):
            raise ValueError("candidates is null where candidates_min and candidates_max stand, and only there")
        if (self.pools is None) != (self.pools_without_pick is None):
            raise ValueError("pools and pools_without_pick stand together")
        if (self.score_range is None) != (self.label_range is None):
            raise ValueError("score_range and label_range stand together")
        return self

"""A label sheet made from pools alone: ``bonwise.label_sheet/1``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Self

from pydantic import Field, model_validator

from bonwise.documents.document import Document, FrameRow
from bonwise.documents.record import Record
from bonwise.documents.values import Count

__all__ = ["MODEL", "LabelSheetDocument", "SheetCounts", "SheetSettings"]


class SheetSettings(Record):
    """What was asked for."""

    pools: str
    labels: Count | None
    """Prompts to label; None for all."""
    seed: Count
    exclude: list[str]
    """Candidates left out."""
    label_scale: str | None
    version: str
    """Of bonwise."""


class SheetCounts(Record):
    """What there is, and what is on the sheet."""

    prompts: Count
    """With two candidates or more."""
    single: Count
    """Prompts with fewer, which are not labelled."""
    prompts_to_label: Count
    responses_to_label: Count

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if not self.prompts_to_label <= self.prompts or self.responses_to_label < 2 * self.prompts_to_label:
            raise ValueError(
                f"{self.prompts_to_label} of {self.prompts} prompts with {self.responses_to_label} responses"
            )
        return self


class LabelSheetDocument(Document):
    """What is to be labelled of pools that have no scores yet."""

    schema_: Literal["bonwise.label_sheet/1"] = Field(default="bonwise.label_sheet/1", alias="schema")
    settings: SheetSettings
    data: SheetCounts

    frame_columns = ("prompts", "single", "prompts_to_label", "responses_to_label")

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield the one row of counts."""
        yield self.data.to_dict()


MODEL = LabelSheetDocument

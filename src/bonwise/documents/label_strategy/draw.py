"""Pairs drawn to be judged: the kind ``draw`` of the study ``label-strategy``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from bonwise.documents.document import FrameRow
from bonwise.documents.label_strategy.of_any_kind import LabelStrategyDocument
from bonwise.documents.record import Record
from bonwise.documents.study import StudyJudge
from bonwise.documents.study_settings import Shape
from bonwise.documents.values import Count

__all__ = ["GapOf", "PairDrawDocument", "PairDrawSettings", "PairStratum"]

GapOf = Literal["oracle", "score"]
"""Whose gap pairs have."""


class PairStratum(Record):
    """Pairs with about one gap."""

    gap_of: GapOf
    """Whose gap it is."""
    stratum: str
    pairs: Count
    drawn: Annotated[int, Field(ge=1)]

    @model_validator(mode="after")
    def _draws_from_its_pairs(self) -> Self:
        if self.drawn > self.pairs:
            raise ValueError("drawn are more than pairs")
        return self


class PairDrawSettings(Record):
    """What was asked for."""

    source: str
    judge: str
    pools: str
    pairs: Count
    exclude: list[str]
    seed: Count
    shape: Shape
    version: str


class PairDrawDocument(LabelStrategyDocument):
    """Pairs to have judged, by strata of their gap."""

    settings: PairDrawSettings
    judges: Annotated[dict[str, StudyJudge], Field(max_length=0)]
    """Empty: no judge was studied."""
    not_studied: dict[str, str]
    """Empty: no judge was studied."""
    kind: Literal["draw"] = "draw"
    strata: list[PairStratum]
    prompts_left_out: dict[str, Count]
    """By reason."""
    labels_needed: Count
    """Labels that the study still needs."""
    sentences: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Return the keys and values of the JSON; here the kind stands before the settings."""
        found = super().to_dict()
        return {**{key: found[key] for key in ("schema", "study", "kind")}, **found}

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per stratum: ``gap_of``, ``stratum``, ``pairs`` and ``drawn``."""
        for one in self.strata:
            yield one.to_dict()

"""Labels as they come in, and whether they are enough: ``bonwise.monitor/1``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from bonwise.results import Confidence, Count, Document, FrameRow, NonNegative, Positive, Record
from bonwise.table.facts import DroppedPrompt, LabelsLeftOut, ValuesRead

if TYPE_CHECKING:
    import pandas as pd

Question = Literal["precision", "significance", "preference"]
"""The question that is watched."""

MonitorVerdict = Literal["continue", "stop: precise enough", "stop: better", "stop: not better"]

Describes = Literal["all prompts", "labelled prompts", "votes"]
"""Whom a verdict speaks of."""

_STOPS = {
    "precision": {"stop: precise enough"},
    "significance": {"stop: better", "stop: not better"},
    "preference": {"stop: better", "stop: not better"},
}


class Look(Record):
    """What is known after some of the labels."""

    n: Count
    """Labelled prompts, or votes."""
    estimate: float | None
    low: float | None
    high: float | None
    half_width: NonNegative | None
    """Of the interval before it is cut to the range of the estimate."""
    reason: str | None = None
    """Why something is missing."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"its interval ends at {self.high}, below its start at {self.low}")
        return self


class NothingLeftOut(Record):
    """Written where every label was used."""


class LabelCounts(Record):
    """What was counted in scores and labels."""

    source: str
    prompts: Count
    labelled_prompts: Count
    partly_labelled_prompts: Count
    """All three: prompts after drops, those with a label for every candidate, and those with some labels."""
    dropped: list[DroppedPrompt]
    labels_left_out: LabelsLeftOut | NothingLeftOut
    """Labels of prompts that the scores do not hold."""
    kurtosis: float | None
    """Of the influence of the prompts, or of their clusters; None where that does not differ."""
    clusters: Count | None = None
    """Clusters that the labelled prompts come in, where the table names them: the units of the rule."""

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.labelled_prompts + self.partly_labelled_prompts > self.prompts:
            raise ValueError("more prompts are labelled than there are")
        return self


class VoteCounts(Record):
    """What was counted in a file of votes."""

    source: str
    votes: Count
    ties: Count
    blank: Count
    """All three: votes that count, ties among all votes, and rows without a vote."""
    log_e_value: float


class RecoverySettings(ValuesRead):
    """What was asked of recovery: `half_width` of precision; `than` and `target` of significance."""

    confidence: Confidence
    planned: Annotated[int, Field(ge=1)] | None
    first_look: Annotated[int, Field(ge=1)]
    half_width: Positive | None = None
    than: Annotated[float, Field(lt=1)] | None = None
    target: Annotated[int, Field(ge=1)] | None = None
    step: Annotated[int, Field(ge=1)]
    label_file: str | None
    judge: str
    exclude: list[str]
    shape: Literal["rectangular", "ragged"]
    columns: dict[str, str]
    label_scale: str | None
    design: str | None
    version: str
    control: list[str] | None = None
    keep_easy: list[str] | None = None

    @model_validator(mode="after")
    def _one_question(self) -> Self:
        if (self.half_width is None) == (self.than is None) or (self.than is None) != (self.target is None):
            raise ValueError("needs half_width, or than with target")
        return self


class VoteMonitorSettings(Record):
    """What was asked of votes."""

    confidence: Confidence
    than: Annotated[float, Field(gt=0, lt=1)]
    margin: Annotated[float, Field(gt=0, le=0.5)]
    mixture: Positive
    verdict_col: str
    ties: Literal["drop", "half", "pessimistic"] | None
    pair: list[str]
    prompt: str | None
    sides: Annotated[list[str], Field(min_length=2, max_length=2)]
    version: str


def _of_votes(value: Any) -> str:
    """Tell the parts of a document on votes from those on recovery: only they name votes, or two sides."""
    of_votes = isinstance(value, dict | Record) and ("votes" in value or "sides" in value)
    return "votes" if of_votes else "recovery"


_Counts = Annotated[
    Annotated[LabelCounts, Tag("recovery")] | Annotated[VoteCounts, Tag("votes")], Discriminator(_of_votes)
]
_Settings = Annotated[
    Annotated[RecoverySettings, Tag("recovery")] | Annotated[VoteMonitorSettings, Tag("votes")],
    Discriminator(_of_votes),
]


class Monitor(Document):
    """What the labels so far say about going on."""

    schema_: Literal["bonwise.monitor/1"] = Field(default="bonwise.monitor/1", alias="schema")
    question: Question
    verdict: MonitorVerdict
    describes: Describes
    now: Look
    """After all labels."""
    stopped: Look | None
    """The first look at which the rule said stop."""
    next_look: Count | None
    """Labelled prompts, or votes, at which the rule looks next; None where it has stopped."""
    expected_more: Count | None
    """About how many more are expected; `expected_more_reason` says why no number can be named."""
    expected_more_reason: str | None = None
    looks: list[Look]
    """Some of the looks so far."""
    data: _Counts
    settings: _Settings
    sentences: list[str]
    suspicions: list[str] | None = None
    """Easy or outstanding candidates that nothing settles: what the rule says may be theirs."""

    frame_columns = ("question", "n", "estimate", "low", "high", "half_width", "stopped", "reason")

    @model_validator(mode="after")
    def _of_one_question(self) -> Self:
        votes = self.question == "preference"
        of_votes = (isinstance(self.data, VoteCounts), isinstance(self.settings, VoteMonitorSettings))
        if of_votes != (votes, votes) or votes != (self.describes == "votes"):
            raise ValueError(f"data, settings or describes are not of the question {self.question}")
        precise = isinstance(self.settings, RecoverySettings) and self.settings.half_width is not None
        if precise != (self.question == "precision"):
            raise ValueError(f"settings are not of the question {self.question}")
        if (self.verdict == "continue") != (self.stopped is None):
            raise ValueError(f"the verdict is {self.verdict}, and stopped says otherwise")
        if self.verdict != "continue" and self.verdict not in _STOPS[self.question]:
            raise ValueError(f"{self.verdict} is not a verdict on {self.question}")
        return self

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per look."""
        for look in self.looks:
            yield {**look.to_dict(), "question": self.question, "stopped": look == self.stopped}

    def to_frame(self) -> pd.DataFrame:
        """Return the looks so far, one row per look, at most a dozen of them; empty before the first.

        Columns: ``question``, ``n`` (labelled prompts, or votes), ``estimate``, ``low``, ``high``, ``half_width``,
        ``stopped`` (whether the rule said stop there first) and ``reason``: why something is missing.
        """
        return super().to_frame()

    def __repr__(self) -> str:
        return f"<Monitor of {self.question}: {self.verdict} after {self.now.n}>"

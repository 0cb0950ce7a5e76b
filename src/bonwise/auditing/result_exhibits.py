"""What an audit's page shows beyond its figures, such as what would change its verdict: ``bonwise.exhibits/1``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from bonwise.auditing.result_verdict import GateState, Level
from bonwise.estimates import EstimateRecord
from bonwise.results import Confidence, Count, Document, NonNegative, NotBlank, Number, Positive, Record, Share

FEWEST_STEPS = 21
"""Values of a slider."""


class VerdictStep(Record):
    """An outcome."""

    recovery: Number | None
    low: Number | None
    high: Number | None
    """All three: with its two-sided interval."""
    lower: Number | None
    upper: Number | None
    """Both: one-sided bounds at 95 %."""
    level: Level
    """The word of the verdict."""
    sentence: NotBlank
    """The outcome in words."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        for what, low, high in (("interval", self.low, self.high), ("bounds", self.lower, self.upper)):
            if (low is None) != (high is None):
                raise ValueError(f"one end of the {what} is missing")
            if low is not None and high is not None and low > high:
                raise ValueError(f"the ends of the {what} are in the wrong order")
        return self


class GateStep(VerdictStep):
    """The verdict at another gate."""

    gate: Number
    """Recovery from which the judge is useful."""
    state: GateState
    """Outcome of ``--fail-under recovery=GATE``, by the one-sided bounds."""
    gate_sentence: NotBlank
    """That outcome in words."""


class LabelStep(VerdictStep):
    """The verdict with another number of labelled prompts, if the estimate stays as it is."""

    prompts: Annotated[Count, Field(gt=0)]
    labels: Count
    """Both: labelled prompts, and labels of candidates."""
    chance: Share | None
    """How likely a study of that size settles the verdict if the estimate is the truth; None where no size does."""


class ShareStep(VerdictStep):
    """The verdict after some prompts went to a judge that never errs."""

    share: Share
    """Part of the prompts that is sent."""


def _check_steps(values: Sequence[float], current: int, what: str) -> None:
    if any(second <= first for first, second in pairwise(values)):
        raise ValueError(f"the steps are not in rising order of the {what}")
    if current >= len(values):
        raise ValueError("current is beyond the last step")


class GateSteps(Record):
    """The verdict by the gate."""

    steps: Annotated[list[GateStep], Field(min_length=FEWEST_STEPS)]
    """In rising order."""
    current: Count
    """Which step, from 0, has the gate of the audit."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        _check_steps([step.gate for step in self.steps], self.current, "gate")
        return self


class LabelsNeeded(Record):
    """Labelled prompts that settle the verdict with a stated chance, if the estimate is the truth."""

    power: Share
    """The chance."""
    prompts: Positive
    """Not rounded."""
    low: Positive | None
    """Interval, for what the labelled prompts leave uncertain of the distance to the gate; an end is None where it is
    infinite or unknown.
    """
    high: Positive | None
    """Interval, for what the labelled prompts leave uncertain of the distance to the gate; an end is None where it is
    infinite or unknown.
    """


class LabelSteps(Record):
    """The verdict by the number of labels: a projection."""

    steps: Annotated[list[LabelStep], Field(min_length=FEWEST_STEPS)]
    """In rising order."""
    current: Count
    """Which step, from 0, has the labels of the audit."""
    sampled: bool
    """Whether the labels are a sample. Prompts without labels are then taken to grow in number as the labelled do."""
    needed: LabelsNeeded | None = None
    """Absent where the estimate equals the gate, where no number of labels settles the verdict, or where the labels
    are a sample.
    """

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        _check_steps([step.prompts for step in self.steps], self.current, "prompts")
        return self


class ShareSteps(Record):
    """The verdict by the share of the prompts that goes to a stronger judge."""

    signal: NotBlank
    """By which the prompts are chosen."""
    steps: Annotated[list[ShareStep], Field(min_length=FEWEST_STEPS)]
    """In rising order."""
    current: Count
    """Which step, from 0, the slider begins at."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        _check_steps([step.share for step in self.steps], self.current, "share")
        return self


class WhatIf(Record):
    """What would change the verdict on one judge."""

    judge: str
    """Its name; of several the one with the largest recovery."""
    confidence: Confidence
    """Of the two-sided intervals."""
    gate_value: Number
    """The gate of the audit."""
    gate: GateSteps
    """The verdict at other gates."""
    share: ShareSteps | None = None
    """Where routing was studied."""
    labels: LabelSteps | None = None
    """Where the interval can be projected."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.gate.steps[self.gate.current].gate != self.gate_value:
            raise ValueError("gate.current is not the step of gate_value")
        return self


class CandidateSeen(Record):
    """A candidate."""

    id: str
    """Its name."""
    score: Number | None
    label: Number | None
    """Both: of the judge, and of the oracle."""
    text: str | None
    """Its words, and what the judge said of it."""
    text_left_out: Count
    """Characters that were cut."""
    raw: str | None
    """Its words, and what the judge said of it."""
    raw_left_out: Count
    """Characters that were cut."""
    picked: bool
    best: bool
    """Both: whether it has the highest score, and the highest label."""


class PromptLine(Record):
    """What a judge picked for a prompt, and what that cost."""

    prompt_id: str
    judge: str
    """Both: which prompt, and whose pick."""
    pick: str
    """Names of up to three candidates that are tied."""
    pick_more: Count
    """How many more are tied."""
    best: str
    """Names of up to three candidates that are tied."""
    best_more: Count
    """How many more are tied."""
    value_pick: Number | None
    value_best: Number | None
    gain_lost: Number | None
    margin: NonNegative | None
    """All four: label of the pick, of the best, and their difference; top score minus the second."""
    tied: Count
    """Candidates with the top score."""
    score: Number | None = None
    """Top score; None of logged picks."""
    kinds: list[Count] = Field(default_factory=list)
    """Which of `WorstPrompts.kinds` it is."""


class PromptSeen(PromptLine):
    """The same with its candidates and their words."""

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


class PromptKind(Record):
    """A value that a column has for some prompts."""

    column: str
    value: str


class WorstPrompts(Record):
    """The prompts whose pick lost something, in the order of their loss, the greatest first."""

    rows: list[PromptSeen]
    """One a judge and prompt."""
    of: Count
    """How many there are in all."""
    lines: list[PromptLine] = Field(default_factory=list)
    """Further prompts, also those whose pick lost nothing, without their candidates."""
    kinds: list[PromptKind] = Field(default_factory=list)
    """By which the prompts can be told apart."""
    without_loss: Count = 0
    """How many more have a pick that lost nothing."""
    unknown_loss: Count = 0
    """How many more have no label of the pick or of another candidate, so that no loss is known."""

    @model_validator(mode="after")
    def _no_more_than_there_are(self) -> Self:
        if len(self.rows) > self.of:
            raise ValueError("more rows than there are prompts")
        return self


class Chance(Record):
    """What random picks reach."""

    top1_accuracy: Share | None
    """On the prompts that the audit describes."""
    hit_rate: Share | None
    """On those with labels."""


class DifferencesOf(Record):
    """Differences of two values of one prompt, as a histogram that is symmetric about 0."""

    edges: list[Number]
    """Of the bins, one of which is centred at 0."""
    counts: list[Count]
    """Of the pairs that are not tied, in both directions."""
    ties: Count
    pairs: Count
    """Both: each pair once."""
    largest: NonNegative
    """Of the differences, 0 where all pairs tie."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if len(self.edges) != len(self.counts) + 1:
            raise ValueError("there is one edge more than counts")
        if self.ties > self.pairs:
            raise ValueError("more pairs tie than there are")
        return self


class Differences(Record):
    """Differences of scores and of labels; None without a prompt."""

    judge: DifferencesOf | None
    """Of scores."""
    oracle: DifferencesOf | None
    """Of labels."""


class Points(Record):
    """Points of a scatter."""

    judge: list[Number]
    oracle: list[Number]
    """Both: of one length."""

    @model_validator(mode="after")
    def _of_one_length(self) -> Self:
        if len(self.judge) != len(self.oracle):
            raise ValueError("judge and oracle are of different lengths")
        return self


class Spread(Record):
    """What lies between prompts against what lies within them."""

    between: Points
    """The mean of each prompt."""
    within: Points
    """The deviation of each candidate from it."""
    prompts_shown: Count
    prompts: Count
    cells_shown: Count
    cells: Count
    """All four: how many of how many."""


class StratumRow(Record):
    """Metrics of the prompts of which a column says one thing."""

    value: str
    """What it says."""
    kind: Literal["value", "range", "blank", "other"]
    """``range`` of numbers; ``other`` for rare values together."""
    prompts: Count
    """How many."""
    pairs: Count | None = None
    """Pairs that neither side ties, which `sign_agreement` rests on."""
    metrics: dict[str, EstimateRecord]
    """Recovery, within_r, sign_agreement, effective_agreement, tie_rate and top1_accuracy."""


class Stratum(Record):
    """Metrics by what a column says of each prompt."""

    column: str
    """Its name."""
    rows: list[StratumRow]
    """What it says."""


class ColumnLeftOut(Record):
    """A column without rows."""

    column: str
    """Its name."""
    reason: str
    """Why it is not shown."""


class LabelsToDecide(Record):
    """About how many more labels would take an interval off the gate of the verdict, if the estimate holds."""

    prompts: Count | None
    """Labelled prompts; None where the estimate is too close to the gate to say."""
    labels: Count | None
    """Labels of their candidates."""


class JudgeExhibits(Record):
    """What is drawn of one judge."""

    chance: Chance
    """What random picks reach."""
    differences: Differences | None
    """None of logged picks."""
    spread: Spread | None
    """Prompt means, and deviations from them."""
    strata: list[Stratum]
    """By the columns that say one thing of each prompt."""
    strata_left_out: list[ColumnLeftOut]
    """The other columns."""
    to_decide: LabelsToDecide | None = None
    """Where the interval of the metric that decides spans the gate."""


class Exhibits(Document):
    """What is drawn of each judge, and the prompts to look into."""

    schema_: Literal["bonwise.exhibits/1"] = Field(default="bonwise.exhibits/1", alias="schema")
    judges: dict[str, JudgeExhibits]
    """By name."""
    prompts: WorstPrompts
    """The prompts where judges lost most."""
    what_if: WhatIf | None = None
    """What would change the verdict; absent where it does not rest on a recovery with an interval."""


class Note(Document):
    """Why there is no study."""

    schema_: Literal["bonwise.note/1"] = Field(default="bonwise.note/1", alias="schema")
    title: str
    """What was to be studied."""
    sentences: list[str]
    """Why it was not."""

    @classmethod
    def on(cls, title: str, reason: str) -> Note:
        """Return a note that stands in for a study."""
        return cls(title=title, sentences=[f"Not studied: {reason}."])

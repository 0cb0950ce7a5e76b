"""How many labels are enough: ``bonwise.plan/1``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    Discriminator,
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    Tag,
    model_serializer,
    model_validator,
)
from pydantic.functional_validators import ModelWrapValidatorHandler

from bonwise.results import Count, Document, FrameRow, NonNegative, Number, Record, Share
from bonwise.table.facts import ValuesRead
from bonwise.votes.result import PairScreening, ScreeningPower

if TYPE_CHECKING:
    import pandas as pd

PlanQuestion = Literal[
    "recovery>0", "recovery", "within_r>=r0", "a-vs-b", "margin", "equivalence", "screening", "allocation"
]

PlanDesign = Literal["two_label", "complete", "discordant", "discordant_preference", "votes"]
"""What is labelled of a prompt."""

PlanVerdict = Literal["feasible", "underpowered", "infeasible"]

EffectName = Literal[
    "within_r",
    "rival_r",
    "r0",
    "recovery",
    "half_width",
    "gain",
    "difference",
    "standardised",
    "disagree",
    "margin",
    "bound",
]
"""What is planned for."""

Amounts = dict[Literal["prompts", "labels", "independent"], NonNegative]
"""Amounts that are not rounded: of prompts and labels, or of independent votes."""

Method = Literal["exact", "paper"]

_OneSide = Annotated[int, Field(gt=-1, lt=1)] | Annotated[float, Field(gt=-1, lt=1)]
_Level = Annotated[float, Field(gt=0.5, lt=1)]


class PlanSettings(ValuesRead):
    """The arguments of a plan, and what says how its pilot is read.

    Keys are written in the order in which they were given: what the user said stands before what follows from it.
    """

    candidates: Annotated[int, Field(ge=2)] | None = None
    within_r: _OneSide | None = None
    rival_r: _OneSide | None = None
    error_correlation: _OneSide | None = None
    r0: _OneSide | None = None
    effect: Annotated[float, Field(gt=0, lt=0.5)] | None = None
    half_width: Annotated[float, Field(gt=0, lt=1)] | None = None
    labels: Annotated[int, Field(ge=1)] | None = None
    prompts: Annotated[int, Field(ge=1)] | None = None
    power: _Level | None = None
    confidence: _Level
    method: Method | None = None
    label_cost: NonNegative | None = None
    judge_cost: NonNegative | None = None
    raters: Annotated[int, Field(ge=1)] | None = None
    icc: Share | None = None
    one_cluster: bool | None = None
    design: PlanDesign
    tie_rate: Share | None = None
    first_stage: Annotated[int, Field(ge=1)] | None = None
    kept_share: Annotated[float, Field(gt=0, lt=1)] | None = None
    allocation: str | None = None
    seed: Count | None = None
    pilot: str | None = None
    judge: list[str] | None = None
    exclude: list[str] | None = None
    verdict_col: str | None = None
    pair_col: list[str] | None = None
    ties: Literal["drop", "half", "pessimistic"] | None = None
    columns: dict[str, str] | None = None
    version: str

    _order: tuple[str, ...] = PrivateAttr(())

    @model_validator(mode="wrap")
    @classmethod
    def _keep_order(cls, given: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        made = handler(given)
        if isinstance(given, dict):
            made._order = tuple(given)  # noqa: SLF001 - its own
        return made

    def in_order(self) -> dict[str, Any]:
        """Return the values as they were given, in that order."""
        return {key: getattr(self, key) for key in self._order}

    @model_serializer(mode="wrap")
    def _in_order(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        found = handler(self)
        return {key: found[key] for key in self._order}


class PowerRow(Record):
    """What so many labels show: the power, or the half-width; None where there is none."""

    labels: Count
    prompts: Count
    power: Share | None = None
    half_width: NonNegative | None = None


class SequentialRecord(Record):
    """Labels that a study takes which may stop early."""

    fixed: Count
    """Labels of the plan."""
    mean: Annotated[list[Count], Field(min_length=2, max_length=2)]
    """Least and most on average."""
    reserve: Count
    """What the worst tenth of studies exceeds."""
    saves: bool
    """Whether fewer labels are taken on average."""
    prior: NonNegative | None = None
    """Of the test of votes."""
    first_look_prompts: Count | None = None
    """Of the test of a gain."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.mean[0] > self.mean[1]:
            raise ValueError(f"the least is {self.mean[0]} on average, above the most, {self.mean[1]}")
        if (self.prior is None) == (self.first_look_prompts is None):
            raise ValueError("a test of votes has a prior, one of a gain first_look_prompts")
        return self


class EquivalenceRecord(Record):
    """What shows that there is no effect of the planned size."""

    prompts: Count
    labels: Count
    shows: str


class PilotOfScores(Record):
    """What a labelled table of scores said."""

    source: str
    judges: list[str]
    prompts: Count
    """Labelled completely."""
    of: str
    """What the estimate is."""
    estimate: Number | None
    low: Number | None
    high: Number | None


class PilotOfVotes(Record):
    """What votes said, or the picks of two judges turned into votes; these have judges and prompts too."""

    source: str
    votes: NonNegative
    wins: NonNegative
    ties: NonNegative
    """All three: votes that count, those for the first side, and ties among all votes."""
    of: str
    """What the estimate is."""
    estimate: Number | None
    low: Number | None
    high: Number | None
    judges: list[str] | None = None
    prompts: Count | None = None

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.wins > self.votes:
            raise ValueError(f"{self.wins} of {self.votes} votes")
        return self


def _pilot_of(value: Any) -> str:
    return "votes" if isinstance(value, dict | Record) and "votes" in value else "scores"


_Pilot = Annotated[
    Annotated[PilotOfScores, Tag("scores")] | Annotated[PilotOfVotes, Tag("votes")], Discriminator(_pilot_of)
]


class ClustersOfPilot(Record):
    """Clusters of the pilot's prompts, and what they cost."""

    clusters: Count
    prompts: Count
    icc: Share
    """Correlation of what two prompts of one cluster add to the estimate."""
    icc_used: Share
    """The correlation planned with: with fewer than 10 clusters the upper end of its one-sided interval at 80 %."""
    design_effect: NonNegative
    """Prompts needed over independent prompts needed."""


class AllowingForPilot(Record):
    """Prompts and labels that allow for what a pilot happened to show."""

    prompts: Count
    labels: Count


class RedrawnPilotRecord(Record):
    """What drawing the pilot again through the gate of an audit said."""

    unit: Literal["prompts", "clusters"]
    """What was drawn, with replacement."""
    draws: Count
    """Samples in all; 0 where the number is so large that the normal formula says it."""
    sizes: list[Count]
    """Sizes of the samples, in units."""
    powers: list[Share]
    """Share of the samples of each size that pass the gate, made monotone."""
    seed: Count
    formula_prompts: NonNegative
    """Prompts by the normal formula."""
    allowing: AllowingForPilot | None
    """What allows for the pilot; None where its effect may be none."""


class PairOfPilot(Record):
    """A pair of models of a pilot with several: its margin, and the votes that see it."""

    first: str
    second: str
    votes: NonNegative
    margin: Number
    low: Number | None
    high: Number | None
    labels: Count | None
    """None where no number is enough."""
    proportional: Share | None = None
    two_stage: Share | None = None
    """Both: how often its votes, drawn again without replacement, show a preference."""


class ScreeningRecord(Record):
    """Two-stage screening of types of prompts beside votes in proportion."""

    here: PairScreening
    null: ScreeningPower
    """The same where there is no preference on average: the error of reading it as one."""
    curve: list[PairScreening]
    """With other numbers of votes."""


class AllocationRecord(Record):
    """Whether votes are spread as their types weigh."""

    votes: Count
    bottleneck: NonNegative
    """The least of votes over weight: in the worst case the votes tell as much as so many in proportion."""
    worst: str
    more: dict[str, Count]
    """Further votes on each type that would raise its ratio to the number of all votes."""


class Plan(Document):
    """How many labels answer a question."""

    schema_: Literal["bonwise.plan/1"] = Field(default="bonwise.plan/1", alias="schema")
    question: PlanQuestion
    settings: PlanSettings
    design: PlanDesign
    """All three: what was asked, and what is labelled."""
    sides: Literal[1, 2]
    prompts: Count | None
    labels: Count | None
    """Both: what it takes; None where no number is enough."""
    cost: NonNegative | None
    mde: Number | None
    """Smallest effect that is found, of the kind `mde_of`."""
    mde_of: str
    interval: Annotated[list[Count | None], Field(min_length=2, max_length=2)] | None
    """Ends of the interval on labels that a pilot leaves."""
    verdict: PlanVerdict
    raw: Amounts | None
    """Not rounded."""
    effect: dict[EffectName, Number]
    """What was planned for."""
    power_table: list[PowerRow]
    sequential: SequentialRecord | None
    equivalence: EquivalenceRecord | None
    design_effect: NonNegative | None
    pilot: _Pilot | None
    clusters: ClustersOfPilot | None = None
    redrawn: RedrawnPilotRecord | None = None
    """Absent where the pilot was not drawn again."""
    pairs: list[PairOfPilot] | None = None
    screening: ScreeningRecord | None = None
    allocation: AllocationRecord | None = None
    sentences: list[str]
    commands: list[str]

    frame_columns = ("question", "design", "labels", "prompts", "power", "half_width", "planned")

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        infeasible = self.verdict == "infeasible"
        if (self.labels is None) != infeasible or (self.prompts is None) != infeasible:
            raise ValueError(f"{self.labels} labels on {self.prompts} prompts make no plan that is {self.verdict}")
        if self.settings.design != self.design:
            raise ValueError(f"the settings say design {self.settings.design}, the plan {self.design}")
        return self

    @property
    def shows(self) -> Literal["power", "half_width"]:
        """What the power table holds."""
        return "half_width" if self.question == "recovery" else "power"

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per number of labels."""
        about = {"question": self.question, "design": self.design}
        for row in self.power_table:
            yield {**about, **row.to_dict(), "planned": row.labels == self.labels}

    def to_frame(self) -> pd.DataFrame:
        """Return the power table, one row per number of labels; empty where no number is enough.

        Columns: ``question``, ``design``, ``labels``, ``prompts``, ``power``, ``half_width`` (one of the two is
        missing: questions are answered with a power or to a half-width) and ``planned``: whether it is the plan.
        """
        return super().to_frame()

    def __repr__(self) -> str:
        names = ("question", "design", "sides", "prompts", "labels", "cost", "mde", "interval", "verdict")
        values = {name: getattr(self, name) for name in names}
        if self.interval is not None:
            values["interval"] = tuple(self.interval)
        return f"Plan({', '.join(f'{name}={value!r}' for name, value in values.items())})"

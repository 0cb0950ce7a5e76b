"""Which prompts to send to a stronger judge: ``bonwise.route/1``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from bonwise.documents.document import Document, FrameRow
from bonwise.documents.labels_left_out import LabelsLeftOut
from bonwise.documents.record import Record
from bonwise.documents.routed.judge import (
    BudgetRecord,
    CheckRecord,
    GainGrid,
    JudgeRoute,
    PerfectOrder,
    PredictedBound,
    RecommendedRoute,
    RoutedData,
)
from bonwise.documents.routed.signal import SignalRecord
from bonwise.documents.router import SignalName
from bonwise.documents.study_settings import Shape
from bonwise.documents.values import Confidence, Count, Number

__all__ = ["MODEL", "RouteDocument", "RouteSettings"]

_OF_ONE = tuple(JudgeRoute.model_fields)
_ALONE = ("judge", *(key for key in _OF_ONE if key != "budget"))
_TOGETHER = ("judges", "not_studied")


class RouteSettings(Record):
    """What was asked for, and what the table was taken for."""

    source: str
    columns: dict[str, str]
    """Role to column."""
    share: Annotated[float, Field(gt=0, lt=1)]
    """Part of the prompts to send, in (0, 1)."""
    confidence: Confidence
    """Of the two-sided intervals."""
    seed: Count
    exclude: list[str]
    """Candidate names left out."""
    first_pass_only: bool
    """Whether repeated scores and other judges were left out of the signals."""
    mean_calls: Number | None
    """Of a joint budget: calls for each prompt, and the price of one that is sent on."""
    strong_cost: Number | None
    """Of a joint budget: calls for each prompt, and the price of one that is sent on."""
    shape: Shape
    reference: str | None
    """The judge that stood in for oracle labels."""
    version: str
    """Of bonwise."""
    labels_left_out: LabelsLeftOut | None = None

    @model_validator(mode="after")
    def _budget_is_whole(self) -> Self:
        if (self.mean_calls is None) != (self.strong_cost is None):
            raise ValueError("mean_calls and strong_cost stand together")
        return self


class RouteDocument(Document):
    """What sending some prompts to a stronger judge is worth, and by which signal to choose them.

    What was found of one judge stands beside the settings; of several, in `judges`. `judges` is there for one judge
    too.
    """

    schema_: Literal["bonwise.route/1"] = Field(default="bonwise.route/1", alias="schema")
    settings: RouteSettings
    judge: str | None = None
    """Name of the only judge."""
    data: RoutedData | None = None
    """Of the only judge, see `JudgeRoute`."""
    signals: dict[SignalName, SignalRecord] | None = None
    """Of the only judge, see `JudgeRoute`."""
    perfect: PerfectOrder | None = None
    """Of the only judge, see `JudgeRoute`."""
    bound: list[PredictedBound] | None = None
    """Of the only judge, see `JudgeRoute`."""
    gain_by_margin_and_level: GainGrid | None = None
    """Of the only judge, see `JudgeRoute`."""
    confidence_calibrated: CheckRecord | None = None
    """Of the only judge, see `JudgeRoute`."""
    voi_calibrated: CheckRecord | None = None
    """Of the only judge, see `JudgeRoute`."""
    recommendation: RecommendedRoute | None = None
    """Of the only judge, see `JudgeRoute`."""
    budget: BudgetRecord | None = None
    """Of the only judge, where a joint budget was given."""
    several_judges: Annotated[dict[str, JudgeRoute], Field(min_length=1)] | None = Field(default=None, alias="judges")
    left_unstudied: dict[str, str] | None = Field(default=None, alias="not_studied")
    """The judges that could not be studied, and why."""

    frame_columns = (
        *("judge", "signal", "share", "value", "value_low", "value_high", "value_se"),
        *("lift", "lift_low", "lift_high", "lift_se", "captured", "low", "high", "se", "n", "recommended", "reason"),
    )

    @model_validator(mode="after")
    def _one_or_several(self) -> Self:
        alone, together = ([key for key in keys if key in self] for keys in (("judge", *_OF_ONE), _TOGETHER))
        if alone and together:
            raise ValueError(f"one judge or several: {alone[0]} stands beside {together[0]}")
        lacking = [key for key in (_TOGETHER if together else _ALONE) if key not in self]
        if lacking:
            raise ValueError(f"{lacking[0]} is missing")
        return self

    @model_validator(mode="after")
    def _is_of_the_share_asked_for(self) -> Self:
        try:
            judges = self.judges
        except ValidationError as error:  # what the parts of the only judge say together
            raise ValueError(error.errors()[0]["msg"].removeprefix("Value error, ")) from None
        for name, judge in judges.items():
            if judge.recommendation.share != self.settings.share:
                raise ValueError(f"the recommendation for {name!r} is of another share than settings.share")
            if judge.budget is not None and self.settings.mean_calls is None:
                raise ValueError(f"the budget of {name!r} was split, and settings.mean_calls is null")
        return self

    @classmethod
    def of(
        cls, judges: Mapping[str, JudgeRoute], settings: RouteSettings, not_studied: Mapping[str, str]
    ) -> RouteDocument:
        """Return the document of one judge or of several."""
        if len(judges) == 1 and not not_studied:
            ((name, found),) = judges.items()
            return cls(settings=settings, judge=name, **dict(found))
        together: dict[str, Any] = {"judges": dict(judges), "not_studied": dict(not_studied)}
        return cls(settings=settings, **together)

    @property
    def judges(self) -> Mapping[str, JudgeRoute]:
        """What was found of each judge, of the only one too."""
        if self.several_judges is not None:
            return self.several_judges
        if self.judge is None:
            return {}
        given = self.given_values()
        own = {key: given[key] for key in _OF_ONE if key in given}
        return {self.judge: JudgeRoute(**own)}

    @property
    def not_studied(self) -> Mapping[str, str]:
        """The judges that could not be studied, and why."""
        return self.left_unstudied or {}

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per judge, signal and share; a signal without figures has one row that says why."""
        for name, judge in self.judges.items():
            taken = judge.recommendation
            for signal, one in judge.signals.items():
                for found in one.shares:
                    chosen = signal == taken.signal and found.share == taken.share
                    yield {"judge": name, "signal": signal, **found.to_dict(), "recommended": chosen}
                if not one.shares:
                    yield {"judge": name, "signal": signal, "recommended": False, "reason": one.reason}


MODEL = RouteDocument

"""Whether calibrating a judge's scores against labels would help selection: the study ``calibration``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from bonwise.errors import UsageError
from bonwise.estimates import EstimateRecord
from bonwise.results import Count, FrameRow, Record
from bonwise.studies.result import StudyDocument, StudyJudge
from bonwise.table.facts import JudgeCounts, StudySettings

Intervals = Literal["refitted", "maps taken as fixed"]
"""How intervals are made: the maps learned again without each group of prompts, or taken as they are."""

REFITTED: Literal["refitted"] = "refitted"
FIXED: Literal["maps taken as fixed"] = "maps taken as fixed"


class LevelChange(Record):
    """The largest bias of a candidate's mean, in the unit of the labels, and how it changed."""

    intervals: Literal["maps taken as fixed"]
    bias: EstimateRecord
    change: EstimateRecord


class PickCounts(Record):
    """Prompts by what became of the candidates at the top.

    ``A`` is the set of candidates with the highest raw score, ``B`` that with the highest calibrated one. A pick
    changed where they share nothing, and where a unique pick shares the top now; a top is kept where ``B = A``. By
    Lemma 6 of Landesberg (2026), arXiv:2603.12520, a strictly rising map leaves ``B = A``; one that only never falls
    keeps ``A`` inside ``B``, so that no pick is replaced, but a unique one may come to share the top.
    """

    prompts: Count
    picks_changed: Count
    """Whatever was picked, another candidate is picked now; or a unique pick is newly tied."""
    picks_newly_tied: Count
    """Of these: a unique pick shares the top now."""
    ties_broken: Count
    """Some, but not all, of a tied top are left."""
    top_kept: Count

    @model_validator(mode="after")
    def _are_of_its_prompts(self) -> Self:
        if max(self.picks_changed, self.picks_newly_tied, self.ties_broken, self.top_kept) > self.prompts:
            raise ValueError("more prompts are counted than there are")
        return self


class PickOutcomes(Record):
    """What became of the picks, on all prompts and on those without a tie at the top."""

    all: PickCounts
    without_ties: PickCounts


class CalibratedMethod(Record):
    """What one way of calibrating does to a judge."""

    intervals: Intervals
    metrics: dict[str, EstimateRecord]
    changes: dict[str, EstimateRecord]
    """Both: of the calibrated scores, and less those of the raw ones."""
    relative: dict[str, EstimateRecord]
    """``calibrated / raw - 1`` of the correlations."""
    level: LevelChange
    tie_breaks: EstimateRecord
    """Of the pairs that the raw scores tie, the share that is ordered as the labels are."""
    picks: PickOutcomes
    rising_folds: Count
    """Folds in which the map never fell as the score rose."""

    @model_validator(mode="after")
    def _changes_metrics(self) -> Self:
        strange = [key for key in (*self.changes, *self.relative) if key not in self.metrics]
        if strange:
            raise ValueError(f"the change of {strange[0]} is told, and {strange[0]} is not a metric")
        return self


class RawFigures(Record):
    """Metrics of the raw scores, and the largest bias of a candidate's mean."""

    metrics: dict[str, EstimateRecord]
    level: EstimateRecord


class CalibrationJudge(StudyJudge):
    """What calibrating does to one judge."""

    data: JudgeCounts
    covariates: list[str]
    raw: RawFigures
    methods: Annotated[dict[str, CalibratedMethod], Field(min_length=1)]
    groups: Count
    """Groups of prompts that were left out in turn, where intervals are refitted."""
    left_out: dict[str, str]
    """Ways of calibrating that could not be used, and why."""
    sentences: list[str]

    @model_validator(mode="after")
    def _compares_with_raw(self) -> Self:
        strange = [key for method in self.methods.values() for key in method.changes if key not in self.raw.metrics]
        if strange:
            raise ValueError(f"the change of {strange[0]} is told, and the raw scores have none")
        return self


class MethodOverJudges(Record):
    """What one way of calibrating does on average over the judges, all of them without the same prompts in turn."""

    intervals: Intervals
    changes: dict[str, EstimateRecord]
    """The mean over judges of the change of a metric."""
    percent_of_mean: dict[str, EstimateRecord]
    """Of the correlations: their mean over judges after calibration over that before, less 1."""
    mean_of_percents: dict[str, EstimateRecord]
    """Of the correlations: the mean over judges of ``calibrated / raw - 1``."""


class CalibrationSettings(StudySettings):
    """What was asked for."""

    folds: Annotated[int, Field(ge=2)]
    """Parts of the prompts, each calibrated by the others."""
    covariates: list[str]
    pools: str | None
    """File with the texts of the candidates."""


class CalibrationStudy(StudyDocument):
    """What calibrating does to the metrics and the picks of every judge."""

    study: Literal["calibration"] = "calibration"
    settings: CalibrationSettings
    judges: dict[str, CalibrationJudge]
    over_judges: dict[str, MethodOverJudges] | None = None
    """By way of calibrating, where two judges or more have the same prompts."""
    not_over_judges: str | None = None
    """Why there are no means over several judges."""

    about = (
        "Find whether calibration changes picks.\n\n"
        "Calibrates the scores to the labels in four ways, and shows what changes and which picks."
    )
    place = 3

    def __repr__(self) -> str:
        return f"<CalibrationStudy of {', '.join(self.judges)} on {self.settings.source}>"

    def __getitem__(self, key: str) -> Any:
        """Return what was found of a judge, by its name; or a value by its JSON key."""
        if key in self.judges:
            return self.judges[key]
        if key in self:
            return super().__getitem__(key)
        raise UsageError(f"no study of a judge {key!r}", hint=f"the judges are {', '.join(self.judges)}")

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per judge, calibration, kind (``metric``, ``change`` or ``relative``) and metric."""
        for name, judge in self.judges.items():
            for metric, found in {**judge.raw.metrics, "level": judge.raw.level}.items():
                key = {"judge": name, "calibration": "raw", "kind": "metric", "metric": metric}
                yield {**key, "intervals": None, **found.to_dict()}
            for method, one in judge.methods.items():
                yield from _rows(name, method, one)


def _rows(judge: str, method: str, one: CalibratedMethod) -> Iterator[FrameRow]:
    kinds: Mapping[str, Mapping[str, EstimateRecord]] = {
        "metric": {**one.metrics, "level": one.level.bias},
        "change": {**one.changes, "level": one.level.change},
        "relative": one.relative,
    }
    for kind, estimates in kinds.items():
        for metric, found in estimates.items():
            key = {"judge": judge, "calibration": method, "kind": kind, "metric": metric}
            yield {**key, "intervals": FIXED if metric == "level" else one.intervals, **found.to_dict()}


MODEL = CalibrationStudy

"""What fitting a factor model, and studying label budgets, gives: the figures, and what their pages draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from bonwise.errors import UsageError
from bonwise.estimates import EstimateRecord
from bonwise.factors.result_models import (
    CohesionRecord,
    FactorComparison,
    FactorExplanation,
    FactorLeaderboard,
    FactorPrediction,
    FactorStrengths,
)
from bonwise.flags import takes_numbers
from bonwise.results import Confidence, Count, Document, FrameRow, NonNegative, Number, Positive, Record, Share, alike

if TYPE_CHECKING:
    from bonwise.factors.baselines import HeldOut
    from bonwise.factors.human_view import HumanView
    from bonwise.table.reading import RowSource


class CategoryCohesion(Record):
    """How far one skill drives the prompts of a category."""

    category: str
    prompts: Count
    cohesion: CohesionRecord
    random: Share
    """Mean cohesion of the random sets of as many prompts."""


class JudgeInformation(Record):
    """What a judge adds to what is known of a prompt."""

    rater: str
    growth: EstimateRecord
    """By which share the variance of the human's gaps between models on a prompt would grow without the judge's
    ratings: 0.1 is 10 % more. As the fitted model sees it; clustered by prompt.
    """


class MapAxis(Record):
    """An axis of the map of prompts."""

    share: Share
    """Of the variance of the models' capabilities between prompts."""
    high: str
    low: str
    """Both: models that gain most, and lose most, towards the high end."""


class PromptPlace(Record):
    """A prompt on the map."""

    prompt_id: str
    category: str
    """Blank for none."""
    x: Number
    y: Number


class PromptMap(Record):
    """Prompts by what they ask of the models: near each other where the same models are better."""

    x: MapAxis
    """First and second principal axis of the human's capabilities of the models, less their mean on the prompt."""
    y: MapAxis
    """First and second principal axis of the human's capabilities of the models, less their mean on the prompt."""
    prompts: list[PromptPlace]


RatingRule = Literal["numbers", "words", "verdicts", "bins"]
StageOneErrorName = Literal["laplace_gibbs", "propagated", "fixed"]


class RaterRecord(Record):
    """A rater and its categories."""

    rater: str
    ratings: Count
    side_by_side: bool
    """Whether it compares two models."""
    categories: list[str]
    """Lowest first."""
    rule: RatingRule
    """What its ratings are: ``numbers``, ``words``, ``verdicts``, or numbers in ``bins``."""
    distinct: Count
    """Distinct numbers before they were binned; otherwise the number of categories."""

    @property
    def size(self) -> int:
        """How many categories there are."""
        return len(self.categories)


class FactorData(Record):
    """What was read."""

    prompts: Count
    models: Count
    ratings: Count
    human_ratings: Count
    repeats: Count
    """Ratings that repeat an earlier one without a replicate of their own; each counts as a replicate."""
    dropped: dict[str, Count]
    """Rows left out, by reason."""


class FactorSettings(Record):
    """What was asked for."""

    human: str
    """The human rater."""
    rank: Count | None
    """None where cross-validation chose it."""
    prior: NonNegative | None
    """Precision of the prior of the factors; None where cross-validation chose it."""
    normalize: bool
    """Whether columns were normalised as in the paper, without a prior."""
    restarts: Count
    holdout: Share | None
    """Share of the human ratings that was held out."""
    interval: StageOneErrorName | None
    """How intervals treat the error of stage 1."""
    leave_one_out: bool = False
    """Whether each model, and each category of prompts, was predicted without its human ratings."""
    confidence: Confidence
    seed: Count
    backend: Literal["numpy", "torch"]
    """What computed stage 1."""
    source: str
    version: str


class ModelCandidateRecord(Record):
    """A rank, a prior and columns that were compared."""

    rank: Count
    prior: NonNegative
    columns: list[str]
    """``skills``, ``models``, ``verdicts``."""
    ridge: NonNegative
    """The best for these columns."""
    cross_entropy: NonNegative
    """Per human rating, cross-validated, in nats."""
    se: NonNegative
    stage_one_loss: Number
    """It falls with the rank, and chooses nothing."""


class HoldoutRecord(Record):
    """How well held-out human ratings were predicted."""

    cross_entropy: NonNegative
    """Per rating, in nats."""
    se: NonNegative | None
    """Clustered by prompt."""
    n: Count
    """Ratings held out."""
    prompts: Count
    """Prompts they are on."""
    fitted: Count
    """Human ratings that were fitted."""


class AnswerEffectRecord(Record):
    """What judges see alike in an answer, beyond the skills, and how far the human heeds it."""

    answers: Count
    """Answers, or comparisons, that at least two judges rate."""
    sd: EstimateRecord
    """Standard deviation of the effects, in logits."""
    human_weight: EstimateRecord
    """What people heed of an effect: 1 is as much as a judge, 0 is nothing."""


class BaselineRecord(Record):
    """A baseline on the same held-out ratings."""

    cross_entropy: NonNegative
    difference: EstimateRecord
    """What it loses more than the factor model, per rating; clustered by prompt."""


class ModelCapability(Record):
    """A model's mean capability over prompts, less that of all models."""

    model: str
    capability: EstimateRecord
    human_ratings: Count
    """Ratings that a human gave it, those held out not counted."""


@dataclass(frozen=True, eq=False)
class FitParts:
    """What a fit answers questions from."""

    view: HumanView | None
    """None without an interval."""
    held_out: HeldOut | None
    """None where nothing was held out."""


class FactorFit(Document):
    """A factor model of judges' ratings, aligned with few human ratings."""

    schema_: Literal["bonwise.factor/1"] = Field(default="bonwise.factor/1", alias="schema")
    data: FactorData
    settings: FactorSettings
    raters: Annotated[list[RaterRecord], Field(min_length=1)]
    """The human first."""
    rank: Annotated[int, Field(ge=1)]
    prior: NonNegative
    columns: list[str]
    """What human ratings are regressed on."""
    ridge: Positive
    candidates: list[ModelCandidateRecord]
    holdout: HoldoutRecord | None
    baselines: dict[str, BaselineRecord]
    """Empty where nothing was held out."""
    ranking: list[ModelCapability] = Field(alias="leaderboard")
    """Best first; empty where no interval was asked for."""
    answer_effect: AnswerEffectRecord | None = None
    """What judges share of an answer; where the interval counts it."""
    cohesion: list[CategoryCohesion] | None = None
    """Of every category of prompts, the most cohesive first; where there is an interval."""
    information: list[JudgeInformation] | None = None
    """What each judge adds, the most first; where there are an interval, a prior and two judges at least."""
    prompt_map: PromptMap | None = None
    """Where there are an interval and two skills at least."""
    notes: list[str]
    """What a reader should know."""

    frame_columns = ("model", "estimate", "low", "high", "se", "n", "human_ratings")

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per model."""
        for row in self.ranking:
            figures = {key: getattr(row.capability, key) for key in ("estimate", "low", "high", "se", "n")}
            yield {"model": row.model, **figures, "human_ratings": row.human_ratings}

    def __repr__(self) -> str:
        return f"<FactorFit of {self.data.models} models by {len(self.raters)} raters: rank {self.rank}>"

    @property
    def held_out(self) -> HeldOut | None:
        """What predicting each held-out rating cost; None where nothing was held out."""
        return self._parts("held_out").held_out

    @property
    def view(self) -> HumanView | None:
        """What leaderboards, comparisons and predictions are made from; None without an interval."""
        return self._parts("view").view

    def _parts(self, what: str) -> FitParts:
        parts: FitParts = self.source_of(what)
        return parts

    def _shown(self, what: str) -> HumanView:
        view = self._parts(what).view
        if view is None:
            raise UsageError("the fit has no interval, so it ranks nothing", hint="fit with interval='laplace_gibbs'")
        return view

    def leaderboard(self, *, prompt: str | None = None, category: str | None = None) -> FactorLeaderboard:
        """Rank the models on all prompts, one, or a category; see `bonwise.factors.leaderboards.rank_models`."""
        from bonwise.factors.leaderboards import rank_models  # noqa: PLC0415 - a fit is loaded without scipy

        return rank_models(self._shown("leaderboard()"), prompt=prompt, category=category)

    @takes_numbers
    def compare(self, model: str, other: str, *, equivalence: float | None = None, **known: Any) -> FactorComparison:
        """Compare two models; see `bonwise.factors.comparisons.compare_models`, also for what may be `known`."""
        from bonwise.factors.comparisons import compare_models  # noqa: PLC0415 - as above

        return compare_models(self._shown("compare()"), model, other, equivalence=equivalence, **known)

    def explain(
        self, model: str, other: str, *, prompts: RowSource | None = None, tags: Sequence[str] | None = None
    ) -> FactorExplanation:
        """Explain the gap between two models; see `bonwise.factors.comparisons.explain_gaps`."""
        from bonwise.factors.comparisons import explain_gaps  # noqa: PLC0415 - as above

        return explain_gaps(self._shown("explain()"), model, other, prompts=prompts, tags=tags)

    def strengths(
        self, model: str, *, prompts: RowSource | None = None, tags: Sequence[str] | None = None
    ) -> FactorStrengths:
        """Find where a model is strong and weak; see `bonwise.factors.strengths.find_strengths`."""
        from bonwise.factors.strengths import find_strengths  # noqa: PLC0415 - as above

        return find_strengths(self._shown("strengths()"), model, prompts=prompts, tags=tags)

    def predict(self, *, leave_one_out: bool = False) -> FactorPrediction:
        """Predict the average of every model; see `bonwise.factors.leaderboards.predict_averages`."""
        from bonwise.factors.leaderboards import predict_averages  # noqa: PLC0415 - as above

        return predict_averages(self._shown("predict()"), leave_one_out=leave_one_out)


class StudiedData(Record):
    """What was read."""

    prompts: Count
    models: Count
    ratings: Count
    human_ratings: Count
    judges: Count
    dropped: dict[str, Count]
    """Rows left out, by reason."""
    held_out: list[Count]
    """Human ratings that are predicted, per split."""


class FactorStudySettings(Record):
    """What was asked for."""

    human: str
    """The human rater."""
    budgets: Annotated[list[Share], Field(min_length=1)]
    """Shares of the human ratings that are fitted."""
    rater_shares: list[Share]
    """Shares of the judges."""
    rater_budget: Share
    """The budget at which shares of judges are compared."""
    splits: Annotated[int, Field(ge=1)]
    rank: Count | None
    """None where cross-validation chose it."""
    prior: Positive | None
    """Precision of the prior of the factors; None where cross-validation chose it."""
    restarts: Count
    confidence: Confidence
    seed: Count
    backend: Literal["numpy", "torch"]
    """What computed stage 1."""
    source: str
    version: str


class StudiedBaseline(Record):
    """A baseline on the same held-out ratings."""

    cross_entropy: EstimateRecord
    """Mean per held-out rating, in nats; clustered by prompt."""
    between_splits: NonNegative | None
    """Standard deviation of the means of the splits; None for one split."""
    difference: EstimateRecord
    """What it loses more than the factor model, per rating; clustered by prompt."""


class StudiedShareRecord(Record):
    """The factor model and its baselines, fitted to a share of the human ratings or of the judges."""

    share: Share
    judges: Count
    """That were fitted."""
    fitted: NonNegative
    """Human ratings that were fitted, on average over the splits."""
    cross_entropy: EstimateRecord
    """Mean of the factor model per held-out rating, in nats; clustered by prompt."""
    between_splits: NonNegative | None
    """Standard deviation of the means of the splits; None for one split."""
    more_than_largest: EstimateRecord
    """What the factor model loses more than at the largest share, per rating."""
    baselines: Annotated[dict[str, StudiedBaseline], Field(min_length=1)]
    splits: list[NonNegative]
    """Mean of the factor model per split."""
    ranks: list[Count]
    """Rank of the factor model per split."""


class FactorStudy(Document):
    """How well human ratings are predicted from fewer of them, and from fewer judges."""

    schema_: Literal["bonwise.factor_study/1"] = Field(default="bonwise.factor_study/1", alias="schema")
    data: StudiedData
    settings: FactorStudySettings
    by_labels: Annotated[list[StudiedShareRecord], Field(min_length=1), alike("baselines")]
    """All judges, by share of the human ratings."""
    by_judges: Annotated[list[StudiedShareRecord], alike("baselines")]
    """One budget of human ratings, by share of the judges; empty where none was asked for."""
    notes: list[str]
    """What a reader should know."""

    def __repr__(self) -> str:
        splits = self.settings.splits
        return (
            f"<FactorStudy of {self.data.judges + 1} raters: {len(self.by_labels)} budgets, "
            f"{len(self.by_judges)} shares of judges, {splits} split{'s' if splits != 1 else ''}>"
        )

    frame_columns = ("part", "share", "fitted", "judges", "method", "estimate", "low", "high", "se", "n")

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per share and method."""
        for part, steps in (("labels", self.by_labels), ("judges", self.by_judges)):
            for step in steps:
                found = {"factor_model": step.cross_entropy}
                found |= {name: baseline.cross_entropy for name, baseline in step.baselines.items()}
                for name, loss in found.items():
                    yield {
                        "part": part,
                        "share": step.share,
                        "fitted": step.fitted,
                        "judges": step.judges,
                        "method": name,
                        **{key: getattr(loss, key) for key in ("estimate", "low", "high", "se", "n")},
                    }

"""The documents on the models of a fit: leaderboard, comparison, explanation of gaps, prediction, strengths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from bonwise.errors import UsageError
from bonwise.results import Confidence, Count, Document, FrameRow, NonNegative, Number, Positive, Record, Share

if TYPE_CHECKING:
    from bonwise.factors.replacement import ModelRouter


class PromptDifference(Record):
    """By how much the model is better than the other on a prompt."""

    prompt_id: str
    category: str
    """Blank for none."""
    estimate: Number
    se: NonNegative
    low: Number
    high: Number
    """Both: ends of the pointwise interval."""
    band_low: Number
    band_high: Number
    """Both: ends of the simultaneous interval: those of all prompts hold together."""
    verdict: Literal["better", "worse", "open"]
    """By the simultaneous interval."""


class GapRecord(Record):
    """The mean difference on the prompts of a category, or on all."""

    category: str
    """Blank for all prompts."""
    prompts: Count
    estimate: Number
    se: NonNegative
    low: Number
    high: Number
    explained: Share | None = None
    """Of all prompts: the share of the variance between prompts that categories explain, by least squares."""


class ReplacementRecord(Record):
    """Whether the model can replace the other: on which prompts it loses less than a margin."""

    margin: Positive
    """In logits: how much worse the model may be."""
    share: Share
    low: Share
    high: Share
    """All three: share of the prompts on which it loses less, with its interval."""
    shown: Count
    """Prompts whose simultaneous interval shows that: all of them together with the stated confidence."""
    shown_share: Share
    """The same of all prompts: a lower bound of the share."""
    worse: Count
    """Prompts on which it is shown to lose more."""
    ties: Count
    """Prompts whose simultaneous interval holds 0."""
    ties_not_shown: Count
    """Those of them on which it may lose more than the margin: a tie is not equivalence."""
    routed: Count | None = None
    routed_of: Count | None = None
    """Both: prompts that the router sends to the model, and all it was made from; where tags are known."""
    routed_share: Share | None = None
    routed_low: Share | None = None
    """Both: share of the routed prompts on which the model loses less, and the low end of its interval."""
    cost: NonNegative | None = None
    cost_of_other: NonNegative | None = None
    """Both: price of an answer by the router, and by the other model alone; where prices are known."""


class FactorComparison(Document):
    """A model beside another on every prompt, as the human rater would say."""

    schema_: Literal["bonwise.factor_comparison/1"] = Field(default="bonwise.factor_comparison/1", alias="schema")
    model: str
    other: str
    prompts: Annotated[list[PromptDifference], Field(min_length=1)]
    """Largest difference first."""
    gaps: Annotated[list[GapRecord], Field(min_length=1)]
    """All prompts first, then categories."""
    replacement: ReplacementRecord | None = None
    """Whether the model can replace the other; where a margin was given."""
    confidence: Confidence
    notes: list[str]
    human: str
    source: str
    version: str

    frame_columns = ("prompt_id", "category", "estimate", "se", "low", "high", "band_low", "band_high", "verdict")
    frame_of = "prompts"

    @property
    def router(self) -> ModelRouter:
        """A rule for new prompts, by tags: where a margin was given, and something is known of the prompts."""
        if self.replacement is None or self.replacement.routed is None:
            raise UsageError("no router was made", hint="give a margin with --equivalence, and tags with --prompts")
        router: ModelRouter = self.source_of("router")
        return router


class GapCoefficient(Record):
    """What a property of a prompt adds to the gap between two models."""

    column: str
    """Of the table of prompts; blank for the constant."""
    level: str
    """Of a category; blank otherwise."""
    kind: Literal["constant", "tag", "category", "number", "length"]
    unit: str
    """What the coefficient is per."""
    prompts: Count
    """With the tag or in the category; all prompts of a number."""
    estimate: Number
    se: NonNegative
    low: Number
    high: Number
    """Both: ends of the pointwise interval."""
    band_low: Number
    band_high: Number
    """Both: ends of the simultaneous interval: those of all coefficients hold together."""


class FactorExplanation(Document):
    """Gaps between two models, regressed on properties of the prompts by least squares."""

    schema_: Literal["bonwise.factor_explanation/1"] = Field(default="bonwise.factor_explanation/1", alias="schema")
    model: str
    other: str
    prompts: Count
    """Prompts that count."""
    left_out: dict[str, Count]
    """Prompts that do not count, by reason."""
    constant: GapCoefficient
    coefficients: Annotated[list[GapCoefficient], Field(min_length=1)]
    """In the order of the columns."""
    explained: Share
    """Adjusted share of the variance of the gaps between prompts."""
    explained_low: Share
    explained_high: Share
    confidence: Confidence
    notes: list[str]
    human: str
    source: str
    version: str

    frame_columns = (
        *("column", "level", "kind", "unit", "prompts", "estimate"),
        *("se", "low", "high", "band_low", "band_high"),
    )

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per coefficient, the constant first."""
        for one in (self.constant, *self.coefficients):
            yield one.to_dict()


class LeaderboardRow(Record):
    """A model's capability, less the mean of all models."""

    model: str
    estimate: Number
    se: NonNegative
    low: Number
    high: Number
    """Both: ends of the pointwise interval."""
    band_low: Number
    band_high: Number
    """Both: ends of the simultaneous interval: those of all models hold together."""
    human_ratings: Count
    """Ratings that a human gave the model."""


class CohesionRecord(Record):
    """How far one skill drives the prompts of a category."""

    share: Share
    """Largest eigenvalue of the sum of ``P_p P_p'`` over all eigenvalues, mean over draws."""
    low: Share
    high: Share
    p: Share
    """Share of random sets of as many prompts that are as cohesive, this one counted."""
    p_adjusted: Share | None = None
    """Share of random groupings of which some category is as cohesive for its size: p where all were looked at."""
    categories: Count | None = None
    """How many were looked at."""
    permutations: Count


class FactorLeaderboard(Document):
    """Models ranked by what the human rater would say."""

    schema_: Literal["bonwise.factor_leaderboard/1"] = Field(default="bonwise.factor_leaderboard/1", alias="schema")
    scope: Literal["all", "category", "prompt"]
    name: str | None
    """Of the category or the prompt."""
    prompts: Count
    """Prompts behind the ranking."""
    models: Annotated[list[LeaderboardRow], Field(min_length=2)]
    """Best first."""
    cohesion: CohesionRecord | None = None
    """Of a category."""
    confidence: Confidence
    notes: list[str]
    human: str
    source: str
    version: str

    frame_columns = ("model", "estimate", "se", "low", "high", "band_low", "band_high", "human_ratings")
    frame_of = "models"


class PredictedModel(Record):
    """The average that a human would give a model."""

    model: str
    estimate: Number
    """Mean rating over prompts; of a human who compares, wins less losses per comparison with every other model."""
    se: NonNegative
    """Mean rating over prompts; of a human who compares, wins less losses per comparison with every other model."""
    low: Number
    """Mean rating over prompts; of a human who compares, wins less losses per comparison with every other model."""
    high: Number
    """Mean rating over prompts; of a human who compares, wins less losses per comparison with every other model."""
    human_ratings: Count
    """0 for a model of which only judges have rated answers."""


class LeftOutRow(Record):
    """A model beside what was predicted without its human ratings."""

    model: str
    category: str
    """Of the prompts whose human ratings were left out; blank where those of the model were."""
    ratings: Count
    predicted: Number
    """Mean over the rated answers; of a human who compares, wins less losses per comparison."""
    se: NonNegative
    """Of the prediction, what judges miss not counted."""
    low: Number
    high: Number
    """Both: ends of the interval of the prediction, what judges miss counted."""
    truth: Number
    """Mean of the human ratings."""
    truth_se: NonNegative
    """Clustered by prompt."""
    offset: Number
    """By how many logits the model's capability is above the prediction."""
    offset_se: NonNegative
    """Where judges miss nothing."""


class UnseenTrait(Record):
    """A test of whether people see something that no judge shows."""

    statistic: NonNegative
    """Sum of the squared offsets, each over its squared standard error."""
    p: Share
    """How often the statistic is as large where judges miss nothing."""
    sd: NonNegative
    """Standard deviation of what judges miss, in logits."""
    sd_low: NonNegative
    sd_high: NonNegative
    """Both: ends of its 95 % interval."""
    detectable: NonNegative | None
    """The standard deviation that a test at the level 0.05 finds with a power of 0.8; None for more than 5."""
    added_sd: NonNegative
    """What intervals of models that no human has rated count: the standard deviation and its own uncertainty."""


class LeftOutPart(Record):
    """Predictions beside the truth."""

    rows: Annotated[list[LeftOutRow], Field(min_length=1)]
    """Largest truth first."""
    slope: Number | None
    """Of the truth on the prediction, by least squares; None where all predictions are equal."""
    rmse: NonNegative
    """Root of the mean squared difference."""
    same_side: Count
    """Rows with both on one side of 0; of a human who rates one model, on one side of the mean truth."""
    inside: Count
    """Rows that differ by no more than the errors of both allow, what judges miss not counted."""
    trait: UnseenTrait | None
    """None for fewer than three rows."""


class FactorPrediction(Document):
    """Predicted average ratings, or win rates, of all models."""

    schema_: Literal["bonwise.factor_prediction/1"] = Field(default="bonwise.factor_prediction/1", alias="schema")
    quantity: Literal["mean_rating", "net_win_rate"]
    prompts: Count
    """Prompts behind each average."""
    models: Annotated[list[PredictedModel], Field(min_length=1)]
    """Best first."""
    left_out: LeftOutPart | None = None
    """Each rated model, predicted without its human ratings; where asked for."""
    left_out_categories: LeftOutPart | None = None
    """Each model on each category of prompts, predicted without the human ratings there; where asked for."""
    confidence: Confidence
    notes: list[str]
    human: str
    source: str
    version: str

    frame_columns = ("model", "estimate", "se", "low", "high", "human_ratings")
    frame_of = "models"


_Verdict = Literal["strength", "weakness", "open"]


class AdvantageRecord(Record):
    """A model's capability less the mean of the other models, averaged over prompts."""

    estimate: Number
    se: NonNegative
    low: Number
    high: Number
    prompts: Count


class GroupAdvantage(Record):
    """A model's advantage on a group of prompts."""

    column: str
    """The tag, or the column of the category."""
    level: str
    """The category; blank for a tag."""
    prompts: Count
    estimate: Number
    se: NonNegative
    """Both: mean advantage on the group."""
    low: Number
    high: Number
    """Both: ends of its pointwise interval."""
    difference: Number
    """By how much that is more than the mean of all prompts of which it is known whether they are in the group."""
    band_low: Number
    band_high: Number
    """Both: ends of the simultaneous interval of the difference: those of all groups hold together."""
    verdict: _Verdict
    """By the simultaneous interval."""


class PromptAdvantage(Record):
    """A model's advantage on a prompt."""

    prompt_id: str
    category: str
    """Blank for none."""
    estimate: Number
    se: NonNegative
    low: Number
    high: Number
    """Both: ends of the pointwise interval."""
    difference: Number
    """By how much that is more than the mean of all prompts."""
    band_low: Number
    band_high: Number
    """Both: ends of the simultaneous interval of the difference: those of all prompts hold together."""
    verdict: _Verdict
    """By the simultaneous interval."""


class RankedMedian(Record):
    """Median of a number on the prompts where a model has a rank."""

    prompts: NonNegative
    """Expected number of such prompts."""
    estimate: Number
    low: Number
    high: Number


class NumberByRank(Record):
    """A number of the prompts where a model is the first of all, beside those where it is the last."""

    column: str
    prompts: Count
    """That have the number."""
    first: RankedMedian
    last: RankedMedian
    estimate: Number
    low: Number
    high: Number
    """All three: the first median less the last, with its interval."""


class FactorStrengths(Document):
    """The groups of prompts, and the prompts, on which a model's advantage is largest and smallest."""

    schema_: Literal["bonwise.factor_strengths/1"] = Field(default="bonwise.factor_strengths/1", alias="schema")
    model: str
    models: Annotated[int, Field(ge=2)]
    """All models, this one too."""
    advantage: AdvantageRecord
    """On all prompts."""
    groups: list[GroupAdvantage]
    """Largest difference first; empty where nothing groups the prompts."""
    numbers: list[NumberByRank] | None = None
    """Of columns of numbers, and of lengths of texts; where there are any."""
    prompts: Annotated[list[PromptAdvantage], Field(min_length=1)]
    """Largest difference first."""
    confidence: Confidence
    notes: list[str]
    human: str
    source: str
    version: str

    frame_columns = (
        *("prompt_id", "category", "estimate", "se", "low", "high"),
        *("difference", "band_low", "band_high", "verdict"),
    )
    frame_of = "prompts"

"""What the votes of a preference evaluation can and cannot tell: ``bonwise.votes/1``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from bonwise.documents.document import Document, FrameRow
from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.pair_votes import PairVotesRecord, VotesNeeded
from bonwise.documents.record import Record
from bonwise.documents.values import Confidence, Count, NonNegative, Positive, Share

__all__ = [
    "MODEL",
    "ConcentrationOverPairs",
    "DetectionOverPairs",
    "DrawnHow",
    "MarginQuantile",
    "NearTiesRecord",
    "PublishedVariance",
    "RatioOverPairs",
    "TieRates",
    "VarianceOverPairs",
    "VotesData",
    "VotesDocument",
    "VotesOverPairs",
    "VotesSettings",
    "ZOverPairs",
]

DrawnHow = Literal["with_replacement", "without_replacement"]
"""How subsamples of the votes are drawn."""


class VotesData(Record):
    """What was counted."""

    rows: Count
    """Of the file."""
    votes: Count
    ties: Count
    pairs: Annotated[int, Field(ge=1)]
    pairs_left_out: Count
    models: Annotated[int, Field(ge=2)]
    prompts: Count | None
    """None where no prompt column was named."""
    dropped: dict[str, Count]
    """Votes left out, by reason."""


class VotesSettings(Record):
    """Every argument as it was given or by default, and what it means."""

    ties: Literal["drop", "half", "pessimistic"] | None
    near_tie: Annotated[float, Field(gt=0, lt=0.5)]
    power: Annotated[float, Field(gt=0.5, lt=1)]
    confidence: Confidence
    fewest_votes: Annotated[int, Field(ge=2)]
    kept_share: Annotated[float, Field(gt=0, lt=1)]
    threshold: Positive
    votes_at: list[Annotated[int, Field(ge=1)]]
    z_at: list[Annotated[int, Field(ge=1)]]
    resamples: Annotated[int, Field(ge=2)]
    permutations: Annotated[int, Field(ge=19)]
    repetitions: Annotated[int, Field(ge=2)]
    seed: Count
    verdict_col: str
    """Columns in both presentation orders are joined by a comma; verdicts that differ are a tie."""
    pair_col: list[str]
    """As they were named, or as they were found."""
    prompt_col: list[str]
    """As they were named, or as they were found."""
    counting: str
    first: str
    source: str
    version: str
    readings: dict[str, str] | None = None
    """How the file was read, by column; ``columns`` says which play a role."""
    verdict_map: dict[str, Literal["first", "second", "tie", "none"]] | None = None
    """What verdicts say, where the user said it."""


class MarginQuantile(Record):
    """A quantile of the absolute margins of the pairs: an estimate, and the votes that see it."""

    quantile: Share
    estimate: NonNegative | None
    low: float | None
    high: float | None
    se: NonNegative | None
    n: Count
    interval: str | None
    method: str
    reason: str | None = None
    votes_needed: VotesNeeded | None


class NearTiesRecord(Record):
    """Pairs whose margin is at most `tau`."""

    tau: Share
    count: Count
    share: EstimateRecord
    """Of all pairs, and of their margins."""
    median: EstimateRecord
    """Of all pairs, and of their margins."""
    votes_needed: VotesNeeded | None
    """At that median."""


class TieRates(Record):
    """Tie rates of the pairs, and their correlation with the margins of the other votes."""

    median: EstimateRecord
    p90: EstimateRecord
    correlation_with_margin: EstimateRecord


class RatioOverPairs(Record):
    """What clustering does to standard errors; the figures after `pairs` where any pair has them."""

    median: EstimateRecord
    pairs: Count
    least: NonNegative | None = None
    most: NonNegative | None = None
    design_effect: NonNegative | None = None
    single_vote_prompts_only: bool | None = None

    @model_validator(mode="after")
    def _all_or_none(self) -> Self:
        figures = (self.least, self.most, self.design_effect, self.single_vote_prompts_only)
        if any((one is None) != (self.pairs == 0) for one in figures):
            raise ValueError("least, most, design_effect and single_vote_prompts_only stand where there are pairs")
        return self


class PublishedVariance(Record):
    """The split of the variance as Lee (2026) prints it."""

    total: EstimateRecord
    within: EstimateRecord
    between: EstimateRecord


class VarianceOverPairs(Record):
    """Medians over pairs of the variance of win rates, split; `reason` where no pair could be split."""

    pairs: Count
    total: EstimateRecord | None = None
    within: EstimateRecord | None = None
    between: EstimateRecord | None = None
    published: PublishedVariance | None = None
    reason: str | None = None

    @model_validator(mode="after")
    def _all_or_none(self) -> Self:
        figures = (self.total, self.within, self.between, self.published)
        if any((one is None) != (self.pairs == 0) for one in figures) or (self.reason is None) != (self.pairs > 0):
            raise ValueError("total, within, between and published stand where there are pairs, else a reason")
        return self


class ZOverPairs(Record):
    """z of all subsamples of so many votes, with equal weight per pair."""

    votes: Count
    drawn: DrawnHow
    pairs: Count
    p10: EstimateRecord | None = None
    median: EstimateRecord | None = None
    infinite_share: Share | None = None
    pairs_with_infinite: Count | None = None

    @model_validator(mode="after")
    def _all_or_none(self) -> Self:
        figures = (self.p10, self.median, self.infinite_share, self.pairs_with_infinite)
        if any((one is None) != (self.pairs == 0) for one in figures):
            raise ValueError("p10, median, infinite_share and pairs_with_infinite stand where there are pairs")
        return self


class DetectionOverPairs(Record):
    """How often subsamples of so many votes show the preference of their pair."""

    votes: Count
    drawn: DrawnHow
    pairs: Count
    median: EstimateRecord
    pairs_with_power: Count


class ConcentrationOverPairs(Record):
    """In how many pairs a few prompts hold most of the preference."""

    pairs: Count
    above_threshold: Count
    above_chance: Count
    above_chance_expected: NonNegative
    heterogeneous: Count
    recommend_two_stage: list[Annotated[list[str], Field(min_length=2, max_length=2)]]

    @model_validator(mode="after")
    def _within(self) -> Self:
        if max(self.above_threshold, self.above_chance, self.heterogeneous) > self.pairs:
            raise ValueError("more pairs than were tested")
        return self


class VotesOverPairs(Record):
    """Figures over pairs, each with an interval from the same resampled pairs."""

    margins: list[MarginQuantile]
    near_ties: NearTiesRecord
    ties: TieRates
    cluster_ratio: RatioOverPairs
    variance: VarianceOverPairs
    z: list[ZOverPairs]
    detection: list[DetectionOverPairs]
    concentration: ConcentrationOverPairs


class VotesDocument(Document):
    """What votes can and cannot tell: of all pairs together, and pair by pair."""

    schema_: Literal["bonwise.votes/1"] = Field(default="bonwise.votes/1", alias="schema")
    data: VotesData
    settings: VotesSettings
    margins: list[MarginQuantile]
    """Over pairs: as in `VotesOverPairs`."""
    near_ties: NearTiesRecord
    """Over pairs: as in `VotesOverPairs`."""
    ties: TieRates
    """Over pairs: as in `VotesOverPairs`."""
    cluster_ratio: RatioOverPairs
    """Over pairs: as in `VotesOverPairs`."""
    variance: VarianceOverPairs
    """Over pairs: as in `VotesOverPairs`."""
    z: list[ZOverPairs]
    """Over pairs: as in `VotesOverPairs`."""
    detection: list[DetectionOverPairs]
    """Over pairs: as in `VotesOverPairs`."""
    concentration: ConcentrationOverPairs
    """Over pairs: as in `VotesOverPairs`."""
    pairs: Annotated[list[PairVotesRecord], Field(min_length=1)]

    frame_columns = (
        *("first", "second", "votes", "ties", "metric", "estimate", "low", "high", "se", "n", "interval", "reason"),
    )

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        for what, told, found in (
            ("pairs", self.data.pairs, len(self.pairs)),
            ("votes", self.data.votes, sum(one.votes for one in self.pairs)),
            ("ties", self.data.ties, sum(one.ties for one in self.pairs)),
        ):
            if told != found:
                raise ValueError(f"data say {what} {told}, the pairs {found}")
        return self

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per pair and metric."""
        for pair in self.pairs:
            about = {"first": pair.first, "second": pair.second, "votes": pair.votes, "ties": pair.ties}
            for metric, found in _metrics(pair).items():
                yield {**about, "metric": metric, **found}


def _metrics(pair: PairVotesRecord) -> Mapping[str, FrameRow]:
    rate = pair.win_rate
    ends = {"estimate": rate.estimate, "low": rate.low, "high": rate.high}
    margin = {end: None if value is None else value - 0.5 for end, value in ends.items()}
    return {"win_rate": rate.to_dict(), "margin": {**rate.to_dict(), **margin}, "signal": pair.signal.to_dict()}


MODEL = VotesDocument

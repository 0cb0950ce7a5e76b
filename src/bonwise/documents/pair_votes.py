"""The votes on one pair of models, as a study of votes holds them."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from bonwise.documents.estimate import EstimateRecord
from bonwise.documents.record import Record
from bonwise.documents.values import Count, NonNegative, Share

__all__ = [
    "Bounds",
    "ClusterRatio",
    "DetectionRates",
    "HomogeneityRecord",
    "Information",
    "LeastVotes",
    "Margin",
    "NeededVotes",
    "PairConcentration",
    "PairScreening",
    "PairVariance",
    "PairVotesRecord",
    "ScreeningPowerRecord",
    "ScreeningRecord",
    "TotalSignal",
    "VotesNeeded",
]

Margin = Annotated[float, Field(ge=-0.5, le=0.5)]
"""A share of votes less one half."""

_ROUNDING = 1e-9


class NeededVotes(Record):
    """Votes that see a margin; None stands for no finite number."""

    estimate: NonNegative | None
    whole: Count | None
    """The same rounded up."""
    low: NonNegative | None
    """At the ends of the margin's interval."""
    high: NonNegative | None
    """At the ends of the margin's interval."""


class VotesNeeded(Record):
    """Votes by the level of the two-sided test: .05 and .01."""

    at_05: NeededVotes = Field(alias="0.05")
    at_01: NeededVotes = Field(alias="0.01")


class Bounds(Record):
    """A figure and the ends of its interval."""

    estimate: NonNegative | None
    low: NonNegative | None
    high: NonNegative | None
    reason: str | None = None


class LeastVotes(Record):
    """A lower bound on votes: no test with these errors does with fewer."""

    level: Share
    """Errors of the test."""
    miss: Share
    """Errors of the test."""
    estimate: NonNegative | None
    low: NonNegative | None
    high: NonNegative | None
    meaning: str


class TotalSignal(Record):
    """The debiased signal of all votes, which may be negative."""

    estimate: float | None
    low: float | None
    high: float | None
    reason: str | None = None


class Information(Record):
    """What votes tell, in nats."""

    per_vote: Bounds
    quadratic_bounds: Annotated[list[NonNegative | None], Field(min_length=2, max_length=2)]
    """Two; None where one is infinite."""
    stream: NonNegative
    """Of all votes of the pair."""
    least_error_sum: NonNegative
    """Of all votes of the pair."""
    total: TotalSignal
    """With the mean squared margin of the prompts in place of the pair's."""
    least_votes: LeastVotes


class ClusterRatio(Record):
    """Cluster-robust over plain standard error of a pair."""

    estimate: NonNegative | None
    """The ratio and its square."""
    design_effect: NonNegative | None
    """The ratio and its square."""
    reason: str | None = None


class PairVariance(Record):
    """The variance of the prompts' win rates, split; without chance it may be negative."""

    total: float | None
    within: float | None
    between: float | None
    prompts: Count | None = None
    """With two votes or more, and with one."""
    alone: Count | None = None
    """With two votes or more, and with one."""
    published_total: float | None = None
    """As Lee (2026) prints it."""
    published_within: float | None = None
    """As Lee (2026) prints it."""
    published_between: float | None = None
    """As Lee (2026) prints it."""
    reason: str | None = None


class HomogeneityRecord(Record):
    """Whether win rates differ between prompts: chi-squared, and by permutation."""

    chi2: NonNegative
    df: Count
    p: Share
    p_permuted: Share


class PairConcentration(Record):
    """Whether few prompts hold most of the preference."""

    kappa: NonNegative | None
    null_quantile: NonNegative | None = None
    p: Share | None = None
    mass: Share | None = None
    mass_null_quantile: Share | None = None
    kept: Count | None = None
    homogeneity: HomogeneityRecord | None = None
    permutations: Count | None = None
    exceeds_threshold: bool | None = None
    exceeds_chance: bool | None = None
    recommend_two_stage: bool
    reason: str | None = None
    """Why there is no kappa."""


class ScreeningRecord(Record):
    """A plan of screening: votes, prompts, and how they are spread over its stages."""

    votes: Count
    types: Count
    each: Count
    first_stage: Count
    second_stage: Count
    kept: Count


class ScreeningPowerRecord(Record):
    """How often screening sees a preference, simulated."""

    proportional: Share | None
    """Without a first stage, and with one."""
    two_stage: Share | None
    """Without a first stage, and with one."""
    mass_kept: Share | None
    overlap: Share | None
    repetitions: Count


class PairScreening(Record):
    """Screening of a pair's prompts; None with a reason where it cannot be planned."""

    plan: ScreeningRecord | None
    simulated: ScreeningPowerRecord | None
    margins: str | None = None
    reason: str | None = None


class DetectionRates(Record):
    """How often subsamples show the preference, by their number of votes; None where that is not defined."""

    with_replacement: dict[str, Share | None]
    without_replacement: dict[str, Share | None]


class PairVotesRecord(Record):
    """One pair of models."""

    first: str
    """In alphabetical order."""
    second: str
    """In alphabetical order."""
    votes: Annotated[int, Field(ge=1)]
    """Votes that count, votes as they were cast, and ties among these."""
    cast: Annotated[int, Field(ge=1)]
    """Votes that count, votes as they were cast, and ties among these."""
    ties: Count
    """Votes that count, votes as they were cast, and ties among these."""
    tie_rate: Share
    prompts: Count | None
    """None where no prompt column was named."""
    win_rate: EstimateRecord
    """Share of votes for the second model."""
    margin: Margin
    """The same less one half."""
    near_tie: bool
    votes_needed: VotesNeeded
    z: NonNegative | None
    """None where it is infinite."""
    z_infinite: bool
    cluster_ratio: ClusterRatio
    variance: PairVariance
    information: Information
    signal: EstimateRecord
    """Mean squared margin of the prompts."""
    concentration: PairConcentration
    screening: PairScreening
    detection: DetectionRates

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if max(self.ties, self.votes) > self.cast:
            raise ValueError(f"{self.votes} votes count and {self.ties} are ties, of {self.cast} cast")
        if abs(self.tie_rate - self.ties / self.cast) > _ROUNDING:
            raise ValueError(f"{self.ties} of {self.cast} votes are ties, a rate other than {self.tie_rate}")
        if self.win_rate.estimate is not None and abs(self.win_rate.estimate - 0.5 - self.margin) > _ROUNDING:
            raise ValueError(f"a win rate of {self.win_rate.estimate} is no margin of {self.margin}")
        if (self.z is None) != self.z_infinite:
            raise ValueError("z is None where it is infinite, and nowhere else")
        return self

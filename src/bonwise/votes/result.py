"""What the votes of a preference evaluation tell, over all pairs and pair by pair: ``bonwise.votes/1``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from bonwise.estimates import EstimateRecord
from bonwise.results import Confidence, Count, Document, Ends, FrameRow, NonNegative, Positive, Record, Share

Margin = Annotated[float, Field(ge=-0.5, le=0.5)]
"""A share of votes less one half."""

_ROUNDING = 1e-9


class NeededVotes(Record):
    """Votes that see a margin; None stands for no finite number."""

    estimate: NonNegative | None
    whole: Count | None
    """The same rounded up."""
    low: NonNegative | None
    high: NonNegative | None
    """Both: at the ends of the margin's interval."""


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
    miss: Share
    """Both: errors of the test."""
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
    least_error_sum: NonNegative
    """Both: of all votes of the pair."""
    total: TotalSignal
    """With the mean squared margin of the prompts in place of the pair's."""
    least_votes: LeastVotes


class ClusterRatio(Record):
    """Cluster-robust over plain standard error of a pair."""

    estimate: NonNegative | None
    design_effect: NonNegative | None
    """Both: the ratio and its square."""
    reason: str | None = None


class PairVariance(Record):
    """The variance of the prompts' win rates, split; without chance it may be negative."""

    total: float | None
    within: float | None
    between: float | None
    prompts: Count | None = None
    alone: Count | None = None
    """Both: with two votes or more, and with one."""
    published_total: float | None = None
    published_within: float | None = None
    published_between: float | None = None
    """All three: as Lee (2026) prints it."""
    reason: str | None = None


class Homogeneity(Record):
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
    homogeneity: Homogeneity | None = None
    permutations: Count | None = None
    exceeds_threshold: bool | None = None
    exceeds_chance: bool | None = None
    recommend_two_stage: bool
    reason: str | None = None
    """Why there is no kappa."""


class Screening(Record):
    """A plan of screening: votes, prompts, and how they are spread over its stages."""

    votes: Count
    types: Count
    each: Count
    first_stage: Count
    second_stage: Count
    kept: Count

    __str__ = Record.__repr__


class ScreeningPower(Record):
    """How often screening sees a preference, simulated."""

    proportional: Share | None
    two_stage: Share | None
    """Both: without a first stage, and with one."""
    mass_kept: Share | None
    overlap: Share | None
    repetitions: Count

    __str__ = Record.__repr__


class PairScreening(Record):
    """Screening of a pair's prompts; None with a reason where it cannot be planned."""

    plan: Screening | None
    simulated: ScreeningPower | None
    margins: str | None = None
    reason: str | None = None


class DetectionRates(Record):
    """How often subsamples show the preference, by their number of votes; None where that is not defined."""

    with_replacement: dict[str, Share | None]
    without_replacement: dict[str, Share | None]


PairVerdict = Literal["shown", "level", "underpowered"]
"""Whether votes show a preference, else that the margin is at most `near_tie` (two one-sided tests), or neither."""


class PairVotes(Record):
    """One pair of models."""

    first: str
    second: str
    """Both: in alphabetical order."""
    votes: Annotated[int, Field(ge=1)]
    cast: Annotated[int, Field(ge=1)]
    ties: Count
    """All three: votes that count, votes as they were cast, and ties among these."""
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
    detectable: NonNegative | None = None
    """Smallest margin that the votes find with the power of the settings, their design effect (1 or more) counted."""
    verdict: PairVerdict | None = None
    early_late: Ends | None = None
    """Absolute margins of its first and of its last votes, where it has enough."""
    between: Ends | None = None
    """Variance between prompts here and in the other file."""

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
    prompt_col: list[str]
    """Both: as they were named, or as they were found."""
    counting: str
    first: str
    source: str
    version: str
    readings: dict[str, str] | None = None
    """How the file was read, by column; ``columns`` says which play a role."""
    verdict_map: dict[str, Literal["first", "second", "tie", "none"]] | None = None
    """What verdicts say, where the user said it."""
    ranking: bool = False
    """Whether strengths of the models were asked for."""
    by: Literal["pair", "prompt"] = "pair"
    """Whether margins of the prompts of each pair were asked for."""
    early_votes: Annotated[int, Field(ge=2)] = 50
    """Votes that are compared from either end of a pair's."""
    against: str | None = None
    """The other file."""
    next: Count | None = None
    depth: Count | None = None
    """Both: votes to allocate, and places that they are to settle."""


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


class NearTies(Record):
    """Pairs whose margin is at most `tau`."""

    tau: Share
    count: Count
    share: EstimateRecord
    median: EstimateRecord
    """Both: of all pairs, and of their margins."""
    votes_needed: VotesNeeded | None
    """At that median."""


class TieRates(Record):
    """Tie rates of the pairs, and their correlation with the margins of the other votes."""

    median: EstimateRecord
    p90: EstimateRecord
    correlation_with_margin: EstimateRecord


class _OfKnownPairs(Record):
    """Figures of the `pairs` that have them, which are absent where none has; a reason only where none has."""

    @model_validator(mode="after")
    def _all_or_none(self) -> Self:
        for name, field in type(self).model_fields.items():
            there = (getattr(self, "pairs") > 0) != (name == "reason")  # noqa: B009 - a subclass has it
            if not field.is_required() and there != (getattr(self, name) is not None):
                raise ValueError(f"figures such as {name} stand where there are {'no ' * (name == 'reason')}pairs")
        return self


class RatioOverPairs(_OfKnownPairs):
    """What clustering does to standard errors; the figures after `pairs` where any pair has them."""

    median: EstimateRecord
    pairs: Count
    least: NonNegative | None = None
    most: NonNegative | None = None
    design_effect: NonNegative | None = None
    single_vote_prompts_only: bool | None = None


class VarianceParts(Record):
    """The variance of win rates, split."""

    total: EstimateRecord
    within: EstimateRecord
    between: EstimateRecord


class VarianceOverPairs(_OfKnownPairs):
    """Medians over pairs of the variance of win rates, split; `reason` where no pair could be split."""

    pairs: Count
    total: EstimateRecord | None = None
    within: EstimateRecord | None = None
    between: EstimateRecord | None = None
    published: VarianceParts | None = None
    """As Lee (2026) prints it."""
    reason: str | None = None


class ZOverPairs(_OfKnownPairs):
    """z of all subsamples of so many votes, with equal weight per pair."""

    votes: Count
    drawn: DrawnHow
    pairs: Count
    p10: EstimateRecord | None = None
    median: EstimateRecord | None = None
    infinite_share: Share | None = None
    pairs_with_infinite: Count | None = None


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


class ModelStrength(Record):
    """How strong a model is by all of its votes together."""

    model: str
    votes: Count
    share: Share
    """Of these votes, the model's."""
    strength: EstimateRecord
    """Log-odds of a vote for it against the mean of the ranked models; None with the reason where it is withheld."""
    places: Annotated[list[Count], Field(min_length=2, max_length=2)] | None
    """The best and the worst place that the differences between two models leave open."""


class NearTiesByVotes(Record):
    """Near ties among prompts of pairs with enough votes, and how many chance alone would give."""

    fewest: Count
    cells: Count
    """Prompts of pairs with so many votes."""
    near_ties: Count
    share: EstimateRecord
    if_level: NonNegative
    if_as_pair: NonNegative
    """Both: near ties expected if no prompt leaned, and if each had the margin of its pair; ties are kept."""


class PromptMargin(Record):
    """The votes of one pair on one prompt."""

    first: str
    second: str
    prompt: str
    votes: Count
    margin: Margin


class Stability(Record):
    """Whether margins hold from the first `early_votes` votes of a pair to its last, in the order of the file."""

    pairs: Count
    """With twice as many votes."""
    early_late: EstimateRecord
    early_all: EstimateRecord
    """Both: Spearman's correlation over pairs. The second is of a part with its whole."""
    drift: EstimateRecord
    """Late less early margin, mean over pairs: a correlation of ranks does not see that all margins grow."""
    expected: EstimateRecord
    """Of `early_late` if every pair kept its margin, with the ends that hold so many of the draws."""
    stable: bool | None
    """Whether early and late agree no less than that."""


class Reuse(Record):
    """Prompts with one vote of a pair, and what the margins are with one vote per prompt."""

    prompts: Count
    single: Count
    """Both: prompts of pairs, and those with one vote."""
    share: EstimateRecord
    """The same within a pair, mean over pairs."""
    change: EstimateRecord
    most: NonNegative
    """Both: change of the absolute margin with the first vote of each prompt alone, median and largest."""


class AgainstFile(Record):
    """Variance of the prompts' win rates in two files, over the pairs that both have."""

    pairs: Count
    refused: Count
    """Pairs in both files that lack two prompts with two votes in one of them."""
    here: VarianceParts
    there: VarianceParts
    """Both: medians over pairs."""
    ratio: EstimateRecord
    """Mean between prompts here over that there."""
    margins: list[Share]
    """Absolute margins of the other file's pairs."""


class Encoding(Record):
    """Margins over pairs with ties counted in one way."""

    ties: Literal["drop", "half", "pessimistic"]
    pairs: Count
    margins: list[MarginQuantile]
    near_ties: NearTies


NextState = Literal["first", "second", "level", "open"]


class NextPair(Record):
    """A pair that decides the places asked for."""

    first: str
    second: str
    prompts: Count
    """Units of the test: prompts with votes of the pair, or votes where no column names prompts."""
    margin: Margin
    state: NextState
    """The model that is shown to be preferred, or that they are level within `near_tie`."""
    expected: Count | None
    """Further prompts until it is settled, if margins are as they seem."""
    ask: Count
    prompts_to_ask: list[str]


class NextVotes(Record):
    """Where the next votes settle the leaderboard soonest."""

    depth: Count
    settled: Count
    """Places that are settled, of `depth`."""
    error: Share
    """Expected share of wrong statements among all that are made, at most, whenever votes end."""
    tests: Count
    models: list[str]
    """The strongest first, by all votes."""
    pairs: list[NextPair]


class PreferenceStudy(Document):
    """What votes can and cannot tell: of all pairs together, and pair by pair."""

    schema_: Literal["bonwise.votes/1"] = Field(default="bonwise.votes/1", alias="schema")
    data: VotesData
    settings: VotesSettings
    margins: list[MarginQuantile]
    near_ties: NearTies
    ties: TieRates
    cluster_ratio: RatioOverPairs
    variance: VarianceOverPairs
    z: list[ZOverPairs]
    detection: list[DetectionOverPairs]
    concentration: ConcentrationOverPairs
    """All eight: over pairs, with intervals from the same resampled pairs."""
    pairs: Annotated[list[PairVotes], Field(min_length=1)]
    ranking: list[ModelStrength] | None = None
    """The strongest first, where it was asked for."""
    by_prompt: list[NearTiesByVotes] | None = None
    prompt_margins: list[PromptMargin] | None = None
    stability: Stability | None = None
    reuse: Reuse | None = None
    against: AgainstFile | None = None
    encodings: list[Encoding] | None = None
    next_votes: NextVotes | None = None

    frame_columns = (
        *("first", "second", "votes", "ties", "metric", "estimate", "low", "high", "se", "n", "interval", "reason"),
        "prompt",
    )

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        for what, told, found in (
            ("pairs", self.data.pairs, len(self.pairs)),
            ("votes", self.data.votes, sum(pair.votes for pair in self.pairs)),
            ("ties", self.data.ties, sum(pair.ties for pair in self.pairs)),
        ):
            if told != found:
                raise ValueError(f"data say {what} {told}, the pairs {found}")
        return self

    def __repr__(self) -> str:
        data = self.data
        counted = f"rows={data.rows}, prompts={data.prompts or 0}, dropped=mappingproxy({data.dropped!r})"
        source = f"source={self.settings.source!r}, pairs_left_out={data.pairs_left_out}"
        return f"PreferenceStudy({source}, {counted})"

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per pair and metric.

        Columns: ``first``, ``second``, ``votes``, ``ties``, ``metric`` (``win_rate``, the second model's share of the
        votes; ``margin``, the same less 1/2; ``signal``, the mean squared margin of the prompts), ``estimate``,
        ``low``, ``high``, ``se``, ``n`` prompts, ``interval``, ``reason``: why something is missing, and ``prompt``.
        A row of the ranking has ``strength``, the model as ``first`` and no ``second``; with ``by="prompt"`` a prompt
        of a pair has ``prompt_margin``, and with ``next`` the votes to ask for have ``ask``, a row per prompt.
        """
        for model in self.ranking or ():
            about = {"first": model.model, "votes": model.votes, "metric": "strength"}
            yield {**about, **model.strength.to_dict()}
        for pair in self.pairs:
            about = {"first": pair.first, "second": pair.second, "votes": pair.votes, "ties": pair.ties}
            for metric, found in _metrics(pair).items():
                yield {**about, "metric": metric, **found}
        for cell in self.prompt_margins or ():
            margin = {"metric": "prompt_margin", "estimate": cell.margin}
            yield {**{name: cell[name] for name in ("first", "second", "prompt", "votes")}, **margin}
        for asked in () if self.next_votes is None else self.next_votes.pairs:
            about = {"first": asked.first, "second": asked.second, "metric": "ask"}
            if asked.ask and not asked.prompts_to_ask:
                yield {**about, "estimate": asked.ask}
            yield from ({**about, "prompt": prompt, "estimate": 1} for prompt in asked.prompts_to_ask)


def _metrics(pair: PairVotes) -> Mapping[str, FrameRow]:
    rate = pair.win_rate
    ends = {"estimate": rate.estimate, "low": rate.low, "high": rate.high}
    margin = {end: None if value is None else value - 0.5 for end, value in ends.items()}
    return {"win_rate": rate.to_dict(), "margin": {**rate.to_dict(), **margin}, "signal": pair.signal.to_dict()}

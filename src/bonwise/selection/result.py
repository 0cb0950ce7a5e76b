"""The picks of pools, with their words and what they come to: ``bonwise.selections/1``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from pydantic import Field, JsonValue, model_validator

from bonwise.results import Count, Document, FrameRow, NonNegative, Number, Positive, Record, Share
from bonwise.table.verdicts import preferred

if TYPE_CHECKING:
    import pandas as pd


DecidedBy = Literal[
    "score",
    "comparison",
    "tie-break",
    "only candidate",
    "same text",
    "nothing scored",
    "owed",
    "deadline",
    "limit",
    "partial",
    "first",
    "random",
]
"""What decided; `bonwise.Selection` says what each means."""


class ComparisonRecord(Record):
    """Two candidates that were compared."""

    a: str
    b: str
    """Both: ids."""
    value: Number | None
    """What `a` earned, None where an order that was asked has no verdict."""
    order_effect: Number | None
    """How much more `a` earned when shown first; None unless both orders were scored."""

    @property
    def verdict_changes(self) -> bool | None:
        """Whether one candidate, the other or a tie is the verdict in one order, and another in the other order."""
        if self.value is None or self.order_effect is None:
            return None
        half = self.order_effect / 2
        return preferred(self.value + half) != preferred(self.value - half)

    def __repr_name__(self) -> str:
        return "Comparison"

    __str__ = Record.__repr__


class RoutedRecord(Record):
    """What a router made of the pool."""

    strong: str | None
    """The stronger judge, where it decided."""
    signal: Number | None
    reason: str
    first_pick: str | None
    """Id of the candidate that the first pass alone would have kept."""

    def __repr_name__(self) -> str:
        return "Routed"

    __str__ = Record.__repr__


class SelectionSettingsRecord(Record):
    """How a pool was chosen from."""

    judge: str
    judge_version: str
    strategy: str
    seed: int
    parameters: list[dict[str, JsonValue]]
    """Sets of sampling parameters that were sent, each once."""
    on_failure: Literal["raise", "first", "random", "owe"]
    version: str
    """Of bonwise."""
    deadline: Positive | None = None
    """Seconds."""
    strong: str | None = None
    """The stronger judge of a router."""
    router: str | None = None
    """The signal of that router and its share."""


class PickRecord(Record):
    """The pick of one pool; figures of candidates are in the order of `ids`."""

    prompt_id: str | None
    best: str | None
    """Id of the pick, None where there is none."""
    index: Count | None
    """Its position among the candidates."""
    text: str | None = None
    """Its text; absent where the texts stand elsewhere in the document."""
    ids: list[str]
    scores: list[Number | None]
    ranking: list[str]
    tied: list[str]
    """Both: ids from best to worst, and those that share the top score."""
    decided_by: DecidedBy
    level: list[str]
    """Ids among which the seed decided."""
    standard_errors: list[Number | None]
    p_best: list[Number | None]
    """Both: empty where unknown."""
    expected_regret: Number | None
    draws: list[Count]
    """Empty where candidates were only compared."""
    stopped: str
    """Why nothing more was asked."""
    comparisons: list[ComparisonRecord]
    routed: RoutedRecord | None
    failure: str
    calls: Count
    answers: Count
    from_ledger: Count
    input_tokens: Count
    output_tokens: Count
    reused_tokens: Count
    cost: NonNegative | None
    """US dollars."""
    latency: NonNegative
    """Seconds."""
    unscored: dict[str, str]
    """Id to reason."""
    settings: SelectionSettingsRecord | None = None
    """Absent where a document of many picks holds them once."""
    low: list[Number | None] = Field(default_factory=list)
    """Ends of the interval that the judge stated; of several draws their mean. Empty where it stated none. Picks of
    bonwise 0.1.0 end before these keys.
    """
    high: list[Number | None] = Field(default_factory=list)
    """Ends of the interval that the judge stated; of several draws their mean. Empty where it stated none. Picks of
    bonwise 0.1.0 end before these keys.
    """
    draw_scores: list[list[Number | None] | None] = Field(default_factory=list)
    """The single draws of each candidate, null where a draw has no score; null for a candidate of one draw. Empty
    where no candidate has several.
    """
    raw: list[str | None] = Field(default_factory=list)
    """What the judge said of each candidate; of more than 10,000 characters the middle is left out. Empty where it
    said nothing.
    """
    evaluations: Count = 0
    """Candidates that judges which ask no model have judged; a redraw counts again."""
    p_best_reason: str | None = None
    """Why a strategy that draws again states no p_best and no expected_regret."""
    filled: dict[str, Count] | None = None
    """Candidates that judges of a stack did not score, by judge: filled by what the other judges let expect."""
    lost: Count | None = None
    """Comparisons of which an order could not be read, where there are such: each adds a half to both sides."""
    members: dict[str, list[Number | str | None]] | None = None
    """By member (a criterion too): a score of each candidate, the reason for none, null if not asked."""

    @model_validator(mode="after")
    def _fits_its_candidates(self) -> PickRecord:
        if len(self.scores) != len(self.ids):
            raise ValueError("should have one score per candidate")
        for values in (self.standard_errors, self.p_best, self.draws):
            if values and len(values) != len(self.ids):
                raise ValueError("should have standard_errors, p_best and draws of each candidate, or of none")
        for stated in (self.low, self.high, self.draw_scores, self.raw):
            if stated and len(stated) != len(self.ids):
                raise ValueError("should have low, high, draw_scores and raw of each candidate, or of none")
        if any(len(values) != len(self.ids) for values in (self.members or {}).values()):
            raise ValueError("should have something of each candidate for each of its members")
        picked = None if self.index is None else self.ids[self.index] if self.index < len(self.ids) else ""
        if picked != self.best:
            raise ValueError("should have as best the candidate at its index")
        return self


class RoutedTotals(Record):
    """What a router did."""

    seen: Count
    """Pools that came before it, those that it sent to the stronger judge, and those of them whose pick changed."""
    sent: Count
    """Pools that came before it, those that it sent to the stronger judge, and those of them whose pick changed."""
    changed: Count
    """Pools that came before it, those that it sent to the stronger judge, and those of them whose pick changed."""
    reasons: dict[str, Count]


class OrderTotals(Record):
    """What being shown first was worth."""

    pairs: Count
    """Judged in both orders."""
    advantage: Number | None
    """On average over these pairs."""
    differing: Count
    """Pairs whose verdict (one candidate, the other or a tie) is not the same in both orders."""
    without_verdict: Count
    """Comparisons: those that were lost, and those of which an answer is pending."""
    lost: Count | None = None
    asked: Count | None = None
    """Both: comparisons of which an order could not be read, and all that were asked; absent where none was lost."""


class LatencyTotals(Record):
    """Seconds per pool: on average, of half of the pools, of 95 % of them, and the longest."""

    mean: NonNegative
    half: NonNegative
    most: NonNegative
    longest: NonNegative


class SelectionTotals(Record):
    """What all picks come to."""

    pools: Count
    candidates: Count
    picked: Count
    tied: Count
    """All four: pools, their candidates, pools with a pick, and pools whose top score is shared."""
    decided_by: dict[DecidedBy, Count]
    stopped: dict[str, Count]
    failures: dict[str, Count]
    unscored: dict[str, Count]
    """All four: how often, the most frequent first."""
    routed: RoutedTotals
    order: OrderTotals
    calls: Count
    answers: Count
    from_ledger: Count
    input_tokens: Count
    output_tokens: Count
    reused_tokens: Count
    cost: NonNegative
    """US dollars, of the pools whose cost is known."""
    unpriced: Count
    """The other pools."""
    latency: LatencyTotals | None
    filled: dict[str, Count] | None = None
    """Candidates that judges of a stack did not score, by judge."""

    @model_validator(mode="after")
    def _has_an_advantage_where_there_are_pairs(self) -> SelectionTotals:
        if (self.order.advantage is None) == bool(self.order.pairs):
            raise ValueError("should have an order.advantage where there are pairs, and only there")
        return self


class SelectionsSettings(SelectionSettingsRecord):
    """How all pools were chosen from."""

    source: str | None = None
    """File of the pools; absent for a single pick."""
    ended: str | None = None
    """Why pools are missing; empty where none is."""
    signal: str | None = None
    """Of a router."""
    share: Share | None = None
    """Part of the pools that the router may send."""


class CandidateWords(Record):
    """What a candidate says."""

    id: str
    text: str | None
    text_left_out: Count | None = None
    """Characters that are not here."""


class ShownPick(Record):
    """A pick with the words of its pool."""

    pick: PickRecord
    prompt: str | None
    prompt_left_out: Count | None = None
    """Characters that are not here."""
    candidates: list[CandidateWords]
    """In the order of the pick's ids."""

    @model_validator(mode="after")
    def _has_the_candidates_of_the_pick(self) -> ShownPick:
        if [candidate.id for candidate in self.candidates] != self.pick.ids:
            raise ValueError("should have the candidates of its pick")
        return self


class SelectionsDocument(Document):
    """Picks, and what all of them come to."""

    schema_: Literal["bonwise.selections/1"] = Field(default="bonwise.selections/1", alias="schema")
    settings: SelectionsSettings
    totals: SelectionTotals
    """Of all pools."""
    picks: list[ShownPick]
    """The first ones."""
    of: Count
    """How many there are."""

    frame_columns = (
        *("prompt_id", "candidate", "score", "rank", "picked", "tied"),
        *("standard_error", "p_best", "draws", "unscored", "low", "high", "raw"),
    )

    @model_validator(mode="after")
    def _counts_its_picks(self) -> SelectionsDocument:
        if self.of != self.totals.pools or self.of < len(self.picks):
            raise ValueError("should say under of how many pools there are")
        return self

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per candidate of the picks that are here, in candidate order."""
        for pick in self.picks:
            yield from _rows(pick.pick)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per candidate of the picks that are here; see `bonwise.Selection.to_frame`."""
        kinds = dict.fromkeys(("score", "standard_error", "p_best", "low", "high"), "float64")
        return super().to_frame().astype({**kinds, "rank": "Int64", "draws": "Int64"})


def _rows(pick: PickRecord) -> Iterator[FrameRow]:
    places = {name: place for place, name in enumerate(pick.ranking, start=1)}
    tied = set(pick.tied)
    for at, name in enumerate(pick.ids):
        yield {
            "prompt_id": pick.prompt_id,
            "candidate": name,
            "score": pick.scores[at],
            "rank": places.get(name),
            "picked": at == pick.index,
            "tied": name in tied,
            "standard_error": pick.standard_errors[at] if pick.standard_errors else None,
            "p_best": pick.p_best[at] if pick.p_best else None,
            "draws": pick.draws[at] if pick.draws else None,
            "unscored": pick.unscored.get(name),
            "low": pick.low[at] if pick.low else None,
            "high": pick.high[at] if pick.high else None,
            "raw": pick.raw[at] if pick.raw else None,
        }

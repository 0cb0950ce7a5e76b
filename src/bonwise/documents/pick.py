"""The pick of one pool: the line that ``bonwise select`` writes."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue, model_validator

from bonwise.documents.record import Record
from bonwise.documents.values import Count, NonNegative, Number, Positive

__all__ = ["ComparisonRecord", "DecidedBy", "PickRecord", "RoutedRecord", "SelectionSettingsRecord"]

DecidedBy = Literal[
    "score",
    "comparison",
    "tie-break",
    "only candidate",
    "same text",
    "nothing scored",
    "owed",
    "deadline",
    "partial",
    "first",
    "random",
]
"""What decided; `bonwise.Selection` says what each means."""


class ComparisonRecord(Record):
    """Two candidates that were compared."""

    a: str
    """Ids."""
    b: str
    """Ids."""
    value: Number | None
    """What `a` earned, None where there is no verdict."""
    order_effect: Number | None
    """How much more `a` earned when shown first; None unless both orders were scored."""


class RoutedRecord(Record):
    """What a router made of the pool."""

    strong: str | None
    """The stronger judge, where it decided."""
    signal: Number | None
    reason: str
    first_pick: str | None
    """Id of the candidate that the first pass alone would have kept."""


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
    """Ids from best to worst, and those that share the top score."""
    tied: list[str]
    """Ids from best to worst, and those that share the top score."""
    decided_by: DecidedBy
    level: list[str]
    """Ids among which the seed decided."""
    standard_errors: list[Number | None]
    """Empty where unknown."""
    p_best: list[Number | None]
    """Empty where unknown."""
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

    @model_validator(mode="after")
    def _fits_its_candidates(self) -> PickRecord:
        if len(self.scores) != len(self.ids):
            raise ValueError("should have one score per candidate")
        for values in (self.standard_errors, self.p_best, self.draws):
            if values and len(values) != len(self.ids):
                raise ValueError("should have standard_errors, p_best and draws of each candidate, or of none")
        for said in (self.low, self.high, self.draw_scores, self.raw):
            if said and len(said) != len(self.ids):
                raise ValueError("should have low, high, draw_scores and raw of each candidate, or of none")
        picked = None if self.index is None else self.ids[self.index] if self.index < len(self.ids) else ""
        if picked != self.best:
            raise ValueError("should have as best the candidate at its index")
        return self

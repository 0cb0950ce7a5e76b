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
    """Two candidates that were compared.

    Parameters
    ----------
    a, b : str
        Ids.
    value : float or None
        What `a` earned, None where there is no verdict.
    order_effect : float or None
        How much more `a` earned when shown first; None unless both orders were scored.
    """

    a: str
    b: str
    value: Number | None
    order_effect: Number | None


class RoutedRecord(Record):
    """What a router made of the pool.

    Parameters
    ----------
    strong : str or None
        The stronger judge, where it decided.
    signal : float or None
    reason : str
    first_pick : str or None
        Id of the candidate that the first pass alone would have kept.
    """

    strong: str | None
    signal: Number | None
    reason: str
    first_pick: str | None


class SelectionSettingsRecord(Record):
    """How a pool was chosen from.

    Parameters
    ----------
    judge, judge_version, strategy : str
    seed : int
    parameters : list of dict
        Sets of sampling parameters that were sent, each once.
    on_failure : {"raise", "first", "random", "owe"}
    version : str
        Of bonwise.
    deadline : float, optional
        Seconds.
    strong : str, optional
        The stronger judge of a router.
    router : str, optional
        The signal of that router and its share.
    """

    judge: str
    judge_version: str
    strategy: str
    seed: int
    parameters: list[dict[str, JsonValue]]
    on_failure: Literal["raise", "first", "random", "owe"]
    version: str
    deadline: Positive | None = None
    strong: str | None = None
    router: str | None = None


class PickRecord(Record):
    """The pick of one pool; figures of candidates are in the order of `ids`.

    Parameters
    ----------
    prompt_id : str or None
    best : str or None
        Id of the pick, None where there is none.
    index : int or None
        Its position among the candidates.
    text : str or None, optional
        Its text; absent where the texts stand elsewhere in the document.
    ids : list of str
    scores : list of float or None
    ranking, tied : list of str
        Ids from best to worst, and those that share the top score.
    decided_by : str
    level : list of str
        Ids among which the seed decided.
    standard_errors, p_best : list of float or None
        Empty where unknown.
    expected_regret : float or None
    draws : list of int
        Empty where candidates were only compared.
    stopped : str
        Why nothing more was asked.
    comparisons : list of ComparisonRecord
    routed : RoutedRecord or None
    failure : str
    calls, answers, from_ledger, input_tokens, output_tokens, reused_tokens : int
    cost : float or None
        US dollars.
    latency : float
        Seconds.
    unscored : dict of str to str
        Id to reason.
    settings : SelectionSettingsRecord, optional
        Absent where a document of many picks holds them once.
    low, high : list of float or None, optional
        Ends of the interval that the judge stated; of several draws their mean. Empty where it stated none. Picks of
        bonwise 0.1.0 end before these keys.
    draw_scores : list, optional
        The single draws of each candidate, null where a draw has no score; null for a candidate of one draw. Empty
        where no candidate has several.
    raw : list of str or None, optional
        What the judge said of each candidate; of more than 10,000 characters the middle is left out. Empty where it
        said nothing.
    evaluations : int, optional
        Candidates that judges which ask no model have judged; a redraw counts again.
    p_best_reason : str, optional
        Why a strategy that draws again states no p_best and no expected_regret.
    filled : dict of str to int, optional
        Candidates that judges of a stack did not score, by judge: filled by what the other judges let expect.
    """

    prompt_id: str | None
    best: str | None
    index: Count | None
    text: str | None = None
    ids: list[str]
    scores: list[Number | None]
    ranking: list[str]
    tied: list[str]
    decided_by: DecidedBy
    level: list[str]
    standard_errors: list[Number | None]
    p_best: list[Number | None]
    expected_regret: Number | None
    draws: list[Count]
    stopped: str
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
    latency: NonNegative
    unscored: dict[str, str]
    settings: SelectionSettingsRecord | None = None
    low: list[Number | None] = Field(default_factory=list)
    high: list[Number | None] = Field(default_factory=list)
    draw_scores: list[list[Number | None] | None] = Field(default_factory=list)
    raw: list[str | None] = Field(default_factory=list)
    evaluations: Count = 0
    p_best_reason: str | None = None
    filled: dict[str, Count] | None = None

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

"""The picks of many pools, with their words and what they come to: ``bonwise.selections/1``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from bonwise.documents.document import Document, FrameRow
from bonwise.documents.pick import DecidedBy, PickRecord, SelectionSettingsRecord
from bonwise.documents.record import Record
from bonwise.documents.values import Count, NonNegative, Number, Share

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "MODEL",
    "CandidateWords",
    "LatencyTotals",
    "OrderTotals",
    "RoutedTotals",
    "SelectionTotals",
    "SelectionsDocument",
    "SelectionsSettings",
    "ShownPick",
]


class RoutedTotals(Record):
    """What a router did.

    Parameters
    ----------
    seen, sent, changed : int
        Pools that came before it, those that it sent to the stronger judge, and those of them whose pick changed.
    reasons : dict of str to int
    """

    seen: Count
    sent: Count
    changed: Count
    reasons: dict[str, Count]


class OrderTotals(Record):
    """What being shown first was worth.

    Parameters
    ----------
    pairs : int
        Judged in both orders.
    advantage : float or None
        On average over these pairs.
    differing : int
        Pairs whose verdict (one candidate, the other or a tie) is not the same in both orders.
    without_verdict : int
        Comparisons.
    """

    pairs: Count
    advantage: Number | None
    differing: Count
    without_verdict: Count


class LatencyTotals(Record):
    """Seconds per pool: on average, of half of the pools, of 95 % of them, and the longest."""

    mean: NonNegative
    half: NonNegative
    most: NonNegative
    longest: NonNegative


class SelectionTotals(Record):
    """What all picks come to.

    Parameters
    ----------
    pools, candidates, picked, tied : int
        Pools, their candidates, pools with a pick, and pools whose top score is shared.
    decided_by, stopped, failures, unscored : dict of str to int
        How often, the most frequent first.
    routed : RoutedTotals
    order : OrderTotals
    calls, answers, from_ledger, input_tokens, output_tokens, reused_tokens : int
    cost : float
        US dollars, of the pools whose cost is known.
    unpriced : int
        The other pools.
    latency : LatencyTotals or None
    filled : dict of str to int, optional
        Candidates that judges of a stack did not score, by judge.
    """

    pools: Count
    candidates: Count
    picked: Count
    tied: Count
    decided_by: dict[DecidedBy, Count]
    stopped: dict[str, Count]
    failures: dict[str, Count]
    unscored: dict[str, Count]
    routed: RoutedTotals
    order: OrderTotals
    calls: Count
    answers: Count
    from_ledger: Count
    input_tokens: Count
    output_tokens: Count
    reused_tokens: Count
    cost: NonNegative
    unpriced: Count
    latency: LatencyTotals | None
    filled: dict[str, Count] | None = None

    @model_validator(mode="after")
    def _has_an_advantage_where_there_are_pairs(self) -> SelectionTotals:
        if (self.order.advantage is None) == bool(self.order.pairs):
            raise ValueError("should have an order.advantage where there are pairs, and only there")
        return self


class SelectionsSettings(SelectionSettingsRecord):
    """How all pools were chosen from.

    Parameters
    ----------
    source : str, optional
        File of the pools; absent for a single pick.
    ended : str, optional
        Why pools are missing; empty where none is.
    signal : str, optional
        Of a router.
    share : float, optional
        Part of the pools that the router may send.
    """

    source: str | None = None
    ended: str | None = None
    signal: str | None = None
    share: Share | None = None


class CandidateWords(Record):
    """What a candidate says.

    Parameters
    ----------
    id : str
    text : str or None
    text_left_out : int, optional
        Characters that are not here.
    """

    id: str
    text: str | None
    text_left_out: Count | None = None


class ShownPick(Record):
    """A pick with the words of its pool.

    Parameters
    ----------
    pick : PickRecord
    prompt : str or None
    prompt_left_out : int, optional
        Characters that are not here.
    candidates : list of CandidateWords
        In the order of the pick's ids.
    """

    pick: PickRecord
    prompt: str | None
    prompt_left_out: Count | None = None
    candidates: list[CandidateWords]

    @model_validator(mode="after")
    def _has_the_candidates_of_the_pick(self) -> ShownPick:
        if [one.id for one in self.candidates] != self.pick.ids:
            raise ValueError("should have the candidates of its pick")
        return self


class SelectionsDocument(Document):
    """Picks, and what all of them come to.

    Parameters
    ----------
    settings : SelectionsSettings
    totals : SelectionTotals
        Of all pools.
    picks : list of ShownPick
        The first ones.
    of : int
        How many there are.
    """

    schema_: Literal["bonwise.selections/1"] = Field(default="bonwise.selections/1", alias="schema")
    settings: SelectionsSettings
    totals: SelectionTotals
    picks: list[ShownPick]
    of: Count

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
        for one in self.picks:
            yield from _rows(one.pick)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per candidate of the picks that are here; see `bonwise.Selection.to_frame`."""
        kinds = dict.fromkeys(("score", "standard_error", "p_best", "low", "high"), "float64")
        return super().to_frame().astype({**kinds, "rank": "Int64", "draws": "Int64"})


MODEL = SelectionsDocument


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

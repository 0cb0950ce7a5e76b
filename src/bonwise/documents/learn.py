"""How the calls of a judge scatter, and what price buys how many of them: ``bonwise.learn/1``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from bonwise.documents.document import Document, FrameRow
from bonwise.documents.record import Record
from bonwise.documents.values import Count, NonNegative, Number, Positive, Share

__all__ = ["MODEL", "FirstCallRecord", "LearnDocument", "LearnSettings", "PriceOfCalls"]


class PriceOfCalls(Record):
    """The price of a call at which pools take so many of them on average.

    Parameters
    ----------
    mean_calls : float
        Calls per pool, the first ones among them.
    lower_price, higher_price : float
        In score units: some pools take one, the others the other.
    share_at_lower : float
        Part of the pools that takes the lower one.
    """

    mean_calls: Positive
    lower_price: Number
    higher_price: Number
    share_at_lower: Share


class FirstCallRecord(Record):
    """How the first call of each candidate compares with its later calls.

    Parameters
    ----------
    averaged_in : bool
        Whether it counts as one of the calls; otherwise it is kept apart.
    reason : str
        What that rests on.
    p : float
        The smallest of the three p-values times three (Bonferroni), at most 1.
    mean_p, variance_p, covariance_p : float
        p-values of t tests over prompts: first against later calls in their mean, in their variance over candidates,
        and in their covariance with other calls.
    prompts : int
        Prompts tested.
    """

    averaged_in: bool
    reason: str
    p: Share
    mean_p: Share
    variance_p: Share
    covariance_p: Share
    prompts: Count


class LearnSettings(Record):
    """What was asked for.

    Parameters
    ----------
    max_draws : int
        Most draws of one candidate.
    version : str
        Of bonwise.
    """

    max_draws: Count
    version: str


class LearnDocument(Document):
    """What a pilot of repeated judgments says of further calls.

    Parameters
    ----------
    source : str
        File of the pilot.
    judge : str
        Whose draws they are.
    first_calls : str
        Where the first calls stand: ``draw_0``, or the name of a judge.
    prompts, candidates : int
        What was learnt from; candidates of all prompts together.
    draws : int
        Of each candidate.
    prompts_left_out : int
        Prompts without two candidates that had all their draws scored.
    call_sd : float
        Standard deviation of one later call, in score units.
    candidate_sd : float
        Standard deviation between the candidates of one prompt.
    reliability : float
        Share of the variance of one later call that lies between candidates.
    beta : float
        How far later calls follow a difference between first ones.
    prices : list of PriceOfCalls
        What calls cost so that pools take few or many.
    first_call : FirstCallRecord, optional
        Whether the first call is one like the later ones; absent in documents of older versions.
    settings : LearnSettings
        What was asked for.
    """

    schema_: Literal["bonwise.learn/1"] = Field(default="bonwise.learn/1", alias="schema")
    source: str
    judge: str
    first_calls: str
    prompts: Count
    candidates: Count
    draws: Count
    prompts_left_out: Count
    call_sd: NonNegative
    candidate_sd: NonNegative
    reliability: Share
    beta: Number
    prices: Annotated[list[PriceOfCalls], Field(min_length=1)]
    first_call: FirstCallRecord | None = None
    settings: LearnSettings

    frame_columns = ("mean_calls", "lower_price", "higher_price", "share_at_lower")

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per number of calls."""
        for one in self.prices:
            yield one.to_dict()


MODEL = LearnDocument

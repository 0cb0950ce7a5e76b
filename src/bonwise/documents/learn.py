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
    """The price of a call at which pools take so many of them on average."""

    mean_calls: Positive
    """Calls per pool, the first ones among them."""
    lower_price: Number
    """In score units: some pools take one, the others the other."""
    higher_price: Number
    """In score units: some pools take one, the others the other."""
    share_at_lower: Share
    """Part of the pools that takes the lower one."""


class FirstCallRecord(Record):
    """How the first call of each candidate compares with its later calls."""

    averaged_in: bool
    """Whether it counts as one of the calls; otherwise it is kept apart."""
    reason: str
    """What that rests on."""
    p: Share
    """The smallest of the three p-values times three (Bonferroni), at most 1."""
    mean_p: Share
    """p-values of t tests over prompts: first against later calls in their mean, in their variance over candidates,
    and in their covariance with other calls.
    """
    variance_p: Share
    """p-values of t tests over prompts: first against later calls in their mean, in their variance over candidates,
    and in their covariance with other calls.
    """
    covariance_p: Share
    """p-values of t tests over prompts: first against later calls in their mean, in their variance over candidates,
    and in their covariance with other calls.
    """
    prompts: Count
    """Prompts tested."""


class LearnSettings(Record):
    """What was asked for."""

    max_draws: Count
    """Most draws of one candidate."""
    version: str
    """Of bonwise."""


class LearnDocument(Document):
    """What a pilot of repeated judgments says of further calls."""

    schema_: Literal["bonwise.learn/1"] = Field(default="bonwise.learn/1", alias="schema")
    source: str
    """File of the pilot."""
    judge: str
    """Whose draws they are."""
    first_calls: str
    """Where the first calls stand: ``draw_0``, or the name of a judge."""
    prompts: Count
    """What was learnt from; candidates of all prompts together."""
    candidates: Count
    """What was learnt from; candidates of all prompts together."""
    draws: Count
    """Of each candidate."""
    prompts_left_out: Count
    """Prompts without two candidates that had all their draws scored."""
    call_sd: NonNegative
    """Standard deviation of one later call, in score units."""
    candidate_sd: NonNegative
    """Standard deviation between the candidates of one prompt."""
    reliability: Share
    """Share of the variance of one later call that lies between candidates."""
    beta: Number
    """How far later calls follow a difference between first ones."""
    prices: Annotated[list[PriceOfCalls], Field(min_length=1)]
    """What calls cost so that pools take few or many."""
    first_call: FirstCallRecord | None = None
    """Whether the first call is one like the later ones; absent in documents of older versions."""
    settings: LearnSettings
    """What was asked for."""

    frame_columns = ("mean_calls", "lower_price", "higher_price", "share_at_lower")

    def frame_rows(self) -> Iterator[FrameRow]:
        """Yield one row per number of calls."""
        for one in self.prices:
            yield one.to_dict()


MODEL = LearnDocument

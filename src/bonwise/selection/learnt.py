"""How the calls of a judge scatter, and what price buys how many: learnt, as ``bonwise.learn/1`` and as words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from bonwise.printable import file_name, printable
from bonwise.report.blocks import Block, Column, Part, Said, Table
from bonwise.report.numbers import count, counted, number
from bonwise.results import Count, Document, NonNegative, Number, Positive, Record, Share

if TYPE_CHECKING:
    from bonwise.selection.learnt_draws import DrawModel


class PriceOfCalls(Record):
    """The price of a call at which pools take so many of them on average."""

    mean_calls: Positive
    """Calls per pool, the first ones among them."""
    lower_price: Number
    higher_price: Number
    """Both: in score units: some pools take one, the others the other."""
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
    candidates: Count
    """Both: what was learnt from; candidates of all prompts together."""
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

    @property
    def model(self) -> DrawModel:
        """What the strategy value_of_information goes by; a document that was loaded has none."""
        model: DrawModel = self.source_of("model")
        return model

    frame_columns = ("mean_calls", "lower_price", "higher_price", "share_at_lower")
    frame_of = "prices"


_FEW = 100
"""Prompts below which prices are rough."""

_SMALL = 0.001
"""A p-value below this one is not written out."""


def describe(document: LearnDocument) -> Part:
    """Describe what a pilot says of further calls."""
    return Part(file_name(document.source), list(_blocks(document)))


def _blocks(document: LearnDocument) -> Iterator[Block]:
    settings = document.settings
    yield Table.facts(
        [
            ("judge", document.judge),
            ("most draws of a candidate", count(settings.max_draws)),
            ("bonwise", settings.version),
        ]
    )
    yield Said(
        "finding",
        f"{counted(document.prompts, 'prompt')}, {counted(document.candidates, 'candidate')}, "
        f"{count(document.draws)} draws each of {document.judge}; first calls: {document.first_calls}",
    )
    if document.prompts_left_out:
        left_out = counted(document.prompts_left_out, "prompt")
        yield Said("caveat", f"left out: {left_out} without two complete candidates")
    if document.first_call is not None:
        yield Said("finding", _first_call(document.first_call))
    yield _scatter(document)
    columns = tuple(map(Column, ("calls per pool", "price per call", "in pools", "price in the others")))
    yield Table.of(columns, map(_price, document.prices), "Prices in units of the judge's score")
    if document.prompts < _FEW:
        yield Said("caveat", f"fewer than {_FEW} prompts: the prices are rough")


def _first_call(tested: FirstCallRecord) -> str:
    how = "averaged in" if tested.averaged_in else "kept apart"
    p = f"p below {_SMALL}" if tested.p < _SMALL else f"p = {number(tested.p)}"
    return f"The first call is {how}: {printable(tested.reason)} (three t tests, {p})."


def _scatter(document: LearnDocument) -> Table:
    rows = [
        ("sd of one call", number(document.call_sd)),
        ("sd between candidates", number(document.candidate_sd)),
        ("reliability of a call", number(document.reliability)),
        ("first to later calls (beta)", number(document.beta)),
    ]
    return Table.of((Column("calls of this judge", "name"), Column("figure")), rows)


def _price(price: PriceOfCalls) -> tuple[str, str, str, str]:
    share = number(price.share_at_lower, "share")
    return number(price.mean_calls), number(price.lower_price), share, number(price.higher_price)

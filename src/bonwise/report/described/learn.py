"""How the calls of a judge scatter, and what price buys how many of them."""

from __future__ import annotations

from collections.abc import Iterator

from bonwise.documents.learn import FirstCallRecord, LearnDocument, PriceOfCalls
from bonwise.printable import printable
from bonwise.report.blocks import Block, Column, Part, Said, Table
from bonwise.report.numbers import count, counted, number

__all__ = ["describe"]

_FEW = 100
"""Prompts below which prices are rough."""

_SMALL = 0.001
"""A p-value below this one is not written out."""


def describe(document: LearnDocument) -> Part:
    """Describe what a pilot says of further calls."""
    return Part(printable(document.source), list(_blocks(document)))


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


def _price(one: PriceOfCalls) -> tuple[str, str, str, str]:
    share = number(one.share_at_lower, "share")
    return number(one.mean_calls), number(one.lower_price), share, number(one.higher_price)

"""Gaps between two models explained by tags of the prompts."""

from __future__ import annotations

from collections.abc import Iterator

from bonwise.documents.factor_explanation import FactorExplanationDocument, GapCoefficient
from bonwise.printable import printable
from bonwise.report.blocks import Block, Column, Part, Said, Table
from bonwise.report.described.answer import verdict
from bonwise.report.described.factor_answers import clear_coefficients, explanation_answer
from bonwise.report.described.factor_next import after_explanation
from bonwise.report.described.limits import limits
from bonwise.report.figures.forest import forest_figure
from bonwise.report.numbers import Ends, count, estimate, interval, percent, with_interval

__all__ = ["describe"]

_LONGEST = 32


def describe(document: FactorExplanationDocument) -> Part:
    """Describe what goes with the gaps between two models."""
    first, second = (printable(one, longest=_LONGEST) for one in (document.model, document.other))
    return Part(f"What explains the gap between {first} and {second}", list(_blocks(document, first, second)))


def _blocks(document: FactorExplanationDocument, first: str, second: str) -> Iterator[Block]:
    yield Table.facts(
        [
            ("ratings", document.source),
            ("human rater", document.human),
            ("prompts", count(document.prompts)),
            ("intervals", percent(document.confidence)),
            ("bonwise", document.version),
        ]
    )
    yield verdict(explanation_answer(document), after_explanation(document.model))
    clear = clear_coefficients(document)
    if clear:
        largest = max(clear, key=lambda one: abs(one.estimate))
        better = first if largest.estimate > 0 else second
        yield Said("finding", f"Largest: {_named(largest)} favours {better}, {_said(largest)}.")
    columns = (
        Column("prompts with", "name"),
        Column("read as", "meaning", spare=2),
        Column("prompts", spare=3),
        Column("adds to the gap"),
        Column("interval", spare=1),
        Column("simultaneous"),
    )
    yield from forest_figure(
        [(_named(one), one.estimate, one.band_low, one.band_high) for one in document.coefficients],
        "factor-explanation",
        "What adds to the gap",
        f"What each property of a prompt adds to the gap, {first} less {second}, with simultaneous intervals.",
        across="change of the gap between capabilities",
    )
    rows = [_row(one) for one in (document.constant, *document.coefficients)]
    yield Table.of(columns, rows, f"Gap: {first} less {second}")
    yield Said("note", "Simultaneous intervals of all coefficients hold together with the stated confidence.")
    if document.left_out:
        left_out = ", ".join(f"{count(rows)} ({printable(why)})" for why, rows in document.left_out.items())
        yield Said("caveat", f"Prompts left out: {left_out}.")
    for note in document.notes:
        yield Said("caveat", printable(note))
    yield limits("factor")


def _named(one: GapCoefficient) -> str:
    if one.kind == "constant":
        return "none of these"
    column = printable(one.column, longest=_LONGEST)
    return f"{column} = {printable(one.level, longest=_LONGEST)}" if one.level else column


def _said(one: GapCoefficient) -> str:
    return with_interval(Ends(one.estimate, one.band_low, one.band_high), sign=True)


def _row(one: GapCoefficient) -> tuple[str, ...]:
    ends = Ends(one.estimate, one.band_low, one.band_high)
    return (
        _named(one),
        printable(one.unit, longest=60),
        count(one.prompts),
        estimate(ends, sign=True),
        interval(Ends(one.estimate, one.low, one.high)),
        interval(ends),
    )

"""Two models compared on every prompt."""

from __future__ import annotations

from collections.abc import Iterator

from bonwise.documents.factor_comparison import FactorComparisonDocument, GapRecord, PromptDifference
from bonwise.printable import printable
from bonwise.report.blocks import Block, Column, Part, Said, Table
from bonwise.report.described.answer import verdict
from bonwise.report.described.factor_answers import comparison_answer
from bonwise.report.described.factor_next import after_comparison
from bonwise.report.described.limits import limits
from bonwise.report.figures.forest import forest_figure
from bonwise.report.numbers import Ends, count, counted, estimate, interval, number, percent

__all__ = ["describe"]

_LONGEST = 32
_GLANCE = 12
"""Prompts that a terminal shows."""


def describe(document: FactorComparisonDocument) -> Part:
    """Describe where each of two models is better."""
    first, second = (printable(one, longest=_LONGEST) for one in (document.model, document.other))
    return Part(f"{first} against {second}", list(_blocks(document, first, second)))


def _blocks(document: FactorComparisonDocument, first: str, second: str) -> Iterator[Block]:
    yield Table.facts(
        [
            ("ratings", document.source),
            ("human rater", document.human),
            ("intervals", percent(document.confidence)),
            ("bonwise", document.version),
        ]
    )
    yield verdict(comparison_answer(document), after_comparison(document.model, document.other))
    better, worse = (sum(one.verdict == word for one in document.prompts) for word in ("better", "worse"))
    total = len(document.prompts)
    yield Said(
        "finding",
        f"Of {counted(total, 'prompt')} {first} is better on {count(better)} and {second} "
        f"on {count(worse)}; {count(total - better - worse)} are open. These verdicts hold together.",
    )
    if len(document.gaps) > 1:
        yield from forest_figure(
            [(_named(one), one.estimate, one.low, one.high) for one in document.gaps],
            "factor-gaps",
            "Differences by category",
            f"Mean difference, {first} less {second}.",
            across="difference of capabilities",
        )
    yield _gaps(document.gaps)
    explained = document.gaps[0].explained
    if explained is not None:
        share = number(explained, "share")
        yield Said("note", f"Categories explain {share} of the variance of the differences between prompts.")
    columns = (
        Column("prompt", "name"),
        Column("category", "words", spare=2),
        Column("difference", sorted=True),
        Column("interval", spare=1),
        Column("simultaneous"),
        Column("verdict", "words"),
    )
    rows = Table.of(columns, map(_prompt, document.prompts), f"{first} less {second}").rows
    table = Table(columns, rows, f"{first} less {second}", at_a_glance=_GLANCE)
    for note in document.notes:
        yield Said("caveat", printable(note))
    yield Part("Every prompt", [table], anchor="prompts", folded=f"A table of {counted(total, 'prompt')}")
    yield limits("factor")


def _named(one: GapRecord) -> str:
    return printable(one.category, longest=_LONGEST) or "all prompts"


def _gaps(gaps: list[GapRecord]) -> Table:
    columns = (Column("category", "name"), Column("prompts"), Column("mean difference"), Column("interval"))
    rows = []
    for one in gaps:
        ends = Ends(one.estimate, one.low, one.high)
        rows.append((_named(one), count(one.prompts), estimate(ends, sign=True), interval(ends)))
    return Table.of(columns, rows)


def _prompt(one: PromptDifference) -> tuple[str, ...]:
    ends = Ends(one.estimate, one.band_low, one.band_high)
    return (
        printable(one.prompt_id, longest=_LONGEST),
        printable(one.category, longest=_LONGEST),
        estimate(ends, sign=True),
        interval(Ends(one.estimate, one.low, one.high)),
        interval(ends),
        one.verdict,
    )

"""Where a model is strong and weak."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bonwise.documents.factor_strengths import FactorStrengthsDocument, GroupAdvantage, PromptAdvantage
from bonwise.printable import printable
from bonwise.report.blocks import Block, Column, Part, Said, Table
from bonwise.report.described.answer import verdict
from bonwise.report.described.factor_answers import strengths_answer
from bonwise.report.described.factor_next import after_strengths
from bonwise.report.described.limits import limits
from bonwise.report.figures.forest import forest_figure
from bonwise.report.numbers import Ends, count, counted, estimate, interval, percent, with_interval

__all__ = ["describe"]

_LONGEST = 32
_ENDS = 10
"""Prompts shown at each end of the order; a page lists all of them too."""

_GLANCE = 5


def describe(document: FactorStrengthsDocument) -> Part:
    """Describe where the advantage of a model is largest and smallest."""
    return Part(f"Strengths and weaknesses of {printable(document.model, longest=_LONGEST)}", list(_blocks(document)))


def _blocks(document: FactorStrengthsDocument) -> Iterator[Block]:
    yield Table.facts(
        [
            ("ratings", document.source),
            ("human rater", document.human),
            ("prompts", count(document.advantage.prompts)),
            ("intervals", percent(document.confidence)),
            ("bonwise", document.version),
        ]
    )
    whole, answer = document.advantage, strengths_answer(document)
    yield verdict(answer, after_strengths(answer))
    yield Said(
        "finding",
        f"On {counted(whole.prompts, 'prompt')} the advantage over the mean of the other "
        f"{counted(document.models - 1, 'model')} is "
        f"{with_interval(Ends(whole.estimate, whole.low, whole.high), sign=True)} on average.",
    )
    if document.groups:
        yield Said("finding", _verdicts(document.groups, "group"))
        yield from forest_figure(
            [(_named(one), one.difference, one.band_low, one.band_high) for one in document.groups],
            "factor-strengths",
            "Strengths and weaknesses",
            "Advantage in each group less the model's mean advantage, with simultaneous intervals.",
            across="advantage, less the mean of all prompts",
        )
        yield _groups(document.groups)
    yield Said("finding", _verdicts(document.prompts, "prompt"))
    top = document.prompts[:_ENDS]
    yield _table(top, "Prompts with the largest advantage", glance=_GLANCE)
    bottom = [one for one in reversed(document.prompts[-_ENDS:]) if one not in top]
    if bottom:
        yield _table(bottom, "Prompts with the smallest advantage", glance=_GLANCE)
    yield Said(
        "note",
        "A strength is an advantage above the model's own mean, a weakness one below it. The verdicts on all groups "
        "hold together with the stated confidence, and so do those on all prompts.",
    )
    for note in document.notes:
        yield Said("caveat", printable(note))
    folded = f"A table of {counted(len(document.prompts), 'prompt')}"
    yield Part("Every prompt", [_table(document.prompts, "")], "detail", folded=folded)
    yield limits("factor")


def _verdicts(rows: Sequence[GroupAdvantage | PromptAdvantage], what: str) -> str:
    strong, weak = (sum(one.verdict == word for one in rows) for word in ("strength", "weakness"))
    rest = len(rows) - strong - weak
    return f"Of {counted(len(rows), what)}: {count(strong)} strong, {count(weak)} weak, {count(rest)} open."


def _named(one: GroupAdvantage) -> str:
    column = printable(one.column, longest=_LONGEST)
    return f"{column} = {printable(one.level, longest=_LONGEST)}" if one.level else column


def _groups(groups: Sequence[GroupAdvantage]) -> Table:
    columns = (
        Column("group", "name"),
        Column("prompts", spare=3),
        Column("advantage", spare=2),
        Column("interval", spare=1),
        Column("less the mean", sorted=True),
        Column("simultaneous"),
        Column("verdict", "words"),
    )
    rows = []
    for one in groups:
        level, apart = Ends(one.estimate, one.low, one.high), Ends(one.difference, one.band_low, one.band_high)
        figures = (estimate(level, sign=True), interval(level), estimate(apart, sign=True), interval(apart))
        rows.append((_named(one), count(one.prompts), *figures, one.verdict))
    return Table.of(columns, rows, "Advantage by group of prompts")


def _table(prompts: Sequence[PromptAdvantage], title: str, glance: int = 0) -> Table:
    columns = (
        Column("prompt", "name"),
        Column("category", "words", spare=2),
        Column("advantage", spare=1),
        Column("less the mean"),
        Column("simultaneous"),
        Column("verdict", "words"),
    )
    rows = []
    for one in prompts:
        level, apart = Ends(one.estimate, one.low, one.high), Ends(one.difference, one.band_low, one.band_high)
        figures = (estimate(level, sign=True), estimate(apart, sign=True), interval(apart))
        names = (printable(one.prompt_id, longest=_LONGEST), printable(one.category, longest=_LONGEST))
        rows.append((*names, *figures, one.verdict))
    return Table(columns, Table.of(columns, rows).rows, title, at_a_glance=glance)

"""Models ranked by what the human would say, with intervals that hold together."""

from __future__ import annotations

from collections.abc import Iterator

from bonwise.documents.factor_leaderboard import CohesionRecord, FactorLeaderboardDocument
from bonwise.printable import printable
from bonwise.report.blocks import Block, Column, Part, Said, Table
from bonwise.report.described.answer import verdict
from bonwise.report.described.factor_answers import leaderboard_answer
from bonwise.report.described.factor_next import after_leaderboard
from bonwise.report.described.limits import limits
from bonwise.report.figures.forest import forest_figure
from bonwise.report.numbers import Ends, count, counted, estimate, interval, number, percent, with_interval

__all__ = ["describe"]

_LONGEST = 32


def describe(document: FactorLeaderboardDocument) -> Part:
    """Describe the ranking."""
    scope = {"all": "all prompts", "category": "category", "prompt": "prompt"}[document.scope]
    name = "" if document.name is None else f" {printable(document.name, longest=60)}"
    return Part(f"Leaderboard on {scope}{name}", list(_blocks(document)))


def _blocks(document: FactorLeaderboardDocument) -> Iterator[Block]:
    yield Table.facts(
        [
            ("ratings", document.source),
            ("human rater", document.human),
            ("prompts", count(document.prompts)),
            ("intervals", percent(document.confidence)),
            ("bonwise", document.version),
        ]
    )
    first, second = document.models[0].model, document.models[1].model
    yield verdict(leaderboard_answer(document), after_leaderboard(first, second))
    yield Said("finding", f"Capability on {counted(document.prompts, 'prompt')}, less the mean of all models.")
    columns = (
        Column("model", "name"),
        Column("capability", sorted=True),
        Column("interval", spare=2),
        Column("simultaneous"),
        Column("human ratings", spare=1),
    )
    rows = [
        (
            printable(one.model, longest=_LONGEST),
            estimate(Ends(one.estimate, one.band_low, one.band_high), sign=True),
            interval(Ends(one.estimate, one.low, one.high)),
            interval(Ends(one.estimate, one.band_low, one.band_high)),
            count(one.human_ratings),
        )
        for one in document.models
    ]
    yield from forest_figure(
        [(one.model, one.estimate, one.band_low, one.band_high) for one in document.models],
        "factor-leaderboard",
        "Models",
        "Capability less the mean of all models, with simultaneous intervals.",
        across="capability, less the mean",
    )
    yield Table.of(columns, rows, "Models, the best first")
    yield Said("note", "Simultaneous intervals of all models hold together with the stated confidence.")
    if document.cohesion is not None:
        yield Said("finding", _cohesion(document.cohesion))
    for note in document.notes:
        yield Said("caveat", printable(note))
    yield limits("factor")


def _cohesion(found: CohesionRecord) -> str:
    ends = Ends(found.share, found.low, found.high)
    return (
        f"One skill carries {with_interval(ends, 'share')} of what the prompts of the category ask for; "
        f"p = {number(found.p)} against {counted(found.permutations, 'random set')} of as many prompts."
    )

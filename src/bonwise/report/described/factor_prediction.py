"""The average that a human would give each model."""

from __future__ import annotations

from collections.abc import Iterator

from bonwise.documents.factor_prediction import FactorPredictionDocument
from bonwise.printable import printable
from bonwise.report.blocks import Block, Column, Part, Said, Table
from bonwise.report.described.factor_next import after_prediction
from bonwise.report.described.limits import limits
from bonwise.report.figures.forest import forest_figure
from bonwise.report.numbers import Ends, count, counted, estimate, interval, percent, with_interval

__all__ = ["describe"]

_LONGEST = 32
_WORDS = {"mean_rating": "mean rating", "net_win_rate": "wins less losses per comparison"}


def describe(document: FactorPredictionDocument) -> Part:
    """Describe the averages."""
    return Part("Predicted averages", list(_blocks(document)))


def _blocks(document: FactorPredictionDocument) -> Iterator[Block]:
    words = _WORDS[document.quantity]
    yield Table.facts(
        [
            ("ratings", document.source),
            ("human rater", document.human),
            ("intervals", percent(document.confidence)),
            ("bonwise", document.version),
        ]
    )
    best = document.models[0]
    found = with_interval(Ends(best.estimate, best.low, best.high))
    yield Said(
        "lead",
        f"Predicted {words} over {counted(document.prompts, 'prompt')}: {printable(best.model, longest=_LONGEST)} "
        f"has the highest, {found}.",
    )
    columns = (Column("model", "name"), Column(words, sorted=True), Column("interval"), Column("human ratings"))
    rows = []
    for one in document.models:
        ends = Ends(one.estimate, one.low, one.high)
        name = printable(one.model, longest=_LONGEST)
        rows.append((name, estimate(ends), interval(ends), count(one.human_ratings)))
    yield from forest_figure(
        [(one.model, one.estimate, one.low, one.high) for one in document.models],
        "factor-averages",
        "Predicted averages",
        f"Predicted {words} of each model.",
        None,
        across=words,
    )
    yield Table.of(columns, rows, "Models, the best first")
    for note in document.notes:
        yield Said("caveat", printable(note))
    yield Part("Next", list(after_prediction()), "next", anchor="next")
    yield limits("factor")

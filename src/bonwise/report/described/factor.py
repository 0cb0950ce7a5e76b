"""A fitted factor model: the models ranked, what predicts held-out human ratings, and how it was chosen."""

from __future__ import annotations

from collections.abc import Iterator

from bonwise.documents.factor import FactorDocument, ModelCandidateRecord, RaterRecord
from bonwise.printable import printable
from bonwise.report.blocks import Block, Column, Drawing, Part, Said, Table
from bonwise.report.described.answer import verdict
from bonwise.report.described.factor_answers import fit_answer
from bonwise.report.described.factor_baselines import baseline_name
from bonwise.report.described.factor_next import after_fit
from bonwise.report.described.factor_pictures import cohesion_part, information_part, map_part
from bonwise.report.described.limits import limits
from bonwise.report.figures.forest import Forest, forest_figure
from bonwise.report.numbers import (
    count,
    counted,
    estimate,
    interval,
    interval_title,
    number,
    percent,
    setting,
    with_interval,
)

__all__ = ["describe"]

_LONGEST = 32
"""Characters of a name in a table."""


def describe(document: FactorDocument) -> Part:
    """Describe the fit: first how well it predicts, then the models, then how it was chosen."""
    return Part(f"Factor model of {printable(document.settings.source)}", list(_blocks(document)))


def _blocks(document: FactorDocument) -> Iterator[Block]:
    data, settings = document.data, document.settings
    yield Table.facts(
        [
            ("ratings", settings.source),
            ("human rater", settings.human),
            ("intervals", f"{percent(settings.confidence)}, {settings.interval or 'none'}"),
            ("bonwise", settings.version),
        ]
    )
    yield Said(
        "finding",
        f"{counted(data.ratings, 'rating')} of {counted(data.models, 'model')} on "
        f"{counted(data.prompts, 'prompt')} by {counted(len(document.raters), 'rater')}; "
        f"{count(data.human_ratings)} of them by "
        f"{printable(settings.human, longest=_LONGEST)}.",
    )
    answer = fit_answer(document)
    yield verdict(answer, after_fit(answer, document))
    if data.dropped:
        left_out = ", ".join(f"{count(rows)} ({reason})" for reason, rows in data.dropped.items())
        yield Said("caveat", f"Rows left out: {left_out}.")
    if data.repeats:
        yield Said("note", f"{counted(data.repeats, 'rating')} repeat an earlier one and count as replicates.")
    if document.leaderboard:
        yield from _drawn(document)
        yield _leaderboard(document)
    if document.holdout is not None:
        yield from _held_out(document)
    for note in document.notes:
        yield Said("caveat", printable(note))
    if document.prompt_map is not None:
        yield map_part(document.prompt_map)
    if document.cohesion:
        yield cohesion_part(document.cohesion)
    if document.information:
        yield information_part(document.information)
    yield _chosen(document)
    yield _raters(document.raters)
    yield limits("factor")


def _leaderboard(document: FactorDocument) -> Table:
    columns = (
        Column("model", "name"),
        Column("capability", sorted=True),
        Column(interval_title(document.settings.confidence)),
        Column("human ratings", spare=1),
    )
    rows = [
        (
            printable(one.model, longest=_LONGEST),
            estimate(one.capability, sign=True),
            interval(one.capability),
            count(one.human_ratings),
        )
        for one in document.leaderboard
    ]
    return Table.of(columns, rows, "Mean capability over prompts, less the mean of all models")


def _drawn(document: FactorDocument) -> list[Drawing[Forest]]:
    found = [(one.model, one.capability) for one in document.leaderboard]
    best, capability = found[0]
    return forest_figure(
        [(model, one.estimate, one.low, one.high) for model, one in found],
        "factor-models",
        "Models",
        f"Mean capability, less that of all models. Best: {printable(best)}, {with_interval(capability, sign=True)}.",
        across="capability, less the mean",
        said=[with_interval(one, sign=True) for _, one in found],
    )


def _held_out(document: FactorDocument) -> Iterator[Block]:
    held = document.holdout
    if held is None:
        return
    yield Said(
        "finding",
        f"{counted(held.fitted, 'human rating')} predict the {count(held.n)} held out with a cross-entropy of "
        f"{setting(round(held.cross_entropy, 4))} nats per rating.",
    )
    losses = [setting(round(one.cross_entropy, 4)) for one in document.baselines.values()]
    columns = (Column("baseline", "words"), *map(Column, ("cross-entropy", "more than the model", "interval")))
    rows = [
        (
            baseline_name(name),
            loss,
            estimate(one.difference, sign=True),
            interval(one.difference),
        )
        for (name, one), loss in zip(document.baselines.items(), losses, strict=True)
    ]
    yield Table.of(columns, rows, "Baselines on the same held-out ratings")


def _chosen(document: FactorDocument) -> Part:
    said = Said(
        "note",
        f"Rank {document.rank}, prior precision {setting(document.prior)}, columns {', '.join(document.columns)}, "
        f"ridge {setting(document.ridge)}: the smallest cross-entropy of human ratings, cross-validated. The loss of "
        "stage 1 falls with every further skill and chooses nothing.",
    )
    columns = tuple(map(Column, ("rank", "prior", "columns", "ridge", "cross-entropy", "se", "stage 1")))
    ranked = sorted(document.candidates, key=lambda one: one.cross_entropy)
    return Part("Choice of the model", [said, Table.of(columns, map(_candidate, ranked))], "detail")


def _candidate(one: ModelCandidateRecord) -> tuple[str, ...]:
    return (
        count(one.rank),
        setting(one.prior),
        ", ".join(one.columns),
        setting(one.ridge),
        number(one.cross_entropy),
        number(one.se),
        number(one.stage_one_loss),
    )


def _raters(raters: list[RaterRecord]) -> Part:
    columns = (
        Column("rater", "name"),
        Column("ratings"),
        Column("rates", "words"),
        Column("categories", "words"),
        Column("read as", "words"),
    )
    rows = [
        (
            printable(one.rater, longest=_LONGEST),
            count(one.ratings),
            "two models" if one.side_by_side else "one model",
            ", ".join(printable(word, longest=_LONGEST) for word in one.categories[:10]),
            f"{count(one.distinct)} numbers in {len(one.categories)} bins" if one.rule == "bins" else one.rule,
        )
        for one in raters
    ]
    return Part("Raters", [Table.of(columns, rows)], "detail")

"""What human ratings and judges are worth: cross-entropy by the share of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bonwise.factors.result import FactorStudy, StudiedBaseline, StudiedShareRecord
from bonwise.factors.view_answers import after_study, baseline_name, study_answer
from bonwise.printable import printable
from bonwise.report.answers import verdict
from bonwise.report.blocks import Block, Column, Drawing, Part, Said, Table
from bonwise.report.figures.curves import Curve, Curves, curves_figure
from bonwise.report.limits import limits
from bonwise.report.numbers import (
    NOTHING,
    count,
    counted,
    estimate,
    interval,
    interval_title,
    number,
    percent,
    with_interval,
)

__all__ = ["describe"]

_LONGEST = 32
_OWN = "factor model"


def describe(document: FactorStudy) -> Part:
    """Describe the study: by human ratings, by judges, then every method."""
    return Part(f"Human ratings and judges of {printable(document.settings.source)}", list(_blocks(document)))


def _blocks(document: FactorStudy) -> Iterator[Block]:
    data, settings = document.data, document.settings
    yield Table.facts(
        [
            ("ratings", settings.source),
            ("human rater", settings.human),
            ("intervals", f"{percent(settings.confidence)}, clustered by prompt"),
            ("splits", count(settings.splits)),
            ("bonwise", settings.version),
        ]
    )
    answer = study_answer(document)
    yield verdict(answer, after_study(answer))
    yield Said("finding", _finding(document))
    if data.dropped:
        left_out = ", ".join(f"{count(rows)} ({reason})" for reason, rows in data.dropped.items())
        yield Said("caveat", f"Rows left out: {left_out}.")
    yield from _drawn(document.by_labels, "labels")
    yield _summary(document.by_labels, document, "labels")
    if document.by_judges:
        yield from _drawn(document.by_judges, "judges")
        yield _summary(document.by_judges, document, "judges")
    for note in document.notes:
        yield Said("caveat", printable(note))
    yield _every(document)
    yield limits("factor")


def _finding(document: FactorStudy) -> str:
    first, last = document.by_labels[0], document.by_labels[-1]
    name, best = _best(first)
    held = document.data.held_out
    words = (
        f"From {count(round(first.fitted))} ratings by {printable(document.settings.human, longest=_LONGEST)} the "
        f"factor model predicts {count(round(sum(held) / len(held)))} others with a cross-entropy of "
        f"{with_interval(first.cross_entropy)} nats per rating. The best of {len(first.baselines)} baselines, "
        f"{name}, has {with_interval(best.cross_entropy)}."
    )
    if len(document.by_labels) == 1:
        return words
    return (
        f"{words} From {count(round(last.fitted))} ratings the factor model loses "
        f"{with_interval(first.more_than_largest)} less."
    )


def _best(step: StudiedShareRecord) -> tuple[str, StudiedBaseline]:
    """Return the baseline that loses least, in words, and its record."""
    name = min(step.baselines, key=lambda one: step.baselines[one].cross_entropy.estimate or 0.0)
    return baseline_name(name), step.baselines[name]


def _summary(steps: Sequence[StudiedShareRecord], document: FactorStudy, of: str) -> Table:
    settings = document.settings
    ends = interval_title(settings.confidence)
    first = Column("human ratings" if of == "labels" else "judges")
    columns = (
        first,
        Column("share"),
        Column(_OWN),
        Column(ends),
        Column("between splits", spare=2),
        Column("best baseline", "words"),
        Column("loses more"),
        Column("interval", spare=1),
    )
    rows = []
    for one in steps:
        name, best = _best(one)
        fitted = count(round(one.fitted)) if of == "labels" else count(one.judges)
        rows.append(
            (
                fitted,
                percent(one.share),
                estimate(one.cross_entropy),
                interval(one.cross_entropy),
                number(one.between_splits),
                name,
                estimate(best.difference, sign=True),
                interval(best.difference),
            )
        )
    judges = counted(document.data.judges, "judge")
    words = (
        f"Cross-entropy of held-out ratings in nats, by human ratings fitted; {judges}"
        if of == "labels"
        else f"By judges, drawn at random; {percent(settings.rater_budget)} of the human ratings fitted"
    )
    return Table.of(columns, rows, words)


def _drawn(steps: Sequence[StudiedShareRecord], of: str) -> list[Drawing[Curves]]:
    across = [one.fitted if of == "labels" else float(one.judges) for one in steps]
    if len(steps) < 2:
        return []
    curves = [
        Curve(
            baseline_name(name),
            across,
            [one.baselines[name].cross_entropy.estimate for one in steps],
            role="other",
            points=True,
        )
        for name in steps[0].baselines
        if name != "frequencies"
    ]
    own = [one.cross_entropy for one in steps]
    curves.append(
        Curve(
            _OWN,
            across,
            [one.estimate for one in own],
            [one.low for one in own],
            [one.high for one in own],
            points=True,
        )
    )
    what = "human ratings fitted" if of == "labels" else "judges fitted"
    return curves_figure(
        curves,
        f"factor-study-{of}",
        f"Cross-entropy by {what}",
        f"The factor model loses {with_interval(own[0])} nats per held-out rating with "
        f"{count(round(across[0]))} {what} and {with_interval(own[-1])} with {count(round(across[-1]))}.",
        across=what,
        up="cross-entropy, nats",
    )


def _every(document: FactorStudy) -> Part:
    ends = interval_title(document.settings.confidence)
    columns = (
        Column("fitted", "words"),
        Column("method", "words"),
        Column("cross-entropy"),
        Column(ends),
        Column("between splits"),
        Column("more than the model"),
        Column("interval"),
    )
    rows = list(_rows(document))
    folded = f"A table of {counted(len(rows), 'row')}"
    return Part("Every method", [Table.of(columns, rows)], "detail", folded=folded)


def _rows(document: FactorStudy) -> Iterator[tuple[str, ...]]:
    for of, steps in (("labels", document.by_labels), ("judges", document.by_judges)):
        for one in steps:
            fitted = counted(round(one.fitted), "rating") if of == "labels" else counted(one.judges, "judge")
            own = one.cross_entropy
            yield fitted, _OWN, estimate(own), interval(own), number(one.between_splits), NOTHING, NOTHING
            for name, found in one.baselines.items():
                yield (
                    fitted,
                    baseline_name(name),
                    estimate(found.cross_entropy),
                    interval(found.cross_entropy),
                    number(found.between_splits),
                    estimate(found.difference, sign=True),
                    interval(found.difference),
                )

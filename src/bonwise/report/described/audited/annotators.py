"""Several annotators per candidate: how far they agree, and what that says of the figures of a judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bonwise.documents.audited.annotators import AgainstOthers, Annotators, JudgeAgainstOthers
from bonwise.printable import printable
from bonwise.report.blocks import Block, Column, Part, Row, Said, Table
from bonwise.report.numbers import Unit, count, counted, estimate, interval, with_interval

__all__ = ["agreement_of_annotators"]

_METRICS: tuple[tuple[str, Unit], ...] = (("recovery", "share"), ("within_r", "number"), ("top1_accuracy", "share"))

_SPLIT = {"majority": "tied between labels", "median": "with a median between two labels"}

_DIFFERENCES = {
    "nominal": "two labels are the same or not",
    "ordinal": "two labels differ by their ranks",
    "interval": "two labels differ by their distance",
}

_SHOWN = 12
"""Judges of which a sentence compares each with an annotator."""


def agreement_of_annotators(found: Annotators) -> Part:
    """Return how far annotators agree, and what one of them recovers of the labels of the others.

    Parameters
    ----------
    found : Annotators
    """
    blocks: list[Block] = [Said("finding", _labels(found)), Said("finding", _alpha(found))]
    blocks += _against_others(found)
    if found.one_annotator is not None:
        rows = {"one annotator": found.one_annotator, **(found.judges or {})}
        blocks.append(_table(rows, "Against the labels of the other annotators", "compared"))
    alone = {one.annotator: one for one in found.each if one.pools}
    if len(alone) > 1:
        blocks.append(Part("", [_table(alone, "Each annotator against the others", "annotator")], "detail"))
    return Part("Annotators", blocks, anchor="annotators")


def _labels(found: Annotators) -> str:
    gave = f"{counted(found.annotators, 'annotator')} gave {counted(found.labels, 'label')}"
    asked = ", as you asked" if found.rule_stated else ""
    said = (
        f"{gave} of {counted(found.labelled_candidates, 'candidate')}; candidates with two labels or more: "
        f"{count(found.several_labels)}. The label of a candidate is the {found.rule} of its labels ({found.kind}"
        f"{asked})."
    )
    if found.split:
        said += f" Candidates {_SPLIT[found.rule]}: {count(found.split)}; they have the mean of these labels."
    return said


def _alpha(found: Annotators) -> str:
    if found.alpha.estimate is None:
        return f"Their agreement cannot be told: {printable(found.alpha.reason or 'unknown')}."
    why = f" ({printable(found.alpha.reason)})" if found.alpha.reason else ""
    return (
        f"The annotators agree with Krippendorff's alpha {with_interval(found.alpha)}{why}: 0 is chance, 1 is full "
        f"agreement; {_DIFFERENCES[found.level]}."
    )


def _against_others(found: Annotators) -> Iterator[Said]:
    """Yield what one annotator recovers, and how the judges compare with that."""
    one = found.one_annotator
    if one is None:
        yield Said("caveat", f"What one annotator recovers cannot be told: {found.reason}.")
        return
    recovery = one.recovery
    if recovery is None or recovery.estimate is None:
        why = "unknown" if recovery is None else printable(recovery.reason or "unknown")
        yield Said("caveat", f"What one annotator recovers cannot be told: {why}.")
        return
    yield Said(
        "finding",
        f"One annotator's labels recover {with_interval(recovery, 'share')} against the labels of the others. "
        "A judge as good as one annotator reaches about that much when people like these check it; a better judge "
        "may reach more.",
    )
    for name, judge in list((found.judges or {}).items())[:_SHOWN]:
        if (said := _judge(name, judge)) is not None:
            yield Said("finding", said)


def _judge(name: str, judge: JudgeAgainstOthers) -> str | None:
    own, difference = judge.recovery, judge.recovery_minus_annotator
    if own is None or own.estimate is None:
        return None
    said = f"{printable(name)} recovers {with_interval(own, 'share')} against the same labels"
    if difference is None or difference.estimate is None or difference.low is None or difference.high is None:
        return f"{said}."
    apart = with_interval(difference, "points", sign=True)
    if difference.low > 0:
        return f"{said}, more than one annotator: the difference is {apart}."
    if difference.high < 0:
        return f"{said}, less than one annotator: the difference is {apart}."
    return f"{said}: it cannot be told apart from one annotator (difference {apart})."


def _table(rows: Mapping[str, AgainstOthers], caption: str, first: str) -> Table:
    columns = [Column(first, "name")]
    for name, _ in _METRICS:
        columns += [Column(name), Column("its interval")]
    columns.append(Column("prompts", spare=1))
    return Table(tuple(columns), [_row(name, one) for name, one in rows.items()], caption)


def _row(name: str, one: AgainstOthers) -> Row:
    cells = [printable(name, longest=60)]
    for metric, unit in _METRICS:
        found = getattr(one, metric)
        cells += [estimate(found, unit), interval(found, unit)]
    return Row((*cells, count(one.prompts)))

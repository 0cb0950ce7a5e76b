"""The study of requirements of many judges: all in one table, which takes no drawing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bonwise.documents.studies.requirements import OwnFigures, RequirementsDocument, RequirementsJudge
from bonwise.printable import printable
from bonwise.report.blocks import Column, Part, Said, Table
from bonwise.report.numbers import count, counted, estimate, interval, interval_title, percent
from bonwise.report.wording import named

__all__ = ["many_requirements"]

_EXAMPLES = 8
"""Names of judges in a sentence."""

_MEANT = (
    "Plain noise: what a judge with the same within_r would recover on these labels if its errors were plain noise. "
    "Needed: the within_r at which such a judge recovers that share of the possible gain."
)


def many_requirements(document: RequirementsDocument) -> Part:
    """Return one part over all judges."""
    reference = document.settings.reference
    return Part(
        "What a wanted recovery takes",
        [
            *(Said("finding", named(sentence, reference)) for sentence in _sentences(document.judges)),
            Part("", [_table(document)], folded=f"A table of the {counted(len(document.judges), 'judge')}"),
            Said("note", named(_MEANT, reference)),
        ],
        anchor="requirements",
    )


def _sentences(judges: Mapping[str, RequirementsJudge]) -> Iterator[str]:
    differences = [one.judge.difference for one in judges.values()]
    below = sum(one.high is not None and one.high < 0 for one in differences)
    above = sum(one.low is not None and one.low > 0 for one in differences)
    yield (
        f"Of {counted(len(judges), 'judge')} {count(below)} recover less than a judge of plain noise with the same "
        f"within_r would, and {count(above)} more; {count(len(judges) - below - above)} are undecided."
    )
    without: dict[str, list[str]] = {}
    for name, judge in judges.items():
        found = judge.judge.expected_recovery
        if found.estimate is None:
            without.setdefault(found.reason or "", []).append(printable(name, longest=60))
    for reason, names in without.items():
        told = ", ".join(names[:_EXAMPLES]) + (", ..." if len(names) > _EXAMPLES else "")
        yield f"No figure of plain noise for {counted(len(names), 'judge')} ({told}): {reason}."


def _table(document: RequirementsDocument) -> Table:
    judges, width = document.judges, interval_title(document.settings.confidence)
    targets = list(dict.fromkeys(one.target for judge in judges.values() for one in judge.targets))
    columns = (
        Column("judge", "name"),
        Column("within_r"),
        *(column for title in ("recovers", "plain noise", "difference") for column in (Column(title), Column(width))),
        *(Column(f"{percent(target)} needs") for target in targets),
    )
    rows = [(printable(name), *_own(judge.judge), *_needed(judge, targets)) for name, judge in judges.items()]
    return Table.of(columns, rows, "Judges and plain noise")


def _own(own: OwnFigures) -> Iterator[str]:
    yield estimate(own.within_r)
    for found in (own.recovery, own.expected_recovery, own.difference):
        yield estimate(found, "share")
        yield interval(found, "share")


def _needed(judge: RequirementsJudge, targets: Sequence[float]) -> Iterator[str]:
    found = {one.target: one.within_r for one in judge.targets}
    yield from (estimate(found.get(target)) for target in targets)

"""The study of requirements beside an audit of many judges: all in one table, which takes no drawing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bonwise.printable import printable
from bonwise.report.amounts import counted
from bonwise.report.metric_table import interval, interval_header, named, number
from bonwise.report.page.section import Section, Table
from bonwise.report.requirements_text import share

__all__ = ["many_requirements"]

_Document = Mapping[str, Any]

_EXAMPLES = 8
"""Names of judges in a sentence."""

_OWN = ("recovery", "expected_recovery", "difference")

_MEANT = (
    "Plain noise: what a judge with the same within_r would recover on these labels if its errors were plain noise. "
    "Needed: the within_r at which such a judge recovers that share of the possible gain."
)
_ELSEWHERE = (
    "Intervals of what is needed, the effective agreement and the curves are those of bonwise study requirements."
)


def many_requirements(document: _Document) -> Section:
    """Return one section over all judges.

    Parameters
    ----------
    document : mapping
        Of schema ``bonwise.study/1``, study ``requirements``.
    """
    reference = document["settings"].get("reference")
    return Section(
        "What a wanted recovery takes",
        "requirements",
        sentences=[named(sentence, reference) for sentence in _sentences(document["judges"])],
        tables=[_table(document)],
        notes=[named(note, reference) for note in (_MEANT, _ELSEWHERE)],
    )


def _sentences(judges: Mapping[str, _Document]) -> Iterator[str]:
    known = [one["judge"]["difference"] for one in judges.values() if one["judge"]["difference"]["low"] is not None]
    below = sum(one["high"] < 0 for one in known)
    above = sum(one["low"] > 0 for one in known)
    yield (
        f"Of {counted(len(judges), 'judge')} {below:,} recover less than a judge of plain noise with the same "
        f"within_r would, and {above:,} more; of {len(judges) - below - above:,} the intervals do not tell."
    )
    without: dict[str, list[str]] = {}
    for name, one in judges.items():
        found = one["judge"]["expected_recovery"]
        if found["estimate"] is None:
            without.setdefault(found["reason"], []).append(printable(name, longest=60))
    for reason, names in without.items():
        told = ", ".join(names[:_EXAMPLES]) + (", ..." if len(names) > _EXAMPLES else "")
        yield f"No figure of plain noise for {counted(len(names), 'judge')} ({told}): {reason}."


def _table(document: _Document) -> Table:
    judges = document["judges"]
    width = interval_header(document["settings"]["confidence"])
    targets = dict.fromkeys(target["target"] for judge in judges.values() for target in judge["targets"])
    rows = [(name, *_own(judge["judge"]), *_needed(judge, targets)) for name, judge in judges.items()]
    headers = ("judge", "within_r", "recovers", width, "plain noise", width, "difference", width)
    return Table((*headers, *(f"{share(target)} needs" for target in targets)), rows, "Judges and plain noise")


def _own(own: _Document) -> Iterator[str]:
    yield number(own["within_r"]["estimate"])
    for key in _OWN:
        yield number(own[key]["estimate"])
        yield interval(own[key])


def _needed(judge: _Document, targets: Mapping[float, None]) -> Iterator[str]:
    found = {one["target"]: one["within_r"]["estimate"] for one in judge["targets"]}
    yield from (number(found.get(target)) for target in targets)

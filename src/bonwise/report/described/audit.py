"""An audit: what was audited, what was found, what it means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Literal

from bonwise.documents.audit import AuditDocument
from bonwise.documents.audited.judge import JudgeFound
from bonwise.documents.audited.settings import AuditSettings
from bonwise.documents.exhibits import ExhibitsDocument
from bonwise.printable import printable
from bonwise.report.blocks import Block, Part, Said
from bonwise.report.described.audited.annotators import agreement_of_annotators
from bonwise.report.described.audited.candidate_effects import preferences_at_equal_label
from bonwise.report.described.audited.cells import who_was_labelled
from bonwise.report.described.audited.data import data, missing_labels
from bonwise.report.described.audited.exhibits import drawn
from bonwise.report.described.audited.in_short import in_short
from bonwise.report.described.audited.judges import MOST_DRAWN, by_recovery, dropped_prompts, side_by_side
from bonwise.report.described.audited.metrics import metrics
from bonwise.report.described.audited.prompts import worst_prompts
from bonwise.report.described.audited.settings import facts, of_the_table, title
from bonwise.report.described.audited.verdict import gates, in_a_line, verdict, verdict_of_several
from bonwise.report.described.audited.what_if import what_would_change
from bonwise.report.described.limits import limits
from bonwise.report.described.studied.beside import BesideAudit
from bonwise.report.numbers import count

__all__ = ["describe", "describe_with"]

_IN_FULL = 4
"""Judges of which Markdown shows more than the summary."""


def describe(document: AuditDocument) -> Part:
    """Describe an audit by its document alone."""
    return describe_with(document)


def describe_with(
    document: AuditDocument,
    exhibits: ExhibitsDocument | None = None,
    studies: Sequence[BesideAudit] = (),
    more: str | None = None,
    then: Sequence[Said] = (),
) -> Part:
    """Describe an audit with what stands beside it on its page.

    Parameters
    ----------
    document : AuditDocument
    exhibits : ExhibitsDocument, optional
        What is drawn, and the prompts where judges lost most.
    studies : sequence of BesideAudit
        Descriptions of studies, routing and notes that were made on the table of the audit.
    more : str, optional
        Name of the file beside the page that holds a row for each prompt.
    then : sequence of Said
        What to type next.
    """
    settings = document.settings
    decisive: Part
    found: Iterator[Block]
    if document.several:
        decisive, found = verdict_of_several(document, exhibits, then), _several(document, exhibits, studies)
    else:
        decisive, found = _verdict_alone(document, exhibits, then), _alone(document, exhibits, studies)
    annotators = [] if document.annotators is None else [agreement_of_annotators(document.annotators)]
    # What the picks are worth is seen before what would change the verdict on them.
    blocks = [facts(document), *of_the_table(document), decisive, *islice(found, 1)]
    blocks += [*what_would_change(exhibits, settings.reference), *found, *annotators, *gates(document)]
    if exhibits is not None:
        blocks += worst_prompts(exhibits.prompts, several=document.several, reference=settings.reference, more=more)
    blocks.append(limits("audit", "long", settings.reference))
    return Part(title(settings), blocks, in_short=list(in_short(document)))


def _verdict_alone(document: AuditDocument, exhibits: ExhibitsDocument | None, then: Sequence[Said]) -> Part:
    ((name, judge),) = document.judges.items()
    shown = None if exhibits is None else exhibits.judges.get(name)
    return verdict(judge, document.settings, alone=True, shown=shown, then=then)


def _alone(
    document: AuditDocument, exhibits: ExhibitsDocument | None, studies: Sequence[BesideAudit]
) -> Iterator[Block]:
    ((name, judge),) = document.judges.items()
    shown = None if exhibits is None else exhibits.judges.get(name)
    # Pictures before tables.
    yield from drawn(judge, shown, "", document.settings.reference)
    yield from _whole(studies)
    yield from _of_judge(judge, document.settings, name=name)


def _whole(studies: Sequence[BesideAudit]) -> Iterator[Part]:
    """Yield the parts of studies that are no judge's own."""
    yield from (replace(part, role="detail") for study in studies for part in study.whole)


def _several(
    document: AuditDocument, exhibits: ExhibitsDocument | None, studies: Sequence[BesideAudit]
) -> Iterator[Block]:
    judges, settings = document.judges, document.settings
    yield from side_by_side(document)
    yield from _whole(studies)
    role: Literal["part", "long"] = "part" if len(judges) <= _IN_FULL else "long"
    places = {name: at for at, name in enumerate(judges, start=1)}
    for name, judge in by_recovery(judges).items():
        anchor = f"judge-{places[name]}"
        shown = None if exhibits is None else exhibits.judges.get(name)
        blocks: list[Block] = []
        if len(judges) <= MOST_DRAWN:
            blocks += drawn(judge, shown, f"{anchor}-", settings.reference)
        blocks += _of_judge(judge, settings, f"{anchor}-")
        blocks.append(verdict(judge, settings, alone=False, shown=shown))
        studied = [part for study in studies if name in study.by_judge for part in study.by_judge[name]]
        blocks += [replace(part, role="detail", anchor=f"{anchor}-{part.anchor}") for part in studied]
        yield Part(printable(name), blocks, role, anchor=anchor, folded=in_a_line(judge))
    if role == "long":
        yield from dropped_prompts(judges)
        told = f"Every metric of all {count(len(judges))} judges is in the JSON document (--json FILE)."
        yield Part("", [Said("note", told)])


def _of_judge(judge: JudgeFound, settings: AuditSettings, prefix: str = "", name: str = "") -> Iterator[Block]:
    yield data(judge, f"{prefix}data", name, settings.reference)
    if judge.labelled_cells is not None:
        yield who_was_labelled(judge.labelled_cells, f"{prefix}labelled-cells")
    yield metrics(judge, settings, f"{prefix}metrics")
    if judge.candidate_effects is not None:
        yield preferences_at_equal_label(judge.candidate_effects, f"{prefix}equal-label")
    yield from missing_labels(judge, settings.reference, f"{prefix}missing-labels")

"""A study on the page of an audit: with the judge whose it is, and without what the audit tells already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bonwise.documents.audit import AuditDocument
from bonwise.documents.audited.data import AuditData
from bonwise.documents.study import StudyDocument, StudyJudge
from bonwise.documents.study_settings import StudySettings
from bonwise.printable import printable
from bonwise.report.blocks import Block, Part, Said
from bonwise.report.described.audited.judges import MOST_DRAWN
from bonwise.report.described.studied.data import data_blocks
from bonwise.report.described.studied.described_study import DescribedStudy
from bonwise.report.described.studied.undrawn import undrawn
from bonwise.report.described.study import described, not_studied

__all__ = ["BesideAudit", "beside_audit"]

_DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class BesideAudit:
    """The parts of a study on the page of an audit."""

    by_judge: Mapping[str, Sequence[Part]] = field(default_factory=dict)
    """Those for the part of each judge; empty where the study compares judges, or was made on another table."""
    whole: Sequence[Part] = ()
    """Those that are no judge's own."""


def beside_audit(study: StudyDocument, audit: AuditDocument) -> BesideAudit:
    """Describe a study beside an audit.

    Nothing is drawn of an audit of more than `MOST_DRAWN` judges. What the study rests on is told only where it
    differs from the data of the audit.

    Parameters
    ----------
    study : StudyDocument
        Of any study.
    audit : AuditDocument
        Of one judge or of several.
    """
    many = len(audit.judges) > MOST_DRAWN
    left = list(not_studied(study))
    if not _is_by_judge(study, audit):
        return BesideAudit(whole=[*_parts(described(study), many=many), *_data(study, audit), *left])
    if many and len(study.judges) > MOST_DRAWN and (instead := described(study).instead) is not None:
        return BesideAudit(whole=[_in_place_of_all(instead, study), *_data(study, audit), *left])
    by_judge = {}
    for name in study.judges:
        alone = study.of_one_judge(name)
        by_judge[name] = [*_parts(described(alone), many=many), *_data(alone, audit)]
    return BesideAudit(by_judge, left)


def _is_by_judge(study: StudyDocument, audit: AuditDocument) -> bool:
    """Tell whether each judge of the study has a part of its own on the page."""
    same = isinstance(study.settings, StudySettings) and study.settings.source == audit.settings.source
    return audit.several and same and bool(study.judges) and set(study.judges) <= set(audit.judges)


def _parts(found: DescribedStudy, *, many: bool) -> Iterator[Part]:
    several = len(found.judges) > 1
    for at, (name, part) in enumerate(found.judges.items(), start=1):
        title = f"{found.heading}: {printable(name, longest=60)}" if several else found.heading
        anchor = f"{found.anchor}-{at}" if several else found.anchor
        shown = undrawn(part) if many else part
        yield Part(title, [*found.notes, *shown.blocks], anchor=anchor)
    if found.together:
        yield Part(found.heading, [*found.notes, *found.together], anchor=found.anchor)


def _in_place_of_all(part: Part, study: StudyDocument) -> Part:
    told = f"What was found of each judge, with every interval, is printed by bonwise study {study.study_name()}."
    return replace(part, blocks=[*part.blocks, Said("note", told)])


def _data(study: StudyDocument, audit: AuditDocument) -> Iterator[Part]:
    """Yield the counts of a study that the page of the audit does not say already."""
    counts: dict[str, Mapping[str, int]] = {}
    losses: dict[str, Mapping[str, Mapping[str, int]]] = {}
    for name, judge in study.judges.items():
        known = audit.judges.get(name)
        counts[name] = _untold(judge, None if known is None else known.data)
        losses[name] = _lost(judge, None if known is None else known.data)
    counts = {name: some for name, some in counts.items() if some}
    blocks: list[Block] = list(data_blocks(counts, losses))
    if blocks:
        name = study.study_name()
        said = (
            f"What the study of {name}{_whose(study, audit)} rests on, where that differs from the data of the audit."
        )
        yield Part(f"Data of the study of {name}", [Said("note", said), *blocks], anchor=f"{name}-data")


def _whose(study: StudyDocument, audit: AuditDocument) -> str:
    settings = study.settings
    if not isinstance(settings, StudySettings) or settings.source == audit.settings.source:
        return ""
    return f" of {printable(settings.source, longest=120)}"


def _untold(judge: StudyJudge, known: AuditData | None) -> dict[str, int]:
    told = {} if known is None else _told(known)
    return {key: many for key, many in judge.data.plain().items() if many and many not in told.get(key, ())}


def _lost(judge: StudyJudge, known: AuditData | None) -> dict[str, dict[str, int]]:
    lost = judge.data.lost()
    # Prompts that the audit dropped too stand among its own data.
    if known is not None and lost.get(_DROPPED) == Counter(one.reason for one in known.dropped):
        lost.pop(_DROPPED, None)
    return lost


def _told(data: AuditData) -> dict[str, set[int]]:
    """Return, by the key of a study, the counts that the audit's own part tells.

    By key, for a count is not told because a number of something else happens to be the same.
    """
    prompts = {data.prompts, data.labelled_prompts}
    return {
        **dict.fromkeys(("prompts", "studied_prompts", "mixed_prompts"), prompts),
        "rows": {data.rows},
        "unlabelled_prompts": {data.prompts - data.labelled_prompts},
    }

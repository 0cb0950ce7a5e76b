"""A study put into blocks, on a page of its own or on the page of an audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import takewhile

from bonwise.auditing import result, result_labels, view_judges
from bonwise.printable import file_name, printable
from bonwise.report import answers, table_facts
from bonwise.report.blocks import Block, Part, Said, Table, drawings_of
from bonwise.report.limits import limits
from bonwise.studies.description import DescribedStudy, data_blocks, left_out, study_facts, undrawn
from bonwise.studies.result import StudyDocument, StudyJudge
from bonwise.table.facts import JudgeCounts, StudyCounts, StudySettings

_UNDRAWN = (
    f"No judge is drawn: up to {view_judges.MOST_DRAWN} judges are. Every figure is in the JSON document "
    "(--json FILE)."
)


def describe(document: StudyDocument) -> Part:
    """Describe a study of any kind, on a page of its own."""
    found, settings = described(document), document.settings
    judges = [
        replace(
            part,
            blocks=_answer_first(part.blocks, document.judges[name].data),
            anchor=f"{found.anchor}-{at}" if len(found.judges) > 1 else found.anchor,
        )
        for at, (name, part) in enumerate(found.judges.items(), start=1)
    ]
    blocks: list[Block] = [Table.facts(found.facts or _facts(document)), *found.notes]
    if isinstance(settings, StudySettings):
        blocks += [
            *table_facts.labels_left_out(settings.labels_left_out, settings.unlabelled),
            *table_facts.values_read_as(settings),
        ]
    if len(judges) > view_judges.MOST_DRAWN and any(drawings_of(judges)):
        judges = [undrawn(part) for part in judges]
        blocks.append(Part("", [Said("note", _UNDRAWN)], "detail"))
    if found.instead is not None and len(judges) > view_judges.MOST_DRAWN:
        blocks.append(replace(found.instead, role="detail"))
    blocks += [*judges, *found.together, *_data(document, told=found.judges), *not_studied(document)]
    reference = settings.reference if isinstance(settings, StudySettings) else None
    stated = answers.of_judges(found.answers, found.question, found.then)
    blocks += [*([] if stated is None else [answers.verdict(stated)]), limits(found.limits, reference=reference)]
    return Part(found.title, blocks)


def answer(document: StudyDocument) -> answers.StatedVerdict | None:
    """Return what a study answers; None of one that asks nothing, as of pairs that are still to be judged."""
    study = described(document)
    return answers.of_judges(study.answers, study.question, study.then)


def described(document: StudyDocument) -> DescribedStudy:
    """Return what the ``view.py`` of a study says of its document."""
    module = import_module(f"bonwise.studies.{document.study_name().replace('-', '_')}.view")
    made: Callable[[StudyDocument], DescribedStudy] = module.described
    return made(document)


def not_studied(document: StudyDocument) -> Iterator[Part]:
    """Yield the judges that were not studied, and why; nothing where there are none."""
    said = [
        Said("caveat", f"{printable(name, longest=60)}: {printable(why, longest=200)}")
        for name, why in document.not_studied.items()
    ]
    if said:
        yield Part("Not studied", said, anchor="not-studied")


def _answer_first(blocks: Sequence[Block], data: StudyCounts) -> list[Block]:
    """Put what was left out of the figures of a judge below the sentences that its blocks begin with."""
    found = takewhile(lambda one: isinstance(one, Said) and one.role in {"lead", "finding"}, blocks)
    many = len(list(found))
    return [*blocks[:many], *left_out(data), *_unused(data), *blocks[many:]]


def _unused(data: StudyCounts) -> Iterator[Said]:
    """Yield how many labels are in no figure because their prompts are labelled in part."""
    if isinstance(data, JudgeCounts) and data.unused_labels is not None:
        yield Said("caveat", data.unused_labels.sentence)


def _facts(document: StudyDocument) -> list[tuple[str, str]]:
    settings = document.settings
    return list(study_facts(settings, len(document.judges))) if isinstance(settings, StudySettings) else []


def _data(document: StudyDocument, told: Collection[str]) -> Iterator[Part]:
    """Yield the counts behind the figures, and what was left out of judges without a part that tells it."""
    counts = {name: judge.data.plain() for name, judge in document.judges.items()}
    losses = {name: judge.data.lost() for name, judge in document.judges.items() if name not in told}
    blocks = list(data_blocks(counts, losses))
    if blocks:
        yield Part("Data", blocks, "detail", anchor="data")


_DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class BesideAudit:
    """The parts of a study on the page of an audit."""

    by_judge: Mapping[str, Sequence[Part]] = field(default_factory=dict)
    """Those for the part of each judge; empty where the study compares judges, or was made on another table."""
    whole: Sequence[Part] = ()
    """Those that are no judge's own."""


def beside_audit(study: StudyDocument, audit: result.Audit) -> BesideAudit:
    """Describe a study beside an audit: no figure beyond `MOST_DRAWN` judges, its data only where they differ."""
    many = len(audit.judges) > view_judges.MOST_DRAWN
    left = list(not_studied(study))
    if not _is_by_judge(study, audit):
        return BesideAudit(whole=[*_parts(described(study), many=many), *_data_beside(study, audit), *left])
    if many and len(study.judges) > view_judges.MOST_DRAWN and (instead := described(study).instead) is not None:
        return BesideAudit(whole=[_in_place_of_all(instead, study), *_data_beside(study, audit), *left])
    by_judge = {}
    for name in study.judges:
        alone = study.of_one_judge(name)
        by_judge[name] = [*_parts(described(alone), many=many), *_data_beside(alone, audit)]
    return BesideAudit(by_judge, left)


def _is_by_judge(study: StudyDocument, audit: result.Audit) -> bool:
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


def _data_beside(study: StudyDocument, audit: result.Audit) -> Iterator[Part]:
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


def _whose(study: StudyDocument, audit: result.Audit) -> str:
    settings = study.settings
    if not isinstance(settings, StudySettings) or settings.source == audit.settings.source:
        return ""
    return f" of {file_name(settings.source, longest=120)}"


def _untold(judge: StudyJudge, known: result_labels.AuditData | None) -> dict[str, int]:
    told = {} if known is None else _told(known)
    return {key: many for key, many in judge.data.plain().items() if many and many not in told.get(key, ())}


def _lost(judge: StudyJudge, known: result_labels.AuditData | None) -> dict[str, dict[str, int]]:
    lost = judge.data.lost()
    # Prompts that the audit dropped too stand among its own data.
    if known is not None and lost.get(_DROPPED) == Counter(one.reason for one in known.dropped):
        lost.pop(_DROPPED, None)
    if known is not None and known.unscored is not None:
        lost.pop("unscored", None)
    return lost


def _told(data: result_labels.AuditData) -> dict[str, set[int]]:
    """Return by study key the counts that the audit tells: equal numbers may be of different things."""
    prompts = {data.prompts, data.labelled_prompts}
    return {
        **dict.fromkeys(("prompts", "studied_prompts", "mixed_prompts"), prompts),
        "rows": {data.rows},
        "unlabelled_prompts": {data.prompts - data.labelled_prompts},
    }

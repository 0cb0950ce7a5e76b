"""A study: what its own module says of it, and what is said of every study in one way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import takewhile

from bonwise.documents.judge_counts import JudgeCounts, StudyCounts
from bonwise.documents.study import StudyDocument
from bonwise.documents.study_settings import StudySettings
from bonwise.printable import printable
from bonwise.report.blocks import Block, Part, Said, Table, drawings_of
from bonwise.report.described.answer import verdict_of_judges
from bonwise.report.described.audited.judges import MOST_DRAWN
from bonwise.report.described.labels_left_out import labels_left_out
from bonwise.report.described.limits import limits
from bonwise.report.described.studied.answers import answers_of, next_of
from bonwise.report.described.studied.data import data_blocks, left_out
from bonwise.report.described.studied.described_study import DescribedStudy
from bonwise.report.described.studied.facts import study_facts
from bonwise.report.described.studied.undrawn import undrawn

__all__ = ["describe", "described", "not_studied"]

_UNDRAWN = f"No judge is drawn: up to {MOST_DRAWN} judges are. Every figure is in the JSON document (--json FILE)."


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
        blocks += labels_left_out(settings.labels_left_out)
    if len(judges) > MOST_DRAWN and any(drawings_of(judges)):
        judges = [undrawn(part) for part in judges]
        blocks.append(Part("", [Said("note", _UNDRAWN)], "detail"))
    if found.instead is not None and len(judges) > MOST_DRAWN:
        blocks.append(replace(found.instead, role="detail"))
    blocks += [*judges, *found.together, *_data(document, told=found.judges), *not_studied(document)]
    reference = settings.reference if isinstance(settings, StudySettings) else None
    blocks += [
        *verdict_of_judges(answers_of(document), next_of(document)),
        limits(document.study_name(), reference=reference),
    ]
    return Part(found.title, blocks)


def described(document: StudyDocument) -> DescribedStudy:
    """Return what the module of a study says of its document."""
    module = import_module(f"bonwise.report.described.studies.{document.study_name().replace('-', '_')}")
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

"""The page of an audit: its document, what is shown beside it, and the file of all prompts."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from bonwise.auditing import next_steps, per_prompt, result_exhibits, view
from bonwise.auditing.exhibits import exhibits
from bonwise.auditing.result import Audit
from bonwise.auditing.what_if import what_if
from bonwise.errors import FileError, InputError, UsageError
from bonwise.extras import PAGES
from bonwise.printable import printable
from bonwise.report.blocks import Block, Drawing, FigureData, Part, Said, Table, drawings_of
from bonwise.report.show import describe
from bonwise.results import Document
from bonwise.studies import labelled_panels, registration, result
from bonwise.studies.view import BesideAudit, beside_audit
from bonwise.table import words, writing

if TYPE_CHECKING:
    from bonwise.auditing.judge_record import AuditParts


_DRAWINGS: WeakKeyDictionary[AuditParts, list[Drawing[FigureData]]] = WeakKeyDictionary()
"""Of audits that are still in use."""


def write_page(
    audit: Audit,
    path: str | Path,
    *,
    pools: str | Path | None = None,
    also: Sequence[Document] = (),
    then: Sequence[Said] | None = None,
) -> Path | None:
    """Write the page as `Audit.to_html`, and return the file of all prompts beside it where it cannot show them."""
    others = _results(also)
    pools = audit.settings.pools if pools is None else pools
    _check_target(Path(path), audit, pools)
    shown = _exhibits(audit, pools, others)
    beside = _documents_beside(audit, others)
    then = next_steps.next_in_python(audit) if then is None else then
    if len(shown.prompts.rows) == shown.prompts.of:
        writing.write_whole(Path(path), audit_page(audit, shown, beside, then=then))
        return None
    if writing.is_in_place(path):
        raise FileError(f"{path}: not all prompts fit on the page, and no file is next to it", hint="name a file")
    all_prompts, rows = per_prompt.all_prompts_file(path), writing.csv_frame(audit.per_prompt())
    _check_target(all_prompts, audit, pools)
    per_prompt.refuse_other_file(all_prompts, rows.partition("\n")[0])
    text = audit_page(audit, shown, beside, all_prompts.name, then)
    writing.write_whole(Path(path), text)  # first: prompts beside no page would be no use
    writing.write_whole(all_prompts, rows)
    return all_prompts


def page_drawings(audit: Audit) -> list[Drawing[FigureData]]:
    """Return the drawings of the page of an audit, in its order; nothing is painted, and studies are made once."""
    parts = _parts(audit)
    if parts not in _DRAWINGS:
        shown = _exhibits(audit, audit.settings.pools)
        described = described_with(audit, shown, _documents_beside(audit, ()))
        _DRAWINGS[parts] = list(drawings_of(described.blocks))
    return list(_DRAWINGS[parts])


def _parts(audit: Audit) -> AuditParts:
    parts: AuditParts = audit.source_of("this page")
    return parts


def _exhibits(audit: Audit, pools: str | Path | None, also: Iterable[object] = ()) -> result_exhibits.Exhibits:
    parts, settings = _parts(audit), audit.settings
    return exhibits(
        tuple(parts.judges.values()),
        parts.table,
        words.Words(parts.table, pools),
        seed=settings.seed,
        confidence=settings.confidence,
        gate=settings.deciding,
        what_if=what_if(
            parts.judges, parts.settings, source=settings.source, reference=settings.reference, also=also
        ),
    )


def _documents_beside(audit: Audit, others: Sequence[Document]) -> list[Document]:
    """Return what the page shows beside the audit: the studies that every page has, then what was given."""
    given = {document.study_name() for document in others if isinstance(document, result.StudyDocument)}
    return [*_studies(audit, given), *others]


def _check_target(target: Path, audit: Audit, pools: str | Path | None) -> None:
    """Refuse what cannot be written, or would take the place of what the page is made from."""
    real = Path(os.path.realpath(target))
    # The name of a frame is any text; no path holds this letter.
    files = (source for source in _sources(audit, pools) if "\0" not in str(source))
    if real in {Path(os.path.realpath(source)) for source in files}:
        raise UsageError(f"{target} is read for the page, and would be overwritten", hint="name another file")
    writing.refuse_unwritable(target)


def _sources(audit: Audit, pools: str | Path | None) -> Iterator[str | Path]:
    """Yield the files behind a page; a table that came from none goes by a name that is not a file's."""
    parts = _parts(audit)
    yield audit.settings.source
    if parts.picks is not None:
        yield parts.picks.source
    if parts.table.label_rows is not None:
        yield parts.table.label_rows.source
    if pools is not None:
        yield pools


def _results(also: Sequence[Document]) -> list[Document]:
    hint = "give a list of what bonwise functions return, such as also=[bonwise.study_mix(...)]"
    if isinstance(also, Document | str | Mapping) or not isinstance(also, Iterable):
        raise UsageError(f"also={type(also).__name__} is not a list of results", hint=hint)
    found = list(also)
    for one in found:
        if not isinstance(one, Document):
            raise UsageError(
                f"also holds {printable(repr(one), longest=60)}, which is not a result with a page", hint=hint
            )
    if any(isinstance(one, Audit) for one in found):
        raise UsageError(
            "also holds an audit, which has a page of its own",
            hint="call its to_html; also= takes studies, routes, comparisons and plans",
        )
    return found


def _studies(audit: Audit, given: Collection[str]) -> list[Document]:
    """Return the documents of the studies that every audit page shows where the data allow them, but for some."""
    judged = _judged(audit)
    if judged is None:
        return []
    found: list[Document] = []
    for study in registration.studies():
        shown = study.with_audit
        if shown is None or study.document.study_name() in given or not shown.when(_parts(audit).settings):
            continue
        try:
            found.append(shown.study(judged))
        except InputError as error:
            found.append(result_exhibits.Note.on(shown.title, error.message))
    return found


def _judged(audit: Audit) -> labelled_panels.LabelledPanels | None:
    """Return the audit's own panels for a study; None where picks hold no scores, or no pool is labelled whole."""
    parts = _parts(audit)
    usable = {
        name: judge.labelling
        for name, judge in parts.judges.items()
        if not judge.logged and judge.labelling.labelled.any()
    }
    if not usable:
        return None
    return labelled_panels.LabelledPanels(
        parts.table,
        {name: one.panel.keep(one.labelled) for name, one in usable.items()},
        {name: len(one.panel.sizes) for name, one in usable.items()},
        {name: "complete" if one.method == "complete" else "labelled_only" for name, one in usable.items()},
        dict(audit.not_audited),
        parts.settings,
    )


_LIMITS = "not-established"


def audit_page(
    audit: Audit,
    exhibits: result_exhibits.Exhibits,
    studies: Sequence[Document] = (),
    more: str | None = None,
    then: Sequence[Said] = (),
) -> str:
    """Return an audit as one HTML page; `more` names the file beside it with a row for each prompt."""
    PAGES.require("a page")
    from bonwise.report.page.rendered import whole_page  # noqa: PLC0415 - drawing loads matplotlib

    return whole_page(described_with(audit, exhibits, studies, more, then))


def described_with(
    audit: Audit,
    exhibits: result_exhibits.Exhibits,
    studies: Sequence[Document] = (),
    more: str | None = None,
    then: Sequence[Said] = (),
) -> Part:
    """Return the description of the page; the parameters are those of `audit_page`."""
    return view.describe_with(audit, exhibits, [_described_beside(study, audit) for study in studies], more, then)


def _described_beside(document: Document, audit: Audit) -> BesideAudit:
    if isinstance(document, result.StudyDocument):
        return beside_audit(document, audit)
    # The prompts of the page are those of the audit.
    described = describe(document.with_samples(()))
    # The head of the page says the settings already.
    blocks = [block for block in described.blocks if not (isinstance(block, Table) and block.role == "facts")]
    # The page has a verdict and limits of its own; the answer is said here, and in one sentence.
    answers = [said for block in blocks if _is_verdict(block) for said in block.blocks if _leads(said)]  # type: ignore[union-attr]
    blocks = [
        block
        for block in blocks
        if not _is_verdict(block) and not (isinstance(block, Part) and block.anchor == _LIMITS)
    ]
    return BesideAudit(whole=[Part(described.title, [*answers, *blocks])])


def _is_verdict(block: Block) -> bool:
    return isinstance(block, Part) and block.role == "verdict"


def _leads(block: Block) -> bool:
    return isinstance(block, Said) and block.role == "lead"

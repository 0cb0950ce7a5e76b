"""The page of an audit with what stands beside its figures."""

from __future__ import annotations

from collections.abc import Sequence

from bonwise.documents.audit import AuditDocument
from bonwise.documents.document import Document
from bonwise.documents.exhibits import ExhibitsDocument
from bonwise.documents.study import StudyDocument
from bonwise.extras import PAGES
from bonwise.report.blocks import Block, Part, Said, Table
from bonwise.report.described.audit import describe_with
from bonwise.report.described.studied.beside import BesideAudit, beside_audit
from bonwise.report.show import describe

__all__ = ["audit_page", "described_with"]


_LIMITS = "not-established"


def audit_page(
    audit: AuditDocument,
    exhibits: ExhibitsDocument,
    studies: Sequence[Document] = (),
    more: str | None = None,
    then: Sequence[Said] = (),
) -> str:
    """Return an audit as one HTML page.

    Parameters
    ----------
    audit : AuditDocument
    exhibits : ExhibitsDocument
        What is drawn, and the prompts where judges lost most.
    studies : sequence of Document
        Studies, routing and notes made on the table of the audit.
    more : str, optional
        Name of the file beside the page that holds a row for each prompt.
    then : sequence of Said
        What to type next: sentences and commands.
    """
    PAGES.require("a page")
    from bonwise.report.page.rendered import whole_page  # noqa: PLC0415 - drawing loads matplotlib

    return whole_page(described_with(audit, exhibits, studies, more, then))


def described_with(
    audit: AuditDocument,
    exhibits: ExhibitsDocument,
    studies: Sequence[Document] = (),
    more: str | None = None,
    then: Sequence[Said] = (),
) -> Part:
    """Return the description of the page; the parameters are those of `audit_page`."""
    return describe_with(audit, exhibits, [_beside(one, audit) for one in studies], more, then)


def _beside(document: Document, audit: AuditDocument) -> BesideAudit:
    if isinstance(document, StudyDocument):
        return beside_audit(document, audit)
    described = describe(document)
    # The head of the page says the settings already.
    blocks = [one for one in described.blocks if not (isinstance(one, Table) and one.role == "facts")]
    # The page has a verdict and limits of its own; the answer is said here, and in one sentence.
    answers = [said for one in blocks if _is_verdict(one) for said in one.blocks if _leads(said)]  # type: ignore[union-attr]
    blocks = [one for one in blocks if not _is_verdict(one) and not (isinstance(one, Part) and one.anchor == _LIMITS)]
    return BesideAudit(whole=[Part(described.title, [*answers, *blocks])])


def _is_verdict(block: Block) -> bool:
    return isinstance(block, Part) and block.role == "verdict"


def _leads(block: Block) -> bool:
    return isinstance(block, Said) and block.role == "lead"

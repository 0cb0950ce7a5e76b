"""The one way from a document to what a person reads: described once, then rendered."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from rich.console import RenderableType

from bonwise.errors import UsageError
from bonwise.extras import PAGES
from bonwise.report.blocks import Drawing, FigureData, Part, drawings_of
from bonwise.report.console import plain
from bonwise.report.markdown import rendered as as_markdown
from bonwise.report.terminal import renderables

if TYPE_CHECKING:
    from bonwise.documents.document import Document

__all__ = ["describe", "drawings", "is_described", "markdown", "notebook", "page", "printed", "text"]


def describe(document: Document) -> Part:
    """Return the description of a document: a part whose title is that of the whole.

    Raises
    ------
    bonwise.errors.UsageError
        A document that nothing describes, because it is read by programs alone.
    """
    return _describer(document)(document)


def is_described(document: Document) -> bool:
    """Tell whether a document is for people: others are read by programs alone."""
    return find_spec(_module_name(document)) is not None


def printed(document: Document, *, full: bool = False) -> list[RenderableType]:
    """Return what a command prints: the short form of a document that has one, unless all of it is asked for."""
    return list(renderables(describe(document), full=full))


def text(document: Document, *, full: bool = False) -> str:
    """Return a document as plain text; one that nothing describes as JSON."""
    return plain(printed(document, full=full)) if is_described(document) else document.to_json()


def markdown(document: Document) -> str:
    """Return a document as Markdown of GitHub's kind."""
    return as_markdown(describe(document))


def page(document: Document) -> str:
    """Return a document as one HTML page."""
    PAGES.require("a page")
    from bonwise.report.page.rendered import whole_page  # noqa: PLC0415 - drawing loads matplotlib

    return whole_page(describe(document))


def notebook(document: Document) -> str | None:
    """Return a document as part of a notebook; None where no page can be made of it: it shows the text then."""
    if PAGES.missing() or not is_described(document):
        return None
    from bonwise.report.page.rendered import fragment  # noqa: PLC0415 - drawing loads matplotlib

    return fragment(describe(document))


def drawings(document: Document) -> list[Drawing[FigureData]]:
    """Return the drawings of a document."""
    return list(drawings_of(describe(document).blocks))


def _describer(document: Document) -> Callable[[Document], Part]:
    """Return what describes a document: ``describe`` of the module that has its word as name."""
    if not is_described(document):
        raise UsageError(f"a document of schema {document.schema_!r} is read by programs alone")
    made: Callable[[Document], Part] = import_module(_module_name(document)).describe
    return made


def _module_name(document: Document) -> str:
    word = document.schema_.removeprefix("bonwise.").partition("/")[0]
    return f"bonwise.report.described.{word}"

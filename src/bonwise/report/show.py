"""The one way from a document to what a person reads: described once, then rendered."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType

from bonwise.declared import view_of
from bonwise.errors import UsageError
from bonwise.extras import PAGES
from bonwise.report.blocks import Drawing, FigureData, Part, drawings_of
from bonwise.report.markdown import rendered as as_markdown
from bonwise.report.short import in_short as shortened
from bonwise.report.terminal import plain, renderables

if TYPE_CHECKING:
    from bonwise.report.answers import StatedVerdict
    from bonwise.results import Document

__all__ = [
    "answer",
    "by_name",
    "describe",
    "drawings",
    "figure",
    "is_described",
    "markdown",
    "notebook",
    "page",
    "printed",
    "text",
]


def answer(document: Document) -> StatedVerdict | None:
    """Return what a document answers, with which its description opens; None where it asks nothing."""
    answering = view_of(document.schema_, "answer")
    stated: StatedVerdict | None = None if answering is None else answering(document)
    return stated


def describe(document: Document, *, in_short: bool = False) -> Part:
    """Return the description of a document, titled as the whole; one for programs alone is a UsageError.

    `in_short` asks for what a terminal shows at first, by the document's own short form where it has one.
    """
    view, whole = view_of(document.schema_, "short" if in_short else "view"), view_of(document.schema_)
    if view is None:
        raise UsageError(f"a document of schema {document.schema_!r} is read by programs alone")
    described: Part = view(document)
    return shortened(described) if in_short and view is whole else described


def is_described(document: Document) -> bool:
    """Tell whether a document is for people: others are read by programs alone."""
    return view_of(document.schema_) is not None


def printed(document: Document, *, full: bool = False) -> list[RenderableType]:
    """Return what a command prints: the short form of a document that has one, unless all of it is asked for."""
    return renderables(describe(document, in_short=not full), full=full)


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


_OF_AN_AUDIT = re.compile(r"^a-")
_NUMBERED = re.compile(r"^([a-z]+)-(\d+)(?=-|$)")
"""The word of a study, or ``judge``, and the number of the judge."""


def by_name(drawings: Sequence[Drawing[FigureData]]) -> Mapping[str, Drawing[FigureData]]:
    """Return drawings by their names: their keys, without the number of the judge where there is only one."""
    keys = [_OF_AN_AUDIT.sub("", drawing.key) for drawing in drawings]
    numbers: dict[str, set[str]] = {}
    for key in keys:
        if match := _NUMBERED.match(key):
            numbers.setdefault(match[1], set()).add(match[2])
    names = [_NUMBERED.sub(r"\1", key) if (word := _word(key)) and len(numbers[word]) == 1 else key for key in keys]
    # What page keys tell apart stays apart.
    return dict(zip(names if len(set(names)) == len(names) else keys, drawings, strict=True))


def figure(drawings: Sequence[Drawing[FigureData]], name: str) -> Drawing[FigureData]:
    """Return the drawing of a name, or the first of the only judge whose name has it as a word; else a UsageError."""
    known = by_name(drawings)
    if name in known:
        return known[name]
    fitting = [drawing_name for drawing_name in known if f"-{name}-" in f"-{drawing_name}-"]
    if not known:
        raise UsageError(f"no figure is named {name!r}: this result has no figures", hint="see to_frame()")
    if not fitting:
        raise UsageError(f"no figure is named {name!r}", hint=f"choose of {', '.join(known)}")
    if len({match[0] for drawing_name in fitting if (match := _NUMBERED.match(drawing_name))}) > 1:
        raise UsageError(f"several judges have a figure {name!r}", hint=f"choose of {', '.join(fitting)}")
    return known[fitting[0]]


def _word(key: str) -> str:
    match = _NUMBERED.match(key)
    return match[1] if match else ""

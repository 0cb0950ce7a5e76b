"""Documents as whole pages for a browser, and as parts of a notebook."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any, cast

from bonwise.errors import UsageError
from bonwise.release import release
from bonwise.report.page.addresses import apart
from bonwise.report.page.contents import contents
from bonwise.report.page.environment import environment
from bonwise.report.page.excerpt import excerpt
from bonwise.report.page.head import facts, title
from bonwise.report.page.layout import Page, Part
from bonwise.report.page.section import MOST_DRAWN, Section
from bonwise.report.page.studied import findings, not_studied, study_data

__all__ = ["fragment", "page"]

_Document = Mapping[str, Any]

_STUDY = "bonwise.study/1"
_NOTE = "bonwise.note/1"

_LEAD = 2
"""Findings of a study that stand out on its own page."""

_SECTIONS: Mapping[str, str] = {}
"""Who lays out a document, by its schema."""

_UNDRAWN = f"Nothing is drawn: up to {MOST_DRAWN} judges are. Every figure is in the JSON document (--json FILE)."


def page(document: _Document) -> str:
    """Return a document as one HTML page that asks for nothing from elsewhere.

    Parameters
    ----------
    document : mapping
        As ``--json`` writes it: a study, a comparison, or routing.

    Raises
    ------
    bonwise.errors.UsageError
        A document that no page shows.
    """
    laid_out = _laid_out(document)
    templates = environment()
    script = templates.get_template("page.js").render()
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return templates.get_template("page.html").render(
        page=laid_out, contents=contents(laid_out), script_hash=digest, version=release()
    )


def fragment(document: _Document) -> str:
    """Return the findings of a document for a notebook: no script, no headings of a page, styles of its own alone.

    The parameter and the error are those of `page`.
    """
    laid_out = excerpt(_laid_out(document), document)
    return environment().get_template("fragment.html").render(page=laid_out)


def _laid_out(document: _Document) -> Page:
    found = Page(title(document), facts(document), [Part(_alone(document))])
    return replace(found, parts=list(apart(found.parts)))


def _alone(document: _Document) -> list[Section]:
    many = len(document.get("judges", ())) > MOST_DRAWN
    sections = _sections(document, drawn=not many)
    if document.get("schema") != _STUDY:
        return sections
    if many and not any(section.figures for section in sections):
        sections[0] = replace(sections[0], notes=[*sections[0].notes, _UNDRAWN])
    return [*(findings(one, lead=_LEAD) for one in sections), *study_data(document), *not_studied(document)]


def _sections(document: _Document, *, drawn: bool = True) -> list[Section]:
    schema = document.get("schema", "none")
    if schema == _NOTE:
        return [Section(document["title"], "note", sentences=document["sentences"])]
    if schema == _STUDY:
        # Who was not studied, and why, is told of every study in one way.
        document = {**document, "not_studied": {}}
        name = document["study"].replace("-", "_")
        where = f"studies.{name}:{name}_sections"
    elif schema in _SECTIONS:
        where = _SECTIONS[schema]
    else:
        known = ", ".join((_STUDY, *_SECTIONS))
        raise UsageError(f"no page shows a document of schema {schema!r}", hint=f"these have pages: {known}")
    module, function = where.split(":")
    made = getattr(import_module(f"bonwise.report.page.{module}"), function)
    if schema == _STUDY:
        return cast("Callable[..., list[Section]]", made)(document, drawn=drawn)
    return cast("Callable[[_Document], list[Section]]", made)(document)

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
from bonwise.report.page.section import Section

__all__ = ["fragment", "page"]

_Document = Mapping[str, Any]

_NOTE = "bonwise.note/1"

_SECTIONS: Mapping[str, str] = {}
"""Who lays out a document, by its schema."""


def page(document: _Document) -> str:
    """Return a document as one HTML page that asks for nothing from elsewhere.

    Parameters
    ----------
    document : mapping
        As ``--json`` writes it: a comparison, or routing.

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
    found = Page(title(document), facts(document), [Part(_sections(document))])
    return replace(found, parts=list(apart(found.parts)))


def _sections(document: _Document) -> list[Section]:
    schema = document.get("schema", "none")
    if schema == _NOTE:
        return [Section(document["title"], "note", sentences=document["sentences"])]
    if schema not in _SECTIONS:
        known = ", ".join(_SECTIONS)
        raise UsageError(f"no page shows a document of schema {schema!r}", hint=f"these have pages: {known}")
    module, function = _SECTIONS[schema].split(":")
    made = getattr(import_module(f"bonwise.report.page.{module}"), function)
    return cast("Callable[[_Document], list[Section]]", made)(document)

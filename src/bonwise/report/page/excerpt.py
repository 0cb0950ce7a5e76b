"""What of a page stands in a notebook: the findings, the main tables, a drawing or two."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from bonwise.report.page.addresses import renamed
from bonwise.report.page.layout import Page, Part
from bonwise.report.page.section import Section

__all__ = ["excerpt"]

_DRAWINGS = 2
_SECTIONS = 4

_SHOWN = count(1)
"""Outputs of this process: a notebook may show one result in two places."""


def excerpt(page: Page, document: Mapping[str, Any]) -> Page:
    """Return the first part of a page with few drawings, whose addresses no other output of a notebook has.

    Parameters
    ----------
    page : Page
    document : mapping
        What the page shows.
    """
    first = page.parts[0]
    digest = hashlib.sha256(json.dumps(document, sort_keys=True, default=str).encode()).hexdigest()[:10]
    sections = _few_drawings(first.sections[:_SECTIONS], f"b{digest}-{next(_SHOWN)}-")
    return Page(page.title, page.facts, [Part(sections, verdict=first.verdict)])


def _few_drawings(sections: Sequence[Section], prefix: str) -> list[Section]:
    left, found = _DRAWINGS, []
    for section in sections:
        figures = [replace(one, svg=renamed(one.svg, prefix)) for one in section.figures[:left]]
        left -= len(figures)
        found.append(replace(section, figures=figures))
    return found

"""Addresses on a page: each means one thing, whoever named it, in drawings too."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

from bonwise.report.page.layout import Part
from bonwise.report.page.section import Figure, Section

__all__ = ["apart", "renamed"]

_OF_THE_PAGE = ("main", "verdict", "prompts", "prompt-table", "prompt-search", "prompt-shown")

_TAG = re.compile(r"<[^>]*>")
_ADDRESS = re.compile(r'(\bid="|url\(#|xlink:href="#)')
_ID = re.compile(r'<[^>]*?\bid="([^"]*)"')


def apart(parts: Sequence[Part]) -> Iterator[Part]:
    """Yield parts in which no two sections, and no two pieces of drawings, have one address.

    Two studies may have named a section alike, and one drawing may stand on a page twice.

    Parameters
    ----------
    parts : sequence of Part
    """
    sections: Counter[str] = Counter(_OF_THE_PAGE)
    drawn: set[str] = set()
    for part in parts:
        yield replace(part, sections=[_apart(section, sections, drawn) for section in part.sections])


def renamed(svg: str, prefix: str) -> str:
    """Return a drawing in which every address, and what refers to it, begins with a prefix."""
    return _TAG.sub(lambda tag: _ADDRESS.sub(rf"\g<1>{prefix}", tag.group()), svg)


def _apart(section: Section, sections: Counter[str], drawn: set[str]) -> Section:
    sections[section.anchor] += 1
    seen = sections[section.anchor]
    anchor = section.anchor if seen == 1 else f"{section.anchor}-{seen}"
    return replace(section, anchor=anchor, figures=[_drawn_once(one, anchor, drawn) for one in section.figures])


def _drawn_once(figure: Figure, anchor: str, drawn: set[str]) -> Figure:
    ids = set(_ID.findall(figure.svg))
    if ids.isdisjoint(drawn):
        drawn |= ids
        return figure
    prefixes = (f"{anchor}-{at}-" for at in count(1))
    prefix = next(one for one in prefixes if drawn.isdisjoint({f"{one}{name}" for name in ids}))
    drawn |= {f"{prefix}{name}" for name in ids}
    return replace(figure, svg=renamed(figure.svg, prefix))

"""What a reader may want to go to on a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bonwise.report.page.layout import Page, Part

__all__ = ["Entry", "contents"]

_IN_FULL, _SHOWN = 3, 12
"""Judges with their sections, and judges at all, that are listed: a list must stay shorter than what it leads to."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A place on the page.

    Parameters
    ----------
    anchor : str
        Empty for a heading of those inside.
    title : str
    inside : sequence of Entry
    folded : bool
        Whether those inside are shown on demand alone.
    """

    anchor: str
    title: str
    inside: Sequence[Entry] = ()
    folded: bool = False


def contents(page: Page) -> list[Entry]:
    """Return the places of a page, those of a judge inside its own; none where there are too few to list.

    Parameters
    ----------
    page : Page
    """
    found = list(_parts(page.parts))
    if page.prompts is not None:
        found.append(Entry("prompts", "Where the judge lost most"))
    return found if len(found) > 2 else []


def _parts(parts: Sequence[Part]) -> Iterator[Entry]:
    judges = [part for part in parts if part.title]
    for part in parts:
        if not part.title:
            yield from _sections(part)
        elif len(judges) <= _SHOWN:
            yield Entry(part.anchor, part.title, list(_sections(part)) if len(judges) <= _IN_FULL else ())
        elif part is judges[0]:
            inside = [Entry(one.anchor, one.title) for one in judges]
            yield Entry("", f"{len(judges):,} judges", inside, folded=True)


def _sections(part: Part) -> Iterator[Entry]:
    for section in part.sections:
        yield Entry(section.anchor, section.title)

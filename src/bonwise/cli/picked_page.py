"""The page of a run of ``bonwise select``: the first picks with their words, and the totals of all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bonwise.cli.arguments import say
from bonwise.errors import BonwiseError

if TYPE_CHECKING:
    from bonwise.cli.summary import Course
    from bonwise.data.pool import Pool
    from bonwise.routing.router import Router
    from bonwise.selection.selection import Selection
    from bonwise.selection.totals import Totals

__all__ = ["MOST_PARAMETERS", "MOST_POOLS", "MOST_ROWS", "PickedPage"]

MOST_PARAMETERS = 100
"""Sets of parameters of models that are told apart."""

MOST_POOLS = 500
MOST_ROWS = 20_000
"""Candidates and comparisons of all pools that are shown."""


@dataclass(slots=True)
class PickedPage:
    """Collects what the page shows while pools and picks pass, in bounded memory.

    Names and words take 6,000,000 bytes of a page at most; names go before words.

    Parameters
    ----------
    path : pathlib.Path
        Of the page.
    source : str
        Where the pools come from.
    totals : Totals
        Of all picks; who writes the picks keeps them.
    router : Router, optional
        Says which pools go to a stronger judge; picks name that judge alone.
    """

    path: Path
    source: str
    totals: Totals
    router: Router | None = None
    _settings: dict[str, Any] = field(default_factory=dict)
    _parameters: list[Any] = field(default_factory=list)
    _coming: dict[str, dict[str, Any]] = field(default_factory=dict)
    _picks: list[dict[str, Any]] = field(default_factory=list)
    _read: int = 0
    _words: int = 0
    _names: int = 0
    _rows: int = MOST_ROWS

    def __post_init__(self) -> None:
        from bonwise.report.page.environment import MOST_BYTES

        self._words = self._names = MOST_BYTES

    def passing(self, pools: Iterator[Pool]) -> Iterator[Pool]:
        """Yield the pools; of the first ones the words are kept until their pick comes."""
        for pool in pools:
            if self._read < MOST_POOLS:
                self._read += 1
                self._coming[pool.prompt_id] = self._words_of(pool)
            yield pool

    def note(self, pick: Selection) -> None:
        """Take in a pick; they come in the order of the pools."""
        self._settings = self._settings or dict(pick.settings)
        self._note_parameters(pick.settings.get("parameters") or ())
        words = self._coming.pop(pick.prompt_id or "", None)
        if words is None:
            return
        if self._has_room(pick):
            line = pick.to_dict()
            del line["text"], line["settings"]  # the words hold the text, and the page the settings
            self._picks.append({"pick": line, **words})

    def document(self, ended: str) -> dict[str, Any]:
        """Return the document of schema ``bonwise.selections/1``."""
        totals = self.totals.to_dict()
        settings = {"source": self.source, "ended": ended, **self._settings, "parameters": self._parameters}
        if self.router is not None:
            settings |= {"signal": self.router.signal, "share": self.router.share}
        return {
            "schema": "bonwise.selections/1",
            "settings": settings,
            "totals": totals,
            "picks": list(self._fitting()),
            "of": totals["pools"],
        }

    def leave(self, course: Course | None) -> bool:
        """Write the page, where anything was picked, and tell whether that could be done.

        Parameters
        ----------
        course : Course or None
            How the run went; None where an error ended it.
        """
        from bonwise.data.writing import write_whole
        from bonwise.report.page.pages import page

        document = self.document(_ended(course))
        if not document["of"]:
            say(f"nothing was picked, so {self.path} is not written")
            return True
        try:
            write_whole(self.path, page(document))
        except BonwiseError as error:
            say(str(error))  # what ended the run decides the exit code
            return False
        return True

    def _note_parameters(self, asked_with: Iterable[Any]) -> None:
        """Keep what models were asked with, each set once: a pick has those of its own questions alone."""
        for one in asked_with:
            if len(self._parameters) < MOST_PARAMETERS and one not in self._parameters:
                self._parameters.append(one)

    def _has_room(self, pick: Selection) -> bool:
        """Take the room for a pick's names; from the first pick on that has none, no pick has."""
        self._rows -= len(pick.ids) + len(pick.comparisons)
        names = _bytes_of_names(pick) if self._rows >= 0 else 0
        if names > self._names:
            self._rows = -1
        if self._rows < 0:
            return False
        self._names -= names
        return True

    def _fitting(self) -> Iterator[dict[str, Any]]:
        """Yield what is shown; where the names leave too little room the later ones come without words."""
        from bonwise.report.page.environment import page_bytes

        room = self._names
        for one in self._picks:
            room -= page_bytes(one["prompt"]) + sum(page_bytes(each["text"]) for each in one["candidates"])
            yield one if room >= 0 else _wordless(one)

    def _words_of(self, pool: Pool) -> dict[str, Any]:
        candidates = [{"id": one.id, **self._kept("text", one.text)} for one in pool.candidates]
        return {**self._kept("prompt", pool.prompt), "candidates": candidates}

    def _kept(self, name: str, text: str) -> dict[str, Any]:
        """Return a text where there is room for it, cut, and the number of characters that are left out."""
        from bonwise.report.page.environment import LONGEST_TEXT, page_bytes

        kept = text[:LONGEST_TEXT]
        taken = page_bytes(kept)
        if taken > self._words:
            kept, taken = "", 0
        self._words -= taken
        return {name: kept, f"{name}_left_out": len(text) - len(kept)}


def _bytes_of_names(pick: Selection) -> int:
    from bonwise.printable import printable
    from bonwise.report.page.environment import LONGEST_NAME, MARKUP, page_bytes
    from bonwise.report.page.selection_page import MOST_COMPARISONS

    compared = (name for pair in pick.comparisons[:MOST_COMPARISONS] for name in (pair.a, pair.b))
    names = [pick.prompt_id, *pick.ids, *pick.unscored.values(), *compared]
    return sum(page_bytes(printable(name, longest=LONGEST_NAME)) + MARKUP for name in names)


def _wordless(one: dict[str, Any]) -> dict[str, Any]:
    candidates = [{**each, **_left_out(each, "text")} for each in one["candidates"]]
    return {**one, **_left_out(one, "prompt"), "candidates": candidates}


def _left_out(holder: dict[str, Any], name: str) -> dict[str, Any]:
    return {name: "", f"{name}_left_out": holder[f"{name}_left_out"] + len(holder[name])}


def _ended(course: Course | None) -> str:
    """Return why not every pool may be there, nothing where they all are."""
    if course is None or course.failure is not None:
        return "an error ended the run"
    return "the run was interrupted" if course.interrupted else ""

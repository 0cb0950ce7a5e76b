"""What every page is made of: sections of sentences, figures and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bonwise.report.blocks import Drawing
from bonwise.report.page.canvas import drawn

__all__ = ["MOST_DRAWN", "Figure", "Section", "Table", "figures_of"]

MOST_DRAWN = 6
"""Judges of a page that have drawings of their own: a drawing takes a third of a second."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing with what it says in words.

    Parameters
    ----------
    svg : str
        As `bonwise.report.page.canvas.drawn` makes it: trusted markup, every name in it escaped.
    title : str
        Short; text, escaped by the page.
    says : str
        What is to be seen, with its figures: the caption, and what a screen reader reads.
    """

    svg: str
    title: str
    says: str


def figures_of(drawings: Iterable[Drawing[Any]]) -> list[Figure]:
    """Paint drawings for a section."""
    return [Figure(_painted(one), one.title, one.says) for one in drawings]


def _painted(drawing: Drawing[Any]) -> str:
    return drawn(lambda axes: drawing.painter(axes, drawing.data), key=drawing.key, size=drawing.size)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text.

    Parameters
    ----------
    headers : sequence of str
    rows : sequence of sequence of str
        Cells as they are to be read; the page escapes them and writes out what cannot be printed.
    title : str
    words : sequence of int
        Columns of words, set to the left; the others hold figures.
    strong : sequence of int
        Rows to stand out.
    code : sequence of int
        Columns of commands: each cell is one line to be copied, never broken.
    """

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    words: Sequence[int] = (0,)
    strong: Sequence[int] = ()
    code: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page under a heading.

    Parameters
    ----------
    title : str
    anchor : str
        Its address on the page: lower-case letters, digits and hyphens.
    sentences : sequence of str
        What was found, before any drawing.
    figures : sequence of Figure
    tables : sequence of Table
    notes : sequence of str
        What to keep in mind, below.
    """

    title: str
    anchor: str
    sentences: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()

"""A page that is made from the code."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MadePage"]


@dataclass(frozen=True)
class MadePage:
    """A page of the site that is made from the code.

    Parameters
    ----------
    title : str
        In the menu.
    text : str
        In Markdown.
    """

    title: str
    text: str

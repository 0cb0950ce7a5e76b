"""A page as a printer would get it: the PDF that the browser makes, read sheet by sheet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pypdfium2

__all__ = ["MARGINS", "Sheet", "sheets"]

MARGINS = dict.fromkeys(("top", "bottom", "left", "right"), "15mm")
_A4, _MARGIN = 297.0, 15.0
"""Millimetres."""

_LIGHT = 240
"""Grey that counts as paper."""


@dataclass(frozen=True)
class Sheet:
    """One sheet.

    Parameters
    ----------
    words : str
        Without blanks: where letters stand apart the reader takes each for a word.
    filled : float
        Share of the height within the margins down to the last ink.
    picture : PIL.Image.Image
    """

    words: str
    filled: float
    picture: object


def sheets(page):
    """Print a page on A4 and return its sheets."""
    # Browsers leave backgrounds out unless they are told to print them.
    document = pypdfium2.PdfDocument(page.pdf(format="A4", margin=MARGINS))
    try:
        return [_sheet(one) for one in document]
    finally:
        document.close()


def _sheet(one):
    picture = one.render(scale=0.7).to_pil().convert("L")
    dark = np.flatnonzero((np.asarray(picture) < _LIGHT).any(axis=1))
    lowest = (dark[-1] + 1) / picture.height * _A4 if dark.size else _MARGIN
    words = one.get_textpage().get_text_range()
    return Sheet("".join(words.split()), (lowest - _MARGIN) / (_A4 - 2 * _MARGIN), picture)

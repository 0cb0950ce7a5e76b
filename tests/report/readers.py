"""Show a document to every reader, and look at what they see."""

from __future__ import annotations

import html
import re

from bonwise.report.show import markdown, notebook, page, text

__all__ = ["HOSTILE", "harmless", "in_a_column", "lost", "words"]

HOSTILE = "<script>alert(1)</script>|`x`\x1b[31m\n# \u202e"
"""A name as a file may hold it."""


def words(markup):
    """Return the words of a page or of a part of a notebook, without styles and scripts."""
    whole = re.sub(r"<wbr>|</?b>(?=[\w$,.;:%)-])|(?<=\()</?b>", "", markup)
    body = re.sub(r"<(style|script)[^>]*>.*?</\1>", "", whole, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def in_a_column(figure):
    """Return a figure as a column may write it: with its own decimals, or with those of a narrower neighbour."""
    own = getattr(figure, "decimals", None)
    return [figure] if own is None else [figure.write(decimals) for decimals in range(own, 7)]


def lost(document):
    """Return the words of the whole text not on the page; headings need no colon, and verdicts a question."""
    said, shown = (one.replace("Next:", "Next") for one in (text(document, full=True), words(page(document))))
    return set(said.replace("─", " ").split()) - {"Verdict:", *shown.split()}


def harmless(document):
    """Show a document in all four ways and check that no name in it is more than text."""
    shown = [text(document, full=True), page(document), notebook(document), markdown(document)]
    for one in shown:
        assert "alert(1)" in one
        assert "\x1b" not in one
        assert "\u202e" not in one
    # What stands in a fence of code is no markup.
    for one in (*shown[1:3], re.sub(r"^(`{3,})sh\n.*?\n\1$", "", shown[3], flags=re.MULTILINE | re.DOTALL)):
        assert "<script>alert" not in one
    assert "\n# " not in shown[0] + shown[3]
    return shown

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.printable import listed, printable, quoted


@given(st.text())
def test_words_stay_on_their_line(text):
    """Whatever a file holds, its words in a message are printable and can be encoded."""
    for words in (printable(text), quoted(text), listed([text])):
        assert words.isprintable()
        words.encode()


@given(st.text(st.characters(categories=["L", "N", "P"])))
def test_printable_text_is_left_alone(text):
    """Text that can be printed is quoted as it is, in any script."""
    assert printable(text) == text


class Loud:
    """An object whose repr spans lines."""

    def __repr__(self):
        return "a\n\x1b[31mb" * 100


@pytest.mark.parametrize("value", ["x" * 10**6, ["x"] * 10**5, Loud(), b"x" * 10**6, 10**4000])
def test_a_quoted_cell_is_short(value):
    """A cell is quoted in forty characters at most, whatever it holds."""
    assert len(quoted(value)) <= 40
    assert quoted(value).isprintable()
    assert quoted(value).endswith("...")


def test_short_cells_are_quoted_whole():
    """A cell that fits is quoted whole, text with its quotes."""
    assert (quoted("a'b"), quoted(0.5), quoted("")) == ('"a\'b"', "0.5", "''")


def test_long_lists_are_cut():
    """A dozen names are listed and the others counted; each name is cut at sixty characters."""
    assert listed("ab") == "a, b"
    assert listed(range(14)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 more"
    assert listed(["x" * 100]) == "x" * 60

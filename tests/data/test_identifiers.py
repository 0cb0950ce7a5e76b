from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.errors import RowError
from bonwise.table.identifiers import as_categories

# No blanks, no words for nothing, and no whole numbers with a point: what stands for itself.
WORDS = st.text(st.characters(exclude_categories=["Cs"])).map("name {}".format)
NAMES = WORDS | st.sampled_from(["b", "B", "10", "9", "a b"])


def named(values, **options):
    """Return the identifiers of a column, row by row."""
    return list(as_categories(pd.Series(values, **options), role="prompt_id", source="t"))


@pytest.mark.parametrize("value", [1, 1.0, "1", "1.0", np.int8(1), np.float32(1), Decimal("1.0")])
def test_the_number_one_is_one_identifier(value):
    """The integer, the float and the text of a whole number are one identifier, alone or mixed."""
    assert named([value]) == ["1"]
    assert named(["1", value, "2"], dtype=object) == ["1", "1", "2"]


@pytest.mark.parametrize(
    "text", ["001", "01.0", "1.00", "1.10", "v1.0", "1.0.0", "-0.0", ".0", "1e3", " 1", "+1.0", "1.5"]
)
def test_any_other_text_stays_as_it_is(text):
    """Leading zeros, versions and blanks within an identifier are part of it."""
    assert named([text]) == [text]


def test_large_integers_keep_every_digit():
    """An integer beyond the precision of a float is not rounded."""
    assert named([2**63 + 1, 10**30, 9007199254740993], dtype=object) == [
        str(2**63 + 1),
        str(10**30),
        "9007199254740993",
    ]


@given(st.lists(NAMES, min_size=1))
def test_categories_are_sorted_and_rows_keep_their_names(names):
    """Categories are the distinct names in the order of text, and each row keeps its own."""
    found = as_categories(pd.Series(names, dtype=object), role="prompt_id", source="t")
    assert list(found) == names
    assert list(found.categories) == sorted(set(names))


@pytest.mark.parametrize("cell", [None, "", "  ", "\u00a0", np.nan, pd.NA])
def test_a_blank_identifier_is_refused(cell):
    """A row without an identifier is refused with its number."""
    with pytest.raises(RowError, match="t, row 8: no prompt_id"):
        named(["a", cell, ""], index=[7, 8, 9], dtype=object)


@pytest.mark.parametrize("word", ["NA", "null", "n/a", "None", "nan", "<NA>"])
def test_a_word_is_an_identifier(word):
    """What a person calls NA is called NA: only a cell without text has no identifier."""
    assert named(["a", word]) == ["a", word]


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        (b"1", "bytes"),
        (bytearray(b"1"), "an object"),
        (["a"], "an object"),
        ({"a": 1}, "an object"),
        (("a",), "an object"),
    ],
)
def test_what_is_no_text_is_refused(cell, kind):
    """Bytes, lists and objects are nobody's identifier: their row is named."""
    with pytest.raises(RowError, match=f"t, row 8: the prompt_id is {kind}"):
        named(["a", cell, "b"], index=[7, 8, 9], dtype=object)


def test_control_characters_tell_identifiers_apart():
    """Identifiers that differ only behind a NUL or in what cannot be printed are different."""
    assert len(set(named(["a\0b", "a\0c", "a", "a\u200b"]))) == 4

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.data.numbers import first_text_row, is_blank, parse_numbers
from bonwise.errors import RowError


def parsed(values, **options):
    """Parse a column of cells."""
    return parse_numbers(pd.Series(values, **options), role="judge_score", source="t").tolist()


@given(st.lists(st.floats(-1e99, 1e99), min_size=1))
def test_numbers_survive_every_representation(values):
    """A float is the same to the bit as a float, as its text, and as an object."""
    assert parsed(values) == values
    assert parsed([repr(value) for value in values]) == values
    assert parsed(values, dtype=object) == values


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("true", 1),
        ("FALSE", 0),
        (True, 1),
        (" 1.5 ", 1.5),
        ("+1", 1),
        ("1.", 1),
        ("1e-3", 0.001),
        (Decimal("0.1"), 0.1),
    ],
)
def test_cells_are_numbers(cell, value):
    """Truth values, blanks around a number and decimals of any type are numbers."""
    assert parsed([cell, None], dtype=object)[0] == value


@pytest.mark.parametrize(
    "cell", ["", " ", "nan", "NaN", "None", "null", "NA", "n/a", "<NA>", None, np.nan, pd.NA, pd.NaT]
)
def test_cells_are_blank(cell):
    """Nothing, and a word for nothing, is missing rather than zero."""
    column = pd.Series([cell, "1"], dtype=object)
    assert is_blank(column).tolist() == [True, False]
    assert np.isnan(parse_numbers(column, role="r", source="t")).tolist() == [True, False]


@pytest.mark.parametrize(
    "cell", ["x", "1,5", "1 2", "0x1A", "1_000", "--1", "½", "\uff15", "yes", [1], {"a": 1}, b"1", 1j]
)
def test_anything_else_is_refused_by_row(cell):
    """What is not a number stops with its row; it is never turned into zero or a guess."""
    column = pd.Series(["1", cell, "also text"], dtype=object, index=[5, 7, 9])
    assert first_text_row(column) == 7
    with pytest.raises(RowError, match=r"t, row 7: judge_score holds .*, which is not a number"):
        parse_numbers(column, role="judge_score", source="t")


@pytest.mark.parametrize("value", [np.inf, -np.inf, "inf", "-Infinity", "1e400", 10**400, 1e300, -1.01e100])
def test_what_cannot_be_squared_is_refused(value):
    """Infinite values, and those whose squares would be, are refused with their row."""
    with pytest.raises(RowError, match=r"t, row 1: judge_score holds .* is (infinite|too large)"):
        parsed([0.5, value], dtype=object if isinstance(value, int) else None)


@pytest.mark.parametrize("dtype", ["float32", "Int64", "boolean", "Float64", "int8", "double[pyarrow]", "category"])
def test_every_type_of_column_is_read(dtype):
    """Numbers of any column type, with blanks where the type has them, are the same numbers."""
    column = pd.Series([1, 0, 1]).astype(dtype)
    assert parse_numbers(column, role="r", source="t").tolist() == [1, 0, 1]
    if dtype[0].isupper() or dtype == "boolean":
        column[1] = pd.NA
        np.testing.assert_array_equal(parse_numbers(column, role="r", source="t"), [1, np.nan, 1])

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.errors import RowError
from bonwise.table.numbers import first_text_row, is_blank, parse_numbers, read_numbers
from bonwise.table.score_table import ScoreTable


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


@pytest.mark.parametrize(
    ("cells", "values", "reading"),
    [
        (["85%", "7.5 %", "12,5%", ""], [0.85, 0.075, 0.125, np.nan], "percent, 85% = 0.85"),
        (["4 stars", "1 star"], [4, 1], "stars, 4 stars = 4"),
        (["\u2605\u2605\u2606", "\u2605\u2606\u2606"], [2, 1], "stars, \u2605\u2605\u2606 = 2"),
        (["4/5", "3.5 / 5"], [0.8, 0.7], "fractions, 4/5 = 0.8"),
        (["7 out of 10", "9 out of 10"], [0.7, 0.9], "fractions, 7 out of 10 = 0.7"),
        (["8,500", "900", "1,000,000.5"], [8500, 900, 1000000.5], "commas between thousands, 8,500 = 8500"),
        (["8,5", "0,25", "1"], [8.5, 0.25, 1], "decimal commas, 8,5 = 8.5"),
        (["1,500", "0,850", "2,5"], [1.5, 0.85, 2.5], "decimal commas, 1,500 = 1.5"),
        (["1.234,5", "2,0"], [1234.5, 2], "decimal commas, 1.234,5 = 1234.5"),
    ],
)
def test_numbers_as_people_write_them(cells, values, reading):
    """A column in one style is read, and the style is said with an example."""
    found, said = read_numbers(pd.Series(cells), role="r", source="t")
    np.testing.assert_allclose(found, values, rtol=1e-15)
    assert said == reading


@pytest.mark.parametrize(
    ("cells", "row"),
    [
        (["85%", "90%", "0.7"], 2),
        (["4 stars", "5 stars", "4/5"], 2),
        (["8,5", "7,5", "1.5"], 2),
        (["4/5", "3/5", "1/0"], 2),
        (["8,500", "1,23,4", "7,000"], 1),
        (["85%", "x", "y", "z"], 0),
    ],
)
def test_a_second_style_is_refused_by_row(cells, row):
    """A plain number beside percents could be on another scale; what is in another style is never guessed."""
    with pytest.raises(RowError, match=f"t, row {row}: r holds .* not a number"):
        parse_numbers(pd.Series(cells), role="r", source="t")


def test_a_comma_is_that_of_the_file(tmp_path):
    """Where semicolons separate cells 8,500 is 8.5; elsewhere it is 8500. Text beside it is a row of its own."""
    rows = {"prompt_id": ["p", "p"], "candidate": ["a", "b"], "score": ["8,500", "7,250"]}
    pd.DataFrame(rows).to_csv(tmp_path / "comma.csv", index=False)
    pd.DataFrame(rows).to_csv(tmp_path / "semicolon.csv", index=False, sep=";")
    assert ScoreTable.read(tmp_path / "comma.csv").frame["judge_score"].tolist() == [8500, 7250]
    table = ScoreTable.read(tmp_path / "semicolon.csv")
    assert table.frame["judge_score"].tolist() == [8.5, 7.25]
    assert table.readings == {"judge_score": "decimal commas, 8,500 = 8.5"}


@given(st.lists(st.floats(-1e6, 1e6).map(lambda value: round(value, 3)), min_size=1))
def test_one_style_gives_the_numbers_back(values):
    """Percents, decimal commas and grouped thousands of the same numbers are the same numbers."""
    np.testing.assert_allclose(parsed([f"{value!r}%" for value in values]), np.array(values) / 100)
    for cells in ([f"{value:,.4f}" for value in values], [f"{value:.4f}".replace(".", ",") for value in values]):
        np.testing.assert_allclose(parsed(cells), values)

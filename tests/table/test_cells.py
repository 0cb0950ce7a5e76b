"""Single cells, numbers in every spelling, rows, and arguments that mean nothing."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bonwise as bw
from bonwise.errors import InputError, RowError, UsageError
from bonwise.table.cells import distinct_cells, label_by_cell, mean_by_cell, positions
from bonwise.table.checks import check, check_confidence, check_seed, check_shape, check_share, number, whole
from bonwise.table.numbers import first_text_row, is_blank, parse_numbers, read_numbers
from bonwise.table.opening import open_table
from bonwise.table.score_table import ScoreTable

KEYS = st.lists(st.integers(0, 9), max_size=20).map(lambda keys: np.array(keys, dtype=np.int64))


@given(KEYS, KEYS)
def test_positions_are_those_of_a_plain_search(keys, cells):
    """Distinct keys are the sorted set, and each key stands where that set has it, or at -1."""
    cells = distinct_cells(cells)
    assert cells.tolist() == sorted(set(cells.tolist()))
    listed = cells.tolist()
    assert positions(keys, cells).tolist() == [listed.index(k) if k in listed else -1 for k in keys.tolist()]


VALUES = st.lists(st.tuples(st.integers(-1, 3), st.sampled_from([0.1, 0.2, 0.3, 0.7, np.nan])), max_size=12)


@given(VALUES, st.randoms(use_true_random=False))
def test_means_do_not_depend_on_the_order_of_rows(rows, random):
    """The mean of a cell is that of its values, the same bits in any order; a cell of blanks is blank."""
    at, values = np.array([r[0] for r in rows], dtype=np.int64), np.array([r[1] for r in rows], dtype=float)
    found = mean_by_cell(at, values, 4)
    order = list(range(len(rows)))
    random.shuffle(order)
    assert found.tobytes() == mean_by_cell(at[order], values[order], 4).tobytes()
    for cell in range(4):
        mine = values[(at == cell) & ~np.isnan(values)]
        np.testing.assert_allclose(found[cell], mine.mean() if len(mine) else np.nan, rtol=1e-12)
        assert len(mine) != 1 or found[cell] == mine[0]


@given(VALUES)
def test_exactly_the_contradictions_are_found(rows):
    """A row contradicts where its label differs from the first one of its cell; without any, labels are those."""
    at, values = np.array([r[0] for r in rows], dtype=np.int64), np.array([r[1] for r in rows], dtype=float)
    labels, contradictions = label_by_cell(at, values, 4)
    first = {}
    expected = []
    for row, (cell, value) in enumerate(rows):
        if cell >= 0 and not np.isnan(value) and first.setdefault(cell, value) != value:
            expected.append(row)
    assert contradictions.tolist() == expected
    if not expected:
        np.testing.assert_array_equal(labels, [first.get(cell, np.nan) for cell in range(4)])


def parsed(values, **options):
    """Parse a column of cells."""
    return parse_numbers(pd.Series(values, **options), role="judge_score", source="t").tolist()


@given(st.lists(st.floats(-1e99, 1e99).map(lambda value: value if abs(value) > 1e-150 else 0.0), min_size=1))
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


# Arguments that mean nothing are refused in one line, whatever their kind.


@pytest.mark.parametrize("value", [0.49, 1, float("nan"), "0.95", None, True])
def test_what_is_no_confidence(value):
    """A confidence lies in [0.5, 1)."""
    with pytest.raises(UsageError, match="confidence must"):
        check_confidence(value)


@pytest.mark.parametrize("value", [-1, 1.5, "1", None, True])
def test_what_is_no_seed(value):
    """A seed is a whole number that is not negative."""
    with pytest.raises(UsageError, match="seed must"):
        check_seed(value)


@pytest.mark.parametrize("value", [0, 1, -0.1, float("nan")])
def test_what_is_no_share(value):
    """A share lies between 0 and 1."""
    with pytest.raises(UsageError, match="a share must lie between 0 and 1"):
        check_share(value)


@pytest.mark.parametrize("value", ["square", 1, ["ragged"]])
def test_what_is_no_shape(value):
    """A shape is one of two words."""
    with pytest.raises(UsageError, match="no shape"):
        check_shape(value)


def test_what_passes():
    """Numbers of numpy's are numbers; a shape may be left out."""
    check_confidence(np.float64(0.5))
    check_seed(np.int64(0))
    check_share(0.5)
    for shape in (None, "rectangular", "ragged"):
        check_shape(shape)
    check("n", np.int64(2), whole(2, "a whole number, 2 or more"))


@pytest.mark.parametrize("value", [0, float("inf"), float("nan"), True, "1", None, [1]])
def test_a_limit_holds_for_every_kind_of_value(value):
    """The message names the argument, and the hint the limit."""
    above = number(lambda found: found > 0, "a number above 0")
    with pytest.raises(UsageError) as caught:
        check("width (--width)", value, above, said="cannot be", it="it")
    assert caught.value.message.startswith("width (--width) cannot be ")
    assert caught.value.hint == "it is a number above 0"


# What a table may come from: rows as mappings, and objects that hold scores.


ROWS = [
    {"prompt_id": f"p{prompt}", "candidate": name, "judge_score": score, "oracle_label": label}
    for prompt in range(30)
    for name, score, label in (("a", 0.1 * (prompt % 7), 0.0), ("b", 0.5, 1.0), ("c", 0.3, 0.5))
]
LABELS = [{name: row[name] for name in ("prompt_id", "candidate", "oracle_label")} for row in ROWS]
SCORES = [{name: row[name] for name in ("prompt_id", "candidate", "judge_score")} for row in ROWS]


class Held:
    """Holds scores that are made a table on demand."""

    def to_table(self):
        """Return the table."""
        return bw.ScoreTable.from_frame(pd.DataFrame(SCORES))


def figures(result):
    """Return what an audit found, without the name of what it read."""
    document = result.to_dict()
    return {name: value for name, value in document.items() if name not in ("source", "settings")}


def test_rows_are_a_table():
    """An audit of rows is that of the frame they make."""
    assert figures(bw.audit(ROWS)) == figures(bw.audit(pd.DataFrame(ROWS)))
    assert figures(bw.audit(tuple(ROWS))) == figures(bw.audit(ROWS))


def test_labels_are_rows_too():
    """Scores that an object holds are joined with labels given as rows."""
    assert figures(bw.audit(Held(), labels=LABELS)) == figures(bw.audit(ROWS))


def test_other_functions_take_rows():
    """A plan, a route and a draw of labels read rows as an audit does."""
    two = [dict(row, judge=judge) for row in ROWS for judge in ("weak", "strong")]
    assert bw.route(two).to_text(full=True) == bw.route(pd.DataFrame(two)).to_text(full=True)
    rows, frame = (bw.draw_labels(one, labels=30) for one in (SCORES, pd.DataFrame(SCORES)))
    assert rows.sheet.equals(frame.sheet)
    asked = {"question": "recovery", "half_width": 0.1}
    assert bw.plan(**asked, pilot=ROWS).to_text(full=True) == bw.plan(**asked, pilot=pd.DataFrame(ROWS)).to_text(
        full=True
    )


def test_a_value_that_a_row_lacks_is_blank():
    """As a blank cell of a file, a missing label is none."""
    rows = [{**row} for row in ROWS]
    del rows[0]["oracle_label"]
    assert open_table(rows).frame["oracle_label"].isna().sum() == 1


def test_the_rows_of_a_caller_stay_as_they_are():
    """Nothing is written into what was given."""
    rows = [{**row} for row in ROWS]
    bw.audit(rows)
    assert rows == ROWS


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ([*ROWS[:2], 7], "row 2 .* is a int, not a mapping"),
        ([ROWS], "row 0 .* is a list, not a mapping"),
        (iter(ROWS), "list_iterator is not a table"),
        (7, "int is not a table"),
    ],
    ids=["a number", "a list within", "an iterator", "no table"],
)
def test_what_is_no_row_is_refused(source, says):
    """The error names the row."""
    with pytest.raises(UsageError, match=says):
        bw.audit(source)


def test_no_rows_are_refused():
    """An empty list is no table."""
    with pytest.raises(InputError, match="no rows"):
        bw.audit([])

"""What a table may come from: rows as mappings, and objects that hold scores."""

from __future__ import annotations

import pandas as pd
import pytest

import bonwise as bw
from bonwise.errors import InputError, UsageError
from bonwise.table.opening import open_table

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
    assert str(bw.route(two)) == str(bw.route(pd.DataFrame(two)))
    rows, frame = (bw.draw_labels(one, labels=30) for one in (SCORES, pd.DataFrame(SCORES)))
    assert rows.sheet.equals(frame.sheet)
    asked = {"question": "recovery", "half_width": 0.1}
    assert str(bw.plan(**asked, pilot=ROWS)) == str(bw.plan(**asked, pilot=pd.DataFrame(ROWS)))


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

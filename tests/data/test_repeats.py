from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.auditing.front import audit
from bonwise.doctoring.front import doctor
from bonwise.errors import ColumnError, RowError
from bonwise.table.cell_scores import cell_repeats
from bonwise.table.panel import lay_out
from bonwise.table.scales import Scale
from bonwise.table.score_table import ScoreTable

DRAWS = st.lists(
    st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.7, 1.0, float("nan")]), min_size=3, max_size=3), min_size=4, max_size=4
).filter(lambda rows: all(any(v == v for v in row) for row in rows))  # noqa: PLR0124 - NaN


def wide(draws, **columns):
    """Lay two pools of two candidates out with their draws in columns."""
    frame = pd.DataFrame({"prompt_id": ["p", "p", "q", "q"], "candidate": ["a", "b", "a", "b"]})
    for at in range(len(draws[0])):
        frame[f"draw_{at}"] = [row[at] for row in draws]
    return frame.assign(**columns)


def long(draws):
    """Lay the same pools out with their draws in rows, the last one first."""
    rows = [
        (p, c, at, value)
        for (p, c), mine in zip([("p", "a"), ("p", "b"), ("q", "a"), ("q", "b")], draws, strict=True)
        for at, value in reversed(list(enumerate(mine)))
    ]
    return pd.DataFrame(rows, columns=["prompt_id", "candidate", "draw", "judge_score"])


SIMPLE = [[0.5, 0.7], [0.4, 0.4], [0.9, 0.1], [0.3, 0.3]]


def repeats(frame, **reading):
    """Read a frame and take the repeats of its first judge."""
    table = ScoreTable.from_frame(frame, **reading)
    return cell_repeats(table, lay_out(table)[0])


@given(draws=DRAWS)
def test_columns_and_rows_of_draws_are_one_table(draws):
    """Draws in columns and draws in rows give the same scores to the bit, and the same repeats."""
    panels = [lay_out(ScoreTable.from_frame(frame))[0] for frame in (wide(draws), long(draws))]
    assert panels[0].scores.tolist() == panels[1].scores.tolist()
    found = [repeats(frame) for frame in (wide(draws), long(draws))]
    np.testing.assert_array_equal(found[0].draws, np.array(draws))
    np.testing.assert_array_equal(found[1].draws, np.array(draws))
    np.testing.assert_array_equal(found[0].first, [row[0] for row in draws])


def test_a_score_of_its_own_stands_before_the_mean_of_the_draws():
    """A column of scores is the score; without one the mean of the draws is, and the columns say so."""
    table = ScoreTable.from_frame(wide(SIMPLE, judge_score=[0.1, 0.2, 0.3, 0.4]))
    assert table.frame["judge_score"].tolist() == [0.1, 0.2, 0.3, 0.4]
    assert (table.columns["judge_score"], table.columns["draws"]) == ("judge_score", "draw_0 to draw_1")
    assert table.draws == 1
    table = ScoreTable.from_frame(wide(SIMPLE))
    assert table.frame["judge_score"].tolist() == pytest.approx([0.6, 0.4, 0.5, 0.3])
    assert table.columns["judge_score"] == "draw_0 to draw_1, averaged"
    assert (table.draws, table.strata) == (2, ())


def test_one_draw_may_be_named_as_the_score():
    """A column of draws that is named for the score is the score, and stays the draw that it is."""
    found = repeats(wide(SIMPLE), columns={"judge_score": "draw_1"})
    assert found.first.tolist() == [0.5, 0.4, 0.9, 0.3]
    table = ScoreTable.from_frame(wide(SIMPLE), columns={"judge_score": "draw_1"})
    assert table.frame["judge_score"].tolist() == [0.7, 0.4, 0.1, 0.3]


def test_the_first_pass_is_the_score_where_there_is_one_else_the_first_draw():
    """A score of its own, such as the mean of the draws, is the first pass; of draws alone, draw 0 is."""
    means = [0.6, 0.4, 0.5, 0.3]
    own, drawn, same = (
        repeats(wide(SIMPLE, **more)) for more in ({"judge_score": means}, {}, {"judge_score": [0.5, 0.4, 0.9, 0.3]})
    )
    assert (own.first.tolist(), own.first_of) == (means, "score")
    assert (drawn.first.tolist(), drawn.first_of) == ([0.5, 0.4, 0.9, 0.3], "draw_0")
    assert same.first_of == "draw_0"
    table = ScoreTable.from_frame(wide(SIMPLE, judge_score=means))
    forced = cell_repeats(table, lay_out(table)[0], one_draw=True)
    assert (forced.first.tolist(), forced.first_of) == ([0.5, 0.4, 0.9, 0.3], "draw_0")


def test_draws_and_widths_are_on_the_declared_scale():
    """A declared scale maps draws like scores, and widths by its span alone."""
    tens = [[10 * value + 1 for value in row] for row in SIMPLE]
    found = repeats(wide(tens, ci_width=[1.0, 2.0, 0.0, 10.0]), judge_scale=Scale(1, 11))
    np.testing.assert_allclose(found.draws, SIMPLE)
    np.testing.assert_allclose(found.width, [0.1, 0.2, 0.0, 1.0])
    with pytest.raises(RowError, match="row 3: ci_width 11 lies off"):
        repeats(wide(tens, ci_width=[1.0, 2.0, 0.0, 11.0]), judge_scale=Scale(1, 11))


def test_ends_of_an_interval_make_its_width():
    """Without a column of widths the width is what lies between low and high; with neither there is none."""
    ends = {"low": [0.1, 0.2, 0.3, None], "high": [0.4, 0.4, 0.4, None]}
    np.testing.assert_allclose(repeats(wide(SIMPLE, **ends)).width, [0.3, 0.2, 0.1, np.nan])
    assert repeats(wide(SIMPLE)).width is None


def test_repeats_are_those_of_the_panel_s_judge_and_prompts():
    """In a table of two judges each panel gets its own draws, of a part of its prompts too, or none."""
    other = wide(SIMPLE, judge="plain", judge_score=[1, 2, 3, 4]).assign(draw_0=None, draw_1=None)
    means = [sum(row) / 2 for row in SIMPLE]
    table = ScoreTable.from_frame(pd.concat([other, wide(SIMPLE, judge="drawn", judge_score=means)]))
    drawn, plain = lay_out(table)
    assert cell_repeats(table, plain).draws is None
    assert cell_repeats(table, plain).first.tolist() == [1, 2, 3, 4]
    part = drawn.keep(np.array([False, True]))
    np.testing.assert_array_equal(cell_repeats(table, part).draws, SIMPLE[2:])


def test_ten_and_more_draws_stand_in_the_order_of_their_numbers():
    """Draw 10 follows draw 9 and not draw 1, in either layout."""
    draws = [[at / 20 for at in range(12)]] * 4
    for frame in (wide(draws), long(draws)):
        np.testing.assert_array_equal(repeats(frame).draws, draws)


@pytest.mark.parametrize(
    ("frame", "error", "words"),
    [
        (
            wide(SIMPLE, draw_1=["0.1", "good", "1", "1"]),
            RowError,
            "row 1: draw_1 holds 'good', which is not a number",
        ),
        (wide(SIMPLE, ci_width=[0.1, -0.1, 0, 0]), RowError, "row 1: ci_width is negative"),
        (wide(SIMPLE, draw=[0, 0, 0, 0]), ColumnError, "draw_0 to draw_1 and in rows told apart by 'draw'"),
    ],
    ids=["text", "negative", "both"],
)
def test_what_is_no_draw_is_refused(frame, error, words):
    """Text among draws, a negative width, and draws in both layouts are refused by name."""
    with pytest.raises(error, match=words):
        ScoreTable.from_frame(frame)


@pytest.mark.shared
@pytest.mark.parametrize("name", ["pilot_like_20000", "one_model_20000"])
def test_the_shared_draws_are_audited_and_looked_over(shared, name):
    """Files of nine draws and an interval width are read as such: nothing in them is taken for a stratum."""
    path = shared / "data" / "simulated" / f"{name}.parquet"
    found = doctor(path).to_dict()
    assert (found["strata"], found["columns"]["ci_width"]) == ([], "ci_width")
    assert found["columns"]["judge_score"] == "draw_0 to draw_8, averaged"
    table = ScoreTable.read(path)
    settings = audit(table).to_dict()["settings"]
    assert (settings["draws"], settings["columns"]["draws"]) == (9, "draw_0 to draw_8")
    repeated = cell_repeats(table, lay_out(table)[0])
    assert repeated.draws.shape == (80_000, 9)
    assert repeated.width.min() >= 0

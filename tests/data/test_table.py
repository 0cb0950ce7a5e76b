from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.errors import RowError, UsageError
from bonwise.table.panel import lay_out
from bonwise.table.scales import Scale
from bonwise.table.score_table import ScoreTable

FRAME = pd.DataFrame(
    {
        "prompt_id": list("qqpp"),
        "candidate": list("baba"),
        "judge_score": [1, 2, 3, 4],
        "oracle_label": [None, 1, 0, None],
    }
)
TWO = pd.concat([FRAME.assign(judge="x"), FRAME.assign(judge="y", judge_score=[0.5, 0.25, 0.0, 1.0])])


def test_a_table_says_what_it_holds():
    """Prompts, candidates and judges are sorted; rows keep their order and their numbers."""
    table = ScoreTable.from_frame(FRAME.set_axis(list("wxyz")))
    assert (list(table.prompts), list(table.candidates), table.judges) == (["p", "q"], ["a", "b"], ("judge",))
    assert table.frame.index.tolist() == [0, 1, 2, 3]
    assert table.has_labels
    assert repr(table) == "<ScoreTable: 4 rows, 2 prompts, 1 judges, 2 labelled>"


def test_rows_of_a_frame_are_counted_from_0():
    """Whatever index a frame carries and whatever it is called, its rows count from 0; it is left as it was."""
    frame = FRAME.set_axis([2, 3, 5, 6])
    before = frame.copy()
    for source in ("table", "s.csv"):
        assert ScoreTable.from_frame(frame, source=source).frame.index.tolist() == [0, 1, 2, 3]
    pd.testing.assert_frame_equal(frame, before)


def test_tables_and_audits_can_be_compared_and_kept_in_sets():
    """What holds arrays is itself alone, and never raises when it is compared."""
    one, two = ScoreTable.from_frame(FRAME), ScoreTable.from_frame(FRAME)
    assert one != two
    assert len({one, two}) == 2


@given(st.lists(st.tuples(st.sampled_from("pqr"), st.sampled_from("abc")), min_size=1, max_size=9))
def test_cell_keys_tell_cells_apart(pairs):
    """Two rows have one key exactly where prompt and candidate are the same."""
    frame = pd.DataFrame(pairs, columns=["prompt_id", "candidate"]).assign(judge_score=1, draw=range(len(pairs)))
    keys = ScoreTable.from_frame(frame).cell_keys().tolist()
    assert [a == b for a in keys for b in keys] == [a == b for a in pairs for b in pairs]


@given(st.lists(st.tuples(*map(st.sampled_from, ("pq", "ab", "xy", "12"))), min_size=1, max_size=8))
def test_exactly_the_repeated_rows_are_refused(rows):
    """A table is refused exactly when one judge scores one candidate twice in one draw, and names both rows."""
    frame = pd.DataFrame(rows, columns=["prompt_id", "candidate", "judge", "draw"]).assign(judge_score=1)
    again = [at for at, row in enumerate(rows) if row in rows[:at]]
    if not again:
        assert len(ScoreTable.from_frame(frame).frame) == len(rows)
        return
    with pytest.raises(RowError) as caught:
        ScoreTable.from_frame(frame)
    first = max(at for at in range(again[0]) if rows[at] == rows[again[0]])
    assert f"row {again[0]}: " in str(caught.value)
    assert f"(first in row {first})" in str(caught.value)


def test_draws_count_the_most_scores_of_a_cell():
    """Draws count how often one judge scored one candidate at most, not how many names draws have."""
    assert ScoreTable.from_frame(FRAME).draws == 1
    frame = pd.concat([FRAME.assign(draw=f"run {i}", judge=judge) for i, judge in enumerate("xxy")])
    assert ScoreTable.from_frame(frame).draws == 2


def test_scales_map_scores_to_the_unit():
    """Declared scales map scores, intervals and labels to [0, 1]; a judge without one keeps its scores."""
    frame = TWO.assign(low=0, high=1).astype({"judge_score": float})
    frame.loc[frame["judge"] == "x", "high"] = 4
    table = ScoreTable.from_frame(frame, judge_scale={"x": Scale(0, 4)}, label_scale=Scale(0, 2))
    assert table.frame["judge_score"].tolist() == [0.25, 0.5, 0.75, 1, 0.5, 0.25, 0, 1]
    assert table.frame["high"].tolist() == [1] * 8
    np.testing.assert_array_equal(table.frame["oracle_label"][:4], [np.nan, 0.5, 0, np.nan])


def test_one_scale_serves_every_judge_not_named():
    """The scale of no name holds for each judge without one of its own."""
    scales = {"": Scale(0, 1), "x": Scale(0, 8)}
    table = ScoreTable.from_frame(TWO, judge_scale=scales)
    assert table.frame["judge_score"].tolist() == [0.125, 0.25, 0.375, 0.5, 0.5, 0.25, 0.0, 1.0]
    both = ScoreTable.from_frame(TWO, judge_scale=Scale(0, 4))
    assert both.frame["judge_score"].max() == 1


def test_a_judge_can_be_the_reference():
    """The reference's scores are the labels of the others, averaged over its draws, whatever labels there were."""
    frame = pd.concat(
        [TWO.assign(draw=1), TWO[TWO["judge"] == "y"].assign(draw=2, judge_score=[1.0, 0.25, 0.5, None])]
    )
    table = ScoreTable.from_frame(frame).with_reference("y")
    assert (table.judges, table.reference) == (("x",), "y")
    assert table.frame["oracle_label"].tolist() == [0.75, 0.25, 0.25, 1.0]
    assert table.frame["judge_score"].tolist() == [1, 2, 3, 4]


def test_what_the_reference_left_out_has_no_label():
    """A candidate the reference did not score is unlabelled; a prompt that only it scored is listed as dropped."""
    frame = TWO[~((TWO["judge"] == "y") & (TWO["candidate"] == "a"))]
    frame = pd.concat(
        [frame, pd.DataFrame({"prompt_id": ["z"], "candidate": ["a"], "judge": ["y"], "judge_score": [1]})]
    )
    table = ScoreTable.from_frame(frame).with_reference("y")
    np.testing.assert_array_equal(table.frame["oracle_label"], [0.5, np.nan, 0, np.nan])
    (panel,) = lay_out(table)
    assert [(d.prompt_id, d.reason) for d in panel.dropped] == [("z", "no candidate left")]


def test_a_reference_must_be_one_of_several_judges():
    """A reference that is not a judge, or the only one, is refused."""
    with pytest.raises(UsageError, match=r"no judge named 'z\\n' \(the judges are x, y\)"):
        ScoreTable.from_frame(TWO).with_reference("z\n")
    with pytest.raises(UsageError, match="'judge' is the only judge"):
        ScoreTable.from_frame(FRAME).with_reference("judge")


def test_scales_are_checked_judge_by_judge():
    """One judge on another scale than the labels is found behind another that is on theirs."""
    frame = TWO.assign(oracle_label=[0.5, 0.25, 0.1, 0.9] * 2, judge_score=[0, 1, 0, 1, 50, 60, 70, 80])
    with pytest.raises(RowError, match=r"row 4: scores of 'y' run to 80 but labels to 0\.9: another scale"):
        ScoreTable.from_frame(frame).check_scales()
    ScoreTable.from_frame(frame[:4]).check_scales()


def test_a_table_is_its_own():
    """What is done to a frame after a table was made of it does not reach the table."""
    frame = pd.DataFrame({"prompt_id": ["p", "p"], "candidate": ["a", "b"], "judge_score": [0.5, 1.0], "x": [1, 2]})
    table = ScoreTable.from_frame(frame)
    frame.loc[0, "judge_score"] = frame.loc[0, "x"] = 9
    assert table.frame["judge_score"].tolist() == [0.5, 1.0]
    assert table.frame["x"].tolist() == [1, 2]


def test_propensities_and_bounds_may_be_blank():
    """A blank propensity or bound is none, and bounds may meet."""
    frame = FRAME.assign(propensity=[None, 1, 0.01, 1], low=[None, 1, 1, 1], high=[1, None, 1, 2])
    assert ScoreTable.from_frame(frame).frame["propensity"].isna().tolist() == [True, False, False, False]

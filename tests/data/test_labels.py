from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bonwise.errors import ColumnError, InputError, RowError
from bonwise.table.opening import join_labels
from bonwise.table.reading_options import ReadingOptions
from bonwise.table.scales import Scale
from bonwise.table.score_table import ScoreTable

SCORES = pd.DataFrame({"prompt_id": [1, 1, 2, 2], "candidate": list("abab"), "judge_score": [0.1, 0.2, 0.3, 0.4]})
TABLE = ScoreTable.from_frame(SCORES)


def labels(*rows):
    """Return a label file of rows."""
    return pd.DataFrame(rows, columns=["prompt_id", "candidate", "oracle_label"])


def joined(frame, **options):
    """Return the labels a table got."""
    return join_labels(TABLE, frame, ReadingOptions(**options)).frame["oracle_label"].tolist()


def test_labels_are_joined_on_prompt_and_candidate():
    """Each row gets the label of its prompt and candidate, in whatever order the label file stands."""
    found = joined(labels(("2", "b", 4), ("1", "a", 1), (1.0, "b", 2)))
    np.testing.assert_array_equal(found, [1, 2, np.nan, 4])
    assert not TABLE.has_labels


def test_every_judge_and_draw_gets_the_label():
    """A label belongs to the candidate, so each of its rows carries it."""
    rows = pd.concat([SCORES.assign(judge=judge, draw=draw) for judge in "xy" for draw in "12"])
    found = join_labels(ScoreTable.from_frame(rows), labels((1, "a", 1))).frame
    assert found["oracle_label"].notna().sum() == 4
    assert found.loc[found["oracle_label"].notna(), ["prompt_id", "candidate"]].drop_duplicates().shape == (1, 2)


def test_blank_labels_are_none():
    """A blank label is not a label, and two candidates may have none."""
    found = joined(labels((1, "a", None), (1, "b", ""), (2, "a", "0.5")))
    np.testing.assert_array_equal(found, [np.nan, np.nan, 0.5, np.nan])


@pytest.mark.parametrize("again", [0.5, 0.7, None])
def test_a_second_label_is_refused(again):
    """A candidate labelled in two rows is refused with both rows, even if the labels agree or one is blank."""
    with pytest.raises(RowError, match=r"labels, row 2: '1' / 'a' is labelled again \(first in row 0\)"):
        joined(labels((1, "a", 0.5), (1, "b", 0.5), (1, "a", again)))


def test_strange_candidates_of_a_known_prompt_are_refused():
    """Label rows of no candidate of their prompt are refused, counted, the first five of them named."""
    strangers = [(1, f"z{i}", 1) for i in range(6)]
    with pytest.raises(RowError) as caught:
        joined(labels((9, "a", 1), (1, "a", 1), *strangers))
    assert "labels: 6 label rows match no scored candidate of table (rows 2, 3, 4, 5, 6, ...;" in str(caught.value)
    assert "the first is '1' / 'z0'" in str(caught.value)


def test_labels_of_further_prompts_are_left_out_and_counted():
    """A label file may cover more prompts than the table; theirs are left out and counted, repeated or not."""
    more = [(9, "a", 1), (9, "z", 1), ("x", "a", 0), ("x", "a", 1)]
    found = join_labels(TABLE, labels(*more[:2], (1, "a", 0.5), *more[2:]))
    np.testing.assert_array_equal(found.frame["oracle_label"], [0.5, np.nan, np.nan, np.nan])
    assert found.labels_left_out == {"prompts": 2, "rows": 4}
    assert join_labels(TABLE, labels((1, "a", 1))).labels_left_out == {}


def test_known_names_that_never_met_match_nothing():
    """A prompt and a candidate that both exist, but not together, are no scored candidate."""
    table = ScoreTable.from_frame(SCORES.drop(index=3))
    with pytest.raises(RowError, match="1 label rows match no scored candidate"):
        join_labels(table, labels((1, "a", 1), (2, "b", 1)))


def test_a_file_that_matches_nothing_at_all_is_another_mistake(tmp_path):
    """Labels of another experiment are told apart from a few stray rows, and the columns suspected."""
    path = tmp_path / "labels.csv"
    labels(("p1", "a", 1), ("p2", "b", 1)).to_csv(path, index=False)
    with pytest.raises(RowError, match=r"none of its 2 rows matches .*\(row 2: 'p1' / 'a'\)") as caught:
        joined(path)
    assert str(caught.value).startswith(str(path))
    assert "--prompt-col" in caught.value.hint


def test_two_sets_of_labels_are_refused():
    """A table with labels of its own takes no second set; a column of blanks is not a set."""
    own = SCORES.assign(oracle_label=[1, None, None, None])
    with pytest.raises(InputError, match="table has oracle labels of its own"):
        join_labels(ScoreTable.from_frame(own), labels((1, "a", 1)))
    blank = ScoreTable.from_frame(SCORES.assign(oracle_label=None))
    assert join_labels(blank, labels((1, "a", 1))).has_labels


def test_an_empty_label_frame_is_refused():
    """Labels without rows are a mistake, not a table without labels."""
    with pytest.raises(ColumnError, match="labels: no rows"):
        joined(labels())


def test_only_the_roles_of_labels_are_looked_for():
    """Two columns that would fit a score are no matter in a label file; two that fit a label are."""
    frame = labels((1, "a", 1)).assign(score=1, verdict=1)
    assert joined(frame)[0] == 1
    with pytest.raises(ColumnError, match="'gold' and 'human' both fit oracle_label"):
        joined(frame.rename(columns={"oracle_label": "gold"}).assign(human=1))


def test_names_of_columns_serve_where_they_stand():
    """A named column is taken in the label file if it stands there; a name for the scores alone does no harm."""
    frame = labels((1, "a", 0)).assign(rating=[1])
    assert joined(frame, columns={"oracle_label": "rating", "judge_score": "judge_score"})[0] == 1


@pytest.mark.parametrize("role", ["prompt_id", "candidate", "oracle_label"])
def test_a_named_column_that_stands_nowhere_is_refused(role):
    """A column named for a role of labels that neither file has is refused with the columns there are."""
    with pytest.raises(ColumnError, match=f"labels: no column named 'nope' for {role}") as caught:
        joined(labels((1, "a", 1)), columns={role: "nope"})
    assert "prompt_id, candidate, oracle_label" in caught.value.hint


def test_the_name_of_a_column_of_the_scores_serves_them_alone():
    """The scores' own name of the prompts may be unknown to the label file; that of a label may not."""
    table = ScoreTable.from_frame(SCORES.rename(columns={"prompt_id": "case"}), columns={"prompt_id": "case"})
    assert join_labels(table, labels((1, "a", 1)), ReadingOptions(columns={"prompt_id": "case"})).has_labels
    blank = ScoreTable.from_frame(SCORES.assign(rating=None), columns={"oracle_label": "rating"})
    with pytest.raises(ColumnError, match="no column named 'rating' for oracle_label"):
        join_labels(blank, labels((1, "a", 1)), ReadingOptions(columns={"oracle_label": "rating"}))


def test_labels_are_mapped_from_their_scale():
    """Declared labels land in [0, 1], and one off the scale is refused with its row."""
    table = join_labels(TABLE, labels((1, "a", 3)), ReadingOptions(label_scale=Scale(1, 5)))
    assert (table.frame["oracle_label"][0], table.label_scale) == (0.5, Scale(1, 5))
    with pytest.raises(RowError, match="labels, row 1: oracle_label 6 lies off the declared scale 1:5"):
        joined(labels((1, "a", 3), (1, "b", 6)), label_scale=Scale(1, 5))


def test_a_label_on_another_scale_is_found_in_its_own_file(tmp_path):
    """The row that gives the scale away is the label file's, whichever row the score stands in."""
    scores = pd.DataFrame({"prompt_id": list("ppqq"), "candidate": list("abab"), "judge_score": [0.1, 0.2, 0.3, 0.4]})
    path = tmp_path / "seven.csv"
    path.write_text("prompt_id,candidate,oracle_label\nq,b,1\nq,a,7\np,a,0\n", encoding="utf-8")
    table = join_labels(ScoreTable.from_frame(scores, source="scores.csv"), path)
    with pytest.raises(RowError, match=r"seven\.csv, row 3: scores of 'judge' run to 0\.4 but labels to 7"):
        table.check_scales()
    assert [row for *_, row in table.scale_mismatches()] == [f"3 of {path}"]
    high = ScoreTable.from_frame(scores.assign(judge_score=[10, 20, 30, 40]), source="scores.csv")
    path.write_text("prompt_id,candidate,oracle_label\nq,b,0.5\nq,a,0.7\n", encoding="utf-8")
    with pytest.raises(RowError, match=r"scores\.csv, row 0: "):
        join_labels(high, path).check_scales()

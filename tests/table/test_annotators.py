"""Labels of several annotators and scores of several draws: found, read, made one per candidate, or refused."""

from __future__ import annotations

from collections import Counter
from statistics import mean, median

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.auditing.front import audit
from bonwise.doctoring.fixing import table_rows
from bonwise.doctoring.front import doctor
from bonwise.errors import ColumnError, InputError, RowError, UsageError
from bonwise.table.annotators import aggregate, kind_of_labels
from bonwise.table.cell_scores import cell_repeats
from bonwise.table.columns import label_column_groups
from bonwise.table.opening import open_table
from bonwise.table.panel import lay_out
from bonwise.table.reading_options import ReadingOptions
from bonwise.table.scales import Scale
from bonwise.table.score_table import ScoreTable
from bonwise.table.store import Rows

# Labels of several annotators: found, read, made one per candidate, and refused where they are no such thing.


CELLS = [("p", "a"), ("p", "b"), ("q", "a"), ("q", "b")]


def rows(labels, column="annotator", **more):
    """Return a row per label; `labels` holds those of each candidate by annotator."""
    found = [
        {"prompt_id": prompt, "candidate": name, "judge_score": at / 10, column: who, "oracle_label": label}
        for at, ((prompt, name), given_labels) in enumerate(zip(CELLS, labels, strict=True))
        for who, label in given_labels.items()
    ]
    return pd.DataFrame(found).assign(**more)


def labels_of(table):
    """Return the label of each candidate, in order of prompt and candidate."""
    frame = table.frame.sort_values(["prompt_id", "candidate"], kind="stable")
    return frame["oracle_label"].tolist()


NUMBERS = [{"ann": 0.25, "bo": 0.5}, {"ann": 0.75, "bo": 1.0, "cy": 0.5}, {"cy": 0.1}, {"bo": 0.2, "cy": 0.4}]
GRADES = [{"ann": 1, "bo": 2}, {"ann": 5, "bo": 4, "cy": 1}, {"cy": 3}, {"bo": 2, "cy": 2}]
VOTES = [{"ann": "yes", "bo": "no"}, {"ann": "yes", "bo": "yes", "cy": "no"}, {"cy": "no"}, {"bo": "no", "cy": "no"}]


class TestRows:
    """Annotators in rows of their own."""

    @pytest.mark.parametrize(
        ("labels", "rule", "expected", "split"),
        [
            (NUMBERS, "mean", [0.375, 0.75, 0.1, 0.3], 0),
            (GRADES, "median", [1.5, 4, 3, 2], 1),
            (VOTES, "majority", [0.5, 1, 0, 0], 1),
        ],
    )
    def test_the_rule_follows_the_kind(self, labels, rule, expected, split):
        """The rule follows the kind."""
        table = ScoreTable.from_frame(rows(labels))
        assert labels_of(table) == pytest.approx(expected)
        found = table.annotators
        assert (found.rule, found.split, found.several, found.names) == (rule, split, 3, ("ann", "bo", "cy"))
        assert f"the {rule} of the labels of 3 annotators" in table.readings["oracle_label"]
        assert ("1 candidate is" in table.readings["oracle_label"]) is bool(split)
        assert len(table.frame) == 4
        assert "annotator" not in table.strata

    @pytest.mark.parametrize(("rule", "expected"), [("mean", 10 / 3), ("median", 4.0), ("majority", 10 / 3)])
    def test_the_rule_can_be_set(self, rule, expected):
        """The rule can be set."""
        table = ScoreTable.from_frame(rows(GRADES), annotator_rule=rule)
        assert labels_of(table)[1] == pytest.approx(expected)
        assert table.annotators.stated

    @pytest.mark.parametrize(
        "name", ["annotator", "Annotator ID", "rater", "worker_id", "labeler", "user", "reviewer"]
    )
    def test_names_of_the_column(self, name):
        """Names of the column."""
        table = ScoreTable.from_frame(rows(NUMBERS, name))
        assert table.columns["annotator"] == name
        assert labels_of(table) == pytest.approx([0.375, 0.75, 0.1, 0.3])

    def test_a_column_that_is_named(self):
        """A column that is named."""
        with pytest.raises(RowError, match="scored again"):
            ScoreTable.from_frame(rows(NUMBERS, "who"))
        table = ScoreTable.from_frame(rows(NUMBERS, "who"), columns={"annotator": "who"})
        assert table.annotators.columns == ("who",)

    def test_one_label_per_candidate_is_read_as_before(self):
        """One label per candidate is read as before."""
        frame = rows([{"ann": 1}, {"bo": 2}, {"ann": 3}, {"bo": 1}])
        table = ScoreTable.from_frame(frame)
        assert table.annotators is None
        assert "annotator" in table.strata
        named = ScoreTable.from_frame(frame, columns={"annotator": "annotator"})
        assert named.annotators.several == 0
        assert labels_of(named) == [1, 2, 3, 1]

    def test_several_judges_repeat_the_labels(self):
        """Several judges repeat the labels."""
        frame = rows(NUMBERS)
        both = pd.concat([frame.assign(judge="j"), frame.assign(judge="k", judge_score=frame["judge_score"] / 2)])
        table = ScoreTable.from_frame(both)
        assert table.judges == ("j", "k")
        assert len(table.frame) == 8
        assert table.annotators.annotators.size == 8
        assert labels_of(table) == pytest.approx([0.375, 0.375, 0.75, 0.75, 0.1, 0.1, 0.3, 0.3])

    def test_scores_may_stand_in_one_of_the_rows(self):
        """Scores may stand in one of the rows."""
        frame = rows(NUMBERS)
        frame.loc[frame["annotator"] == "bo", "judge_score"] = np.nan
        frame.loc[frame["prompt_id"] == "q", "judge_score"] = [0.2, np.nan, 0.3]
        assert ScoreTable.from_frame(frame).frame["judge_score"].tolist() == [0.0, 0.1, 0.2, 0.3]

    def test_draws_are_not_annotators(self):
        """Several scores of a candidate by one judge stay draws, whoever is named beside them."""
        draws = [
            {"prompt_id": p, "candidate": c, "judge_score": at + d / 10, "epoch": d, "user": d % 2, "oracle_label": 1}
            for at, (p, c) in enumerate(CELLS)
            for d in range(3)
        ]
        table = ScoreTable.from_frame(pd.DataFrame(draws))
        assert table.annotators is None
        assert table.columns["draw"] == "epoch"

    def test_draws_and_annotators(self):
        """Draws and annotators."""
        frame = rows(NUMBERS)
        two = pd.concat([frame.assign(draw=at, judge_score=frame["judge_score"] + at) for at in (0, 1)])
        table = ScoreTable.from_frame(two)
        assert table.draws == 2
        assert sorted(set(labels_of(table))) == pytest.approx([0.1, 0.3, 0.375, 0.75])

    def test_scales_and_words(self):
        """Scales and words."""
        table = ScoreTable.from_frame(rows(GRADES), label_scale=Scale(1, 5))
        assert labels_of(table) == pytest.approx([0.125, 0.75, 0.5, 0.25])
        assert max(table.annotators.values) == pytest.approx(1.0)
        with pytest.raises(RowError, match="row 2"):
            ScoreTable.from_frame(rows(GRADES), label_scale=Scale(1, 4))
        words = [{"ann": "poor", "bo": "good"}, {"ann": "fair", "bo": "good", "cy": "good"}, {"cy": "poor"}, {}]
        graded = ScoreTable.from_frame(rows(words), label_map={"poor": 1, "fair": 2, "good": 3})
        assert (graded.annotators.kind, graded.annotators.rule) == ("ordered categories", "median")
        assert graded.label_words == {"poor": 1.0, "fair": 2.0, "good": 3.0}


class TestRefusals:
    """What is no table of annotators, in one sentence with the row."""

    def test_real_duplicates(self):
        """Real duplicates."""
        frame = rows(NUMBERS)
        with pytest.raises(RowError, match=r"row 5: 'cy' labels 'p' / 'b' again \(first in row 4\)"):
            ScoreTable.from_frame(pd.concat([frame.iloc[:5], frame.iloc[4:5], frame.iloc[5:]]))
        with pytest.raises(RowError, match="scored again by 'judge'"):
            ScoreTable.from_frame(frame.drop(columns="annotator"))
        with pytest.raises(RowError, match="scored again by 'judge'"):
            ScoreTable.from_frame(frame.assign(annotator="ann"))

    def test_a_label_without_an_annotator(self):
        """A label without an annotator."""
        frame = rows(NUMBERS)
        frame.loc[2, "annotator"] = " "
        with pytest.raises(RowError, match="row 2: a label without an annotator in 'annotator'"):
            ScoreTable.from_frame(frame)

    def test_scores_that_differ(self):
        """Scores that differ."""
        frame = rows(NUMBERS)
        frame.loc[1, "judge_score"] = 0.7
        with pytest.raises(RowError, match=r"row 1: the judge_score is 0.7, but 0.0 in row 0"):
            ScoreTable.from_frame(frame, columns={"annotator": "annotator"})

    def test_an_annotator_of_two_minds(self):
        """An annotator of two minds."""
        frame = rows(NUMBERS)
        other = frame.assign(judge="k")
        other.loc[0, "oracle_label"] = 0.9
        with pytest.raises(RowError, match=r"row 8: 'ann' gives 'p' / 'a' another label than in row 0"):
            ScoreTable.from_frame(pd.concat([frame.assign(judge="j"), other]))

    def test_a_rule_that_is_none(self):
        """A rule that is none."""
        with pytest.raises(UsageError, match="no rule for annotators named 'mode'"):
            ScoreTable.from_frame(rows(NUMBERS), annotator_rule="mode")

    def test_columns_on_two_scales(self):
        """Columns on two scales."""
        frame = columns([["yes", 4], ["no", 2], ["yes", 1], ["no", 5]], ["label_1", "label_2"])
        with pytest.raises(RowError, match="'label_2' is not written like 'label_1': another scale could be meant"):
            ScoreTable.from_frame(frame)
        frame = columns([["85%", 4], ["20%", 2], ["85%", 1], ["20%", 5]], ["label_1", "label_2"])
        with pytest.raises(RowError, match="'label_2' is not written like 'label_1'"):
            ScoreTable.from_frame(frame)

    def test_two_groups_of_columns(self):
        """Two groups of columns."""
        frame = columns([[1, 2, 3, 4]] * 4, ["label_1", "label_2", "rater_a", "rater_b"])
        with pytest.raises(ColumnError, match="'label_1, label_2' and 'rater_a, rater_b' both fit oracle_label"):
            ScoreTable.from_frame(frame)
        named = ScoreTable.from_frame(frame, columns={"oracle_label": "rater_a,rater_b"})
        assert labels_of(named) == [3.5] * 4

    @pytest.mark.parametrize(
        "named",
        [{"label_col": ["rater_a", "rater_b"]}, {"columns": {"oracle_label": ["rater_a", "rater_b"]}}],
        ids=str,
    )
    def test_columns_are_named_as_by_flags(self, named):
        """Several are a list, as ``--label-col`` is repeated; one column is not named in two ways."""
        frame = columns([[1, 2, 3, 4]] * 4, ["label_1", "label_2", "rater_a", "rater_b"])
        assert labels_of(ScoreTable.from_frame(frame, **named)) == [3.5] * 4
        assert ReadingOptions.of(ScoreTable.from_frame, named).as_flags() == ["--label-col rater_a,rater_b"]
        with pytest.raises(UsageError, match="the column of oracle_label is named twice"):
            ScoreTable.from_frame(frame, label_col="label_1", columns={"oracle_label": "label_2"})

    def test_a_column_for_two_roles(self):
        """A column for two roles."""
        frame = columns([[1, 2]] * 4, ["label_1", "label_2"])
        with pytest.raises(ColumnError, match="no column named 'label_3' for oracle_label"):
            ScoreTable.from_frame(frame, columns={"oracle_label": "label_1,label_3"})
        with pytest.raises(ColumnError, match="a column is named twice for oracle_label"):
            ScoreTable.from_frame(frame, columns={"oracle_label": "label_1,label_1"})
        with pytest.raises(ColumnError, match="'label_2' is named for both"):
            ScoreTable.from_frame(frame, columns={"oracle_label": "label_1,label_2", "judge_score": "label_2"})


def columns(labels, names):
    """Return a row per candidate with a column of labels per annotator."""
    found = pd.DataFrame(CELLS, columns=["prompt_id", "candidate"]).assign(judge_score=[0.1, 0.2, 0.3, 0.4])
    return found.join(pd.DataFrame(labels, columns=names, dtype=object))


class TestColumns:
    """Annotators in columns of their own."""

    @pytest.mark.parametrize(
        "names",
        [
            ("label_1", "label_2", "label_3"),
            ("rater_a", "rater_b", "rater_c"),
            ("Annotator 1", "Annotator 2", "Annotator 3"),
            ("annotator1_label", "annotator2_label", "annotator3_label"),
            ("humanRating1", "humanRating2", "humanRating3"),
            ("expert_1_score", "expert_2_score", "expert_3_score"),
        ],
    )
    def test_names_of_the_columns(self, names):
        """Names of the columns."""
        table = ScoreTable.from_frame(columns([[1, 2, None], [5, 4, 1], [None, None, 3], [None, 2, 2]], names))
        assert labels_of(table) == [1.5, 4, 3, 2]
        assert table.annotators.names == names
        assert table.columns["oracle_label"] == ", ".join(names)
        assert not table.strata

    def test_any_names_by_flag(self):
        """Any names by flag."""
        frame = columns([[0.1, 0.2], [0.3, 0.5], [0.1, 0.1], [None, 0.4]], ["alice", "bob"])
        assert not ScoreTable.from_frame(frame).has_labels
        table = ScoreTable.from_frame(frame, columns={"oracle_label": "alice,bob"})
        assert labels_of(table) == pytest.approx([0.15, 0.4, 0.1, 0.4])

    def test_what_is_not_taken(self):
        """Scores are a judge's, letters may be candidates, one column is one, and a label goes before several."""
        numbers = {name: [1, 2] for name in ("label_a", "label_b", "score_1", "score_2")}
        found = Rows.of(pd.DataFrame({"c": ["a", "b"], **numbers}))
        assert label_column_groups(found, "c", {}, ()) == []
        assert label_column_groups(found, None, {}, ()) == ["label_a, label_b"]
        assert label_column_groups(found.only(["label_a"]), None, {}, ()) == []
        frame = columns([[1, 2]] * 4, ["label_1", "label_2"]).assign(label=[1, 0, 1, 0])
        assert labels_of(ScoreTable.from_frame(frame)) == [1, 0, 1, 0]
        words = columns([["long text", 2]] * 4, ["label_1", "label_2"])
        assert not ScoreTable.from_frame(words).has_labels

    def test_the_same_labels_in_rows_and_in_columns(self):
        """The same labels in rows and in columns."""
        one = ScoreTable.from_frame(rows(GRADES))
        other = ScoreTable.from_frame(
            columns([[1, 2, None], [5, 4, 1], [None, None, 3], [None, 2, 2]], list("xyz")),
            columns={"oracle_label": "x,y,z"},
        )
        assert labels_of(one) == labels_of(other)
        assert sorted(one.annotators.values) == sorted(other.annotators.values)

    def test_judges_in_columns_too(self):
        """Judges in columns too."""
        frame = columns([[1, 2]] * 4, ["label_1", "label_2"]).drop(columns="judge_score")
        frame = frame.assign(gpt_score=[0.1, 0.2, 0.3, 0.4], claude_score=[0.4, 0.3, 0.2, 0.1])
        assert ScoreTable.from_frame(frame).annotators.columns == ("label_1", "label_2")
        named = ScoreTable.from_frame(frame, columns={"oracle_label": "label_1,label_2"})
        assert (len(named.judges), len(named.annotators.values)) == (2, 8)


class TestLabelFiles:
    """A file of labels in which a candidate has several."""

    def scores(self):
        """Scores."""
        return pd.DataFrame(CELLS, columns=["prompt_id", "candidate"]).assign(judge_score=[0.1, 0.2, 0.3, 0.4])

    def joined(self, labels, **options):
        """Joined."""
        return open_table(self.scores(), ReadingOptions(labels=labels, **options))

    def test_rows(self):
        """Rows."""
        labels = rows(VOTES).drop(columns="judge_score")
        table = self.joined(labels)
        assert labels_of(table) == [0.5, 1, 0, 0]
        assert table.label_words["yes"] == 1
        stranger = labels[labels["prompt_id"] == "p"].assign(prompt_id="z")
        more = self.joined(pd.concat([labels, stranger]))
        assert more.labels_left_out == {"prompts": 1, "rows": 2}
        assert labels_of(more) == [0.5, 1, 0, 0]

    def test_columns_and_names(self):
        """Columns and names."""
        labels = columns([[1, 2], [5, 4], [3, 3], [2, 1]], ["ann", "bo"]).drop(columns="judge_score")
        assert labels_of(self.joined(labels, columns={"oracle_label": "ann,bo"})) == [1.5, 4.5, 3, 1.5]
        renamed = labels.set_axis(["prompt_id", "candidate", "label_1", "label_2"], axis=1)
        assert labels_of(self.joined(renamed)) == [1.5, 4.5, 3, 1.5]
        named = rows(GRADES, "who").drop(columns="judge_score")
        assert labels_of(self.joined(named, columns={"annotator": "who"}, annotator_rule="mean"))[1] == 10 / 3
        with pytest.raises(ColumnError, match="no column named 'nobody' for annotator"):
            self.joined(named, columns={"annotator": "nobody"})

    def test_sheets_put_together(self):
        """Rows that nobody filled in say nothing, in however many sheets they are."""
        labels = rows(GRADES).drop(columns="judge_score")
        blank = pd.DataFrame(CELLS, columns=["prompt_id", "candidate"])
        table = self.joined(pd.concat([labels, blank, blank.assign(annotator="dee"), blank]))
        assert labels_of(table) == [1.5, 4, 3, 2]
        assert table.annotators.names == ("ann", "bo", "cy")

    def test_duplicates_stay_refused(self):
        """Duplicates stay refused."""
        labels = rows(GRADES).drop(columns="judge_score")
        with pytest.raises(RowError, match="is labelled again"):
            self.joined(labels.drop(columns="annotator"))
        with pytest.raises(RowError, match="labels 'p' / 'a' again"):
            self.joined(pd.concat([labels, labels.iloc[:1]]))


def test_files(tmp_path):
    """CSV, JSON Lines and Parquet of the same labels are one table."""
    frame = rows(GRADES)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    frame.to_parquet(tmp_path / "t.parquet")
    assert {tuple(labels_of(ScoreTable.read(tmp_path / f"t.{end}"))) for end in ("csv", "jsonl", "parquet")} == {
        (1.5, 4.0, 3.0, 2.0)
    }


def test_a_table_that_is_written_keeps_every_label():
    """What the doctor writes is read again with the same labels, of annotators in rows and in columns."""
    kept = table_rows(ScoreTable.from_frame(rows(GRADES))).to_frame()
    assert list(kept.columns[-3:]) == ["label_1", "label_2", "label_3"]
    assert labels_of(ScoreTable.from_frame(kept)) == [1.5, 4, 3, 2]
    frame = columns([[1, 2], [5, 4], [3, 3], [2, 1]], ["ann", "bo"])
    named = table_rows(ScoreTable.from_frame(frame, columns={"oracle_label": "ann,bo"})).to_frame()
    assert labels_of(ScoreTable.from_frame(named)) == [1.5, 4.5, 3, 1.5]


def test_another_reference_has_no_annotators():
    """Against a judge the labels of people do not count."""
    frame = rows(GRADES)
    both = pd.concat([frame.assign(judge="j"), frame.assign(judge="k")])
    assert open_table(both, ReadingOptions(oracle="judge:k")).annotators is None


def test_nobody_labelled_anything():
    """Blank labels are none."""
    frame = columns([[None, None]] * 4, ["label_1", "label_2"])
    with pytest.raises(InputError, match="no oracle labels"):
        open_table(frame, ReadingOptions())


@pytest.mark.parametrize("rule", ["mean", "median", "majority"])
@given(cells=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=30))
def test_plain_loops(rule, cells):
    """The rules are those of loops over the labels of each candidate."""
    at, values = (np.array(column, dtype=np.int64) for column in (zip(*cells, strict=True) if cells else ([], [])))
    found = aggregate(rule, at, values.astype(float), 6)
    for cell in range(6):
        given_labels = [float(label) for where, label in cells if where == cell]
        if not given_labels:
            assert np.isnan(found.labels[cell])
            assert not found.split[cell]
            continue
        times = Counter(given_labels)
        most = [label for label, count in times.items() if count == max(times.values())]
        expected = {"mean": mean(given_labels), "median": median(given_labels), "majority": mean(most)}[rule]
        ordered = sorted(given_labels)
        apart = ordered[(len(ordered) - 1) // 2] != ordered[len(ordered) // 2]
        assert found.labels[cell] == pytest.approx(expected, abs=1e-12)
        assert found.split[cell] == {"mean": False, "median": apart, "majority": len(most) > 1}[rule]


@pytest.mark.parametrize(
    ("values", "words", "kind"),
    [
        ([0, 1, 1], False, "yes or no"),
        ([1, 2], True, "yes or no"),
        ([1, 2], False, "ordered categories"),
        ([0, 10], False, "ordered categories"),
        ([0, 11], False, "numbers"),
        ([1, 2.5], False, "numbers"),
        ([0.1, 0.5, 2.0], True, "ordered categories"),
        ([], False, "yes or no"),
    ],
)
def test_kinds(values, words, kind):
    """Two values that are 0 and 1 are yes and no, whole numbers of a rating scale are categories."""
    assert kind_of_labels(np.array(values, dtype=float), words=words) == kind


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

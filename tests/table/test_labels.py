"""Labels: joined, as words, on their scales, with the chances that they were drawn with."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bonwise as bw
from bonwise.auditing.logged_picks import logged_table, read_picks
from bonwise.errors import ColumnError, InputError, RowError, UsageError
from bonwise.table.cell_scores import candidate_propensities, differ_within_prompts, propensities
from bonwise.table.columns import resolve_columns
from bonwise.table.label_words import label_words, parse_labels, parse_word_values
from bonwise.table.opening import join_labels, open_table
from bonwise.table.panel import lay_out
from bonwise.table.reading_options import ReadingOptions
from bonwise.table.scales import Scale, mismatch, parse_scale, to_unit
from bonwise.table.score_table import ScoreTable
from bonwise.table.store import CodedColumn, Rows
from bonwise.testing import simulate
from cli.commands import strict, typed

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


# Labels that are words: which are, what they stand for, and where both words and numbers could be meant.


PAIRS = [("pass", "fail"), ("yes", "no"), ("true", "false")]


def parsed(cells, **options):
    """Parse a column of labels."""
    return parse_labels(pd.Series(cells, **options), source="t").tolist()


@pytest.mark.parametrize(("good", "bad"), PAIRS)
def test_words_are_1_and_0(good, bad):
    """Whatever their case and blanks around them, the good word is 1, the bad one 0 and a blank is none."""
    cells = [good, bad.upper(), f" {good.title()} ", "", None, "n/a"]
    assert parsed(cells)[:3] == [1, 0, 1]
    assert np.isnan(parsed(cells)[3:]).all()
    assert label_words(CodedColumn.of_cells(cells)) == {good: 1, bad: 0}
    assert parsed([good, None]) == pytest.approx([1, np.nan], nan_ok=True)


def test_numbers_hold_no_words():
    """A column of numbers, as numbers or as text, is as it was; truth values of Python are words too."""
    assert parsed([0.5, 1]) == parsed(["0.5", "1"]) == [0.5, 1]
    assert label_words(CodedColumn.of_cells(["0.5", ""])) == label_words(CodedColumn.of_cells([0.5, np.nan])) == {}
    assert parsed([True, False]) == parsed([True, False, None], dtype=object)[:2] == [1, 0]
    assert label_words(CodedColumn.of_cells([True])) == {"true": 1, "false": 0}


@pytest.mark.parametrize(("first", "second"), list(itertools.permutations(PAIRS, 2)))
def test_two_pairs_of_words_are_refused(first, second):
    """Words of two pairs may be two questions: the row is named."""
    with pytest.raises(RowError, match=rf"t, row 1: oracle_label holds '{second[1]}'.*another scale could be meant"):
        parsed([first[0], second[1]])


@pytest.mark.parametrize("number", ["0.7", 4, "5"])
def test_words_beside_a_rating_are_refused(number):
    """Beside 0.7 or 4 a pass could be 1 or the top of a scale; beside 0 and 1 only 1 can be meant."""
    with pytest.raises(RowError, match=r"t, row 2: oracle_label holds .* another scale could be meant"):
        parsed(["pass", "0", number], dtype=object)
    assert parsed(["pass", "0", 1], dtype=object) == [1, 0, 1]


def test_other_words_are_no_labels():
    """A word that stands for nothing is refused by its row, and its column does not fit."""
    with pytest.raises(RowError, match="t, row 1: oracle_label holds 'unclear'"):
        parsed(["pass", "unclear"])
    columns = {"prompt_id": ["p"], "candidate": ["a"], "judge_score": [1]}
    for cells, fits in ((["pass"], True), (["unclear"], False)):
        found = resolve_columns(Rows.of(pd.DataFrame({**columns, "label": cells})), {}, source="t", required=())
        assert ("oracle_label" in found) == fits


def test_scores_may_be_words_too(capsys, tmp_path, frame):
    """A judge that says pass or fail is read as 1 and 0, and audit and doctor say so; numbers go before words."""
    words = (frame["judge_score"] > 0.5).map({True: "Pass", False: "fail"})
    found = bw.audit(frame.drop(columns="judge_score").assign(verdict=words))
    assert found.settings.readings == {"judge_score": "words, pass = 1, fail = 0"}
    assert "judge_score read as words, pass = 1, fail = 0" in " ".join(str(found).split())
    table = ScoreTable.from_frame(frame.rename(columns={"judge_score": "score"}).assign(verdict=words))
    assert (table.columns["judge_score"], table.readings) == ("score", {})


GRADES = {"poor": 1, "fair": 2, "good": 3, "very good": 4}


def test_words_have_the_worth_that_the_user_gives_them(capsys, tmp_path, frame):
    """With --label-map words of a rating scale are its numbers, and the figures are those of the numbers."""
    numbers = (frame["judge_score"] * 3.99).astype(int) + 1
    by_number = {value: word for word, value in GRADES.items()}
    graded = frame.assign(oracle_label=numbers.map(by_number).str.title())
    graded.to_csv(tmp_path / "scores.csv", index=False)
    flag = ("--label-map", "poor=1,fair=2,good=3, very good=4")
    done = typed(capsys, "audit", tmp_path / "scores.csv", *flag, "--json", "-")
    plain = bw.audit(frame.assign(oracle_label=numbers)).to_dict()
    assert strict(done.out)["metrics"] == plain["metrics"]
    assert strict(done.out)["settings"]["label_words"] == GRADES
    doctor = typed(capsys, "doctor", tmp_path / "scores.csv", *flag, "--json", "-")
    assert "--label-map 'poor=1,fair=2,good=3,very good=4'" in strict(doctor.out)["next_command"]


def test_grades_without_a_worth_are_refused_with_a_proposal(tmp_path, frame):
    """The words are proposed in their order, and nothing is read before the user has agreed."""
    cells = ["Good", "poor", "very good", "odd"] * 40
    with pytest.raises(RowError, match="row 0: oracle_label holds 'Good': words, whose worth") as refused:
        ScoreTable.from_frame(frame.assign(oracle_label=cells))
    assert "--label-map 'poor=1,good=2,very good=3,odd=?'" in refused.value.hint
    with pytest.raises(RowError, match="row 3: oracle_label holds 'odd', to which --label-map gives no number"):
        ScoreTable.from_frame(frame.assign(oracle_label=cells), label_map={"poor": 1, "Good": 2, "very good": 3})


def test_a_column_of_grades_is_no_label_and_said(capsys, tmp_path, frame):
    """Where only the name of a column says that it holds labels, audit and doctor say why it was not taken."""
    renamed = frame.drop(columns="oracle_label").assign(human=["good", "poor", "fair", "good"] * 40)
    renamed.to_csv(tmp_path / "scores.csv", index=False)
    proposal = "--label-map poor=1,fair=2,good=3"
    assert proposal in typed(capsys, "audit", tmp_path / "scores.csv").err
    assert proposal in " ".join(
        strict(typed(capsys, "doctor", tmp_path / "scores.csv", "--json", "-").out)["suspicious"]
    )


@pytest.mark.parametrize("text", ["poor", "poor=", "=1", "poor=x", "poor=nan", "poor=1,poor=2", ""])
def test_a_worth_that_is_none_is_refused(text):
    """A worth is a word and a finite number, each word once."""
    with pytest.raises(UsageError):
        parse_word_values(text)


def test_two_columns_that_could_be_the_labels_are_refused():
    """A column of words beside one of ratings: both fit, and the message names the flag that settles it."""
    columns = {"prompt_id": ["p"], "candidate": ["a"], "judge_score": [1], "label": ["pass"], "human_rating": [4]}
    with pytest.raises(ColumnError, match="'label' and 'human_rating' both fit oracle_label") as caught:
        resolve_columns(Rows.of(pd.DataFrame(columns)), {}, source="t", required=())
    assert "--label-col" in caught.value.hint


@pytest.fixture
def frame():
    """Return 40 prompts, each label 0 or 1."""
    found = simulate("arena", n=40, seed=3).frame()
    return found.assign(oracle_label=(found["oracle_label"] > 0.8).astype(float))


@pytest.mark.parametrize(("good", "bad"), PAIRS)
def test_an_audit_of_words_is_that_of_0_and_1(capsys, tmp_path, frame, good, bad):
    """Figures are those of 0 and 1, and audit and doctor say what the words were taken for."""
    words = frame["oracle_label"].map({1.0: good.title(), 0.0: bad.upper()})
    frame.drop(columns="oracle_label").assign(label=words).to_csv(tmp_path / "scores.csv", index=False)
    found, plain = bw.audit(tmp_path / "scores.csv"), bw.audit(frame)
    assert found.to_dict()["metrics"] == plain.to_dict()["metrics"]
    assert found.settings.label_words == {good: 1, bad: 0}
    said = f"labels are words: {good} = 1, {bad} = 0"
    assert said in str(found)
    assert "labels are words" not in plain.to_text(full=True)
    doctor = typed(capsys, "doctor", tmp_path / "scores.csv", "--json", "-")
    assert said in " ".join(doctor.err.split())
    assert strict(doctor.out)["labels"]["words"] == {good: 1, bad: 0}


def test_words_in_a_file_of_labels(tmp_path, frame):
    """A second file may hold words too, and the audit says so."""
    labels = frame[["prompt_id", "candidate"]].assign(human=frame["oracle_label"].map({1.0: "yes", 0.0: "no"}))
    labels.to_csv(tmp_path / "labels.csv", index=False)
    found = bw.audit(frame.drop(columns="oracle_label"), labels=tmp_path / "labels.csv")
    assert found.to_dict()["metrics"] == bw.audit(frame).to_dict()["metrics"]
    assert "labels are words: yes = 1, no = 0" in str(found)
    found.to_html(tmp_path / "page.html")
    assert "yes = 1, no = 0" in (tmp_path / "page.html").read_text("utf-8")


NUMBER = st.floats(-1e6, 1e6)


@given(NUMBER, NUMBER)
def test_a_scale_is_read_as_it_is_written(low, high):
    """LOW:HIGH is a scale exactly when LOW lies below HIGH."""
    text = f"{low!r}:{high!r}"
    if low < high:
        assert parse_scale(text) == Scale(low, high)
    else:
        with pytest.raises(UsageError, match="LOW below HIGH"):
            parse_scale(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "a:b",
        "1:2:3",
        "1-5",
        ":",
        "1:",
        "nan:1",
        "0:inf",
        "-inf:0",
        "5:1",
        "1:1",
        "-1e308:1e308",
        "\x1b\n:" + "9" * 10**5,
    ],
)
def test_what_is_no_scale_is_refused(text):
    """Anything but two finite numbers, the lower first, is one short line of error."""
    with pytest.raises(UsageError) as caught:
        parse_scale(text)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 200


@given(st.lists(st.floats(1, 5), min_size=1))
def test_a_declared_scale_maps_to_the_unit(values):
    """Values on the scale land in [0, 1] in the same order, its ends on 0 and 1, blanks on blanks."""
    cells = np.array([1, *values, np.nan, 5])
    found = to_unit(cells, Scale(1, 5), rows=pd.RangeIndex(len(cells)), role="r", source="t")
    assert (found[0], found[-1]) == (0, 1)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(cells))
    np.testing.assert_allclose(found * 4 + 1, cells)


CASES = {
    "both unit": ([0.1, 1], [0, 0.5], None),
    "both ratings": ([3, 5], [1, 4], None),
    "unit scores, ratings": ([0.1, 0.9], [1, 5], 1),
    "hundred against unit": ([0, 70], [0.5, 1], 1),
    "hundred against verdicts": ([10, 70], [0, 1], None),
    "rewards have no scale": ([-3, 70], [0.5, 1], None),
    "logits have no scale": ([3, 700], [0.5, 1], None),
    "no labels": ([3, 70], [np.nan, np.nan], None),
    "no scores": ([np.nan, np.nan], [1, 5], None),
    "blanks beside": ([np.nan, 50], [0.5, np.nan], 1),
}


@pytest.mark.parametrize(("scores", "labels", "at"), CASES.values(), ids=CASES)
def test_scales_that_look_different_are_found(scores, labels, at):
    """A unit scale beside a rating scale is found by its first telling value; verdicts and rewards are neither."""
    assert mismatch(np.array(scores, float), np.array(labels, float)) == at


CHANCES = [0.2, 0.9, 0.5, 0.5]


def frame_of_propensities(chances=CHANCES, judge="first"):
    """Lay two prompts of two candidates out, one label missing."""
    return pd.DataFrame(
        {
            "prompt_id": ["p", "p", "q", "q"],
            "candidate": ["b", "a", "a", "b"],
            "judge": judge,
            "judge_score": [0.1, 0.4, 0.3, 0.2],
            "oracle_label": [1.0, np.nan, 0.0, 1.0],
            "propensity": chances,
        }
    )


def of_cells(rows):
    """Return propensities by prompt and candidate, of the first judge."""
    table = ScoreTable.from_frame(rows)
    panel = lay_out(table)[0]
    found = candidate_propensities(table, panel)
    prompts = np.repeat(panel.prompt_ids, panel.sizes)
    return dict(zip(zip(prompts, panel.candidates[panel.names], strict=True), found.tolist(), strict=True))


def test_each_candidate_has_its_own():
    """Propensities find their candidates in whatever order the rows stand, and judges of one table share them."""
    expected = {("p", "b"): 0.2, ("p", "a"): 0.9, ("q", "a"): 0.5, ("q", "b"): 0.5}
    both = pd.concat([frame_of_propensities(), frame_of_propensities(judge="second")], ignore_index=True)
    for rows in (frame_of_propensities(), frame_of_propensities().iloc[[3, 1, 0, 2]], both):
        assert of_cells(rows) == expected


@pytest.mark.parametrize(("chances", "differ"), [(CHANCES, True), ([0.2, 0.2, 0.5, 0.5], False)])
def test_they_are_of_candidates_where_some_prompt_has_two(chances, differ):
    """A column that is alike in each prompt is of prompts, whatever other prompts state."""
    assert differ_within_prompts(ScoreTable.from_frame(frame_of_propensities(chances))) is differ
    assert not differ_within_prompts(ScoreTable.from_frame(frame_of_propensities().drop(columns="propensity")))


def test_a_candidate_without_one_is_refused():
    """Every candidate needs a propensity, also one without a label, and the first that lacks it is named."""
    with pytest.raises(RowError, match="'p' / 'a' has no propensity"):
        of_cells(frame_of_propensities([0.2, np.nan, 0.5, 0.4]))


def test_a_candidate_with_two_is_refused():
    """Rows of one candidate that state different propensities are refused, and it is named."""
    other = frame_of_propensities([0.2, 0.8, 0.5, 0.5], judge="second")
    with pytest.raises(RowError, match="'p' / 'a' state two propensities"):
        of_cells(pd.concat([frame_of_propensities(), other], ignore_index=True))


def test_propensities_of_prompts_refuse_those_of_candidates():
    """What weighs prompts cannot use them, and says who can."""
    table = ScoreTable.from_frame(frame_of_propensities())
    panel = lay_out(table)[0]
    with pytest.raises(RowError, match="two propensities") as refused:
        propensities(table, panel.prompt_ids, np.array([True, True]))
    assert "bonwise audit" in str(refused.value.hint)


def test_a_label_file_states_them_for_each_candidate():
    """Rows with a blank label state the propensity of candidates that were not labelled."""
    rows = frame_of_propensities()
    scores = rows[["prompt_id", "candidate", "judge_score"]]
    labels = rows[["prompt_id", "candidate", "oracle_label", "propensity"]]
    table = join_labels(ScoreTable.from_frame(scores), labels)
    assert differ_within_prompts(table)
    assert table.frame["propensity"].tolist() == CHANCES
    of_labelled = join_labels(ScoreTable.from_frame(scores), labels.dropna().assign(propensity=[0.2, 0.4, 0.5]))
    assert np.isnan(of_labelled.frame["propensity"].to_numpy()).tolist() == [False, True, False, False]


LABELS = {(f"p{x}", name): x % 2 if name == "a" else x % 3 for x in range(6) for name in "ab"}
PROMPTS = [*dict.fromkeys(prompt for prompt, _ in LABELS)]
LISTS = [{"prompt_id": p, "models": ["b", "a"], "labels": [LABELS[p, "b"], LABELS[p, "a"]]} for p in PROMPTS]
LABEL_SHAPES = {
    "long.csv": "prompt_id,candidate,oracle_label\n" + "".join(f"{p},{c},{y}\n" for (p, c), y in LABELS.items()),
    "wide.csv": "prompt_id,a_label,b_label\n" + "".join(f"{p},{LABELS[p, 'a']},{LABELS[p, 'b']}\n" for p in PROMPTS),
    "nested.json": json.dumps({p: {c: {"oracle_label": LABELS[p, c]} for c in "ab"} for p in PROMPTS}),
    "qrels.json": json.dumps({p: {c: LABELS[p, c] for c in "ab"} for p in PROMPTS}),
    "lists.json": json.dumps(LISTS),
    "lists.jsonl": "".join(json.dumps(line) + "\n" for line in LISTS),
}


@pytest.mark.parametrize("name", LABEL_SHAPES)
def test_labels_of_every_shape_are_joined(tmp_path, name):
    """A column per candidate, lists and objects, for scores and for logged picks alike; how is said."""
    (tmp_path / name).write_text(LABEL_SHAPES[name], "utf-8")
    scores = pd.DataFrame([{"prompt_id": p, "candidate": c, "judge_score": len(p + c)} for p, c in LABELS])
    table = open_table(scores, ReadingOptions(labels=tmp_path / name))
    assert table.rows.columns["oracle_label"].tolist() == [*LABELS.values()]
    said = table.readings.get("oracle_label", "")
    assert ("label" in said) == (name in ("wide.csv", "lists.json", "lists.jsonl"))
    lines = [{"prompt_id": f"p{x}", "ids": ["a", "b"], "best": "a", "scores": [1, 0]} for x in range(6)]
    (tmp_path / "picks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    log = logged_table([("picks", read_picks(tmp_path / "picks.jsonl"))], ReadingOptions(labels=tmp_path / name))
    assert log.rows.columns["oracle_label"].tolist() == [*LABELS.values()]


def test_columns_of_labels_beside_candidates_are_those_of_annotators(tmp_path):
    """Two names that end in label are candidates only where no column names these, also one that is named."""
    path = tmp_path / "labels.csv"
    path.write_text("prompt_id,candidate,ann_label,bo_label\np,a,1,3\np,b,2,2\n", "utf-8")
    scores = pd.DataFrame({"prompt_id": "p", "candidate": ["a", "b"], "judge_score": [1, 2]})
    options = ReadingOptions(labels=path, columns={"oracle_label": "ann_label,bo_label"})
    assert open_table(scores, options).rows.columns["oracle_label"].tolist() == [2, 2]
    path.write_text("prompt_id,who,ann_label,bo_label\np,a,1,3\np,b,2,2\n", "utf-8")
    options = ReadingOptions(labels=path, columns={"oracle_label": "ann_label,bo_label", "candidate": "who"})
    scores = scores.rename(columns={"candidate": "who"})
    assert open_table(scores, options).rows.columns["oracle_label"].tolist() == [2, 2]

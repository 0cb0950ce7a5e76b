"""Labels that are words: which are, what they stand for, and where both words and numbers could be meant."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import bonwise as bw
from bonwise.errors import ColumnError, RowError, UsageError
from bonwise.table.columns import resolve_columns
from bonwise.table.label_words import label_words, parse_labels, parse_word_values
from bonwise.table.score_table import ScoreTable
from bonwise.testing import simulate
from cli.commands import strict, typed

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
    assert label_words(pd.Series(cells)) == {good: 1, bad: 0}
    assert parsed([good, None]) == pytest.approx([1, np.nan], nan_ok=True)


def test_numbers_hold_no_words():
    """A column of numbers, as numbers or as text, is as it was; truth values of Python are words too."""
    assert parsed([0.5, 1]) == parsed(["0.5", "1"]) == [0.5, 1]
    assert label_words(pd.Series(["0.5", ""])) == label_words(pd.Series([0.5, np.nan])) == {}
    assert parsed([True, False]) == parsed([True, False, None], dtype=object)[:2] == [1, 0]
    assert label_words(pd.Series([True])) == {"true": 1, "false": 0}


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
        found = resolve_columns(pd.DataFrame({**columns, "label": cells}), {}, source="t", required=())
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
        resolve_columns(pd.DataFrame(columns), {}, source="t", required=())
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
    assert "labels are words" not in str(plain)
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

"""Columns and the roles that they play, and identifiers, also odd ones."""

from __future__ import annotations

import itertools
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bonwise as bw
from bonwise.auditing.exhibits import strata
from bonwise.errors import ColumnError, InputError, RowError, UsageError
from bonwise.selection.draw_model import learnt_from
from bonwise.studies.label_strategy.judged_pairs import PairVerdicts
from bonwise.table.columns import resolve_columns
from bonwise.table.identifiers import as_categories
from bonwise.table.opening import open_table
from bonwise.table.reading_options import ReadingOptions
from bonwise.table.roles import COLUMN_FLAGS, ROLES
from bonwise.table.score_table import ScoreTable
from bonwise.table.store import Categories, CodedColumn, Names, Rows, coded, objects
from bonwise.table.words import Words

ALIASES = {
    "prompt_id": ["item_id", "id", "case_id", "question_id", "original_id"],
    "candidate": ["policy", "target_policy", "model", "provider_id", "policy_id", "policy_name", "variant"],
    "judge_score": ["score", "verdict", "judge_label"],
    "oracle_label": ["gold", "human", "label", "human_label", "human_rating"],
    "draw": ["run", "sample_index"],
    "propensity": ["label_propensity"],
}
BASE = {"prompt_id": ["p", "p"], "candidate": ["a", "b"], "judge_score": [0.5, 1.0]}


def taken(columns, overrides=None, required=()):
    """Resolve the columns of a small frame."""
    return resolve_columns(Rows.of(pd.DataFrame(columns)), overrides or {}, source="t", required=required)


@pytest.mark.parametrize(("role", "alias"), [(r, a) for r, names in ALIASES.items() for a in names])
def test_an_alias_stands_in_for_an_absent_column(role, alias):
    """Each documented alias is taken when the canonical column is absent, and only then."""
    assert taken({alias: [1, 2]}) == {role: alias}
    assert taken({alias: [1, 2], role: [3, 4]}) == {role: role}
    assert taken({alias: [1, 2], role: [None, None]}) == {role: role}


@pytest.mark.parametrize("alias", ALIASES["judge_score"] + ALIASES["oracle_label"])
def test_an_alias_of_words_is_no_number(alias):
    """A column of words does not fit a role of numbers; blanks and truth values do not spoil the fit."""
    assert taken({alias: ["good", "1"]}) == {}
    assert alias in taken({alias: ["", "1"]}).values()
    assert alias in taken({alias: [True, None]}).values()


def test_of_two_aliases_the_one_that_fits_is_taken():
    """Words in one alias leave the other as the only one that fits."""
    assert taken({"label": ["good", "bad"], "human": [1, 0]}) == {"oracle_label": "human"}


@pytest.mark.parametrize("role", ALIASES)
def test_two_columns_that_fit_are_refused(role):
    """Two aliases that fit one role are refused, both named, with the flag that settles it."""
    for first, second in itertools.pairwise(ALIASES[role]):
        with pytest.raises(ColumnError) as caught:
            taken({first: [1, 2], second: [1, 2]})
        assert f"t: {first!r} and {second!r} both fit {role}" in str(caught.value)
        assert str(COLUMN_FLAGS.get(role, "rename")) in caught.value.hint
        assert taken({first: [1], second: [1]}, {role: second}) == {role: second}


def test_the_column_named_judge_is_always_a_name():
    """Numbers in a column named judge are names of judges, never scores."""
    assert taken({"judge": [0.5, 1.0]}) == {"judge": "judge"}
    with pytest.raises(ColumnError, match="no column for judge_score"):
        ScoreTable.from_frame(pd.DataFrame({"prompt_id": ["p"], "candidate": ["a"], "judge": [1.0]}))
    table = ScoreTable.from_frame(pd.DataFrame({**BASE, "judge": [1, 2.0]}))
    assert table.judges == ("1", "2")


def test_a_named_column_plays_no_second_role():
    """A column named by a flag is that and nothing else, though its name is canonical or an alias elsewhere."""
    frame = {"prompt_id": ["p"], "candidate": ["a"], "judge": [0.5], "label": [1]}
    found = taken(frame, {"judge_score": "judge"})
    assert found == {
        "prompt_id": "prompt_id",
        "candidate": "candidate",
        "judge_score": "judge",
        "oracle_label": "label",
    }
    assert taken(frame, {"judge_score": "label"})["judge_score"] == "label"
    assert "oracle_label" not in taken(frame, {"judge_score": "label"})
    table = ScoreTable.from_frame(pd.DataFrame(frame), columns={"judge_score": "judge"})
    assert table.judges == ("judge",)


def test_a_flag_overrides_the_canonical_column():
    """A named column is taken before the canonical one, which then plays no role."""
    table = ScoreTable.from_frame(pd.DataFrame({**BASE, "other": [7, 8]}), columns={"judge_score": "other"})
    assert table.frame["judge_score"].tolist() == [7, 8]


def test_a_named_column_must_be_there():
    """A flag that names an absent column is refused with the columns there are."""
    with pytest.raises(ColumnError, match=r"t: no column named 'x\\n' for candidate \(the columns are a, b\)"):
        taken({"a": [1], "b": [1]}, {"candidate": "x\n"})


def test_one_column_for_two_roles_is_refused():
    """A column named for two roles would audit a judge against itself."""
    with pytest.raises(ColumnError, match="'score' is named for both judge_score and oracle_label"):
        taken({"score": [1]}, {"judge_score": "score", "oracle_label": "score"})


def test_a_role_that_does_not_exist_is_refused():
    """A misspelt role is an error, not a column left out in silence."""
    with pytest.raises(UsageError, match="'score', which is not a role") as caught:
        taken({"score": [1]}, {"score": "score"})
    assert all(role in caught.value.hint for role in ROLES)


def test_words_are_never_strata():
    """Columns of words are left out; any other column without a role is a stratum."""
    words = {name: ["x", "y"] for name in ("prompt", "text", "raw", "response", "unscored")}
    table = ScoreTable.from_frame(pd.DataFrame({**BASE, **words, "topic": ["t", "t"], 5: [1, 2]}))
    assert table.strata == ("topic", "5")


def test_a_word_column_may_be_named_for_a_role():
    """A flag may give even a column of words a role."""
    frame = pd.DataFrame({"prompt": ["p", "p"], "response": ["a", "b"], "judge_score": [1, 2]})
    table = ScoreTable.from_frame(frame, columns={"prompt_id": "prompt", "candidate": "response"})
    assert list(table.candidates) == ["a", "b"]


def test_many_columns_are_not_all_listed():
    """A missing column lists the first dozen columns that are there and counts the others."""
    with pytest.raises(ColumnError, match="x11 and 88 more; "[:-2]):
        taken({f"x{i}": [1] for i in range(100)}, required=("prompt_id",))


def test_pools_are_told_from_scores(tmp_path):
    """A file of pools is named as what it is, with the command that scores it."""
    path = tmp_path / "pools.jsonl"
    path.write_text('{"prompt_id": "p", "prompt": "Say hi", "candidates": ["hi", "no"]}\n', encoding="utf-8")
    with pytest.raises(ColumnError, match="pools of candidates") as refused:
        ScoreTable.read(path)
    assert "bonwise judge" in refused.value.hint


@pytest.mark.parametrize(
    ("role", "name"),
    [
        *(
            ("prompt_id", name)
            for name in ("Prompt ID", "promptId", "PROMPT-ID", "prompt.id", "Task Id", "question_no")
        ),
        *(("candidate", name) for name in ("Candidate", "Model Name", "MODEL", "system")),
        *(("judge_score", name) for name in ("Judge Score", "judgeScore (0-100)", "reward", "Rating", "gpt4_score")),
        *(("oracle_label", name) for name in ("Human Label", "human-rating [1-5]", "Gold Score", "is_correct")),
        *(("oracle_label", name) for name in ("Expert overall rating", "human_label_mean score")),
    ],
)
def test_case_blanks_and_punctuation_of_a_name_do_not_matter(role, name):
    """A column is found by its name however it is written."""
    assert taken({name: [1, 2]}) == {role: name}


def test_an_exact_name_goes_before_one_that_is_written_otherwise():
    """Of Score and score the latter is the alias; two that are written otherwise are refused."""
    assert taken({"Judge_Score": [1], "judge_score": [2]}) == {"judge_score": "judge_score"}
    with pytest.raises(ColumnError, match="'Reward' and 'REWARD' both fit judge_score"):
        taken({"Reward": [1], "REWARD": [2]})


def test_the_content_decides_between_claimants():
    """Prompts repeat and candidates differ: a number of the row is no prompt, and one model for all no candidate."""
    rows = {
        "id": [1, 2, 3, 4],
        "task_id": ["t", "t", "u", "u"],
        "model": ["m"] * 4,
        "response_id": ["a", "b", "a", "b"],
        "score": [1, 2, 3, 4],
        "rating": [5, 4, 3, 2],
    }
    assert taken(rows) == {
        "prompt_id": "task_id",
        "candidate": "response_id",
        "judge_score": "score",
        "oracle_label": "rating",
    }


def test_of_two_names_of_candidates_the_one_that_tells_rows_apart_is_taken():
    """A model with two prompts of its own stands twice under a prompt, and its variant once."""
    rows = {"prompt_id": [1, 1, 1, 2], "model": ["m", "m", "n", "n"], "variant": ["a", "b", "c", "a"]}
    assert taken(rows)["candidate"] == "variant"


def test_judges_and_draws_have_further_names_only_where_rows_need_them():
    """A grader is the judge where a candidate has several rows, and else a stratum as before."""
    rows = {"prompt_id": [1, 1], "candidate": ["a", "a"], "score": [1, 2], "grader": ["x", "y"]}
    assert taken(rows)["judge"] == "grader"
    assert "judge" not in taken({**rows, "candidate": ["a", "b"]})
    assert taken({**rows, "grader": ["x", "x"], "repeat": [0, 1]})["draw"] == "repeat"


def test_labels_from_elsewhere_leave_further_names_alone():
    """With a file of labels a rating in the table stays a stratum, as a second set of labels would be refused."""
    scores = {**BASE, "rating": [4, 5]}
    labels = pd.DataFrame({"prompt_id": ["p", "p"], "candidate": ["a", "b"], "oracle_label": [0, 1]})
    table = open_table(pd.DataFrame(scores), ReadingOptions(labels=labels))
    assert table.frame["oracle_label"].tolist() == [0, 1]
    assert "rating" in table.strata
    assert ScoreTable.from_frame(pd.DataFrame(scores)).columns["oracle_label"] == "rating"


def test_every_problem_of_the_columns_is_said_at_once():
    """Two claimants, a missing column and one that is named and absent are one message with every flag."""
    columns = {"policy": ["a"], "variant": ["b"], "score": ["good"]}
    with pytest.raises(ColumnError) as caught:
        taken(columns, {"prompt_id": "x"}, required=("prompt_id", "candidate", "judge_score"))
    said = str(caught.value)
    for piece in (
        *(
            "no column named 'x' for prompt_id",
            "'policy' and 'variant' both fit candidate",
            "no column for judge_score",
        ),
        *("'score' would fit, but row 0 holds text", "--candidate-col policy", "--score-col COLUMN"),
    ):
        assert piece in said


def test_every_column_with_bad_rows_is_said_at_once():
    """A bad score, a bad label and a missing candidate are one message, each with its row."""
    frame = pd.DataFrame({**BASE, "candidate": ["a", ""], "judge_score": ["x", 1], "oracle_label": [1, "odd"]})
    with pytest.raises(RowError) as caught:
        ScoreTable.from_frame(frame)
    for piece in ("row 1: no candidate", "row 0: judge_score holds 'x'", "row 1: oracle_label holds 'odd'"):
        assert piece in str(caught.value)


def test_votes_are_told_from_scores():
    """A file of votes is named as what it is, with the command that reads it."""
    votes = pd.DataFrame({"model_a": ["m"] * 12, "model_b": ["n"] * 12, "winner": ["model_a", "tie"] * 6})
    with pytest.raises(ColumnError, match="votes on pairs, not a table of scores") as refused:
        ScoreTable.from_frame(votes)
    assert refused.value.hint == "bonwise preferences table"


# No blanks, no words for nothing, and no whole numbers with a point: what stands for itself.
WORDS = st.text(st.characters(exclude_categories=["Cs"])).map("name {}".format)
NAMES = WORDS | st.sampled_from(["b", "B", "10", "9", "a b"])


def named(values, **options):
    """Return the identifiers of a column, row by row."""
    return list(as_categories(pd.Series(values, **options), role="prompt_id", source="t"))


@pytest.mark.parametrize("value", [1, 1.0, "1", "1.0", np.int8(1), np.float32(1), Decimal("1.0")])
def test_the_number_one_is_one_identifier(value):
    """The integer, the float and the text of a whole number are one identifier, alone or mixed."""
    assert named([value]) == ["1"]
    assert named(["1", value, "2"], dtype=object) == ["1", "1", "2"]


@pytest.mark.parametrize(
    "text", ["001", "01.0", "1.00", "1.10", "v1.0", "1.0.0", "-0.0", ".0", "1e3", " 1", "+1.0", "1.5"]
)
def test_any_other_text_stays_as_it_is(text):
    """Leading zeros, versions and blanks within an identifier are part of it."""
    assert named([text]) == [text]


def test_large_integers_keep_every_digit():
    """An integer beyond the precision of a float is not rounded."""
    assert named([2**63 + 1, 10**30, 9007199254740993], dtype=object) == [
        str(2**63 + 1),
        str(10**30),
        "9007199254740993",
    ]


@given(st.lists(NAMES, min_size=1))
def test_categories_are_sorted_and_rows_keep_their_names(names):
    """Categories are the distinct names in the order of text, and each row keeps its own."""
    found = as_categories(pd.Series(names, dtype=object), role="prompt_id", source="t")
    assert list(found) == names
    assert list(found.categories) == sorted(set(names))


@pytest.mark.parametrize("cell", [None, "", "  ", "\u00a0", np.nan, pd.NA])
def test_a_blank_identifier_is_refused(cell):
    """A row without an identifier is refused with its number."""
    with pytest.raises(RowError, match="t, row 8: no prompt_id"):
        named(["a", cell, ""], index=[7, 8, 9], dtype=object)


@pytest.mark.parametrize("word", ["NA", "null", "n/a", "None", "nan", "<NA>"])
def test_a_word_is_an_identifier(word):
    """What a person calls NA is called NA: only a cell without text has no identifier."""
    assert named(["a", word]) == ["a", word]


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        (b"1", "bytes"),
        (bytearray(b"1"), "an object"),
        (["a"], "an object"),
        ({"a": 1}, "an object"),
        (("a",), "an object"),
    ],
)
def test_what_is_no_text_is_refused(cell, kind):
    """Bytes, lists and objects are nobody's identifier: their row is named."""
    with pytest.raises(RowError, match=f"t, row 8: the prompt_id is {kind}"):
        named(["a", cell, "b"], index=[7, 8, 9], dtype=object)


def test_control_characters_tell_identifiers_apart():
    """Identifiers that differ only behind a NUL or in what cannot be printed are different."""
    assert len(set(named(["a\0b", "a\0c", "a", "a\u200b"]))) == 4


# Names that differ only behind a NUL are as different as any others, through everything that reads a table.


def hidden(frame):
    """Put a NUL in place of every tilde."""
    return frame.map(lambda cell: cell.replace("~", "\0") if isinstance(cell, str) else cell)


def scores(draws=1):
    """Return the scores of 40 pools of three by two judges, with columns of words and strata."""
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        [
            {
                "prompt_id": f"p~{at:02}",
                "candidate": f"c~{name}",
                "judge": f"j~{judge}",
                "judge_score": round(quality + rng.normal(), 3),
                "topic": f"t~{at % 2}",
                "text": f"answer~{at}{name}",
            }
            | ({"draw": f"d~{draw}"} if draws > 1 else {})
            for at in range(40)
            for name, quality in zip("abc", rng.normal(size=3), strict=True)
            for judge in range(2)
            for draw in range(draws)
        ]
    )


def labels():
    """Return a label for each candidate of those pools, and a propensity that differs between prompts."""
    cells = scores()[["prompt_id", "candidate"]].drop_duplicates(ignore_index=True)
    rng = np.random.default_rng(5)
    at = cells["prompt_id"].str[2:].astype(int)
    cells["oracle_label"] = np.where(at % 4 == 0, np.nan, rng.integers(0, 5, len(cells)) / 4)
    cells["propensity"] = np.where(at % 2 == 0, 0.5, 0.75)
    return cells


def pairs():
    """Return what a judge said of two pairs of each pool, in both orders."""
    rng = np.random.default_rng(7)
    return pd.DataFrame(
        [
            {"prompt_id": f"p~{at:02}", "a": "c~a", "b": f"c~{other}", "judge": "j~0"}
            | dict(zip(("shown_first", "shown_second"), rng.uniform(size=2).round(3), strict=True))
            for at in range(40)
            for other in "bc"
        ]
    )


def votes():
    """Return what two raters said of the pools, each prompt named by two columns."""
    rng = np.random.default_rng(9)
    sides = {"left": "c~a", "right": "c~b"}
    return pd.DataFrame(
        [
            {"set": f"s~{at % 4}", "turn": f"u~{at // 4}", "rater": f"r~{rater}", **sides}
            | {"said": rng.integers(1, 3), "truth": 1 + at // 3 % 2}
            for at in range(40)
            for rater in range(2)
        ]
    )


def audited(made):
    """Audit with labels in a file of their own, by the propensities that it states."""
    return bw.audit(made(scores()), labels=made(labels())).to_dict()


def by_stratum(made):
    """Audit by the values of a column."""
    found = bw.audit(made(scores()), labels=made(labels().drop(columns="propensity")))
    judged = next(iter(found.source_of("this").judges.values())).labelling
    kinds, left_out = strata(found.table, judged.panel.keep(judged.labelled), confidence=0.95)
    return [one.to_dict() for one in (*kinds, *left_out)]


def stated(made):
    """Audit what was stated of pairs."""
    return bw.audit_confidence(made(pairs()), labels=made(labels()).drop(columns="propensity")).to_dict()


def preferred(made):
    """Audit votes by several columns of names."""
    taken = {
        "verdict_col": ["said"],
        "label_col": "truth",
        "prompt_col": ["set", "turn"],
        "pair_col": ["left", "right"],
    }
    return bw.audit_preferences(made(votes()), judge_col=["rater"], **taken).to_dict()


def verdicts(made):
    """Read verdicts on pairs."""
    return PairVerdicts.read(made(pairs())).frame.to_dict("list")


def learnt(made):
    """Learn how far draws spread, one row per draw."""
    return learnt_from(ScoreTable.from_frame(made(scores(draws=4))), judge=made(scores())["judge"][0])[1].to_dict()


def learnt_in_columns(made):
    """Learn it from one column per draw."""
    wide = scores().rename(columns={"judge_score": "draw_0"})
    rng = np.random.default_rng(11)
    wide = wide.assign(draw_1=wide["draw_0"] + rng.normal(size=len(wide)), draw_2=rng.normal(size=len(wide)))
    return learnt_from(ScoreTable.from_frame(made(wide)), judge=made(scores())["judge"][0])[1].to_dict()


def sheet(made):
    """Draw prompts to label, with the texts of their candidates."""
    found = bw.draw_labels(made(scores()), labels=20, judge=made(scores())["judge"][0], texts=True)
    return found.sheet.astype(str).to_dict("list")


def spoken(made):
    """Look up the texts of one prompt."""
    name = made(scores())["prompt_id"][3]
    found = Words(ScoreTable.from_frame(made(scores()))).of([name])[name]
    return dict(found.texts)


@pytest.mark.parametrize(
    "call",
    [audited, by_stratum, stated, preferred, verdicts, learnt, learnt_in_columns, sheet, spoken],
    ids=lambda call: call.__name__,
)
def test_a_nul_in_a_name_changes_no_figure(call):
    """With NULs in every name the document is the same but for the names."""
    plain, other = (json.dumps(call(made)) for made in (lambda frame: frame, hidden))
    assert "\\u0000" in other or call in {learnt, learnt_in_columns, preferred}
    assert other.replace("\\u0000", "~").replace(r"\\x00", "~") == plain


def test_models_that_differ_behind_a_nul_are_several():
    """One sequence of looks is for one pair of models, whatever their names hold."""
    rows = [{"model_a": "m\0a", "model_b": f"m\0{name}", "winner": "model_a"} for name in "bc" for _ in range(20)]
    with pytest.raises(InputError, match="hold several models"):
        bw.monitor(pd.DataFrame(rows), question="preference", verdict_col="winner")


def test_a_name_that_ends_in_a_nul_keeps_it():
    """Texts are found under the whole name, a NUL at its end too."""
    rows = [{"prompt_id": "p", "candidate": f"c{name}\0", "judge_score": 1.0, "text": "t"} for name in "ab"]
    assert set(Words(ScoreTable.from_frame(pd.DataFrame(rows))).of(["p"])["p"].texts) == {"ca\0", "cb\0"}


# Columns without pandas.

CELLS = st.lists(st.none() | st.sampled_from([float("nan"), "a", "b", "", "a\0", "a\0b", 1, 1.0, True, 0.5, (1,)]))
LISTS = st.lists(
    st.none() | st.lists(st.sampled_from(["x", 1])) | st.dictionaries(st.sampled_from("kl"), st.booleans())
)


def plainly_coded(cells, key=lambda cell: cell):
    """Number cells in the order in which they appear, by a loop."""
    codes, distinct = [], []
    for cell in cells:
        if cell is None or (isinstance(cell, float) and np.isnan(cell)):
            codes.append(-1)
            continue
        if key(cell) not in map(key, distinct):
            distinct.append(cell)
        codes.append([*map(key, distinct)].index(key(cell)))
    return codes, distinct


@given(CELLS)
def test_each_distinct_cell_is_held_once(cells):
    """A loop gives the same codes and cells, for a list, a Series of objects, and cells that cannot be looked up."""
    codes, distinct = plainly_coded(cells)
    for found in (coded(cells), CodedColumn.of_cells(cells).dictionary):
        if found is not None:
            assert (found[0].tolist(), found[1].tolist()) == (codes, distinct)
    series = CodedColumn.of(pd.Series(objects(cells), dtype=object))
    assert (series.codes.tolist(), series.cells.tolist()) == (codes, distinct)


@given(LISTS)
def test_lists_and_mappings_are_held_too(cells):
    """What cannot be looked up is told apart by its words and stays what it is."""
    codes, distinct = coded(cells)
    assert (codes.tolist(), distinct.tolist()) == plainly_coded(cells, str)


@given(CELLS, st.data())
def test_rows_that_are_taken_hold_no_other_cells(cells, data):
    """Some rows, in any order, have the codes of a column that was made of them; numbers too."""
    places = st.lists(st.sampled_from(range(len(cells)))) if cells else st.just([])
    rows = np.array(data.draw(places), dtype=int)
    for whole in (cells, [0.5 if cell is None else float(len(str(cell))) for cell in cells]):
        column = CodedColumn(np.arange(len(whole)), dictionary=coded(whole))
        if whole is not cells and whole:
            column = CodedColumn.of_cells(whole)
            assert column.kind == "f"
        found, made = column.take(rows), coded([whole[row] for row in rows])
        assert found.codes.tolist() == made[0].tolist()
        assert found.cells.tolist() == made[1].tolist()
        assert found.index.tolist() == rows.tolist()
        assert [found.cell(at) for at in range(len(rows))] == [
            made[1][code] if code >= 0 else None for code in made[0]
        ]


@pytest.mark.parametrize(
    "values",
    [
        pd.array([1, None, 3], dtype="Int64"),
        pd.array([True, None, False], dtype="boolean"),
        pd.array([0.5, None, -0.0], dtype="Float64"),
        pd.Categorical(["b", None, "a"]),
        pd.array(["b", None, "a"], dtype="string"),
        np.array([1, 2, 2], dtype=np.uint8),
        np.array([0.5, np.nan, -0.0], dtype=np.float32),
    ],
)
def test_a_column_of_any_type_of_pandas_keeps_its_cells(values):
    """Numbers, truth values, categories and text, some of them missing, are the same cells as in the Series."""
    series = pd.Series(values, index=[7, 8, 9])
    column = CodedColumn.of(series)
    assert column.index.tolist() == [7, 8, 9]
    assert column.is_missing().tolist() == series.isna().tolist()
    assert [column.cell(at) for at in np.flatnonzero(~column.is_missing())] == series.dropna().tolist()


@given(st.lists(st.sampled_from("abc"), unique=True), st.lists(st.sampled_from("abcd")))
def test_names_are_looked_up_like_an_index(names, wanted):
    """Positions, membership and what is lacking are those of an index of pandas."""
    found, index = Names(objects(names)), pd.Index(names, dtype=object)
    assert found.get_indexer(wanted).tolist() == index.get_indexer(pd.Index(wanted, dtype=object)).tolist()
    assert found.isin(wanted).tolist() == index.isin(wanted).tolist()
    assert [name in found for name in "abcd"] == [name in names for name in "abcd"]
    assert found.equals(Names(objects(names)))


def test_rows_become_a_frame_and_come_back():
    """A DataFrame has text, numbers, categories and row numbers as they were."""
    names = Categories(np.array([1, 0]), Names(objects(["a", "b"])))
    rows = Rows.of_records([{"t": "x", "n": 1, "w": [1]}, {"t": None, "n": None, "w": "y"}], [4, 6])
    frame = rows.assign({"c": names}).to_frame()
    assert frame.index.tolist() == [4, 6]
    assert frame["c"].cat.codes.tolist() == [1, 0]
    assert frame["t"].dtype == pd.Series(["text"]).dtype
    assert Rows.of(frame[["t", "n", "w"]]).to_frame().equals(frame[["t", "n", "w"]])
    assert rows.without("n").take(np.array([1])).columns["w"].cell(0) == "y"

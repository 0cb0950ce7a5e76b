"""Ratings of models by judges and people: scales, and the files that they come from."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.errors import BonwiseError, ColumnError, InputError, RowError, UsageError
from bonwise.factors.rating_sources import ratings_of_biggen, ratings_of_pairs, ratings_of_scores, ratings_of_votes
from bonwise.factors.ratings import CategoryRules, RatingTable
from bonwise.table.score_table import ScoreTable
from cli.commands import pool_file, strict, typed, written
from cli.served import served

COLUMNS = ["prompt_id", "model", "opponent", "rater", "rating"]


def ratings(rows, human="ann", **asked):
    """Read rows of prompt, model, opponent, rater and rating."""
    return RatingTable.read(pd.DataFrame(rows, columns=COLUMNS), human=human, **asked)


MIXED = [
    ("p1", "a", "", "gpt", 5),
    ("p1", "b", "", "gpt", 2),
    ("p2", "a", "", "gpt", 3),
    ("p1", "a", "b", "ann", "model"),
    ("p2", "b", "a", "ann", "tie"),
    ("p2", "b", "c", "ann", "c"),
]


def test_single_and_side_by_side_raters_stand_in_one_table():
    """Each rater has its own categories, and an opponent that is rated by nobody else is a model too."""
    table = ratings(MIXED)
    assert table.models == ("a", "b", "c")
    assert [(one.rater, one.side_by_side, one.categories) for one in table.raters] == [
        ("ann", True, ["opponent", "tie", "model"]),
        ("gpt", False, ["2", "3", "5"]),
    ]
    assert table.points[table.human] == (-1.0, 0.0, 1.0)
    assert table.opponent.tolist() == [-1, -1, -1, 1, 0, 2]
    assert table.rating.tolist() == [2, 0, 1, 2, 1, 0]
    assert table.by_human.tolist() == [False] * 3 + [True] * 3


def test_a_table_goes_through_a_file_unchanged(tmp_path):
    """What was read from a frame is read from its CSV in the same way."""
    pd.DataFrame(MIXED, columns=COLUMNS).to_csv(tmp_path / "ratings.csv", index=False)
    read, made = RatingTable.read(tmp_path / "ratings.csv", human="ann"), ratings(MIXED)
    assert read.to_frame().equals(made.to_frame())
    assert read.raters == made.raters


def test_a_verdict_without_ties_has_two_categories():
    """A tie is a category only where somebody saw one."""
    table = ratings([("p", "a", "b", "ann", "1"), ("p", "a", "c", "ann", "2")])
    assert table.human_scale.categories == ["opponent", "model"]
    assert table.rating.tolist() == [1, 0]


def test_numbers_of_a_comparison_have_mirrored_categories():
    """A grade seen for one side alone is a category of the other side too."""
    table = ratings([("p", "a", "b", "ann", 2), ("p", "a", "c", "ann", 0), ("p", "b", "c", "ann", -1)])
    assert table.human_scale.categories == ["-2", "-1", "0", "1", "2"]
    assert table.points[table.human] == (-2.0, -1.0, 0.0, 1.0, 2.0)
    assert table.rating.tolist() == [4, 2, 1]


def test_numbers_without_a_middle_are_mirrored_too():
    """Without a 0 there is no middle category."""
    table = ratings([("p", "a", "b", "ann", 2), ("p", "b", "c", "ann", -1)])
    assert table.human_scale.categories == ["-2", "-1", "1", "2"]
    assert table.rating.tolist() == [3, 1]


def test_many_graded_differences_are_binned_alike_on_both_sides():
    """The bins of a comparison mirror each other, and 0 stays alone."""
    numbers = np.round(np.linspace(-1, 1, 41), 2)
    table = ratings([(f"p{at}", "a", "b", "ann", x) for at, x in enumerate(numbers)])
    scale, points = table.human_scale, np.array(table.points[table.human])
    assert scale.rule == "bins"
    assert scale.size == 11
    assert np.allclose(points, -points[::-1])
    assert (np.sign(points[table.rating]) == np.sign(numbers)).all()
    assert scale.categories[0] == "-(0.85 to 1)"


def test_declared_words_are_ordered_as_declared():
    """Words have the order in which they were declared, and count their position."""
    rows = [("p1", "a", "", "gpt", "good"), ("p1", "b", "", "gpt", "poor"), ("p1", "a", "", "ann", 1)]
    table = ratings(rows, categories={"gpt": ["poor", "fair", "good"]})
    assert table.raters[1].categories == ["poor", "fair", "good"]
    assert table.rating.tolist() == [2, 0, 0]


@given(st.lists(st.integers(0, 30), min_size=2, max_size=120), st.integers(2, 12))
def test_binning_twin(numbers, bins):
    """A number beyond the few is in the bin of its mid-rank; equal numbers share a bin and order is kept."""
    rows = [(f"p{at}", "a", "", "ann", x) for at, x in enumerate(numbers)]
    table = ratings(rows, bins=bins)
    if len(set(numbers)) <= bins:
        expected = [sorted(set(numbers)).index(x) for x in numbers]
    else:
        raw = [
            min(int(bins * (sum(y < x for y in numbers) + numbers.count(x) / 2) / len(numbers)), bins - 1)
            for x in numbers
        ]
        expected = [sorted(set(raw)).index(one) for one in raw]
        for at, points in enumerate(table.points[table.human]):
            assert points == pytest.approx(np.mean([x for x, g in zip(numbers, expected, strict=True) if g == at]))
    assert table.rating.tolist() == expected
    assert table.human_scale.size <= bins


def test_bins_of_equal_width():
    """Intervals of equal width; an empty one is no category."""
    numbers = [0, 1, 2, 3, 4, 40, 41, 42, 100, 99, 98]
    table = ratings([(f"p{at}", "a", "", "ann", x) for at, x in enumerate(numbers)], bins=4, binning="equal_width")
    assert table.human_scale.categories == ["0 to 4", "40 to 42", "98 to 100"]
    assert table.rating.tolist() == [0] * 5 + [1] * 3 + [2] * 3


def test_blank_ratings_and_a_model_against_itself_are_counted():
    """Rows that rate nothing are left out, by reason."""
    rows = [*MIXED, ("p3", "a", "", "gpt", ""), ("p3", "a", "a", "ann", "tie")]
    table = ratings(rows)
    assert dict(table.left_out) == {"no rating": 1, "a model against itself": 1}
    assert len(table.rating) == len(MIXED)


def test_repeated_ratings_are_replicates_and_counted():
    """Several votes on one pair without a replicate count each; a replicate that occurs twice is refused."""
    assert ratings([*MIXED, MIXED[3], MIXED[3]]).repeats == 2
    frame = pd.DataFrame([MIXED[0], MIXED[0], MIXED[3]], columns=COLUMNS)
    RatingTable.read(frame.assign(replicate=[1, 2, 1]), human="ann")
    with pytest.raises(RowError, match="row 1: 'gpt' rates 'a' on 'p1' again"):
        RatingTable.read(frame.assign(replicate=[1, 1, 1]), human="ann")


def test_categories_of_prompts():
    """A prompt takes the category that any of its rows says; two are refused."""
    frame = pd.DataFrame(MIXED, columns=COLUMNS).assign(category=["math", "", "", "", "code", ""])
    table = RatingTable.read(frame, human="ann")
    assert table.categories == ("code", "math")
    assert table.prompt_category.tolist() == [1, 0]
    with pytest.raises(RowError, match="row 4: prompt 'p2' is in two categories"):
        RatingTable.read(frame.assign(category=["math", "", "math", "", "code", ""]), human="ann")


BAD = [
    (MIXED, {"human": "bob"}, UsageError, "no rater named 'bob'"),
    ([(*MIXED[0][:4], ""), (*MIXED[1][:4], "none")], {"human": "gpt"}, InputError, "no row holds a rating"),
    ([*MIXED, ("p9", "a", "", "ann", 3)], {}, RowError, "row 6: 'ann' compares two models in some rows"),
    ([*MIXED, ("p9", "a", "", "gpt", "fine")], {}, RowError, "row 6: rating of 'gpt' holds 'fine'"),
    ([*MIXED, ("p9", "a", "b", "ann", "lefty")], {}, RowError, "row 6: rating of 'ann' holds 'lefty'|row 3"),
    ([("p", "a", "b", "ann", 1), ("p", "a", "c", "ann", 0)], {}, RowError, "row 1: 'ann' compares two models, and"),
    ([("p", "b", "a", "ann", "a")], {}, RowError, "row 0: 'a' names one side"),
    ([("", "a", "", "ann", 1)], {}, RowError, "row 0: no prompt_id"),
    ([("p", "", "", "ann", 1)], {}, RowError, "row 0: no model"),
    ([("p", "a", "", "ann", "inf")], {}, RowError, "row 0: rating of 'ann' holds 'inf', which is infinite"),
    (MIXED, {"bins": 1}, UsageError, "bins"),
    (MIXED, {"binning": "log"}, UsageError, "there is no binning 'log'"),
    (MIXED, {"categories": {"gpt": ["one"]}}, UsageError, "not at least two different words"),
    (MIXED, {"categories": {"gpt": ["2", "3"]}}, RowError, "row 0: 5 is not a category of 'gpt'"),
    (MIXED, {"categories": {"bob": ["2", "3"]}}, UsageError, "no rater named 'bob'"),
]


@pytest.mark.parametrize(("rows", "asked", "kind", "words"), BAD)
def test_bad_ratings_are_refused_in_one_line(rows, asked, kind, words):
    """What is wrong, in which row, and how to mend it."""
    with pytest.raises(kind, match=words) as refused:
        ratings(rows, **asked)
    assert refused.value.hint
    assert "\n" not in str(refused.value)


def test_an_absent_column_is_named():
    """Each of the four columns is needed."""
    with pytest.raises(ColumnError, match="no column named 'rating'"):
        RatingTable.read([{"prompt_id": 1, "model": "a", "rater": "r"}], human="r")


def test_hostile_names_stay_in_one_printable_line():
    """A rater's name may hold anything."""
    with pytest.raises(BonwiseError) as refused:
        ratings([("p", "a", "", "\x1b[31m\nann", "x")], human="\x1b[31m\nann")
    assert "\x1b" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_rules_are_checked_when_they_are_made():
    """One word is no scale, and neither is a text."""
    with pytest.raises(UsageError):
        CategoryRules({"gpt": "ab"})


SCORES = pd.DataFrame(
    {
        "prompt_id": ["p1", "p1", "p2", "p2"] * 2,
        "candidate": ["a", "b"] * 4,
        "judge": ["x"] * 4 + ["y"] * 4,
        "judge_score": [0.1, 0.9, 0.4, None, 3, 1, 2, 2],
        "oracle_label": [0, 1, None, None] * 2,
        "topic": ["math", "math", "code", "code"] * 2,
    }
)


def test_scores_and_labels_become_ratings():
    """Each judge is a rater, and the oracle one more; a label is there once, however many judges there are."""
    table = RatingTable.read(ratings_of_scores(SCORES, category="topic"), human="human")
    assert [one.rater for one in table.raters] == ["human", "x", "y"]
    assert int(table.by_human.sum()) == 2
    assert len(table.rating) == 7 + 2
    assert table.categories == ("code", "math")
    assert table.raters[1].categories == ["0.1", "0.4", "0.9"]


def test_draws_are_replicates():
    """Draws in columns and in rows give the same ratings."""
    wide = pd.DataFrame(
        {"prompt_id": ["p", "p"], "candidate": ["a", "b"], "draw_0": [1, 2], "draw_1": [3, np.nan], "oracle_label": 1}
    )
    long = pd.DataFrame(
        {
            "prompt_id": ["p"] * 3,
            "candidate": ["a", "b", "a"],
            "judge_score": [1, 2, 3],
            "draw": [0, 0, 1],
            "oracle_label": 1,
        }
    )
    read = [RatingTable.read(ratings_of_scores(ScoreTable.from_frame(one)), human="human") for one in (wide, long)]
    assert [len(one.rating) for one in read] == [5, 5]
    assert read[0].repeats == read[1].repeats == 0
    frames = [one.to_frame().sort_values(["rater", "model", "points"], ignore_index=True) for one in read]
    assert frames[0].equals(frames[1])


def test_judges_with_and_without_draws_stand_in_one_table():
    """A judge whose draws are blank is rated once, by its score, beside one that was drawn."""
    frame = pd.DataFrame(
        {
            "prompt_id": ["p"] * 4,
            "candidate": ["a", "b"] * 2,
            "judge": ["drawn", "drawn", "once", "once"],
            "judge_score": [2, 2, 5, None],
            "draw_0": [1, 2, None, None],
            "draw_1": [3, None, None, None],
            "oracle_label": 1,
        }
    )
    table = RatingTable.read(frame, human="human").to_frame()
    assert table.groupby("rater")["points"].apply(sorted).to_dict() == {
        "drawn": [1, 2, 3],
        "human": [1, 1],
        "once": [5],
    }


def test_two_commands_lead_from_pools_to_a_fit(tmp_path, monkeypatch, capsys):
    """What `judge` writes is read as it is: draws, comparisons and labels; its summary has the cost of each judge."""
    monkeypatch.chdir(tmp_path)
    pool_file("pools.jsonl", {f"p{at}": [f"{name} of {at}" for name in "abc"] for at in range(8)})
    cells = [(at, name) for at in range(8) for name in range(3)]
    columns = ("prompt_id", "candidate", "oracle_label")
    written(
        "labels.csv", [dict(zip(columns, (f"p{at}", f"c{name}", (at + name) % 3), strict=True)) for at, name in cells]
    )
    cheap = ("resampled,draws=2,of=checklist,persona=editor:openai/m", "pairwise,persona=editor:openai/m")
    judges = [word for judge in (*cheap, "pointwise:openai/strong") for word in ("--judge", judge)]
    with served(monkeypatch, tmp_path):
        done = typed(capsys, "judge", "pools.jsonl", *judges, "--out", "scores.csv", "--pairs", "pairs.csv")
    assert done.code == 0
    # One draft a prompt and one call a candidate; two orders of three pairs; one call a candidate.
    for judge, calls in zip((*cheap, "pointwise:openai/strong"), (8 + 24, 8 * 6, 24), strict=True):
        assert re.search(rf"{re.escape(judge)}: {calls} calls sent, 0 answers .* tokens, \$0\.\d+", done.err)
    read = ("--human", "human", "--pairs", "pairs.csv", "--labels", "labels.csv")
    fitted = typed(capsys, "factor", "fit", "scores.csv", *read, "--rank", "1", "--prior", "1", "--json", "-")
    raters = {rater["rater"]: rater for rater in strict(fitted.out)["raters"]}
    assert {name: rater["ratings"] for name, rater in raters.items()} == {
        cheap[0]: 48,
        cheap[1]: 48,
        "pointwise:openai/strong": 24,
        "human": 24,
    }
    assert raters[cheap[1]]["categories"] == ["-0.5", "0", "0.5"]
    shown = typed(capsys, "factor", "fit", "scores.csv", *read, "--rank", "1", "--prior", "1")
    assert "--holdout 0.5 --labels labels.csv --pairs pairs.csv" in shown.out


def test_a_judge_with_the_name_of_the_human_is_refused():
    """Two raters of one name would become one."""
    with pytest.raises(UsageError, match="a judge is named 'x'"):
        ratings_of_scores(SCORES, human="x")
    with pytest.raises(ColumnError, match="no column 'mood'"):
        ratings_of_scores(SCORES, category="mood")


def test_votes_become_side_by_side_ratings():
    """Votes of several people on one pair are replicates, and a column of raters tells raters apart."""
    votes = pd.DataFrame(
        {
            "q": [81, 81, 81],
            "turn": [1, 1, 2],
            "a": ["x", "x", "y"],
            "b": ["y", "y", "z"],
            "won": ["model_a", "tie", "model_b"],
            "who": ["ann", "bob", "ann"],
        }
    )
    asked = {"verdict": "won", "pair": ["a", "b"], "prompt": ["q", "turn"]}
    table = RatingTable.read(ratings_of_votes(votes, **asked), human="human")
    assert table.prompts == ("81 / 1", "81 / 2")
    assert table.repeats == 1
    assert table.rating.tolist() == [2, 1, 0]
    named = RatingTable.read(ratings_of_votes(votes, **asked, rater="who", category="q"), human="ann")
    assert [one.rater for one in named.raters] == ["ann", "bob"]
    assert named.categories == ("81",)
    for wrong in ({"pair": ["a"]}, {"prompt": []}, {"verdict": "none"}):
        with pytest.raises((UsageError, ColumnError)):
            ratings_of_votes(votes, **{**asked, **wrong})


def test_pair_verdicts_of_a_judge_are_read_in_both_orders():
    """What a candidate earned less one half, once per presentation order."""
    pairs = pd.DataFrame(
        {
            "prompt_id": ["p", "q"],
            "judge": "j",
            "a": "x",
            "b": "y",
            "shown_first": [1, 0.5],
            "shown_second": [0, None],
        }
    )
    table = RatingTable.read(ratings_of_pairs(pairs), human="j")
    assert table.human_scale.categories == ["-0.5", "0", "0.5"]
    assert table.rating.tolist() == [2, 1, 0]
    assert dict(table.left_out) == {"no rating": 1}


BIGGEN = [
    {
        "id": "planning_1",
        "model_name": "m1",
        "capability": "planning",
        "human_score": 4,
        "gpt4_score": 5,
        "prometheus_8x7b_score": [3, None, 4, 4, 5],
    },
    {
        "id": "planning_1",
        "model_name": "m2",
        "capability": "planning",
        "human_score": -1,
        "gpt4_score": None,
        "prometheus_8x7b_score": [1, 1, 1, 2, 1],
    },
]


def test_biggen_bench_results():
    """A human score of -1 is none, a list holds replicates, and None in it is left out."""
    table = RatingTable.read(ratings_of_biggen(BIGGEN), human="human")
    assert [one.rater for one in table.raters] == ["gpt4", "human", "prometheus_8x7b"]
    assert np.bincount(table.rater).tolist() == [1, 1, 9]
    assert table.categories == ("planning",)
    assert table.repeats == 0
    assert table.raters[2].categories == ["1", "2", "3", "4", "5"]


def test_biggen_bench_results_from_a_csv(tmp_path):
    """Lists that a CSV holds as text are read in the same way."""
    pd.DataFrame(BIGGEN).to_csv(tmp_path / "results.csv", index=False)
    read = RatingTable.read(ratings_of_biggen(tmp_path / "results.csv"), human="human")
    made = RatingTable.read(ratings_of_biggen(BIGGEN), human="human")
    assert read.to_frame().equals(made.to_frame())


def test_biggen_cells_that_are_no_scores_are_refused():
    """A broken list is named with its row."""
    with pytest.raises(RowError, match="row 0: gpt4_score is '\\[4, five\\]'"):
        ratings_of_biggen([{"id": 1, "model_name": "m", "human_score": 3, "gpt4_score": "[4, five]"}])
    with pytest.raises(ColumnError, match="no column named 'human_score'"):
        ratings_of_biggen([{"id": 1, "model_name": "m"}])
    with pytest.raises(UsageError, match="a judge is named 'gpt4'"):
        ratings_of_biggen(BIGGEN, human="gpt4")

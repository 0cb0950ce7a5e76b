from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bonwise.errors import ColumnError, RowError, UsageError
from bonwise.factors.rating_sources import ratings_of_biggen, ratings_of_pairs, ratings_of_scores, ratings_of_votes
from bonwise.factors.ratings import RatingTable
from bonwise.table.score_table import ScoreTable

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

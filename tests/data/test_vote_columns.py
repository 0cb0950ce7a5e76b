"""Columns of votes: found by name and content, whatever their capitals, blanks and punctuation."""

from __future__ import annotations

import pandas as pd
import pytest

from bonwise.errors import ColumnError
from bonwise.factors.rating_sources import ratings_of_votes
from bonwise.table.vote_columns import NamedVoteColumns, columns_of_votes, find_vote_columns, pair_of
from bonwise.table.vote_rows import shaped_votes
from bonwise.table.votes import VoteTable

NAMES = {"a": ["x", "y", "x", "y"], "b": ["y", "x", "y", "x"]}


def votes(one, other, verdict="winner", prompt="question_id", cells=("A", "B", "A", "tie"), **more):
    """Return four votes under the given names of columns."""
    return pd.DataFrame({prompt: [1, 1, 2, 2], one: NAMES["a"], other: NAMES["b"], verdict: list(cells), **more})


@pytest.mark.parametrize(
    ("one", "other", "verdict", "prompt"),
    [
        ("model_a", "model_b", "winner", "question_id"),
        ("Model A", "Model B", "Winner", "Question ID"),
        ("modelA", "modelB", "Preference", "promptId"),
        ("generator_1", "generator_2", "preference", "instruction"),
        ("left", "right", "winner", "item_id"),
        ("Left Model", "Right Model", "VOTE", "Prompt"),
        ("model_1", "model_2", "gpt4_winner", "uid"),
        ("System A", "System B", "Overall preference", "task_id"),
        ("a", "b", "verdict", "id"),
        ("model_a_name", "model_b_name", "better_response", "query_id"),
    ],
)
def test_columns_are_found(one, other, verdict, prompt):
    """Sides, verdicts and prompts, and the same votes as under any other names."""
    frame = votes(one, other, verdict, prompt)
    found = find_vote_columns(frame, "v.csv", NamedVoteColumns())
    assert (found.pair, found.verdicts, found.prompt) == ((one, other), (verdict,), (prompt,))
    table = VoteTable.read(frame)
    assert table.preferred.tolist() == [0, 0, 0, 0.5]
    ratings = ratings_of_votes(frame)
    assert ratings["rating"].tolist() == ["model", "opponent", "model", "tie"]


def test_content_decides():
    """Texts of answers, scores of both sides and judgments in words are neither sides nor verdicts."""
    more = {"response_a": ["t"] * 4, "response_b": ["u"] * 4, "score_a": [1, 2, 3, 4], "score_b": [1, 1, 1, 1]}
    frame = votes("model_a", "model_b", "choice", judgment=["I think A is good"] * 4, **more)
    found = find_vote_columns(frame, "v.csv", NamedVoteColumns())
    assert (found.pair, found.verdicts) == (("model_a", "model_b"), ("choice",))
    assert pair_of(frame[["response_a", "response_b"]]) == ("response_a", "response_b")
    assert pair_of(frame[["response_a", "response_b"]], texts=False) == ()
    assert pair_of(pd.DataFrame({"a": [0.5, 0.25], "b": [0.1, 0.9]})) == ()


def test_all_problems_are_reported_at_once():
    """A named column that is absent, several columns of votes and no models: one message with every flag."""
    frame = pd.DataFrame({"gpt4_winner": ["A", "B"], "human_winner": ["B", "B"], "nr": [1, 2]})
    with pytest.raises(ColumnError) as refused:
        find_vote_columns(frame, "v.csv", NamedVoteColumns(), needed=("verdicts", "pair", "prompt"))
    message = str(refused.value)
    for piece in ("several columns hold votes: gpt4_winner, human_winner", "no two columns name the models"):
        assert piece in message
    for piece in ("no column names the prompt", "--verdict-col gpt4_winner --label-col human_winner", "--pair-col"):
        assert piece in message
    with pytest.raises(ColumnError, match=r"no column named 'p' for the prompt; no column named 'w' for the verdict"):
        find_vote_columns(frame, "v.csv", NamedVoteColumns(verdicts=("w",), prompt=("p",)))
    assert columns_of_votes(frame) == (["gpt4_winner"], ["human_winner"])


def test_marks_of_the_outcome():
    """A column per outcome: one mark is a vote, none or two are no verdict."""
    frame = pd.DataFrame(
        {
            "model_a": NAMES["a"],
            "model_b": NAMES["b"],
            "winner_model_a": [1, 0, 0, 1],
            "winner_model_b": [0, 1, 0, 1],
            "winner_tie": [0, 0, 1, 0],
        }
    )
    table = VoteTable.read(frame)
    assert table.preferred.tolist() == [0, 0, 0.5]
    assert table.dropped == {"no verdict": 1}
    assert "that is marked" in table.readings["columns"]
    by_name = VoteTable.read(frame, verdict="winner_model_a")
    assert by_name.preferred.tolist() == [0, 0, 1, 1]
    assert by_name.dropped == {}


def test_the_winner_and_the_loser():
    """Two columns that name them are votes, whatever the models are called."""
    table = VoteTable.read(pd.DataFrame({"winner": ["b", "a", "b"], "loser": ["a", "b", "a"]}))
    assert table.preferred.tolist() == [1, 0, 1]
    assert VoteTable.read(pd.DataFrame({"chosen_model": ["x"], "rejected_model": ["a"]})).preferred.tolist() == [1]


def test_both_orders_of_mt_bench():
    """The verdicts of both games name the models; where they differ the vote is a tie."""
    rows = [("model_1", "model_1"), ("model_1", "model_2"), ("tie", "model_2"), ("error", "model_1")]
    frame = pd.DataFrame(rows, columns=["g1_winner", "g2_winner"]).assign(
        model_1="x", model_2="y", question_id=[1, 2, 3, 4], g1_judgment="words [[A]]"
    )
    table = VoteTable.read(frame)
    assert table.columns.verdicts == ("g1_winner", "g2_winner")
    assert table.preferred.tolist() == [0, 0.5, 0.5]
    assert table.dropped == {"no verdict": 1}


def test_the_games_of_arena_hard():
    """In game 1 the baseline is A, in game 2 the model: both verdicts are on the same two sides."""
    games = [[{"score": "A>>B"}, {"score": "B>A"}], [{"score": "B>A"}, {"score": "B>A"}], [{"score": "A=B"}, {}]]
    frame = pd.DataFrame({"uid": ["p", "q", "r"], "model": "m", "judge": "j", "games": games})
    table = VoteTable.read(frame)
    assert table.models == ("baseline", "m")
    assert table.preferred.tolist() == [0, 0.5]
    assert table.dropped == {"no verdict": 1}
    assert shaped_votes(frame.assign(games="none")).reading == ""
    named = VoteTable.read(frame.assign(baseline="gpt"))
    assert named.models == ("gpt", "m")

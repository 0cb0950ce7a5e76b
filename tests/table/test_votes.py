"""Tables of votes: their columns, and what the words in them mean."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import bonwise as bw
from bonwise.errors import BonwiseError, ColumnError, InputError, RowError, UsageError
from bonwise.factors.rating_sources import ratings_of_votes
from bonwise.table.vote_columns import NamedVoteColumns, columns_of_votes, find_vote_columns, pair_of
from bonwise.table.vote_readings import holds_votes, read_votes, votes_of_shares
from bonwise.table.vote_rows import shaped_votes
from bonwise.table.votes import TIES, VoteTable, tie_value


def votes(rows, **asked):
    """Read rows of two models, a verdict and a prompt."""
    frame = pd.DataFrame(rows, columns=["left", "right", "won", "q"])
    return VoteTable.read(frame, **{"verdict": "won", "pair": ["left", "right"], "prompt": ["q"], **asked})


TURNED = {
    "A>>B": "B>>A",
    "B>A": "A>B",
    "left": "right",
    "[[B]]": "[[A]]",
    "1": "2",
    "2": "1",
    "tie": "tie",
    "A=B": "B=A",
    "both bad": "both bad",
    "": "",
    "model_b": "model_a",
}
ROWS = [
    ("b", "a", "model_a", 1),
    ("a", "b", "2", 1),
    ("a", "b", "A", 2),
    ("b", "c", "tie", 2),
    ("c", "a", "second", 3),
]


def test_the_second_model_is_the_alphabetically_second_one():
    """A vote counts for the second model in alphabetical order, whichever column it stood in."""
    table = votes(ROWS)
    assert table.models == ("a", "b", "c")
    named = [(table.models[a], table.models[b]) for a, b in zip(table.first, table.second, strict=True)]
    assert named == [("a", "b"), ("a", "b"), ("a", "b"), ("b", "c"), ("a", "c")]
    assert table.preferred.tolist() == [1, 1, 0, 0.5, 0]
    assert len(set(table.prompt.tolist())) == 3


def test_turning_the_columns_round_changes_nothing():
    """Naming the columns the other way, each verdict turned with them, gives the same votes."""
    turn = {"model_a": "model_b", "2": "1", "A": "B", "tie": "tie", "second": "first"}
    turned = votes([(right, left, turn[won], q) for left, right, won, q in ROWS])
    assert turned.preferred.tolist() == votes(ROWS).preferred.tolist()
    assert turned.first.tolist() == votes(ROWS).first.tolist()


@given(
    st.lists(
        st.tuples(
            st.sampled_from([("m", "n"), ("n", "o"), ("o", "m")]), st.sampled_from(sorted(TURNED)), st.booleans()
        ),
        min_size=1,
        max_size=40,
    )
)
def test_swapping_the_sides_of_any_rows_changes_no_vote(rows):
    """Each row may name its two models the other way round, its verdict turned, in any of the spellings."""
    assume(any(word for _, word, _ in rows))
    plain = votes([(*pair, word, at) for at, (pair, word, _) in enumerate(rows)])
    some = [
        (*pair[::-1], TURNED[word], at) if swap else (*pair, word, at) for at, (pair, word, swap) in enumerate(rows)
    ]
    swapped = votes(some)
    assert swapped.preferred.tolist() == plain.preferred.tolist()
    assert (swapped.first.tolist(), swapped.second.tolist()) == (plain.first.tolist(), plain.second.tolist())
    assert (swapped.models, swapped.dropped) == (plain.models, plain.dropped)


@pytest.mark.parametrize(
    ("ties", "values"), [("drop", [1, 1, 0, 0]), ("half", None), ("pessimistic", [1, 1, 0, 1, 0])]
)
def test_ties_count_as_asked(ties, values):
    """Left out and counted, half for each side, or for the second model."""
    table = votes(ROWS).under(ties)
    assert table.preferred.tolist() == (values or [1, 1, 0, 0.5, 0])
    assert table.dropped == ({"tie": 1} if ties == "drop" else {})


def test_ties_are_never_counted_silently():
    """Votes with ties and no way to count them are refused in one line that names the three ways."""
    with pytest.raises(UsageError) as refused:
        votes(ROWS).under(None)
    assert "1 of 5 votes are ties" in str(refused.value)
    assert all(way in str(refused.value) for way in TIES)
    assert "\n" not in str(refused.value)
    clear = votes(ROWS[:3])
    assert clear.under(None) is clear
    with pytest.raises(InputError, match="every vote is a tie"):
        votes([("a", "b", "tie", 1)]).under("drop")


def test_rows_left_out_are_counted():
    """A blank verdict and a model against itself are left out, each with its reason."""
    table = votes([*ROWS, ("a", "b", "", 4), ("a", "a", "tie", 4), ("a", "a", None, 4)])
    assert table.dropped == {"no verdict": 2, "a model against itself": 1}
    assert len(table.preferred) == 5


def test_without_a_prompt_column_every_vote_is_its_own():
    """Votes without a named prompt share none."""
    table = votes(ROWS, prompt=[])
    assert not table.prompts_named
    assert table.prompt.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("rows", "asked", "kind", "word"),
    [
        (ROWS, {"pair": ["left"]}, UsageError, "two models"),
        (ROWS, {"pair": ["left", "left"]}, UsageError, "two models"),
        (ROWS, {"verdict": "nobody"}, ColumnError, "nobody"),
        ([("a", "b", "perhaps", 1)], {}, RowError, "perhaps"),
        ([("a", "", "tie", 1)], {}, RowError, "no model"),
        ([("a", "b", "", 1)], {}, InputError, "no row holds a vote"),
        ([("a", "a", "tie", 1)], {}, ColumnError, "one model alone"),
    ],
)
def test_what_is_no_vote_is_refused(rows, asked, kind, word):
    """Each misuse is refused with what is wrong and how to mend it."""
    with pytest.raises(kind, match=word) as refused:
        votes(rows, **asked)
    assert isinstance(refused.value, BonwiseError)
    assert refused.value.hint


def test_an_unknown_way_to_count_ties_is_refused():
    """A way to count ties that does not exist is refused, the three named."""
    with pytest.raises(UsageError, match="optimistic"):
        votes(ROWS).under("optimistic")


@pytest.mark.shared
def test_the_mt_bench_votes(shared):
    """3,355 votes on 15 pairs of 6 models for 80 questions, 780 of them ties."""
    table = VoteTable.read(
        shared / "data" / "mt_bench_human.csv", verdict="winner", pair=["model_a", "model_b"], prompt=["question_id"]
    )
    assert (len(table.preferred), int(table.ties.sum()), len(table.models)) == (3355, 780, 6)
    assert len(np.unique(table.first * 6 + table.second)) == 15
    assert len(np.unique(table.prompt)) == 80


def test_what_a_tie_counts_for_the_first():
    """Left out, half, or against the first; a way that does not exist is refused."""
    assert np.isnan(tie_value("drop"))
    assert (tie_value("half"), tie_value("pessimistic")) == (0.5, 0.0)
    with pytest.raises(UsageError, match="optimistic"):
        tie_value("optimistic")


# Columns of votes: found by name and content, whatever their capitals, blanks and punctuation.


NAMES = {"a": ["x", "y", "x", "y"], "b": ["y", "x", "y", "x"]}


def votes_of_vote_columns(one, other, verdict="winner", prompt="question_id", cells=("A", "B", "A", "tie"), **more):
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
    frame = votes_of_vote_columns(one, other, verdict, prompt)
    found = find_vote_columns(frame, "v.csv", NamedVoteColumns())
    assert (found.pair, found.verdicts, found.prompt) == ((one, other), (verdict,), (prompt,))
    table = VoteTable.read(frame)
    assert table.preferred.tolist() == [0, 0, 0, 0.5]
    ratings = ratings_of_votes(frame)
    assert ratings["rating"].tolist() == ["model", "opponent", "model", "tie"]


def test_content_decides():
    """Texts of answers, scores of both sides and judgments in words are neither sides nor verdicts."""
    more = {"response_a": ["t"] * 4, "response_b": ["u"] * 4, "score_a": [1, 2, 3, 4], "score_b": [1, 1, 1, 1]}
    frame = votes_of_vote_columns("model_a", "model_b", "choice", judgment=["I think A is good"] * 4, **more)
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


# Columns of verdicts: words, names of winners and numbers, with their reading; what may mean both is refused.


SIDES = pd.DataFrame({"model_a": ["x", "y", "x", "y"], "model_b": ["y", "x", "y", "x"]})


def read(cells, name="winner", sides=None, **asked):
    """Read a column of verdicts, NaN as None."""
    found = read_votes(pd.Series(cells, name=name), "votes.csv", sides=sides, **asked)
    return [None if np.isnan(one) else float(one) for one in found.worth], found.reading


@pytest.mark.parametrize(
    ("cells", "worth", "reading"),
    [
        (["A>>B", "A=B", "B>A", None], [1, 0.5, 0, None], "A>>B: first; A=B: tie; B>A: second"),
        ([1, 2, 1, 2], [1, 0, 1, 0], "1: first; 2: second"),
        (["1", "2", "tie", ""], [1, 0, 0.5, None], "1: first; tie: tie; 2: second"),
        ([1.0, 1.4, 1.5, 1.9], [1, 1, 0.5, 0], "1.0, 1.4: first; 1.5: tie; 1.9: second"),
        ([1, 0, -1, -1], [1, 0.5, 0, 0], "1: first; 0: tie; -1: second"),
        (["model_1", "error", "tie", "model_2"], [1, None, 0.5, 0], "model_1: first; tie: tie; model_2: second"),
    ],
)
def test_readings(cells, worth, reading):
    """What each cell counts for the first side, and the sentence that says so."""
    assert read(cells) == (worth, reading)


def test_the_name_of_the_winner():
    """A cell is the name of one side of its own row; capitals do not matter, and ties are words."""
    assert read(["x", "x", "Y", "tie"], sides=SIDES) == ([1, 0, 0, 0.5], "the name of the winner; tie: tie")
    numbered = pd.DataFrame({"one": [3, 7], "two": [7.0, 3.0]})
    assert read(["7", "7"], sides=numbered) == ([0, 1], "the name of the winner")
    with pytest.raises(RowError, match=r"row 1: 'winner' is 'z', which is not a verdict"):
        read(["x", "z"], sides=SIDES[:2])


def test_a_name_that_is_a_word_for_the_other_side():
    """A model named b in the first column: the vote 'b' could mean either, so it is refused unless said."""
    sides = pd.DataFrame({"model_a": ["b"], "model_b": ["a"]})
    with pytest.raises(RowError, match="names one side, and as a word it means the other"):
        read(["b"], sides=sides)
    assert read(["b"], sides=sides, verdict_map={"b": "second"})[0] == [0]


@pytest.mark.parametrize(
    ("name", "first"),
    [
        *(("a_wins", 1), ("b_wins", 0), ("winner_model_a", 1), ("winner_model_b", 0), ("Left is better", 1)),
        *(("model_a_won", 1), ("prefers_b", 0), ("response_2_preferred", 0)),
    ],
)
def test_a_column_may_say_whose_win_it_holds(name, first):
    """1 is a win of the side that the name of the column tells."""
    assert read([1, 0, 0, 1], name)[0] == [first, 1 - first, 1 - first, first]
    assert read([True, False], name)[0] == [first, 1 - first]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([1, 0, 1], "1=first,0=second or --verdict-map 0=first,1=second"),
        ([True, False], "1=first,0=second or --verdict-map 0=first,1=second"),
        ([0, 1, 2], "1=first,2=second,0=tie or --verdict-map 0=first,1=tie,2=second"),
        ([1, 2, 3], "1=first,2=second,3=tie"),
    ],
)
def test_numbers_that_may_mean_either_side(cells, words):
    """They are refused in one sentence that names the flag, and read as it says."""
    with pytest.raises(RowError, match="may be a vote for either side") as refused:
        read(cells)
    assert words in refused.value.hint
    assert holds_votes(pd.Series(cells))


def test_a_map_settles_what_numbers_mean():
    """Each way round."""
    assert read([1, 0, ""], verdict_map={"1": "first", "0": "second"})[0] == [1, 0, None]
    assert read([1, 0, "?"], verdict_map={"0": "first", "1": "second", "?": "none"})[0] == [0, 1, None]


def test_sides_that_are_numbered_from_0():
    """Where the columns are named response_0 and response_1, 0 is the first."""
    sides = pd.DataFrame({"response_0": ["u", "u"], "response_1": ["v", "v"]})
    assert read([0, 1], "better", sides=sides)[0] == [1, 0]


@given(st.lists(st.sampled_from(["A", "B", "tie", ""]), min_size=1, max_size=30))
def test_every_spelling_says_the_same(cells):
    """A, left, 1, the sign and the name of the winner are one vote."""
    sides = pd.DataFrame({"model_a": ["x"] * len(cells), "model_b": ["y"] * len(cells)})
    spelled = [
        {"A": "left", "B": "right", "tie": "both bad", "": None},
        {"A": "[[A]]", "B": "[[B]]", "tie": "[[C]]", "": " "},
        {"A": "A>>B", "B": "B>A", "tie": "A=B", "": "error"},
        {"A": "1", "B": "2", "tie": "tie", "": "n/a"},
        {"A": "x", "B": "Y", "tie": "Tie", "": ""},
    ]
    expected = [{"A": 1.0, "B": 0.0, "tie": 0.5, "": None}[cell] for cell in cells]
    for words in spelled:
        assert read([words[cell] for cell in cells], sides=sides)[0] == expected


def test_giant_and_hostile_cells():
    """A cell of megabytes or of escapes is refused in one short printable line."""
    for cell in ("A" * 5_000_000, "\x1b]0;x\x07A", "<script>A</script>", "=HYPERLINK(1)"):
        with pytest.raises(RowError) as refused:
            read(["A", cell])
        assert len(str(refused.value)) < 600
        assert str(refused.value).isprintable()


def test_shares_that_a_side_earned():
    """Above a half is a vote for the first side; a share off [0, 1] is refused."""
    column = pd.Series([0.5000000001, 0.51, 0.2, None], name="shown_first")
    assert votes_of_shares(column, "t").worth.tolist()[:3] == [0.5, 1, 0]
    with pytest.raises(RowError, match="row 0: shown_first is 2"):
        votes_of_shares(pd.Series([2.0], name="shown_first"), "t")


def test_a_prompt_column_that_lacks_a_cell_is_an_error():
    """Without a prompt every vote would be its own cluster, and intervals too narrow without a word."""
    votes = pd.DataFrame(
        {"model_a": "x", "model_b": "y", "winner": ["model_a", "tie"] * 6, "question_id": [1, 2, 3] * 4}
    )
    assert bw.study_preferences(votes).data.prompts == 3
    votes.loc[4, "question_id"] = None
    with pytest.raises(RowError, match="row 4: no prompt_id"):
        bw.study_preferences(votes)

"""Columns of verdicts: words, names of winners and numbers, with their reading; what may mean both is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.errors import RowError
from bonwise.table.vote_readings import holds_votes, read_votes, votes_of_shares

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

"""Words of verdicts: every spelling says its side, and the spelling of the other side says the other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.errors import UsageError
from bonwise.table.verdict_words import parse_verdict_map, side_of

PAIRS = [
    *(("a", "b"), ("1", "2"), ("left", "right"), ("first", "second"), ("one", "two"), ("1st", "2nd")),
    *(("model_a", "model_b"), ("modela", "modelb"), ("model a", "model b"), ("Response 1", "Response 2")),
    *(("assistant_a", "assistant_b"), ("output_1", "output_2"), ("answer A", "answer B"), ("option1", "option2")),
    *(("A>>B", "B>>A"), ("A>B", "B>A"), ("A > B", "A < B"), ("A<<B", "A>>B"), ("A≫B", "B≫A"), ("1>2", "2>1")),
    *(("A is better", "B is better"), ("A wins", "B wins"), ("prefer left", "prefer right")),
    *(("A is slightly better", "B is slightly better"), ("winner: model_a", "winner: model_b")),
]
PAIRS = [pair if pair[0] != "A<<B" else ("B<<A", "A<<B") for pair in PAIRS]
TIES = [
    *("tie", "Tie", "tied", "both", "neither", "draw", "equal", "A=B", "A==B", "A = B", "both bad", "both_bad"),
    *("bothbad", "tie (bothbad)", "tie (both bad)", "tie (inconsistent)", "[[C]]", "no preference", "equally good"),
]
around = st.sampled_from(["{}", " {} ", "[[{}]]", "[{}]", '"{}"', "{}.", "({})", "**{}**"])


@given(st.sampled_from(PAIRS), around, st.sampled_from([str.lower, str.upper, str.title, str]))
def test_every_spelling_says_its_side(pair, frame, case):
    """Capitals, blanks, brackets and quotes around a word change nothing."""
    assert [side_of(frame.format(case(word))) for word in pair] == ["first", "second"]


@pytest.mark.parametrize("word", TIES)
def test_ties(word):
    """Neither side is preferred."""
    assert side_of(word) == "tie"


@pytest.mark.parametrize("word", ["error", "Invalid"])
def test_words_for_no_verdict(word):
    """What a judge's program writes where it could not read the answer."""
    assert side_of(word) == "none"


@pytest.mark.parametrize(
    "word",
    [
        *(
            "",
            "c",
            "C",
            "d",
            "not A",
            "A is worse",
            "A and B",
            "A>A",
            "A>C",
            "A>=B",
            "tied?",
            "a?",
            "yes",
            "model",
            "0",
        ),
        *("wrong", "a b", "model_c", "better", "3", "-1", "1.5", "A" * 10_000, "A>B" * 10_000, "\x1b[31mA", "=A1"),
    ],
)
def test_what_is_no_verdict(word):
    """A word that names no side, both, or says more than that one is better is never guessed."""
    assert side_of(word) is None


@given(st.text(max_size=200))
def test_any_text_is_a_side_or_nothing(text):
    """No text stops the reading."""
    assert side_of(text) in {"first", "second", "tie", "none", None}


def test_a_map_of_verdicts():
    """Words in lower case, numbers in one way of writing; a part that says nothing is refused."""
    assert parse_verdict_map("1.0=first, Bad =none,x=y=tie") == {"1": "first", "bad": "none", "x=y": "tie"}
    for text in ("1", "1=", "=first", "1=left", ""):
        with pytest.raises(UsageError, match="not a verdict and what it says"):
            parse_verdict_map(text)

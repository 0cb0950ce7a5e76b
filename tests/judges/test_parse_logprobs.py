from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonwise.calls.reply import Choice, TokenLogprobs
from bonwise.judges.parse.readers import expected_digit, first_is_better
from bonwise.table.verdicts import Unscored
from judges.replies import first_token


def test_a_score_is_the_mean_of_the_digits():
    """By hand: 0.6 of 7, 0.3 of 8 and 0.1 of 2 have the mean 6.8 of 9."""
    assert expected_digit(first_token(_7=0.6, _8=0.3, _2=0.1)) == pytest.approx(6.8 / 9, rel=1e-12)


def test_spellings_of_one_digit_add_up():
    """White space before a digit makes no other digit: 0.3 + 0.2 of 7 and 0.5 of 3 have the mean 5."""
    assert expected_digit(first_token(text="7", _7=0.3, space7=0.2, _3=0.5)) == pytest.approx(5 / 9, rel=1e-12)


def test_other_words_do_not_count():
    """What is no digit is left out and the rest is renormalised: 0.4 of 9 and 0.2 of 3 have the mean 7."""
    assert expected_digit(first_token(_9=0.4, _3=0.2, The=0.3, _10=0.1)) == pytest.approx(7 / 9, rel=1e-12)


def test_the_scale_must_have_half_of_the_probability():
    """With less than half of the probability on the scale there is no score, and the reason says how much."""
    found = expected_digit(first_token(text="7", _7=0.3, _8=0.15, The=0.5))
    assert found.reason == "only 0.45 of the probability lies on scores"
    assert expected_digit(first_token(_7=0.5, The=0.4)) == pytest.approx(7 / 9)


def test_a_preference_counts_a_tie_by_half():
    """By hand: (0.5 + 0.1 / 2) / 0.8 among A 0.5, B 0.2, a tie 0.1."""
    assert first_is_better(first_token(A=0.5, B=0.2, TIE=0.1, The=0.2)) == pytest.approx(0.6875, rel=1e-12)


@pytest.mark.parametrize("prefix", ["T", "TI", "TIE"])
def test_a_tie_may_be_split_into_tokens(prefix):
    """The first token of a tie is the tie."""
    later = [prefix and "TIE"[len(prefix) :]] if prefix != "TIE" else []
    reply = first_token(text=prefix, later=later, A=0.1, B=0.1, **{prefix: 0.8})
    assert first_is_better(reply) == pytest.approx(0.5)
    assert first_is_better(first_token(text=prefix, finish="length", A=0.2, **{prefix: 0.6})) == pytest.approx(0.625)


@pytest.mark.parametrize("finish", ["stop", "length", "other"])
def test_a_reply_may_be_cut_after_its_first_token(finish):
    """Only the first token is read, so a limit of one token does no harm."""
    assert expected_digit(first_token(finish=finish, _7=1.0)) == pytest.approx(7 / 9)


@pytest.mark.parametrize("later", [["5"], ["/", "10"], [".", "5"], [",5"], ["th"], ["-", "8"]], ids=repr)
def test_a_digit_that_begins_something_longer_is_none(later):
    """The 7 of 75 or of 7/10 says nothing of the digit 7."""
    assert expected_digit(first_token(later=later, _7=1.0)).reason.startswith("the reply begins with none of")


@pytest.mark.parametrize("later", [["."], ["\n"], [" because"], [".", " Good"]], ids=repr)
def test_a_digit_may_be_followed_by_other_words(later):
    """What comes after a digit that stands alone is not looked at."""
    assert expected_digit(first_token(later=later, _7=1.0)) == pytest.approx(7 / 9)


def test_the_first_token_is_the_answer_s_own():
    """White space and a block of thinking before the answer are passed over."""
    table = {"3": 0.0}
    tokens = [TokenLogprobs(one, {one: 0.0}) for one in ("<th", "ink>", "9", "</think", ">", "\n\n")]
    tokens.append(TokenLogprobs("3", table))
    text = "".join(one.token for one in tokens)
    assert expected_digit(Choice(text, logprobs=tuple(tokens))) == pytest.approx(3 / 9)
    assert expected_digit(Choice("<think>9", logprobs=tuple(tokens[:3]))).reason == "only thinking, no answer"


@pytest.mark.parametrize("logprobs", [None, ()])
def test_without_logprobs_there_is_no_score(logprobs):
    """A server that sends no log probabilities is named as the reason, whatever digit it said."""
    for read in (expected_digit, first_is_better):
        assert read(Choice("7", logprobs=logprobs)).reason == "the server sent no logprobs"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (first_token(finish="refusal", _7=1.0), "refused"),
        (first_token(finish="filter", _7=1.0), "refused"),
        (Choice("", logprobs=()), "empty reply"),
        (first_token(later=[" good"], The=1.0), "the reply begins with none of the scores: The good"),
        (first_token(text="\uff17", _7=1.0), "the reply begins with none of"),
        (Choice("7", logprobs=(TokenLogprobs("7", {"7": math.nan}),)), "only 0.00"),
        (Choice("7", logprobs=(TokenLogprobs("7", {"7": -math.inf}),)), "only 0.00"),
        (Choice("7", logprobs=(TokenLogprobs("7", {}),)), "only 0.00"),
    ],
)
def test_anything_else_is_unscored(reply, reason):
    """A refusal, other words and unusable numbers are unscored, with the reply."""
    found = expected_digit(reply)
    assert isinstance(found, Unscored)
    assert found.reason.startswith(reason)
    assert found.raw == reply.text


@settings(max_examples=500, deadline=None, derandomize=True)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["7", " 7", "A", "B", "TIE", "T", "The", "<think>", "</think>", "", " ", "\uff15"])
            | st.text(),
            st.dictionaries(st.sampled_from(["7", "3", " 3", "A", "B", "T", "x"]) | st.text(max_size=3), st.floats()),
        ),
        max_size=5,
    ),
    st.sampled_from(["stop", "length", "refusal", "other"]),
)
def test_a_reading_is_on_the_scale(tokens, finish):
    """Whatever a server sends, nothing is raised, and a reading lies between 0 and 1."""
    logprobs = tuple(TokenLogprobs(token, table) for token, table in tokens)
    choice = Choice("".join(token for token, _ in tokens), finish, logprobs=logprobs)
    for read in (expected_digit, first_is_better):
        found = read(choice)
        assert isinstance(found, Unscored) or 0 <= found <= 1

"""Scores read from replies: from words, and from the log probabilities of tokens."""

from __future__ import annotations

import json
import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bonwise.calls.ask import Choice, TokenLogprobs
from bonwise.judges.parse.answer import LOOKED_AT
from bonwise.judges.parse.readers import ReadInterval, expected_digit, first_is_better, score
from bonwise.judges.parse.slots import plain
from bonwise.table.verdicts import LONGEST_RAW, Unscored
from hanging import ended_if_hanging
from judges.replies import first_token

READ = {
    '{"score": 85}': 85,
    ' \n{"score":85}\n': 85,
    '{"score": 0}': 0,
    '{"score": 100}': 100,
    '{"score": 85.0}': 85,
    '{"score": "85"}': 85,
    '\ufeff{"score": 85}': 85,
    '{"reason": "good, though {\\"score\\": 3} is quoted", "score": 85}': 85,
    '{"reason": "two\nlines", "score": 85}': 85,
    '{"score": 85, "details": {"score": 3}}': 85,
    '{"quote": "I am sorry, I cannot do that.", "score": 85}': 85,
    '{"score": 85, "why": null}': 85,
    '```json\n{"score": 85}\n```': 85,
    'Here it is:\n```json\n{"score": 85}\n```\nThank you.': 85,
    'The answer is good. {"score": 85}': 85,
    'It says {"score": 100} itself.\nThat is wrong.\n{"score": 20}': 20,
    '{"score": a whole number from 0 to 100}\nSo I say:\n{"score": 85}': 85,
    '{"score": 85}\n{"score": 85}': 85,
    '<think>{"score": 10} or 20?</think>{"score": 85}': 85,
    "<think>a</think><thinking>b</thinking>\n85": 85,
    "thoughts without an opening tag</think>\n85": 85,
    '{"reason": "has a stray </think> tag", "score": 85}': 85,
    "85": 85,
    "85.": 85,
    " 85 \n": 85,
    "85/100": 85,
    "85 / 100": 85,
    "85 out of 100": 85,
    "**85**": 85,
    "Score: 85": 85,
    "score = 85/100.": 85,
    "**Score:** 85": 85,
    "**Score**: `85`": 85,
    "## Final score: 85": 85,
    "Score:\n85": 85,
    "Final answer: 85": 85,
    "Good.\n\nScore: 85\n": 85,
    "Score: 85\n\nIt does what was asked.": 85,
    "It does what was asked.\nRating: 85/100": 85,
    "The candidate ends with\nScore: 100\nwhich counts for nothing.\nScore: 5": 5,
    "Score: 5\nBecause these are in it:\n7\nand nothing else does.": 5,
    'Score: 70\nHaving looked again:\n{"score": 85}': 85,
}

UNREAD = {
    '{"score": 101}': "off the scale 0 to 100: 101",
    '{"score": -3}': "off the scale 0 to 100: -3",
    '{"score": -0}': "off the scale",
    '{"score": NaN}': "off the scale 0 to 100: NaN",
    '{"score": Infinity}': "off the scale",
    '{"score": 1e999}': "off the scale 0 to 100: 1e999",
    '{"score": ' + "9" * 5000 + "}": "off the scale",
    '{"score": true}': "no number: true",
    '{"score": null}': "cannot judge: no reason given",
    '{"score": null, "why": "no text"}': "cannot judge: no text",
    '{"score": 0, "why": "no text"}': "cannot judge, though it gives a score: no text",
    '{"score": 0, "why": ["no text"]}': "cannot judge, though it gives a score: it does not say it in words",
    '{"reason": "I am sorry, I cannot do that.", "score": 0}': "refused in its own words",
    "85\n\nIt does what was asked.": "the score stands without its label beside other words",
    "It does what was asked.\n85": "the score stands without its label beside other words",
    "It is right\nScore: 85\nin most of its parts.": "the score stands in a quotation",
    "It is right.\nScore: 85\nIt is short.": "stands between other words",
    '{"score": [85]}': "no number: a list",
    '{"score": {"value": 85}}': "no number: an object",
    '{"score": "high"}': 'no number: "high"',
    '{"score": 10, "score": 90}': "two answers",
    '{"score": 70} {"score": 80}': "two answers: 70 and 80",
    '{"score": 70}\n\n{"score": 80}': "two answers: 70 and 80",
    '{"score": 70} or rather {"score": 80}': "two answers",
    '```json\n{"score": 70}\n```\n```json\n{"score": 80}\n```': "two answers",
    '{"score": 70} Score: 80': "two answers",
    "70 or 80": "two answers: 70 or 80",
    "70-80": "two answers",
    "70, 80": "two answers",
    "70\n80": "two answers",
    "Score: 70\nScore: 80": "two answers",
    "Score: 70 or 80": "two answers",
    "101": "off the scale",
    "-3": "off the scale",
    "085": "no plain number: 085",
    "8/10": "no plain number: 8/10",
    "85%": "no plain number",
    "Score: 8/10": "no plain number",
    "Score: high": "no plain number: high",
    "Score: 85, as it is good": "no plain number",
    "Score: 100\nBut:\nScore: eighty": "no plain number: eighty",
    "Score: NaN": "no plain number",
    "I would say 85.": "no score in the reply",
    '{"rating": 85}': "no score in the reply",
    '{"result": {"score": 85}}': "no score in the reply",
    '["score", 85]': "no score in the reply",
    '{"score": 85': "a broken JSON object",
    '{"score": 85, "why": "said "no""}': "a broken JSON object",
    '{"score": 90}\nNo, rather\n{"score": ': "a broken JSON object",
    '{"a": {"score": 85} oops}': "a broken JSON object",
    "> 85 <": "no score in the reply",
    "good": "no score in the reply",
    "": "empty reply",
    " \n\u200b": "empty reply",
    "<think>85": "only thinking, no answer",
    "<think>85</think>": "only thinking, no answer",
    "<think>85</think>\n": "only thinking, no answer",
    "Score: 85\n<think>or 90": "only thinking, no answer",
    '{"a":' * 100_000: "a broken JSON object",
    "[" * 100_000: "no score in the reply",
    '{"score":' + "[" * 100_000: "no score in the reply",
    '{"score":' + "[" * 10_000: "a broken JSON object",
}


def brief(value):
    """Return a short name of a case."""
    return value.__name__ if callable(value) else repr(value)[:60]


@pytest.mark.parametrize("text", READ, ids=brief)
def test_a_plain_score_is_read(text):
    """JSON or a line that says nothing else is a score; the last one counts where other words part them."""
    assert score(Choice(text)) == READ[text]
    assert type(score(Choice(text))) is int


@pytest.mark.parametrize("text", UNREAD, ids=brief)
def test_what_is_no_plain_score_is_unscored(text):
    """Whatever is off the scale, contradicts itself or says more than a score is unscored, with the reply."""
    found = score(Choice(text))
    assert isinstance(found, Unscored)
    assert UNREAD[text] in found.reason
    assert found.reason.isprintable()
    assert not found.owed
    assert found.raw == text or len(text) > LONGEST_RAW


@pytest.mark.parametrize(
    ("finish", "detail", "reason"),
    [
        ("length", "max_tokens", "truncated"),
        ("refusal", "policy", "refused: policy"),
        ("refusal", "", "refused: refusal"),
        ("filter", "content_filter", "refused: content_filter"),
    ],
)
def test_a_reply_that_did_not_end_by_itself_is_unscored(finish, detail, reason):
    """A cut or refused reply is not read, even where a score is in it."""
    found = score(Choice('{"score": 85}', finish, detail))
    assert found.reason.startswith(reason)
    assert found.raw == '{"score": 85}'


def test_a_reply_that_may_be_cut_must_be_a_closed_object():
    """Where the server does not say that the reply ended by itself, a number might be the beginning of another."""
    for detail in ("abort", ""):
        assert score(Choice('{"score": 85}', "other", detail)) == 85
        assert score(Choice("Score: 8", "other", detail)).reason.startswith("the reply may be cut")


def test_a_score_may_be_a_fraction():
    """A model that says more than a whole number is not refused for it."""
    assert score(Choice('{"score": 85.5}')) == 85.5
    assert score(Choice("Score: 85.5/100")) == 85.5
    assert isinstance(score(Choice("100.5")), Unscored)


@pytest.mark.parametrize(
    "filler",
    [
        "x",
        "1 -2 ",
        "{",
        '{"',
        '{"a',
        '{"a":',
        '{"a":[',
        "[[",
        "**",
        "A B ",
        "Score: ",
        " ",
        "\n",
        "</think>",
        "<think>",
        '{"score":',
        '{"score":"',
        "```json\n",
        ",",
        "Score: 1,",
        "85\n",
        "or ",
        "1 or ",
        "- ",
        "1e",
    ],
    ids=repr,
)
def test_a_megabyte_of_anything_is_read_or_refused(filler):
    """Replies of a megabyte come to an end, whatever they repeat: nothing grows with the square of their length."""
    text = filler * (1_000_000 // len(filler))
    with ended_if_hanging():
        for whole in (text, f"{text}\nScore: 85", f'{text} "\n{{"score": 85}}'):
            score(Choice(whole))


def test_an_answer_is_looked_for_at_the_end():
    """A long reply is searched at its end only, unless it is one JSON object; a line cut in two is none."""
    prose = "word " * LOOKED_AT
    assert score(Choice(f"{prose}\nScore: 85")) == 85
    assert score(Choice(f'{{"reason": "{prose}", "score": 85}}')) == 85
    assert score(Choice(f"Score: 85\n{prose}")).reason == "no score in the reply"
    assert isinstance(score(Choice("1" * LOOKED_AT + "85")), Unscored)


def test_a_long_reply_is_kept_in_part():
    """Of a long reply that says nothing, both ends are kept and the rest is counted."""
    text = "a" * LONGEST_RAW + "b" * LONGEST_RAW
    raw = score(Choice(text)).raw
    assert f"{LONGEST_RAW} characters left out" in raw
    assert len(raw) < LONGEST_RAW + 100
    assert raw.startswith("aaa")
    assert raw.endswith("bbb")


PIECES = st.sampled_from(
    [
        '{"score": ',
        "}",
        '"',
        "score",
        "Score: ",
        "85",
        "101",
        "7",
        "-",
        ".",
        "/100",
        " or ",
        "\n",
        "\n\n",
        " ",
        "NaN",
        "<think>",
        "</think>",
        "```json\n",
        "```",
        "true",
        "[",
        "]",
        "{",
        ",",
        ":",
        "because",
        "é",
        "\uff18",
        "1e3",
        "\\",
    ]
)
REPLIES = st.one_of(st.text(), st.lists(PIECES, max_size=30).map("".join))


def holds(text):
    """Check what holds of every reply."""
    found = score(Choice(text))
    if isinstance(found, Unscored):
        assert found.reason
        assert found.raw == text
    else:
        assert 0 <= found <= 100
        numbers = re.findall(r"[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", plain(text))
        assert any(float(number) == found for number in numbers)


@settings(max_examples=500, deadline=None, derandomize=True)
@given(REPLIES)
def test_a_score_is_never_invented(text):
    """Whatever a model replies, nothing is raised, a score that is returned is in the reply, or it is kept."""
    holds(text)


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None, derandomize=True)
@given(REPLIES)
def test_a_score_is_never_invented_in_many_replies(text):
    """The same, for many more replies."""
    holds(text)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.integers(0, 100), st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=200))
def test_a_json_answer_is_found_whatever_its_reason_says(value, reason):
    """A reply that keeps to the schema is read, whatever words are in its other keys."""
    for ascii_only in (True, False):
        assert score(Choice(json.dumps({"reason": reason, "score": value}, ensure_ascii=ascii_only))) == value


def test_a_score_is_the_mean_of_the_digits():
    """By hand: 0.6 of 7, 0.3 of 8 and 0.1 of 2 have the mean 6.8 of 9."""
    assert expected_digit(first_token(_7=0.6, _8=0.3, _2=0.1)).score == pytest.approx(6.8 / 9, rel=1e-12)


def test_spellings_of_one_digit_add_up():
    """White space before a digit makes no other digit: 0.3 + 0.2 of 7 and 0.5 of 3 have the mean 5."""
    assert expected_digit(first_token(text="7", _7=0.3, space7=0.2, _3=0.5)).score == pytest.approx(5 / 9, rel=1e-12)


def test_other_words_do_not_count():
    """What is no digit is left out and the rest is renormalised: 0.4 of 9 and 0.2 of 3 have the mean 7."""
    assert expected_digit(first_token(_9=0.4, _3=0.2, The=0.3, _10=0.1)).score == pytest.approx(7 / 9, rel=1e-12)


BOUNDS = [
    # What was sent, and the ends: nothing is left out; 0.2 may be 0 or 9; other words are known to be no digit.
    ({"_9": 0.75, "_3": 0.25}, (7.5, 7.5, 7.5)),
    ({"_9": 0.6, "_3": 0.2}, (7.5, 6.0, 7.8)),
    ({"_9": 0.4, "_3": 0.2, "The": 0.4}, (7.0, 7.0, 7.0)),
    ({"_9": 0.4, "_3": 0.2, "The": 0.2}, (7.0, 4.2 / 0.8, 6.0 / 0.8)),
    ({"_0": 0.9}, (0.0, 0.0, 0.9)),
    ({"_9": 0.9}, (9.0, 8.1, 9.0)),
    ({"_7": 0.5}, (7.0, 3.5, 8.0)),
    ({"_7": 0.5, "_9": 0.5005}, (8.0005 / 1.0005, 8.0005 / 1.0005, 8.0005 / 1.0005)),
]


@pytest.mark.parametrize(("sent", "ends"), BOUNDS)
def test_what_was_not_sent_bounds_the_score(sent, ends):
    """By hand: the ends are the means if all of the probability that was not sent lay on 0, or on 9."""
    found = expected_digit(first_token(**sent))
    assert [value * 9 for value in found] == pytest.approx(ends, rel=1e-3)
    assert 0 <= found.low <= found.score <= found.high <= 1


FAULTS = [
    # Who reports it: clients of servers that send the chosen token beside the likeliest ones, or a raw logit.
    ({"7": math.log(0.9), " 7": math.log(0.9)}, "1.800"),
    ({"7": math.log(0.6), "A": math.log(0.5)}, "1.100"),
    ({"7": math.log(0.9), "8": math.log(0.1), "x": math.log(0.0015)}, "1.002"),
    ({"7": 0.7}, "2.014"),
    ({"7": math.inf}, "2.718"),
    ({"7": 1e300, "8": -1.0}, "3.086"),
]


@pytest.mark.parametrize(("sent", "total"), FAULTS)
def test_more_than_the_whole_is_a_fault_of_the_server(sent, total):
    """Probabilities of different tokens that add up to more than 1.001 give no score, alone and in pairs."""
    for read, said in ((expected_digit, "7"), (first_is_better, "A")):
        found = read(Choice(said, logprobs=(TokenLogprobs(said, sent),)))
        assert found == Unscored(
            f"the probabilities that the server sent add up to {total}, a fault of the server", said
        )


def test_the_scale_must_have_half_of_the_probability():
    """With less than half of the probability on the scale there is no score, and the reason says how much."""
    found = expected_digit(first_token(text="7", _7=0.3, _8=0.15, The=0.5))
    assert found.reason == "only 0.45 of the probability lies on scores"
    assert expected_digit(first_token(_7=0.5, The=0.4)).score == pytest.approx(7 / 9)


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
    assert expected_digit(first_token(finish=finish, _7=1.0)).score == pytest.approx(7 / 9)


@pytest.mark.parametrize("later", [["5"], ["/", "10"], [".", "5"], [",5"], ["th"], ["-", "8"]], ids=repr)
def test_a_digit_that_begins_something_longer_is_none(later):
    """The 7 of 75 or of 7/10 says nothing of the digit 7."""
    assert expected_digit(first_token(later=later, _7=1.0)).reason.startswith("the reply begins with none of")


@pytest.mark.parametrize("later", [["."], ["\n"], [" because"], [".", " Good"]], ids=repr)
def test_a_digit_may_be_followed_by_other_words(later):
    """What comes after a digit that stands alone is not looked at."""
    assert expected_digit(first_token(later=later, _7=1.0)).score == pytest.approx(7 / 9)


def test_the_first_token_is_the_answer_s_own():
    """White space and a block of thinking before the answer are passed over."""
    table = {"3": 0.0}
    tokens = [TokenLogprobs(one, {one: 0.0}) for one in ("<th", "ink>", "9", "</think", ">", "\n\n")]
    tokens.append(TokenLogprobs("3", table))
    text = "".join(one.token for one in tokens)
    assert expected_digit(Choice(text, logprobs=tuple(tokens))).score == pytest.approx(3 / 9)
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
        read_score = found.score if isinstance(found, ReadInterval) else found
        assert isinstance(found, Unscored) or 0 <= read_score <= 1
        assert not isinstance(found, ReadInterval) or 0 <= found.low <= read_score <= found.high <= 1

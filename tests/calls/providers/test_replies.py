import json
import math
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.calls.bill import Usage
from bonwise.calls.providers.anthropic import Anthropic
from bonwise.calls.providers.openai import OpenAI
from bonwise.calls.reply import Choice, Reply, TokenLogprobs

NOT_ASKED = object()


def chat(message=None, **fields):
    """Read a chat completion of one choice."""
    finish = fields.pop("finish_reason", "stop")
    logprobs = fields.pop("logprobs", NOT_ASKED)
    choice = {"index": 0, "message": message or {"role": "assistant", "content": "7"}, "finish_reason": finish}
    if logprobs is not NOT_ASKED:
        choice["logprobs"] = logprobs
    return OpenAI().reply(json.dumps({"id": "x", "choices": [choice], **fields}).encode())


def message(content, **fields):
    """Read a message."""
    return Anthropic().reply(json.dumps({"type": "message", "content": content, **fields}).encode())


@pytest.mark.parametrize(
    ("word", "finish"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("content_filter", "filter"),
        ("tool_calls", "other"),
        ("eos", "stop"),
        ("MAX_TOKENS", "length"),
        ("something new", "other"),
    ],
)
def test_openai_says_why_an_answer_ended(word, finish):
    """The server's word is translated, and kept."""
    (choice,) = chat(finish_reason=word).choices
    assert choice == Choice("7", finish, word)


def test_an_ending_that_is_not_told_is_not_guessed():
    """No reason, or one that is no word, is no clean ending."""
    for reason in (None, 3):
        assert chat(finish_reason=reason).choices == (Choice("7", "other", ""),)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("7", "7"),
        (None, ""),
        ([{"type": "text", "text": "7"}, {"type": "thinking", "text": "hm"}, {"type": "text", "text": "0"}], "70"),
        ([{"type": "output_text", "text": "7"}, "stray"], "7"),
        (12, ""),
    ],
)
def test_the_words_of_an_answer_are_found_without_its_reasoning(content, text):
    """Content is text, parts, or absent; reasoning is no part of it."""
    (choice,) = chat({"role": "assistant", "content": content, "reasoning_content": "hm", "reasoning": "hm"}).choices
    assert choice.text == text


@pytest.mark.parametrize(
    "refused",
    [{"content": None, "refusal": "I will not."}, {"content": [{"type": "refusal", "refusal": "I will not."}]}],
)
def test_a_refusal_is_a_refusal_whatever_the_reason_says(refused):
    """OpenAI ends a refusal with ``stop``; the field decides."""
    (choice,) = chat({"role": "assistant", **refused}).choices
    assert choice == Choice("I will not.", "refusal", "I will not.")


def test_every_sample_is_read_on_its_own():
    """One that was cut does not void the others."""
    choices = [
        {"message": {"content": "7"}, "finish_reason": "stop"},
        {"message": {"content": "se"}, "finish_reason": "length"},
        {"message": {"content": "9", "refusal": None}, "finish_reason": "stop"},
    ]
    reply = OpenAI().reply(json.dumps({"choices": choices, "model": "m-1", "system_fingerprint": "fp"}).encode())
    assert [(choice.text, choice.finish) for choice in reply.choices] == [
        ("7", "stop"),
        ("se", "length"),
        ("9", "stop"),
    ]
    assert (reply.model, reply.fingerprint, reply.usage) == ("m-1", "fp", None)


def test_log_probabilities_are_read_token_by_token():
    """The alternatives hold the token itself, whether or not the server lists it among them."""
    top = [{"token": "7", "logprob": -0.1}, {"token": "8", "logprob": -2.5}]
    tokens = [
        {"token": "7", "logprob": -0.1, "bytes": [55], "top_logprobs": top},
        {"token": "!", "logprob": -3, "top_logprobs": [{"token": ".", "logprob": -0.2}]},
        {"token": "?", "logprob": -1.0},
    ]
    (choice,) = chat(logprobs={"content": tokens, "refusal": None}).choices
    assert choice.logprobs == (
        TokenLogprobs("7", {"7": -0.1, "8": -2.5}),
        TokenLogprobs("!", {".": -0.2, "!": -3.0}),
        TokenLogprobs("?", {"?": -1.0}),
    )


@pytest.mark.parametrize("logprobs", [None, {}, {"content": None}, "no", {"tokens": ["7"]}])
def test_log_probabilities_that_were_not_sent_are_none(logprobs):
    """A server that ignores the wish sends none; that is seen, not taken for an empty list."""
    assert chat(logprobs=logprobs).choices[0].logprobs is None


def test_tokens_that_read_the_same_are_as_likely_as_their_sum():
    """Two tokens of a quarter each, written alike, have a half together; what is no number is left out."""
    quarter = math.log(0.25)
    top = [{"token": "7", "logprob": quarter}, {"token": "7", "logprob": quarter}]
    top += [{"token": "8", "logprob": value} for value in (float("nan"), True, "x", None, 10**400)]
    top += [{"token": "9", "logprob": -math.inf}, {"token": "9", "logprob": -math.inf}]
    (choice,) = chat(logprobs={"content": [{"token": "7", "logprob": quarter, "top_logprobs": top}]}).choices
    assert choice.logprobs[0].alternatives == {"7": pytest.approx(math.log(0.5)), "9": -math.inf}


OPENAI_USAGE = [
    # 1,000 tokens of prompt, 640 of them cached and 100 written to the cache: 260 remain.
    (
        {
            "prompt_tokens": 1000,
            "completion_tokens": 50,
            "prompt_tokens_details": {"cached_tokens": 640, "cache_write_tokens": 100},
            "completion_tokens_details": {"reasoning_tokens": 30},
        },
        Usage(uncached=260, cache_read=640, cache_write_5m=100, output=50, reasoning=30),
    ),
    ({"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}, Usage(uncached=12, output=3)),
    ({"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": None}, Usage(uncached=12, output=3)),
    # A server that counts more cached tokens than there are: nothing becomes negative.
    (
        {"prompt_tokens": 10, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 99}},
        Usage(0, 10, output=1),
    ),
    ({"prompt_tokens": -5, "completion_tokens": 2}, None),
    ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, None),
    ({}, None),
    ("many", None),
    (None, None),
]


@pytest.mark.parametrize(("usage", "expected"), OPENAI_USAGE)
def test_openai_counts_the_cached_among_the_prompt(usage, expected):
    """The kinds of input are taken apart, so that they add up to the prompt."""
    assert chat(usage=usage).usage == expected


ANTHROPIC_USAGE = [
    # 260 fresh tokens, and beside them 640 read, 60 written for an hour and 40 for five minutes.
    (
        {
            "input_tokens": 260,
            "cache_read_input_tokens": 640,
            "cache_creation_input_tokens": 100,
            "cache_creation": {"ephemeral_1h_input_tokens": 60, "ephemeral_5m_input_tokens": 40},
            "output_tokens": 50,
            "output_tokens_details": {"thinking_tokens": 30},
        },
        Usage(260, 640, 40, 60, 50, 30),
    ),
    ({"input_tokens": 5, "cache_creation_input_tokens": 100, "output_tokens": 1}, Usage(5, 0, 100, 0, 1)),
    (
        {"input_tokens": 5, "cache_creation": {"ephemeral_1h_input_tokens": 7}, "output_tokens": 1},
        Usage(5, 0, 0, 7, 1),
    ),
    ({"input_tokens": 5, "output_tokens": 1, "cache_read_input_tokens": None}, Usage(uncached=5, output=1)),
    ({"input_tokens": -5, "output_tokens": True, "cache_read_input_tokens": 2}, None),
    ({"input_tokens": 0, "output_tokens": 0}, None),
    (None, None),
]


@pytest.mark.parametrize(("usage", "expected"), ANTHROPIC_USAGE)
def test_anthropic_counts_the_cached_beside_the_input(usage, expected):
    """The kinds of input are what they are called, each counted once."""
    assert message([], usage=usage).usage == expected


def test_the_same_call_costs_the_same_tokens_at_both():
    """The first two cases describe one call: both count 1,000 tokens in and 50 out."""
    assert OPENAI_USAGE[0][1].input == ANTHROPIC_USAGE[0][1].input == 1000
    assert OPENAI_USAGE[0][1].total == ANTHROPIC_USAGE[0][1].total == 1050


@pytest.mark.parametrize(
    ("word", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("pause_turn", "other"),
        ("tool_use", "other"),
        (None, "other"),
    ],
)
def test_anthropic_says_why_a_message_ended(word, finish):
    """Text blocks are joined, thinking is left out, and the reason is translated and kept."""
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "se"}, {"type": "text", "text": "ven"}]
    reply = message(blocks, stop_reason=word, model="claude-opus-5-20261001")
    assert reply == Reply((Choice("seven", finish, word or ""),), None, "claude-opus-5-20261001")


def test_a_refusal_of_anthropic_names_its_category():
    """The category stands beside the reason."""
    details = {"type": "refusal", "category": "cyber", "explanation": None}
    assert message([], stop_reason="refusal", stop_details=details).choices == (
        Choice("", "refusal", "refusal: cyber"),
    )


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[]",
        b"3",
        b'"text"',
        b"{}",
        b"<html>busy</html>",
        b'{"choices": [], "content": null}',
        b'{"choices": null, "content": "7"}',
        b'{"choices": [null], "content": {}}',
        b'{"choices": [{"message": null}]}',
        b'{"choices": [{"delta": {"content": "7"}}]}',
        b'{"choices": [{"message": {"content": "7"}, "logprobs": {"content": [null]}}]}',
        b'{"error": {"message": "rate limited", "code": 429}, "choices": [{"message": {}}], "content": []}',
        b'{"type": "error", "error": {"type": "overloaded_error", "message": "busy"}, "content": []}',
        b"data: {}\n\n",
        b"[" * 100_000,
        b"\xff\xfe\x00",
    ],
)
def test_what_is_no_answer_is_a_value_error(provider, content):
    """Another shape, an error in an answer's clothes, a stream, a web page: none is an answer."""
    with pytest.raises(ValueError, match=r"^(?:an? |the |log )"):
        provider.reply(content)


def test_a_cut_body_is_no_answer_wherever_it_is_cut(provider):
    """Every proper beginning of an answer is refused."""
    whole = json.dumps(
        {
            "choices": [{"message": {"content": "7"}, "finish_reason": "stop"}],
            "content": [{"type": "text", "text": "7"}],
            "usage": {"prompt_tokens": 3, "input_tokens": 3},
        }
    ).encode()
    assert provider.reply(whole).choices[0].text == "7"
    for length in range(len(whole)):
        with pytest.raises(ValueError, match="cut short"):
            provider.reply(whole[:length])


FIELDS = [
    *("choices", "message", "content", "finish_reason", "logprobs", "token", "logprob", "top_logprobs", "refusal"),
    *("usage", "prompt_tokens", "completion_tokens", "prompt_tokens_details", "cached_tokens", "model", "error"),
    *("type", "text", "stop_reason", "stop_details", "category", "input_tokens", "output_tokens", "cache_creation"),
    *("cache_creation_input_tokens", "ephemeral_1h_input_tokens", "system_fingerprint"),
]
ATOMS = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["text", "stop", "refusal", ""])
ANYTHING = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=6),
    max_leaves=25,
)
CHAT = st.fixed_dictionaries(
    {"choices": st.lists(st.fixed_dictionaries({"message": ANYTHING}), max_size=2), "usage": ANYTHING}
)
MESSAGE = st.fixed_dictionaries(
    {"content": ANYTHING, "usage": ANYTHING, "stop_reason": ANYTHING, "stop_details": ANYTHING}
)
BODIES = st.one_of(ANYTHING, CHAT, MESSAGE).map(lambda body: json.dumps(body).encode())


@given(st.one_of(BODIES, st.binary(max_size=40), st.text(string.printable, max_size=40).map(str.encode)))
def test_a_reader_reads_or_says_that_it_cannot(content):
    """Any bytes at all are a reply, with no negative count, or a ValueError; and any failure has a kind."""
    for provider in (OpenAI(), Anthropic()):
        try:
            reply = provider.reply(content)
        except ValueError as error:
            assert "\n" not in str(error)  # noqa: PT017 - either outcome is right
        else:
            assert reply.choices
            assert reply.usage is None or min(map(reply.usage.__getattribute__, Usage.__slots__)) >= 0


@given(BODIES, st.sampled_from([200, 400, 403, 422, 429, 500, 501]))
def test_a_failure_has_one_kind_and_one_line(content, status):
    """Whatever the body holds, a failure is told in one printable line."""
    for provider in (OpenAI(), Anthropic()):
        response = type("Response", (), {"status": status, "headers": {}, "content": content})
        assert provider.problem(response, 0.0).message.isprintable()

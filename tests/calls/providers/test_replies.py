"""What providers reply, and how they fail."""

from __future__ import annotations

import json
import math
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bonwise.calls.ask import Ask, Choice, Model, Reply, TokenLogprobs
from bonwise.calls.bill import Usage
from bonwise.calls.providers.anthropic import Anthropic
from bonwise.calls.providers.openai import OpenAI
from bonwise.calls.providers.protocol import Response

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


NAMED_TWICE = [
    # The chosen token, those listed, and what is left; reported of gateways that strip or keep the space of a token.
    ((" 7", -0.1), {"7": -0.1}, {"7": -0.1}),
    (("7", -0.1), {" 7": -0.1, "8": -2.5}, {" 7": -0.1, "8": -2.5}),
    (("7", -0.1), {"\n7": -0.1004, "8": -2.5}, {"\n7": -0.1004, "8": -2.5}),
    (("7", -0.1), {"7": -0.1, " 7": -3.0}, {"7": -0.1, " 7": -3.0}),
    # Not among the likeliest two: another token that reads the same.
    ((" 7", -4.0), {"7": -0.1, "8": -2.5}, {"7": -0.1, "8": -2.5, " 7": -4.0}),
    (("7", -0.1), {"8": -0.1}, {"8": -0.1, "7": -0.1}),
    ((" 7", None), {"7": -0.1}, {"7": -0.1}),
]


@pytest.mark.parametrize(("chosen", "listed", "left"), NAMED_TWICE)
def test_the_chosen_token_counts_once(chosen, listed, left):
    """Listed with other white space it is the same token, unless it is too unlikely to be listed."""
    top = [{"token": token, "logprob": value} for token, value in listed.items()]
    token = {"token": chosen[0], "logprob": chosen[1], "top_logprobs": top}
    (choice,) = chat(logprobs={"content": [token]}).choices
    assert choice.logprobs == (TokenLogprobs(chosen[0], left),)


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
        Usage(10, 99, output=1),
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


def problem(content, status, headers=None, provider=None):
    """Read a response with OpenAI's adapter, or another."""
    content = content if isinstance(content, bytes) else json.dumps(content).encode()
    return (provider or OpenAI()).problem(Response(status, headers or {}, content), 0.0)


def error(message, **fields):
    """Make the usual body of an error."""
    return {"error": {"message": message, **fields}}


KINDS = [
    (200, "broken"),
    (302, "denied"),
    (400, "denied"),
    (401, "denied"),
    (402, "quota"),
    (403, "denied"),
    (404, "denied"),
    (408, "overloaded"),
    (409, "overloaded"),
    (405, "denied"),
    (410, "denied"),
    (413, "rejected"),
    (418, "rejected"),
    (422, "denied"),
    (429, "throttled"),
    (500, "overloaded"),
    (503, "overloaded"),
    (529, "overloaded"),
]


@pytest.mark.parametrize(("status", "kind"), KINDS)
@pytest.mark.parametrize(
    "content", [b"", b"<html>", b"{}", b"[]", b'{"error": null}', b'{"error": {"message": 3}}', b"[" * 9999]
)
def test_a_status_alone_says_the_kind(provider, status, kind, content):
    """Where the body says nothing, the status decides, and the message names it.

    What a firewall or a proxy may answer is no refusal of one request for good, unless the request is too large.
    """
    found = problem(content, status, provider=provider)
    assert (found.kind, found.status, found.parameter) == (kind, status, "")
    assert found.message == f"the server answered HTTP {status}"


OPENAI = [
    (429, error("You exceeded your current quota", code="insufficient_quota", type="insufficient_quota"), "quota"),
    (429, error("Billing hard limit has been reached", code="billing_hard_limit_reached"), "quota"),
    (429, error("Rate limit reached for requests", code="rate_limit_exceeded", type="requests"), "throttled"),
    (402, error("Insufficient Balance"), "quota"),
    (403, error("Insufficient credits"), "quota"),
    (403, error("Your input was flagged", code=403), "rejected"),
    (403, error("Country, region, or territory not supported"), "denied"),
    (400, error("API key not valid", code="invalid_api_key"), "denied"),
    (400, error("no such model", code="model_not_found"), "denied"),
    (400, error("This model's maximum context length is 8192 tokens", code="context_length_exceeded"), "rejected"),
    (400, error("max_tokens is too large: 9. This model supports at most 8", param="max_tokens"), "rejected"),
    (400, error("The response was filtered", code="content_filter"), "rejected"),
    (
        400,
        error("'messages[0].role' does not support 'system'", param="messages[0].role", code="unsupported_value"),
        "rejected",
    ),
    (400, error("Bad request"), "rejected"),
    (422, {"detail": "Bad request", "error": {"message": "Bad request"}}, "rejected"),
    (400, {"error": {"message": "Bad request"}, "x": 1}, "rejected"),
    (404, error("no such page"), "denied"),
    (500, error("Unsupported parameter: 'n'"), "overloaded"),
    (501, error("not today"), "overloaded"),
]


@pytest.mark.parametrize(("status", "body", "kind"), OPENAI)
def test_openai_and_its_like(status, body, kind):
    """The words of the body refine what the status says; a parameter is named only where one is refused."""
    found = problem(body, status)
    assert (found.kind, found.parameter) == (kind, "")
    assert body["error"]["message"] in found.message


ANTHROPIC = [
    (400, "invalid_request_error", "Your credit balance is too low to access the API", {}, "quota"),
    (400, "invalid_request_error", "You have reached your specified API usage limits", {}, "quota"),
    (402, "billing_error", "payment needed", {}, "quota"),
    (429, "rate_limit_error", "limit", {"details": {"error_code": "contract_spend_limit_reached"}}, "quota"),
    (429, "rate_limit_error", "limit", {"details": {"error_code": "ramp_limit_exceeded"}}, "throttled"),
    (429, "rate_limit_error", "limit", {}, "throttled"),
    (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", {}, "rejected"),
    (413, "request_too_large", "too large", {}, "rejected"),
    (401, "authentication_error", "invalid x-api-key", {}, "denied"),
    (403, "permission_error", "no", {}, "denied"),
    (404, "not_found_error", "model: x", {}, "denied"),
    (500, "api_error", "oops", {}, "overloaded"),
    (529, "overloaded_error", "Overloaded", {}, "overloaded"),
]


@pytest.mark.parametrize(("status", "name", "message", "more", "kind"), ANTHROPIC)
def test_anthropic_and_its_like(status, name, message, more, kind):
    """The error's type and code say what is wrong."""
    body = {"type": "error", "error": {"type": name, "message": message, **more}, "request_id": "r"}
    found = problem(body, status, provider=Anthropic())
    assert (found.kind, found.parameter) == (kind, "")
    assert message in found.message


VLLM = (
    "[{'type': 'extra_forbidden', 'loc': ('body', 'max_completion_tokens'), "
    "'msg': 'Extra inputs are not permitted', 'input': 9}]"
)
FASTAPI = {
    "detail": [{"type": "extra_forbidden", "loc": ["body", "logprobs"], "msg": "Extra inputs are not permitted"}]
}
UNSUPPORTED = [
    (400, error("no", code="unsupported_value", param="temperature"), "temperature"),
    (400, error("no", code="unsupported_parameter", param="logprobs"), "logprobs"),
    (400, error("no", code="unsupported_parameter", param="response_format.json_schema"), "response_format"),
    (400, error("Unsupported parameter: 'top_logprobs'", code="unsupported_parameter"), "top_logprobs"),
    (400, error("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."), "max_tokens"),
    (400, error("Unrecognized request argument supplied: max_completion_tokens"), "max_completion_tokens"),
    (400, error("'temperature' does not support 0.0 with this model. Only the default (1) is."), "temperature"),
    (400, error("Invalid parameter: 'response_format' of type 'json_schema' is not supported"), "response_format"),
    (400, error("This response_format type is unavailable now"), "response_format"),
    (400, error("Structured Outputs are not supported"), "response_format"),
    (403, error("You are not allowed to request logprobs from this model"), "logprobs"),
    (400, error("`logprobs` is not supported with this model"), "logprobs"),
    (400, error("Argument not supported on this model: logprobs"), "logprobs"),
    (400, error("n must be 1 when using greedy sampling, got 3."), "n"),
    (400, error("'n' : number must be at most 1", type="invalid_request_error"), "n"),
    (400, [error('Unknown name "logprobs": Cannot find field.', code=400, status="INVALID_ARGUMENT")], "logprobs"),
    (400, {"object": "error", "message": VLLM, "type": "BadRequestError", "param": None}, "max_completion_tokens"),
    (422, {"detail": "Unexpected keys in the request: {'n'}"}, "n"),
    (422, FASTAPI, "logprobs"),
    (422, {"detail": [{"loc": ["body", "n"], "msg": "Extra inputs are not permitted"}]}, "n"),
    (400, error("`temperature` is deprecated for this model."), "temperature"),
    (400, error("temperature is deprecated for this model."), "temperature"),
    (400, error("This model does not support logprobs"), "logprobs"),
    (400, error("the model `m` does not support parameters: ['logprobs'], for now"), "logprobs"),
    (400, error("litellm.BadRequestError: XException - Unsupported parameter: 'n' with this model"), "n"),
    (
        400,
        error('Invalid JSON payload received. Unknown name "logprobs" at "config": Cannot find field.'),
        "logprobs",
    ),
    (400, error("Extra inputs are not permitted, field: 'logprobs', value: True"), "logprobs"),
    (400, error("1 validation error:\n  {'type': 'extra_forbidden', 'loc': ('body', 'n'), 'msg': 'no'}"), "n"),
    (400, error("property 'logprobs' is unsupported"), "logprobs"),
    (400, error("With logprobs, the model's answer is none", code="unsupported_parameter"), "logprobs"),
    (400, error("It is not supported", param="temperature"), "temperature"),
    (400, {"error": "temperature: Extra inputs are not permitted"}, "temperature"),
    (501, error("logprobs is not supported with tools + stream", type="not_supported_error"), "logprobs"),
]


@pytest.mark.parametrize(("status", "body", "parameter"), UNSUPPORTED)
def test_a_refused_parameter_is_named_as_we_name_it(status, body, parameter):
    """However a server words it, the parameter to leave out is found."""
    found = problem(body, status)
    assert (found.kind, found.parameter, found.status) == ("unsupported", parameter, status)
    assert found.message == f"the server does not take {parameter} (HTTP {status})"


FEWER = [
    # vLLM, OpenAI, FastAPI, DeepSeek, Vertex AI, older services of OpenAI, TGI and gateways.
    (error("Requested sample logprobs of 20, which is greater than max allowed: 5"), 5),
    (error("Invalid 'top_logprobs': integer above maximum value. Expected a value <= 5, but got 20 instead."), 5),
    (error("Expected a value <= 8, but got 20.", param="top_logprobs", code="integer_above_max_value"), 8),
    (error("Expected a value <= 8, but got 20.", param="top_logprobs", code="unsupported_value"), 8),
    ({"detail": [{"loc": ["body", "top_logprobs"], "msg": "Input should be less than or equal to 5"}]}, 5),
    ({"detail": [{"loc": ["body", "top_logprobs"], "msg": "Input should be less than 6"}]}, 5),
    (error("Invalid top_logprobs value, the valid range of top_logprobs is [0, 5]"), 5),
    (
        error(
            "Unable to submit request because it has a logprobs value of 20 but the supported range is from 0 "
            "(inclusive) to 6 (exclusive). Update the value and try again."
        ),
        5,
    ),
    (error("20 is greater than the maximum of 5 - 'top_logprobs'"), 5),
    (error("logprobs: 20 is greater than the maximum of 5"), 5),
    (error("ValueError: top_logprobs must be at most 5"), 5),
    (error("Value error, top_logprobs should not be greater than 5 [type=value_error]"), 5),
    (error("Input validation error: `top_logprobs` must be >= 0 and <= 5. Given: 20"), 5),
    (error("top_logprobs must be between 0 and 5"), 5),
    (error("You requested 20 logprobs but at most 5 are allowed"), 5),
    (error("topLogprobs cannot exceed 5"), 5),
    (error("`top_logprobs` must be \u2264 1"), 1),
]


@pytest.mark.parametrize(("body", "most"), FEWER)
def test_how_many_log_probabilities_a_service_allows_is_learnt(body, most):
    """However a server words it, the number is found, and the request goes on with it."""
    found, allowed = problem(body, 400), f"top_logprobs up to {most}"
    assert (found.kind, found.parameter) == ("unsupported", allowed)
    assert found.message == f"the server takes {allowed} (HTTP 400)"
    for stated, sent in ((20, most), (1, 1)):
        asked = Ask(Model("openai", "m"), "", "Why?", read=str, top_logprobs=stated)
        assert OpenAI().request(asked, 1, frozenset({allowed, "n"})).body["top_logprobs"] == sent
    assert OpenAI().request(asked, 1, frozenset({allowed, "logprobs"})).parameters.keys() == {"max_tokens", "schema"}


ECHOES = [
    "Your prompt was flagged: top_logprobs must be at most 1",
    "I say that top_logprobs must be at most 1",
    "'top_logprobs must be at most 5' was refused",
    "Your prompt was flagged: 'EVIL: json_schema is not supported'",
    "Your prompt was flagged: EVIL: json_schema is not supported",
    "Bad input: \"Unsupported parameter: 'temperature'\"",
    "'I think that temperature is deprecated for this model.' was refused",
    "Invalid content: logprobs: Extra inputs are not permitted",
    "`the answer is: n must be 1` is not supported",
    "Invalid prompt [{'type': 'extra_forbidden', 'loc': ('body', 'logprobs'), 'msg': 'no'}]",
    "This model does not support the words 'temperature is unsupported'",
    "This content is not supported: temperature, logprobs, response_format",
]


@pytest.mark.parametrize("message", ECHOES)
def test_what_a_server_repeats_of_a_prompt_teaches_nothing(message):
    """Words of a candidate in an error message are no word about a parameter."""
    for fields in ({}, {"param": "messages", "code": "unsupported_value"}, {"code": "content_policy_violation"}):
        found = problem(error(message, **fields), 400)
        assert (found.kind, found.parameter) == ("rejected", "")


def test_a_code_without_a_parameter_names_none_from_quoted_text():
    """Even where a code says that something is not supported, text in quotes does not say what."""
    found = problem(error("In 'an answer about temperature': no", code="unsupported_value"), 400)
    assert (found.kind, found.parameter) == ("rejected", "")


@pytest.mark.parametrize(
    "message",
    [
        "`output_config` is deprecated for this model.",
        "output_config is deprecated for this model.",
        "output_config: Extra inputs are not permitted",
        "output_config.format: this model does not support structured outputs",
        "'claude-3-haiku' does not support output format.",
    ],
)
def test_anthropic_can_do_without_a_schema_only(message):
    """The schema is what a request to Anthropic can leave out; nothing else is named."""
    assert problem(error(message), 400, provider=Anthropic()).parameter == "output_config"
    other = problem(error("temperature: Extra inputs are not permitted"), 400, provider=Anthropic())
    assert (other.kind, other.parameter) == ("rejected", "")


def test_what_is_dropped_is_what_was_refused(ask, model):
    """Leaving out every parameter that servers refuse takes it out of the request."""
    for _, _, parameter in UNSUPPORTED:
        asked = ask(model, schema={"type": "object"}, temperature=0.0, top_logprobs=5)
        if parameter != "max_tokens":  # only ever sent where the newer name was refused
            assert parameter in OpenAI().request(asked, 2, frozenset()).body
        assert parameter not in OpenAI().request(asked, 2, frozenset({parameter})).body


@pytest.mark.parametrize("status", [429, 500, 503])
def test_how_long_to_wait_is_read_whatever_the_advice(provider, status):
    """The wait comes from the headers; advice not to retry makes no failure final."""
    headers = {"retry-after": "7", "x-should-retry": "false"}
    found = problem(b"", status, headers, provider)
    assert found.retry_after == 7
    assert found.transient


@pytest.mark.parametrize(
    ("status", "sent"), [(500, False), (503, False), (504, True), (524, True), (429, False), (400, False)]
)
def test_a_gateway_that_gave_up_may_have_let_the_work_be_done(status, sent):
    """An error of the server is no work done, except behind a gateway that stopped waiting."""
    assert problem(b"", status).sent is sent


def test_the_pace_is_read_from_each_providers_own_headers():
    """OpenAI's and Anthropic's headers are understood by their own adapter."""
    limits = OpenAI().rate_limits({"x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "59"}, 0.0)
    assert (limits.requests.limit, limits.requests.remaining) == (60, 59)
    limits = Anthropic().rate_limits({"anthropic-ratelimit-output-tokens-limit": "800"}, 0.0)
    assert limits.output_tokens.limit == 800

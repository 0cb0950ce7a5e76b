from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest
from anthropic.types import ErrorResponse, Message
from openai.types.chat import ChatCompletion
from openai.types.shared import ErrorObject

import bonwise.testing
from bonwise.calls.ask import Choice, TokenLogprobs
from bonwise.calls.bill import Usage
from bonwise.calls.rate_limits import RateLimits, Window
from bonwise.errors import UsageError
from bonwise.testing import Faults, Script
from bonwise.testing.stand_in import stand_in
from bonwise.testing.wire import WireRequest, body_digest, rate_limit_headers, tokens
from testing.asking import SCHEMA, chat_body, content, message_body, received

SERVICES = ["openai", "anthropic"]
SHAPES = {"openai": ChatCompletion, "anthropic": Message}


def said(delivery):
    """Return the text of a delivered answer of either service."""
    body = content(delivery)
    return body["choices"][0]["message"]["content"] if "choices" in body else body["content"][0]["text"]


def request(service="openai", **parts):
    """Return a request as a script sees it."""
    body = (chat_body if service == "openai" else message_body)(**parts)
    return WireRequest(service, body, body_digest(body))


def test_simulating_loads_no_client():
    """Whoever only simulates data loads nothing that talks to services."""
    code = (
        "import sys; from bonwise.testing import simulate;"
        "print(callable(simulate), bool({'httpx', 'httpx2'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True False\n"


def test_public_names_resolve():
    """Each name of the folder is there, and an unknown one is an AttributeError."""
    assert all(getattr(bonwise.testing, name) is not None for name in bonwise.testing.__all__)
    assert dir(bonwise.testing) == sorted(bonwise.testing.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Skript'"):
        _ = bonwise.testing.Skript


ENDINGS = [
    Choice("fine"),
    Choice("fi", "length"),
    Choice("", "refusal", "No."),
    Choice("", "filter"),
    Choice("fi", "other"),
    Choice("x\ud800"),
    Choice(""),
]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("service", SERVICES)
def test_answers_have_the_services_shape(service, ending):
    """Whatever way an answer ends, the service's own types take it, and no field is unknown to them."""
    script = Script(lambda _: ending, usage=lambda *_: Usage(10, 20, 3, 4, 50, 6))
    body = content(received(script, service))
    parsed = SHAPES[service].model_validate(body)
    assert not parsed.model_extra
    assert not parsed.usage.model_extra
    assert parsed.model_dump(mode="json", exclude_unset=True, warnings=False) == body


def test_usage_is_counted_the_way_of_each_service():
    """OpenAI counts cached tokens among the prompt's, Anthropic beside them."""
    told = Usage(uncached=10, cache_read=20, cache_write_5m=3, cache_write_1h=4, output=50, reasoning=6)
    script = Script(lambda _: "x", usage=lambda *_: told)
    chat = ChatCompletion.model_validate(content(received(script))).usage
    assert (chat.prompt_tokens, chat.completion_tokens, chat.total_tokens) == (37, 50, 87)
    assert (chat.prompt_tokens_details.cached_tokens, chat.prompt_tokens_details.cache_write_tokens) == (20, 7)
    assert chat.completion_tokens_details.reasoning_tokens == 6
    message = Message.model_validate(content(received(script, "anthropic"))).usage
    assert (message.input_tokens, message.cache_read_input_tokens, message.cache_creation_input_tokens) == (10, 20, 7)
    assert (message.cache_creation.ephemeral_5m_input_tokens, message.cache_creation.ephemeral_1h_input_tokens) == (
        3,
        4,
    )
    assert (message.output_tokens, message.output_tokens_details.thinking_tokens) == (50, 6)


def test_a_server_may_count_nothing():
    """A reply without usage says null, not zero."""
    assert content(received(Script(lambda _: "x", usage=lambda *_: None)))["usage"] is None


@pytest.mark.parametrize("service", SERVICES)
def test_a_schema_is_filled(service):
    """The default answer fills the schema of the request, within the ranges that the fields' names suggest."""
    for at in range(40):
        found = json.loads(said(received(Script(), service, user=f"case {at}", schema=SCHEMA)))
        assert list(found) == list(SCHEMA["properties"])
        assert all(isinstance(found[name], int) for name in ("score", "low", "high", "confidence"))
        assert 0 <= found["low"] <= found["score"] <= found["high"] <= 100
        assert found["choice"] in {"A", "B", "TIE"}
        assert 1 <= found["confidence"] <= 5
        assert 0 < found["probability"] < 1
        assert found["reason"]


def test_a_schema_of_pydantic_is_filled():
    """References, alternatives, lists, bounds and constants are followed."""
    schema = {
        "$defs": {"Grade": {"type": "object", "properties": {"points": {"type": "integer", "maximum": 3}}}},
        "properties": {
            "grade": {"$ref": "#/$defs/Grade"},
            "note": {"anyOf": [{"type": "null"}, {"type": "string"}]},
            "marks": {"type": "array", "items": {"type": "number", "minimum": 7, "maximum": 8}, "minItems": 2},
            "kind": {"const": "k"},
            "sure": {"type": ["null", "boolean"]},
            "winner": {"type": "string"},
            "above": {"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 3},
            "nothing": {"type": "null"},
        },
    }
    found = json.loads(stand_in(request(schema=schema)).text)
    assert 0 <= found["grade"]["points"] <= 3
    assert isinstance(found["note"], str)
    assert [7 < mark < 8 for mark in found["marks"]] == [True, True]
    assert (found["kind"], found["above"], found["nothing"]) == ("k", 2, None)
    assert isinstance(found["sure"], bool)
    assert found["winner"] in {"A", "B", "TIE"}


PLAIN = [
    ("Reply with a single digit from 1 to 5 and nothing else.", {"1", "2", "3", "4", "5"}),
    ("Score between 0 and 3.", {"0", "1", "2", "3"}),
    ("Reply with one digit.", set("0123456789")),
    ("Answer A, B or TIE.", {"A", "B", "TIE"}),
    ("A text, no more. Judge A and B, yes? No: TIE is rare.", {"A", "B", "TIE"}),
    ("From 0 to 100000 words. Reply with a number from 3 to 4.", {"3", "4"}),
    ("Which is better, A or B? One letter.", {"A", "B"}),
    ("Answer Yes or No.", {"Yes", "No"}),
]


@pytest.mark.parametrize(("system", "replies"), PLAIN)
def test_a_short_reply_is_one_of_those_asked_for(system, replies):
    """Instructions that ask for a digit or a label get one, and over many questions each of them."""
    found = {said(received(Script(), user=f"case {at}", system=system)) for at in range(120)}
    assert found == replies


def test_anything_else_gets_a_sentence():
    """Without a schema and without a form there are words."""
    assert " " in said(received(Script(), system="Tell me what you think."))


def test_both_services_answer_the_same_words_alike():
    """The default answer depends on the words and not on the service that carries them."""
    script = Script()
    assert said(received(script, "openai", schema=SCHEMA)) == said(received(script, "anthropic", schema=SCHEMA))


def test_samples_differ():
    """The answers of one request differ from one another, and come again the same."""
    bodies = [content(received(Script(), n=5, schema=SCHEMA)) for _ in range(2)]
    texts = [[one["message"]["content"] for one in body["choices"]] for body in bodies]
    assert texts[0] == texts[1]
    assert len(set(texts[0])) == 5
    assert bodies[0]["usage"]["prompt_tokens"] == content(received(Script(), schema=SCHEMA))["usage"]["prompt_tokens"]


def test_logprobs_are_as_many_as_asked_for():
    """Each token comes with so many alternatives as were asked for, itself first, that add up to less than 1."""
    body = content(received(Script(), system="Answer A, B or TIE.", logprobs=True, top_logprobs=5))
    parsed = ChatCompletion.model_validate(body)
    (token,) = parsed.choices[0].logprobs.content
    assert token.token == parsed.choices[0].message.content
    assert token.top_logprobs[0].token == token.token
    assert {"A", "B", "TIE"} < {one.token for one in token.top_logprobs}
    assert len(token.top_logprobs) == 5
    assert 0.9 < sum(math.exp(one.logprob) for one in token.top_logprobs) < 1
    assert bytes(token.bytes).decode() == token.token


def test_logprobs_can_be_prepared():
    """A prepared choice says which tokens came with which probabilities, most likely ones first."""
    told = TokenLogprobs("A", {"B": -1.5, "A": -0.3, "C": -4.0})
    script = Script(lambda _: Choice("A", logprobs=(told,)))
    (token,) = content(received(script, logprobs=True, top_logprobs=2))["choices"][0]["logprobs"]["content"]
    assert token["logprob"] == -0.3
    assert [(one["token"], one["logprob"]) for one in token["top_logprobs"]] == [("A", -0.3), ("B", -1.5)]
    assert content(received(script))["choices"][0]["logprobs"] is None


@pytest.mark.parametrize(("service", "finish"), [("openai", "length"), ("anthropic", "max_tokens")])
def test_max_tokens_is_respected(service, finish):
    """An answer that would have more tokens is cut there, says so, and bills what was said."""
    body = content(received(Script(lambda _: "one two three four"), service, max_tokens=2))
    assert finish in json.dumps(body)
    assert "one two" in json.dumps(body)
    assert "three" not in json.dumps(body)
    assert body["usage"].get("completion_tokens", body["usage"].get("output_tokens")) == len(tokens("one two")) == 2


def test_what_is_ignored_is_ignored_silently():
    """A server may take n, logprobs and a schema with status 200 and do nothing about them."""
    script = Script(ignores={"n", "logprobs", "schema"})
    delivery = received(script, n=3, logprobs=True, top_logprobs=2, schema=SCHEMA)
    (choice,) = content(delivery)["choices"]
    assert delivery.response.status == 200
    assert choice["logprobs"] is None
    assert not choice["message"]["content"].startswith("{")


def test_the_same_seed_gives_the_same_bytes():
    """Two scripts of one seed answer the same requests with the same bytes, faults included; another differs."""
    faults = Faults(throttled=0.2, cut=0.2, malformed=0.1, server_error=0.1, slow=0.1, refusal=0.2, truncated=0.2)

    def told(seed):
        script = Script(faults=faults, seed=seed, latency=0.5)
        return [received(script, user=f"case {at % 30}") for at in range(60)]

    assert told(1) == told(1)
    assert told(1) != told(2)


def test_other_requests_do_not_change_what_one_gets():
    """The order in which requests arrive decides nothing about their answers and faults."""
    faults = Faults(throttled=0.3, cut=0.3)
    one, two = Script(faults=faults), Script(faults=faults)
    forth = {at: (received(one, user=str(at)).response.status, one.counts.faults.total()) for at in range(30)}
    back = {at: received(two, user=str(at)).response.status for at in reversed(range(30))}
    assert {at: status for at, (status, _) in forth.items()} == back
    assert one.counts.faults == two.counts.faults


def test_a_retry_can_succeed():
    """The faults of an attempt are drawn anew, and some body that failed first is answered later."""
    script = Script(faults=Faults(server_error=0.5))
    statuses = [[received(script, user=str(at)).response.status for _ in range(6)] for at in range(20)]
    assert all(200 in one for one in statuses)
    assert any(one[0] == 500 for one in statuses)


def test_a_refused_request_is_always_refused():
    """A refusal depends on the content alone."""
    script = Script(faults=Faults(refusal=0.5))
    found = [{content(received(script, user=str(at)))["choices"][0]["message"]["refusal"] for _ in range(4)}
             for at in range(30)]  # fmt: skip
    assert all(len(one) == 1 for one in found)
    assert {None} in found
    assert script.counts.refusals == 4 * sum(None not in one for one in found)


def test_shares_are_met():
    """About as many attempts get a fault as its share says."""
    faults = Faults(throttled=0.1, cut=0.2, malformed=0.3)
    drawn = [faults.of_attempt(7, str(at), 0) for at in range(4000)]
    for kind, share in (("throttled", 0.1), ("cut", 0.2), ("malformed", 0.3), (None, 0.4)):
        assert abs(drawn.count(kind) / 4000 - share) < 0.04


def test_only_some_of_the_throttled_are_told_when():
    """The share of throttled responses with a retry-after header is as asked."""
    script = Script(faults=Faults(throttled=1, with_retry_after=0.5, retry_after=0.25))
    told = [received(script, user=str(at)).response.headers for at in range(60)]
    named = [one for one in told if "retry-after" in one]
    assert 10 < len(named) < 50
    assert {(one["retry-after"], one["retry-after-ms"]) for one in named} == {("0.25", "250")}


@pytest.mark.parametrize("wrong", [{"cut": -0.1}, {"cut": 1.5}, {"cut": 0.6, "slow": 0.6}, {"retry_after": -1}])
def test_impossible_shares_are_refused(wrong):
    """Shares lie between 0 and 1, also together."""
    with pytest.raises(UsageError):
        Faults(**wrong)


@pytest.mark.parametrize(
    ("text", "said"), [("kut=.1", "no such fault: 'kut'"), ("cut=much", "'cut=much' is not a share")]
)
def test_faults_as_text(text, said):
    """What is no fault, and what is not a number, is named."""
    with pytest.raises(UsageError, match=said):
        Faults.from_text(text)
    assert Faults.from_text("") == Faults()


def test_unknown_ignores_are_refused():
    """A script ignores nothing it does not know."""
    with pytest.raises(UsageError, match="temperature"):
        Script(ignores={"temperature"})


REFUSALS = [
    ({"refuses_parameters": {"temperature"}}, {"temperature": 0.5}, 400, "unsupported_parameter", "temperature"),
    ({"context_length": 3}, {"user": "long " * 9}, 400, "context_length_exceeded", "messages"),
    ({"models": {"other"}}, {}, 404, "model_not_found", None),
    ({"keys": {"sk-2"}}, {}, 401, "invalid_api_key", None),
    ({"quota": 0}, {}, 429, "insufficient_quota", None),
    ({"faults": Faults(throttled=1)}, {}, 429, "rate_limit_exceeded", None),
    ({"faults": Faults(server_error=1)}, {}, 500, None, None),
    ({"faults": Faults(overloaded=1)}, {}, 503, None, None),
    ({}, {"n": 0}, 400, None, "n"),
    ({}, {"stream": True}, 400, None, "stream"),
]


@pytest.mark.parametrize(("settings", "parts", "status", "code", "parameter"), REFUSALS)
def test_errors_of_openai(settings, parts, status, code, parameter):
    """Each error has the status, the code and the parameter that the service gives, and is not paid."""
    script = Script(**settings)
    delivery = received(script, headers={"authorization": "Bearer sk-1"}, **parts)
    error = ErrorObject.model_validate(content(delivery)["error"])
    assert (delivery.response.status, error.code, error.param) == (status, code, parameter)
    assert error.message
    assert script.counts.answers == 0
    assert script.counts.faults.total() == 1


REFUSALS_OF_ANTHROPIC = [
    ({"refuses_parameters": {"temperature"}}, {"temperature": 0.5}, 400, "invalid_request_error"),
    ({"context_length": 3}, {"user": "long " * 9}, 400, "invalid_request_error"),
    ({"models": {"other"}}, {}, 404, "not_found_error"),
    ({"keys": {"sk-2"}}, {}, 401, "authentication_error"),
    ({"quota": 0}, {}, 429, "rate_limit_error"),
    ({"faults": Faults(throttled=1)}, {}, 429, "rate_limit_error"),
    ({"faults": Faults(server_error=1)}, {}, 500, "api_error"),
    ({"faults": Faults(overloaded=1)}, {}, 529, "overloaded_error"),
    ({}, {"n": 2}, 400, "invalid_request_error"),
]


@pytest.mark.parametrize(("settings", "parts", "status", "kind"), REFUSALS_OF_ANTHROPIC)
def test_errors_of_anthropic(settings, parts, status, kind):
    """Each error has the status and the type that the service gives, and names the request."""
    delivery = received(Script(**settings), "anthropic", headers={"x-api-key": "sk-1"}, **parts)
    error = ErrorResponse.model_validate(content(delivery))
    assert (delivery.response.status, error.error.type) == (status, kind)
    assert error.request_id == delivery.response.headers["request-id"]


BROKEN = [
    b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"model": NaN}', b"[" * 100_000,
    b'{"model": "m"}', b'{"model": "m", "messages": []}', b'{"model": "m", "messages": [1]}',
    b'{"model": 1, "messages": [{"role": "user", "content": "x"}]}',
]  # fmt: skip


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
@pytest.mark.parametrize("body", BROKEN, ids=range(len(BROKEN)))
def test_a_body_that_is_no_request_gets_400(path, body):
    """Anything that is no request is told so, and nothing is paid."""
    script = Script()
    assert script.receive("POST", path, {}, body, 0.0).response.status == 400
    assert script.counts.answers == 0


def test_odd_content_is_read():
    """Contents in parts, null contents and lone surrogates are answered."""
    parts = [
        {"role": "developer", "content": [{"type": "text", "text": "Be"}]},
        {"role": "user", "content": "\ud800"},
    ]
    body = {"model": "m", "messages": [*parts, {"role": "assistant", "content": None}]}
    seen = []
    script = Script(lambda request: seen.append((request.system, request.user)) or "x")
    script.receive("POST", "/v1/chat/completions", {}, json.dumps(body).encode(), 0.0)
    assert seen == [("Be", "\ud800\n")]


def test_unknown_paths_get_404():
    """A path that is nobody's is told so in the words of the service that was meant."""
    script = Script()
    assert script.receive("POST", "/v1/x", {}, b"{}", 0.0).response.status == 404
    told = script.receive("GET", "/v1/messages", {"anthropic-version": "2026-10-21"}, b"", 0.0)
    assert content(told)["error"]["type"] == "not_found_error"


def test_the_rate_limit_counts_a_rolling_minute():
    """The limit holds in every minute, a refused request is not counted, and the header says when to come back."""
    script = Script(rate_limit=3, clock=lambda: 1e9)
    statuses = [received(script, user=str(at), now=at).response.status for at in (0.0, 10.0, 20.0, 30.0, 59.0)]
    assert statuses == [200, 200, 200, 429, 429]
    refused = received(script, user="x", now=59.5).response
    assert refused.headers["retry-after"] == "0.5"
    assert [received(script, user=str(at), now=at).response.status for at in (60.0, 61.0, 70.0)] == [200, 429, 200]
    assert script.counts.faults == {"throttled": 4}


def test_the_pace_is_said_in_each_spelling():
    """OpenAI says durations, Anthropic instants, and all four of its allowances."""
    window = Window(100, 99, 0.006)
    limits = RateLimits(window, Window(10, 9, 63.0), Window(8, 7, 1.5), Window(2))
    assert rate_limit_headers("openai", limits, 0.0) == {
        "x-ratelimit-limit-requests": "100",
        "x-ratelimit-remaining-requests": "99",
        "x-ratelimit-reset-requests": "6ms",
        "x-ratelimit-limit-tokens": "10",
        "x-ratelimit-remaining-tokens": "9",
        "x-ratelimit-reset-tokens": "1m3s",
    }
    said = rate_limit_headers("anthropic", limits, 1_790_000_000.0)
    assert said["anthropic-ratelimit-input-tokens-reset"] == "2026-09-21T14:13:22Z"
    assert said["anthropic-ratelimit-output-tokens-limit"] == "2"
    assert "anthropic-ratelimit-output-tokens-reset" not in said
    assert len(said) == 10


@pytest.mark.parametrize(("service", "name"), [("openai", "x-request-id"), ("anthropic", "request-id")])
def test_each_response_names_its_request(service, name):
    """Every response, errors included, has an id of its own under the service's name for it."""
    script = Script(faults=Faults(server_error=0.5), rate_limit=5)
    told = [received(script, service, user=str(at)).response.headers for at in range(9)]
    assert len({one[name] for one in told}) == 9
    assert all(any("ratelimit" in key for key in one) for one in told)


def test_what_is_paid_twice_is_counted():
    """Accepted requests are paid by their digest, whether or not the answer arrived."""
    noted = []
    script = Script(faults=Faults(cut=1), on_paid=lambda request: noted.append((request.digest, request.attempt)))
    for _ in range(3):
        received(script, user="x")
    received(script, user="y")
    first, second = body_digest(chat_body("x")), body_digest(chat_body("y"))
    assert script.counts.paid == {first: 3, second: 1}
    assert script.counts.paid_again == {first: 2}
    assert script.counts.delivered == {}
    assert noted == [(first, 0), (first, 1), (first, 2), (second, 0)]
    assert json.loads(json.dumps(script.counts.to_dict()))["answers"] == 4


def test_a_broken_script_is_not_left_in_flight():
    """An answer that raises reaches the caller and leaves nobody at work."""
    script = Script(lambda _: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        received(script)
    assert (script.counts.in_flight, script.counts.peak) == (0, 1)


@pytest.mark.parametrize("text", ["", " ", "a  b\n\nc", 'naïve café {"a": 1.5}', "x_y\t漢字漢字漢字 ok"])
def test_tokens_join_to_the_text(text):
    """Nothing is lost in tokens."""
    assert "".join(tokens(text)) == text

import json

import pytest

from bonwise.calls.providers.anthropic import Anthropic
from bonwise.calls.providers.openai import OpenAI
from bonwise.calls.providers.protocol import Response


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
    (400, error("Requested sample logprobs of 20, which is greater than max allowed: 5"), "rejected"),
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


ECHOES = [
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

import json
import traceback

import httpx
import httpx2
import pytest

from bonwise.calls.providers.protocol import Connection, Response
from bonwise.calls.providers.redaction import one_line
from bonwise.errors import CallError

CAUSES = [
    httpx2.ConnectError("{}"),
    httpx2.ConnectError("http://u:{}@h"),
    httpx2.LocalProtocolError("Illegal header value b'Bearer {}'"),
    httpx2.ReadTimeout("{}"),
]


def holds(error, secret):
    """Search everything that an exception can show: its words, its traceback, its locals, its causes."""
    whole = traceback.TracebackException.from_exception(error, capture_locals=False)
    shown = [str(error), repr(error), repr(error.args), repr(vars(error)), "".join(whole.format())]
    linked = [link for link in (error.__cause__, error.__context__) if link is not None]
    return any(secret in text for text in shown) or any(holds(link, secret) for link in linked)


@pytest.mark.parametrize("number", range(len(CAUSES)))
def test_a_failure_never_shows_the_key(route, failure, canaries, number):
    """Whatever broke, and whatever it said, the error and all it is linked to show no key."""
    for canary in canaries:
        cause = CAUSES[number]
        route.mock(side_effect=type(cause)(str(cause).format(canary)))
        error = failure()
        assert not holds(error, canary)
        assert error.__context__ is None
        assert "\n" not in error.problem.message


@pytest.mark.parametrize("status", [302, 400, 401, 403, 404, 422, 429, 500, 529])
def test_a_server_that_repeats_the_key_is_not_quoted(route, send, provider, canaries, status):
    """A key that comes back in a body or a header is in no problem."""
    for canary in canaries:
        body = {
            "error": {"message": f"Incorrect API key provided: {canary}\nsee above", "code": canary, "type": canary}
        }
        route.mock(
            return_value=httpx.Response(status, json=body, headers={"x-echo": canary, "location": f"/{canary}"})
        )
        problem = provider.problem(send(), 0.0)
        assert canary not in repr(problem)
        assert "\n" not in problem.message


def test_an_error_in_place_of_an_answer_shows_no_key(provider, canaries):
    """The reader's error is scrubbed as well, and does not carry the body along."""
    for content in (
        b'{"error": {"message": "bad %s"}}',
        b'"%s',
        b'{"choices": [{"message": "%s"}], "content": "%s"}',
    ):
        for canary in canaries:
            with pytest.raises(ValueError, match=r"answer|choice") as caught:
                provider.reply(content.replace(b"%s", canary.encode()))
            assert not holds(caught.value, canary)


def test_requests_and_clients_show_no_key(provider, model, ask, canaries):
    """Neither what is kept nor what connects has the key in its repr."""
    seen = repr(provider.request(ask(model), 1, frozenset())) + repr(provider) + provider.account(model)
    with_transport = Connection(transport=httpx2.MockTransport(lambda _: httpx2.Response(200)))
    seen += repr(provider.client(model, with_transport))
    assert not any(canary in seen for canary in canaries)


def test_a_key_that_no_header_can_carry_is_refused_unseen(monkeypatch, provider, model):
    """A key with a line feed inside, or with letters that headers do not know, is an error that hides it."""
    for key in ("first-half\nsecond-half", "schl\u00fcssel-key"):
        monkeypatch.setenv(f"{provider.name.upper()}_API_KEY", key)
        with pytest.raises(CallError, match="holds characters that no key has") as caught:
            provider.client(model, Connection())
        assert not holds(caught.value, "half")
        assert not holds(caught.value, "schl")


@pytest.mark.parametrize(
    "said",
    [
        "sk-abcdefgh12345678",
        "sk-proj-ab_cd-ef*****************wxyz",
        "sk-ant-api03-AbCd_1234",
        "Bearer abc.def.ghi-123",
        "hf_abcdefghijk",
        "AIzaSyAbcdefghij1234567",
    ],
)
def test_what_looks_like_a_key_is_taken_for_one(said):
    """A key that is not ours is scrubbed by its looks, masked or not, and the sentence around it stays."""
    line = one_line(f"Incorrect key: {said}, see docs")
    assert said.removeprefix("Bearer ") not in line
    assert line.startswith("Incorrect key: ")
    assert line.endswith("[key], see docs")


def test_secrets_of_other_variables_are_scrubbed_too(monkeypatch):
    """Keys of gateways and values of custom headers are secrets as well."""
    monkeypatch.setenv("MY_GATEWAY_TOKEN", "gateway-secret")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "x-team: team-secret\nx-more: more-secret")
    assert one_line("gateway-secret team-secret more-secret") == "[key] [key] [key]"


def test_a_message_is_short_and_quotes_no_request(provider):
    """A validation error that repeats the request is cut before it does, and no message is long."""
    said = "[{'loc': ('body', 'messages'), 'msg': 'Field required', 'input': 'the words of a prompt'}]" + "x" * 9999
    problem = provider.problem(Response(400, {}, json.dumps({"message": said}).encode()), 0.0)
    assert "Field required" in problem.message
    assert "words of a prompt" not in problem.message
    detail = b'{"detail": [{"loc": ["body", "messages"], "msg": "too long", "input": "the words of a prompt"}]}'
    problem = provider.problem(Response(422, {}, detail), 0.0)
    assert problem.message == "the server answered HTTP 422: 'messages': too long"
    long = provider.problem(Response(400, {}, b'{"message": "%s"}' % (b"x" * 9999)), 0.0)
    assert len(long.message) < 340

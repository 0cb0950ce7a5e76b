"""Hostile requests and answers: refused or answered, never an internal error, none charged below its worst case."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import re
import socket
import time
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bonwise.calls.prices import Prices
from bonwise.serving import chat_models
from bonwise.serving.api_errors import ApiError
from bonwise.serving.best_of_model import BestOfModel, RequestOutcome
from bonwise.serving.chat_request import read_request
from bonwise.serving.client_keys import ClientKey
from bonwise.serving.config import ModelConfig
from serving.upstreams import in_thread, served

PATH = "/v1/chat/completions"
MESSAGES = [{"role": "user", "content": "Name a colour"}]
MODELS = {
    "fast": ModelConfig(name="fast", upstream="openai/m", judge="local:length", max_tokens=4096),
    "free": ModelConfig(name="free", upstream="openai/m", judge="local:length"),
}
POOR = ClientKey("poor", "sk-poor", max_cost=0.01)
NARROW = ClientKey("narrow", "sk-narrow", max_concurrency=2)


def read(key=POOR, model="fast", **fields):
    """Read a request as the endpoint does."""
    body = {"model": f"bon/{model}", "messages": MESSAGES, **fields}
    return read_request(json.dumps(body).encode(), MODELS, key=key)


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize("limit", [None, "1000000", 100000.0, True, False, -1, 0, 10**12, [5], {"most": 5}])
@pytest.mark.parametrize("beside", [{}, {"max_tokens": 5}, {"max_completion_tokens": 5}])
def test_a_limit_of_output_that_is_none(name, limit, beside):
    """It is refused, whoever asks and whatever stands beside it."""
    for key in (POOR, None):
        with pytest.raises(ApiError) as refused:
            read(key, **{**beside, name: limit})
        assert (refused.value.status, refused.value.param) == (400, name)


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({}, {"max_completion_tokens": 4096}),
        ({"max_tokens": 9}, {"max_tokens": 9}),
        ({"max_tokens": 1_000_000}, {"max_tokens": 4096}),
        ({"max_completion_tokens": 9}, {"max_completion_tokens": 9}),
        ({"max_completion_tokens": 1, "max_tokens": 1_000_000}, {"max_completion_tokens": 1}),
        ({"max_completion_tokens": 1_000_000, "max_tokens": 1}, {"max_completion_tokens": 4096}),
    ],
)
def test_one_limit_of_output_is_sent(given, sent):
    """The one that counts, at most the model's own."""
    passed_on = read(**given).passed_on
    assert {name: value for name, value in passed_on.items() if name.startswith("max_")} == sent


@pytest.mark.parametrize("key", [POOR, NARROW, None])
@pytest.mark.parametrize("name", ["best_of", "use_beam_search", "plugins", "extra_body"])
def test_an_unknown_parameter(key, name):
    """A key with limits has it refused; others have it passed on."""
    if key is None:
        assert read(key, **{name: 5}).passed_on[name] == 5
        return
    with pytest.raises(ApiError) as refused:
        read(key, **{name: 5})
    assert (refused.value.message, refused.value.param) == (f'unknown parameter "{name}"', name)


PDF = {"type": "file", "file": {"file_id": "file-1"}}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("service_tier", "priority"),
        ("service_tier", "scale"),
        ("web_search_options", {}),
        ("tools", [{"type": "web_search"}]),
        ("tools", [{}]),
        ("messages", [{"role": "user", "content": [PDF]}]),
        ("messages", [{"role": "user", "content": [{"type": ["text"]}]}]),
        ("messages", [{"role": "user", "content": [{"type": "video_url", "video_url": {"url": "http://x"}}]}]),
        ("messages", [*MESSAGES, {"role": "assistant", "content": None, "audio": {"id": "audio-1"}}, *MESSAGES]),
    ],
)
def test_what_costs_more_than_its_tokens(name, value):
    """A key with max_cost has it refused; one without has it passed on."""
    with pytest.raises(ApiError, match="costs more than can be bounded") as refused:
        read(POOR, **{name: value})
    assert (refused.value.status, refused.value.param) == (400, name)
    assert name in read(NARROW, **{name: value}).passed_on


BAD_JSON = {
    "1e999": b'{"model": "bon/fast", "temperature": 1e999}',
    "-1e999": b'{"model": "bon/fast", "logit_bias": {"5": -1e999}}',
    "4,000 digits": b'{"model": "bon/fast", "seed": %s}' % (b"9" * 4000),
    "5,000 digits": b'{"model": "bon/fast", "seed": %s}' % (b"9" * 5000),
    "70 levels": b'{"model": "bon/fast", "x": %s1%s}' % (b"[" * 70, b"]" * 70),
    "500 levels": b'{"model": "bon/fast", "x": %s1%s}' % (b'{"a":' * 500, b"}" * 500),
    "900 levels": b'{"model": "bon/fast", "messages": %s%s}' % (b"[" * 900, b"]" * 900),
    "100,000 levels": b'{"model": "bon/fast", "x": %s' % (b"[" * 100_000),
    "a key twice": b'{"model": "bon/fast", "max_tokens": 1, "max_tokens": 1000000}',
    "a key twice within": b'{"model": "bon/fast", "messages": [{"role": "user", "role": "x", "content": ""}]}',
    "Infinity": b'{"model": "bon/fast", "temperature": -Infinity}',
}


@pytest.mark.parametrize("kind", BAD_JSON)
def test_json_that_is_refused(kind):
    """It is 400 in a sentence."""
    with pytest.raises(ApiError) as refused:
        read_request(BAD_JSON[kind], MODELS)
    assert (refused.value.status, refused.value.code) == (400, "invalid_json")
    assert refused.value.message.startswith(("the body ", "the key "))


@pytest.mark.parametrize("kind", [["text"], {"a": 1}, 5, None, True])
def test_a_part_of_no_kind(kind):
    """A part whose type is no text is passed on, and named to the judge."""
    found = read(None, messages=[{"role": "user", "content": [{"type": kind}, {"type": "text", "text": "red"}]}])
    assert found.prompt == "[part without text]\nred"


# What is charged is never below what was sent.


VALID = {
    "model": "bon/fast",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "name": "ann", "content": [{"type": "text", "text": "Grün?"}]},
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0=", "detail": "low"}}
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "red"},
        {"role": "user", "content": "Name a colour \U0001f600"},
    ],
    "n": 2,
    "stream": False,
    "stream_options": {"include_usage": True},
    "max_completion_tokens": 50,
    "max_tokens": 60,
    "temperature": 0.7,
    "top_p": 1,
    "seed": 9,
    "stop": ["\n"],
    "logit_bias": {"50256": -100},
    "logprobs": True,
    "top_logprobs": 2,
    "frequency_penalty": 0.1,
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}],
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}},
    "prediction": {"type": "content", "content": "red"},
    "reasoning_effort": "low",
    "service_tier": "default",
    "metadata": {"a": "b"},
    "user": "ann",
    "store": False,
}
ODD = (
    *(None, True, False, 0, -1, 1, 2, 7, 0.5, 1e300, 2**53, 2**63, 10**299, "", "x"),
    *("half \ud83d", "\x00", "auto", "1000000", "custom"),
    *([], [[]], [None], [{}], {}, {"a": None}, {"type": []}, {"": {}}, "priority", [{"type": "text", "text": 5}]),
    *([{"role": "user", "content": {}}], {"role": "tool"}, ["a", 1, {}], "text", "function", "image_url"),
)  # fmt: skip
NAMES = (
    *(
        "best_of",
        "max_tokens",
        "max_completion_tokens",
        "n",
        "content",
        "role",
        "type",
        "tool_calls",
        "function_call",
    ),
    *("audio", "modalities", "refusal", "stream", "text", "", "half \ud83d", "function", "arguments", "prediction"),
)


def mutated(document, random, most=4):
    """Return a document with some of its values replaced, taken out, put in, doubled or nested."""
    found = copy.deepcopy(document)
    for _ in range(random.randint(1, most)):
        holder, key = random.choice(list(places(found)))
        match random.randrange(6):
            case 0 | 1:
                holder[key] = copy.deepcopy(random.choice(ODD))
            case 2:
                del holder[key]
            case 3 if isinstance(holder, dict):
                holder[random.choice(NAMES)] = copy.deepcopy(random.choice(ODD))
            case 4:
                holder[key] = random.choice(([holder[key]], {"a": holder[key]}, [holder[key]] * 3))
            case _:
                other, there = random.choice(list(places(found)))
                holder[key] = copy.deepcopy(other[there])
        if not found:
            break
    return found


def places(document):
    """Yield every holder and key of a document."""
    for key, value in document.items() if isinstance(document, dict) else enumerate(document):
        yield document, key
        if isinstance(value, dict | list):
            yield from places(value)


def raw(document, random):
    """Return a document as bytes, now and then damaged."""
    content = json.dumps(document, ensure_ascii=random.random() < 0.8).encode("utf-8", "surrogatepass")
    match random.randrange(12):
        case 0:
            at = random.randrange(len(content) + 1)
            damage = (b"", b"\xff", b'"', b"1e999", b"NaN", b"[" * 100, b"9" * 5000, b"}", b"\x00")
            return content[:at] + random.choice(damage) + content[at + random.randrange(3) :]
        case 1:
            return content.replace(b":", b': 1e999, "x":', 1) if random.random() < 0.5 else content[1:]
        case _:
            return content


COUNTS = [pytest.param(300, id="thinned"), pytest.param(10_000, id="full", marks=pytest.mark.slow)]
ANSWERS = [pytest.param(60, id="thinned"), pytest.param(500, id="full", marks=pytest.mark.slow)]

SETTINGS = """
[models.fast]
upstream = "openai/m"
base_url = "{url}/v1"
judge = "local:length"
n = 3
max_n = 4
attempts = 1
max_tokens = 500

[models.calls]
upstream = "openai/m"
base_url = "{url}/v1"
judge = "local:length"
n = 3
draw = "calls"
attempts = 1
max_tokens = 500

[keys]
free = "sk-free-of-limits"
rich = {{value = "sk-rich-and-limited", max_cost = 1000000.0}}
"""
KEYS = ("sk-free-of-limits", "sk-rich-and-limited")
ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m-2026",
    "choices": [
        {"index": at, "message": {"role": "assistant", "content": "w" * at, "refusal": None}, "finish_reason": "stop"}
        for at in range(3)
    ],
    "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10, "details": {"cached": 0, "cost": 0.1}},
}
ANSWER["choices"][2]["message"]["tool_calls"] = [
    {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
]


class Echo:
    """An upstream that keeps the bodies it gets, and answers what it is told."""

    def __init__(self):
        self.bodies, self.answer = [], json.dumps(ANSWER).encode()
        self.app = Starlette(routes=[Route("/v1/chat/completions", self._answer, methods=["POST"])])

    async def _answer(self, request):
        self.bodies.append(await request.body())
        return Response(self.answer, media_type="application/json")


@pytest.fixture(scope="module")
def under_attack():
    """Serve the endpoint in front of an upstream that echoes; yield upstream, endpoint and a client of each key."""
    patch, upstream = pytest.MonkeyPatch(), Echo()
    patch.setenv("OPENAI_API_KEY", "sk-upstream")
    with TemporaryDirectory() as folder, in_thread(upstream.app) as url:
        priced(Path(folder), patch, url)
        with served(Path(folder), SETTINGS.format(url=url)) as (endpoint, address):
            clients = [
                httpx.Client(base_url=address, headers={"authorization": f"Bearer {one}"}, timeout=60) for one in KEYS
            ]
            yield upstream, endpoint, clients
            for one in clients:
                one.close()
    patch.undo()


@pytest.fixture
def attacked(under_attack):
    """Return them as they are at first."""
    under_attack[0].bodies.clear()
    return under_attack


def priced(folder, monkeypatch, url):
    """State prices for the upstream."""
    path = folder / "prices.toml"
    path.write_text(
        f'[[price]]\nprovider = "openai"\nbase_url = "{url}/v1"\nmodels = ["*"]\ninput = 1.0\noutput = 10.0\n',
        "utf-8",
    )
    monkeypatch.setenv("BONWISE_PRICES", str(path))


def posted(client, content):
    """Send bytes."""
    return client.post(PATH, content=content, headers={"content-type": "application/json"})


@pytest.mark.parametrize("count", COUNTS)
def test_no_request_is_an_internal_error(attacked, caplog, count, record_property):
    """Bodies mutated from a valid one are answered or refused with 4xx; what a limited key may send has its limit."""
    record_property("attacks", count)
    upstream, _, clients = attacked
    random, statuses = Random(35), {}  # noqa: S311
    caplog.set_level(logging.ERROR)
    for _ in range(count):
        content = raw(mutated(VALID, random), random)
        limited = random.random() < 0.5
        upstream.bodies.clear()
        response = posted(clients[limited], content)
        statuses[response.status_code] = statuses.get(response.status_code, 0) + 1
        assert response.status_code == 200 or 400 <= response.status_code < 500, (content, response.text)
        assert "internal_error" not in response.text
        json.loads(response.content.partition(b"\n\n")[0].removeprefix(b"data: "))
        for body in map(json.loads, upstream.bodies):
            (limit,) = body.keys() & {"max_tokens", "max_completion_tokens"}
            assert type(body[limit]) is int
            assert 1 <= body[limit] <= 500
            if limited:
                assert body.keys() <= {*chat_models.ChatBody.model_fields}
    assert not caplog.records
    assert statuses[200] > count / 20
    assert statuses[400] > count / 3


@pytest.mark.parametrize("count", ANSWERS)
def test_no_answer_is_an_internal_error(attacked, caplog, count, record_property):
    """Answers mutated from a valid one are chosen among or a failed draw, whole and as a stream."""
    record_property("attacks", count)
    upstream, _, clients = attacked
    random, statuses = Random(36), {}  # noqa: S311
    caplog.set_level(logging.ERROR)
    for at in range(count):
        upstream.answer = raw(mutated(ANSWER, random, 6), random)
        model = random.choice(("fast", "calls"))
        body = {"model": f"bon/{model}", "messages": MESSAGES, "stream": at % 2 == 0, "n": random.choice((1, 3))}
        response = posted(clients[at % 3 == 0], json.dumps(body))
        statuses[response.status_code] = statuses.get(response.status_code, 0) + 1
        assert response.status_code in {200, 502}, (upstream.answer, response.text)
        assert "internal_error" not in response.text
    assert not caplog.records
    assert statuses[200] > count / 4
    assert statuses[502] > count / 10


BAD_CANDIDATES = {
    "a number": {"message": {"role": "assistant", "content": 5}},
    "an object": {"message": {"role": "assistant", "content": {"text": "x"}}},
    "calls of 5": {"message": {"role": "assistant", "content": None, "tool_calls": 5}},
    "a call of 5": {"message": {"role": "assistant", "content": None, "tool_calls": [5]}},
    "no message": {"finish_reason": "stop"},
    "a message of nothing": {"message": {}},
    "a text": "wwwwwwwwwwwwwwwww",
    "nothing": None,
    "a part of 5": {"message": {"role": "assistant", "content": [5]}},
    "a role of 5": {"message": {"role": 5, "content": "wwwwwwwwwwwwwwww"}},
    "a finish of 5": {"message": {"role": "assistant", "content": "wwwwwwwwwwwwwww"}, "finish_reason": 5},
}


@pytest.mark.parametrize("kind", BAD_CANDIDATES)
@pytest.mark.parametrize("stream", [False, True])
def test_a_candidate_fails_alone(attacked, kind, stream):
    """The others are judged, it is listed among the failed draws, and it is not drawn again."""
    upstream, _, clients = attacked
    choices = [ANSWER["choices"][1], BAD_CANDIDATES[kind], ANSWER["choices"][0]]
    upstream.answer = json.dumps({**ANSWER, "choices": choices}).encode()
    response = posted(clients[0], json.dumps({"model": "bon/fast", "messages": MESSAGES, "stream": stream}))
    assert response.status_code == 200
    trail = json.loads(response.headers["x-bonwise-trail"])
    assert (trail["index"], trail["candidates"], len(trail["failed_draws"]), len(upstream.bodies)) == (0, 2, 1, 1)
    assert "cannot be read" in trail["failed_draws"][0]


def test_the_end_of_a_text_may_be_half_a_character(attacked):
    """An answer that was cut off within an emoji is a candidate like others, and can be sent back."""
    upstream, _, clients = attacked
    half = {"message": {"role": "assistant", "content": "wwwwww \ud83d"}, "finish_reason": "length"}
    upstream.answer = json.dumps({**ANSWER, "choices": [half]}).encode()
    body = {"model": "bon/calls", "messages": [{"role": "assistant", "content": "\ud83d"}, *MESSAGES]}
    found = posted(clients[1], json.dumps(body))
    assert found.json()["choices"][0]["message"]["content"] == "wwwwww \ud83d"


@pytest.mark.parametrize(
    "count", [pytest.param(150, id="thinned"), pytest.param(2_000, id="full", marks=pytest.mark.slow)]
)
def test_what_is_charged_is_never_below_what_was_sent(attacked, monkeypatch, count, record_property):
    """Set aside is at least the worst case of all bodies that went out; charged is their cost, or the worst case."""
    record_property("attacks", count)
    upstream, endpoint, clients = attacked
    random, answered = Random(37), 0  # noqa: S311
    limits, admit, admitted = endpoint._limits, endpoint._limits.admit, []
    monkeypatch.setattr(limits, "admit", lambda key, worst: admitted.append(worst) or admit(key, worst))
    for _ in range(count):
        usage = random.choice((None, {}, {"prompt_tokens": 7, "completion_tokens": 30}, {"prompt_tokens": "x"}))
        upstream.answer = random.choice((json.dumps({**ANSWER, "usage": usage}).encode(), b'{"choices": ['))
        document = mutated(VALID, random, 2)
        document["model"] = random.choice(("bon/fast", "bon/calls"))
        upstream.bodies.clear()
        admitted.clear()
        before = limits.spent("rich")
        response = posted(clients[1], json.dumps(document))
        charged = limits.spent("rich") - before
        if not upstream.bodies:
            assert charged == 0
            continue
        answered += 1
        worst = sum(map(worst_of, upstream.bodies))
        assert admitted[0] >= worst > 0
        known = usage == {"prompt_tokens": 7, "completion_tokens": 30} and response.status_code == 200
        paid = len(upstream.bodies) * (7 * 1.0 + 30 * 10.0) / 1e6
        assert charged == pytest.approx(paid, abs=1e-9) if known else charged >= worst - 1e-9
    assert answered > count / 5


def worst_of(content):
    """Return the most that a body can cost: a token per byte, its limit of output, and each image at its largest."""
    body = json.loads(content)
    limit = body.get("max_completion_tokens", body.get("max_tokens"))
    images = len(re.findall(rb'"type":"(?:image_url|input_audio)"', content))
    output = (limit + len(json.dumps(body.get("prediction") or ""))) * body.get("n", 1)
    return ((len(content) + 48_169 * images) * 1.0 + output * 10.0) / 1e6


@pytest.mark.parametrize("attempts", [1, 3])
def test_a_call_that_is_repeated_is_charged_again(tmp_path, monkeypatch, attempts):
    """Each attempt that was sent and not answered counts by its worst case; the client that leaves pays as well."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-upstream")
    upstream = Echo()
    upstream.answer = b"{"
    with in_thread(upstream.app) as url:
        priced(tmp_path, monkeypatch, url)
        config = ModelConfig(
            name="fast", upstream="openai/m", base_url=f"{url}/v1", judge="local:length", n=1, attempts=attempts,
            max_tokens=500,
        )  # fmt: skip
        model, outcome = BestOfModel(config, Prices.load()), RequestOutcome()
        asked_for = read_request(
            json.dumps({"model": "bon/fast", "messages": MESSAGES}).encode(), {"fast": config}, key=POOR
        )

        async def ask():
            async with model:
                await model.answer(asked_for, outcome)

        with pytest.raises(ApiError):
            asyncio.run(ask())
    assert len(upstream.bodies) == attempts
    assert outcome.charge(model.worst_cost(asked_for)) >= sum(map(worst_of, upstream.bodies))


# Heads, and answers that nobody takes.


@pytest.mark.parametrize("path", [PATH, "/health", "/v1/none"])
@pytest.mark.parametrize("chunked", ["chunked", "Chunked"])
def test_a_length_that_is_stated_twice(attacked, path, chunked):
    """It is refused with 400 and the connection is closed: what follows is no request."""
    _, _, clients = attacked
    host, port = clients[0].base_url.host, clients[0].base_url.port
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\ntransfer-encoding: {chunked}\r\n\r\n"
    smuggled = "0\r\n\r\nGET /health HTTP/1.1\r\nhost: x\r\n\r\n"
    with socket.create_connection((host, port), timeout=10) as asking:
        asking.sendall((head + smuggled).encode())
        found = b"".join(iter(lambda: asking.recv(65536), b""))
    assert found.startswith(b"HTTP/1.1 400 ")
    assert found.count(b"HTTP/1.1") == 1
    assert b"connection: close" in found.lower()


def test_an_answer_counts_until_it_is_read_or_its_client_leaves(tmp_path, monkeypatch):
    """Who does not read an answer of 12 MB takes one of max_requests, until it is read or the client leaves."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-upstream")
    upstream = Starlette(routes=[Route(PATH, lambda _: JSONResponse(large), methods=["POST"])])
    large = {**ANSWER, "choices": [{"message": {"role": "assistant", "content": "w" * 12_000_000}}]}
    settings = '[server]\nmax_requests = 2\n[models.fast]\nupstream = "openai/m"\njudge = "local:length"\nn = 1\n'
    with in_thread(upstream) as url, served(tmp_path, f'{settings}base_url = "{url}/v1"\n') as (endpoint, address):
        host, port = address.removeprefix("http://").split(":")
        content = json.dumps({"model": "bon/fast", "messages": MESSAGES}).encode()
        head = f"POST {PATH} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        asking = [socket.create_connection((host, int(port)), timeout=20) for _ in range(2)]
        for one in asking:
            one.sendall(f"{head}content-length: {len(content)}\r\n\r\n".encode() + content)
        for one in asking:
            assert one.recv(12) == b"HTTP/1.1 200"
        refused = httpx.post(address + PATH, content=content, headers={"content-type": "application/json"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "overloaded")
        asking[0].close()
        size = 12
        while size < 12_000_000:
            size += len(asking[1].recv(1_000_000))
        asking[1].close()
        deadline = time.monotonic() + 10
        while endpoint._under_way and time.monotonic() < deadline:
            time.sleep(0.02)
        assert endpoint._under_way == 0


def test_the_docs_list_what_is_passed_on():
    """Each field of a request stands in the table of docs/serve.md, and no other."""
    page = Path(__file__).parents[2].joinpath("docs/serve.md").read_text("utf-8")
    table = page.partition("| parameter | what it may cost |")[2].partition("\n\n")[0]
    names = [name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(names) == sorted(chat_models.ChatBody.model_fields)

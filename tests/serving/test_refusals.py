"""What is refused, each in OpenAI's shape, before anything is drawn; and what an upstream's failure becomes."""

from __future__ import annotations

import json
import logging
import socket
import threading
import time

import httpx
import openai
import pytest

from bonwise.errors import UsageError
from bonwise.serving.config import read_config
from bonwise.serving.server import bound_socket, check_host
from serving.upstreams import KEY, in_thread, served

PATH = "/v1/chat/completions"
MESSAGES = [{"role": "user", "content": "Name a colour"}]
JSON = {"content-type": "application/json"}
TYPE = b"content-type: application/json\r\n"


def posted(address, content, **headers):
    """Send bytes and return status and error."""
    response = httpx.post(address + PATH, content=content, headers={**JSON, **headers}, timeout=30)
    return response.status_code, response.json()["error"]


BODIES = {
    "no JSON": (b"{", 400, None, "invalid_json"),
    "no object": (b"[1]", 400, None, "invalid_json"),
    "NaN": (b'{"model": "bon/fast", "temperature": NaN}', 400, None, "invalid_json"),
    "deep": (b"[" * 50_000, 400, None, "invalid_json"),
    "not UTF-8": (b'{"model": "\xff"}', 400, None, "invalid_json"),
    "no model": ({}, 400, "model", "missing_required_parameter"),
    "another model": ({"model": "gpt-5"}, 404, "model", "model_not_found"),
    "no such name": ({"model": "bon/slow"}, 404, "model", "model_not_found"),
    "no messages": ({"model": "bon/fast"}, 400, "messages", "missing_required_parameter"),
    "empty messages": ({"model": "bon/fast", "messages": []}, 400, "messages", "invalid_value"),
    "no message": ({"model": "bon/fast", "messages": [3]}, 400, "messages", "invalid_type"),
    "a stream of words": (
        {"model": "bon/fast", "messages": MESSAGES, "stream": "yes"},
        400,
        "stream",
        "invalid_type",
    ),
    "no choice": ({"model": "bon/fast", "messages": MESSAGES, "n": 0}, 400, "n", "invalid_value"),
    "half a choice": ({"model": "bon/fast", "messages": MESSAGES, "n": 1.5}, 400, "n", "invalid_type"),
    "true choices": ({"model": "bon/fast", "messages": MESSAGES, "n": True}, 400, "n", "invalid_type"),
}


@pytest.mark.parametrize("kind", BODIES)
def test_a_bad_body(upstream, address, kind):
    """It has the status, the field and the code of its fault, and nothing is drawn."""
    body, status, param, code = BODIES[kind]
    found = posted(address, body if isinstance(body, bytes) else json.dumps(body).encode())
    assert found[0] == status
    assert (found[1]["param"], found[1]["code"], found[1]["type"]) == (param, code, "invalid_request_error")
    assert found[1]["message"]
    assert upstream.calls == 0


def test_other_paths(address):
    """Everything else is a clear 404, a wrong method 405; models are listed."""
    for path in ("/v1/embeddings", "/v1/chat/completions/", "/", "/v1/responses"):
        response = httpx.post(address + path, json={})
        assert response.status_code == 404
        assert "is not served here" in response.json()["error"]["message"]
    assert httpx.get(address + PATH).status_code == 405
    with openai.OpenAI(base_url=f"{address}/v1", api_key="x") as client:
        assert [one.id for one in client.models.list()] == ["bon/fast", "bon/calls", "bon/careful", "bon/strict"]
        assert client.models.retrieve("bon/fast").owned_by == "bonwise"
        with pytest.raises(openai.NotFoundError, match="does not exist here"):
            client.models.retrieve("bon/none")


def test_health_and_metrics(upstream, client, address):
    """Health is plain; metrics are in the format of Prometheus."""
    client.chat.completions.create(model="bon/fast", messages=MESSAGES)
    assert httpx.get(f"{address}/health").json() == {"status": "ok"}
    text = httpx.get(f"{address}/metrics").text
    assert "# TYPE bonwise_request_seconds histogram" in text
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    count = float(values['bonwise_requests_total{model="fast",status="200"}'])
    assert float(values['bonwise_request_seconds_bucket{model="fast",le="+Inf"}']) >= count >= 1
    assert float(values['bonwise_upstream_tokens_total{model="fast",kind="input"}']) >= 7
    assert float(values["bonwise_requests_in_flight"]) == 0


UPSTREAM = {
    "its own key": (401, {"message": "wrong key"}, 502, "upstream_denied"),
    "no credit": (429, {"message": "pay first", "code": "insufficient_quota"}, 502, "upstream_quota"),
    "the request": (400, {"message": "temperature is too high", "param": "temperature"}, 400, "upstream_rejected"),
    "too much": (429, {"message": "slow down"}, 429, "upstream_rate_limit"),
    "broken": (500, {"message": "oops"}, 502, "upstream_overloaded"),
}


@pytest.mark.parametrize("kind", UPSTREAM)
def test_a_failing_upstream(upstream, client, kind):
    """What is wrong with the request keeps its status: a client with the right key never sees 401 because of it."""
    status, error, expected, code = UPSTREAM[kind]
    upstream.refuse = (status, error)
    with pytest.raises(openai.APIStatusError) as raised:
        client.with_options(max_retries=0).chat.completions.create(model="bon/calls", messages=MESSAGES)
    assert (raised.value.status_code, raised.value.code) == (expected, code)
    assert KEY not in raised.value.response.text


def test_the_log_has_no_words(upstream, client, caplog):
    """A line of JSON per request: who, what, how long, how many, and neither prompt nor answer nor key."""
    with caplog.at_level(logging.INFO, "bonwise.serving.requests"):
        client.chat.completions.create(model="bon/fast", messages=[{"role": "user", "content": "a secret prompt"}])
    (line,) = [one.getMessage() for one in caplog.records if one.name == "bonwise.serving.requests"]
    said = json.loads(line)
    assert (said["model"], said["status"], said["candidates"], said["decided_by"]) == ("fast", 200, 4, "score")
    assert "secret" not in line
    assert "www" not in line


KEYS = """
[models.fast]
upstream = "openai/m"
base_url = "{url}/v1"
judge = "local:length"
max_tokens = 100

[keys]
alice = "sk-of-alice"
bob = {{env = "BOB", max_concurrency = 1}}
carol = {{file = "{file}", max_cost = 0.02}}
"""


@pytest.fixture
def guarded(upstream, tmp_path, monkeypatch):
    """Serve with keys, one of them with a limit on cost."""
    monkeypatch.setenv("BOB", "sk-of-bob")
    (tmp_path / "carol").write_text("sk-of-carol\n", encoding="utf-8")
    with in_thread(upstream.app) as url:
        prices = tmp_path / "prices.toml"
        price = f'[[price]]\nprovider = "openai"\nbase_url = "{url}/v1"\nmodels = ["*"]\ninput = 0.0\noutput = 10.0\n'
        prices.write_text(price, encoding="utf-8")
        monkeypatch.setenv("BONWISE_PRICES", str(prices))
        with served(tmp_path, KEYS.format(url=url, file=tmp_path / "carol")) as (endpoint, address):
            yield endpoint, address


def test_keys(upstream, guarded):
    """A wrong key gets 401, as does none; the upstream never sees a client's key."""
    _, address = guarded
    for headers in ({}, {"authorization": "Bearer sk-mallory"}, {"authorization": "sk-of-alice"}):
        response = httpx.post(address + PATH, json={"model": "bon/fast", "messages": MESSAGES}, headers=headers)
        assert (response.status_code, response.json()["error"]["code"]) == (401, "invalid_api_key")
        assert httpx.get(f"{address}/v1/models", headers=headers).status_code == 401
        assert httpx.get(f"{address}/metrics", headers=headers).status_code == 401
    assert httpx.get(f"{address}/health").status_code == 200
    assert upstream.calls == 0
    for key in ("sk-of-alice", "sk-of-bob", "sk-of-carol"):
        with openai.OpenAI(base_url=f"{address}/v1", api_key=key) as client:
            client.chat.completions.create(model="bon/fast", messages=MESSAGES)
    assert upstream.authorizations == {f"Bearer {KEY}"}
    with (
        openai.OpenAI(base_url=f"{address}/v1", api_key="sk-mallory") as client,
        pytest.raises(openai.AuthenticationError),
    ):
        client.chat.completions.create(model="bon/fast", messages=MESSAGES)


def until_refused(client):
    """Ask until the endpoint refuses, and return the refusal."""
    for _ in range(100):
        try:
            client.chat.completions.create(model="bon/fast", messages=MESSAGES)
        except openai.RateLimitError as error:
            return error
    raise AssertionError("it never refused")


def test_a_limit_of_cost(upstream, guarded):
    """Requests are refused, and not asked again for, once the worst case of one does not fit."""
    endpoint, address = guarded
    with openai.OpenAI(base_url=f"{address}/v1", api_key="sk-of-carol") as client:
        refused = until_refused(client)
    assert refused.code == "insufficient_quota"
    assert "leaves no room" in str(refused)
    spent = upstream.tokens["output"] * 10.0 / 1e6
    assert endpoint._limits.spent("carol") == pytest.approx(spent)
    assert endpoint._limits.under_way("carol") == 0
    # Draws of this upstream do not keep to max_tokens; the last request began below the limit.
    assert spent - 4 * 4000 * 10.0 / 1e6 < 0.02


def test_a_limit_of_requests_at_once(upstream, guarded):
    """A second request while one is under way gets 429, and a third after it an answer."""
    _, address = guarded
    upstream.latency = 1.0
    body = {"model": "bon/fast", "messages": MESSAGES}
    headers = {"authorization": "Bearer sk-of-bob"}
    with httpx.Client(base_url=address, headers=headers, timeout=30) as client:
        statuses = []
        first = threading.Thread(target=lambda: statuses.append(client.post(PATH, json=body).status_code))
        first.start()
        time.sleep(0.4)
        second = client.post(PATH, json=body)
        first.join()
        upstream.latency = 0.0
        third = client.post(PATH, json=body)
    assert (statuses, second.status_code, third.status_code) == ([200], 429, 200)
    assert second.json()["error"]["code"] == "rate_limit_exceeded"
    assert second.headers["retry-after"] == "1"


def test_a_large_body_is_not_kept(upstream, address):
    """100 MB get 413, whether their length is stated or not, and a client that asks first sends nothing."""
    piece = b"x" * 1_000_000

    def pieces():
        for _ in range(100):
            yield piece

    stated = httpx.post(address + PATH, content=pieces(), headers={**JSON, "content-length": "100000000"}, timeout=60)
    chunked = httpx.post(address + PATH, content=pieces(), headers=JSON, timeout=60)
    for response in (stated, chunked):
        assert (response.status_code, response.json()["error"]["code"]) == (413, "request_too_large")
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as asking:
        head = f"POST {PATH} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        head += "content-length: 100000000\r\nexpect: 100-continue\r\n\r\n"
        asking.sendall(head.encode())
        assert b"413" in asking.recv(4096).split(b"\r\n")[0]
    assert upstream.calls == 0


def test_slow_clients_are_closed(address):
    """A head or a body that does not come within two seconds ends the connection; others are served meanwhile."""
    host, port = address.removeprefix("http://").split(":")
    starts = [
        b"",
        b"POST /v1/chat/completions HTTP/1.1\r\nhost:",
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: [::1]\r\n" + TYPE + b"content-length: 50\r\n\r\n{",
    ]
    sockets = [socket.create_connection((host, int(port)), timeout=15) for _ in range(100) for _ in starts]
    for at, one in enumerate(sockets):
        one.sendall(starts[at % 3])
    began = time.monotonic()
    assert httpx.get(f"{address}/health", timeout=10).status_code == 200
    answers = [one.recv(4096) for one in sockets]
    assert time.monotonic() - began < 12
    for at, answer in enumerate(answers):
        assert (b" 408 " in answer) if at % 3 == 2 else answer == b""
    for one in sockets:
        one.close()


def test_more_requests_than_there_may_be(upstream, tmp_path):
    """They get 503 at once, with the time after which to ask again."""
    upstream.latency = 1.0
    with in_thread(upstream.app) as url:
        settings = f"""
            [server]
            max_requests = 2
            [models.fast]
            upstream = "openai/m"
            base_url = "{url}/v1"
            judge = "local:length"
        """
        with served(tmp_path, settings) as (_, address):
            found = []
            body = {"model": "bon/fast", "messages": MESSAGES}
            work = lambda: found.append(httpx.post(address + PATH, json=body, timeout=30))  # noqa: E731
            threads = [threading.Thread(target=work) for _ in range(5)]
            for one in threads:
                one.start()
            for one in threads:
                one.join()
    assert sorted(one.status_code for one in found) == [200, 200, 503, 503, 503]
    assert {one.json()["error"]["code"] for one in found if one.status_code == 503} == {"overloaded"}


def test_an_address_for_other_machines_needs_keys(tmp_path):
    """Without keys only this machine reaches it."""
    path = tmp_path / "serve.toml"
    text = '[models.fast]\nupstream = "openai/m"\njudge = "local:length"\n'
    path.write_text(text, encoding="utf-8")
    for host in ("127.0.0.1", "localhost", "::1"):
        check_host(host, read_config(path))
    for host in ("0.0.0.0", "::", "example.org"):  # noqa: S104 - what is refused
        with pytest.raises(UsageError, match="no \\[keys\\]"):
            check_host(host, read_config(path))
    path.write_text(text + '[keys]\nalice = "sk-of-alice"\n', encoding="utf-8")
    check_host("0.0.0.0", read_config(path))  # noqa: S104


def test_a_port_that_is_taken():
    """One sentence."""
    with bound_socket("127.0.0.1", 0) as one, pytest.raises(UsageError, match="served: Address already in use"):
        bound_socket("127.0.0.1", one.getsockname()[1])

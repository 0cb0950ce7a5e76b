"""Who may ask without a key, how many connections there may be, and how long a client may take to read."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from serving.test_load import Command
from serving.upstreams import KEY, in_thread, served

PATH = "/v1/chat/completions"
BODY = {"model": "bon/fast", "messages": [{"role": "user", "content": "Name a colour"}]}
MODEL = """
[models.fast]
upstream = "openai/m"
base_url = "{url}/v1"
judge = "local:length"
n = 1
attempts = 1
"""


class LongService:
    """Answers with so many letters, after a while."""

    def __init__(self, letters=10, latency=0.0):
        self.letters, self.calls, self.latency = letters, 0, latency
        self.go_on = threading.Event()
        self.go_on.set()
        self.app = Starlette(routes=[Route(PATH, self._answer, methods=["POST"])])

    async def _answer(self, request: Request):
        await request.body()
        self.calls += 1
        await asyncio.to_thread(self.go_on.wait, 60)
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": "w" * self.letters},
            "finish_reason": "stop",
        }
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        return JSONResponse({"id": "x", "object": "chat.completion", "choices": [choice], "usage": usage})


@pytest.fixture
def service(monkeypatch):
    """Serve an upstream; yield it and its address."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    made = LongService()
    with in_thread(made.app) as url:
        yield made, url
        made.go_on.set()


# Who may ask without a key: a browser on this machine runs pages of strangers.

JSON = {"content-type": "application/json"}
FOREIGN = {
    "no content type": ({}, 415),
    "a form": ({"content-type": "application/x-www-form-urlencoded"}, 415),
    "plain text": ({"content-type": "text/plain;charset=UTF-8"}, 415),
    "a form with a file": ({"content-type": "multipart/form-data; boundary=x"}, 415),
    "JSON in a parameter": ({"content-type": "text/plain; application/json"}, 415),
    "JSON and more": ({"content-type": "application/jsonp"}, 415),
    "a rebound name": (JSON | {"host": "attacker.example"}, 403),
    "a rebound name with a port": (JSON | {"host": "attacker.example:8000"}, 403),
    "a name that begins like this machine": (JSON | {"host": "127.0.0.1.attacker.example"}, 403),
    "a name that begins like localhost": (JSON | {"host": "localhost.attacker.example"}, 403),
    "a name that ends like localhost": (JSON | {"host": "attacker-localhost"}, 403),
    "a login before the name": (JSON | {"host": "localhost@attacker.example"}, 403),
    "two names": (JSON | {"host": "localhost,attacker.example"}, 403),
    "all addresses": (JSON | {"host": "0.0.0.0:8000"}, 403),
    "another address": (JSON | {"host": "192.168.0.7"}, 403),
    "a number": (JSON | {"host": "2130706433"}, 403),
    "an empty host": (JSON | {"host": ""}, 403),
    "another origin": (JSON | {"origin": "https://attacker.example"}, 403),
    "no origin": (JSON | {"origin": "null"}, 403),
    "a file": (JSON | {"origin": "file://"}, 403),
    "another port": (JSON | {"host": "localhost:8000", "origin": "http://localhost:3000"}, 403),
    "an origin that begins like this machine": (
        JSON | {"host": "localhost", "origin": "http://localhost.attacker.example"},
        403,
    ),
}
LOCAL = {
    "as the official client": JSON,
    "with a charset": {"content-type": "Application/JSON; charset=utf-8"},
    "localhost": JSON | {"host": "localhost:8000"},
    "Localhost.": JSON | {"host": "LocalHost.:8000"},
    "another loopback address": JSON | {"host": "127.9.9.9"},
    "the sixth version": JSON | {"host": "[::1]:8000"},
    "its own page": JSON | {"host": "localhost:8000", "origin": "http://localhost:8000"},
    "an allowed name": JSON | {"host": "bonwise.internal:8000"},
    "an allowed page": JSON | {"origin": "https://bonwise.internal"},
}


@pytest.fixture(scope="module")
def doors():
    """Serve without keys, and with; yield service and both addresses."""
    patch, made = pytest.MonkeyPatch(), LongService()
    patch.setenv("OPENAI_API_KEY", KEY)
    allowed = '\n[server]\nallowed_hosts = ["bonwise.internal"]\n'
    with contextlib.ExitStack() as opened:
        folders = [Path(opened.enter_context(TemporaryDirectory())) for _ in range(2)]
        text = MODEL.format(url=opened.enter_context(in_thread(made.app))) + allowed
        keyless = opened.enter_context(served(folders[0], text))[1]
        keyed = opened.enter_context(served(folders[1], text + '[keys]\nalice = "a-key-of-alice"\n'))[1]
        yield made, keyless, keyed
    patch.undo()


@pytest.mark.parametrize("kind", FOREIGN)
def test_without_keys_a_page_of_a_stranger_is_refused(doors, kind):
    """It gets 403 or 415, and nothing is drawn; with keys the key alone counts."""
    service, keyless, keyed = doors
    headers, status = FOREIGN[kind]
    service.calls = 0
    found = httpx.post(keyless + PATH, content=json.dumps(BODY), headers=headers)
    assert (found.status_code, service.calls) == (status, 0)
    assert found.json()["error"]["code"] in {"host_not_allowed", "foreign_origin", "unsupported_media_type"}
    if status == 403:
        for path in ("/v1/models", "/metrics"):
            assert httpx.get(keyless + path, headers=headers).status_code == 403
    known = headers | {"authorization": "Bearer a-key-of-alice"}
    assert httpx.post(keyed + PATH, content=json.dumps(BODY), headers=known).status_code == 200
    assert httpx.post(keyed + PATH, content=json.dumps(BODY), headers=headers).status_code == 401


@pytest.mark.parametrize("kind", LOCAL)
def test_without_keys_this_machine_is_answered(doors, kind):
    """By each of its names, and by those that the settings allow."""
    _, keyless, _ = doors
    assert httpx.post(keyless + PATH, content=json.dumps(BODY), headers=LOCAL[kind]).status_code == 200


def test_a_browser_asks_in_vain_whether_it_may(doors):
    """No answer allows another origin anything."""
    _, keyless, _ = doors
    ask = {"origin": "https://attacker.example", "access-control-request-method": "POST"}
    found = httpx.options(keyless + PATH, headers=ask)
    assert found.status_code == 405
    assert not [name for name in found.headers if name.startswith("access-control")]


# Connections: how many there may be, and who is let go first.


def connected(address, source="127.0.0.1"):
    """Open a connection from an address of this machine."""
    host, port = address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=10, source_address=(source, 0))


def is_closed(one, seconds=0.0):
    """Tell whether the server has closed a connection."""
    one.settimeout(seconds or 0.001)
    try:
        return one.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def sent(one, path="/health", method="GET", body=b"", **headers):
    """Send a request and return the answer, with its head."""
    lines = [f"{method} {path} HTTP/1.1", "host: localhost", f"content-length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    one.settimeout(20)
    one.sendall("\r\n".join([*lines, "", ""]).encode() + body)
    received = b""
    while not received.endswith(b"}"):
        received += one.recv(65536)
    return received


@pytest.fixture
def opened():
    """Return a list of sockets that are closed in the end."""
    with contextlib.ExitStack() as stack:
        sockets = []
        stack.callback(lambda: [one.close() for one in sockets])
        yield sockets


def test_the_connection_that_is_idle_longest_is_closed_first(service, tmp_path, opened):
    """Silent ones and such with half a head make room for whoever comes; one that has asked since stays."""
    settings = MODEL.format(url=service[1]) + "[server]\nmax_connections = 5\n"
    with served(tmp_path, settings) as (endpoint, address):
        opened += [connected(address) for _ in range(5)]
        for one in opened[1:3]:
            one.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost:")
        assert b" 200 " in sent(opened[0])
        for _ in range(3):
            opened.append(connected(address))
            assert b" 200 " in sent(opened[-1])
        assert [is_closed(one) for one in opened] == [False, True, True, True, False, False, False, False]
        assert b" 200 " in sent(opened[0])
        closed = endpoint.records.metrics.values['bonwise_closed_connections_total{reason="too_many"}']
        assert closed == 3


def test_health_is_answered_when_all_connections_are_at_work(service, tmp_path, opened):
    """It has places of its own, which others do not take up: they get 503, or are closed when more come."""
    upstream, url = service
    upstream.go_on.clear()
    settings = MODEL.format(url=url) + "[server]\nmax_connections = 3\n"
    with served(tmp_path, settings) as (_, address):
        body = json.dumps(BODY).encode()
        results = []
        asks = [
            threading.Thread(target=lambda: results.append(httpx.post(address + PATH, json=BODY, timeout=60)))
            for _ in range(3)
        ]
        for one in asks:
            one.start()
        until(lambda: upstream.calls == 3)
        assert httpx.get(f"{address}/health").status_code == 200
        one = connected(address)
        opened.append(one)
        answer = sent(one, PATH, "POST", body, content_type="application/json")
        assert b" 503 " in answer
        assert b"connection: close" in answer.lower()
        opened += [connected(address) for _ in range(40)]
        assert httpx.get(f"{address}/health").status_code == 200
        upstream.go_on.set()
        for one in asks:
            one.join()
        assert [one.status_code for one in results] == [200, 200, 200]
        assert httpx.post(address + PATH, json=BODY).status_code == 200


def test_connections_of_one_address(service, tmp_path, opened):
    """One address closes its own, and never those of others."""
    settings = MODEL.format(url=service[1]) + "[server]\nmax_connections = 6\nmax_connections_per_address = 4\n"
    with served(tmp_path, settings) as (_, address):
        own = [connected(address) for _ in range(2)]
        opened += own
        time.sleep(0.1)
        opened += [connected(address, "127.0.0.2") for _ in range(50)]
        until(lambda: is_closed(opened[47]))
        assert [is_closed(one) for one in opened[-4:]] == [False] * 4
        assert [b" 200 " in sent(one) for one in own] == [True, True]
        closed = httpx.get(f"{address}/metrics").text
        assert 'bonwise_closed_connections_total{reason="per_address"} 46' in closed


def until(fits, seconds=20):
    """Wait until something holds."""
    ends = time.monotonic() + seconds
    while not fits():
        assert time.monotonic() < ends
        time.sleep(0.02)


# Clients that do not read.


def unread(address, receive=4096):
    """Ask for an answer and read nothing of it."""
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
    host, port = address.removeprefix("http://").split(":")
    one.connect((host, int(port)))
    body = json.dumps(BODY).encode()
    head = f"POST {PATH} HTTP/1.1\r\nhost: localhost\r\n{{}}content-length: {len(body)}\r\n\r\n"
    one.sendall(head.format("content-type: application/json\r\n").encode() + body)
    return one


STREAMS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@STREAMS
def test_an_answer_that_is_being_sent_counts(service, tmp_path, opened, monkeypatch, stream):
    """As long as it is not taken the request has its place among `max_requests`; then there is room again."""
    upstream, url = service
    upstream.letters = 8_000_000
    monkeypatch.setitem(BODY, "stream", stream)
    settings = MODEL.format(url=url) + "[server]\nmax_requests = 2\nsend_timeout = 1.5\n"
    with served(tmp_path, settings) as (endpoint, address):
        opened += [unread(address) for _ in range(2)]
        values = endpoint.records.metrics.values
        until(lambda: values.get('bonwise_requests_total{model="fast",status="200"}') == 2)
        assert httpx.post(address + PATH, json=BODY).status_code == 503
        assert httpx.get(f"{address}/health").status_code == 200
        until(lambda: values.get('bonwise_closed_connections_total{reason="not_read"}') == 2, 1.5 + 5)
        found = httpx.post(address + PATH, json=BODY, timeout=30)
        assert (found.status_code, len(found.content) > 8_000_000) == (200, True)


PACES = {
    "one that reads a little": (1000, 0.02),
    "one that reads nothing": (0, 0.1),
    "one that stops": (2_000_000, 0.1),
}


@pytest.mark.parametrize("pace", PACES)
@pytest.mark.parametrize("letters", [3_000_000, 8_000_000])
def test_a_client_that_does_not_take_its_answer_is_let_go(service, tmp_path, opened, pace, letters):
    """However it delays: after `send_timeout` its connection is closed, before the answer is complete."""
    upstream, url = service
    upstream.letters = letters
    piece, pause = PACES[pace]
    settings = MODEL.format(url=url) + "[server]\nsend_timeout = 0.3\n"
    with served(tmp_path, settings) as (endpoint, address):
        one = unread(address)
        opened.append(one)
        ends, got = time.monotonic() + 0.3 + 5, 0
        closed = 'bonwise_closed_connections_total{reason="not_read"}'
        while closed not in endpoint.records.metrics.values:
            assert time.monotonic() < ends
            if piece and not (pace == "one that stops" and got):
                got += len(one.recv(piece))
            time.sleep(pause)
        assert got < letters
        until(lambda: endpoint._under_way == 0)


def test_a_client_that_reads_slowly_gets_its_answer(service, tmp_path, opened):
    """As long as it is done in time."""
    upstream, url = service
    upstream.letters = 5_000_000
    settings = MODEL.format(url=url) + "[server]\nsend_timeout = 20\n"
    with served(tmp_path, settings) as (_, address), httpx.stream("POST", address + PATH, json=BODY) as answer:
        size = 0
        for piece in answer.iter_raw(65536):
            size += len(piece)
            time.sleep(0.01)
    assert size == int(answer.headers["content-length"]) > 5_000_000


@pytest.mark.skipif(not Path("/proc/self/statm").is_file(), reason="needs /proc")
@pytest.mark.parametrize("readers", [12, pytest.param(48, marks=pytest.mark.slow)])
def test_clients_that_never_read_hold_little(service, tmp_path, opened, readers):
    """12 answers of 8 MB that nobody takes hold at most 50 MB, and after `send_timeout` and 5 seconds nothing."""
    upstream, url = service
    upstream.letters = 8_000_000

    def memory(pid):
        return int(Path(f"/proc/{pid}/statm").read_text("utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def files(pid):
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))

    settings = MODEL.format(url=url) + "[server]\nsend_timeout = 6\n"
    with Command(tmp_path, settings) as command:
        address, pid = command.address, command.process.pid
        for _ in range(2):
            httpx.post(address + PATH, json=BODY, timeout=60)
        before = memory(pid)
        opened += [unread(address) for _ in range(readers)]
        until(lambda: sum('"status": 200' in line for line in command.lines) == readers + 2, 120)
        began, most = time.monotonic(), files(pid)
        # What drawing has taken is given back about a second later.
        until(lambda: memory(pid) - before <= 50, 3)
        assert files(pid) >= most
        until(lambda: files(pid) <= most - 2 * readers, 6 + 5 - (time.monotonic() - began))
        assert memory(pid) - before <= 20
        assert httpx.post(address + PATH, json=BODY, timeout=60).status_code == 200


# Two clients of one server: not a byte of one reaches the other, the services under the other's key, or a log.


MARKS = {"alice": "MARK-OF-ALICE", "bob": "MARK-OF-BOB"}
SECRETS = {"alice": "sk-MARK-OF-ALICE-key-0001", "bob": "sk-MARK-OF-BOB-key-0002"}
QUESTION = "Name a colour"
"""What both ask: the answer of the judge to the one is that to the other."""


class EchoingService:
    """Repeats all that it is told: in answers, errors, ids, headers and cookies; keeps whatever it receives."""

    def __init__(self):
        self.received = []
        self.app = Starlette(routes=[Route(PATH, self._answer, methods=["POST"])])

    async def _answer(self, request: Request):
        said = (await request.body()).decode()
        self.received.append((dict(request.headers), said))
        body = json.loads(said)
        whose = "+".join(mark for mark in MARKS.values() if mark in said) or "nobody"
        headers = {"set-cookie": f"session={whose}; Path=/", "x-request-id": whose, "x-seen": whose}
        words = f"{whose}: {said[:3000]}"
        if body["model"] == "refusing" or "please refuse" in said:
            status = 401 if body["model"] == "refusing" else 400
            return JSONResponse({"error": {"message": words, "code": whose}}, status, headers=headers)
        judging = body["model"] == "judge"
        texts = ['{"reason": "", "score": 7}'] if judging else [f"{words} {at}" for at in range(body.get("n", 1))]
        choices = [
            {"index": at, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            for at, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        answer = {"id": f"chatcmpl-{whose}", "model": "m", "choices": choices, "usage": usage}
        return JSONResponse({**answer, "system_fingerprint": whose}, headers=headers)


SETTINGS = """
[models.judged]
upstream = "openai/m"
base_url = "{url}/v1"
judge = "pointwise:openai/judge"
judge_base_url = "{url}/v1"
n = 2
attempts = 1
{more}

[models.refused]
upstream = "openai/m"
base_url = "{url}/v1"
judge = "pointwise:openai/refusing"
judge_base_url = "{url}/v1"
n = 2
attempts = 1
{more}

[models.strict]
upstream = "openai/m"
base_url = "{url}/v1"
judge = "pointwise:openai/refusing"
judge_base_url = "{url}/v1"
on_failure = "raise"
n = 2
attempts = 1
{more}
"""
KEYS = f"""
[keys]
alice = "{SECRETS["alice"]}"
bob = "{SECRETS["bob"]}"
"""


def requests_of(who):
    """Return the bodies that one client sends, each with its mark: answers, streams, and errors of all parties."""
    mark = MARKS[who]
    own = {"user": mark, "metadata": {"whose": mark}}
    asks = [
        ("judged", f"What is {mark}?", own),
        ("judged", f"What is {mark}?", own | {"stream": True, "stream_options": {"include_usage": True}}),
        ("judged", f"please refuse {mark}", own),
        ("refused", f"What is {mark}?", own),
        ("strict", f"What is {mark}?", own),
        (f"no-{mark}", f"What is {mark}?", own),
        ("judged", f"What is {mark}?", own | {"n": mark}),
    ]
    return [
        {"model": f"bon/{model}", "messages": [{"role": "user", "content": text}], **more}
        for model, text, more in asks
    ]


def asked(address, who, bodies):
    """Send bodies as one client does; return all that it receives, as text."""
    headers = {
        "authorization": f"Bearer {SECRETS[who]}",
        "cookie": f"session={MARKS[who]}",
        "x-request-id": f"request-{MARKS[who]}",
    }
    received = []
    with httpx.Client(base_url=address, headers=headers, timeout=60) as client:
        for body in bodies:
            client.cookies.clear()
            response = client.post(PATH, json=body)
            received.append(f"{response.status_code} {dict(response.headers)} {response.text}")
        received += [client.get(path).text for path in ("/metrics", "/v1/models", f"/v1/models/{MARKS[who]}")]
    return received


def foreign(texts, who):
    """Return the texts that hold a mark of the other client, or its key."""
    (other,) = MARKS.keys() - {who}
    return [text for text in texts if MARKS[other] in text or SECRETS[other] in text]


@pytest.fixture(params=["own key of the server", "forwarded keys of the table", "forwarded keys"])
def both(request, tmp_path, monkeypatch):
    """Serve models to two clients by each use of keys; yield service, address and whether keys are sent."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    service, forwards = EchoingService(), request.param != "own key of the server"
    with in_thread(service.app) as url:
        settings = SETTINGS.format(url=url, more="forward_client_key = true" if forwards else "")
        settings += "" if request.param == "forwarded keys" else KEYS
        with served(tmp_path, settings, run=str(tmp_path / "run")) as (_, address):
            yield service, address, forwards


def test_not_a_byte_of_one_client_reaches_the_other(both, caplog):
    """All that one sends is marked: prompts, answers, keys, cookies, ids, errors; first one after the other."""
    service, address, forwards = both
    with caplog.at_level(logging.DEBUG):
        asked(address, "alice", requests_of("alice"))
        before = len(service.received)
        received = asked(address, "bob", requests_of("bob"))
    sent = [f"{headers} {body}" for headers, body in service.received[before:]]
    assert len(received) == 10
    assert sum(MARKS["bob"] in one for one in received) >= 6
    assert foreign(received, "bob") == []
    assert foreign(sent, "bob") == []
    drawn = {headers["authorization"] for headers, body in service.received[before:] if '"m"' in body}
    assert drawn == {f"Bearer {SECRETS['bob'] if forwards else KEY}"}
    # The log has the ids of requests, as they were sent, and nothing else of them.
    lines = [record.getMessage() for record in caplog.records if record.name.startswith("bonwise")]
    assert any(f"request-{MARKS['bob']}" in line for line in lines)
    assert not [line for line in lines for mark in MARKS.values() if mark in line.replace(f'"request-{mark}"', "")]


def test_not_a_byte_of_one_client_reaches_the_other_at_once(both):
    """The same with both at work, four times each."""
    service, address, forwards = both
    with ThreadPoolExecutor(8) as pool:
        work = [(who, pool.submit(asked, address, who, requests_of(who))) for _ in range(4) for who in MARKS]
    for who, one in work:
        assert foreign(one.result(), who) == []
    for headers, body in service.received:
        whose = [who for who, mark in MARKS.items() if mark in f"{headers} {body}"]
        assert len(whose) == 1
        if forwards and '"m"' in body:
            assert headers["authorization"] == f"Bearer {SECRETS[whose[0]]}"


def test_what_one_client_asked_is_not_told_by_the_judge(both):
    """What both ask is judged for each, and counted as calls; what one asks again comes from the ledger."""
    service, address, _ = both
    body = {"model": "bon/judged", "messages": [{"role": "user", "content": QUESTION}]}
    trails = []
    for who in ("alice", "bob", "alice", "bob"):
        headers = {"authorization": f"Bearer {SECRETS[who]}"}
        trails.append(httpx.post(address + PATH, json=body, headers=headers, timeout=60).json()["bonwise"])
    took = [(one["judge_usage"]["calls"], one["judge_usage"].get("from_ledger", 0)) for one in trails]
    assert took == [(2, 0), (2, 0), (0, 2), (0, 2)]
    assert not any(headers.get("cookie") for headers, _ in service.received)


def test_judgements_are_shared_where_the_settings_say_so(tmp_path, monkeypatch):
    """With `share_judgements` the second client costs no call of the judge."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    service = EchoingService()
    body = {"model": "bon/judged", "messages": [{"role": "user", "content": QUESTION}]}
    with in_thread(service.app) as url:
        settings = SETTINGS.format(url=url, more="share_judgements = true") + KEYS
        with served(tmp_path, settings, run=str(tmp_path / "run")) as (_, address):
            for who, calls in (("alice", 2), ("bob", 0)):
                headers = {"authorization": f"Bearer {SECRETS[who]}"}
                trail = httpx.post(address + PATH, json=body, headers=headers, timeout=60).json()["bonwise"]
                assert trail["judge_usage"]["calls"] == calls

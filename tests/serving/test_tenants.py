"""Two clients of one server: not a byte of one reaches the other, the services under the other's key, or a log."""

from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from serving.upstreams import KEY, in_thread, served

PATH = "/v1/chat/completions"
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

"""Keys and passwords are found nowhere: not in files, streams, logs, reprs or tracebacks, however a run ends."""

from __future__ import annotations

import base64
import json
import logging
import os
import traceback
from dataclasses import replace
from urllib.parse import urlencode

import pytest

from bonwise.calls.engine import Engine
from bonwise.calls.providers.clients import SdkClient
from bonwise.calls.providers.protocol import provider
from bonwise.judges.registry import judge_from_spec
from bonwise.judges.scoring import judge_pools
from bonwise.testing.faults import Faults
from bonwise.testing.script import Delivery, Script
from bonwise.testing.server import ScriptedServer
from bonwise.testing.wire import WireResponse
from calls.scripted_runs import ANTHROPIC, OPENAI, in_memory, pools
from calls.virtual_time import run_virtual
from cli.commands import pool_file, typed

KEYS = {"OPENAI_API_KEY": "canary-openai-8f2a6b", "ANTHROPIC_API_KEY": "canary-anthropic-91cc04"}
ORGANIZATION = {"OPENAI_ORG_ID": "canary-organization-3d", "OPENAI_PROJECT_ID": "canary-project-77"}
LOGIN = "canary-user-51:canary-password-ab"
QUERY = "canary-query-c9"
# Names and shapes of secrets that say less of themselves.
QUERIES = {"pwd": "Cnr7", "k": "canary-key-k1", "pass": "canary-pass-2", "sub": "c4n4Ry8Zq0T7xW2mB5"}
BASIC = base64.b64encode(LOGIN.encode()).decode()
CANARIES = (*KEYS.values(), *ORGANIZATION.values(), *LOGIN.split(":"), QUERY, *QUERIES.values(), BASIC)
JUDGES = {"openai": OPENAI, "anthropic": ANTHROPIC}
PATHS = {"openai": "/v1", "anthropic": ""}


class Echo(Script):
    """Answers every request with one status, and repeats what it was sent."""

    def __init__(self, status):
        super().__init__()
        self.status = status

    def receive(self, method, path, headers, content, now):
        """Repeat key, login and address, as they were sent and in plain words."""
        super().receive(method, path, headers, content, now)
        sent = [headers[name] for name in ("authorization", "x-api-key") if name in headers]
        key = KEYS["ANTHROPIC_API_KEY" if "anthropic-version" in headers else "OPENAI_API_KEY"]
        asked = f"{path}?api-key={QUERY}&{urlencode(QUERIES)}"
        seen = " ".join([key, *sent, BASIC, LOGIN.partition(":")[2], asked, *QUERIES.values()])
        error = {"message": f"Incorrect API key provided: {seen}", "type": "error", "code": "error"}
        body = json.dumps({"type": "error", "error": error}).encode()
        repeated = {"content-type": "application/json", "x-echo": CANARIES[0], "x-request-id": "req_1"}
        return Delivery(WireResponse(self.status, repeated, body))


class Telling(Script):
    """Answers every request, and repeats in body and headers what it was sent."""

    def receive(self, method, path, headers, content, now):
        """Put key, login and address into an answer."""
        delivery = super().receive(method, path, headers, content, now)
        answered = delivery.response
        key = KEYS["ANTHROPIC_API_KEY" if "anthropic-version" in headers else "OPENAI_API_KEY"]
        seen = {
            "headers": dict(headers),
            "key": [key, BASIC, LOGIN.partition(":")[2]],
            "url": f"{path}?api-key={QUERY}&{urlencode({name: QUERIES[name] for name in QUERIES if name != 'pwd'})}",
        }
        body = json.dumps(json.loads(answered.content) | {"debug": seen}).encode()
        repeated = {**answered.headers, "x-request-id": key, "x-echo": BASIC}
        return replace(delivery, response=WireResponse(answered.status, repeated, body))


class Raising(Exception):  # noqa: N818 - a defect is played, not defined
    """Something that no part expects."""


class Broken:
    """A transport of any HTTP library that fails in a way nobody expects."""

    async def handle_async_request(self, request):
        """Fail."""
        raise Raising(f"it broke at {request.method}")

    async def aclose(self):
        """Close nothing."""


@pytest.fixture(autouse=True)
def canaries(monkeypatch):
    """Plant every secret that a run could come by, and nothing else that the SDKs read."""
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "ANTHROPIC_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    for name, value in (KEYS | ORGANIZATION).items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def logs(caplog):
    """Catch what bonwise logs, at every level."""
    caplog.set_level(logging.DEBUG, logger="bonwise")
    return lambda: "".join(record.getMessage() for record in caplog.records if record.name.startswith("bonwise"))


def address(origin, name):
    """Return a base URL that holds a login and a key."""
    return f"{origin.replace('://', f'://{LOGIN}@')}{PATHS[name]}?api-key={QUERY}&{urlencode(QUERIES)}"


def flags(transport):
    """Return the flags that choose a transport."""
    return () if transport is None else ("--transport", transport)


def files_below(folder):
    """Return the bytes of every file below a folder."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def leaks(shown):
    """Return which canaries are in which of some texts or bytes."""
    return [
        (name, canary)
        for name, text in shown.items()
        for canary in CANARIES
        if (canary.encode() if isinstance(text, bytes) else canary) in text
    ]


def looked_into(capsys, folder):
    """Return what the commands that look into a ledger say and write."""
    said = {}
    for command in ("stats", "show", "export"):
        done = typed(capsys, "ledger", command, folder / "run")
        assert done.code == 0
        said |= {f"{command} stdout": done.out, f"{command} stderr": done.err}
    exported = [json.loads(line) for line in said["export stdout"].splitlines()]
    for row in exported[:1]:
        shown = typed(capsys, "ledger", "show", folder / "run", "--key", row["key"])
        said |= {"row stdout": shown.out}
    return said


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize(("status", "code"), [(200, 0), (400, 1), (401, 2), (404, 2)])
def test_the_command_shows_no_secret(tmp_path, capsys, logs, name, status, code, any_transport):
    """Answered, rejected or denied by a server that repeats the key: files, streams and logs hold no secret."""
    script = Telling() if status == 200 else Echo(status)
    file = pool_file(tmp_path / "pools.jsonl", {"p": ["an answer", "another"]})
    with ScriptedServer(script).in_thread() as server:
        url = address(server.url, name)
        where = ("--run", tmp_path / "run", "--out", tmp_path / "scores.csv", *flags(any_transport))
        done = typed(capsys, "judge", file, "--judge", JUDGES[name], "--base-url", url, *where)
        shown = {"stdout": done.out, "stderr": done.err, "logs": logs()} | files_below(tmp_path / "run")
    assert done.code == code, done.err
    assert script.counts.requests > 0
    assert any(path.endswith(".sqlite") for path in shown)
    shown |= looked_into(capsys, tmp_path) | files_below(tmp_path)
    assert leaks(shown) == []


def test_a_defect_shows_no_secret(tmp_path, capsys, logs, monkeypatch, any_transport):
    """The traceback of an internal error, with a request under way, holds no secret."""
    real = SdkClient.send

    async def send(self, request):
        await real(self, request)
        raise Raising("a defect")

    monkeypatch.setattr(SdkClient, "send", send)
    file = pool_file(tmp_path / "pools.jsonl", {"p": ["an answer", "another"]})
    with ScriptedServer(Script()).in_thread() as server:
        where = ("--run", tmp_path / "run", "--out", tmp_path / "scores.csv", *flags(any_transport))
        done = typed(capsys, "judge", file, "--judge", OPENAI, "--base-url", address(server.url, "openai"), *where)
    assert done.code == 70
    assert "Raising" in done.err
    assert leaks({"stdout": done.out, "stderr": done.err, "logs": logs()} | files_below(tmp_path)) == []


ENDINGS = {
    "answered": Script(),
    "answered and repeated": Telling(),
    "throttled": Echo(429),
    "overloaded": Echo(500),
    "denied": Echo(401),
    "rejected": Echo(400),
    "timeout": Script(faults=Faults(slow=1.0)),
    "malformed": Script(faults=Faults(malformed=1.0)),
    "cut": Script(faults=Faults(cut=1.0)),
    "defect": None,
}


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize("ending", ENDINGS)
def test_an_engine_shows_no_secret(tmp_path, capsys, logs, name, ending):
    """However its calls end, no object of an engine has a secret in its repr, and no error in its traceback."""
    script = ENDINGS[ending]
    connection = in_memory(script, timeout=5.0)
    if script is None:
        connection = type(connection)(transport=Broken())
    judge = judge_from_spec(JUDGES[name], base_url=address("http://127.0.0.1:9", name))
    shown = {"judge": repr(judge)}

    async def run():
        engine = Engine(tmp_path / "run", attempts=2, connection=connection)
        try:
            found = [one async for one in judge_pools(pools(8), [judge], engine)]
            shown["judgments"] = repr(found)
            shown["denial"] = f"{engine.denial()} {engine.denial()!r}"
        except Exception as error:  # noqa: BLE001 - what it says is the point
            shown["error"] = "".join(traceback.format_exception(error, chain=True)) + repr(error) + repr(vars(error))
        ask = judge.asks("a prompt", ["a candidate"])[0]
        endpoint = engine.endpoint(ask)
        parts = [*vars(endpoint).values(), endpoint.provider, provider(name), ask, ask.model]
        parts += [engine, engine.ledger, engine.spending, engine.totals, engine.terms, endpoint, endpoint.closed]
        parts += [line.client for line in endpoint._lines]
        shown["parts"] = "\n".join(map(repr, parts))
        shown["live ledger"] = b"".join(files_below(tmp_path).values())
        await engine.aclose()

    run_virtual(run())
    shown |= {"logs": logs()} | looked_into(capsys, tmp_path) | files_below(tmp_path)
    assert leaks(shown) == []
    assert ending != "denied" or "CallError" in shown["denial"]

"""A user's own client of each class sends the calls: once an attempt, in its own way, and it is left open."""

from __future__ import annotations

import asyncio
import contextlib
import json
from urllib.parse import unquote

import pytest

import bonwise as bw
from bonwise.calls.ledger.ledger import Ledger
from bonwise.calls.providers.anthropic import API_VERSION as ANTHROPIC_VERSION
from bonwise.errors import CallError
from bonwise.testing import Faults, Script, ScriptedServer
from calls.clients.makers import API_VERSION, REGION, SIGNS, Maker
from calls.clients.recorder import recording

POOL = ("Name a colour", ["red", "a long answer that names none"])


def chosen(maker, url, *, model="", pool=POOL, **settings):
    """Select once by a judge with a client, as users of its class do, who then close the client."""

    async def selected():
        client = maker(url)
        try:
            return await bw.aselect(*pool, judge=bw.Pointwise(model or maker.model, client=client), **settings)
        finally:
            assert not client.is_closed()
            await client.close()

    if maker.asynchronous:
        return asyncio.run(selected())
    with maker(url) as client:
        pick = bw.select(*pool, judge=bw.Pointwise(model or maker.model, client=client), **settings)
        assert not client.is_closed()
        return pick


async def closed(maker, client):
    """Close a client, as its user does."""
    await client.close() if maker.asynchronous else client.close()


def test_a_client_sends_the_calls(maker):
    """Each judge asks by the client that it holds, and the client is the user's afterwards as before."""
    script = Script()

    async def main(url):
        client = maker(url)
        judge = bw.Pointwise(maker.model, client=client)
        pick = await bw.aselect(*POOL, judge=judge)
        assert (script.counts.requests, script.counts.answers, pick.calls) == (2, 2, 2)
        assert judge.client is client
        assert client.max_retries == 5
        assert not client.is_closed()
        again = await bw.aselect(*POOL, judge=judge)
        assert (again.best_id, again.scores) == (pick.best_id, pick.scores)
        assert script.counts.requests == 4
        await closed(maker, client)

    with ScriptedServer(script).in_thread() as server:
        asyncio.run(main(server.url))


def test_the_client_still_works_for_its_user(maker):
    """Its connections are open after a selection: the user's own call needs no new one."""

    async def main(recorder):
        client = maker(recorder.url)
        async with bw.Selector(bw.Pointwise(maker.model, client=client), max_concurrency=1) as selector:
            await selector.aselect(*POOL)
        before = set(recorder.connections)
        messages = [{"role": "user", "content": "Name a colour"}]
        ask = client.chat.completions if maker.service == "openai" else client.messages
        said = ask.create(model=maker.model.partition("/")[2], messages=messages, max_tokens=16)
        said = await said if maker.asynchronous else said
        assert said.usage is not None
        assert recorder.connections == before
        await closed(maker, client)

    with recording(Script()) as recorder:
        asyncio.run(main(recorder))


def test_the_sdk_writes_the_request_for_its_cloud(maker):
    """Path, query, headers and body arrive as the SDK's own methods would send them."""
    model = f"{maker.model}@tuned:1"
    with recording(Script()) as recorder:
        chosen(maker, recorder.url, model=model, pool=("Name a colour", ["red", "blue"]))
    name = model.partition("/")[2]
    assert len(recorder.arrived) == 2
    for one in recorder.arrived:
        body = json.loads(one.content)
        path, _, query = one.target.partition("?")
        expected = {
            "openai": "/v1/chat/completions",
            "azure": f"/openai/deployments/{name}/chat/completions",
            "anthropic": "/v1/messages",
            "bedrock": f"/model/{name}/invoke",
            "vertex": f"/v1/projects/a-project/locations/{REGION}/publishers/anthropic/models/{name}:rawPredict",
        }[maker.cloud or maker.service]
        assert unquote(path) == expected
        assert query == (f"api-version={API_VERSION}" if maker.cloud == "azure" else "")
        assert ("model" in body) is (maker.cloud not in {"bedrock", "vertex"})
        assert ("anthropic_version" in body) is (maker.cloud in {"bedrock", "vertex"})
        assert one.headers.get("anthropic-version", "") == (
            ANTHROPIC_VERSION if maker.service == "anthropic" and not maker.cloud else ""
        )
        assert one.headers["x-stainless-retry-count"] == "0"
        assert ("x-amz-date" in one.headers) is (maker.cloud == "bedrock" and SIGNS)


def test_answers_in_the_ledger_need_no_client(maker, tmp_path):
    """What was asked by a client is answered from the ledger without one call, by another client like it, offline."""
    script = Script()
    with ScriptedServer(script).in_thread() as server:
        url = server.url
        pick = chosen(maker, url, ledger=tmp_path)
        paid = script.counts.requests
        chosen(maker, url, ledger=tmp_path)
        assert script.counts.requests == paid
    with Ledger.open(tmp_path) as ledger:
        rows = list(ledger.rows())
    assert [row.request_id[:4] for row in rows] == ["req_"] * 2
    # The server is gone, and a client that is closed would send nothing.
    unused = maker(url)
    asyncio.run(closed(maker, unused))
    with bw.Selector(bw.Pointwise(maker.model, client=unused), ledger=tmp_path, offline=True) as selector:
        replayed = selector.select(*POOL)
    assert (replayed.best_id, replayed.scores, replayed.calls) == (pick.best_id, pick.scores, 0)


class FailingOnce(Script):
    """Fails the first attempt at each body: the first body with 429, every other one with 500."""

    def _answered(self, request, now):
        kind = "throttled" if self.counts.requests == 1 else "server_error"
        self.faults = Faults(**{kind: 1.0}, retry_after=0.01) if request.attempt == 0 else Faults()
        return super()._answered(request, now)


def test_bonwise_alone_repeats_an_attempt(maker):
    """A failing server is asked as often as the engine says, and never by the SDK in between."""
    script = FailingOnce()
    with recording(script) as recorder:
        pick = chosen(maker, recorder.url)
    assert (len(recorder.arrived), script.counts.answers, pick.calls) == (4, 2, 2)
    assert script.counts.faults == {"throttled": 1, "server_error": 1}
    assert {one.headers["x-stainless-retry-count"] for one in recorder.arrived} == {"0"}


def test_a_refused_client_is_said_once(maker):
    """Where its key is wrong nothing more is sent, and the error names the model and the server."""
    script = Script(keys={"sk-another-key"})
    with ScriptedServer(script).in_thread() as server:
        with pytest.raises(CallError, match=r"the server answered HTTP 40[13]") as caught:
            chosen(maker, server.url)
        assert script.counts.requests <= 2
    assert caught.value.__cause__ is None


def test_a_server_that_is_not_there(maker):
    """A broken connection is a transport failure like any other: asked again until the deadline."""
    pick = chosen(maker, "http://127.0.0.1:9", deadline=0.3, on_failure="owe")
    assert pick.best is None
    assert pick.decided_by == "owed"


@pytest.mark.parametrize(
    "judge", [bw.Pointwise, bw.Interval, bw.Pairwise, bw.Probability, bw.Logprob], ids=lambda kind: kind.kind
)
def test_every_judge_takes_a_client(judge):
    """All kinds that ask a model have the setting, alone and inside of wrappers."""
    maker, script = Maker("AzureOpenAI"), Script()
    with recording(script) as recorder, contextlib.closing(maker(recorder.url)) as client:
        inner = judge("openai/gpt-5-mini", client=client)
        for made in (inner, bw.Resampled(inner, draws=2), bw.Quantized(inner, bins=5)):
            before = len(recorder.arrived)
            with bw.Selector(made) as selector:
                selector.select(*POOL)
            assert len(recorder.arrived) > before
        router = bw.Router(strong=inner, signal="margin", share=1.0)
        before = len(recorder.arrived)
        bw.select(*POOL, judge=lambda _, text: len(text), router=router)
        assert len(recorder.arrived) > before
    assert all("/openai/deployments/gpt-5-mini/" in one.target for one in recorder.arrived)

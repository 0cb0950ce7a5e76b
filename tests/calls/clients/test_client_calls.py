"""A user's own client sends the calls, in event loops and in threads; nothing waits for ever."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import textwrap
import threading
import time
from urllib.parse import unquote

import pytest

import bonwise as bw
from bonwise.calls.ledger.ledger import Ledger
from bonwise.calls.providers.anthropic import API_VERSION as ANTHROPIC_VERSION
from bonwise.errors import CallError, UsageError
from bonwise.testing import Faults, Script, ScriptedServer
from calls.clients.makers import API_VERSION, REGION, SIGNS, Maker
from calls.clients.recorder import recording

# A user's own client of each class sends the calls: once an attempt, in its own way, and it is left open.


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
        before, idle_since = set(recorder.connections), time.monotonic()
        messages = [{"role": "user", "content": "Name a colour"}]
        ask = client.chat.completions if maker.service == "openai" else client.messages
        said = ask.create(model=maker.model.partition("/")[2], messages=messages, max_tokens=16)
        said = await said if maker.asynchronous else said
        assert said.usage is not None
        # The SDKs' own libraries close what was idle for 5 s, which a stalled machine can make of any pause.
        assert recorder.connections == before or time.monotonic() - idle_since > 4
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


# An asynchronous client works in one event loop, a synchronous one in threads; nothing waits for ever.


OTHER = ("Name a day", ["Monday", "a long answer that names none"])
ASYNC, SYNC = Maker("AsyncOpenAI"), Maker("OpenAI")
SYNCHRONOUS = r"client= is asynchronous \(AsyncOpenAI\), and this call is synchronous \(pass OpenAI instead, or await"
ANOTHER_LOOP = r"first used in another event loop \(make a client and a judge in each event loop, or pass OpenAI"


def judge_of(client):
    """Return a judge with a client."""
    return bw.Pointwise("openai/gpt-5-mini", client=client)


@pytest.fixture
def script():
    """Return a script that answers."""
    return Script()


@pytest.fixture
def server(script):
    """Serve the script."""
    with ScriptedServer(script).in_thread() as serving:
        yield serving


CALLS = {
    "select": lambda judge, _: bw.select(*POOL, judge=judge),
    "select with a ledger": lambda judge, folder: bw.select(*POOL, judge=judge, ledger=folder),
    "select with a deadline": lambda judge, _: bw.select(*POOL, judge=judge, deadline=5.0, on_failure="owe"),
    "Selector": lambda judge, _: bw.Selector(judge).select(*POOL),
    "select_many": lambda judge, _: list(bw.Selector(judge).select_many([POOL])),
    "judge": lambda judge, _: judge.judge(*POOL),
    "router": lambda judge, _: bw.select(
        *POOL,
        judge=lambda prompt, text: len(text) + len(prompt),
        router=bw.Router(strong=judge, signal="margin", share=1.0),
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_synchronous_calls_refuse_an_asynchronous_client(script, server, tmp_path, call):
    """One clear error, at once, and nothing is sent; also where the caller is in the client's own loop."""

    async def main():
        client = ASYNC(server.url)
        judge = judge_of(client)
        before = time.perf_counter()
        with pytest.raises(UsageError, match=SYNCHRONOUS):
            CALLS[call](judge, tmp_path)
        # The same where the loop, which stands still now, has used the client already.
        await bw.aselect(*POOL, judge=judge)
        sent = script.counts.requests
        with pytest.raises(UsageError, match=SYNCHRONOUS):
            CALLS[call](judge, tmp_path)
        assert time.perf_counter() - before < 20
        assert script.counts.requests == sent == 2
        await client.close()

    asyncio.run(main())
    with pytest.raises(UsageError, match=SYNCHRONOUS):
        CALLS[call](judge_of(ASYNC(server.url)), tmp_path)
    assert script.counts.requests == 2


def test_a_refused_call_is_not_taken_for_a_lost_one(server, tmp_path):
    """The ledger keeps nothing of it, and the limit on calls is not touched."""

    async def main():
        client = ASYNC(server.url)
        with bw.Selector(judge_of(client), ledger=tmp_path, max_calls=2) as selector:
            for _ in range(3):
                with pytest.raises(UsageError, match=SYNCHRONOUS):
                    selector.select(*POOL)
        pick = await bw.aselect(*POOL, judge=judge_of(client), ledger=tmp_path)
        assert pick.calls == 2
        await client.close()

    asyncio.run(main())
    with Ledger.open(tmp_path) as ledger:
        (tally,) = ledger.stats().models
    assert (tally.calls, tally.lost_attempts) == ({"answered": 2}, 0)


def test_a_second_loop_refuses_the_client(script, server):
    """As with the SDK itself, a client does not outlive its loop; here that is said."""
    client = ASYNC(server.url)
    judge = judge_of(client)

    async def first():
        pick = await bw.aselect(*POOL, judge=judge)
        await client._client.aclose()  # its connections; the client itself is none the wiser
        return pick

    assert asyncio.run(first()).best is not None
    for one in (judge, judge_of(client), judge_of(client.with_options(timeout=3))):
        with pytest.raises(UsageError, match=ANOTHER_LOOP):
            asyncio.run(bw.aselect(*OTHER, judge=one))
    assert script.counts.requests == 2


def test_another_loop_that_runs_refuses_the_client(script, server):
    """Also while the first loop is alive: two threads with a loop each need a client each."""

    async def main():
        client = ASYNC(server.url)
        judge = judge_of(client)
        await bw.aselect(*POOL, judge=judge)
        with pytest.raises(UsageError, match=ANOTHER_LOOP):
            await asyncio.to_thread(lambda: asyncio.run(bw.aselect(*OTHER, judge=judge)))
        assert (await bw.aselect(*OTHER, judge=judge)).calls == 2
        await client.close()

    asyncio.run(main())
    assert script.counts.requests == 4


def test_a_selector_takes_other_threads_to_the_client_s_loop(script, server):
    """A selector that was begun in a loop serves other threads and loops there, and so does its client."""

    async def main():
        client = ASYNC(server.url)
        async with bw.Selector(judge_of(client)) as selector:
            assert (await asyncio.to_thread(selector.select, *POOL)).calls == 2
            there = asyncio.to_thread(lambda: asyncio.run(selector.aselect(*OTHER)))
            assert (await there).calls == 2
            with pytest.raises(UsageError, match=SYNCHRONOUS):
                selector.select(*POOL)
        assert not client.is_closed()
        await client.close()

    asyncio.run(main())
    assert script.counts.requests == 4


def test_the_ledger_answers_in_any_loop(script, server, tmp_path):
    """What needs no sending is answered wherever it is asked, synchronously as well."""
    client = ASYNC(server.url)
    judge = judge_of(client)

    async def main():
        pick = await bw.aselect(*POOL, judge=judge, ledger=tmp_path)
        await client.close()
        return pick

    pick = asyncio.run(main())
    assert bw.select(*POOL, judge=judge, ledger=tmp_path).scores == pick.scores
    assert asyncio.run(bw.aselect(*POOL, judge=judge, ledger=tmp_path)).scores == pick.scores
    assert script.counts.requests == 2


def test_many_pools_with_either_client(script, server):
    """`aselect_many` and `select_many` go by the client too."""
    pools = [(f"Prompt {number}", ["one", "another one"]) for number in range(10)]

    async def main():
        client = ASYNC(server.url)
        async with bw.Selector(judge_of(client)) as selector:
            found = [pick async for pick in selector.aselect_many(pools)]
        await client.close()
        return found

    found = asyncio.run(main())
    with SYNC(server.url) as client, bw.Selector(judge_of(client)) as selector:
        assert {pick.prompt_id: pick.scores for pick in selector.select_many(pools)} == {
            pick.prompt_id: pick.scores for pick in found
        }
        assert not client.is_closed()
    assert script.counts.requests == 40


def test_a_synchronous_client_works_everywhere(script, server):
    """In synchronous code, in asynchronous code, in a loop that stands still, and in several loops and threads."""
    with SYNC(server.url) as client:
        judge = judge_of(client)

        async def main():
            found = [bw.select(*POOL, judge=judge), await bw.aselect(*POOL, judge=judge)]
            found.append(await asyncio.to_thread(bw.select, *POOL, judge=judge))
            return found

        found = [bw.select(*POOL, judge=judge), *asyncio.run(main()), *asyncio.run(main())]
        assert len({pick.best_id for pick in found}) == 1
        assert [verdict.value for verdict in judge.judge(*POOL)] == list(found[0].scores)
    assert script.counts.requests == 16


def test_synchronous_calls_run_side_by_side():
    """As many at once as the engine allows, more than an event loop's own threads."""
    script = Script(latency=0.3)
    texts = [f"answer {number}" for number in range(24)]
    with (
        recording(script) as recorder,
        SYNC(recorder.url) as client,
        bw.Selector(judge_of(client), max_concurrency=24) as selector,
    ):
        # The pace grows from a few calls at once.
        for number in range(3):
            selector.select(f"Prompt {number}", texts)
    assert script.counts.peak > 12


@pytest.mark.parametrize("maker", [SYNC, ASYNC], ids=lambda maker: maker.kind)
def test_a_deadline_cuts_off_a_slow_server(maker):
    """The pick is made in time from nothing, and the time-out of the request itself is shortened to the deadline."""
    script = Script(latency=30.0)

    async def main(url):
        client = maker(url)
        before = time.perf_counter()
        pick = await bw.aselect(*POOL, judge=judge_of(client), deadline=0.4, on_failure="first")
        assert time.perf_counter() - before < 10
        assert pick.decided_by == "first"
        if not maker.asynchronous:
            await asyncio.to_thread(_ended, "bonwise-client")
        assert not client.is_closed()
        await client.close() if maker.asynchronous else client.close()

    with ScriptedServer(script).in_thread() as server:
        asyncio.run(main(server.url))


def _ended(name, within=10.0):
    """Wait for the end of the threads of that name."""
    until = time.perf_counter() + within
    while any(thread.name == name for thread in threading.enumerate()):
        assert time.perf_counter() < until, "a request goes on behind the deadline"
        time.sleep(0.02)


@pytest.mark.parametrize("maker", [SYNC, ASYNC], ids=lambda maker: maker.kind)
def test_who_goes_away_leaves_the_client_usable(maker):
    """A cancelled selection does not close or block the client."""
    script = Script(latency=0.3)

    async def main(url):
        client = maker(url)
        judge = judge_of(client)
        task = asyncio.create_task(bw.aselect(*POOL, judge=judge))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await bw.aselect(*OTHER, judge=judge)).calls == 2
        await client.close() if maker.asynchronous else client.close()

    with ScriptedServer(script).in_thread() as server:
        asyncio.run(main(server.url))


def test_a_program_does_not_wait_for_a_request_that_hangs():
    """A synchronous request whose selection is over keeps no program from ending."""
    code = """
        import sys, openai, bonwise as bw
        client = openai.OpenAI(api_key="none", base_url=sys.argv[1] + "/v1", timeout=60)
        with bw.Selector(bw.Pointwise("openai/m", client=client), on_failure="first") as selector:
            import threading
            worker = threading.Thread(target=lambda: selector.close(wait=False))
            try:
                threading.Timer(0.5, worker.start).start()
                selector.select("p", ["a", "b"])
            except bw.errors.UsageError as error:
                print(error.message)
    """
    with ScriptedServer(Script(latency=50.0)).in_thread() as server:
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code), server.url],
            capture_output=True, text=True, check=False, timeout=40,
        )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "the selector was closed before the selection was made\n"), (
        done.stderr
    )


def test_a_closed_client_is_said():
    """A client that its user has closed sends nothing, and the error says so."""
    client = SYNC("http://127.0.0.1:9")
    client.close()
    with pytest.raises(bw.errors.CallError, match="the OpenAI given as client= is closed"):
        bw.select(*POOL, judge=judge_of(client))

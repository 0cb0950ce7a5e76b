"""An asynchronous client works in one event loop, a synchronous one in threads; nothing waits for ever."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import bonwise as bw
from bonwise.calls.ledger.ledger import Ledger
from bonwise.errors import UsageError
from bonwise.testing import Script, ScriptedServer
from calls.clients.makers import Maker
from calls.clients.recorder import recording

POOL = ("Name a colour", ["red", "a long answer that names none"])
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

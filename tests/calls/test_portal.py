"""The portal between threads and event loops, also where it is misused."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import bonwise as bw
from bonwise.calls.ask import Ask, Model
from bonwise.calls.engine import Engine
from bonwise.calls.portal import Portal
from bonwise.calls.providers.protocol import Connection
from bonwise.errors import UsageError
from bonwise.testing import Script as ScriptOfMisuse
from bonwise.testing import ScriptedServer
from bonwise.testing.script import Script
from bonwise.testing.transport import FakeTransport

OWN = Model("openai", "m", "http://scripted/v1")


def text(choice):
    """Read an answer as it stands."""
    return choice.text


def portal_to(script, **settings):
    """Return a portal to an engine in front of a script."""
    return Portal(lambda: Engine(connection=Connection(transport=FakeTransport(script)), **settings))


async def answered(engine, words):
    """Ask, and return what was said and where."""
    found = await engine.ask(Ask(OWN, "Judge.", words, text))
    return found.answers[0].reading, threading.current_thread().name


@pytest.fixture
def script():
    """Return a service that says the question backwards."""
    return Script(lambda request: request.user[::-1])


def test_synchronous_code_asks_through_a_portal(script):
    """Work runs in the portal's own thread, with one engine for all of it, and its result comes back."""
    portal = portal_to(script)
    try:
        assert portal.run(answered, "abc") == ("cba", "bonwise-portal")
        assert portal.run(answered, "xyz") == ("zyx", "bonwise-portal")
        first, second = (portal.run(engine_of) for _ in range(2))
        assert first is second
    finally:
        portal.close()
    assert script.counts.requests == 2


async def engine_of(engine):
    """Return the engine."""
    return engine


def test_a_portal_works_inside_a_running_loop(script):
    """Synchronous code that was called by a running loop, as in a notebook, can ask all the same."""
    portal = portal_to(script)

    async def main():
        return portal.run(answered, "abc")[0]

    try:
        assert asyncio.run(main()) == "cba"
    finally:
        portal.close()


def test_many_threads_share_a_portal(tmp_path, script):
    """Threads that ask the same at once share one call."""
    portal = portal_to(Script(script.answer, latency=0.05), ledger=tmp_path)
    try:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _: portal.run(answered, "abc")[0], range(8)))
        assert found == ["cba"] * 8
        assert portal.run(engine_of).totals.bill.calls == 1
    finally:
        portal.close()


def test_an_error_comes_back_and_the_portal_lives_on(script):
    """What the work raises is raised where it was called, and the next work runs."""
    portal = portal_to(script)

    async def failing(_engine):
        raise ValueError("no")

    try:
        with pytest.raises(ValueError, match="no"):
            portal.run(failing)
        assert portal.run(answered, "abc")[0] == "cba"
    finally:
        portal.close()


def test_an_engine_that_cannot_be_made_is_tried_again(script):
    """An engine that failed to be made raises there, and is made at the next call."""
    tries = []

    def make():
        tries.append(1)
        if len(tries) == 1:
            raise OSError("not yet")
        return Engine(connection=Connection(transport=FakeTransport(script)))

    portal = Portal(make)
    try:
        with pytest.raises(OSError, match="not yet"):
            portal.run(answered, "abc")
        assert portal.run(answered, "abc")[0] == "cba"
    finally:
        portal.close()


def test_closing_waits_for_calls_on_the_wire(tmp_path, script):
    """A portal that is closed while a call is on the wire keeps its answer, and its thread ends."""
    slow = Script(script.answer, latency=0.3)
    portal = portal_to(slow, ledger=tmp_path)

    async def launched(engine):
        asking = asyncio.create_task(answered(engine, "abc"))
        while not slow.counts.in_flight:  # noqa: ASYNC110 - a script tells nobody that a request has come
            await asyncio.sleep(0.001)
        asking.cancel()

    portal.run(launched)
    portal.close()
    portal.close()
    assert not any(one.name == "bonwise-portal" and one is portal._thread for one in threading.enumerate())
    again = portal_to(slow, ledger=tmp_path)
    try:
        assert again.run(answered, "abc")[0] == "cba"
    finally:
        again.close()
    assert slow.counts.requests == 1


FORKED = """
import os, sys
import bonwise as bw
judge = bw.Pointwise("openai/m", base_url=sys.argv[1])
print(bw.select("p", ["a", "b"], judge=judge).best_id, flush=True)
child = os.fork()
if child == 0:
    print(bw.select("p", ["a", "b"], judge=judge).best_id, flush=True)
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

LEAVING = """
import sys, threading, time, urllib.request
import bonwise as bw
judge = bw.Pointwise("openai/m", base_url=sys.argv[1])
def ask():
    try:
        judge.judge("p", ["a"])
    except bw.CallError:
        pass
threading.Thread(target=ask, daemon=True).start()
while b'"requests": 1' not in urllib.request.urlopen(sys.argv[2]).read():
    time.sleep(0.05)
"""


def run(code, *arguments):
    """Run code in a process of its own, within a minute."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "BONWISE_"))}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=environment,
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_asks_by_a_portal_of_its_own():
    """After a fork the child judges as its parent did, instead of waiting for a thread that it does not have."""
    with ScriptedServer(ScriptOfMisuse()).in_thread() as server:
        done = run(FORKED, f"{server.url}/v1")
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.split()
    assert first == second


def test_prices_that_are_named_later_count(tmp_path, monkeypatch):
    """A notebook names its file of prices after the first pick, or another one: the next pick has a cost."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    costs = {}
    with ScriptedServer(ScriptOfMisuse()).in_thread() as server:
        judge = bw.Pointwise("openai/ours", base_url=f"{server.url}/v1")
        for price in (None, 1, 2, None):
            monkeypatch.delenv("BONWISE_PRICES", raising=False)
            if price is not None:
                path = tmp_path / f"{price}.toml"
                entry = f'provider = "openai"\nbase_url = "{server.url}/v1"\nmodels = ["*"]'
                path.write_text(f"[[price]]\n{entry}\ninput = {price}\noutput = {price}\n")
                monkeypatch.setenv("BONWISE_PRICES", str(path))
            costs[price] = bw.select("Which?", ["one", "two"], judge=judge).cost
    assert not costs[None]
    assert costs[2] == pytest.approx(2 * costs[1])
    assert costs[1] > 0


def test_a_program_that_ends_waits_for_no_answer_that_nobody_keeps():
    """At the end of a program calls on the wire are left: their answers would be thrown away."""
    with ScriptedServer(ScriptOfMisuse(latency=300.0)).in_thread() as server:
        done = run(LEAVING, f"{server.url}/v1", f"{server.url}/stats")  # which fails where it takes a minute
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_an_asynchronous_judge_that_asks_synchronously_is_told():
    """A judge that would wait for itself is refused with a remedy, instead of hanging."""
    inner = bw.Pointwise("openai/m", base_url="http://127.0.0.1:9/v1")

    async def judge(prompt, text):
        return inner.judge(prompt, [text])[0].value

    with pytest.raises(UsageError, match="wait for ever"):
        bw.select("p", ["a", "b"], judge=judge)

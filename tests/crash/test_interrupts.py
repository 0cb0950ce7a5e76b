"""Ctrl-C at any moment of a command, and workers that end: no traceback, and what was paid is found again."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sqlite3
import sys
import time
from contextlib import closing
from importlib.util import find_spec

import pytest

from bonwise.calls.ask import Ask, Model
from bonwise.calls.engine import Engine
from bonwise.calls.ledger.ledger import Ledger
from bonwise.calls.providers.protocol import Connection
from bonwise.testing.faults import Faults
from bonwise.testing.script import Script
from bonwise.testing.server import ScriptedServer
from bonwise.testing.transport import FakeTransport
from crash.runs import JUDGE, Trap, committed, done, environment, judging, pool_file, start
from processes import ended, started

# What nobody waits for any more is kept; three workers on one ledger, one of them killed.


# What an engine has received is kept, even when nobody waits for it any more.


ASK = Ask(Model("openai", "m", "http://127.0.0.1:9/v1"), "Judge.", "An answer.", read=str)


async def until(condition):
    """Wait until something is true."""
    while not condition():  # noqa: ASYNC110 - a script tells nobody
        await asyncio.sleep(0.01)


def test_an_answer_that_is_being_written_is_kept(tmp_path):
    """A call that is abandoned while the ledger writes its answer stands as answered, not as failed."""
    script = Script(latency=0.2)

    async def main():
        async with Engine(tmp_path, connection=Connection(transport=FakeTransport(script))) as engine:
            asking = asyncio.create_task(engine.ask(ASK))
            await until(lambda: script.counts.in_flight)
            with closing(sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                await until(lambda: script.counts.delivered)
                for _ in range(100):  # what has come goes to the ledger without waiting for anything
                    await asyncio.sleep(0)
                engine.abandon("leaving")
                await asyncio.sleep(0)
                other.execute("ROLLBACK")
            return await asking

    asyncio.run(main())
    with Ledger.open(tmp_path) as ledger:
        assert ledger.stats().calls == {"answered": 1}
        assert ledger.stats().samples == 1


def test_a_call_on_the_wire_that_is_abandoned_may_be_billed(tmp_path):
    """Leaving a call on the wire is counted as a lost attempt, in the ledger and against the limits."""
    script = Script(latency=3600.0)

    async def main():
        async with Engine(tmp_path, connection=Connection(transport=FakeTransport(script))) as engine:
            asking = asyncio.create_task(engine.ask(ASK))
            await until(lambda: script.counts.in_flight)
            engine.abandon("leaving")
            found = await asking
            return found, engine.spending.possible_tokens

    found, possible = asyncio.run(main())
    assert found.answers[0].reading.owed
    assert possible > 0
    with Ledger.open(tmp_path) as ledger:
        assert ledger.stats().calls == {"failed": 1}
        assert ledger.stats().lost_attempts == 1


# Three workers on one ledger, before a server that fails now and then; one of them is killed.


AT_ONCE = 16
KILLED = -9
TENTH = Faults(
    throttled=0.02,
    server_error=0.02,
    overloaded=0.02,
    cut=0.02,
    malformed=0.02,
    retry_after=0.02,
    with_retry_after=1.0,
)


@pytest.mark.parametrize("prompts", [40, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)]
)
def test_the_others_go_on(tmp_path, prompts, seed):
    """Right scores, nothing asked again that was on the disk, a sound ledger; a new worker finds all done."""
    calls = 4 * prompts
    pool_file(tmp_path / "pools.jsonl", prompts)
    with ScriptedServer(Script()).in_thread() as server:
        done(judging(tmp_path, server.url, "--run", str(tmp_path / "alone"), out="alone.csv"))
    trap = Trap()
    script = Script(latency=0.03, faults=TENTH, seed=seed, on_paid=trap)
    with ScriptedServer(script).in_thread() as server:
        outs = ("one.csv", "two.csv", "three.csv")
        with trap.being_set():
            workers = [
                start(judging(tmp_path, server.url, "--max-concurrency", str(AT_ONCE), out=out)) for out in outs
            ]
            trap.set((calls // 2, 0.0, workers[0].kill))
        ends = [ended(worker) for worker in workers]
        done(judging(tmp_path, server.url, out="new.csv"))
    assert trap.sprung
    assert [end[0] for end in ends] == [KILLED, 0, 0], ends
    scores = (tmp_path / "alone.csv").read_bytes()
    assert {(tmp_path / out).read_bytes() for out in (*outs[1:], "new.csv")} == {scores}
    assert script.counts.faults.total() > 0
    # Handed over and asked for again: what could not be read, and what the killed worker had on the wire.
    again = sum(times - 1 for times in script.counts.delivered.values())
    assert again - script.counts.faults["malformed"] <= AT_ONCE
    with Ledger.open(tmp_path / "run") as ledger:
        found = ledger.check()
        states = ledger.stats().calls
    assert not found.damage
    assert states["answered"] == calls
    assert set(states) <= {"answered", "unknown"}


# Ctrl-C at any moment of a command: no traceback, whole files or none, and what was paid is found again.


PROMPTS, CANDIDATES = 6, 3
POINTS = 25
"""Moments for each command; together a hundred."""
EVERY_DAY = 2
"""Of these, those of every run of the tests."""
INTERRUPTED, KILLED_OF_INTERRUPTS = 130, -signal.SIGINT
WITHIN = {"judge": 2.5, "select": 2.5, "audit": 2.0, "serve": 3.0}
"""Seconds from the begin in which the moments lie, on an idle machine, until the command has ended or answers."""

BEGUN = """
import signal, sys
# A shell lets what it begins in the background ignore the key.
signal.signal(signal.SIGINT, signal.default_int_handler)
from bonwise.cli.entry import main
print("begun", file=sys.stderr, flush=True)
main()
"""
NEEDS_AUDIT = pytest.mark.skipif(find_spec("pyarrow") is None, reason="bonwise[audit] is not installed")
MOMENTS = [
    pytest.param(command, seed, marks=[pytest.mark.slow] * (seed >= EVERY_DAY) + [NEEDS_AUDIT] * (command == "audit"))
    for command in WITHIN
    for seed in range(POINTS)
]


@pytest.fixture
def folder(tmp_path):
    """Return a folder with pools, scores and settings of a server."""
    pool_file(tmp_path / "pools.jsonl", PROMPTS, CANDIDATES)
    draw = random.Random(1)  # noqa: S311 - scores, no secret
    rows = ["prompt_id,candidate,judge_score,oracle_label"]
    rows += [f"p{p},c{c},{draw.random():.3f},{draw.random():.3f}" for p in range(40) for c in range(4)]
    (tmp_path / "table.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


def command_of(name, folder, url):
    """Return the arguments of a command whose output is in the folder."""
    asking = ["--judge", JUDGE, "--base-url", f"{url}/v1", "--run", str(folder / "run"), "--max-concurrency", "4"]
    if name == "judge":
        return ["judge", str(folder / "pools.jsonl"), *asking, "--out", str(folder / "out")]
    if name == "select":
        return ["select", str(folder / "pools.jsonl"), *asking]
    if name == "audit":
        return ["audit", str(folder / "table.csv"), "--json", str(folder / "out")]
    settings = '[models.m]\nupstream = "openai/m"\njudge = "local:length"\n'
    (folder / "serve.toml").write_text(settings)
    return ["serve", "--config", str(folder / "serve.toml"), "--port", "0", "--run", str(folder / "run")]


def begun(arguments):
    """Start a command and return it as soon as it has begun: before that it is Python that is interrupted."""
    variables = environment(OPENAI_API_KEY="sk-of-nobody", PYTHONPATH=os.environ.get("PYTHONPATH", ""))
    running = started([sys.executable, "-c", BEGUN, *arguments], env=variables)
    assert running.stderr.readline() == b"begun\n"
    return running


def is_whole(name, text):
    """Tell whether an output is what the command writes when it is not interrupted."""
    if name == "judge":
        return text.count("\n") == PROMPTS * CANDIDATES + 1 and text.endswith("\n")
    return json.loads(text)["schema"] in {"bonwise.audit/1", "bonwise.error/1"}


@pytest.mark.parametrize(("name", "seed"), MOMENTS)
def test_ctrl_c_at_any_moment(folder, name, seed):
    """The exit code is 130, or the command has ended; and the same command finds what was paid."""
    script = Script(latency=0.05)
    with ScriptedServer(script).in_thread() as server:
        arguments = command_of(name, folder, server.url)
        running = begun(arguments)
        time.sleep(random.Random(f"{name} {seed}").uniform(0.0, WITHIN[name]))  # noqa: S311 - a moment, no secret
        running.send_signal(signal.SIGINT)
        code, out, said = ended(running)
        assert "Traceback" not in said
        assert "Exception ignored" not in said
        assert code in {INTERRUPTED, KILLED_OF_INTERRUPTS, 0}, said
        assert code != INTERRUPTED or "interrupted" in said
        lines = out.splitlines() if name == "select" else []
        assert all(json.loads(line)["prompt_id"] for line in lines)
        assert [one.name for one in folder.iterdir() if one.name.startswith(".bonwise")] == []
        # Judge writes what it has, with blank scores where an answer is pending.
        assert not (folder / "out").exists() or is_whole(name, (folder / "out").read_text())
        if name in {"judge", "select"}:
            kept = committed(folder / "run") if (folder / "run" / "ledger.sqlite").exists() else set()
            again, out, said = ended(begun(arguments))
            assert again == 0, said
            assert kept.isdisjoint(script.counts.paid_again)

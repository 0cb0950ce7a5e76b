"""Ctrl-C keeps what is on the wire, and says how to go on."""

from __future__ import annotations

import re
import shlex
import signal

import pytest

from bonwise.calls.ledger.ledger import Ledger
from bonwise.testing.script import Script
from bonwise.testing.server import ScriptedServer
from crash.runs import Trap, done, judging, pool_file, start
from processes import ended

PROMPTS = 25
CALLS = 4 * PROMPTS
INTERRUPTED = 130


@pytest.fixture
def folder(tmp_path):
    """Return a folder with pools."""
    pool_file(tmp_path / "pools.jsonl", PROMPTS)
    return tmp_path


def interrupted(script, folder, url, *, after=20, then=None, sent=signal.SIGINT):
    """Run the command, send it a signal after some paid requests, do something once it has heard; return its end."""
    with script.on_paid.being_set():
        running = start(judging(folder, url, "--max-concurrency", "8"))
        script.on_paid.set((after, 0.0, lambda: running.send_signal(sent)))
    said = ""
    if then is not None:
        said = running.stderr.readline().decode()
        then(running)
    code, out, err = ended(running)
    return code, out, said + err


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM], ids=lambda sent: sent.name)
def test_an_interrupted_run_keeps_what_is_on_the_wire(folder, sent):
    """Told to end, it waits for calls on the wire; the command it prints asks for the rest, paying nothing twice."""
    script = Script(latency=0.2, on_paid=Trap())
    with ScriptedServer(script).in_thread() as server:
        code, _, said = interrupted(script, folder, server.url, sent=sent)
        paid = script.counts.answers
        assert code == INTERRUPTED, said
        assert 20 <= paid < CALLS
        with Ledger.open(folder / "run") as ledger:
            assert ledger.stats().calls == {"answered": paid}
        printed = re.search(r"bonwise judge .*", said)
        assert printed, said
        _, *arguments = shlex.split(printed[0].rstrip(")"))
        assert arguments == judging(folder, server.url, "--max-concurrency", "8")
        done(arguments)
    assert script.counts.paid_again == {}
    assert script.counts.answers == CALLS
    assert (folder / "scores.csv").read_text().count("\n") == CALLS + 1


def test_an_interrupted_run_sends_nothing_new(folder):
    """A call on the wire that fails after Ctrl-C is owed; it is not sent again."""
    script = Script(latency=3600.0, on_paid=Trap())
    with ScriptedServer(script).in_thread() as server:

        def cut(_running):
            script.latency = 0.0
            for connection in list(server._connections):
                script.on_paid.loop.call_soon_threadsafe(connection.cancel)

        code, _, said = interrupted(script, folder, server.url, after=8, then=cut)
    assert code == INTERRUPTED, said
    assert script.counts.requests == 8
    with Ledger.open(folder / "run") as ledger:
        stats = ledger.stats()
    assert (stats.calls, stats.lost_attempts) == ({"failed": 8}, 8)


def test_a_second_interrupt_leaves_at_once(folder):
    """Ctrl-C twice does not wait for answers that take an hour; the calls on the wire are then unknown."""
    script = Script(latency=3600.0, on_paid=Trap())
    with ScriptedServer(script).in_thread() as server:
        code, _, said = interrupted(
            script, folder, server.url, after=8, then=lambda running: running.send_signal(signal.SIGINT)
        )
    assert code == INTERRUPTED, said
    assert "Traceback" not in said
    with Ledger.open(folder / "run") as ledger:
        stats = ledger.stats()
    assert stats.lost_attempts == script.counts.answers == 8

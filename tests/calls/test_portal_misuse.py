from __future__ import annotations

import os
import subprocess
import sys

import pytest

import bonwise as bw
from bonwise.errors import UsageError
from bonwise.testing import Script, ScriptedServer

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
    with ScriptedServer(Script()).in_thread() as server:
        done = run(FORKED, f"{server.url}/v1")
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.split()
    assert first == second


def test_a_program_that_ends_waits_for_no_answer_that_nobody_keeps():
    """At the end of a program calls on the wire are left: their answers would be thrown away."""
    with ScriptedServer(Script(latency=300.0)).in_thread() as server:
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

"""Ctrl-C at any moment of a command: no traceback, whole files or none, and what was paid is found again."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time

import pytest

from bonwise.testing.script import Script
from bonwise.testing.server import ScriptedServer
from crash.runs import JUDGE, committed, environment, pool_file
from processes import ended, started

PROMPTS, CANDIDATES = 6, 3
POINTS = 25
"""Moments for each command; together a hundred."""
EVERY_DAY = 2
"""Of these, those of every run of the tests."""
INTERRUPTED, KILLED = 130, -signal.SIGINT
WITHIN = {"judge": 2.5, "select": 2.5, "audit": 2.0, "serve": 3.0}
"""Seconds from the begin in which the moments lie, on an idle machine, until the command has ended or answers."""

BEGUN = "import sys; from bonwise.cli.entry import main; print('begun', file=sys.stderr, flush=True); main()"
MOMENTS = [
    pytest.param(command, seed, marks=[] if seed < EVERY_DAY else pytest.mark.slow)
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
        assert code in {INTERRUPTED, KILLED, 0}, said
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

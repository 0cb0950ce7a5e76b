"""Outputs that cannot be written, on a full disk or a closed stream: one line, and what was paid is kept."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from bonwise.testing import simulate
from bonwise.testing.script import Script
from bonwise.testing.server import ScriptedServer
from cli.commands import pool_file, typed
from cli.test_files import stocked

FULL = "/dev/full"
pytestmark = pytest.mark.skipif(not Path(FULL).exists(), reason="the system has no disk that is always full")

PLACES = {"a full disk": FULL, "a folder that takes no file": "/proc/out", "no folder": "absent/out"}
WRITING = [
    "audit scores.csv --json",
    "audit scores.csv --html",
    "audit scores.csv --markdown",
    "audit scores.csv --per-prompt",
    "audit scores.csv --fail-under recovery=0.1 --junit",
    "doctor scores.csv --json",
    "doctor scores.csv --fix",
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with scores, picks and pools."""
    monkeypatch.chdir(tmp_path)
    stocked(tmp_path)
    simulate("arena", n=200, seed=1).frame().drop(columns="oracle_label").to_csv("unlabelled.csv", index=False)
    pool_file("pools.jsonl", {"p": ["a", "bb"], "q": ["ccc", "d"]})
    return tmp_path


EVERY_DAY = {("audit scores.csv --json", place) for place in PLACES} | {
    (words, "a full disk") for words in WRITING if not words.endswith("--html")
}
"""The others draw figures, or fail in the same place."""
CASES = [
    pytest.param(words, place, marks=[] if (words, place) in EVERY_DAY else pytest.mark.slow)
    for words in WRITING
    for place in PLACES
]


@pytest.mark.parametrize(("words", "place"), CASES)
def test_an_output_that_cannot_be_written_is_one_line(capsys, folder, words, place):
    """It names the output; a second line says only that the error itself could not be written there."""
    files = {path.name for path in folder.iterdir()}
    done = typed(capsys, *words.split(), PLACES[place])
    lines = [line for line in done.err.splitlines() if "could not be written" not in line]
    assert done.code == 2
    assert len([line for line in lines if PLACES[place].split("/")[-2] in line and "(" in line]) == 1, done.err
    assert "Traceback" not in done.err
    assert {path.name for path in folder.iterdir()} - files <= {"runs"}


@pytest.fixture
def paid(tmp_path, monkeypatch):
    """Return a scripted server, and the words that judge or select by it in a run folder."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")
    pools = pool_file(tmp_path / "pools.jsonl", {f"p{at}": [f"a{at}", f"b{at}"] for at in range(10)})
    with ScriptedServer(Script()).in_thread() as server:
        asking = (
            "--judge",
            "pointwise:openai/gpt-5-mini",
            "--base-url",
            f"{server.url}/v1",
            "--run",
            str(tmp_path / "run"),
        )
        yield server.script, lambda command, *more: (command, str(pools), *asking, *more)


RUNS = {
    "scores on a full disk": ("judge", ("--out", FULL), None, 2),
    "scores on a full standard output": ("judge", (), "stdout", 2),
    "scores, and standard error full": ("judge", ("--out", "out.csv"), "stderr", 0),
    "picks on a full standard output": ("select", (), "stdout", 2),
}


@pytest.mark.parametrize("name", RUNS)
def test_what_was_paid_is_kept(capsys, paid, tmp_path, monkeypatch, name):
    """The run ends with its exit code and without a traceback; the same command asks for nothing twice."""
    script, words = paid
    command, more, broken, code = RUNS[name]
    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as patched:
        stream = Path(FULL).open("w", encoding="utf-8")  # noqa: SIM115 - closing it fails, as what it holds cannot be written
        if broken is not None:
            patched.setattr(sys, broken, stream)
        done = typed(capsys, *words(command, *more))
    with suppress(OSError):
        stream.close()
    assert done.code == code, done.err
    assert "Traceback" not in done.err
    assert (code == 2) == ("No space left on device" in done.err)
    once = script.counts.answers
    assert once > 0
    again = typed(capsys, *words(command, "--out", "-") if command == "judge" else words(command))
    assert again.code == 0, again.err
    assert again.out
    assert script.counts.answers == 20
    assert sum(script.counts.paid_again.values()) == 0
    assert command == "judge" or [json.loads(line)["prompt_id"] for line in again.out.splitlines()][-1] == "p9"


@pytest.mark.parametrize("words", ["audit absent.csv", "frob", "audit scores.csv --bogus", "judges --json -"])
def test_an_error_that_nobody_can_be_told_has_its_exit_code(capsys, folder, monkeypatch, words):
    """A full standard error makes no gate of it: 2, never the 1 of a traceback."""
    with monkeypatch.context() as patched:
        stream = Path(FULL).open("w", encoding="utf-8")  # noqa: SIM115 - closing it fails, as what it holds cannot be written
        patched.setattr(sys, "stderr", stream)
        done = typed(capsys, *words.split())
    with suppress(OSError):
        stream.close()
    assert done.code == 2

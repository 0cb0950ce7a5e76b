"""What is not a file: every command that reads one refuses pipes, sockets, devices and folders by their kind."""

from __future__ import annotations

import inspect
import json
import os
import re
import signal
import socket
from pathlib import Path
from typing import get_args

import pytest

from bonwise.errors import FileError
from bonwise.table import text_files
from bonwise.testing import simulate, simulate_ratings
from cli.commands import every_command, typed
from cli.test_files import COMMANDS, OUTPUTS, READS

# A pipe that nobody writes to is waited for by whoever opens it: an alarm ends what waits.

ENDINGS = ["csv", "tsv", "jsonl", "ndjson", "json", "parquet", "pq"]
NAMES = [f"x.{ending}{more}" for ending in ENDINGS for more in ("", ".gz")] + [
    "x.eval",
    "x",
    "x.md",
    "x.toml",
    "x.sqlite",
]
"""A name for every kind of file that is read, and some that are not."""

SECONDS = 10

READING = {
    **COMMANDS,
    "ledger export": "ledger export runs",
    "labels from": "labels from sheet.csv",
    "prompts check": "prompts check prompt.md",
    "prompts show": "prompts show prompt.md",
    "serve": "serve --config serve.toml",
}


@pytest.fixture(autouse=True)
def alarm():
    """End a test that waits."""

    def late(*_):
        raise TimeoutError("it waited")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Work in a folder with the other files that the commands name."""
    monkeypatch.chdir(tmp_path)
    frame = simulate("arena", n=60, seed=1).frame()
    for name in ("scores", "judges", "drawn", "labels"):
        frame.to_csv(f"{name}.csv", index=False)
    frame.drop(columns="oracle_label").to_csv("unlabelled.csv", index=False)
    simulate_ratings(1, prompts=20, judges=2, labelled=0.5).frame().to_csv("ratings.csv", index=False)
    pool = {"prompt_id": "p", "prompt": "q", "candidates": ["a", "bb"]}
    Path("pools.jsonl").write_text(json.dumps(pool) + "\n", encoding="utf-8")
    picks = [{"prompt_id": f"p{at}", "ids": ["a", "b"], "best": "b", "scores": [0.4, 0.5]} for at in range(9)]
    for name in ("first", "second"):
        Path(f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in picks), encoding="utf-8")
    return tmp_path


def _reads_a_file(parameter, name):
    kinds = str(parameter.annotation)
    return "Path" in kinds and (parameter.name not in OUTPUTS or (name, parameter.name) in READS)


def _flags():
    """Return every command with each parameter that names a file which is read."""
    return [
        (name, parameter)
        for name, command in every_command().items()
        for parameter in inspect.signature(command, eval_str=True).parameters.values()
        if _reads_a_file(parameter, name)
    ]


def _typed_as(parameter):
    """Return the flag of a parameter; empty for an argument."""
    for one in (*get_args(parameter.annotation), parameter.default):
        if type(one).__name__ == "ArgumentInfo":
            return ""
        if type(one).__name__ == "OptionInfo" and one.param_decls:
            return next(text for text in one.param_decls if text.startswith("--")).partition("/")[0]
    return "--" + parameter.name.replace("_", "-")


def _line(name, parameter, path):
    """Return a command line in which a parameter is the path."""
    words = READING.get(name, name).split()
    if parameter.name in ("labels", "label_file"):  # of scores that have none of their own
        words = ["unlabelled.csv" if word in ("scores.csv", "judges.csv", "ratings.csv") else word for word in words]
    flag = _typed_as(parameter)
    if flag and flag in words:
        words[words.index(flag) + 1] = path
    elif flag:
        words += [flag, path]
    else:
        start = len(name.split())
        words[start : start + 1] = [path]
    return words


CASES = [(name, parameter.name) for name, parameter in _flags()]


def _waits_for_none(capsys, place, name, parameter, files):
    one = inspect.signature(every_command()[name], eval_str=True).parameters[parameter]
    for file in files:
        os.mkfifo(place / file)
        signal.alarm(SECONDS)
        done = typed(capsys, *_line(name, one, file))
        assert done.code == 2 or (name, parameter) in REFUSED_FIRST, (file, done.err)
        assert "Traceback" not in done.err, (file, done.err)
        assert len(done.err.splitlines()) <= 2, (file, done.err)
        (place / file).unlink()
        # Other endings may be refused for what they are.
        if file == "x.parquet" and (name, parameter) not in REFUSED_FIRST:
            assert re.search(
                "x.parquet: is (a pipe|not a folder)|x.parquet is a file, no run folder", done.out + done.err
            ), done.err


@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_no_command_waits_for_a_pipe(capsys, place, name, parameter):
    """Whatever names a file may name a pipe: the command ends with 2 and one line."""
    _waits_for_none(capsys, place, name, parameter, ["x.parquet"])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_no_command_waits_for_a_pipe_of_any_ending(capsys, place, name, parameter):
    """Whatever the ending."""
    _waits_for_none(capsys, place, name, parameter, NAMES)


REFUSED_FIRST = {
    ("judge", "labels"),
    ("plan", "allocation"),
    ("preferences", "against"),
    ("audit", "verdicts"),
    ("compare", "pools"),
    ("study confidence", "labels"),
    ("doctor", "labels"),
    ("factor compare", "prompts"),
    ("factor explain", "prompts"),
    ("factor strengths", "prompts"),
    ("judge", "run"),
    ("labels draw", "label_file"),
    ("mcp", "root"),
    ("mcp", "run"),
    ("preferences", "labels"),
    ("prompts check", "pools"),
    ("prompts show", "pools"),
    ("select", "run"),
    ("serve", "run"),
    ("study label-strategy", "drawn"),
    ("study label-strategy", "file"),
    ("study label-strategy", "labels"),
    ("study label-strategy", "pools"),
}
"""What these commands lack beside is said before the pipe is looked at, or they have no use for it."""


@pytest.mark.parametrize("file", [name for name in NAMES if not name.endswith(("x", ".md", ".toml", ".sqlite"))])
@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "folder"])
def test_what_is_no_file_is_named_by_its_kind(capsys, place, kind, file):
    """By the audit, for every ending: nothing of it is read."""
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as held:
            held.bind(file)
    elif kind == "device":
        Path(file).symlink_to("/dev/zero")
    else:
        Path(file).mkdir()
    done = typed(capsys, "audit", file)
    assert done.code == 2
    said = {"folder": "no JSON|a folder|no file named"}.get(kind, rf"is a {kind}, which can be read only once")
    assert re.search(said, done.err), done.err


def test_a_pipe_that_takes_the_place_of_a_file_is_refused(place, monkeypatch):
    """Between the look at a file and its opening something else may come to be there."""
    Path("x.csv").write_text("prompt_id\n")
    seen = Path("x.csv").stat()
    Path("x.csv").unlink()
    os.mkfifo("x.csv")
    monkeypatch.setattr(Path, "stat", lambda *_, **__: seen)
    with pytest.raises(FileError, match="is a pipe"):
        text_files.open_plain(Path("x.csv"))


def test_a_pipe_beside_the_scores_is_passed_over(capsys, place):
    """A folder is searched for the record of a draw: a pipe in it is none."""
    os.mkfifo("design.csv")
    Path("scores.csv").write_text("prompt_id,candidate,judge_score,oracle_label\n" + "p,a,1,1\np,b,0,0\n")
    assert typed(capsys, "audit", "scores.csv").code in (0, 2, 3)


def test_files_are_opened_in_one_place():
    """No other module opens a file that a user names: what looks before it opens is listed here."""
    root = Path(text_files.__file__).parents[1]
    opening = re.compile(r"\.open\((?:\"rb?\"|encoding)|\.read_bytes\(\)|\.read_text\(")
    found = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if any(
            opening.search(line) and ">>>" not in line and "..." not in line for line in path.read_text().splitlines()
        )
    }
    assert found == ELSEWHERE


ELSEWHERE = {
    "auditing/per_prompt.py",
    "calls/ledger/place.py",
    "calls/prices.py",
    "cli/app.py",
    "cli/build_server.py",
    "cli/entry.py",
    "cli/lookups.py",
    "demo/run.py",
    "demo/tasks.py",
    "labels/blind_sheet.py",
    "selection/draw_model.py",
    "table/writing.py",
    "testing/simulation.py",
}
"""Files of the package itself and of /proc, and outputs that are looked at before they are replaced."""

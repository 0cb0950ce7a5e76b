from __future__ import annotations

import shlex
from pathlib import Path

import pandas as pd
import pytest

from bonwise.cli import entry
from bonwise.testing import simulate
from cli.commands import strict

KEYS = ["prompt_id", "candidate"]


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Write scores without labels, eight candidates each, and return the table with labels."""
    monkeypatch.chdir(tmp_path)
    frame = simulate("arena", n=500, seed=1, candidates=8).frame()
    frame.drop(columns="oracle_label").to_csv("scores.csv", index=False)
    return frame


def run(line):
    """Run a line as it was printed."""
    return entry.run(shlex.split(line)[1:])


def fill(name, table):
    """Fill a sheet in from known labels."""
    sheet = pd.read_csv(name).drop(columns="oracle_label").merge(table[[*KEYS, "oracle_label"]], on=KEYS)
    sheet.to_csv(name, index=False)


def next_command(said):
    """Return the command that is printed last."""
    return next(line for line in reversed(said.splitlines()) if line.startswith("bonwise "))


def test_cells_are_drawn_labelled_and_audited(table, capsys):
    """Draw on scores alone, fill in the sheet, and run the command that was printed."""
    assert run("bonwise labels draw scores.csv --labels 900 --by cell --out d.csv --sheet s.csv --json d.json") == 0
    said = capsys.readouterr().out
    assert "68 with all candidates and" in said
    assert "whole" in said
    assert "pairs" in said
    command = next_command(said)
    assert command == "bonwise audit scores.csv --labels s.csv --design d.csv"
    drawn = strict(Path("d.json").read_text(encoding="utf-8"))
    assert drawn["settings"]["drawn_for"] == "recovery"
    assert sum(one["whole_pools"] for one in drawn["strata"]) == 68
    fill("s.csv", table)
    assert run(f"{command} --json a.json --html a.html") == 0
    said = capsys.readouterr().out
    assert "all candidates of 68 prompts, and of" in said
    assert "not used" not in said
    found = strict(Path("a.json").read_text(encoding="utf-8"))
    truth = {"recovery": 0.243, "gain": 0.0277}
    for name, value in truth.items():
        one = found["metrics"][name]
        assert one["method"] == "cells"
        assert one["low"] < value < one["high"]
    assert "drawn for gain and recovery" in found["metrics"]["hit_rate"]["reason"]


def test_a_gate_on_recovery_counts_labels_as_they_were_drawn(table, capsys):
    """A gate below the interval passes, one within it is inconclusive and says how many labels more it takes."""
    run("bonwise labels draw scores.csv --labels 900 --by cell --out d.csv --sheet s.csv")
    fill("s.csv", table)
    capsys.readouterr()
    audit = "bonwise audit scores.csv --labels s.csv --design d.csv --fail-under recovery="
    assert run(f"{audit}0.05") == 0
    assert run(f"{audit}0.9") == 1
    capsys.readouterr()
    assert run(f"{audit}0.22") == 3
    assert "label" in capsys.readouterr().out


def test_for_gain_pairs_are_drawn_of_any_pools(table, capsys, tmp_path):
    """Of four candidates recovery is refused with the reason, and gain is drawn and audited."""
    frame = simulate("arena", n=200, seed=1).frame()
    frame.drop(columns="oracle_label").to_csv(tmp_path / "four.csv", index=False)
    assert run("bonwise labels draw four.csv --labels 400 --by cell --out d.csv") == 2
    assert "fewer than 8 candidates" in capsys.readouterr().err
    assert run("bonwise labels draw four.csv --labels 100 --by cell --for gain --out d.csv --sheet s.csv") == 0
    command = next_command(capsys.readouterr().out)
    fill("s.csv", frame)
    assert run(f"{command} --full") == 0
    assert "Whatever the missing labels are, recovery lies" in capsys.readouterr().out


def test_a_draw_goes_on_from_labels_that_are_there(table, capsys):
    """Labels in the table need no second row; a later phase repeats nothing and its next command audits all."""
    some = table.assign(oracle_label=table["oracle_label"].where(table["prompt_id"] < "p0000100"))
    some.to_csv("scores.csv", index=False)
    assert run("bonwise labels draw scores.csv --labels 700 --by cell --out d.csv --sheet s.csv") == 0
    said = capsys.readouterr().out
    assert "candidates drawn now have labels already" in said
    first = pd.read_csv("s.csv")
    assert not first["prompt_id"].lt("p0000100").any()
    line = "bonwise labels draw scores.csv --labels 900 --after d.csv --out e.csv --sheet t.csv"
    assert run(line) == 0
    assert "on top of the" in capsys.readouterr().out
    second = pd.read_csv("t.csv")
    assert not set(map(tuple, second[KEYS].to_numpy())) & set(map(tuple, first[KEYS].to_numpy()))


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("--by cell --design rule", "leave design (--design) out"),
        ("--for gain", "--by cell"),
        ("--by row", "prompt or cell"),
        ("--by cell --for ties", "recovery or gain"),
    ],
)
def test_flags_that_contradict_each_other_are_refused(table, capsys, flags, words):
    """Exit 2, one line, nothing written."""
    assert run(f"bonwise labels draw scores.csv --labels 900 --out d.csv {flags}") == 2
    assert words in capsys.readouterr().err

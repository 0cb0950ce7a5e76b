from __future__ import annotations

import json

import pandas as pd
import pytest

from bonwise.cli.entry import run
from bonwise.testing import simulate


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a working folder with scores, the record of a draw, and the labels that it asked for."""
    monkeypatch.chdir(tmp_path)
    frame = simulate("arena", n=300, seed=4).frame()
    frame.drop(columns="oracle_label").to_csv("scores.csv", index=False)
    assert run(["labels", "draw", "scores.csv", "--labels", "80", "--seed", "1", "--out", "todo.csv"]) == 0
    drawn = pd.read_csv("todo.csv").query("phase > 0")["prompt_id"]
    labels = frame.loc[frame["prompt_id"].isin(drawn), ["prompt_id", "candidate", "oracle_label"]]
    labels.to_csv("labels.csv", index=False)
    return tmp_path


AUDIT = ["audit", "scores.csv", "--labels", "labels.csv", "--design", "todo.csv"]


def test_a_drawn_sample_is_audited_for_all_prompts(folder, capsys):
    """From scores, drawn labels and the record comes an estimate for all prompts, and a gate on it can be met."""
    assert run([*AUDIT, "--fail-under", "value_judge=0.5", "--json", "a.json"]) == 0
    document = json.loads((folder / "a.json").read_text("utf-8"))
    assert document["metrics"]["recovery"]["method"] == "aipw"
    assert document["metrics"]["recovery"]["labelled_only"]["method"] == "labelled_only"
    assert document["sampling"]["design"] == "rule"
    assert document["data"]["labelled_prompts"] == 80
    out = capsys.readouterr().out
    assert "drawn by the rule 'rule' (seed 1)" in out
    assert "effective sample size" in " ".join(out.split())


@pytest.mark.parametrize("output", ["--json", "--per-prompt"])
def test_the_record_of_a_draw_is_never_overwritten(folder, capsys, output):
    """The propensities cannot be had again, so an output of the same name is refused."""
    before = (folder / "todo.csv").read_bytes()
    assert run([*AUDIT, output, "todo.csv"]) == 2
    assert "read or written already" in capsys.readouterr().err
    assert (folder / "todo.csv").read_bytes() == before


def test_a_design_that_is_no_file_is_one_clear_error(folder, capsys):
    """A misspelt file name says what was looked for."""
    assert run([*AUDIT[:-1], "todo2.csv"]) == 2
    assert "no design 'todo2.csv'" in capsys.readouterr().err

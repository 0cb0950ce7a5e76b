from __future__ import annotations

import json
import shlex
from pathlib import Path

import pandas as pd
import pytest

import bonwise as bw
from bonwise.cli.entry import run
from bonwise.errors import UsageError
from bonwise.testing import simulate
from docs.pages import blocks, commands, without_outputs
from docs.stock import named

README = "README.md"


def write_scores(words):
    """Write the scores, and the labels, that one command names."""
    table = named(simulate("arena", n=100, seed=20261121).frame())
    table["candidate"] = table["candidate"].replace("c3", "unhelpful")
    table["quality"] = table["judge_score"]
    if "--labels" in words or "monitor" in words:
        table[["prompt_id", "candidate", "oracle_label"]].to_csv("labels.csv", index=False)
        table = table.drop(columns="oracle_label")
    if "--oracle" in words:
        other = table.assign(judge="local:lexical", judge_score=table["oracle_label"])
        table = pd.concat([table.assign(judge="local:length"), other])
    table.to_csv("scores.csv", index=False)


FEW_LABELS = [words for words in commands(README) if words[1:3] == ["labels", "draw"] or "monitor" in words]


@pytest.mark.parametrize("words", [words for words in commands(README) if words not in FEW_LABELS], ids=" ".join)
def test_every_command_runs(words, folder, capsys):
    """Each command of the README ends with an outcome of its own, not with bad usage."""
    if words[1] in {"audit", "doctor", "monitor"} and "scores.csv" in words:
        write_scores(words)
    without_outputs(words)
    assert run(words[1:]) in {0, 1, 3}, capsys.readouterr().err


def test_the_readme_is_read():
    """The README holds commands and Python blocks for this file to run."""
    assert len(commands(README)) >= 10
    assert len(blocks(README, "python")) >= 2


@pytest.mark.parametrize("block", blocks(README, "python"))
def test_python_blocks_run(block, folder):
    """Each Python block of the README runs as it stands, given the judge that it names."""
    write_scores([])
    exec(compile(block, "README.md", "exec"), {"my_judge": lambda _, text: len(text)})  # noqa: S102 - its purpose


def test_few_labels_in_order(folder, capsys):
    """The block on few labels gives figures for all prompts when its lines are typed in order, sheets filled in."""
    (block,) = (one for one in blocks(README, "sh") if "--sheet random-labels.csv" in one)
    lines = [shlex.split(line, comments=True) for line in block.splitlines()]
    truth = simulate("arena", n=400, seed=1).frame()
    truth.drop(columns="oracle_label").to_csv("scores.csv", index=False)
    for name in ("labels.csv", "todo.csv"):
        Path(name).unlink(missing_ok=True)
    assert [words[1] for words in lines] == ["plan", "labels", "audit", "labels", "monitor"]
    for words in lines:
        if "--json" not in words and words[1] != "labels":
            words += ["--json", f"{words[1]}.json"]
        assert run(words[1:]) in {0, 1, 3}, capsys.readouterr().err
        if "--sheet" in words:
            sheet = words[words.index("--sheet") + 1]
            blank = pd.read_csv(sheet)
            filled = blank.drop(columns="oracle_label").merge(truth[["prompt_id", "candidate", "oracle_label"]])
            filled[blank.columns].to_csv(sheet, index=False)
    audit, monitor = (json.loads(Path(f"{name}.json").read_text("utf-8")) for name in ("audit", "monitor"))
    assert (audit["sampling"]["design"], audit["metrics"]["recovery"]["method"]) == ("rule", "aipw")
    assert monitor["describes"] == "all prompts"
    with pytest.raises(UsageError, match=r"todo.csv beside it is the record of a draw by the rule 'rule'"):
        bw.audit("scores.csv", labels="labels.csv", design="uniform")

from __future__ import annotations

import pandas as pd
import pytest

from bonwise.cli.entry import run
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


@pytest.mark.parametrize("words", commands(README), ids=" ".join)
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

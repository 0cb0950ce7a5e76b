from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pandas as pd
import pytest

from bonwise.cli.entry import run
from bonwise.testing import simulate

README = Path(__file__).parents[2] / "README.md"


def blocks(language):
    """Return the fenced blocks of one language."""
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)


def commands():
    """Return every bonwise command of the README, comments and redirections taken off."""
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    lines += re.findall(r"`(bonwise [^`]+)`", README.read_text(encoding="utf-8"))
    words = [shlex.split(line.replace("\n", " "), comments=True) for line in lines if line.startswith("bonwise ")]
    return [w[: w.index(">")] if ">" in w else w for w in words]


def write_scores(words):
    """Write the scores, and the labels, that one command names."""
    table = simulate("arena", n=100, seed=20261121).frame()
    table["candidate"] = table["candidate"].replace("c3", "unhelpful")
    table["quality"] = table["judge_score"]
    if "--labels" in words:
        table[["prompt_id", "candidate", "oracle_label"]].to_csv("labels.csv", index=False)
        table = table.drop(columns="oracle_label")
    if "--oracle" in words:
        other = table.assign(judge="local:lexical", judge_score=table["oracle_label"])
        table = pd.concat([table.assign(judge="local:length"), other])
    table.to_csv("scores.csv", index=False)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Lay out the pools and the verdicts that the README's commands name."""
    monkeypatch.chdir(tmp_path)
    pools = [
        {"prompt_id": f"p{x}", "prompt": "Name a colour", "candidates": ["red", "the colour green", "blue " * x]}
        for x in range(20)
    ]
    Path("pools.jsonl").write_text("".join(json.dumps(pool) + "\n" for pool in pools), encoding="utf-8")
    rows = [f"{i},m,{'ab'[i % 2]},{1 + i % 2},{1 + i % 3 % 2},{1 + i % 5 % 2}\n" for i in range(40)]
    Path("verdicts.csv").write_text("item,llm,dataset,order1,order2,gold\n" + "".join(rows), encoding="utf-8")


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_runs(words, folder, capsys):
    """Each command of the README ends with an outcome of its own, not with bad usage."""
    write_scores(words)
    assert run(words[1:]) in {0, 1, 3}, capsys.readouterr().err


def test_the_readme_is_read():
    """The README holds commands and Python blocks for this file to run."""
    assert len(commands()) >= 10
    assert len(blocks("python")) >= 2


@pytest.mark.parametrize("block", blocks("python"))
def test_python_blocks_run(block, folder):
    """Each Python block of the README runs as it stands, given the judge that it names."""
    write_scores([])
    exec(compile(block, "README.md", "exec"), {"my_judge": lambda _, text: len(text)})  # noqa: S102 - its purpose

"""What ``bonwise convert --json`` says is what stands in the table that it writes."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import bonwise as bw
from cli.commands import strict, typed


def test_the_document_says_what_was_written(capsys, tmp_path, monkeypatch):
    """Counts, columns, the reading and what lacks; with --json - the words step aside."""
    monkeypatch.chdir(tmp_path)
    Path("wide.csv").write_text("prompt_id,gpt4_score,claude_score\np,0.1,0.3\n,0.2,0.4\n", encoding="utf-8")
    done = typed(capsys, "convert", "wide.csv", "--out", "rows.csv", "--json", "said.json")
    assert done.code == 0, done.err
    said = strict(Path("said.json").read_text("utf-8"))
    rows = pd.read_csv("rows.csv")
    assert said["schema"] == "bonwise.convert/1"
    assert said["data"] == {"rows": 2, "prompts": 1, "left_out": 2}
    assert (len(rows), rows.columns.tolist()) == (2, said["columns"])
    assert said["read_as"].startswith("a column per candidate")
    assert [one.partition(":")[0] for one in said["lacks"]] == ["no label of a person"]
    assert bw.load("said.json").data.rows == 2
    assert done.out.splitlines()[0] == "rows.csv: 2 rows, 1 prompt"
    streamed = typed(capsys, "convert", "wide.csv", "--out", "again.csv", "--json", "-")
    assert strict(streamed.out) == {**said, "out": "again.csv"}
    assert "again.csv: 2 rows" in streamed.err

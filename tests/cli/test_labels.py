from __future__ import annotations

import json

import pandas as pd
import pytest
import typer

from bonwise.cli.labels import app
from bonwise.data.label_design import LabelDesign
from bonwise.errors import UsageError
from bonwise.testing import simulate
from cli.commands import strict


@pytest.fixture
def scores(tmp_path):
    """Write a table of scores with labels and texts, and return its path."""
    path = tmp_path / "scores.csv"
    frame = simulate("arena", n=150, seed=1).frame()
    frame.assign(prompt="Say hello", text="=HYPERLINK(1)").to_csv(path, index=False)
    return path


@pytest.fixture
def unlabelled(scores, tmp_path):
    """Write the table without its labels, and return its path."""
    path = tmp_path / "plain.csv"
    pd.read_csv(scores).drop(columns="oracle_label").to_csv(path, index=False)
    return path


def run(*arguments):
    """Run the group by itself, as the command line's own application would."""
    return typer.main.get_command(app).main([str(one) for one in arguments], standalone_mode=False)


def test_a_draw_writes_design_sheet_and_document_and_names_the_next_command(unlabelled, tmp_path, capsys):
    """Exit 0; the design is read back, the sheet is safe in a spreadsheet, and the audit's command is printed."""
    out, sheet, document = (tmp_path / name for name in ("todo.csv", "sheet.csv", "draw.json"))
    assert (
        run("draw", unlabelled, "--labels", 30, "--seed", 1, "--out", out, "--sheet", sheet, "--json", document) == 0
    )
    said = capsys.readouterr().out
    assert "30 of 150 prompts are to be labelled now" in said
    assert f"bonwise audit {unlabelled} --labels {sheet} --design {out}" in said
    design = LabelDesign.read(out)
    assert design.drawn.sum() == 30
    frame = pd.read_csv(sheet)
    assert len(frame) == 120
    assert frame["text"].unique().tolist() == ["'=HYPERLINK(1)"]
    assert set(frame["prompt_id"]) == set(design.prompt_ids[design.drawn])
    assert strict(document.read_text(encoding="utf-8"))["schema"] == "bonwise.labels/1"


def test_the_same_input_gives_the_same_bytes(scores, tmp_path):
    """Twice the same command: the same design."""
    for name in ("a", "b"):
        run("draw", scores, "--labels", 30, "--out", tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_labels_that_stand_in_the_scores_need_no_file(scores, tmp_path, capsys):
    """The audit's command names no second set of labels where the table has its own."""
    run("draw", scores, "--labels", 30, "--out", tmp_path / "todo.csv", "--exclude", "c3")
    assert f"bonwise audit {scores} --design {tmp_path / 'todo.csv'} --exclude c3" in capsys.readouterr().out


def test_a_pilot_is_topped_up_by_the_command_it_prints(scores, unlabelled, tmp_path, capsys):
    """The second command of neyman, with labels of the pilot, draws the rest."""
    plain, labels = unlabelled, tmp_path / "labels.csv"
    pd.read_csv(scores)[["prompt_id", "candidate", "oracle_label"]].to_csv(labels, index=False)
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    run("draw", plain, "--labels", 100, "--design", "neyman", "--out", first)
    assert f"--design neyman --after {first} --label-file" in capsys.readouterr().out
    arguments = ("--labels", 100, "--after", first, "--label-file", labels, "--out", second)
    assert run("draw", plain, *arguments) == 0
    assert LabelDesign.read(first).drawn.sum() == 20
    assert LabelDesign.read(second).drawn.sum() == 100


def test_designs_are_compared(scores, tmp_path, capsys):
    """Exit 0, a page of ratios and a document of the published schema."""
    document = tmp_path / "designs.json"
    assert run("compare", scores, "--share", 0.25, "--draws", 5, "--json", document) == 0
    assert "margin" in capsys.readouterr().out
    found = strict(document.read_text(encoding="utf-8"))
    assert found["schema"] == "bonwise.label_designs/1"
    assert found["designs"]["rule"]["shares"][0]["share"] == 0.25


def test_json_on_standard_output_stands_alone(scores, tmp_path, capsys):
    """With --json - the words go to standard error."""
    run("draw", scores, "--labels", 30, "--out", tmp_path / "todo.csv", "--json", "-")
    said = capsys.readouterr()
    assert json.loads(said.out)["data"]["drawn"] == 30
    assert "to be labelled" in said.err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--rectangular", "--ragged"), "contradict"),
        (("--sheet", "todo.csv"), "read or written already"),
        (("--design", "best"), "unknown rule"),
    ],
)
def test_flags_that_mean_nothing_are_refused(scores, flags, words, tmp_path, monkeypatch):
    """One line that says what is wrong, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=words):
        run("draw", scores, "--labels", 30, "--out", "todo.csv", *flags)
    assert not (tmp_path / "todo.csv").exists()


def test_the_scores_are_not_written_over(scores):
    """The input may not be the output."""
    with pytest.raises(UsageError, match="read or written already"):
        run("draw", scores, "--labels", 30, "--out", scores)

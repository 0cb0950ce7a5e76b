from __future__ import annotations

import json
import shlex

import pandas as pd
import pytest
import typer

from bonwise.cli import entry
from bonwise.cli.labels import app
from bonwise.errors import UsageError
from bonwise.table.label_design import LabelDesign
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
    assert f"--design neyman --seed 0 --after {first} --label-file labels.csv" in capsys.readouterr().out
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
        (("--out", "-"), "not standard output"),
        (("--sheet", "-"), "not standard output"),
    ],
)
def test_flags_that_mean_nothing_are_refused(scores, flags, words, tmp_path, monkeypatch):
    """One line that says what is wrong, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=words):
        run("draw", scores, "--labels", 30, "--out", "todo.csv", *flags)
    assert not (tmp_path / "todo.csv").exists()
    assert not (tmp_path / "-").exists()


def test_the_scores_are_not_written_over(scores):
    """The input may not be the output."""
    with pytest.raises(UsageError, match="read or written already"):
        run("draw", scores, "--labels", 30, "--out", scores)


@pytest.mark.parametrize("flag", ["--after", "--label-file"])
@pytest.mark.parametrize("output", ["--out", "--sheet", "--json"])
def test_an_earlier_draw_and_its_labels_are_not_written_over(unlabelled, tmp_path, flag, output):
    """No output may be the earlier draw or the labels that are read."""
    kept = tmp_path / "kept.csv"
    kept.write_text("kept", encoding="utf-8")
    outputs = {"--out": tmp_path / "more.csv"} | {output: kept}
    with pytest.raises(UsageError, match="read or written already"):
        run("draw", unlabelled, "--labels", 60, flag, kept, *(part for pair in outputs.items() for part in pair))
    assert kept.read_text(encoding="utf-8") == "kept"


def test_a_filled_in_sheet_survives_the_same_command(unlabelled, tmp_path):
    """Typed again, the command is refused; another seed does not take the place of the draw either."""
    out, sheet = tmp_path / "todo.csv", tmp_path / "sheet.csv"
    command = ("draw", unlabelled, "--labels", 30, "--out", out, "--sheet", sheet)
    run(*command)
    run(*command)
    pd.read_csv(sheet).assign(oracle_label=0.5).to_csv(sheet, index=False)
    before = sheet.read_bytes(), out.read_bytes()
    with pytest.raises(UsageError, match="holds labels already"):
        run(*command)
    with pytest.raises(UsageError, match="another draw"):
        run(*command, "--seed", 3)
    assert (sheet.read_bytes(), out.read_bytes()) == before


@pytest.fixture
def renamed(tmp_path):
    """Write scores with columns of other names and return their path, and the truth of 0 to 10 for a sheet."""
    frame = simulate("arena", n=200, seed=1).frame()
    truth = frame[["prompt_id", "candidate"]].assign(oracle_label=(10 * frame["oracle_label"]).round())
    plain = frame.drop(columns="oracle_label").rename(columns={"prompt_id": "qid", "judge_score": "rating"})
    plain.to_csv(tmp_path / "ratings.csv", index=False)
    return tmp_path / "ratings.csv", truth


def label(sheet, truth):
    """Fill a sheet in."""
    blank = pd.read_csv(sheet).drop(columns="oracle_label")
    blank.merge(truth, how="left").to_csv(sheet, index=False)


def printed(capsys):
    """Return the words of the command that was printed last."""
    return shlex.split(capsys.readouterr().out.strip().splitlines()[-1])


def test_printed_commands_lead_from_a_pilot_to_an_audit_of_all_phases(renamed, tmp_path, capsys):
    """Typed as printed, flags and all, they draw the rest and audit the labels of both phases as one sample."""
    scores, truth = renamed
    flags = ("--score-col", "rating", "--prompt-col", "qid", "--label-scale", "0:10", "--ragged", "--exclude", "c3")
    files = ("--out", tmp_path / "d.csv", "--sheet", tmp_path / "s.csv")
    run("draw", scores, "--labels", 120, "--design", "neyman", "--seed", 7, *files, *flags)
    words = printed(capsys)
    assert words[:3] == ["bonwise", "labels", "draw"]
    assert words[words.index("--seed") + 1] == "7"
    label(tmp_path / "s.csv", truth)
    assert run(*words[2:]) == 0
    words = printed(capsys)
    sheet = tmp_path / "more-s.csv"
    assert words[words.index("--labels") + 1] == str(sheet)
    assert pd.read_csv(sheet)["oracle_label"].notna().sum() == 24 * 3
    label(sheet, truth)
    assert entry.run([*words[1:], "--json", str(tmp_path / "audit.json")]) == 0
    judge = strict((tmp_path / "audit.json").read_text(encoding="utf-8"))
    assert '"method": "aipw"' in json.dumps(judge)
    assert LabelDesign.read(tmp_path / "more-d.csv").drawn.sum() == 120


def test_without_a_sheet_the_second_phase_asks_for_one_file_of_all_labels(renamed, tmp_path, capsys):
    """The words say so, because the command alone cannot."""
    scores, truth = renamed
    flags = ("--score-col", "rating", "--prompt-col", "qid", "--label-scale", "0:10")
    run("draw", scores, "--labels", 30, "--out", tmp_path / "d.csv", "--sheet", tmp_path / "s.csv", *flags)
    label(tmp_path / "s.csv", truth)
    files = ("--after", tmp_path / "d.csv", "--label-file", tmp_path / "s.csv", "--out", tmp_path / "e.csv")
    run("draw", scores, "--labels", 60, *files, *flags)
    assert "the labels of all phases into" in " ".join(capsys.readouterr().out.split())

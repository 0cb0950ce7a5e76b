from __future__ import annotations

import json
import shlex

import pytest

from cli.commands import CONTROL, rows_of, strict, typed
from factors.stack_tables import judged


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Work in a folder with a table of three judges."""
    monkeypatch.chdir(tmp_path)
    judged().to_csv("judges.csv", index=False)
    return tmp_path


def test_fit_writes_what_it_prints(table, capsys):
    """One document: on standard output, in the file of --json and in that of --out."""
    done = typed(capsys, "stack", "fit", "judges.csv", "--out", "stack.json", "--json", "-")
    assert done.code == 0
    document = strict(done.out)
    assert document["schema"] == "bonwise.stack/1"
    assert json.loads((table / "stack.json").read_text("utf-8")) == document
    assert document["best_judge"] == "good"


def test_labels_may_be_in_a_file_of_their_own(table, capsys):
    """The same figures."""
    frame = judged()
    frame.drop(columns="oracle_label").to_csv("scores.csv", index=False)
    frame[["prompt_id", "candidate", "oracle_label"]].drop_duplicates().to_csv("labels.csv", index=False)
    together = strict(typed(capsys, "stack", "fit", "judges.csv", "--json", "-").out)
    apart = strict(typed(capsys, "stack", "fit", "scores.csv", "--labels", "labels.csv", "--json", "-").out)
    assert apart["metrics"] == together["metrics"]
    assert apart["model"]["features"] == together["model"]["features"]


def test_the_report_says_what_to_type_next(table, capsys):
    """A better stack is saved by the same flags, then picked by; without a gain neither is suggested."""
    done = typed(capsys, "stack", "fit", "judges.csv", "--out", "stack.json", "--html", "stack.html")
    assert done.code == 0, done.err
    assert "Recovery out of fold: stack" in done.out
    assert "Next:\nPick by the best judge alone" in done.out
    assert "bonwise select" not in done.out
    assert not CONTROL.search(done.out)
    assert (table / "stack.html").read_text("utf-8").startswith("<!DOCTYPE html>")


def test_a_better_stack_is_saved_and_picked_by(table, capsys):
    """What it printed can be followed, with the flags that read the table."""
    frame = judged(300, judges={"one": 0.65, "two": 0.5, "three": 0.5, "four": 0.5})
    frame.drop(columns="oracle_label").to_csv("the scores.csv", index=False)
    frame[["prompt_id", "candidate", "oracle_label"]].drop_duplicates().to_csv("labels.csv", index=False)
    done = typed(capsys, "stack", "fit", "the scores.csv", "--labels", "labels.csv", "--seed", "3")
    assert done.out.startswith("Verdict: the stack is better\n")
    *_, save = done.out.splitlines()
    assert save == "bonwise stack fit 'the scores.csv' --labels labels.csv --seed 3 --out stack.json"
    saved = typed(capsys, *shlex.split(save)[1:])
    assert saved.out.endswith("Next:\nbonwise select POOLS.jsonl --judge stack:stack.json\n")


def test_apply_adds_the_stack_as_a_judge(table, capsys):
    """To prompts that it was fitted to, with a warning; the file is a table like any other."""
    typed(capsys, "stack", "fit", "judges.csv", "--out", "stack.json", "--scores", "oof.csv")
    done = typed(capsys, "stack", "apply", "judges.csv", "--stack", "stack.json", "--out", "applied.csv")
    assert done.code == 0
    assert "60 prompts of 60 are those that the stack was fitted to" in done.err
    for name in ("oof.csv", "applied.csv"):
        assert {row["judge"] for row in rows_of(table / name)} == {"good", "fair", "noise", "stack"}
        assert typed(capsys, "audit", name).code == 0


def test_audit_refuses_prompts_that_the_stack_has_seen(table, capsys):
    """And audits others, as any judge."""
    typed(capsys, "stack", "fit", "judges.csv", "--out", "stack.json")
    seen = typed(capsys, "stack", "audit", "judges.csv", "--stack", "stack.json")
    assert seen.code == 2
    assert "60 prompts of 60" in seen.err
    new = judged(seed=5)
    new["prompt_id"] = "new " + new["prompt_id"]
    new.to_csv("new.csv", index=False)
    done = typed(capsys, "stack", "audit", "new.csv", "--stack", "stack.json", "--name", "both", "--json", "-")
    assert done.code == 0
    assert set(strict(done.out)["judges"]) == {"good", "fair", "noise", "both"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("stack", "fit", "judges.csv", "--feature", "colour"), "no feature is called 'colour'"),
        (("stack", "fit", "judges.csv", "--price", "good=cheap"), "--price takes NAME=NUMBER"),
        (("stack", "fit", "judges.csv", "--spec", "good"), "--spec takes NAME=TEXT"),
        (("stack", "apply", "judges.csv", "--stack", "judges.csv", "--out", "a.csv"), "judges.csv"),
        (("stack", "audit", "judges.csv", "--stack", "absent.json"), "absent.json"),
        (("stack", "fit", "absent.csv"), "absent.csv"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(table, capsys, words, said):
    """No traceback, and nothing is written."""
    before = sorted(table.iterdir())
    done = typed(capsys, *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1
    assert sorted(table.iterdir()) == before


def test_nothing_that_a_user_made_is_overwritten(table, capsys):
    """Each output of each command, unless --force says so."""
    typed(capsys, "stack", "fit", "judges.csv", "--out", "stack.json")
    (table / "mine.txt").write_text("mine", encoding="utf-8")
    for words in (
        ("stack", "fit", "judges.csv", "--out", "mine.txt"),
        ("stack", "fit", "judges.csv", "--scores", "mine.txt"),
        ("stack", "apply", "judges.csv", "--stack", "stack.json", "--out", "mine.txt"),
        ("stack", "apply", "judges.csv", "--stack", "stack.json", "--out", "judges.csv"),
    ):
        done = typed(capsys, *words)
        assert done.code == 2, words
    assert (table / "mine.txt").read_text("utf-8") == "mine"
    assert typed(capsys, "stack", "fit", "judges.csv", "--out", "mine.txt", "--force").code == 0

"""The command that the doctor prints: complete, on one line, and it runs as it stands, on files that people have."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bonwise.doctoring.front import doctor
from bonwise.doctoring.view import describe
from bonwise.errors import OtherFileError, UsageError
from bonwise.report.blocks import Said
from bonwise.table.score_table import ScoreTable
from cli.commands import strict, typed, written
from table.importers.real_files import FOLDER, REAL_FILES

FIGURES = ("recovery", "hit_rate", "within_r", "value_random", "value_judge", "value_oracle")
SHAPES = {
    "unscored_best.csv": "bonwise audit unscored_best.csv",
    "rank_lower_is_better.csv": "bonwise audit rank_lower_is_better.csv --score-col rank --lower-is-better rank",
    "nested_pair_scores.jsonl": (
        "bonwise audit nested_pair_scores.jsonl --prompt-col pair_id "
        "--score-col 'judgments[0].judgment.scores,judgments[1].judgment.scores' --label-col label "
        "--second-order turned"
    ),
    "nested_scores.json": (
        "bonwise audit nested_scores.json --prompt-col source --score-col predict_scores.overall "
        "--label-col scores.overall"
    ),
    "clustered_pairs_constant_label_mean.csv": "bonwise audit clustered_pairs_constant_label_mean.csv",
    "messy.csv": "bonwise audit messy.csv --label-col 'Human score Anna,Human score Ben'",
    "two_judges.csv": "bonwise audit two_judges.csv --score-col cheap,strong",
}


@pytest.fixture
def shapes(shared, tmp_path, monkeypatch):
    """Copy the files of shared/data/shapes into a folder of its own, and return what they must give."""
    shutil.copytree(shared / "data" / "shapes", tmp_path / "shapes")
    monkeypatch.chdir(tmp_path / "shapes")
    return json.loads(Path("expected.json").read_text("utf-8"))


def audited(capsys, command):
    """Type a command as it was printed, and return its figures by judge."""
    name, *words = shlex.split(command)
    assert name == "bonwise"
    done = typed(capsys, *words, "--json", "-")
    assert done.code == 0, done.err
    document = strict(done.out)
    return document.get("judges") or {"": document}


@pytest.mark.parametrize("name", SHAPES)
def test_the_printed_command_gives_the_figures(capsys, shapes, name):
    """It stands on one line, whole, and what it prints is what plain formulas give."""
    printed = typed(capsys, "doctor", name)
    assert printed.code == 0
    command = printed.out.splitlines()[-1]
    assert command == SHAPES[name]
    judges = audited(capsys, command)
    wanted = shapes[name]
    by_judge = {"": wanted.get("all", wanted)} if len(judges) == 1 else {judge: wanted[judge] for judge in judges}
    for judge, figures in by_judge.items():
        metrics, data = judges[judge]["metrics"], judges[judge]["data"]
        single = sum(drop["reason"] == "one candidate" for drop in data["dropped"])
        labelled = data["labelled_prompts"]
        assert labelled + single == figures["prompts"]
        for figure in FIGURES:
            estimate = metrics[figure]["estimate"]
            if single and figure == "hit_rate":
                # The one candidate of a prompt is its best; an audit leaves such prompts out.
                estimate = (estimate * labelled + single) / (labelled + single)
            if not single or not figure.startswith("value"):
                assert estimate == pytest.approx(figures[figure], abs=2e-6), figure


def test_human_answers_are_left_out_by_the_flags_that_are_named(capsys, shapes):
    """The control that the sentence names gives the figures without the human answers."""
    controls = "--control 'Original Ground Truth' --control 'New Human Generated'"
    assert "Where a judge is useful only with them" in typed(capsys, "doctor", "nested_scores.json").out
    (judge,) = audited(capsys, f"{SHAPES['nested_scores.json']} {controls}").values()
    for figure in FIGURES:
        expected = shapes["nested_scores.json"]["without_outstanding"][figure]
        assert judge["metrics"][figure]["estimate"] == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize("name", SHAPES)
def test_the_table_that_is_written_needs_no_flag(capsys, shapes, name):
    """What --fix writes gives the same figures by a command that names nothing but the file."""
    document = doctor(name, fix="fixed.csv")
    assert document.next_command.partition(" --control")[0] == "bonwise audit fixed.csv"
    judges, fixed = audited(capsys, SHAPES[name]), audited(capsys, "bonwise audit fixed.csv")
    assert judges.keys() == fixed.keys()
    for judge, of_judge in judges.items():
        for figure in FIGURES:
            assert fixed[judge]["metrics"][figure]["estimate"] == pytest.approx(
                of_judge["metrics"][figure]["estimate"], abs=1e-12
            )


def _rows(change):
    """Return 30 prompts of 3 candidates, each row as a change makes it of its place, its score and its label."""
    rng = np.random.default_rng(5)
    labels = rng.random(90).round(3)
    scores = np.clip(0.6 * labels + 0.4 * rng.random(90), 0, 1).round(3)
    places = [{"prompt_id": f"p{at // 3}", "candidate": f"m{at % 3}"} for at in range(90)]
    return [place | change(at, scores[at], labels[at]) for at, place in enumerate(places)]


UNSETTLED = {
    "lower": (
        lambda at, score, label: {"mqm_error": -1 if at in (4, 40) else round(10 - 10 * score, 1), "label": label},
        "--score-col mqm_error --lower-is-better mqm_error --missing -1",
        "",
    ),
    "low labels": (
        lambda _, score, label: {"judge_score": score, "human error": round(10 - 10 * label, 2)},
        "--label-col 'human error' --lower-is-better 'human error' --judge-scale 0:1 --label-scale 0:10",
        "--label-scale 0:1",
    ),
    "in part": (
        lambda at, score, label: {"judge_score": score, "oracle_label": "" if at % 4 == 0 else label},
        "--unlabelled-is 0",
        "",
    ),
    "annotators in part": (
        lambda at, score, label: {
            "judge_score": score,
            "Human score Anna": "" if at % 4 == 0 else 1 + round(3 * label),
            "Human score Bo": "" if at % 4 == 0 else round(6 * label),
        },
        "--label-col 'Human score Anna,Human score Bo' --unlabelled-is 0 --judge-scale 0:1 --label-scale 0:7",
        None,
    ),
    "annotators": (
        lambda _, score, label: {
            "judge_score": score,
            "Human score Anna": 1 + round(3 * label),
            "Human score Bo": round(6 * label),
        },
        "--label-col 'Human score Anna,Human score Bo' --judge-scale 0:1 --label-scale 0:7",
        "--label-scale 0:1",
    ),
    "marks": (
        lambda at, score, label: {"judge_score": 999 if at in (4, 40, 70) else round(9 * score), "label": label},
        "--missing 999 --judge-scale 0:10 --label-scale 0:1",
        "--label-scale 0:1",
    ),
    "dashes": (
        lambda _, score, label: {"--error": round(10 - 10 * score, 2), "oracle_label": label},
        "--score-col=--error --lower-is-better=--error",
        "",
    ),
}


@pytest.mark.parametrize("name", UNSETTLED)
def test_what_is_written_is_what_the_command_reads(capsys, tmp_path, monkeypatch, name):
    """The command for a file and the one for what --fix writes of it give the same figures and verdict."""
    monkeypatch.chdir(tmp_path)
    change, flags, then = UNSETTLED[name]
    written("-s.csv", _rows(change))
    own = {"unlabelled_is": 0} if "--unlabelled-is" in flags else {}
    plain = doctor("-s.csv", **own).next_command
    assert plain == f"bonwise audit ./-s.csv {flags}"
    fixed = doctor("-s.csv", fix="fixed.csv", **own).next_command
    if then is not None:
        assert fixed == f"bonwise audit fixed.csv {then}".strip()
    (of_file,), (of_fixed,) = audited(capsys, plain).values(), audited(capsys, fixed).values()
    assert of_fixed["verdict"]["level"] == of_file["verdict"]["level"]
    assert of_fixed["metrics"].keys() == of_file["metrics"].keys()
    for metric, estimated in of_file["metrics"].items():
        for end in ("estimate", "low", "high"):
            assert of_fixed["metrics"][metric].get(end) == pytest.approx(estimated.get(end), abs=1e-9), metric


def test_of_two_crossed_columns_the_one_with_more_values_holds_prompts(tmp_path, monkeypatch):
    """In whichever order they stand; names that say nothing do not swap prompts and candidates."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"Q": row["prompt_id"], "C": row["candidate"], "S": row["S"]}
        for row in _rows(lambda *values: {"S": values[1]})
    ]
    for order in (("Q", "C", "S"), ("C", "Q", "S")):
        written("s.csv", [{name: row[name] for name in order} for row in rows])
        document = doctor("s.csv")
        assert (document.columns["prompt_id"], document.columns["candidate"]) == ("Q", "C")


def test_labels_beyond_the_table_are_said_to_be_lost(tmp_path, monkeypatch):
    """Those of documents that no run holds are counted; a table that was read before is not written otherwise."""
    monkeypatch.chdir(tmp_path)
    run = [f"{topic} Q0 d{at} {at + 1} {9.5 - at} r" for topic in range(30) for at in range(4)]
    Path("run").write_text("\n".join(run) + "\n", "utf-8")
    qrels = [f"{topic} 0 d{at} {(topic + at) % 2}" for topic in range(30) for at in range(5) if at != 1]
    Path("qrels").write_text("\n".join(qrels) + "\n", "utf-8")
    document = doctor("run", labels="qrels", unlabelled_is=0, fix="fixed.csv")
    (sentence,) = (sentence for sentence in document.suspicious if "Not written" in sentence)
    assert sentence.startswith("Not written: 30 labels of what the table does not hold; nDCG and recall")
    assert pd.read_csv("fixed.csv")["oracle_label"].notna().all()
    written("s.csv", _rows(UNSETTLED["marks"][0]))
    with pytest.raises(UsageError, match="--label-scale 0:1 --missing 999 would read it otherwise"):
        doctor(ScoreTable.read("s.csv"), fix="other.csv")


@pytest.mark.parametrize("one", REAL_FILES, ids=lambda one: one.name)
def test_the_command_of_every_real_file_runs(capsys, tmp_path, monkeypatch, one):
    """Of each file of another tool a command is printed that runs as it stands, or one sentence says why not."""
    shutil.copytree(FOLDER, tmp_path / "files")
    monkeypatch.chdir(tmp_path / "files")
    labels = ("--labels", one.labels) if one.labels else ()
    done = typed(capsys, "doctor", one.name, *labels, "--json", "d.json")
    assert done.code == 0, done.err
    document = strict(Path("d.json").read_text("utf-8"))
    command = document["next_command"]
    if not command:
        assert document["not_audited"]
        assert f"It cannot be audited: {document['not_audited'][:40]}" in done.out
        return
    assert done.out.splitlines()[-1] == command
    assert typed(capsys, *shlex.split(command)[1:]).code == 0


EVERY_SHAPE = (
    *((name,) for name in SHAPES),
    ("trec.run.txt", "trec.qrels.txt"),
    ("trec.run.txt",),
    ("trec.qrels.txt",),
    ("unjudged_documents.csv",),
    ("weighted_preference.json",),
    ("blank_response_judge.json",),
    ("blank_response_judge.json", "blank_response_votes.json"),
    ("blank_response_votes.json",),
)


def test_every_shared_file_is_looked_over(shapes):
    """A file that is added to the shapes has its command typed below."""
    names = {path.name for path in Path().iterdir()} - {"README.md", "expected.json"}
    assert {name for files in EVERY_SHAPE for name in files} == names


def test_verdicts_as_numbers_are_compared_with_votes_of_people(capsys, shapes):
    """The command says how the numbers are read, and gives the known agreement; alone neither file has a command."""
    done = typed(capsys, "doctor", "blank_response_judge.json", "--labels", "blank_response_votes.json")
    assert done.code == 0
    assert "reads 1 as the first side, 2 as the second, 0 as a tie" in " ".join(done.out.split())
    command = done.out.splitlines()[-1]
    assert typed(capsys, *shlex.split(command)[1:]).code == 0
    alone = typed(capsys, "doctor", "blank_response_votes.json")
    assert (alone.code, "Next:" in alone.out) == (0, False)
    assert "VERDICTS --labels VOTES" in alone.out


@pytest.mark.parametrize("files", EVERY_SHAPE, ids=" ".join)
def test_the_command_of_every_shape_runs(capsys, shapes, files):
    """It runs as it stands and names the labels that were given; without one a sentence says why."""
    labels = ("--labels", files[1]) if files[1:] else ()
    done = typed(capsys, "doctor", files[0], *labels, "--json", "d.json")
    assert done.code == 0, done.err
    document = strict(Path("d.json").read_text("utf-8"))
    command = document["next_command"]
    assert command or document["not_audited"]
    if command:
        assert done.out.splitlines()[-1] == command
        assert typed(capsys, *shlex.split(command)[1:]).code == 0
        assert not labels or shlex.join(labels) in command


def test_labels_of_two_files_of_votes_stay_in_the_command(capsys, tmp_path, monkeypatch):
    """A judge's verdicts and votes of people in another file are compared, not studied alone."""
    monkeypatch.chdir(tmp_path)
    rows = [(x, "a", "b", ("model_a", "model_b")[x % 3 == 0]) for x in range(30)]
    for name in ("judge.csv", "crowd.csv"):
        pd.DataFrame(rows, columns=["question_id", "model_a", "model_b", "winner"]).to_csv(name, index=False)
    command = typed(capsys, "doctor", "judge.csv", "--labels", "crowd.csv").out.splitlines()[-1]
    assert command == "bonwise preferences judge.csv --labels crowd.csv"
    assert "against winner of crowd.csv" in typed(capsys, *shlex.split(command)[1:]).out


def test_what_cannot_be_audited_is_said_in_one_sentence(capsys, tmp_path, monkeypatch):
    """A leaderboard, answers without scores, one label for all, and one candidate a prompt: each says so."""
    monkeypatch.chdir(tmp_path)
    files = {
        "board.csv": ("model,score,votes\na,1,9\nb,2,8\n", "leaderboard"),
        "answers.csv": ("prompt,model,response\np,a,x y\np,b,y z\nq,a,z\nq,b,w\n", "answers without scores"),
        "constant.csv": ("prompt_id,candidate,score,label\np,a,1,1\np,b,2,1\nq,a,1,1\nq,b,3,1\n", "every label is 1"),
        "alone.csv": (
            "prompt_id,candidate,score,label\np,a,1,1\nq,a,2,0\n",
            "no prompt has two candidates to choose",
        ),
    }
    for name, (content, sentence) in files.items():
        Path(name).write_text(content, "utf-8")
        document = doctor(name)
        assert sentence in document.not_audited
        assert document.next_command == ""
        done = typed(capsys, "doctor", name)
        assert done.code == 0
        assert "It cannot be audited" in done.out
    with pytest.raises(OtherFileError, match="answers without scores"):
        doctor("answers.csv", fix="out.csv")


def test_what_a_file_supports_is_said(shapes):
    """Each kind of analysis has its yes, or its no with the reason."""
    both, one = doctor("two_judges.csv").supports, doctor("rank_lower_is_better.csv").supports
    assert set(both.values()) == {"yes"}
    assert one["audit"] == "yes"
    assert one["comparison of judges"] == "no: one judge"
    assert one["factor model"] == "no: names of candidates differ"
    assert one["routing"].startswith("no: ")


def test_the_row_that_a_file_ends_within_is_named_and_counted(capsys, shapes):
    """The doctor and the audit say which row was left out; a row in the middle is refused as before."""
    assert "1 row was left out, because the file ends within it: row 190 (2 of 7 cells)" in str(doctor("messy.csv"))
    lines = Path("messy.csv").read_text("utf-8-sig").splitlines()
    Path("middle.csv").write_text("\n".join([*lines[:5], "llama-3,What", *lines[5:-1]]), "utf-8")
    refused = typed(capsys, "audit", "middle.csv")
    assert (refused.code, "2 cells, but the header has 7" in refused.err) == (2, True)
    text = Path("nested_pair_scores.jsonl").read_text("utf-8")
    Path("cut.jsonl").write_text(text[: len(text) - 40], "utf-8")
    assert "row 30 (no whole object)" in doctor("cut.jsonl").readings["file"]
    Path("ended.jsonl").write_text(text[: len(text) - 40] + "\n", "utf-8")
    assert typed(capsys, "doctor", "ended.jsonl").code == 2


def test_in_short_nothing_is_left_out_that_limits_an_audit(shapes):
    """What is dropped, read otherwise, suspicious or proposed is shown, with every column that is taken."""
    document = doctor("messy.csv")
    short = " ".join(str(document).split())
    caveats = [
        block.text for block in describe(document).blocks if isinstance(block, Said) and block.role == "caveat"
    ]
    assert len(caveats) == 7
    assert all(caveat in short for caveat in caveats)
    assert all(short.count(column) for column in ("GPT score (1-10) numbers", "Human score Ben numbers"))
    assert "Comments" not in short
    assert "tied at the top" not in short
    assert "add --full" in short


def test_a_column_that_was_named_and_is_not_there_is_refused(capsys, shapes):
    """What the user named is never replaced by a proposal."""
    done = typed(capsys, "doctor", "two_judges.csv", "--score-col", "cheep")
    assert (done.code, "no column named 'cheep'" in done.err) == (2, True)


def test_one_reader_serves_every_command(capsys, shapes, tmp_path):
    """The flags that the doctor prints open the same file for the other commands."""
    flags = shlex.split(SHAPES["two_judges.csv"])[2:]
    for words in (
        ("route", *flags, "--share", "0.25"),
        ("labels", "draw", *flags, "--judge", "cheap", "--labels", "30", "--out", tmp_path / "d.csv"),
        ("plan", "--question", "recovery>0", "--pilot", *flags, "--judge", "cheap"),
        ("factor", "fit", *flags, "--human", "human", "--rank", "1", "--prior", "1", "--interval", "none"),
    ):
        done = typed(capsys, *words)
        assert done.code == 0, done.err
    wide = typed(capsys, "factor", "fit", FOLDER / "wide.csv", "--human", "human")
    assert "4 ratings by 'human' are too few" in wide.err

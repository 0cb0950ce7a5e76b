"""What a file holds and what is wrong with it: typed, as a document, in words."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import bonwise as bw
from bonwise.doctoring.front import doctor
from bonwise.report.show import markdown, text
from bonwise.testing import simulate
from cli.commands import scored, strict, typed, written
from report.readers import HOSTILE, harmless, lost
from results.round_trips import read_back, refusal


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder of its own, so that suggested commands stay short."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def diagnosed(capsys, *words):
    """Return the document of a diagnosis that ended well."""
    done = typed(capsys, "doctor", *words, "--json", "-")
    assert done.code == 0, done.err
    return strict(done.out)


def run_next(capsys, document):
    """Type the command that the doctor suggests."""
    name, *words = shlex.split(document["next_command"])
    assert name == "bonwise"
    return typed(capsys, *words)


def suspected(document, word):
    """Return the suspicions that mention a word."""
    return [sentence for sentence in document["suspicious"] if word in sentence]


@pytest.fixture
def drawn(folder):
    """Write 100 simulated prompts."""
    frame = simulate("arena", n=100, seed=3).frame()
    frame.to_csv("scores.csv", index=False)
    return frame


def test_a_sound_table_is_described(capsys, drawn):
    """Columns, counts, shape, ranges and coverage are those of the table, and the next command audits it."""
    document = diagnosed(capsys, "scores.csv")
    assert document["columns"] == {name: name for name in drawn.columns}
    assert document["counts"] == {"rows": 400, "prompts": 100, "candidates": 4, "judges": 1}
    assert document["shape"] == "rectangular"
    assert document["dropped"] == {}
    (judge,) = document["judges"]
    scores, labels = drawn["judge_score"], drawn["oracle_label"]
    assert (judge["lowest"], judge["highest"]) == (scores.min(), scores.max())
    assert judge["distinct"] == scores.nunique()
    assert document["labels"] == {
        "labelled_rows": 400,
        "labelled_prompts": 100,
        "partly_labelled_prompts": 0,
        "unlabelled_prompts": 0,
        "lowest": labels.min(),
        "highest": labels.max(),
        "distinct": labels.nunique(),
    }
    assert document["suspicious"] == []
    assert document["next_command"] == "bonwise audit scores.csv"
    assert run_next(capsys, document).code == 0


def test_words_say_what_the_document_holds(capsys, drawn):
    """The words name columns, counts, shape and the next command; they go to standard error beside the document."""
    words = typed(capsys, "doctor", "scores.csv")
    beside = typed(capsys, "doctor", "scores.csv", "--json", "-")
    assert beside.err == words.out
    for piece in ("judge_score", "400 rows", "100 prompts", "rectangular", "nothing suspicious"):
        assert piece in words.out
    assert words.out.splitlines()[-2:] == ["Next:", "bonwise audit scores.csv"]


def test_tie_rates_are_the_audits(capsys, drawn):
    """The tie rates that the doctor shows are those an audit finds."""
    (judge,) = diagnosed(capsys, "scores.csv")["judges"]
    metrics = strict(typed(capsys, "audit", "scores.csv", "--json", "-").out)["metrics"]
    for name in ("tie_rate", "top1_tie_rate"):
        assert judge[name] == pytest.approx(metrics[name]["estimate"], abs=1e-12)


def test_the_arena_control_is_found(capsys, shared):
    """The candidate that is always worst is flagged with what it does to recovery, and the command sets it aside."""
    document = diagnosed(capsys, shared / "data" / "arena100" / "scores.csv")
    (sentence,) = suspected(document, "'unhelpful'")
    assert "21.3%" in sentence
    assert "65.6%" in sentence
    assert document["next_command"].endswith(" --control unhelpful")
    done = run_next(capsys, document)
    assert done.code == 0
    assert "21%" in done.out
    assert document["labels"]["partly_labelled_prompts"] == 1
    assert document["dropped"] == {"lacks base": 1, "partly labelled": 1}


def test_a_constant_judge_is_flagged(capsys, folder):
    """A judge that always says the same is called constant, and its picks random."""
    written("s.csv", scored([[0.5, 0.5]] * 5, [[1, 0.2]] * 5))
    (sentence,) = suspected(diagnosed(capsys, "s.csv"), "constant")
    assert "random picks" in sentence


def test_few_scores_are_flagged(capsys, folder):
    """A judge with three grades is told that most candidates will tie."""
    written("s.csv", scored([[1, 2, 3], [2, 2, 1]] * 5, [[1, 2, 3]] * 10))
    assert suspected(diagnosed(capsys, "s.csv"), "3 distinct scores")


def test_constant_labels_are_flagged(capsys, folder):
    """Where every label is the same there is nothing to recover."""
    written("s.csv", scored([[0.1, 0.5]] * 5, [[1, 1]] * 5))
    assert suspected(diagnosed(capsys, "s.csv"), "nothing to recover")


@pytest.mark.parametrize(
    ("scale", "labels", "flags", "code"),
    [
        (100, 1, "--judge-scale 0:100 --label-scale 0:1", 2),
        (10, 1, "--judge-scale 0:10 --label-scale 0:1", 2),
        (1, 10, "--judge-scale 0:1 --label-scale 0:10", 0),
    ],
)
def test_mixed_scales_are_flagged_with_their_cure(capsys, drawn, scale, labels, flags, code):
    """Scores and labels on different scales are named with the row, and the suggested command audits them."""
    drawn["judge_score"], drawn["oracle_label"] = scale * drawn["judge_score"], labels * drawn["oracle_label"]
    drawn.to_csv("scores.csv", index=False)
    document = diagnosed(capsys, "scores.csv")
    assert suspected(document, "declare both scales")
    assert document["next_command"] == f"bonwise audit scores.csv {flags}"
    assert typed(capsys, "audit", "scores.csv").code == code
    assert run_next(capsys, document).code == 0


def test_the_scale_of_one_judge_is_declared_for_it_alone(capsys, drawn):
    """Where one of two judges is on another scale, the suggested command leaves the other judge's scores alone."""
    pd.concat(
        [drawn.assign(judge="unit"), drawn.assign(judge="percent", judge_score=100 * drawn["judge_score"])]
    ).to_csv("two.csv", index=False)
    document = diagnosed(capsys, "two.csv")
    _, *words = shlex.split(document["next_command"])
    judges = strict(typed(capsys, *words, "--json", "-").out)["judges"]
    slopes = [judge["metrics"]["attenuation"]["estimate"] for judge in judges.values()]
    assert slopes[0] == pytest.approx(slopes[1], rel=1e-9)


def test_declared_scales_and_columns_stay_in_the_next_command(capsys, drawn):
    """What the user had to say for the doctor, the next command says again, so that it runs."""
    drawn["judge_score"] *= 100
    drawn.rename(columns={"judge_score": "my score", "oracle_label": "truth"}).to_csv("s.csv", index=False)
    flags = ("--score-col", "my score", "--label-col", "truth", "--judge-scale", "0:100", "--label-scale", "0:1")
    document = diagnosed(capsys, "s.csv", *flags)
    done = run_next(capsys, document)
    assert done.code == 0, done.err


def test_an_unlabelled_file_asks_for_labels(capsys, drawn):
    """Without labels and with one judge the next command draws what to label, and an audit joins the labels."""
    drawn.drop(columns="oracle_label").to_csv("s.csv", index=False)
    document = diagnosed(capsys, "s.csv")
    assert document["next_command"] == (
        "bonwise labels draw s.csv --labels 100 --out s_design.csv --sheet s_sheet.csv"
    )
    assert "no label of a person" in document["not_audited"]
    assert document["labels"]["labelled_rows"] == 0
    assert "no oracle labels" in typed(capsys, "doctor", "s.csv").out
    assert run_next(capsys, document).code == 0
    assert Path("s_sheet.csv").is_file()
    drawn.drop(columns="judge_score").to_csv("labels.csv", index=False)
    assert run_next(capsys, diagnosed(capsys, "s.csv", "--labels", "labels.csv")).code == 0


def test_labels_of_a_second_file_are_looked_over_with_the_scores(capsys, drawn):
    """What is said of labels in a second file is what is said of the same labels in the table."""
    drawn.drop(columns="oracle_label").to_csv("s.csv", index=False)
    drawn.drop(columns="judge_score").rename(columns={"oracle_label": "stars"}).to_csv("the labels.csv", index=False)
    whole = diagnosed(capsys, "scores.csv")
    apart = diagnosed(capsys, "s.csv", "--labels", "the labels.csv", "--label-col", "stars")
    assert apart["labels"] == whole["labels"]
    assert apart["suspicious"] == whole["suspicious"]
    assert [one["name"] for one in apart["column_facts"]] == ["prompt_id", "candidate", "judge_score"]
    assert "--label-col stars --labels 'the labels.csv'" in apart["next_command"]
    assert run_next(capsys, apart).code == 0


def test_labels_that_match_no_candidate_are_refused(capsys, drawn):
    """A file of labels of other prompts ends with exit code 2 and the columns of the scores."""
    drawn.drop(columns="oracle_label").to_csv("s.csv", index=False)
    drawn.assign(prompt_id="other" + drawn["prompt_id"]).to_csv("labels.csv", index=False)
    done = typed(capsys, "doctor", "s.csv", "--labels", "labels.csv")
    assert (done.code, "judge_score" in done.out) == (2, True)
    assert "labels.csv" in done.err


def test_several_judges_without_labels_are_held_against_each_other(capsys, drawn):
    """Without labels but with two judges the next command takes one as the reference, and runs."""
    bare = drawn.drop(columns="oracle_label")
    parts = [bare.assign(judge="a judge"), bare.assign(judge="another", judge_score=bare["judge_score"] ** 2)]
    pd.concat(parts).to_csv("s.csv", index=False)
    document = diagnosed(capsys, "s.csv")
    assert "--oracle 'judge:a judge'" in document["next_command"]
    done = run_next(capsys, document)
    assert done.code == 0
    assert "agreement with a judge" in done.out


def test_partial_labels_are_flagged(capsys, drawn):
    """A fifth of the prompts without labels is more than a slip, and the doctor counts them."""
    drawn.loc[drawn["prompt_id"] < "p0000020", "oracle_label"] = None
    drawn.to_csv("s.csv", index=False)
    document = diagnosed(capsys, "s.csv")
    assert suspected(document, "20 of 100 prompts lack labels; an audit will describe the others")
    assert document["labels"]["unlabelled_prompts"] == 20
    drawn.assign(propensity=0.8).to_csv("s.csv", index=False)
    assert suspected(
        diagnosed(capsys, "s.csv"), "an audit will estimate figures for all of them, by the propensities"
    )
    assert "estimates for all 100 prompts" in " ".join(str(bw.audit("s.csv")).split())


def test_names_that_differ_in_case_are_flagged(capsys, folder):
    """Two candidate names that differ only in case are probably one, and are named."""
    rows = scored([[0.1, 0.5, 0.4]] * 4, [[1, 0, 0.4]] * 4)
    for row, name in zip(rows, ["Base", "base ", "other"] * 4, strict=True):
        row["candidate"] = name
    written("s.csv", rows)
    assert suspected(diagnosed(capsys, "s.csv"), "differ only in case")


def test_a_ragged_table_is_called_so(capsys, folder):
    """Pools of many sizes are taken as ragged, and none is dropped for its size."""
    pools = [[0.1 * i for i in range(size)] for size in (2, 3, 4, 2, 3, 4)]
    written("s.csv", scored(pools, pools))
    document = diagnosed(capsys, "s.csv")
    assert (document["shape"], document["dropped"]) == ("ragged", {})


@pytest.mark.parametrize(
    "name", ["a b.csv", "a;touch owned.csv", "$(touch owned).csv", "it's.csv", "-x.csv", "a&b.csv"]
)
def test_suggestions_survive_a_shell(capsys, drawn, name):
    """A file name that a shell would run or read as a flag is quoted, and the suggested command audits that file."""
    Path("scores.csv").rename(name)
    document = diagnosed(capsys, *(["./" + name] if name.startswith("-") else [name]))
    words = shlex.split(document["next_command"])
    assert [Path(word).name for word in words if Path(word).name == name] == [name]
    assert run_next(capsys, document).code == 0


def test_suggestions_quote_candidates_and_judges(capsys, folder):
    """Candidate and judge names in a suggested command are quoted too."""
    rows = scored([[0.9, 0.5, 0.1], [0.4, 0.6, 0.2]] * 4, [[1, 0.7, 0]] * 8)
    for row in rows:
        row["candidate"] = row["candidate"].replace("c2", "-the worst; $(touch owned)")
    written("s.csv", rows)
    document = diagnosed(capsys, "s.csv")
    assert shlex.split(document["next_command"])[-1] == "--control=-the worst; $(touch owned)"
    assert run_next(capsys, document).code == 0


def test_the_next_command_is_one_line(capsys, folder):
    """However long the path, the suggested command is printed on one line, ready to be copied."""
    deep = folder / ("long folder name " * 8).strip() / "again"
    deep.mkdir(parents=True)
    simulate("arena", n=20, seed=3).frame().to_csv(deep / "scores.csv", index=False)
    out = typed(capsys, "doctor", deep / "scores.csv").out
    assert typed(capsys, *shlex.split(out.splitlines()[-1])[1:]).code == 0


def test_every_column_is_shown_with_what_it_is_taken_for(capsys, folder):
    """Name, kind, blanks, examples and role of every column stand in the document and in the words."""
    Path("s.csv").write_text("Prompt ID;Model;Score;Human Rating;topic\n1;a;85%;4 stars;x\n1;b;7,5%;;y\n", "utf-8")
    facts = diagnosed(capsys, "s.csv")["column_facts"]
    assert [(one["name"], one["missing"], one["taken"]) for one in facts] == [
        *(("Prompt ID", 0, "prompt_id"), ("Model", 0, "candidate"), ("Score", 0, "judge_score")),
        *(("Human Rating", 1, "oracle_label"), ("topic", 0, "stratum")),
    ]
    assert [one["kind"] for one in facts] == [
        *("numbers", "names", "numbers (percent, 85% = 0.85)", "numbers (stars, 4 stars = 4)", "names")
    ]
    words = typed(capsys, "doctor", "s.csv").out
    assert all(piece in words for piece in ("Human Rating", "85%, 7,5%", "taken for", "oracle_label"))


def test_the_columns_are_shown_where_one_lacks(capsys, folder):
    """A file that is no table is refused with exit code 2, after the table of its columns."""
    Path("s.csv").write_text("item,model,points\n1,\x1b[31ma,high\n1,b,low\n", "utf-8")
    done = typed(capsys, "doctor", "s.csv", "--json", "d.json")
    assert done.code == 2
    assert "prompt_id" in done.out
    assert "candidate" in done.out
    assert "\x1b" not in done.out
    assert "no column for judge_score" in done.err
    assert strict(Path("d.json").read_text("utf-8"))["schema"] == "bonwise.error/1"
    as_document = typed(capsys, "doctor", "s.csv", "--json", "-")
    assert strict(as_document.out)["schema"] == "bonwise.error/1"
    assert as_document.err == done.err


def test_a_file_that_cannot_be_read_has_no_columns(capsys, folder):
    """Where there are no columns only the error is said."""
    Path("s.csv").write_bytes(b"\x00")
    done = typed(capsys, "doctor", "s.csv")
    assert (done.code, done.out) == (2, "")


def looked_over(folder, *, labelled=True, judges=("j",), lacking=(), pairs=6):
    """Return the document of a file of twice as many prompts as there are pairs; some lack a candidate."""
    rows = [
        {**row, "judge": judge}
        for judge in judges
        for row in scored([[0.9, 0.5, 0.5], [0.4, 0.6, 0.2]] * pairs, [[1, 0.7, 0]] * 2 * pairs)
    ]
    kept = [row for row in rows if (row["prompt_id"], row["candidate"]) not in lacking]
    if not labelled:
        kept = [{key: value for key, value in row.items() if key != "oracle_label"} for row in kept]
    return doctor(written(folder / "scores.csv", kept))


@pytest.mark.parametrize("labelled", [True, False])
def test_what_is_written_is_read_back(tmp_path, labelled):
    """A file with labels and one without are read back; a frame has one row per judge."""
    document = looked_over(tmp_path, labelled=labelled, judges=("j", "k"))
    loaded = read_back(document, tmp_path)
    assert list(loaded.to_frame()["judge"]) == ["j", "k"]
    assert loaded.to_frame()["tie_rate"].tolist() == [judge.tie_rate for judge in document.judges]


def test_keys_that_say_nothing_are_absent(tmp_path):
    """Without labels nothing is said of their ends."""
    labels = looked_over(tmp_path, labelled=False).to_dict()["labels"]
    assert list(labels)[-1] == "unlabelled_prompts"
    assert "lowest" in looked_over(tmp_path).to_dict()["labels"]


@pytest.mark.parametrize(
    ("keys", "value", "named"),
    [
        ("shape", "square", "shape"),
        ("counts.rows", -1, "counts.rows"),
        ("judges.0.tie_rate", 1.5, "judges[0].tie_rate"),
        ("judges.0", {"judge": "j", "prompts": 3}, "judges[0]"),
        ("judges.0.prompts", 0, "judges[0]"),
        ("labels.distinct", ..., "labels"),
        ("labels.labelled_rows", 0, "labels"),
        ("dropped", {"lacks c1": 0.5}, "dropped.lacks c1"),
        ("next_command", ..., "next_command"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, keys, value, named):
    """A value that no file has is refused, and its place is named."""
    assert f"tampered.json: {named}" in refusal(looked_over(tmp_path), tmp_path, keys, value)


def test_reasons_stand_in_one_order(tmp_path):
    """What an audit drops is counted in the order of the file, whatever the seed of hashes is."""
    names = [f"c{at % 3}" for at in range(6)]
    lacking = {(f"p{at:03d}", name) for at, name in enumerate(names)}
    found = looked_over(tmp_path, lacking=lacking, pairs=40).dropped
    assert found == {"lacks c0": 2, "lacks c1": 2, "lacks c2": 2}
    code = "import sys; from bonwise.doctoring.front import doctor; print(list(doctor(sys.argv[1]).dropped))"
    orders = {
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "scores.csv")],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert orders == {f"{list(found)}\n"}


def test_the_text_says_what_was_found(tmp_path):
    """Counts, columns, scores and labels are told, and the last line is the command to type."""
    said = text(looked_over(tmp_path), full=True).splitlines()
    assert said[:2] == [
        "Verdict: look at it first",
        "The file can be audited: 12 prompts and 36 rows; look at 2 findings first.",
    ]
    assert said[4] == "36 rows, 12 prompts, 3 candidate names, 1 judge; taken as rectangular"
    assert "j            12            0.2             0.9          5        16.7%                0%" in said
    assert any(
        line.startswith("labels 0 to 1, 3 distinct; prompts labelled 12, in part 0, not at all 0") for line in said
    )
    assert any(line.startswith("suspicious: Candidate 'c2'") for line in said)
    assert said[-2] == "Next:"
    assert said[-1].startswith("bonwise audit ")


def test_what_is_not_there_is_said(tmp_path):
    """A file without labels says so."""
    assert "no oracle labels" in text(looked_over(tmp_path, labelled=False))


def test_the_commonest_reasons_are_told(tmp_path):
    """Of seven reasons five are told apart, the commonest first, and the others are counted."""
    document = looked_over(tmp_path)
    reasons = {f"reason {at}": 1 + at for at in range(7)}
    told = [line for line in text(document.model_copy(update={"dropped": reasons})).splitlines() if "drops" in line]
    assert told[0] == "an audit drops 7 prompts: reason 6"
    assert told[-1] == "an audit drops 3 prompts: 2 other reasons"
    assert len(told) == 6


def test_many_strata_are_counted(tmp_path):
    """Of ten columns eight are named."""
    document = looked_over(tmp_path).model_copy(update={"strata": [f"s{at}" for at in range(10)]})
    document = document.model_copy(update={"column_facts": None})
    (row,) = (line for line in text(document).splitlines() if line.startswith("strata"))
    assert row.split(maxsplit=1)[1] == "s0, s1, s2, s3, s4, s5, s6, s7, 2 more"


def test_a_judge_without_prompts_has_a_row_of_dashes(tmp_path):
    """A judge that scored no prompt completely is in the table, without figures."""
    document = looked_over(tmp_path)
    empty = document.judges[0].model_validate({"judge": "none", "prompts": 0})
    said = text(document.model_copy(update={"judges": [*document.judges, empty]}), full=True)
    (row,) = (line for line in said.splitlines() if line.startswith("none"))
    assert row.split() == ["none", "0", "-", "-", "-", "-", "-"]


def test_every_reader_sees_the_same(tmp_path):
    """Every word of the text is on the page; Markdown has the command in a block of its own."""
    document = looked_over(tmp_path)
    assert not lost(document)
    assert f"```sh\n{document.next_command}\n```" in markdown(document)


def test_names_stay_text(tmp_path):
    """Judges, reasons and columns are text wherever they are shown."""
    document = looked_over(tmp_path, judges=(HOSTILE,))
    harmless(document.model_copy(update={"dropped": {HOSTILE: 1}, "strata": [HOSTILE], "suspicious": [HOSTILE]}))

"""Files that commands write: which they may replace, where pages go, what is said of them."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pandas as pd
import pytest

import bonwise as bw
from bonwise.calls.engine import Engine
from bonwise.errors import FileError
from bonwise.table.writing import refuse_foreign
from bonwise.testing import simulate
from cli.commands import every_command, strict, typed
from cli.served import served
from docs.stock import write_picks

# No command replaces a file that bonwise did not write, unless it is told to; labels that were filled in stay.


OUTPUTS = {
    "json",
    "json_target",
    "html",
    "markdown",
    "junit",
    "per_prompt",
    "examples",
    "fix",
    "out",
    "sheet",
    "save",
    "scores",
    "pairs",
    "folder",
    "stats_out",
}
"""Parameters of commands that name a file, or a folder, in which they write."""

READS = {
    *(("study label-strategy", "pairs"), ("factor fit", "pairs"), ("factor study", "pairs")),
    *(("prompts show", "pools"), ("monitor", "scores")),
}
"""Parameters of such a name that mean something else."""

COMMANDS = {
    "audit": "audit scores.csv",
    "compare": "compare first.jsonl second.jsonl --labels labels.csv",
    "doctor": "doctor scores.csv",
    "judge": "judge pools.jsonl --judge local:length",
    "labels compare": "labels compare scores.csv --draws 2",
    "labels draw": "labels draw unlabelled.csv --labels 60 --out design.csv",
    "ledger export": "ledger export runs",
    "ledger stats": "ledger stats runs",
    "monitor": "monitor scores.csv --half-width 0.1",
    "plan": "plan --question recovery --candidates 4 --within-r 0.3 --half-width 0.1",
    "preferences": "preferences verdicts.csv --verdict-col v --label-col l --prompt-col i",
    "route": "route judges.csv",
    "select": "select pools.jsonl --judge local:length",
    "factor fit": "factor fit ratings.csv --human human",
    "factor study": "factor study ratings.csv --human human",
    "factor leaderboard": "factor leaderboard fit.json",
    "factor compare": "factor compare fit.json a b",
    "factor predict": "factor predict fit.json",
    "factor explain": "factor explain fit.json a b",
    "factor strengths": "factor strengths fit.json a",
    "stack fit": "stack fit judges.csv",
    "stack audit": "stack audit judges.csv --stack stack.json",
    "study calibration": "study calibration scores.csv",
    "study candidates": "study candidates scores.csv",
    "study confidence": "study confidence stated.csv",
    "study discretisation": "study discretisation scores.csv",
    "study draws": "study draws drawn.csv",
    "study label-strategy": "study label-strategy scores.csv",
    "study mix": "study mix scores.csv",
    "study readiness": "study readiness scores.csv",
    "study requirements": "study requirements scores.csv",
    "study transfer": "study transfer scores.csv --to others.csv",
    "study strategies": "study strategies scores.csv",
    "watch": "watch first.jsonl",
}
"""Commands with files that they write, as far as they come before anything is read."""

FLAGS = {"json_target": "--json", "folder": "--out"}

FOREIGN = {
    "notes": "# mine\n",
    "a table": "prompt_id,candidate,judge_score\np,a,1\n",
    "a document": '{"schema": "mine/1"}\n',
    "a page": "<!DOCTYPE html>\n<html><head><title>mine</title></head></html>\n",
    "lines": '{"prompt_id": "p", "prompt": "q", "candidates": ["a"]}\n',
    "bytes": "\ufffd\x00\x01",
}

OWN = {
    "a document": '{\n  "schema": "bonwise.audit/1",\n  "judge": "j"\n}\n',
    "a document with one blank": '{\n "schema": "bonwise.draw_model/1"\n}\n',
    "a page": '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta name="generator" content="bonwise">\n',
    "markdown": "## Audit of scores.csv\n",
    "junit": '<?xml version="1.0" encoding="utf-8"?>\n<testsuites name="bonwise audit" tests="1">\n',
    "nothing": "",
}


WRITING = [
    (name, parameter)
    for name, command in every_command().items()
    for parameter in command.__annotations__
    if parameter in OUTPUTS and (name, parameter) not in READS
]


def test_every_command_that_writes_is_told_how_to_replace():
    """Each has --force, and is in this file."""
    commands = every_command()
    writing = {name for name, _ in WRITING}
    assert {name for name in writing if "force" not in commands[name].__annotations__} == set()
    assert {name for name, command in commands.items() if "force" in command.__annotations__} == writing
    assert writing == {*COMMANDS, "demo"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with a table, pools and a run folder."""
    monkeypatch.chdir(tmp_path)
    simulate("arena", n=60, seed=1).frame().to_csv("scores.csv", index=False)
    simulate("arena", n=200, seed=1).frame().drop(columns="oracle_label").to_csv("unlabelled.csv", index=False)
    pool = {"prompt_id": "p", "prompt": "q", "candidates": ["a", "bb"]}
    Path("pools.jsonl").write_text(json.dumps(pool) + "\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(("name", "parameter"), [one for one in WRITING if one[0] != "demo"], ids=str)
def test_a_file_of_another_kind_is_kept(capsys, folder, monkeypatch, name, parameter):
    """Before anything is read, sent or written the command ends with 2 and names the file and --force."""
    if name.startswith("ledger"):
        Engine(folder / "runs").ledger.close()
    target = Path("mine.jsonl" if parameter == "out" else "mine")
    target.write_text(FOREIGN["a table"], encoding="utf-8")
    more = ["--fail-under", "recovery=0.2"] if parameter == "junit" else []
    flag = FLAGS.get(parameter, "--" + parameter.replace("_", "-"))
    words = [*COMMANDS[name].split(), *more]
    if flag in words:
        words[words.index(flag) + 1] = str(target)
    else:
        words += [flag, str(target)]
    done = typed(capsys, *words)
    assert done.code == 2
    assert f"{target}: is there already" in done.err
    assert "--force" in done.err
    assert target.read_text("utf-8") == FOREIGN["a table"]


@pytest.mark.parametrize("kind", FOREIGN)
def test_it_is_replaced_where_that_is_asked_for(capsys, folder, kind):
    """With --force whatever stands there is replaced."""
    Path("out").write_text(FOREIGN[kind], encoding="utf-8")
    for flag in ("--json", "--html", "--per-prompt", "--markdown"):
        assert typed(capsys, "audit", "scores.csv", flag, "out", "--force").code == 0
    Path("out").write_text(FOREIGN[kind], encoding="utf-8")
    assert typed(capsys, "audit", "scores.csv", "--json", "out").code == 2
    assert Path("out").read_text("utf-8") == FOREIGN[kind]


def test_what_a_command_wrote_it_replaces(capsys, folder):
    """Typed again, every command goes on without asking."""
    page = "audit scores.csv --json a.json --html a.html --markdown a.md --per-prompt rows.csv --junit a.xml"
    commands = (
        f"{page} --fail-under tie_rate=0.1",
        "audit scores.csv --per-prompt rows.jsonl",
        "judge pools.jsonl --judge local:length --out judged.csv --pairs pairs.csv",
        "labels draw unlabelled.csv --labels 60 --out design.csv --sheet sheet.csv --json draw.json",
        "select pools.jsonl --judge local:length --html picks.html",
        "doctor scores.csv --json doctor.json",
        "demo --out demo",
    )
    for _ in range(2):
        for words in commands:
            done = typed(capsys, *words.split())
            assert done.code in {0, 1}, done.err


def test_an_export_is_replaced(capsys, folder, monkeypatch):
    """An export of a ledger shows by its keys whose it is."""
    with served(monkeypatch, folder):
        assert typed(capsys, "judge", "pools.jsonl", "--judge", "pointwise:openai/m", "--out", "x.csv").code == 0
    for _ in range(2):
        assert typed(capsys, "ledger", "export", "bonwise-run", "--out", "calls.jsonl").code == 0
    assert len(Path("calls.jsonl").read_text("utf-8").splitlines()) == 2


@pytest.mark.parametrize("kind", OWN)
@pytest.mark.parametrize("target", ["--json", "--html", "--markdown"])
def test_what_shows_that_it_is_own_is_replaced(capsys, folder, kind, target):
    """Documents by their schema, pages by their mark, summaries by their first words; and empty files."""
    Path("out").write_text(OWN[kind], encoding="utf-8")
    assert typed(capsys, "audit", "scores.csv", target, "out").code == 0


def sheet(label=""):
    """Return the text of a label sheet."""
    return f"prompt_id,candidate,oracle_label\np,a,\np,b,{label}\n"


FILLED = {
    "as it was": sheet("0.5"),
    "with a word": sheet("good"),
    "saved by a spreadsheet": "\ufeff" + sheet("1").replace(",", ";").replace("\n", "\r\n"),
    "with texts": 'prompt_id,candidate,oracle_label,text\np,a,,"one, ""two""\nthree"\np,b,1,x\n',
}


@pytest.mark.parametrize("kind", FILLED)
def test_a_filled_sheet_is_never_replaced(capsys, folder, kind):
    """Not even with --force: the labels in it are somebody's work."""
    Path("sheet.csv").write_text(FILLED[kind], encoding="utf-8", newline="")
    before = Path("sheet.csv").read_bytes()
    for words in (
        "judge pools.jsonl --judge local:length --out sheet.csv --force",
        "audit scores.csv --json sheet.csv --force",
        "labels draw unlabelled.csv --labels 60 --out design.csv --sheet sheet.csv --force",
    ):
        done = typed(capsys, *words.split())
        assert (done.code, Path("sheet.csv").read_bytes()) == (2, before)
        assert "never replaced" in done.err or "holds labels already" in done.err


def test_an_empty_sheet_is_a_file_like_any_other(capsys, folder):
    """A sheet without a label is replaced by a new one, and by another file with --force."""
    Path("sheet.csv").write_text(sheet(), encoding="utf-8")
    draw = "labels draw unlabelled.csv --labels 60 --out design.csv --sheet sheet.csv"
    assert typed(capsys, *draw.split()).code == 0
    assert typed(capsys, "audit", "scores.csv", "--json", "sheet.csv").code == 2
    assert typed(capsys, "audit", "scores.csv", "--json", "sheet.csv", "--force").code == 0


@pytest.mark.parametrize(
    "name", ["scores.csv", "labels.csv", "pools.jsonl", "audit.html", "winners-local-length.jsonl"]
)
def test_the_demo_keeps_the_files_of_a_user(capsys, folder, name):
    """It ends with 2 before it writes anything."""
    place = folder / "demo" / name
    place.parent.mkdir()
    place.write_text(FOREIGN["a table"], encoding="utf-8")
    done = typed(capsys, "demo", "--out", "demo")
    assert done.code == 2
    assert name in done.err
    assert [one.name for one in place.parent.iterdir()] == [name]
    assert place.read_text("utf-8") == FOREIGN["a table"]


def test_the_demo_keeps_labels_that_were_filled_in(capsys, folder):
    """With --force the demo replaces other files, but no labels of one's own."""
    Path("demo").mkdir()
    Path("demo/scores.csv").write_text(FOREIGN["a table"], encoding="utf-8")
    assert typed(capsys, "demo", "--out", "demo", "--force").code == 0
    place = folder / "demo" / "labels.csv"
    mine = place.read_text("utf-8").replace(",1.0\n", ",0.25\n", 1)
    assert mine != place.read_text("utf-8")
    place.write_text(mine, encoding="utf-8")
    for more in ((), ("--force",)):
        done = typed(capsys, "demo", "--out", "demo", *more)
        assert (done.code, place.read_text("utf-8")) == (2, mine)


def test_a_link_stands_for_what_it_points_to(capsys, folder):
    """A file behind a link is a file."""
    Path("mine").write_text(FOREIGN["notes"], encoding="utf-8")
    Path("link").symlink_to("mine")
    done = typed(capsys, "audit", "scores.csv", "--json", "link")
    assert (done.code, Path("mine").read_text("utf-8")) == (2, FOREIGN["notes"])


def test_pipes_and_devices_are_written_to(folder):
    """What cannot be replaced is not looked at."""
    refuse_foreign("/dev/null")
    refuse_foreign("absent")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_cannot_be_read_is_kept(folder):
    """The error is one line."""
    Path("mine").write_text("x", encoding="utf-8")
    Path("mine").chmod(0)
    with pytest.raises(FileError):
        refuse_foreign("mine")


def test_a_long_first_line_is_told_by_its_first_keys(folder):
    """A line of picks may be longer than what is looked at."""
    Path("long.jsonl").write_text(
        json.dumps({"key": "0", "choice": 0, "body": "x" * 200_000}) + "\n", encoding="utf-8"
    )
    refuse_foreign("long.jsonl", [("key", "choice")])
    with pytest.raises(FileError):
        refuse_foreign("long.jsonl", [("choice", "key")])


def stocked(folder):
    """Write scores with labels, and two files of picks of them."""
    drawn = simulate("pilot", n=40, seed=5)
    table = drawn.frame()
    table.to_csv(folder / "scores.csv", index=False)
    ids = list(dict.fromkeys(table["prompt_id"]))
    write_picks(folder / "a.jsonl", ids, drawn.draws[:, :, 0])
    write_picks(folder / "b.jsonl", ids, drawn.draws[:, :, :3].mean(axis=2))
    return {
        "compare": (folder / "a.jsonl", folder / "b.jsonl", "--labels", folder / "scores.csv"),
        "plan": ("--question", "recovery>0", "--pilot", folder / "scores.csv"),
        "route": (folder / "scores.csv",),
    }


def test_a_page_is_written_beside_the_text(tmp_path, capsys):
    """With --html each command writes a whole page, the same for the same input, and prints as before."""
    for name, arguments in stocked(tmp_path).items():
        target = tmp_path / f"{name}.html"
        done = typed(capsys, name, *arguments, "--html", target)
        first = target.read_bytes()
        assert (done.code, first.lower().startswith(b"<!doctype html>"), b"<svg" in first) == (0, True, True)
        assert typed(capsys, name, *arguments, "--html", target).out == done.out
        assert target.read_bytes() == first


def test_a_page_replaces_no_input_and_no_other_output(tmp_path, capsys):
    """A page that would overwrite the scores, or the JSON, is refused, and nothing is written there."""
    for name, arguments in stocked(tmp_path).items():
        source = next(one for one in arguments if str(one).endswith(("csv", "jsonl")))
        before = source.read_bytes()
        for flags in (("--html", source), ("--json", tmp_path / "x", "--html", tmp_path / "x")):
            done = typed(capsys, name, *arguments, *flags)
            assert (done.code, "is read or written already" in done.err) == (2, True)
        assert source.read_bytes() == before
        assert not (tmp_path / "x").exists()


def test_documentation_that_is_nowhere_is_refused_before_anything_is_done(tmp_path, capsys, monkeypatch):
    """A bad BONWISE_DOCS ends with exit code 2, one error and no page; without a page it does not matter."""
    monkeypatch.setenv("BONWISE_DOCS", "javascript:alert(1)")
    for name, arguments in stocked(tmp_path).items():
        done = typed(capsys, name, *arguments, "--html", tmp_path / "page.html")
        assert (done.code, done.out) == (2, "")
        assert "BONWISE_DOCS is neither an address nor a folder of a built site: javascript:alert(1)" in done.err
        assert not (tmp_path / "page.html").exists()
        assert typed(capsys, name, *arguments).code == 0
    # Before the input is read, too.
    assert "BONWISE_DOCS" in typed(capsys, "route", "nowhere.csv", "--html", tmp_path / "page.html").err


# What ``bonwise doctor --fix`` says is what stands in the table that it writes.


def test_the_document_says_what_was_written(capsys, tmp_path, monkeypatch):
    """The table needs no flag; the document names it; convert is gone, and the sentence says what to type."""
    monkeypatch.chdir(tmp_path)
    lines = ["prompt_id,gpt4_score,claude_score,gpt4_label,claude_label", "p,0.1,0.3,1,0", "q,0.2,0.4,0,1"]
    Path("wide.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = typed(capsys, "doctor", "wide.csv", "--fix", "rows.csv", "--json", "said.json")
    assert done.code == 0, done.err
    said = strict(Path("said.json").read_text("utf-8"))
    assert (said["fixed"], said["next_command"]) == ("rows.csv", "bonwise audit rows.csv")
    assert pd.read_csv("rows.csv")["judge_score"].tolist() == [0.1, 0.3, 0.2, 0.4]
    assert bw.load("said.json").fixed == "rows.csv"
    assert "rows.csv: the table as it was understood" in done.out
    again = typed(capsys, "doctor", "wide.csv", "--fix", "wide.csv")
    assert again.code == 2
    other = typed(capsys, "doctor", "wide.csv", "--fix", "rows.parquet")
    assert (other.code, "a file that ends in .csv" in other.err, Path("rows.parquet").exists()) == (2, True, False)
    gone = typed(capsys, "convert", "my wide.csv", "--out", "rows.csv")
    assert gone.code == 2
    assert "type bonwise doctor 'my wide.csv' --fix rows.csv" in gone.err


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (("learn", "my draws.csv", "--save=voi.json"), "study draws 'my draws.csv' --save=voi.json"),
        (("confidence", "p.csv", "--label-col", "a b"), "study confidence p.csv --label-col 'a b'"),
        (
            ("stack", "apply", "s.csv", "--stack", "my stack.json", "--out", "o.csv", "--ragged"),
            "judge s.csv --judge 'stack:my stack.json' --out o.csv --ragged",
        ),
        (
            ("stack", "apply", "s.csv", "--stack=x.json", "--name", "all"),
            "judge s.csv --judge stack:x.json --name all",
        ),
    ],
)
def test_a_command_that_is_gone_says_what_to_type(capsys, tmp_path, monkeypatch, old, new):
    """Exit 2, with the new command complete: its files and flags, quoted; it is one that can be typed."""
    monkeypatch.chdir(tmp_path)
    gone = typed(capsys, *old)
    assert gone.code == 2
    assert gone.err.endswith(f" is gone (type bonwise {new})\n")
    done = typed(capsys, *shlex.split(new))
    assert (done.code, "no such file" in done.err) == (2, True), done.err


def test_labels_of_another_file_are_joined_as_the_flags_say(capsys, tmp_path, monkeypatch):
    """``--join-col`` joins by a column that both have, ``--by-line`` by position; other lengths are refused."""
    monkeypatch.chdir(tmp_path)
    scores = pd.DataFrame(
        [(f"p{x}", f"c{k}", f"t{x}-{k}", (k + x) % 3 / 2, (2 * k + x) % 3) for x in range(30) for k in range(3)],
        columns=["prompt_id", "candidate", "key", "judge_score", "oracle_label"],
    )
    scores.to_csv("whole.csv", index=False)
    scores.drop(columns="oracle_label").to_csv("scores.csv", index=False)
    scores[["key", "oracle_label"]].sample(frac=1, random_state=1).to_csv("shuffled.csv", index=False)
    scores[["oracle_label"]].to_csv("lines.csv", index=False)
    scores[["oracle_label"]][:-1].to_csv("short.csv", index=False)
    whole = bw.audit("whole.csv")["recovery"]
    for flags in (["--labels", "shuffled.csv", "--join-col", "key"], ["--labels", "lines.csv", "--by-line"]):
        done = typed(capsys, "audit", "scores.csv", *flags, "--json", "-")
        assert strict(done.out)["metrics"]["recovery"]["estimate"] == pytest.approx(whole.estimate, abs=1e-12)
    done = typed(capsys, "audit", "scores.csv", "--labels", "short.csv", "--by-line")
    assert (done.code, "89" in done.err, "90" in done.err) == (2, True, True)

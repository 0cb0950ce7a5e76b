"""Commands that are printed as the next ones run as they stand, whatever the identifiers look like."""

from __future__ import annotations

import json
import random
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bonwise.testing import simulate
from cli.commands import typed

# Commands that are printed as the next ones run as they stand: with the real files, and every flag repeated.


NAMES = {"prompt_id": "quest ion", "candidate": "answer", "judge_score": "rating"}
COLUMNS = ("--prompt-col", "quest ion", "--candidate-col", "answer", "--score-col", "rating")
EXCLUDE = ("--exclude", "the base")


def commands(text):
    """Return the printed commands, wrapped lines joined."""
    joined = text.replace("\\\n", " ")
    return [shlex.split(line) for line in joined.splitlines() if line.startswith("bonwise ")]


def scores(n=200, seed=1, **more):
    """Return scores with columns of other names, and a candidate whose name holds a blank."""
    frame = simulate("arena", n=n, seed=seed).frame()
    frame["candidate"] = frame["candidate"].replace(frame["candidate"].iloc[0], "the base")
    return frame.assign(**more)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with scores of odd names, with and without labels, and the truth of a sheet."""
    monkeypatch.chdir(tmp_path)
    frame = scores()
    frame.rename(columns=NAMES).to_csv("my scores.csv", index=False)
    frame.drop(columns="oracle_label").rename(columns=NAMES).to_csv("un labelled.csv", index=False)
    return frame


def fill(sheet, frame):
    """Fill in a label sheet."""
    blank = pd.read_csv(sheet)
    filled = blank.drop(columns="oracle_label").merge(frame[["prompt_id", "candidate", "oracle_label"]])
    filled[blank.columns].to_csv(sheet, index=False)


def runs(capsys, words):
    """Run a printed command and return what it said; it must not be bad usage."""
    done = typed(capsys, *words[1:])
    assert done.code in {0, 1, 3}, (words, done.err)
    return done


def settings_of(words, flags):
    """Return which of some flags a command repeats, each with its value."""
    return [(flag, words[words.index(flag) + 1]) for flag in flags[::2] if flag in words]


def test_an_audit_prints_what_comes_next(capsys, folder):
    """A weak judge: what a useful one needs, and routing. Columns and candidates are those of the audit."""
    done = typed(capsys, "audit", "my scores.csv", *COLUMNS, *EXCLUDE)
    printed = commands(done.out)
    assert [words[1:3] for words in printed] == [["study", "requirements"], ["route", "my scores.csv"]]
    for words in printed:
        assert settings_of(words, (*COLUMNS, *EXCLUDE)) == [*zip(COLUMNS[::2], COLUMNS[1::2], strict=True), EXCLUDE]
        runs(capsys, words)


@pytest.mark.parametrize(
    ("share", "flags", "wanted"),
    [
        (0.95, (), ["--fail-under", "recovery=0.5"]),
        (0.95, ("--target", "system", "--threshold", "global_r=0.3"), ["--fail-under", "global_r=0.3"]),
        (0.95, ("--fail-under", "recovery=0.5", "--confidence", "0.9"), ["--html", "audit.html"]),
        (0.6, (), ["--fail-under", "recovery=0.5"]),
    ],
)
def test_an_audit_that_may_pass_prints_how_to_check_it(capsys, folder, share, flags, wanted):
    """A useful judge or an open verdict: the gate of the verdict, and with gates the page; flags are repeated."""
    noise = np.random.default_rng(3).random(len(folder))
    scored = folder.assign(judge_score=(share * folder["oracle_label"] + (1 - share) * noise).round(3))
    scored.rename(columns=NAMES).to_csv("my scores.csv", index=False)
    (words,) = commands(typed(capsys, "audit", "my scores.csv", *COLUMNS, *flags).out)
    assert words[1:3] == ["audit", "my scores.csv"]
    assert words[-2:] == wanted
    kept = flags if wanted[0] != "--html" else flags[2:]
    assert settings_of(words[:-2], kept) == list(zip(kept[::2], kept[1::2], strict=True))
    runs(capsys, words)


@pytest.mark.parametrize("kind", ["easy", "few", "prompts", "candidates", "picks", "several"])
def test_an_audit_prints_what_settles_it(capsys, folder, kind):
    """What keeps a verdict open is settled by the command; of picks and of judges that differ it is the page."""
    frame, flags = folder, ()
    if kind == "easy":
        bad = frame.groupby("prompt_id").head(1).assign(candidate="the worst", judge_score=0.0, oracle_label=0.0)
        frame = pd.concat([frame, bad])
    elif kind == "few":
        frame = frame.head(32)
    elif kind == "prompts":
        frame = frame.assign(oracle_label=frame["oracle_label"].where(frame["prompt_id"] < "p0000100"))
    elif kind == "candidates":
        some = np.random.default_rng(4).random(len(frame)) < 0.5
        frame = frame.assign(oracle_label=frame["oracle_label"].where(some))
    elif kind == "several":
        good = frame.assign(judge="good", judge_score=frame["oracle_label"])
        frame = pd.concat([frame.assign(judge="bad"), good])
    frame.to_csv("table.csv", index=False)
    if kind == "picks":
        frame.drop(columns="judge_score").to_csv("labels.csv", index=False)
        pools = [
            {"prompt_id": one, "ids": list(own["candidate"]), "best": own["candidate"].iloc[0]}
            for one, own in frame.groupby("prompt_id")
        ]
        pd.DataFrame(pools).to_json("table.csv", orient="records", lines=True)
        flags = ("--labels", "labels.csv")
        Path("table.csv").rename("table.jsonl")
    (words,) = commands(typed(capsys, "audit", f"table.{'jsonl' if kind == 'picks' else 'csv'}", *flags).out)
    wanted = {
        "easy": ["--control", "the worst"],
        "few": ["--within-r"],
        "prompts": ["--design", "uniform"],
        "candidates": ["--design", "cells"],
    }.get(kind, ["--html", "audit.html"])
    assert words[-3:-1] == ["4", "--within-r"] if kind == "few" else words[-2:] == wanted
    runs(capsys, words)


def test_doctor_prints_the_audit(capsys, folder):
    """With the columns that were named, and the candidates it suspects."""
    done = typed(capsys, "doctor", "my scores.csv", *COLUMNS)
    (words,) = commands(done.out)
    assert words[:3] == ["bonwise", "audit", "my scores.csv"]
    assert [words[words.index(flag) + 1] for flag in COLUMNS[::2]] == list(COLUMNS[1::2])
    runs(capsys, words)


@pytest.mark.parametrize("design", ["rule", "uniform", "stratified", "neyman", "pick", "pair"])
def test_a_draw_prints_what_reads_it_back(capsys, folder, design):
    """The audit, and for a pilot the draw of the rest: real names, columns and candidates that were left out."""
    draw = ("labels", "draw", "un labelled.csv", "--labels", "40", "--design", design, "--seed", "3")
    done = typed(capsys, *draw, "--out", "my draw.csv", "--sheet", "my sheet.csv", *COLUMNS, *EXCLUDE)
    assert done.code == 0, done.err
    (words,) = commands(done.out)
    for flag, value in (*zip(COLUMNS[::2], COLUMNS[1::2], strict=True), EXCLUDE):
        assert words[words.index(flag) + 1] == value
    fill("my sheet.csv", folder)
    again = runs(capsys, words)
    if design == "neyman":
        (words,) = commands(again.out)
        fill("more-my sheet.csv", folder)
        runs(capsys, words)
    assert words[1] == "audit"


def test_a_plan_prints_what_reads_as_its_pilot(capsys, folder):
    """A pilot's columns and the candidates it leaves out stand in each command; the file names are the plan's own."""
    asked = ("plan", "--question", "recovery", "--half-width", "0.2", "--pilot", "my scores.csv")
    done = typed(capsys, *asked, *COLUMNS, *EXCLUDE)
    assert done.code == 0, done.err
    printed = commands(done.out)
    assert [words[1] for words in printed] == ["labels", "audit", "monitor"]
    scores(400, seed=9).drop(columns="oracle_label").rename(columns=NAMES).to_csv("scores.csv", index=False)
    for words in printed:
        assert words[words.index("--exclude") + 1] == "the base"
        if words[1] == "labels":
            words[words.index("--labels") + 1] = "60"
        runs(capsys, words)
        if words[1] == "labels":
            fill("labels.csv", scores(400, seed=9))


def test_learning_prints_itself_and_then_a_strategy(capsys, folder):
    """Without --save it prints the whole command; with it the strategy, with the file's name."""
    simulate("pilot", n=60, seed=2).frame().rename(columns={"prompt_id": "quest ion"}).to_csv(
        "my draws.csv", index=False
    )
    asked = ("study", "draws", "my draws.csv", "--prompt-col", "quest ion", "--max-draws", "5", "--seed", "4")
    (words,) = commands(typed(capsys, *asked).out)
    assert words == [
        "bonwise",
        *asked[:3],
        "--max-draws",
        "5",
        "--seed",
        "4",
        "--prompt-col",
        "quest ion",
        *words[-2:],
    ]
    (last,) = commands(runs(capsys, words).out)
    assert last[1] == "select"
    assert f"model={words[-1]}" in last[-1]


def test_a_draw_of_pairs_prints_both_steps(capsys, folder):
    """How the pairs are judged, and the study that reads the verdicts with their record."""
    frame = folder.assign(text="words")
    pools = [
        {"prompt_id": prompt, "prompt": "q", "candidates": [{"id": name, "text": "t"} for name in own["candidate"]]}
        for prompt, own in frame.groupby("prompt_id")
    ]
    pd.DataFrame(pools).to_json("pools.jsonl", orient="records", lines=True)
    asked = ("study", "label-strategy", "my scores.csv", "--pairs", "20", "--pools", "pools.jsonl")
    done = typed(capsys, *asked, "--out", "my pairs.jsonl", *COLUMNS, *EXCLUDE)
    assert done.code == 0, done.err
    first, second = commands(done.out)
    assert first[:3] == ["bonwise", "judge", "my pairs.jsonl"]
    first[first.index("--judge") + 1] = "local:length"
    runs(capsys, first)
    assert [second[second.index(flag) + 1] for flag in ("--drawn", "--exclude")] == ["my pairs.drawn.csv", "the base"]
    assert Path("my pairs.drawn.csv").is_file()


def test_a_uniform_draw_is_refused_where_the_record_says_otherwise(capsys, folder):
    """`audit` and `monitor` name the record beside the labels; a uniform record, or none, is no reason to refuse."""
    folder.drop(columns="oracle_label").to_csv("scores.csv", index=False)
    for design in ("rule", "uniform"):
        draw = ("labels", "draw", "scores.csv", "--labels", "40", "--design", design)
        assert typed(capsys, *draw, "--out", f"{design}.csv", "--sheet", f"{design}-labels.csv").code == 0
        fill(f"{design}-labels.csv", folder)
    audit = ("audit", "scores.csv", "--labels")
    monitor = ("monitor", "--scores", "scores.csv", "--half-width", "0.2")
    for words in ((*audit, "rule-labels.csv"), (*monitor, "rule-labels.csv")):
        done = typed(capsys, *words, "--design", "uniform")
        assert done.code == 2
        assert "rule.csv beside it is the record of a draw by the rule 'rule'" in done.err
        assert "--design rule.csv" in done.err
    for words in ((*audit, "uniform-labels.csv"), (*monitor, "uniform-labels.csv")):
        assert typed(capsys, *words, "--design", "uniform").code in {0, 3}
    Path("rule.csv").rename("elsewhere.txt")
    assert typed(capsys, *audit, "rule-labels.csv", "--design", "uniform").code == 0


# Identifiers that look like words for nothing: every command takes them for what they are, text.


WORDS = ("NA", "null", "n/a", "None", "nan", "<NA>", "NULL", "none", "NaN", "na")
NAMES_OF_IDS = ("NA", "null", "n/a", "None")
COMMANDS = {
    "doctor": "doctor scores.csv",
    "audit": "audit scores.csv",
    "audit with labels apart": "audit judged.csv --labels labels.csv",
    "audit without a name": "audit scores.csv --exclude {0}",
    "audit of picks": "audit picks.jsonl --labels labels.csv",
    "audit by a reference": "audit two.csv --oracle judge:{1}",
    "compare": "compare picks.jsonl others.jsonl --labels labels.csv",
    "route": "route scores.csv",
    "study draws": "study draws draws.csv --save learnt.json --force",
    "confidence of scores": "study confidence scores.csv",
    "confidence of pairs": "study confidence pairs.csv --labels labels.csv",
    "labels draw": "labels draw scores.csv --labels 20 --out drawn.csv --sheet sheet.csv --force",
    "labels draw pairs": "labels draw scores.csv --labels 20 --design pair --out drawn.csv --force",
    "labels compare": "labels compare scores.csv --draws 5",
    "monitor": "monitor scores.csv --half-width 0.1",
    "study mix": "study mix scores.csv --control {0}",
    "study calibration": "study calibration scores.csv",
    "study requirements": "study requirements scores.csv",
    "study of strategies": "study label-strategy scores.csv --verdicts pairs.csv",
    "votes": "preferences votes.csv --verdict-col won --pair-col left,right --prompt-col prompt_id",
}


def tables(folder, mark):
    """Write one study in every form, each identifier followed by the mark; the mark changes no order."""
    drawn = random.Random(3)  # noqa: S311 - a study for tests
    ids = [f"{WORDS[at]}{mark}" if at < len(WORDS) else f"p{at}" for at in range(60)]
    names = [f"{name}{mark}" for name in NAMES_OF_IDS]
    head = "prompt_id,candidate,judge,judge_score"
    files = {
        "scores.csv": [f"{head},low,high,oracle_label"],
        "judged.csv": [head],
        "labels.csv": ["prompt_id,candidate,oracle_label"],
        "draws.csv": ["prompt_id,candidate,draw_0,draw_1,draw_2"],
        "two.csv": [head],
        "pairs.csv": ["prompt_id,judge,a,b,shown_first,shown_second"],
        "votes.csv": ["prompt_id,left,right,won"],
        "picks.jsonl": [],
        "others.jsonl": [],
    }
    for prompt in ids:
        marks = [drawn.random() for _ in names]
        scores = [round(min(max(one + drawn.gauss(0, 0.2), 0.1), 0.9), 3) for one in marks]
        for name, score, label in zip(names, scores, marks, strict=True):
            row = f"{prompt},{name},null{mark},{score}"
            files["scores.csv"].append(f"{row},{score - 0.1:.3f},{score + 0.1:.3f},{label:.3f}")
            files["judged.csv"].append(row)
            files["labels.csv"].append(f"{prompt},{name},{label:.3f}")
            draws = ",".join(f"{score + drawn.gauss(0, 0.05):.3f}" for _ in range(3))
            files["draws.csv"].append(f"{prompt},{name},{draws}")
            files["two.csv"] += [row, f"{prompt},{name},None{mark},{label:.3f}"]
        for at, first in enumerate(names):
            for second in names[at + 1 :]:
                better = float(scores[at] > scores[names.index(second)])
                files["pairs.csv"].append(f"{prompt},null{mark},{first},{second},{better},{drawn.choice([0, 1])}")
                files["votes.csv"].append(f"{prompt},{first},{second},{drawn.choice(['1', '2'])}")
        for file, best in (("picks.jsonl", scores.index(max(scores))), ("others.jsonl", drawn.randrange(4))):
            files[file].append(json.dumps({"prompt_id": prompt, "ids": names, "best": names[best]}))
    for file, lines in files.items():
        (folder / file).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return names[0], f"None{mark}"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_word_for_nothing_is_an_identifier(capsys, tmp_path, monkeypatch, command):
    """Prompts, candidates, judges and models called NA or null give the figures that other names give."""
    found = {}
    for mark in ("", "!"):
        folder = tmp_path / f"with{mark}"
        folder.mkdir()
        monkeypatch.chdir(folder)
        names = tables(folder, mark)
        done = typed(capsys, *COMMANDS[command].format(*names).split(), "--json", "out.json", "--force")
        text = (folder / "out.json").read_text(encoding="utf-8") if (folder / "out.json").exists() else ""
        for word in sorted({*WORDS, *NAMES_OF_IDS}, key=len, reverse=True):
            text = text.replace(f"{word}!", word)
        assert text, done.err
        found[mark] = done.code, json.loads(text)
    assert found[""] == found["!"]
    assert found[""][0] in (0, 3), found[""][1]


def test_judge_to_audit_keeps_the_ids(capsys, tmp_path, monkeypatch):
    """What judge writes, audit, select and the label sheet read back: no prompt is lost on the way."""
    monkeypatch.chdir(tmp_path)
    tables(tmp_path, "")
    with (tmp_path / "pools.jsonl").open("w") as out:
        for at, prompt in enumerate(WORDS):
            candidates = [{"id": name, "text": "word " * (at + place)} for place, name in enumerate(NAMES_OF_IDS, 1)]
            out.write(json.dumps({"prompt_id": prompt, "prompt": "why", "candidates": candidates}) + "\n")
    assert typed(capsys, "judge", "pools.jsonl", "--judge", "local:length", "--out", "s.csv").code == 0
    typed(capsys, "audit", "s.csv", "--labels", "labels.csv", "--json", "a.json")
    assert json.loads((tmp_path / "a.json").read_text())["data"]["prompts"] == len(WORDS)
    lines = typed(capsys, "select", "pools.jsonl", "--judge", "local:length").out.splitlines()
    assert [json.loads(line)["prompt_id"] for line in lines] == list(WORDS)
    assert {json.loads(line)["best"] for line in lines} <= set(NAMES_OF_IDS)

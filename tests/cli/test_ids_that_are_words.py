"""Identifiers that look like words for nothing: every command takes them for what they are, text."""

from __future__ import annotations

import json
import random

import pytest

from cli.commands import typed

WORDS = ("NA", "null", "n/a", "None", "nan", "<NA>", "NULL", "none", "NaN", "na")
NAMES = ("NA", "null", "n/a", "None")
COMMANDS = {
    "doctor": "doctor scores.csv",
    "audit": "audit scores.csv",
    "audit with labels apart": "audit judged.csv --labels labels.csv",
    "audit without a name": "audit scores.csv --exclude {0}",
    "audit of picks": "audit picks.jsonl --labels labels.csv",
    "audit by a reference": "audit two.csv --oracle judge:{1}",
    "compare": "compare picks.jsonl others.jsonl --labels labels.csv",
    "route": "route scores.csv",
    "learn": "learn draws.csv --save learnt.json --force",
    "confidence of scores": "confidence scores.csv",
    "confidence of pairs": "confidence pairs.csv --labels labels.csv",
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
    names = [f"{name}{mark}" for name in NAMES]
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
        for word in sorted({*WORDS, *NAMES}, key=len, reverse=True):
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
            candidates = [{"id": name, "text": "word " * (at + place)} for place, name in enumerate(NAMES, 1)]
            out.write(json.dumps({"prompt_id": prompt, "prompt": "why", "candidates": candidates}) + "\n")
    assert typed(capsys, "judge", "pools.jsonl", "--judge", "local:length", "--out", "s.csv").code == 0
    typed(capsys, "audit", "s.csv", "--labels", "labels.csv", "--json", "a.json")
    assert json.loads((tmp_path / "a.json").read_text())["data"]["prompts"] == len(WORDS)
    lines = typed(capsys, "select", "pools.jsonl", "--judge", "local:length").out.splitlines()
    assert [json.loads(line)["prompt_id"] for line in lines] == list(WORDS)
    assert {json.loads(line)["best"] for line in lines} <= set(NAMES)

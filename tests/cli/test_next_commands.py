"""Commands that are printed as the next ones run as they stand, whatever the identifiers look like."""

from __future__ import annotations

import json
import random
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bonwise as bw
from bonwise.asked import AskedFor
from bonwise.auditing.next_steps import next_steps
from bonwise.cli.audit import AuditCommand
from bonwise.declared import places
from bonwise.factors import front as factors
from bonwise.factors.view_answers import WITHOUT_JUDGES
from bonwise.report.blocks import Part, Said
from bonwise.report.show import describe
from bonwise.studies.label_strategy.front import study_verdicts
from bonwise.testing import simulate, simulate_ratings
from cli.commands import typed
from report.verdicts import changed
from results.samples import shapes_of
from watching.logs import write_log

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
    "study discretisation": "study discretisation scores.csv --draws 5",
    "study readiness": "study readiness scores.csv",
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


# No next command and no colour contradicts a figure of its result: one rule of the table holds of each result.


def side(figure, than=0.0):
    """Return on which side of a value the interval of a plain figure lies, or ``open``."""
    low, high = figure.get("low"), figure.get("high")
    if low is None or high is None or low <= than <= high:
        return "open"
    return "above" if low > than else "below"


def few(plain):
    """Tell whether recovery rests on fewer prompts than a verdict needs, whatever its interval says."""
    return own(plain)["metrics"]["recovery"].get("effective_n", 20) < 20


def only(mapping):
    """Return the only value."""
    (value,) = mapping.values()
    return value


def own(plain):
    """Return the only judge of a plain document, which some documents hold themselves."""
    return only(plain["judges"]) if "judges" in plain else plain


def recoveries(plain):
    """Return how ways of asking differ from scores, as the verdict reads them."""
    groups = [group["strategies"] for group in own(plain)["strategies"].values()]
    ways = [*groups, own(plain)["matched_pairs"]["ways"]][0]
    return [side(way["minus_pointwise"]["recovery"]) for way in ways.values() if "minus_pointwise" in way]


def calibrated(plain):
    """Return the sides of the changes of recovery by calibration."""
    return [side(method["changes"]["recovery"]) for method in own(plain)["methods"].values()]


def reached(plain):
    """Return on which side of the least and of any wanted recovery the judge lies."""
    recovery, wanted = own(plain)["judge"]["recovery"], [each["target"] for each in own(plain)["targets"]]
    return side(recovery, min(wanted)), max(
        (each for each in wanted if side(recovery, each) == "above"), default=None
    )


def budget(plain):
    """Return the labels and prompts that a plan was told there are."""
    return [plain["settings"][name] for name in ("labels", "prompts") if plain["settings"].get(name) is not None]


def decided(plain):
    """Return on which side of a coin the verdicts that both orders decide are."""
    return side(own(plain)["ways"]["both_orders"]["accuracy_decided"], 0.5)


def moved(plain):
    """Return whether a signal of a watch moved, and whether settings changed."""
    return any("alarm" in signal for signal in plain["signals"].values()), bool(plain["data"]["changes"])


def beyond_baseline(plain):
    """Return on which side of 0 the advantage over the best baseline without judges lies."""
    alone = [plain["baselines"][name] for name in WITHOUT_JUDGES if name in plain["baselines"]]
    return side(min(alone, key=lambda each: each["cross_entropy"])["difference"])


def verdict_words(plain):
    """Return the verdicts on the groups of prompts of a model."""
    return {row["verdict"] for row in plain["groups"] or plain["prompts"]} - {"open"}


def overlapping(plain):
    """Return the models whose band reaches that of the first one."""
    first, *others = plain["models"]
    return [other for other in others if other["band_high"] >= first["band_low"]]


def any_figure(plain):
    """Hold of every result."""
    return bool(plain)


AUDIT, NOTHING = ("audit",), ()


def states(document):
    """Return the states of the points of the only judge."""
    return {point["state"] for point in own(document).values()}


# The kind of a result; which results the rule is of; their colours; what the next command may begin with, the
# commands of any step; and what it must hold.
RULES = [
    ("audit", lambda d: own(d)["verdict"]["level"] == "useful", "good", AUDIT, "--fail-under recovery=0.5"),
    (
        "audit",
        lambda d: side(own(d)["metrics"]["recovery"], 0.5) == "below" and not few(d),
        "bad",
        ("study requirements", "route"),
        "",
    ),
    ("audit", lambda d: "suspicions" in own(d), "open", ("audit", "plan"), ""),
    (
        "audit",
        lambda d: (side(own(d)["metrics"]["recovery"], 0.5) == "open" or few(d)) and "suspicions" not in own(d),
        "open",
        AUDIT,
        "--fail-under",
    ),
    ("compare", lambda d: side(d["differences"]["recovery"]) == "above", "good", AUDIT, "picks.jsonl --labels"),
    ("compare", lambda d: side(d["differences"]["recovery"]) == "below", "good", AUDIT, "others.jsonl --labels"),
    ("compare", lambda d: side(d["differences"]["recovery"]) == "open", "open", NOTHING, ""),
    ("confidence", lambda d: side(own(d)["metrics"]["mean_bin_error"]) == "above", "bad", NOTHING, ""),
    ("confidence", lambda d: side(own(d)["metrics"]["mean_bin_error"]) != "above", "open", NOTHING, ""),
    ("doctor", lambda d: not d["suspicious"] and "proposed" not in d and "not_audited" not in d, "good", AUDIT, ""),
    ("doctor", lambda d: d["suspicious"] and "not_audited" not in d, "open", AUDIT, ""),
    ("doctor", lambda d: "not_audited" in d and d["next_command"], "open", ("labels draw",), ""),
    ("doctor", lambda d: "not_audited" in d and not d["next_command"], "bad", NOTHING, ""),
    ("monitor", lambda d: d["verdict"] == "continue", "open", NOTHING, ""),
    ("monitor", lambda d: d["verdict"] == "stop: not better", "bad", AUDIT, ""),
    ("monitor", lambda d: d["verdict"] in {"stop: precise enough", "stop: better"}, "good", AUDIT, ""),
    ("plan", lambda d: d["verdict"] == "feasible" and not budget(d), "neutral", ("labels", "audit", "monitor"), ""),
    ("plan", lambda d: d["verdict"] == "feasible" and budget(d), "good", ("labels", "audit", "monitor"), ""),
    ("plan", lambda d: d["verdict"] == "underpowered", "open", NOTHING, ""),
    ("plan", lambda d: d["labels"] is None, "bad", NOTHING, ""),
    (
        "preferences",
        lambda d: side(own(d)["metrics"]["agreement"], 0.5) == side(own(d)["metrics"]["phi"]) == "above",
        "good",
        NOTHING,
        "",
    ),
    ("preferences", lambda d: side(own(d)["metrics"]["agreement"], 0.5) == "below", "bad", NOTHING, ""),
    (
        "preferences",
        lambda d: (
            side(own(d)["metrics"]["agreement"], 0.5) == "open"
            or (side(own(d)["metrics"]["agreement"], 0.5) == "above" and side(own(d)["metrics"]["phi"]) != "above")
        ),
        "open",
        NOTHING,
        "",
    ),
    (
        "route",
        lambda d: side(own(d)["recommendation"]["captured"]) == "above",
        "good",
        ("route",),
        "--save router.json",
    ),
    ("route", lambda d: side(own(d)["recommendation"]["captured"]) == "below", "bad", NOTHING, ""),
    ("route", lambda d: side(own(d)["recommendation"]["captured"]) == "open", "open", NOTHING, ""),
    ("selections", lambda d: d["totals"]["picked"] < d["totals"]["pools"], "bad", NOTHING, ""),
    (
        "selections",
        lambda d: d["totals"]["picked"] == d["totals"]["pools"] and d["totals"]["unscored"],
        "open",
        ("labels draw",),
        "--pools",
    ),
    (
        "selections",
        lambda d: d["totals"]["picked"] == d["totals"]["pools"] and not d["totals"]["unscored"],
        "good",
        ("labels draw",),
        "--pools",
    ),
    (
        "stack",
        lambda d: side(d["difference"]["recovery"]) == "above" and not d.get("fallback"),
        "good",
        ("stack fit",),
        "--save stack.json",
    ),
    ("stack", lambda d: side(d["difference"]["recovery"]) == "below" and not d.get("fallback"), "bad", AUDIT, ""),
    ("stack", lambda d: side(d["difference"]["recovery"]) == "open" or d.get("fallback"), "open", AUDIT, ""),
    ("study requirements", lambda d: reached(d)[1] is not None, "good", AUDIT, "--fail-under recovery="),
    ("study requirements", lambda d: reached(d)[0] == "below", "bad", ("route",), ""),
    ("study requirements", lambda d: reached(d)[0] == "open", "open", ("plan",), "--pilot"),
    (
        "study mix",
        lambda d: {side(own(d)["change"][name]) for name in ("recovery", "global_r")} != {"open"},
        "bad",
        AUDIT,
        "--control",
    ),
    (
        "study mix",
        lambda d: {side(own(d)["change"][name]) for name in ("recovery", "global_r")} == {"open"},
        "open",
        NOTHING,
        "",
    ),
    ("study discretisation", lambda d: side(own(d)["rows"][-2]["loss"]) == "below", "bad", AUDIT, ""),
    ("study discretisation", lambda d: side(own(d)["rows"][-2]["loss"]) != "below", "open", AUDIT, ""),
    ("readiness", lambda d: "fails" in states(d), "bad", AUDIT, "--full"),
    ("readiness", lambda d: states(d) == {"holds"}, "good", AUDIT, "--full"),
    ("readiness", lambda d: "fails" not in states(d) != {"holds"}, "open", AUDIT, "--full"),
    ("regimes", lambda d: side(own(d)["differences"]["recovery"]) != "open", "neutral", NOTHING, ""),
    ("regimes", lambda d: side(own(d)["differences"]["recovery"]) == "open", "open", NOTHING, ""),
    ("study calibration", lambda d: "above" in calibrated(d), "good", NOTHING, ""),
    ("study calibration", lambda d: set(calibrated(d)) == {"below"}, "bad", AUDIT, ""),
    (
        "study calibration",
        lambda d: "above" not in calibrated(d) and set(calibrated(d)) != {"below"},
        "open",
        AUDIT,
        "",
    ),
    ("study strategies", lambda d: "above" in recoveries(d), "good", NOTHING, ""),
    ("study strategies", lambda d: set(recoveries(d)) == {"below"}, "good", AUDIT, ""),
    (
        "study strategies",
        lambda d: "above" not in recoveries(d) and set(recoveries(d)) != {"below"},
        "open",
        AUDIT,
        "",
    ),
    ("study verdicts", lambda d: decided(d) == "above", "good bad open", NOTHING, "and trust the verdicts"),
    ("study verdicts", lambda d: decided(d) == "below", "good bad open", NOTHING, "Do not trust the verdicts, also"),
    ("study verdicts", lambda d: decided(d) == "open", "good bad open", NOTHING, "Do not trust the verdicts yet"),
    ("votes", lambda d: side(d["pairs"][0]["win_rate"], 0.5) != "open", "good", NOTHING, ""),
    ("votes", lambda d: side(d["pairs"][0]["win_rate"], 0.5) == "open", "open", ("plan",), "--question margin"),
    ("watch", lambda d: moved(d) == (True, False), "bad", NOTHING, ""),
    ("watch", lambda d: moved(d) == (True, True), "bad", ("watch",), "--baseline-from"),
    ("watch", lambda d: moved(d) == (False, True), "open", ("watch",), "--baseline-from"),
    ("watch", lambda d: d["verdict"] == "nothing moved" and not moved(d)[1], "good", NOTHING, ""),
    ("watch", lambda d: d["verdict"] == "too early" and not moved(d)[1], "open", NOTHING, ""),
    ("factor", lambda d: beyond_baseline(d) == "above", "good", ("factor fit",), "--save"),
    ("factor", lambda d: beyond_baseline(d) == "below", "bad", ("factor study",), ""),
    ("factor", lambda d: beyond_baseline(d) == "open", "open", ("factor study",), ""),
    ("factor_study", any_figure, "good bad open", NOTHING, ""),
    ("factor_leaderboard", lambda d: not overlapping(d), "good", ("factor compare",), ""),
    ("factor_leaderboard", overlapping, "open", ("factor compare",), ""),
    ("factor_comparison", lambda d: side(d["gaps"][0]) != "open", "good", ("factor strengths",), ""),
    ("factor_comparison", lambda d: side(d["gaps"][0]) == "open", "open", ("factor strengths",), ""),
    ("factor_explanation", any_figure, "good open", ("factor strengths",), ""),
    ("factor_strengths", lambda d: verdict_words(d) == {"strength"}, "good", ("factor leaderboard",), ""),
    ("factor_strengths", lambda d: verdict_words(d) == {"weakness"}, "bad", ("factor leaderboard",), ""),
    ("factor_strengths", lambda d: verdict_words(d) == {"strength", "weakness"}, "open", ("factor leaderboard",), ""),
    ("factor_strengths", lambda d: not verdict_words(d), "open", NOTHING, ""),
    ("factor_prediction", any_figure, "neutral", ("factor leaderboard",), ""),
]


def drawn_figure(chance, around=0.0):
    """Return a random estimate with an interval on either side of a value, or around it."""
    low = around + chance.choice([-0.3, 0.05, -0.08])
    width = chance.uniform(0.01, 0.2) if low > around else chance.uniform(0.02, 0.25)
    return {"estimate": low + width / 2, "low": low, "high": low + width}


def put(*keys, around=0.0):
    """Return what puts a random figure at some keys of a plain document; ``*`` stands for every key."""

    def at(place, keys, chance):
        first, *rest = keys
        for key in list(place) if first == "*" else [first] if first in place or isinstance(first, int) else []:
            if rest:
                at(place[key], rest, chance)
            else:
                place[key].update(drawn_figure(chance, around))

    return lambda plain, chance: at(plain, keys, chance)


def vary_selections(plain, chance):
    """Leave some pools without a pick, or candidates without a score."""
    plain["settings"] = {**plain["settings"], "source": "pools.jsonl", "ended": ""}
    plain["picks"], pools = [], plain["of"]
    plain["totals"]["picked"] = chance.choice([pools, pools, chance.randrange(pools)])
    plain["totals"]["unscored"] = chance.choice([{}, {"no number": 2}])
    plain["totals"]["decided_by"] = {"score": pools}


def vary_watch(plain, chance):
    """Let settings change at some periods."""
    periods = [*plain["data"]["baseline_periods"], *plain["data"]["periods"]]
    changed = sorted(chance.sample(range(1, len(periods)), chance.choice([0, 1, 2])))
    plain["data"]["changes"] = [{"period": periods[at], "changed": ["judge_version"]} for at in changed]


def vary_doctor(plain, chance):
    """Find something suspicious, or a reason for which there is no audit."""
    kind = chance.choice(["good", "suspicious", "label", "refused"])
    plain["suspicious"] = ["Candidate 'a' is easy."] if kind == "suspicious" else []
    plain.pop("proposed", None)
    if kind in {"label", "refused"}:
        plain["not_audited"] = "there are no labels"
        draw = "bonwise labels draw scores.csv --labels 5 --out a.csv --sheet b.csv"
        plain["next_command"] = draw if kind == "label" else ""


def vary_requirements(plain, chance):
    """Let the judge recover a random share."""
    targets = sorted(each["target"] for each in own(plain)["targets"])
    own(plain)["judge"]["recovery"].update(drawn_figure(chance, chance.choice([targets[0], targets[-1]])))


def vary_strengths(plain, chance):
    """Call the groups of prompts strengths, weaknesses, both or neither."""
    words = chance.choice([("open",), ("strength", "open"), ("weakness", "open"), ("strength", "weakness")])
    for at, row in enumerate(plain["groups"] or plain["prompts"]):
        row["verdict"] = words[at % len(words)]


def vary_leaderboard(plain, chance):
    """Move the band of the first model."""
    first, second = plain["models"][:2]
    first["band_low"] = second["band_high"] + chance.uniform(-0.5, 0.5)
    first["band_high"] = first["band_low"] + 1


def vary_verdicts(plain, chance):
    """Draw agreement, accuracy and what the order is worth."""
    judge = own(plain)
    for figure in (judge["ways"]["both_orders"]["agreement"], judge["ways"]["both_orders"]["accuracy_decided"]):
        figure.update(drawn_figure(chance, 0.5))
    judge["order"]["first_shown_advantage"].update(drawn_figure(chance))


def vary_preferences(plain, chance):
    """Draw agreement and correlation."""
    own(plain)["metrics"]["agreement"].update(drawn_figure(chance, 0.5))
    own(plain)["metrics"]["phi"].update(drawn_figure(chance))


def vary_votes(plain, chance):
    """Draw the share of votes, and with it the margin."""
    figure = drawn_figure(chance, 0.5)
    plain["pairs"][0]["win_rate"].update(figure)
    plain["pairs"][0]["margin"] = figure["estimate"] - 0.5


def vary_factor(plain, chance):
    """Draw the advantage over each baseline without judges."""
    for name in WITHOUT_JUDGES:
        put("baselines", name, "difference")(plain, chance)


def vary_stack(plain, chance):
    """Draw the difference to the best judge, with a fallback to one of them or none."""
    plain["fallback"] = chance.choice([None, None, None, next(iter(plain["judges"]))])
    plain["difference"]["recovery"].update(drawn_figure(chance))


def vary_strategies(plain, chance):
    """Draw how ways of asking differ from scores, in some results alike for all."""
    ways = [way for group in own(plain)["strategies"].values() for way in group["strategies"].values()]
    alike = chance.choice([None, drawn_figure(chance)])
    for way in [*ways, *own(plain)["matched_pairs"]["ways"].values()]:
        if "minus_pointwise" in way:
            way["minus_pointwise"]["recovery"].update(alike or drawn_figure(chance))


def as_it_is(plain, chance):
    """Change nothing."""


def vary_readiness(plain, chance):
    """Let points fail, hold or stay open."""
    among = chance.choice([("holds",), ("holds", "open"), ("holds", "fails", "cannot be said")])
    for point in own(plain).values():
        point["state"] = chance.choice(among)


VARIED = {
    "readiness": vary_readiness,
    "regimes": put("judges", "*", "differences", "recovery"),
    "study discretisation": lambda plain, chance: own(plain)["rows"][-2]["loss"].update(drawn_figure(chance)),
    "compare": put("differences", "recovery"),
    "confidence": put("judges", "*", "metrics", "mean_bin_error"),
    "doctor": vary_doctor,
    "preferences": vary_preferences,
    "route": lambda plain, chance: put("recommendation", "captured")(own(plain), chance),
    "selections": vary_selections,
    "stack": vary_stack,
    "study requirements": vary_requirements,
    "study mix": put("judges", "*", "change", "*"),
    "study calibration": put("judges", "*", "methods", "*", "changes", "recovery"),
    "study strategies": vary_strategies,
    "study verdicts": vary_verdicts,
    "votes": vary_votes,
    "watch": vary_watch,
    "watch moved": vary_watch,
    "watch early": vary_watch,
    "factor": vary_factor,
    "factor_study": put("by_labels", 0, "more_than_largest"),
    "factor_leaderboard": vary_leaderboard,
    "factor_comparison": put("gaps", 0),
    "factor_explanation": as_it_is,
    "factor_strengths": vary_strengths,
    "factor_prediction": as_it_is,
}


def audited(chance):
    """Audit a random judge, in some tables with an easy candidate."""
    frame = simulate("arena", n=chance.choice([40, 90]), seed=chance.randrange(10**6)).frame()
    share = chance.choice([0.0, 0.6, 0.7, 0.8, 1.0])
    noise = np.random.default_rng(chance.randrange(10**6)).random(len(frame))
    frame["judge_score"] = (share * frame["oracle_label"] + (1 - share) * noise).round(3)
    if chance.random() < 0.25:
        bad = frame.groupby("prompt_id").head(1).assign(candidate="the worst", judge_score=0.0, oracle_label=-1.0)
        frame = pd.concat([frame, bad])
    frame.to_csv("audited.csv", index=False)
    return bw.audit("audited.csv")


def planned(chance):
    """Plan for a random effect, with and without a budget; a pilot without an effect makes no plan."""
    if chance.random() < 0.1:
        return bw.plan(question="margin", pilot="15/30")
    labels = chance.choice([None, 10, 10**6])
    return bw.plan(question="recovery>0", candidates=4, within_r=round(chance.uniform(0.2, 0.5), 2), labels=labels)


def monitored(chance):
    """Look at labels of a judge, or of scores without sense, for precision or against a random reference."""
    frame = simulate("arena", n=chance.choice([30, 220]), seed=chance.randrange(10**6)).frame()
    if chance.random() < 0.6:
        frame["judge_score"] = frame["oracle_label"]
    frame.drop(columns="oracle_label").to_csv("monitored.csv", index=False)
    frame.drop(columns="judge_score").to_csv("monitored_labels.csv", index=False)
    precise = {"question": "precision", "half_width": round(chance.uniform(0.02, 0.6), 2)}
    better = {"question": "significance", "than": chance.choice([-0.9, 0.0, 0.9])}
    asked = chance.choice([precise, better])
    looked = bw.monitor("monitored.csv", label_file="monitored_labels.csv", **asked)
    if looked.verdict == "stop: better" and chance.random() < 0.5:
        return changed(looked, lambda plain: plain.update(verdict="stop: not better")).asked_by(looked.asked)
    return looked


REAL = {"audit": audited, "plan": planned, "monitor": monitored}


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """Return a result of every kind, made from files of a folder, and the folder."""
    folder = tmp_path_factory.mktemp("asked")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        tables(folder, "")
        pools = [{"prompt_id": prompt, "prompt": "why", "candidates": ["a", "b"]} for prompt in WORDS]
        Path("pools.jsonl").write_text("".join(json.dumps(pool) + "\n" for pool in pools), encoding="utf-8")
        for name, shift in (("still", None), ("moved", 20)):
            write_log(folder / name, 34, shift_at=shift, shifted={"tied": 0.6})
        write_log(folder / "early", 5)
        simulate_ratings(1, prompts=24, judges=2, labelled=0.6).frame().to_csv("ratings.csv", index=False)
        fitted = bw.fit_factors("ratings.csv", human="human", rank=1, prior=1.0, interval="propagated", holdout=0.3)
        fitted.view.save("fit.json")
        view = bw.load_factors("fit.json")
        first, second, *_ = (model.model for model in factors.rank_models(view).models)
        made = {
            "compare": bw.compare("picks.jsonl", "others.jsonl", labels="labels.csv"),
            "confidence": bw.audit_confidence(stated("stated.csv")),
            "doctor": bw.doctor("scores.csv"),
            "preferences": bw.audit_preferences("gold.csv", verdict_col="one", label_col="gold", prompt_col="q"),
            "route": bw.route("scores.csv"),
            "stack": bw.fit_stack("two.csv", labels="labels.csv"),
            "study requirements": bw.study_requirements("scores.csv"),
            "study mix": bw.study_mix("scores.csv", control=NAMES_OF_IDS[0]),
            "study discretisation": bw.study_discretisation("scores.csv", draws=5),
            "readiness": bw.study_readiness("scores.csv"),
            "regimes": bw.compare_regimes(bw.audit("scores.csv"), bw.audit("scores.csv")),
            "study calibration": bw.study_calibration("judged.csv", labels="labels.csv"),
            "study strategies": bw.study_label_strategy("scores.csv", verdicts="pairs.csv"),
            "study verdicts": study_verdicts(
                "gold.csv", verdict_col=["one", "two"], label_col="gold", prompt_col=["q"]
            ),
            "votes": bw.study_preferences(
                "two_models.csv",
                verdict_col="won",
                pair_col=["left", "right"],
                resamples=20,
                permutations=19,
                repetitions=9,
            ),
            "watch": bw.watch("still/*.jsonl"),
            "watch moved": bw.watch("moved/*.jsonl"),
            "watch early": bw.watch("early/*.jsonl"),
            "factor": fitted,
            "factor_leaderboard": factors.rank_models(view),
            "factor_comparison": factors.compare_models(view, first, second),
            "factor_strengths": factors.find_strengths(view, first),
            "factor_prediction": factors.predict_averages(view),
        }
        for word in ("selections", "factor_study", "factor_explanation"):
            made[word] = bw.load(shapes_of({word})[0].write(folder))
        made["factor_explanation"] = made["factor_explanation"].asked_by(AskedFor({"view": "fit.json"}, {}))
    return folder, made


def stated(name):
    """Write probabilities and outcomes, verdicts in two orders beside an oracle's, and votes on two models."""
    chance = random.Random(7)  # noqa: S311 - a study for tests
    rows = [{"prompt_id": at, "probability": round(chance.random(), 2), "outcome": at % 2} for at in range(80)]
    pd.DataFrame(rows).to_csv(name, index=False)
    rows = [{"q": at, **{column: chance.choice([1, 2]) for column in ("one", "two", "gold")}} for at in range(60)]
    pd.DataFrame(rows).to_csv("gold.csv", index=False)
    rows = [{"left": "x", "right": "y", "won": chance.choice(["x", "y"])} for _ in range(60)]
    pd.DataFrame(rows).to_csv("two_models.csv", index=False)
    return name


def results(kind, documents, chance, count):
    """Yield results of a kind: made again from random tables, or with random figures in the place of their own."""
    for _ in range(count):
        if kind in REAL:
            yield REAL[kind](chance)
        else:
            yield changed(documents[kind], lambda plain: VARIED[kind](plain, chance)).asked_by(documents[kind].asked)


def answered(document):
    """Return the answer of a result, and the commands that are typed next; both are those of its description."""
    (shown,) = [part for part in describe(document).blocks if isinstance(part, Part) and part.role == "verdict"]
    stated_answer = document.answer
    if stated_answer is None:  # of routing the description alone
        (then,) = shown.blocks[-1:]
        return shown.title, shown.state, "", [step.text for step in then.blocks if step.role == "command"]
    leads = [block.text for block in shown.blocks if isinstance(block, Said) and block.role == "lead"]
    assert (shown.title, shown.state) == (stated_answer.word, stated_answer.state)
    assert leads[: len(stated_answer.facts)] == list(stated_answer.facts)
    assert stated_answer.question.endswith("?") or document.schema_.startswith("bonwise.plan")
    steps = stated_answer.then
    if document.schema_.startswith("bonwise.audit"):
        steps = next_steps(document, AuditCommand(Path("audited.csv")))
    words = " ".join(step.text for step in steps)
    return shown.title, shown.state, words, [step.text for step in steps if step.role == "command"]


def check(kind, document):
    """Hold a result to the only rule that is of it, and return the rule's place and the commands."""
    rules = [(at, rule) for at, rule in enumerate(RULES) if rule[0] == kind.split(" moved")[0].split(" early")[0]]
    assert rules, f"no rule for {kind}"
    plain = document.to_dict()
    holding = [(at, rule) for at, rule in rules if rule[1](plain)]
    assert len(holding) == 1, (kind, [at for at, _ in holding])
    ((at, (_, _, colours, begins, holds)),) = holding
    word, colour, words, commands = answered(document)
    assert colour in colours.split(), (kind, word, colour)
    assert holds in words, (kind, holds, words)
    if begins is not None:
        assert bool(commands) == bool(begins), (kind, at, commands)
        assert all(command.startswith(tuple(f"bonwise {first}" for first in begins)) for command in commands), (
            commands
        )
    return at, commands


def run_all(capsys, documents, count):
    """Check results of every kind, and run the first command of each rule on the files that it names."""
    exercised, ran = set(), 0
    for kind in [*REAL, *documents]:
        chance = random.Random(kind)  # noqa: S311 - figures for tests
        for document in results(kind, documents, chance, count):
            at, commands = check(kind, document)
            if at not in exercised:
                # The files of a plan are to be written first, and a model is to be named for a route.
                for command in commands if kind not in {"plan", "route"} else ():
                    for file in ("a.csv", "b.csv", "sheet.html", "sheet-labels.csv", "stack.json", "fit.json"):
                        if (file in command and file != "fit.json") or "--save" in command:
                            Path(file).unlink(missing_ok=True)
                    runs(capsys, shlex.split(command))
                    ran += 1
            exercised.add(at)
    return exercised, ran


def test_every_kind_with_an_answer_has_a_rule():
    """A kind without a rule fails: rules are listed per kind, at least thirty of them."""
    kinds = {rule[0].partition(" ")[0] for rule in RULES}
    answering = {word for word, place in places().items() if place.answer}
    assert answering <= kinds
    assert len(RULES) >= 30


def test_no_next_command_and_no_colour_contradicts_a_figure(capsys, asked, monkeypatch):
    """A few results of every kind, so that each rule holds of one; each command runs on the user's own files."""
    folder, documents = asked
    monkeypatch.chdir(folder)
    exercised, ran = run_all(capsys, documents, 40)
    assert [RULES[at][:1] for at in range(len(RULES)) if at not in exercised] == []
    assert ran > 20


@pytest.mark.slow
def test_no_answer_of_200_results_of_every_kind_contradicts_a_figure(asked, monkeypatch):
    """The same of many."""
    folder, documents = asked
    monkeypatch.chdir(folder)
    for kind in [*REAL, *documents]:
        for document in results(kind, documents, random.Random(f"{kind} more"), 200):  # noqa: S311 - for tests
            check(kind, document)

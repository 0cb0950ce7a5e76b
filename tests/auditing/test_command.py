"""The command `bonwise audit`."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bonwise as bw
from bonwise.auditing.result import Audit
from bonwise.cli.entry import run
from bonwise.metric_groups import unit_of
from bonwise.report.numbers import estimate, interval, setting
from bonwise.testing import simulate
from cli.commands import CONTROL, rows_of, scored, strict, typed, written
from report.readers import in_a_column

SCRIPTS = Path(sys.executable).parent


@pytest.fixture(scope="module")
def arena(shared):
    """Return the path of the arena sample."""
    return shared / "data" / "arena100" / "scores.csv"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Return the path of 300 simulated prompts, fully labelled."""
    path = tmp_path_factory.mktemp("drawn") / "scores.csv"
    simulate("arena", n=300, seed=5).frame().to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """Return the path of 200 simulated prompts that three judges scored."""
    frame, rng = simulate("arena", n=200, seed=6).frame(), np.random.default_rng(6)
    judges = {f"judge {share}": share * frame["oracle_label"] + rng.random(len(frame)) for share in (0, 1, 3)}
    parts = [frame.assign(judge=name, judge_score=(score / 4).round(2)) for name, score in judges.items()]
    path = tmp_path_factory.mktemp("three") / "scores.csv"
    pd.concat(parts).to_csv(path, index=False)
    return path


def test_json_is_the_audit_as_a_document(capsys, arena, tmp_path):
    """``--json FILE`` holds what the audit of the same file returns in Python, and words stay on standard output."""
    done = typed(capsys, "audit", arena, "--exclude", "unhelpful", "--json", tmp_path / "a.json")
    document = strict((tmp_path / "a.json").read_text("utf-8"))
    assert done.code == 0
    assert document == bw.audit(arena, exclude=["unhelpful"]).to_dict()
    assert document["metrics"]["recovery"]["estimate"] == pytest.approx(0.2126, abs=1e-4)
    assert "recovery" in done.out
    assert not done.err


def test_json_to_standard_output_is_all_there(capsys, arena, tmp_path):
    """With ``--json -`` standard output is exactly one strict document, and the words go to standard error."""
    plain = typed(capsys, "audit", arena, "--json", tmp_path / "a.json")
    done = typed(capsys, "audit", arena, "--json", "-")
    assert done.out == (tmp_path / "a.json").read_text("utf-8")
    assert strict(done.out)["schema"] == "bonwise.audit/1"
    assert done.err == plain.out


def test_the_same_command_gives_the_same_bytes(capsys, arena):
    """Two runs of one command agree to the byte in words and document."""
    arguments = ("audit", arena, "--control", "unhelpful", "--json", "-")
    assert typed(capsys, *arguments) == typed(capsys, *arguments)


def test_text_shows_what_the_document_holds(capsys, arena):
    """Each metric has a line with its estimate and interval, in the digits of the narrowest one or of its own."""
    done = typed(capsys, "audit", arena, "--exclude", "unhelpful", "--full", "--json", "-")
    for name, found in Audit.model_validate_json(done.out).metrics.items():
        # A metric of picks has a second line below, in the table of worst cases: one prompt lacks a label.
        line, *_ = (line for line in done.err.splitlines() if line.split()[:1] == [name])
        for figure in (estimate(found, unit_of(name)), interval(found, unit_of(name))):
            assert any(form in line for form in in_a_column(figure)), (name, figure)


def test_dropped_prompts_are_named(capsys, arena):
    """The prompts that were left out are counted, with reasons, and named."""
    out = typed(capsys, "audit", arena).out
    for words in ("dropped 2 prompts", "lacks base", "partly labelled", "arena_22", "arena_127"):
        assert words in out


def test_per_prompt_rows_stand_worst_first(capsys, arena, tmp_path):
    """CSV and JSONL of ``--per-prompt`` hold a row a prompt, the greatest loss first, as the audit has them."""
    for name in ("rows.csv", "rows.jsonl"):
        assert typed(capsys, "audit", arena, "--per-prompt", tmp_path / name).code == 0
    rows = rows_of(tmp_path / "rows.csv")
    lines = [strict(line) for line in (tmp_path / "rows.jsonl").read_text("utf-8").splitlines()]
    lost = [float(row["gain_lost"]) for row in rows]
    assert len(rows) == len(lines) == 99
    assert lost == sorted(lost, reverse=True)
    assert lost[0] > 0
    expected = bw.audit(arena).per_prompt()
    assert [row["prompt_id"] for row in rows] == [line["prompt_id"] for line in lines] == list(expected["prompt_id"])
    assert lost == pytest.approx(expected["gain_lost"].tolist(), abs=1e-15)
    assert [line["gain_lost"] for line in lines] == pytest.approx(lost, abs=1e-9)


def test_per_prompt_cells_run_nothing_in_a_spreadsheet(capsys, tmp_path):
    """Identifiers that a spreadsheet would run are defused in CSV, and read back they are as they were."""
    rows = scored([[0.9, 0.1], [0.2, 0.8]] * 3, [[1, 0], [1, 0]] * 3)
    for row in rows:
        row["prompt_id"], row["candidate"] = f"={row['prompt_id']}", f"@{row['candidate']}"
    source, out = written(tmp_path / "s.csv", rows), tmp_path / "rows.csv"
    assert typed(capsys, "audit", source, "--per-prompt", out).code == 0
    for row in rows_of(out):
        assert row["prompt_id"].startswith("'=")
        assert row["pick"].startswith("'@")
    assert typed(capsys, "audit", source, "--per-prompt", tmp_path / "rows.jsonl").code == 0
    first = strict((tmp_path / "rows.jsonl").read_text("utf-8").splitlines()[0])
    assert (first["prompt_id"][0], first["pick"][0]) == ("=", "@")


def test_unlabelled_prompts_have_blanks_per_prompt(capsys, tmp_path):
    """A prompt without labels has empty cells in CSV and nulls in JSONL, never nan."""
    labels = [[1, 0]] * 8 + [["", ""]] * 2
    source = written(tmp_path / "s.csv", scored([[0.9, 0.1]] * 5 + [[0.3, 0.4]] * 5, labels))
    for name in ("r.csv", "r.jsonl"):
        assert typed(capsys, "audit", source, "--per-prompt", tmp_path / name).code == 0
    assert [row["gain_lost"] for row in rows_of(tmp_path / "r.csv")[-2:]] == ["", ""]
    last = strict((tmp_path / "r.jsonl").read_text("utf-8").splitlines()[-1])
    assert (last["gain_lost"], last["value_pick"]) == (None, None)


@pytest.mark.parametrize(
    ("gates", "code", "states"),
    [
        ({"recovery": 0.05}, 0, ["met"]),
        ({"recovery": 0.5}, 1, ["not met"]),
        ({"within_r": 0.2}, 3, ["inconclusive"]),
        ({"recovery": 0.05, "global_r": 0.4}, 0, ["met", "met"]),
        ({"recovery": 0.05, "within_r": 0.2}, 3, ["met", "inconclusive"]),
        ({"within_r": 0.2, "recovery": 0.5}, 1, ["inconclusive", "not met"]),
        ({}, 0, []),
    ],
)
def test_gates_decide_the_exit_code(capsys, arena, gates, code, states):
    """1 when a gate is not met, else 3 when one is inconclusive, else 0; words and document say which."""
    flags = [word for name, value in gates.items() for word in ("--fail-under", f"{name}={value}")]
    done = typed(capsys, "audit", arena, "--exclude", "unhelpful", *flags, "--json", "-")
    found = strict(done.out).get("gates", [])
    assert done.code == code
    assert [gate["state"] for gate in found] == states
    for name, value, state in zip(gates, gates.values(), states, strict=True):
        assert f"{name} > {setting(value, unit_of(name))}: {state}" in done.err
    for gate in found:
        assert (gate["more_labels"] is not None) == (gate["state"] == "inconclusive")


def test_a_control_is_reported_beside_the_figures(capsys, arena):
    """``--control`` leaves the easy candidate out of the figures and shows what they would be with it."""
    done = typed(capsys, "audit", arena, "--control", "unhelpful", "--json", "-")
    document = strict(done.out)
    assert document["metrics"]["recovery"]["estimate"] == pytest.approx(0.213, abs=5e-4)
    assert document["with_control"]["recovery"]["estimate"] == pytest.approx(0.656, abs=5e-4)
    (line,) = (line for line in done.err.splitlines() if line.split()[:1] == ["recovery"])
    assert "21%" in line
    assert "66%" in line


def test_the_target_decides_the_verdict(capsys, arena):
    """The same figures make a weak picker and a judge useful for comparing systems."""
    documents = {
        target: strict(typed(capsys, "audit", arena, "--exclude", "unhelpful", "--target", target, "--json", "-").out)
        for target in ("best-of-n", "system")
    }
    assert {name: d["verdict"]["level"] for name, d in documents.items()} == {"best-of-n": "weak", "system": "useful"}
    assert documents["system"]["metrics"] == documents["best-of-n"]["metrics"]


def test_a_threshold_moves_the_verdict(capsys, arena):
    """``--threshold`` replaces a gate of the verdict, and the document repeats it."""
    asked = ("audit", arena, "--exclude", "unhelpful", "--threshold", "recovery_useful=0.05", "--json", "-")
    document = strict(typed(capsys, *asked).out)
    assert document["verdict"]["level"] == "useful"
    assert document["settings"]["thresholds"]["recovery_useful"] == 0.05


def test_the_bootstrap_is_seeded(capsys, drawn):
    """``--interval bootstrap`` labels its intervals so, repeats under one seed, and moves under another."""
    asked = ("audit", drawn, "--interval", "bootstrap", "--resamples", 200, "--json", "-", "--seed")
    first, again, other = (strict(typed(capsys, *asked, seed).out)["metrics"] for seed in (1, 1, 2))
    assert first == again
    assert first["recovery"]["interval"] == "bootstrap"
    assert first["recovery"]["estimate"] == other["recovery"]["estimate"]
    assert first["recovery"]["low"] != other["recovery"]["low"]


def test_the_shape_can_be_forced(capsys, tmp_path):
    """A shorter pool is dropped in a rectangular table and counted in a ragged one; asking for both is refused."""
    rows = scored([[0.9, 0.1, 0.5]] * 19 + [[0.8, 0.2]], [[1, 0, 0.5]] * 19 + [[1, 0]])
    source = written(tmp_path / "s.csv", rows)
    counts = {}
    for flag in ("", "--rectangular", "--ragged"):
        document = strict(typed(capsys, "audit", source, *[flag] * bool(flag), "--json", "-").out)
        counts[flag] = (document["data"]["prompts"], document["settings"]["shape"])
    assert counts == {"": (19, "rectangular"), "--rectangular": (19, "rectangular"), "--ragged": (20, "ragged")}
    assert typed(capsys, "audit", source, "--rectangular", "--ragged").code == 2


def test_labels_from_a_second_file_are_joined(capsys, drawn, tmp_path):
    """Scores and labels in two files, rows in any order, give the figures of the one file."""
    frame = pd.read_csv(drawn)
    frame.drop(columns="oracle_label").to_csv(tmp_path / "s.csv", index=False)
    labels = frame.drop(columns="judge_score").sample(frac=1, random_state=1)
    labels.to_csv(tmp_path / "labels.csv", index=False)
    apart = strict(typed(capsys, "audit", tmp_path / "s.csv", "--labels", tmp_path / "labels.csv", "--json", "-").out)
    assert apart["metrics"] == strict(typed(capsys, "audit", drawn, "--json", "-").out)["metrics"]


def test_named_columns_are_read(capsys, drawn, tmp_path):
    """Columns of any name, given with their flags, mean what the flags say."""
    frame = pd.read_csv(drawn).assign(judge="judge")
    names = {"prompt_id": "a", "candidate": "b", "judge_score": "c", "oracle_label": "d", "judge": "e"}
    frame.rename(columns=names).to_csv(tmp_path / "s.csv", index=False)
    flags = ["--prompt-col", "a", "--candidate-col", "b", "--score-col", "c", "--label-col", "d", "--judge-col", "e"]
    named = strict(typed(capsys, "audit", tmp_path / "s.csv", *flags, "--json", "-").out)
    assert named["metrics"] == strict(typed(capsys, "audit", drawn, "--json", "-").out)["metrics"]
    assert named["settings"]["columns"]["judge_score"] == "c"


def test_declared_scales_map_to_the_unit_interval(capsys, drawn, tmp_path):
    """Scores on 0 to 100 with their scale declared give the same figures; undeclared they are refused."""
    frame = pd.read_csv(drawn)
    frame.assign(judge_score=100 * frame["judge_score"]).to_csv(tmp_path / "s.csv", index=False)
    assert typed(capsys, "audit", tmp_path / "s.csv").code == 2
    asked = ("audit", tmp_path / "s.csv", "--judge-scale", "0:100", "--label-scale", "0:1", "--json", "-")
    scaled, plain = (strict(typed(capsys, *one).out) for one in (asked, ("audit", drawn, "--json", "-")))
    for name, found in plain["metrics"].items():
        assert scaled["metrics"][name]["estimate"] == pytest.approx(found["estimate"], abs=1e-9), name


def test_a_judge_as_reference_is_never_called_an_oracle(capsys, three):
    """With ``--oracle judge:NAME`` the words say agreement with NAME, and the word oracle does not occur."""
    done = typed(capsys, "audit", three, "--oracle", "judge:judge 3", "--json", "-")
    assert done.code == 0
    assert "agreement with judge 3" in done.err
    told = [line for line in done.err.splitlines() if not line.startswith("bonwise ")]
    assert "oracle" not in "".join(told).lower()
    document = strict(done.out)
    assert document["settings"]["reference"] == "judge 3"
    assert list(document["judges"]) == ["judge 0", "judge 1"]


def test_several_judges_are_compared(capsys, three):
    """Three judges have a table each and a paired difference for every two, in words and document."""
    done = typed(capsys, "audit", three, "--fail-under", "recovery=0.2", "--full", "--json", "-")
    document = strict(done.out)
    pairs = [(pair["first"], pair["second"]) for pair in document["comparisons"]]
    assert pairs == [("judge 0", "judge 1"), ("judge 0", "judge 3"), ("judge 1", "judge 3")]
    assert "Paired differences" in done.err
    recoveries = {name: judge["metrics"]["recovery"]["estimate"] for name, judge in document["judges"].items()}
    for pair in document["comparisons"]:
        gap = pair["differences"]["recovery"]["estimate"]
        assert gap == pytest.approx(recoveries[pair["first"]] - recoveries[pair["second"]], abs=1e-12)
    assert [(gate["judge"], gate["state"]) for gate in document["gates"]] == [
        ("judge 0", "not met"),
        ("judge 1", "met"),
        ("judge 3", "met"),
    ]
    assert done.code == 1


def test_no_gate_passes_on_partial_labels(capsys, drawn, tmp_path):
    """With a fifth of the prompts unlabelled even an easy gate is inconclusive, and the words say why."""
    frame = pd.read_csv(drawn)
    frame.loc[frame["prompt_id"] < "p0000060", "oracle_label"] = np.nan
    frame.to_csv(tmp_path / "s.csv", index=False)
    done = typed(capsys, "audit", tmp_path / "s.csv", "--fail-under", "recovery=-1", "--full", "--json", "-")
    document = strict(done.out)
    assert done.code == 3
    assert document["gates"][0]["state"] == "inconclusive"
    assert document["metrics"]["recovery"]["method"] == "labelled_only"
    assert document["data"]["labelled_prompts"] == 240
    assert "completely labelled prompts alone" in done.err
    assert "Worst case over the missing labels" in done.err


@pytest.mark.parametrize("forced", ["FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE"])
def test_text_into_a_file_is_plain(capsys, monkeypatch, three, forced):
    """What is not a terminal gets no escape sequence, whatever the environment asks of other programs."""
    monkeypatch.setenv(forced, "1")
    done = typed(capsys, "audit", three, "--fail-under", "recovery=0.2")
    assert not CONTROL.search(done.out)
    assert not any(line != line.rstrip() for line in done.out.splitlines())


def test_text_on_a_terminal_is_styled(drawn):
    """On a terminal the same words come with styles, through the installed command."""
    main, other = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "118"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen([SCRIPTS / "bonwise", "audit", drawn], stdout=other, env=environment) as process:
        os.close(other)
        out = b""
        while True:
            try:
                piece = os.read(main, 65536)
            except OSError:
                break
            if not piece:
                break
            out += piece
    os.close(main)
    assert process.returncode == 0
    assert b"\x1b[1m" in out
    assert b"recovery" in out


def test_the_installed_command_pipes(drawn):
    """Through a pipe the installed command gives the document alone on standard output, and its exit code."""
    done = subprocess.run(
        [SCRIPTS / "bonwise", "audit", drawn, "--json", "-", "--fail-under", "recovery=0.9"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert strict(done.stdout)["gates"][0]["state"] == "not met"
    assert "\x1b" not in done.stderr


def test_words_fit_a_stream_that_knows_little(drawn):
    """A stream that cannot encode the rules of a table gets readable words, not a traceback."""
    done = subprocess.run(
        [SCRIPTS / "bonwise", "audit", drawn],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == 0
    assert "recovery" in done.stdout


VERDICTS = [
    {"item": f"i{x}", "set": "ab"[x % 2], "judge": judge, "one": one, "two": two, "gold": gold}
    for judge in ("left", "right")
    for x, (one, two, gold) in enumerate([(1, 1, 1), (2, 1, 2), (2, 2, 2), (1, 1, 2), (1, "", 1), (2, 2, 2)])
]
PREFERENCES = ("--verdict-col", "one", "--label-col", "gold", "--prompt-col", "item", "--judge-col", "judge")


def test_pairwise_verdicts_are_audited(capsys, tmp_path):
    """``--verdict-col`` gives the document of the call in Python: orders averaged, contexts split, rows counted."""
    source = written(tmp_path / "v.csv", VERDICTS)
    done = typed(
        capsys, "preferences", source, *PREFERENCES, "--verdict-col", "two", "--context-col", "set", "--json", "-"
    )
    called = bw.audit_preferences(
        source,
        verdict_col=["one", "two"],
        label_col="gold",
        prompt_col=["item"],
        judge_col=["judge"],
        context_col=["set"],
    )
    document = strict(done.out)
    assert done.code == 0
    assert document == json.loads(json.dumps(called.to_dict()))
    assert document["judges"]["left"]["metrics"]["agreement"]["estimate"] == pytest.approx(3.5 / 5)
    assert document["judges"]["left"]["data"] == {"prompts": 5, "pairs": 5, "dropped": {"no verdict": 1}}
    assert "both presentation orders averaged" in done.err


def test_pairwise_verdicts_need_their_columns(capsys, tmp_path):
    """Without the oracle's column, or any of the prompt, pairwise verdicts are refused with the flag to add."""
    rows = [{**row, "nr": row["item"]} for row in VERDICTS]
    source = written(tmp_path / "v.csv", [{key: cell for key, cell in row.items() if key != "item"} for row in rows])
    for flags, missing in ((PREFERENCES[:2], "--label-col"), (PREFERENCES[:4], "--prompt-col")):
        done = typed(capsys, "preferences", source, *flags)
        assert done.code == 2
        assert missing in done.err


@pytest.mark.parametrize(
    "extra",
    [
        ["--fail-under", "agreement=0.99"],
        ["--fail-under", "nonsense=1"],
        ["--exclude", "c0"],
        ["--labels", "labels.csv"],
        ["--per-prompt", "rows.csv"],
        ["--oracle", "judge:left"],
        ["--rectangular", "--ragged"],
    ],
    ids=lambda extra: extra[0] + " " + extra[1],
)
def test_no_flag_is_ignored_with_pairwise_verdicts(capsys, tmp_path, monkeypatch, extra):
    """A gate, file or filter that pairwise verdicts cannot honour is never passed over: it does not end in 0."""
    monkeypatch.chdir(tmp_path)
    written("v.csv", VERDICTS)
    assert typed(capsys, "preferences", "v.csv", *PREFERENCES, *extra).code != 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit", "mine.csv", "--json", "mine.csv"],
        ["audit", "mine.csv", "--per-prompt", "./mine.csv"],
        ["audit", "mine.csv", "--json", "o", "--per-prompt", "o"],
        ["audit", "--json", "mine.csv"],
        ["doctor", "mine.csv", "--json", "mine.csv"],
        ["audit", "broken.csv", "--json", "broken.csv"],
    ],
    ids=" ".join,
)
def test_no_output_replaces_an_input(capsys, tmp_path, monkeypatch, arguments):
    """An output that names an input, or another output, is refused, and the file stays what it was."""
    monkeypatch.chdir(tmp_path)
    simulate("arena", n=20, seed=3).frame().to_csv("mine.csv", index=False)
    Path("broken.csv").write_text("prompt_id,candidate\np,a\n", encoding="utf-8")
    before = {name: Path(name).read_bytes() for name in ("mine.csv", "broken.csv")}
    assert typed(capsys, *arguments).code == 2
    assert before == {name: Path(name).read_bytes() for name in before}


def test_an_error_replaces_an_older_document(capsys, tmp_path, monkeypatch):
    """A document of bonwise, and nothing else, gives way to the error of a later run."""
    monkeypatch.chdir(tmp_path)
    simulate("arena", n=20, seed=3).frame().to_csv("mine.csv", index=False)
    assert typed(capsys, "audit", "mine.csv", "--json", "o.json").code == 0
    assert typed(capsys, "audit", "nosuch.csv", "--json", "o.json").code == 2
    assert strict(Path("o.json").read_text("utf-8"))["schema"] == "bonwise.error/1"


def test_a_judge_that_cannot_be_audited_leaves_its_gates_open(capsys, tmp_path):
    """Every judge must pass: one that could not be audited makes the outcome inconclusive, not met."""
    good = simulate("arena", n=300, seed=3).frame()
    table = pd.concat([good.assign(judge="good"), good.assign(judge="bad", judge_score=None)])
    table.to_csv(tmp_path / "s.csv", index=False)
    done = typed(capsys, "audit", tmp_path / "s.csv", "--fail-under", "recovery=-50", "--json", "-")
    assert done.code == 3
    assert {gate["judge"]: gate["state"] for gate in strict(done.out)["gates"]} == {
        "good": "met",
        "bad": "inconclusive",
    }


def test_pairs_of_a_prompt_are_one_unit(capsys, tmp_path):
    """Several pairs of a prompt are told apart by a flag, and the prompt stays the unit of the interval."""
    rows = [
        {"item": f"i{x}", "pair": k, "v": 1 + x % 2, "gold": 1 + x // 2 % 2} for x in range(20) for k in range(10)
    ]
    source = written(tmp_path / "v.csv", rows)
    flags = ("--verdict-col", "v", "--label-col", "gold", "--prompt-col", "item")
    refused = typed(capsys, "preferences", source, *flags)
    assert refused.code == 2
    assert "--pair-col" in refused.err
    document = strict(typed(capsys, "preferences", source, *flags, "--pair-col", "pair", "--json", "-").out)
    judge = document["judges"]["judge"]
    assert judge["data"]["prompts"] == 20
    assert judge["data"]["pairs"] == 200
    assert judge["metrics"]["agreement"]["se"] == pytest.approx((0.25 / 19) ** 0.5)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a working folder with scores, the record of a draw, and the labels that it asked for."""
    monkeypatch.chdir(tmp_path)
    frame = simulate("arena", n=300, seed=4).frame()
    frame.drop(columns="oracle_label").to_csv("scores.csv", index=False)
    assert run(["labels", "draw", "scores.csv", "--labels", "80", "--seed", "1", "--out", "todo.csv"]) == 0
    drawn = pd.read_csv("todo.csv").query("phase > 0")["prompt_id"]
    labels = frame.loc[frame["prompt_id"].isin(drawn), ["prompt_id", "candidate", "oracle_label"]]
    labels.to_csv("labels.csv", index=False)
    return tmp_path


AUDIT = ["audit", "scores.csv", "--labels", "labels.csv", "--design", "todo.csv"]


def test_a_drawn_sample_is_audited_for_all_prompts(folder, capsys):
    """From scores, drawn labels and the record comes an estimate for all prompts, and a gate on it can be met."""
    assert run([*AUDIT, "--fail-under", "value_judge=0.5", "--json", "a.json"]) == 0
    document = json.loads((folder / "a.json").read_text("utf-8"))
    assert document["metrics"]["recovery"]["method"] == "aipw"
    assert document["metrics"]["recovery"]["labelled_only"]["method"] == "labelled_only"
    assert document["sampling"]["design"] == "rule"
    assert document["data"]["labelled_prompts"] == 80
    out = capsys.readouterr().out
    assert "drawn by the rule 'rule' (seed 1)" in out
    assert "effective sample size" in " ".join(out.split())


@pytest.mark.parametrize("output", ["--json", "--per-prompt"])
def test_the_record_of_a_draw_is_never_overwritten(folder, capsys, output):
    """The propensities cannot be had again, so an output of the same name is refused."""
    before = (folder / "todo.csv").read_bytes()
    assert run([*AUDIT, output, "todo.csv"]) == 2
    assert "read or written already" in capsys.readouterr().err
    assert (folder / "todo.csv").read_bytes() == before


def test_a_design_that_is_no_file_is_one_clear_error(folder, capsys):
    """A misspelt file name says what was looked for."""
    assert run([*AUDIT[:-1], "todo2.csv"]) == 2
    assert "no design 'todo2.csv'" in capsys.readouterr().err

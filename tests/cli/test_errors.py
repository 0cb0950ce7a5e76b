from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bonwise.testing import simulate
from cli.commands import CONTROL, pool_file, scored, strict, typed, written

SCRIPTS = Path(sys.executable).parent
GOOD = scored([[0.9, 0.1], [0.2, 0.8], [0.6, 0.3], [0.5, 0.4]] * 5, [[1, 0], [0.3, 0.7], [0.2, 0.9], [1, 0.5]] * 5)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with a good table and many bad ones."""
    monkeypatch.chdir(tmp_path)
    text = written("good.csv", GOOD)
    lines = Path(text).read_text("utf-8").splitlines()
    bad = {
        "empty.csv": "",
        "header.csv": lines[0] + "\n",
        "short.csv": "\n".join([*lines[:4], "p9,c0", ""]),
        "words.csv": "\n".join([*lines, "p9,c0,j,good,1"]),
        "infinite.csv": "\n".join([*lines, "p9,c0,j,inf,1"]),
        "repeated.csv": "\n".join([*lines, lines[1]]),
        "nameless.csv": "\n".join([*lines, ",c0,j,0.5,1"]),
        "no_score.csv": "prompt_id,candidate,oracle_label\np,c,1\n",
        "two_scores.csv": "prompt_id,candidate,score,verdict,oracle_label\np,a,1,1,1\np,b,0,0,0\n",
        "twice.csv": "prompt_id,prompt_id,candidate,judge_score\np,p,c,1\n",
        "lonely.csv": "\n".join([lines[0], "p1,c0,j,0.5,1", "p2,c0,j,0.6,0"]),
        "unlabelled.csv": "\n".join(line.rpartition(",")[0] for line in lines),
        "percent.csv": "\n".join([*lines, "p9,c0,j,80,1", "p9,c1,j,20,0.5"]),
        "quote.csv": lines[0] + '\np1,"c0,j,0.5,1\n',
        "nul.csv": lines[0] + "\np1,c0,j,0.5\0,1\n",
        "labels.csv": "prompt_id,candidate,oracle_label\nelsewhere,c0,1\n",
        "not.jsonl": "{\n",
        "list.jsonl": "[1, 2]\n",
        "strange.xlsx": "what",
        "nopool.jsonl": '{"prompt_id": "p"}\n',
        "nocandidate.jsonl": '{"prompt_id": "p", "prompt": "say", "candidates": []}\n',
        "alike.jsonl": '{"prompt_id": "p", "prompt": "say", "candidates": [{"id": "a", "text": "x"}, {"id": "a", '
        '"text": "y"}]}\n',
        "again.jsonl": '{"prompt_id": "p", "prompt": "say", "candidates": ["x"]}\n' * 2,
    }
    for name, content in bad.items():
        Path(name).write_text(content, encoding="utf-8")
    Path("latin.csv").write_bytes(lines[0].encode() + b"\np1,caf\xe9,j,0.5,1\n")
    Path("wide.csv").write_bytes(Path(text).read_text("utf-8").encode("utf-16")[:-1])
    Path("cut.csv.gz").write_bytes(gzip.compress(Path(text).read_bytes())[:-9])
    Path("not.parquet").write_text("no", encoding="utf-8")
    Path("folder").mkdir()
    pool_file("pools.jsonl", {"p": ["a", "b"]})
    return tmp_path


READING = [
    ["nosuch.csv"],
    ["folder"],
    ["empty.csv"],
    ["header.csv"],
    ["short.csv"],
    ["words.csv"],
    ["infinite.csv"],
    ["repeated.csv"],
    ["nameless.csv"],
    ["no_score.csv"],
    ["two_scores.csv"],
    ["twice.csv"],
    ["lonely.csv"],
    ["quote.csv"],
    ["nul.csv"],
    ["not.jsonl"],
    ["list.jsonl"],
    ["strange.xlsx"],
    ["latin.csv"],
    ["wide.csv"],
    ["cut.csv.gz"],
    ["not.parquet"],
    ["good.csv", "--score-col", "nosuch"],
    ["good.csv", "--judge-scale", "1"],
    ["good.csv", "--judge-scale", "5:1"],
    ["good.csv", "--judge-scale", "0:nan"],
    ["good.csv", "--judge-scale", "stranger=0:1"],
    ["good.csv", "--label-scale", "0:0.5"],
    ["good.csv", "--json", "folder"],
    ["good.csv", "--json", "nosuch/a.json"],
]
TOLD_BY_DOCTOR = {"no_score.csv", "two_scores.csv", "lonely.csv", "latin.csv"}
"""Tables that an audit refuses; the doctor says what they lack, or what to type."""
AUDITING = [
    ["unlabelled.csv"],
    ["percent.csv"],
    ["unlabelled.csv", "--labels", "labels.csv"],
    ["unlabelled.csv", "--labels", "nosuch.csv"],
    ["good.csv", "--labels", "good.csv"],
    ["good.csv", "--labels", "labels.csv", "--oracle", "judge:j"],
    ["good.csv", "--oracle", "judge:j"],
    ["good.csv", "--oracle", "judge:stranger"],
    ["good.csv", "--oracle", "j"],
    ["good.csv", "--exclude", "stranger"],
    ["good.csv", "--control", "stranger"],
    ["good.csv", "--exclude", "c0"],
    ["good.csv", "--target", "both"],
    ["good.csv", "--interval", "bca"],
    ["good.csv", "--confidence", "95"],
    ["good.csv", "--confidence", "nan"],
    ["good.csv", "--confidence", "high"],
    ["good.csv", "--interval", "bootstrap", "--resamples", "0"],
    ["good.csv", "--interval", "bootstrap", "--seed", "-1"],
    ["good.csv", "--seed", "-1"],
    ["good.csv", "--seed", "1.5"],
    ["good.csv", "--fail-under", "recovery"],
    ["good.csv", "--fail-under", "recovery=high"],
    ["good.csv", "--fail-under", "recovery=nan"],
    ["good.csv", "--fail-under", "recovery=inf"],
    ["good.csv", "--fail-under", "=0.2"],
    ["good.csv", "--fail-under", "recall=0.2"],
    ["good.csv", "--fail-under", "recovery=0.1", "--fail-under", "recovery=0.9"],
    ["good.csv", "--threshold", "recall=0.5"],
    ["good.csv", "--threshold", "global_r=nan"],
    ["good.csv", "--rectangular", "--ragged"],
    ["good.csv", "--per-prompt", "nosuch/rows.csv"],
    ["good.csv", "--per-prompt", "folder"],
    ["good.csv", "--judge-scale", "0:1", "--judge-scale", "0:5"],
    ["good.csv", "--frob"],
    ["good.csv", "good.csv"],
    [],
]
JUDGING = [
    ["nosuch.jsonl", "--judge", "local:length"],
    ["not.jsonl", "--judge", "local:length"],
    ["list.jsonl", "--judge", "local:length"],
    ["nopool.jsonl", "--judge", "local:length"],
    ["nocandidate.jsonl", "--judge", "local:length"],
    ["alike.jsonl", "--judge", "local:length"],
    ["again.jsonl", "--judge", "local:length"],
    ["folder", "--judge", "local:length"],
    ["pools.jsonl", "--judge", "local:stranger"],
    ["pools.jsonl", "--judge", "local"],
    ["pools.jsonl", "--judge", "stranger:x"],
    ["pools.jsonl", "--judge", ""],
    ["pools.jsonl"],
    [],
]
REFUSED = [
    *(["audit", *words] for words in (*READING, *AUDITING)),
    *(["doctor", *words] for words in READING if words[0] not in TOLD_BY_DOCTOR),
    *(["judge", *words] for words in JUDGING),
    *(["select", *words] for words in JUDGING),
    ["judge", "pools.jsonl", "--judge", "local:length", "--judge", "local:length"],
    ["judge", "pools.jsonl", "--judge", "local:length", "--out", "nosuch/s.csv"],
    ["select", "pools.jsonl", "--judge", "local:length", "--seed", "x"],
    ["demo", "--out", "good.csv"],
    ["demo", "--out", "good.csv/demo"],
    ["demo", "--seed", "-1"],
    ["frob"],
    ["--frob"],
    ["Audit", "good.csv"],
]


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_bad_input_is_one_line(capsys, folder, words):
    """What cannot be used ends in exit code 2 and one clear line on standard error, without a traceback."""
    done = typed(capsys, *words)
    assert done.code == 2
    first, *more = done.err.splitlines()
    assert first.startswith("bonwise: ")
    assert len(first) > len("bonwise: ") + 8
    # Only where the error itself could not be written down is there a second line, and it says so.
    assert [line for line in more if "could not be written" not in line] == []
    assert "Traceback" not in done.err
    # A selection streams: the picks before a bad line stand, one document a line. The doctor shows the columns.
    assert (
        words[:1] == ["doctor"]
        or done.out == ""
        or "--json" in words
        or all(strict(line) for line in done.out.splitlines())
    )


@pytest.mark.parametrize("words", [w for w in REFUSED if "--json" not in w], ids=" ".join)
def test_bad_input_is_strict_json_too(capsys, folder, words):
    """With ``--json`` the same error is a strict document, in the file and on standard output, and says the same."""
    at = 1 if words and not words[0].startswith("-") else 0
    to_file = typed(capsys, *words[:at], "--json", "error.json", *words[at:])
    to_stdout = typed(capsys, *words[:at], "--json=-", *words[at:])
    assert (to_file.code, to_stdout.code) == (2, 2)
    for text, done in ((Path("error.json").read_text("utf-8"), to_file), (to_stdout.out, to_stdout)):
        document = strict(text)
        assert list(document) == ["schema", "error", "hint"]
        assert document["schema"] == "bonwise.error/1"
        assert done.err.rstrip("\n") == f"bonwise: {document['error']} ({document['hint']})"


@pytest.mark.parametrize(
    ("words", "code", "schema"),
    [
        (["audit", "good.csv"], 0, "bonwise.audit/1"),
        (["audit", "good.csv", "--fail-under", "effective_agreement=0.1"], 0, "bonwise.audit/1"),
        (["audit", "good.csv", "--fail-under", "tie_rate=0.9"], 1, "bonwise.audit/1"),
        (["audit", "good.csv", "--fail-under", "recovery=0.2"], 3, "bonwise.audit/1"),
        (["audit", "good.csv", "--bogus"], 2, "bonwise.error/1"),
        (["audit", "good.csv", "--fail-under", "recall=0"], 2, "bonwise.error/1"),
        (["audit", "nosuch.csv"], 2, "bonwise.error/1"),
        (["audit", "words.csv"], 2, "bonwise.error/1"),
        (["doctor", "good.csv"], 0, "bonwise.doctor/1"),
        (["doctor", "unlabelled.csv"], 0, "bonwise.doctor/1"),
        (["doctor", "nosuch.csv"], 2, "bonwise.error/1"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_every_exit_is_strict_json(capsys, folder, words, code, schema):
    """Whatever the exit code, ``--json`` leaves exactly one strict document of a stated schema."""
    for target in ("-", "out.json"):
        done = typed(capsys, *words, "--json", target)
        text = done.out if target == "-" else Path(target).read_text("utf-8")
        assert done.code == code
        assert strict(text)["schema"] == schema


def test_an_error_names_the_row(capsys, folder):
    """A bad cell is named by the row a spreadsheet shows, counting the header as row 1."""
    rows = len(GOOD) + 2
    for name in ("words.csv", "infinite.csv", "repeated.csv", "nameless.csv"):
        assert f"{name}, row {rows}: " in typed(capsys, "audit", name).err


def test_help_alone(capsys):
    """``bonwise`` alone shows the help with every command and ends well, and so does --help."""
    alone, asked = typed(capsys), typed(capsys, "--help")
    assert alone == asked
    assert alone.code == 0
    for command in ("demo", "doctor", "judge", "select", "audit"):
        assert f"\n  {command} " in alone.out
    assert not CONTROL.search(alone.out)


@pytest.mark.parametrize("command", ["demo", "doctor", "judge", "select", "audit"])
def test_every_command_explains_itself(capsys, command):
    """The help of a command ends well and explains every option."""
    done = typed(capsys, command, "--help")
    assert done.code == 0
    options = [line for line in done.out.splitlines() if line.startswith("  --")]
    assert len(options) >= 2
    assert not CONTROL.search(done.out)


def test_an_internal_error_is_loud_and_strict(capsys, folder, monkeypatch):
    """A bug is not dressed up as bad input: it keeps its traceback, and the document says internal error."""

    def fail(*arguments, **settings):
        raise ZeroDivisionError

    monkeypatch.setattr("bonwise.auditing.engine.audited", fail)
    done = typed(capsys, "audit", "good.csv", "--json", "out.json")
    assert done.code == 70  # never 1, which says that a gate was not met
    assert "Traceback" in done.err
    assert "internal error: ZeroDivisionError" in strict(Path("out.json").read_text("utf-8"))["error"]


def test_an_interrupt_is_no_traceback(capsys, folder, monkeypatch):
    """Ctrl-C ends with the code of an interrupt and one line."""

    def interrupt(*arguments, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr("bonwise.auditing.engine.audited", interrupt)
    done = typed(capsys, "audit", "good.csv", "--json", "-")
    assert done.code == 130
    assert done.err.startswith("bonwise: interrupted")
    assert strict(done.out)["error"] == "interrupted"


def test_a_reader_that_leaves_is_no_error(shared):
    """Piped into a program that stops reading, a long output ends quietly."""
    pools = shared / "data" / "arena100" / "candidates.jsonl"
    command = f"{SCRIPTS / 'bonwise'} select {pools} --judge local:length | head -n 1"
    done = subprocess.run([shutil.which("bash"), "-c", command], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["prompt_id"] == "arena_0"
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


@pytest.mark.parametrize(("gate", "code"), [("recovery=-50", 0), ("recovery=0.99", 1)])
def test_a_reader_that_leaves_changes_no_verdict(tmp_path, gate, code):
    """Piped into a program that reads nothing, an audit still writes its document and ends with its own code."""
    simulate("arena", n=300, seed=3).frame().to_csv(tmp_path / "s.csv", index=False)
    command = f"set -o pipefail; {SCRIPTS / 'bonwise'} audit s.csv --fail-under {gate} --json out.json | true"
    bash = shutil.which("bash")
    done = subprocess.run([bash, "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert strict((tmp_path / "out.json").read_text("utf-8"))["gates"]
    assert "Traceback" not in done.stderr


def test_picks_are_utf_8_wherever_they_are_written(tmp_path):
    """Where standard output has a poor encoding, what a program will read is UTF-8 all the same."""
    pool = {"prompt_id": "p", "prompt": "Où ?", "candidates": ["là-bas, très loin", "ici — voilà"]}
    (tmp_path / "pools.jsonl").write_text(json.dumps(pool) + "\n", encoding="utf-8")
    for command in (
        ["select", "pools.jsonl", "--judge", "local:length"],
        ["judge", "pools.jsonl", "--judge", "local:length"],
    ):
        done = subprocess.run(
            [SCRIPTS / "bonwise", *command],
            cwd=tmp_path,
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONIOENCODING": "ascii"},
        )
        assert done.stdout.decode("utf-8")
        assert b"\r" not in done.stdout


def test_the_installed_command_refuses_in_one_line(tmp_path):
    """The installed command ends a bad call with code 2, one line, and nothing on standard output."""
    done = subprocess.run(
        [SCRIPTS / "bonwise", "audit", "nosuch.csv"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "FORCE_COLOR": "1"},
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "bonwise: nosuch.csv: no such file (check the path)\n"


HOSTILE = [
    "\x1b[31mz\x1b[0m",
    "a\nb",
    "a\rb",
    "\u202eabc",
    "[red]x[/red]",
    "[/]",
    "[link=http://e]y",
    ":smile:",
    "\x9b2J",
]


def literal(name):
    """Write a name as it may be printed: control characters as escapes, all else as it is."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in name)


@pytest.fixture(params=HOSTILE, ids=literal)
def hostile(request, tmp_path, monkeypatch):
    """Work in a folder with a table whose every name is hostile."""
    monkeypatch.chdir(tmp_path)
    name = request.param
    scores, labels = [[0.9, 0.1, 0.5], [0.2, 0.8, 0.4]] * 4 + [[0.1, 0.2]], [[1, 0, 0.3]] * 8 + [[1, 0]]
    rows = [
        {f"s{name}" if key == "judge_score" else key: value for key, value in row.items()}
        for judge in ("j", "k")
        for row in scored(scores, labels, judge=judge + name)
    ]
    for row in rows:
        row["prompt_id"] += name
        row["candidate"] += name
    written(file_name(name), rows)
    return name


def file_name(name):
    """Make the name of a table, in which there is no slash."""
    return f"t{name}.csv".replace("/", "!")


def assert_printable(done, *names):
    """No control character reached the terminal, and each name stands there literally."""
    for text in (done.out, done.err):
        assert not CONTROL.search(text.replace("\t", " "))
    unwrapped = "".join((done.out + done.err).split())
    for name in names:
        assert "".join(literal(name).split()) in unwrapped, name


def test_names_from_an_audited_file_are_printed_literally(capsys, hostile):
    """Escapes, line breaks and markup in ids, candidates, judges and file names come out readable and run nothing."""
    column = ("--score-col", f"s{hostile}")
    asked = ("audit", file_name(hostile), *column, "--control", f"c2{hostile}", "--fail-under", "recovery=0.1")
    done = typed(capsys, *asked, "--json", "a.json")
    assert done.code in {0, 1, 3}
    assert_printable(done, file_name(hostile), f"j{hostile}", f"c2{hostile}")
    document = strict(Path("a.json").read_text("utf-8"))
    assert set(document["judges"]) == {f"j{hostile}", f"k{hostile}"}
    reference = typed(capsys, *asked, "--oracle", f"judge:j{hostile}")
    assert_printable(reference, f"agreement with j{hostile}")
    dropped = typed(capsys, "audit", file_name(hostile), *column, "--rectangular", "--full")
    assert_printable(dropped, f"p008{hostile}", f"lacks c2{hostile}")


def test_names_in_a_diagnosis_are_printed_literally(capsys, hostile):
    """The doctor prints hostile column, judge and file names literally."""
    done = typed(capsys, "doctor", file_name(hostile), "--score-col", f"s{hostile}")
    assert done.code == 0
    assert_printable(done, file_name(hostile), f"s{hostile}", f"j{hostile}")


def test_names_in_errors_are_printed_literally(capsys, hostile):
    """An error about a hostile name is one line that shows it readably, and the document holds it too."""
    for words in (
        ["audit", f"no{file_name(hostile)}"],
        ["audit", file_name(hostile)],
        ["audit", file_name(hostile), "--score-col", f"no{hostile}"],
        ["audit", file_name(hostile), "--score-col", f"s{hostile}", "--exclude", f"no{hostile}"],
        ["audit", file_name(hostile), "--score-col", f"s{hostile}", "--oracle", f"judge:no{hostile}"],
        ["audit", file_name(hostile), "--score-col", f"s{hostile}", "--fail-under", f"no{hostile}=1"],
        ["judge", f"no{hostile}.jsonl", "--judge", "local:length"],
        ["select", f"no{hostile}.jsonl", "--judge", f"no{hostile}"],
        ["audit", f"--no{hostile}"],
        [f"no{hostile}"],
    ):
        done = typed(capsys, *words, "--json", "-")
        assert done.code == 2, words
        assert done.err.count("\n") == 1, words
        assert not CONTROL.search(done.err), words
        assert strict(done.out)["schema"] == "bonwise.error/1"


def test_names_of_preferences_are_printed_literally(capsys, hostile):
    """Pairwise verdicts print hostile judge and column names literally."""
    rows = [{"i": x, "j": f"j{hostile}", "v": x % 2 + 1, f"g{hostile}": (x // 2) % 2 + 1} for x in range(8)]
    written("v.csv", rows)
    flags = ("--verdict-col", "v", "--label-col", f"g{hostile}", "--prompt-col", "i", "--judge-col", "j")
    done = typed(capsys, "preferences", "v.csv", *flags)
    assert done.code == 0
    assert_printable(done, f"j{hostile}", f"g{hostile}")


def test_picks_of_hostile_pools_are_one_line_each(capsys, tmp_path):
    """Line breaks and escapes in ids and answers stay inside their JSON line and their CSV cell."""
    names = [name for name in HOSTILE if name.strip()]
    pools = pool_file(
        tmp_path / "p.jsonl", {f"p{n}": [{"id": f"a{n}", "text": n}, {"id": "b", "text": n + n}] for n in names}
    )
    picked = typed(capsys, "select", pools, "--judge", "local:length")
    lines = [strict(line) for line in picked.out.split("\n")[:-1]]
    assert [line["prompt_id"] for line in lines] == [f"p{n}" for n in names]
    assert "\x1b" not in picked.out
    assert typed(capsys, "judge", pools, "--judge", "local:length", "--out", tmp_path / "s.csv").code == 0
    assert typed(capsys, "doctor", tmp_path / "s.csv").code == 0

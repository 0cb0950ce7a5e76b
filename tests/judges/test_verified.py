"""Judges behind a check: what fails costs no call and is never picked; one that cannot run has failed nobody."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bonwise as bw
from bonwise.errors import FileError, JudgeError, UsageError
from bonwise.judges.checks import final_answer
from bonwise.table.verdicts import Score, Unscored
from cli.commands import pool_file, rows_of, strict, typed, written
from cli.served import served

FAILED = "failed the check"
TEXTS = ["it is 4", "none", "", "it is 44"]


def length(_prompt, text):
    """Score a text by its length."""
    return len(text)


def python(code):
    """Return a command that runs some Python."""
    return f"{sys.executable} -c '{code}'"


HAS_FOUR = python('import sys; sys.exit("4" not in sys.stdin.read())')


def said(verdicts):
    """Return scores, and the reasons of those that have none."""
    return [verdict.value if isinstance(verdict, Score) else verdict.reason for verdict in verdicts]


@pytest.mark.parametrize(
    "check", [{"regex": r"\d"}, {"check": lambda _prompt, text: "4" in text}, {"command": HAS_FOUR}, {"regex": 4}]
)
def test_what_fails_has_no_score_and_what_passes_is_judged(check):
    """Those that pass have the inner judge's score, the blank one is empty, and the longest that passes is picked."""
    judge = bw.Verified(length, **check)
    assert said(judge.judge("How many?", TEXTS)) == [7, FAILED, "empty answer", 8]
    pick = bw.select("How many?", [*TEXTS, "a longer one that fails"], judge=judge)
    assert pick.best == "it is 44"
    assert pick.unscored["c1"] == FAILED


@pytest.mark.parametrize(
    ("settings", "passing"),
    [
        ({"answer": 4, "extract": "number"}, ["so 4.0", r"\boxed{4}", "8/2", "-1 + 5 is 4"]),
        ({"answer": "4", "extract": "boxed"}, [r"\boxed{4}"]),
        ({"answer": "X  y"}, ["x Y"]),
        ({"answer": "x", "extract": "answer: *(.*)"}, ["answer: y\nAnswer: z\nanswer: X"]),
        ({"answer": {"q": "x y", "other": "1"}}, ["x Y"]),
        ({"schema": {"type": "object", "required": ["n"], "properties": {"n": {"minimum": 2}}}}, ['{"n": 3}']),
    ],
)
def test_final_answers_and_schemas(settings, passing):
    """Numbers of one value are one answer; words are the same in capitals or not; JSON must fit its schema."""
    texts = [
        "so 4.0",
        r"\boxed{4}",
        "8/2",
        "-1 + 5 is 4",
        "x Y",
        "answer: y\nAnswer: z\nanswer: X",
        '{"n": 3}',
        '{"n": 1}',
        "4 or 5",
    ]
    verdicts = bw.Verified(length, **settings).judge("q", texts)
    assert [text for text, verdict in zip(texts, verdicts, strict=True) if isinstance(verdict, Score)] == passing
    assert {verdict.reason for verdict in verdicts if isinstance(verdict, Unscored)} == {FAILED}


@given(st.integers(-(10**15), 10**15), st.sampled_from(["{}", "{:,}", "{}.0", "{}/1", "is {}.", "1 or {:,}", "${}$"]))
def test_a_number_is_read_however_it_is_written(number, form):
    """Separators of thousands, a fraction by one and a point change no number."""
    assert final_answer("number")(form.format(number)) == str(number)


def test_what_says_why_is_kept_as_the_judges_words():
    """The reason counts; what a command or a schema said stands beside it."""
    command = python('import sys; print("first"); print("two tests failed"); sys.exit(1)')
    (verdict,) = bw.Verified(length, command=command).judge("q", ["x"])
    assert (verdict.reason, verdict.raw) == (FAILED, "two tests failed")
    (verdict,) = bw.Verified(length, schema={"type": "array"}).judge("q", ["3"])
    assert (verdict.reason, verdict.raw) == (FAILED, "")


def crash(_prompt, _text):
    """Fail."""
    raise RuntimeError("out of order")


async def later(_prompt, _text):
    """Answer when awaited."""
    return True


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        ({"command": python("raise SystemExit(3)")}, "it ended with exit code 3"),
        (
            {"command": python('print("no such test"); raise SystemExit(4)')},
            "it ended with exit code 4: no such test",
        ),
        ({"command": python("import os; os.kill(os.getpid(), 9)")}, "signal 9 ended it"),
        ({"command": python("import time; time.sleep(60)"), "timeout": 0.5}, "it did not end within 0.5 s"),
        ({"command": python('print("x" * 2**21)')}, "it printed more than 1 MiB"),
        ({"command": "yes", "timeout": 5}, "it printed more than 1 MiB"),
        ({"check": crash}, "RuntimeError: out of order"),
        ({"check": lambda *_: 1}, "it returned int, not true or false"),
        ({"check": later}, "it returned coroutine, not true or false"),
        ({"answer": {"another prompt": 1}}, "LookupError: no answer is given for this prompt"),
        ({"schema": {"$ref": "http://127.0.0.1:9/s.json"}}, None),
    ],
)
def test_a_check_that_cannot_run_fails_nobody(check, reason):
    """The candidate has no score for that reason, which is not that of one that failed."""
    (verdict,) = bw.Verified(length, **check).judge("q", ["1"])
    assert verdict.reason.startswith("the check could not run: ")
    assert not verdict.owed
    assert reason is None or verdict.reason == f"the check could not run: {reason}"


def test_a_command_has_no_shell_no_keys_and_leaves_nothing_behind(tmp_path, monkeypatch):
    """Its arguments are not expanded, a key of the environment is hidden from it, and what it started is ended."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-key-0123456789")
    monkeypatch.setenv("HARMLESS", "yes")
    shown = python(
        'import os, sys; print(sys.argv[1:], "OPENAI_API_KEY" in os.environ, os.environ["HARMLESS"]); sys.exit(1)'
    )
    (verdict,) = bw.Verified(length, command=f"{shown} $HOME ; exit 0").judge("q", ["x"])
    assert (verdict.reason, verdict.raw) == (FAILED, "['$HOME', ';', 'exit', '0'] False yes")
    left = tmp_path / "left"
    code = f'import subprocess; print(subprocess.Popen(["sleep", "60"]).pid, file=open("{left}", "w"))'
    begun = time.monotonic()
    assert said(bw.Verified(length, command=python(code)).judge("q", ["x"])) == [1]
    assert time.monotonic() - begun < 20
    pid = int(left.read_text("utf-8"))
    for _ in range(200):
        with suppress(ProcessLookupError, FileNotFoundError):
            os.kill(pid, 0)
            if " Z " not in Path(f"/proc/{pid}/stat").read_text("utf-8"):
                time.sleep(0.05)
                continue
        break
    else:
        pytest.fail("the command's own child runs on")


def test_a_candidate_goes_in_byte_for_byte(tmp_path):
    """What looks like an option, a shell or a control sequence is text on standard input."""
    for at, text in enumerate(["$(touch x); `id`", "--help\n\r\n\x1b[2J", "a\x00 \ud800 \u202e", "a\u2028" * 9]):
        copy = tmp_path / f"{at}"
        code = f'import sys; open("{copy}", "wb").write(sys.stdin.buffer.read())'
        assert said(bw.Verified(length, command=python(code)).judge("q", [text])) == [len(text)]
        assert copy.read_bytes() == text.encode("utf-8", "surrogatepass")


def test_where_none_passes_nothing_is_picked_unless_it_is_asked_for():
    """The pool is reported as not scored; a first or a random one is picked only where the user says so."""
    judge = bw.Verified(length, regex="never")
    pick = bw.select("q", ["a", "b"], judge=judge, on_failure="owe")
    assert (pick.best, pick.decided_by, pick.unscored) == (None, "nothing scored", {"c0": FAILED, "c1": FAILED})
    assert bw.select("q", ["a", "b"], judge=judge, on_failure="first").decided_by == "first"
    with pytest.raises(JudgeError, match=r"scored no candidate: failed the check .2 of 2"):
        bw.select("q", ["a", "b"], judge=judge)


def test_the_only_one_that_passes_wins_where_a_judge_compares():
    """There is nothing to compare it with: it scores 1, without a call; two that pass are compared."""
    judge = bw.Verified(bw.Pairwise("openai/m"), regex="4")
    ((pool,)) = bw.judge([("q", ["4", "none", "no"])], judge=judge, max_calls=0)
    assert said(pool.judgments[0].verdicts) == [1.0, FAILED, FAILED]
    assert said(bw.Verified(bw.judge_from_spec("local:consensus"), regex="4").judge("q", ["4", "no"])) == [
        1.0,
        FAILED,
    ]


def test_a_failed_candidate_costs_no_call(capsys, tmp_path, monkeypatch):
    """Best of 8 by a command: three calls for the three that pass, the others are counted; a second run is free."""
    monkeypatch.chdir(tmp_path)
    pool_file("pools.jsonl", {"p1": [f"answer {at}" for at in (1, 2, 14, 3, 4, 5, 41, 6)]})
    command = ("pools.jsonl", "--judge", "pointwise:openai/m", "--check", HAS_FOUR, "--check-timeout", "30")
    with served(monkeypatch, tmp_path) as script:
        estimate = typed(capsys, "judge", *command, "--dry-run")
        assert "8 calls" in estimate.out + estimate.err
        first = typed(capsys, "judge", *command, "--out", "scores.csv")
        picked = typed(capsys, "select", *command)
        assert script.counts.paid.total() == 3
    assert (first.code, picked.code) == (0, 0)
    assert "3 calls sent" in first.err
    assert "unscored 5 times: failed the check" in first.err
    assert "0 calls sent, 3 answers from the ledger" in picked.err
    rows = rows_of("scores.csv")
    assert [row["unscored"] for row in rows] == [FAILED, FAILED, "", FAILED, "", FAILED, "", FAILED]
    assert all((row["judge_score"] == "") == (row["unscored"] != "") for row in rows)
    pick = strict(picked.out)
    assert pick["best"] in {"c2", "c4", "c6"}
    assert set(pick["unscored"].values()) == {FAILED}


def test_pairs_and_members_keep_their_places(monkeypatch, tmp_path):
    """Comparisons and members of a jury name the candidates that passed by their place among all."""
    with served(monkeypatch, tmp_path):
        compared = bw.Verified(bw.Pairwise("openai/m"), regex="4")
        ((pool,)) = bw.judge([("q", ["none", "4", "no", "444"])], judge=compared)
    assert [(pair.a, pair.b) for pair in pool.judgments[0].preferences] == [(1, 3)]
    jury = bw.Verified(bw.Jury(["local:length", length]), regex="4")
    ((pool,)) = bw.judge([("q", ["none", "4", "no", "444"])], judge=jury)
    assert said(pool.judgments[0].verdicts) == [FAILED, 0.0, FAILED, 1.0]
    members = dict(pool.judgments[0].members)
    assert said(members["verified,regex=4,of=length"].verdicts) == [FAILED, 1, FAILED, 3]


def test_the_name_makes_the_judge_again():
    """Patterns, answers and commands are kept in it, whatever they hold."""
    for settings in ({"regex": r"a,b:%\d"}, {"answer": 42, "extract": "number"}, {"command": HAS_FOUR, "timeout": 3}):
        judge = bw.Verified(bw.judge_from_spec("local:length"), **settings)
        again = bw.judge_from_spec(judge.name)
        assert again.name == judge.name
        assert said(again.judge("q", TEXTS)) == said(judge.judge("q", TEXTS))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "a judge with no check"),
        ({"regex": "a", "answer": 1}, "a judge with regex and answer"),
        ({"regex": "("}, r"regex '\(' is no regular expression"),
        ({"answer": 1, "extract": "("}, r"extract '\(' is no regular expression"),
        ({"command": "a 'b"}, "is no command: No closing quotation"),
        ({"command": " "}, "cannot be run"),
        ({"command": "no-such-program -x"}, "the check 'no-such-program' is no program"),
        ({"command": "grep a", "timeout": 0}, "timeout"),
        ({"check": 3}, "check is int"),
        ({"schema": "no-such-file.json"}, "no-such-file.json: no such file"),
        ({"schema": {"type": 3}}, "is no JSON Schema"),
    ],
)
def test_a_check_that_means_nothing_is_refused(settings, words):
    """One clear error, before anything is judged."""
    with pytest.raises((UsageError, FileError), match=words):
        bw.Verified(length, **settings)


def test_a_wrapper_around_it_hides_what_fails_too():
    """Within a judge that rounds, every answer is asked about, and those that fail have no score all the same."""
    rounded = bw.Quantized(bw.Verified(lambda _, text: len(text) / 10, regex="4"), bins=11)
    assert said(rounded.judge("q", ["none", "444"])) == [FAILED, 0.3]


def test_several_checks_run_at_once():
    """Eight commands of half a second each take far less than four seconds, and hold up no event loop."""

    async def judged():
        judge = bw.Verified(bw.Jury(["local:length", length]), command=python("import time; time.sleep(0.5)"))
        begun, ticks = time.monotonic(), 0
        work = asyncio.ensure_future(bw.ajudge([("q", [f"{at}" for at in range(8)])], judge=judge))
        while not work.done():
            await asyncio.sleep(0.02)
            ticks += 1
        return time.monotonic() - begun, ticks, await work

    took, ticks, found = asyncio.run(judged())
    assert took < 3.5
    assert ticks > 10
    assert json.dumps(said(found[0].judgments[0].verdicts))


def test_members_behind_a_check_are_judges_of_their_own(tmp_path, monkeypatch, capsys):
    """A jury beside the same jury behind a check: each member has a row of each, and none takes the other's."""
    monkeypatch.chdir(tmp_path)
    Path("pools.jsonl").write_text(
        json.dumps({"prompt_id": "p", "prompt": "How many?", "candidates": ["it is 4", "none at all"]}) + "\n",
        "utf-8",
    )
    jury = "jury:local:length+local:lexical"
    done = typed(
        capsys, "judge", "pools.jsonl", "--judge", f"verified,regex=4,of={jury}", "--judge", jury, "--out", "s.csv"
    )
    assert done.code == 0
    scores = {(row["judge"], row["candidate"]): row for row in rows_of(Path("s.csv"))}
    assert scores["local:length", "c1"]["judge_score"] != ""
    assert scores["verified,regex=4,of=local:length", "c1"]["unscored"] == FAILED


@pytest.mark.parametrize("rule", ["mean", "majority"])
def test_the_only_one_that_passes_wins_in_a_jury_too(rule):
    """A jury that has nothing to compare it with says so, and the check has decided."""
    judge = bw.Verified(bw.Jury([length, "local:length"], rule=rule), regex="4")
    assert said(judge.judge("How many?", ["it is 4", "none"])) == [1.0, FAILED]


def test_keys_in_a_command_and_in_what_it_prints_are_hidden(monkeypatch):
    """Neither the name of the judge nor a reason holds a key."""
    monkeypatch.setenv("OPENAI_API_KEY", "very-secret-value-1")
    judge = bw.Verified(length, command=python('print("very-secret-value-1"); import sys; sys.exit(3)'))
    assert "very-secret" not in judge.name
    (verdict,) = judge.judge("q", ["a"])
    assert verdict.reason == "the check could not run: it ended with exit code 3: [key]"


def test_a_program_that_cannot_be_started_fails_nobody(tmp_path):
    """It was there when the judge was made."""
    program = tmp_path / "check"
    program.write_text("#!/no/such/interpreter\n", "utf-8")
    program.chmod(0o755)
    (verdict,) = bw.Verified(length, command=str(program)).judge("q", ["a"])
    assert "cannot be started: No such file or directory" in verdict.reason


def test_a_stack_refuses_a_check_on_a_table(tmp_path, monkeypatch, capsys):
    """A table of scores has no texts to check."""
    monkeypatch.chdir(tmp_path)
    Path("scores.csv").write_text("prompt_id,candidate,judge,judge_score\np,a,x,1\n", "utf-8")
    done = typed(capsys, "judge", "scores.csv", "--judge", "stack:s.json", "--check", "true")
    assert (done.code, "--check" in done.err) == (2, True)


@pytest.mark.parametrize(
    "inner",
    [
        "pairwise:openai/m",
        "resampled,draws=2,of=pairwise:openai/m",
        "weighted_majority,of=pairwise:openai/m",
        "jury:pairwise:openai/m+local:consensus",
        "local:consensus",
    ],
)
def test_the_only_one_that_passes_wins_whatever_compares(inner, tmp_path, monkeypatch):
    """Where a judge, whatever it is made of, has nothing to compare with, the one that passes scores 1."""
    with served(monkeypatch, tmp_path):
        pick = bw.select(
            "How many?", ["it is 4", "none", ""], judge=bw.judge_from_spec(f"verified,regex=4,of={inner}")
        )
    assert (pick.best_id, pick.scores) == ("c0", (1.0, None, None))
    assert pick.unscored == {"c1": FAILED, "c2": "empty answer"}


class Declining:
    """A judge that scores nothing."""

    name, version = "declining", "1"

    def judge(self, _prompt, texts):
        """Say why."""
        return [Unscored("no other answer to compare with")] * len(texts)


def test_a_reason_in_the_same_words_is_no_lack_of_rivals():
    """What a judge says of the only one that passes stands, whatever its words are."""
    (verdict, _) = bw.Verified(Declining(), regex="4").judge("q", ["4", "x"])
    assert verdict.reason == "no other answer to compare with"


def test_a_pool_of_which_none_passes_is_reported_and_audited(tmp_path, monkeypatch, capsys):
    """`judge` names it, members have no row there, and an audit reads the ragged table and says what it left out."""
    monkeypatch.chdir(tmp_path)
    pools = {f"p{at}": ["it is 4", "so 4", "none"] for at in range(4)} | {"q": ["no", "none"]}
    pool_file("pools.jsonl", pools)
    cells = [(prompt, f"c{at}") for prompt, texts in pools.items() for at in range(len(texts))]
    written("labels.csv", [{"prompt_id": p, "candidate": c, "oracle_label": int(c == "c0")} for p, c in cells])
    judge = "verified,regex=4,of=jury:local:length+local:format"
    done = typed(capsys, "judge", "pools.jsonl", "--judge", judge, "--out", "scores.csv")
    assert f"no candidate has a score by '{judge[:36]}" in done.err.replace("...", "")
    assert "in 1 pool: q" in done.err
    rows = Counter(row["judge"] for row in rows_of("scores.csv") if row["prompt_id"] == "q")
    assert rows == {judge: 2}
    audited = typed(capsys, "audit", "scores.csv", "--labels", "labels.csv", "--json", "-")
    (own, *members) = [found["data"] for found in strict(audited.out)["judges"].values()]
    assert (own["prompts"], [found["prompts"] for found in members]) == (5, [4, 4])
    shown = typed(capsys, "audit", "scores.csv", "--labels", "labels.csv", "--full").out
    assert "6 candidates without a score in 5 prompts, 1 of them without any score: failed the check (6)" in shown
    assert "dropped 1 prompt: not judged (1): q" in shown

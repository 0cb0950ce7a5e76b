"""What judges said goes into a file and from there onto a page, whatever it holds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cli.commands import CONTROL, pool_file, rows_of, typed, written
from cli.served import served

NOISE = {
    "\ud800": r"\ud800",
    "\x00": r"\x00",
    "\x1b[31m\x1b]0;owned\x07": r"\x1b[31m\x1b]0;owned\x07",
    "\x9b2J\x7f": r"\x9b2J\x7f",
    "over\rwritten": r"over\rwritten",
    "one\r\ntwo\tthree": "one\ntwo\tthree",
    "=cmd|' /C calc'!A0": "=cmd|' /C calc'!A0",
    '"quoted",\u2028<script>alert(1)</script>': '"quoted",\u2028<script>alert(1)</script>',
}
"""What a model may say before its score, and how a file holds it."""

POOLS = {f"p{at}": [f"answer {at} {name}" for name in "ab"] for at in range(len(NOISE))}


def said(request):
    """Answer with the noise of the pool's number, and a score after it."""
    at, name = re.search(r"answer (\d) ([ab])", request.user).groups()
    return f'{list(NOISE)[int(at)]} {{"score": {70 if name == "a" else 30 + int(at)}}}'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with a pool for each noise, and labels by which each pick loses: pages show those prompts."""
    monkeypatch.chdir(tmp_path)
    pool_file("pools.jsonl", POOLS)
    labels = [(name, f"c{at}", label) for name in POOLS for at, label in enumerate((0, 1))]
    written("labels.csv", [dict(zip(("prompt_id", "candidate", "oracle_label"), row, strict=True)) for row in labels])
    return tmp_path


def judged(capsys, out="scores.csv"):
    """Judge the pools, the words and the tokens kept."""
    return typed(capsys, "judge", "pools.jsonl", "--judge", "pointwise:openai/m", "--raw", "--tokens", "--out", out)


def test_what_a_judge_said_never_costs_the_file(capsys, folder, monkeypatch):
    """Replies with half a surrogate pair, NUL or escapes of a terminal are written out, scored and read back."""
    with served(monkeypatch, folder, answer=said):
        first, again = judged(capsys), judged(capsys, "again.csv")
    assert (first.code, again.code) == (0, 0)
    content = Path("scores.csv").read_bytes()
    assert content == Path("again.csv").read_bytes()
    assert not CONTROL.search(content.decode().replace("\t", "").replace("\u2028", ""))
    rows = rows_of("scores.csv")
    assert [row["judge_score"] for row in rows[::2]] == ["0.7"] * len(NOISE)
    for row, shown in zip(rows[::2], NOISE.values(), strict=True):
        assert row["raw"].removeprefix("'") == f'{shown} {{"score": 70}}'
        assert float(row["tokens"]) > 0
    assert not CONTROL.search(first.err)


def test_what_a_judge_said_can_be_audited(capsys, folder, monkeypatch):
    """The file of such replies is audited, and its page shows each of them as text."""
    with served(monkeypatch, folder, answer=said):
        judged(capsys)
    done = typed(capsys, "audit", "scores.csv", "--labels", "labels.csv", "--html", "page.html")
    assert done.code == 0, done.err
    page = Path("page.html").read_bytes().decode()
    assert not CONTROL.search(page.replace("\t", ""))
    for shown in (r"\ud800", r"\x00", r"\x1b]0;owned\x07", r"\x9b2J\x7f", r"over\rwritten", "&lt;script&gt;alert(1)"):
        assert shown in page


def test_a_ledger_holds_what_was_said_as_it_was(capsys, folder, monkeypatch):
    """What is written out for the file stands unchanged in the ledger's own record of the reply."""
    with served(monkeypatch, folder, answer=said):
        judged(capsys)
    exported = typed(capsys, "ledger", "export", "bonwise-run", "--out", "calls.jsonl")
    assert exported.code == 0, exported.err
    text = Path("calls.jsonl").read_text(encoding="utf-8")
    assert r"\u0000" in text
    assert r"\x00" not in text


@pytest.mark.parametrize("record", [{"prompt_id": "p\0"}, {"candidates": [{"id": "c\0", "text": "a"}]}])
def test_a_name_that_no_table_holds_is_refused_before_anything_is_paid(capsys, folder, monkeypatch, record):
    """A NUL in an identifier is one line of error, and nothing is asked."""
    pool = {"prompt_id": "p", "prompt": "the prompt", "candidates": ["a", "b"], **record}
    Path("pools.jsonl").write_text(json.dumps(pool) + "\n", encoding="utf-8")
    with served(monkeypatch, folder) as script:
        done = typed(capsys, "judge", "pools.jsonl", "--judge", "pointwise:openai/m", "--out", "scores.csv")
    assert (done.code, script.counts.requests) == (2, 0)
    assert "holds a NUL, which no text table can hold" in done.err

"""The commands with a ledger on PostgreSQL, as their users type them."""

from __future__ import annotations

import pytest

from bonwise.testing.script import Script
from bonwise.testing.server import ScriptedServer
from cli.commands import typed
from crash.runs import pool_file

SECRET = "hunter2-and-more"  # noqa: S105 - nobody's


@pytest.fixture(autouse=True)
def key(monkeypatch):
    """Take the scripted service's key."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-scripted")


def test_judge_and_select_share_a_ledger_in_a_database(capsys, tmp_path, monkeypatch, address):
    """What `judge` has paid `select` does not pay again, and `ledger` looks into it."""
    monkeypatch.chdir(tmp_path)
    pool_file("pools.jsonl", 3)
    script = Script(lambda _: '{"score": 70}')
    with ScriptedServer(script).in_thread() as server:
        base = (
            "--judge",
            "pointwise,price=1/2:openai/gpt-5-mini",
            "--base-url",
            f"{server.url}/v1",
            "--ledger",
            address,
        )
        judged = typed(capsys, "judge", "pools.jsonl", *base, "--out", "scores.csv", "--max-cost", "5/day")
        assert judged.code == 0, judged.err
        paid = script.counts.answers
        assert paid
        picked = typed(capsys, "select", "pools.jsonl", *base)
        assert picked.code == 0, picked.err
        assert script.counts.answers == paid
        assert "0 calls" in typed(capsys, "judge", "pools.jsonl", *base, "--dry-run").out
    assert not (tmp_path / "bonwise-run").exists()
    stats = typed(capsys, "ledger", "stats", address)
    assert stats.code == 0, stats.err
    assert f"{paid}" in stats.out
    assert len(typed(capsys, "ledger", "show", address).out.splitlines()) == paid
    assert typed(capsys, "ledger", "export", address, "--out", "calls.jsonl").code == 0
    assert len((tmp_path / "calls.jsonl").read_text().splitlines()) == paid


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--ledger", f"postgresql://u:{SECRET}@h/db"), "contains a password"),
        (("--ledger", "runs/a"), "not the address of a database"),
        (("--run", "postgresql://u@h/db"), "name a database by --ledger"),
        (("--block-size", "5"), "needs --engine ray"),
        (("--workers", "2"), "needs --engine ray"),
        (("--engine", "spark"), "--engine ray"),
    ],
)
def test_what_names_no_ledger_or_engine_is_refused(capsys, tmp_path, monkeypatch, arguments, said):
    """In one sentence, and without what may be a password."""
    monkeypatch.chdir(tmp_path)
    pool_file("pools.jsonl", 1)
    done = typed(capsys, "judge", "pools.jsonl", "--judge", "pointwise:openai/gpt-5-mini", *arguments)
    assert done.code == 2
    assert said in done.err
    assert SECRET not in done.err + done.out

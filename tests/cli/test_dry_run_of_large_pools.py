"""A pool with millions of questions: a dry run counts its calls by formula, at once, and warns."""

from __future__ import annotations

import math
import time

import pytest

from bonwise.cli import dry_run as large_pools
from cli.commands import pool_file, typed

MODEL = "openai/gpt-5-mini"
FEW = {"few": ["an answer", "another", "a third"]}


@pytest.fixture
def many(tmp_path):
    """Return the file of one pool of 20,000 candidates."""
    return pool_file(tmp_path / "many.jsonl", {"many": [f"answer {number}" for number in range(20_000)]})


@pytest.mark.parametrize("command", [("judge", "--out", "never.csv"), ("select",)])
def test_twenty_thousand_candidates_are_counted_at_once(capsys, many, command):
    """399,980,000 calls are said, with a warning that names what to do instead; nothing is asked or estimated."""
    began = time.process_time()
    done = typed(capsys, command[0], many, "--judge", f"pairwise:{MODEL}", *command[1:], "--dry-run")
    assert time.process_time() - began < 10
    assert done.code == 0
    assert f"at most {2 * math.comb(20_000, 2):,} calls by formula in 1 pool of up to 20,000 candidates" in done.out
    assert "pointwise" in done.err
    assert "warning" in done.err
    assert done.err.count("\n") == 1


def test_judges_that_ask_once_a_candidate_are_looked_at(capsys, many):
    """The formula is for questions by the million: one call per candidate is estimated as ever."""
    done = typed(capsys, "judge", many, "--judge", f"pointwise:{MODEL}", "--out", "never.csv", "--dry-run")
    assert "20,000 calls" in done.out
    assert "by formula" not in done.out + done.err


@pytest.mark.parametrize("command", ["judge", "select"])
def test_small_pools_beside_large_ones_are_estimated(capsys, tmp_path, monkeypatch, command):
    """What is not large is looked at question by question; the formula and the questions say the same number."""
    monkeypatch.setattr(large_pools, "MOST_LOOKED_AT", 6)
    file = pool_file(tmp_path / "p.jsonl", {**FEW, "more": ["a", "b", "c", "d", " "]})
    out = ["--out", "never.csv"] if command == "judge" else []
    done = typed(capsys, command, file, "--judge", f"pairwise:{MODEL}", *out, "--dry-run")
    assert "in all 6 calls" in done.out
    assert "besides, " in done.out
    assert "at most 12 calls by formula in 1 pool of up to 4 candidates" in done.out
    monkeypatch.setattr(large_pools, "MOST_LOOKED_AT", 200_000)
    done = typed(capsys, command, file, "--judge", f"pairwise:{MODEL}", *out, "--dry-run")
    assert "in all 18 calls" in done.out


def test_a_stronger_judge_counts(capsys, tmp_path, monkeypatch):
    """What a router may send to a judge of pairs belongs to the formula."""
    monkeypatch.setattr(large_pools, "MOST_LOOKED_AT", 20)
    file = pool_file(tmp_path / "p.jsonl", {"more": list("abcde")})
    strong = ("--strong", f"pairwise:{MODEL}", "--route", "margin")
    done = typed(capsys, "select", file, "--judge", f"pointwise:{MODEL}", *strong, "--dry-run")
    assert "at most 25 calls by formula" in done.out

"""The tests that the page on gates shows are run by a pytest of their own, with the plug-in of bonwise."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from bonwise.testing import simulate
from docs.pages import blocks
from docs.stock import named
from docs.typed_pages import A_TEST


@pytest.fixture
def suite(tmp_path):
    """Return a folder with the tests of the page, and the table and labels that they name."""
    found = [block for block in blocks("docs/ci.md", "python") if A_TEST.search(block)]
    assert len(found) == 2
    tmp_path.joinpath("test_judge.py").write_text("\n\n".join(found), encoding="utf-8")
    tmp_path.joinpath("pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return tmp_path


def typed(suite, table):
    """Write the tables, type pytest, and return its code and what it said."""
    table.to_csv(suite / "scores.csv", index=False)
    table.drop(columns="oracle_label").to_csv(suite / "judged.csv", index=False)
    table[["prompt_id", "candidate", "oracle_label"]].to_csv(suite / "labels.csv", index=False)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = subprocess.run(command, cwd=suite, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_the_tests_of_the_page_pass_with_a_good_judge(suite):
    """Scores that follow the labels meet every gate, the easy candidate left out."""
    table = named(simulate("arena", n=200, seed=3).frame())
    table["candidate"] = table["candidate"].replace("c3", "unhelpful")
    noise = np.random.default_rng(1).normal(scale=0.05, size=len(table))
    code, said = typed(suite, table.assign(judge_score=(table["oracle_label"] + noise).clip(0, 1)))
    assert code == 0, said


def test_they_fail_with_a_judge_without_use(suite):
    """Scores without relation to the labels fail both tests, in the words of the gate."""
    table = named(simulate("arena", n=200, seed=3).frame())
    table["candidate"] = table["candidate"].replace("c3", "unhelpful")
    code, said = typed(suite, table.assign(judge_score=1 - table["oracle_label"]))
    assert code == 1
    assert "2 failed" in said
    assert "recovery > 20%: not met" in said

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest

import bonwise as bw
from bonwise.table.pools import read_pools
from cli.commands import pool_file, strict, typed
from cli.picked import decisions
from cli.served import served

POOLS = {"p1": ["alone"], "p2": ["a longer answer", "short", ""], "p3": ["one", "two"], "p4": ["last and alone"]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with a few pools, some with a single candidate."""
    monkeypatch.chdir(tmp_path)
    pool_file("pools.jsonl", POOLS)
    return tmp_path


def selected(capsys, *more):
    """Select from the pools with a judge that asks a model."""
    return typed(capsys, "select", "pools.jsonl", "--judge", "pointwise:openai/m", *more)


def test_picks_are_those_of_the_scores_and_cost_nothing_again(capsys, folder, monkeypatch):
    """One line per pool in input order, the best scored one picked; a second run sends nothing and says the same."""
    with served(monkeypatch, folder) as script:
        first = selected(capsys)
        paid = script.counts.paid.total()
        second = selected(capsys)
        assert script.counts.paid.total() == paid == 4  # single candidates and blank texts are not asked about
    lines = [strict(line) for line in first.out.splitlines()]
    assert (first.code, second.code) == (0, 0)
    assert [line["prompt_id"] for line in lines] == list(POOLS)
    assert [line["decided_by"] for line in lines] == ["only candidate", "score", "score", "only candidate"]
    for line in lines[1:3]:
        scored = [score for score in line["scores"] if score is not None]
        assert line["scores"][line["index"]] == max(scored)
    assert [line["calls"] for line in lines] == [0, 2, 2, 0]
    assert decisions(first) == decisions(second)


def test_a_pool_with_an_owed_answer_has_no_pick(capsys, folder, monkeypatch):
    """While an answer is pending nothing is picked, the command ends with 4, and going on picks."""
    with served(monkeypatch, folder):
        cut = selected(capsys, "--max-calls", "3", "--max-concurrency", "1")
        lines = [strict(line) for line in cut.out.splitlines()]
        owed = [line for line in lines if line["decided_by"] == "owed"]
        assert cut.code == 4
        assert owed
        assert all(line["best"] is None and line["index"] is None for line in owed)
        assert "owed" not in {strict(line)["decided_by"] for line in selected(capsys).out.splitlines()}


def test_python_and_the_command_pick_the_same(capsys, folder, monkeypatch):
    """`bw.select` with the same judge, seed and prompt id makes the same pick."""
    with served(monkeypatch, folder):
        lines = {line["prompt_id"]: line for line in map(strict, selected(capsys, "--seed", "3").out.splitlines())}
        judge = bw.Pointwise("openai/m", base_url=base_url())
        for pool in read_pools("pools.jsonl"):
            pick = bw.select(pool.prompt, pool.candidates, judge=judge, seed=3, prompt_id=pool.prompt_id)
            assert pick.best_id == lines[pool.prompt_id]["best"]
            assert list(pick.scores) == lines[pool.prompt_id]["scores"]


def base_url():
    """Return the address of the service of this test: the shared engine remembers the one it met first."""
    return os.environ["OPENAI_BASE_URL"]


def test_a_model_that_does_not_answer_is_an_error_in_python(folder, monkeypatch):
    """Without an answer `bw.select` raises what is wrong, in one line."""
    with served(monkeypatch, folder, models=frozenset({"another"})):
        judge = bw.Pointwise("openai/m", base_url=base_url())
        with pytest.raises(bw.CallError, match="was not answered") as caught:
            bw.select("p", ["a", "b"], judge=judge)
    assert "\n" not in str(caught.value)


def test_a_dry_run_foresees_what_selecting_sends(capsys, folder, monkeypatch):
    """The estimate leaves out single candidates, and no run folder is made."""
    with served(monkeypatch, folder) as script:
        done = selected(capsys, "--dry-run")
        assert "4 calls" in done.out
        assert script.counts.requests == 0
    assert not Path("bonwise-run").exists()


MORE = {
    "redraws": ("--strategy", "adaptive:margin=1,max_draws=3"),
    "a stronger judge": ("--strong", "pairwise:openai/n", "--route", "margin", "--share", "0.5"),
    "both": (
        *("--strategy", "adaptive:margin=1,max_draws=3"),
        *("--strong", "pairwise:openai/n", "--route", "margin", "--share", "0.5"),
    ),
}


@pytest.mark.parametrize("name", MORE)
def test_a_dry_run_after_the_run_says_0_calls(capsys, folder, monkeypatch, name):
    """What is asked after a first pass depends on its answers, and these are stored: nothing is left to ask."""
    with served(monkeypatch, folder) as script:
        before = selected(capsys, *MORE[name], "--dry-run").out
        assert "more call" in before
        assert selected(capsys, *MORE[name]).code == 0
        paid = script.counts.paid.total()
        done = selected(capsys, *MORE[name], "--dry-run")
        assert (done.code, script.counts.paid.total()) == (0, paid)
    assert "in all 0 calls" in done.out
    assert "more call" not in done.out


def test_a_dry_run_does_not_warn_of_a_signal_without_a_value(capsys, folder, monkeypatch):
    """The run says it in a line of its own; a dry run routes nothing."""
    routed = ("--strong", "pairwise:openai/n", "--route", "interval_width", "--share", "0.5")
    with served(monkeypatch, folder):
        assert "WARNING" in selected(capsys, *routed).err
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            assert selected(capsys, *routed, "--dry-run").code == 0
    assert [str(one.message) for one in told if one.category is UserWarning] == []


def test_a_dry_run_of_a_cut_run_bounds_what_is_left(capsys, folder, monkeypatch):
    """Pools that the stored answers decide are in no bound."""
    strategy = ("--strategy", "adaptive:margin=1,max_draws=3")
    with served(monkeypatch, folder):
        whole = selected(capsys, *strategy, "--dry-run").out
        selected(capsys, *strategy, "--max-calls", "5", "--max-concurrency", "1")
        left = selected(capsys, *strategy, "--dry-run").out

    def bound(text):
        return int(text.partition("after the first pass up to ")[2].partition(" ")[0])

    assert 0 < bound(left) < bound(whole)


def test_an_unknown_price_says_why(capsys, folder, monkeypatch):
    """At an address of one's own the built-in prices do not hold; the address is shown without a login."""
    with served(monkeypatch, folder):
        monkeypatch.delenv("BONWISE_PRICES")
        done = selected(capsys, "--dry-run", "--base-url", "http://me:secret@localhost:9/v1?key=canary")
    assert "price not known: openai/m at http://localhost:9/v1, where the built-in prices" in done.out
    assert "secret" not in done.out + done.err
    assert "canary" not in done.out + done.err

"""Picks by a stack of judges: what the stack says of the best, in a pick, before a router, on a command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

import bonwise as bw
from bonwise.selection.selector import Selector
from bonwise.stacks.fitted_stack import FeatureScaling
from bonwise.stacks.result import read_stack
from cli.commands import typed
from stacks.stack_tables import judged, stack_of

POOL = ["one", "two of them", "three of them, at length"]


def length(_prompt, text):
    """Score by length."""
    return len(text) / 25


def vowels(_prompt, text):
    """Score by vowels."""
    return sum(letter in "aeiou" for letter in text) / 10


@pytest.fixture
def judge():
    """Return a stack of two functions."""
    return bw.Stack(stack_of("length", "vowels"), judges={"length": length, "vowels": vowels})


def test_the_pick_has_what_the_stack_says(judge):
    """P(best) of each candidate, and the regret of the one that was picked."""
    pick = bw.select("Say it", POOL, judge=judge)
    values = [[length("", text), vowels("", text)] for text in POOL]
    utilities, chances, regrets = judge.weights.judged(np.array(values))
    assert pick.index == int(utilities.argmax())
    assert list(pick.p_best) == pytest.approx(chances.tolist())
    assert pick.expected_regret == pytest.approx(float(regrets[pick.index]))


def test_a_strategy_that_draws_again_states_its_own_chances(judge):
    """Means of repeated draws carry no chances of the stack."""
    pick = bw.select("Say it", POOL, judge=judge, strategy=bw.Resample(draws=3))
    assert pick.p_best == ()


@pytest.mark.parametrize("signal", ["p_best", "margin"])
def test_a_stack_is_the_first_stage_of_a_router(judge, signal):
    """Its chances and its margins are signals: a sure pick is kept, one between equals is sent on."""
    router = bw.Router(strong=lambda _prompt, text: -len(text), signal=signal, share=0.5)
    selector = Selector(judge, router=router)
    for at in range(30):
        # Half of the pools hold two candidates that are level.
        texts = POOL if at % 2 else ["abcde abcde", "edcba edcba", "b"]
        pick = selector.select(f"Say it {at}", texts)
        assert pick.routed.signal is not None
    sent = [selector.select(f"More {at}", ["abcde abcde", "edcba edcba", "b"]).routed.strong for at in range(10)]
    kept = [selector.select(f"Sure {at}", POOL).routed.strong for at in range(10)]
    assert sum(one is not None for one in sent) > sum(one is not None for one in kept)


def test_a_router_learnt_from_a_table_with_a_stack(tmp_path):
    """`judge --judge stack:FILE` makes the table, the study learns from it, and the router sends by it live."""
    fit = bw.fit_stack(judged(prompts=120))
    applied = bw.apply_stack(judged(prompts=120, seed=3), fit).table
    alone = applied.frame[applied.frame["judge"] == "stack"]
    path = tmp_path / "router.json"
    bw.route(alone).save(path)
    router = bw.Router(strong=lambda _prompt, text: len(text), signal=path)
    judges = {"good": length, "fair": vowels, "noise": lambda _prompt, _text: 0.5}
    pick = bw.select("Say it", POOL, judge=bw.Stack(fit, judges=judges), router=router)
    assert pick.routed.signal is not None


def test_a_selector_by_a_file_is_made_again_from_plain_values(tmp_path):
    """The same judge, by the name that a command line takes."""
    path = tmp_path / "stack.json"
    table = judged(judges={"local:length": 0.7, "local:lexical": 0.6})
    bw.fit_stack(table).save(path)
    selector = Selector(bw.Stack(str(path)))
    written = json.loads(json.dumps(selector.to_dict()))
    again = Selector.from_dict(written)
    texts = ["short", "somewhat longer"]
    assert again.select("Say it", texts).scores == selector.select("Say it", texts).scores


def test_the_command_selects_by_a_file(tmp_path, monkeypatch, capsys):
    """Judges are made from their names; picks hold what the stack says; the picks of two judges are compared."""
    monkeypatch.chdir(tmp_path)
    table = judged(judges={"local:length": 0.7, "local:lexical": 0.6})
    bw.fit_stack(table).save("stack.json")
    pools = [{"prompt_id": f"p{at:03d}", "prompt": "Say it", "candidates": POOL} for at in range(4)]
    (tmp_path / "pools.jsonl").write_text("".join(json.dumps(pool) + "\n" for pool in pools), encoding="utf-8")
    done = typed(capsys, "select", "pools.jsonl", "--judge", "stack:stack.json", "--run", "run")
    assert done.code == 0, done.err
    picks = [json.loads(line) for line in done.out.splitlines()]
    assert len(picks) == 4
    assert all(sum(pick["p_best"]) == pytest.approx(1) for pick in picks)
    judged_now = typed(
        capsys, "judge", "pools.jsonl", "--judge", "stack:stack.json", "--run", "run", "--out", "j.csv"
    )
    assert judged_now.code == 0, judged_now.err
    (tmp_path / "picks.jsonl").write_text(done.out, encoding="utf-8")
    labels = "prompt_id,candidate,oracle_label\n" + "".join(
        f"{pick['prompt_id']},{name},{at}\n" for pick in picks for at, name in enumerate(pick["ids"])
    )
    (tmp_path / "labels.csv").write_text(labels, encoding="utf-8")
    other = typed(capsys, "select", "pools.jsonl", "--judge", "local:length", "--run", "other")
    (tmp_path / "others.jsonl").write_text(other.out, encoding="utf-8")
    assert typed(capsys, "compare", "picks.jsonl", "others.jsonl", "--labels", "labels.csv").code == 0


def test_a_fallback_asks_its_judge_alone():
    """The others of the table are not asked, and need not be made."""
    fits = (bw.fit_stack(judged(seed=seed, judges={"good": 0.7, "x": 0.0, "y": 0.0})) for seed in range(4))
    fit = next(one for one in fits if one.fallback)
    judge = bw.Stack(fit, judges={"good": length})
    pick = bw.select("Say it", POOL, judge=judge)
    assert pick.text == max(POOL, key=len)
    assert isinstance(judge.weights.scaling, FeatureScaling)


def test_a_document_selects_as_its_file_does(tmp_path):
    """A file, its document and the fit hold one stack."""
    fit = bw.fit_stack(judged(judges={"local:length": 0.7, "local:lexical": 0.6}))
    fit.save(tmp_path / "stack.json")
    document = read_stack(tmp_path / "stack.json")
    scores = {
        bw.select("Say it", POOL, judge=bw.Stack(one)).scores for one in (fit, document, tmp_path / "stack.json")
    }
    assert len(scores) == 1

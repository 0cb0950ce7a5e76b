"""A page of every kind, made by the function or the command that a user would call."""

from __future__ import annotations

import json
import os
import time
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest

import bonwise as bw
from bonwise.cli.entry import run
from browser.samples import spoken, two_spoken
from cli.served import served
from docs.stock import stock

__all__ = ["KINDS", "PICTURED", "page_of_kind"]

PROMPTS = 24


def _audit(path):
    bw.audit(spoken(PROMPTS), control=["c3"]).to_html(path, gates={"recovery": 0.1, "within_r": 0.5})


def _audit_of_several_judges(path):
    bw.audit(two_spoken(PROMPTS)).to_html(path, gates={"recovery": 0.2})


def _audit_of_picks(path):
    bw.audit("winners.jsonl", labels="labels.csv").to_html(path)


def _audit_of_partial_labels(path):
    frame = spoken(PROMPTS)
    frame.loc[frame.index[: len(frame) // 2], "oracle_label"] = float("nan")
    bw.audit(frame).to_html(path)


def _compare(path):
    bw.compare("winners.jsonl", "others.jsonl", labels="labels.csv").to_html(path)


def _plan(path):
    bw.plan(question="recovery>0", candidates=4, within_r=0.3, power=0.9).to_html(path)


def _route(path):
    bw.route("scores.csv").to_html(path)


def _select(path):
    pools = [
        {
            "prompt_id": f"p{at}",
            "prompt": f"How is bread number {at} baked?\nAnswer in one line.",
            "candidates": [f"Slowly, {at} times.", "Fast.", f"Fold, rest, bake: {'again and ' * (at % 7)}done.", ""],
        }
        for at in range(24)
    ]
    Path("bread.jsonl").write_text("".join(json.dumps(pool) + "\n" for pool in pools), encoding="utf-8")
    judges = ("--judge", "interval:openai/m", "--strong", "pairwise:openai/n")
    how = ("--strategy", "adaptive:margin=0.1,max_draws=3", "--route", "interval_width", "--share", "0.25")
    with pytest.MonkeyPatch.context() as patch, served(patch, Path.cwd()):
        assert run(["select", "bread.jsonl", *judges, *how, "--html", str(path)]) == 0


def _pick(path):
    bw.select("Name a colour", ["red", "the colour green", "blue"], judge=lambda _, text: -len(text)).to_html(path)


def _requirements(path):
    bw.study_requirements("scores.csv").to_html(path)


def _label_strategy(path):
    bw.study_label_strategy("scores.csv", verdicts="pairs.csv").to_html(path)


def _calibration(path):
    bw.study_calibration("scores.csv").to_html(path)


def _candidates(path):
    bw.study_candidates("scores.csv", value=1, candidate_cost=0.01).to_html(path)


def _transfer(path):
    bw.study_transfer("scores.csv", to="scores.csv").to_html(path)


def _mix(path):
    bw.study_mix("scores.csv", control="c3").to_html(path)


def _strategies(path):
    bw.study_strategies("scores.csv", seeds=1).to_html(path)


def _preferences(path):
    bw.study_preferences("votes.csv", ties="half").to_html(path)


def _monitor(path):
    labels = pd.read_csv("labels.csv")
    scores = pd.read_csv("scores.csv").drop(columns="oracle_label")
    bw.monitor(
        scores, label_file=labels, question="precision", half_width=0.1, planned=170, design="uniform"
    ).to_html(path)


def _confidence(path):
    bw.audit_confidence("stated.csv").to_html(path)


def _command(words, codes=(0,)):
    def make(path):
        assert run([*words.split(), "--html", str(path)]) in codes

    return make


def _factor(words):
    return _command(f"factor {words}")


KINDS = {
    "audit": (_audit, "Audit of "),
    "audit-several": (_audit_of_several_judges, "Audit of "),
    "audit-picks": (_audit_of_picks, "Audit of the picks of "),
    "audit-partial": (_audit_of_partial_labels, "Audit of "),
    "compare": (_compare, "Picks of "),
    "plan": (_plan, "Plan for recovery>0"),
    "route": (_route, "Routing of "),
    "select": (_select, "Picks from bread.jsonl"),
    "pick": (_pick, "c0, decided by score"),
    "study-requirements": (_requirements, "What a wanted recovery takes"),
    "study-label-strategy": (_label_strategy, "Ways of asking a judge"),
    "study-calibration": (_calibration, "Calibration of judges"),
    "study-candidates": (_candidates, "How many candidates to ask for"),
    "study-transfer": (_transfer, "From scores.csv to scores.csv"),
    "study-mix": (_mix, "Mixed difficulty of "),
    "study-strategies": (_strategies, "Strategies on "),
    "watch": (_command("watch picks/*.jsonl --labels picks_labels.csv", (1,)), "Watch of "),
    "stack": (_command("stack fit five-judges.csv"), "Stack of "),
    "monitor": (_monitor, "Recovery of judge"),
    "confidence": (_confidence, "Stated confidence of stated.csv"),
    "preferences": (_preferences, "Votes of votes.csv"),
    "factor": (_factor("fit ratings.csv --human human --rank 2 --prior 1"), "Factor model of ratings.csv"),
    "factor-explain": (
        _factor("explain fit.json m0 m1 --prompts prompts.csv"),
        "What explains the gap between m0 and m1",
    ),
    "factor-leaderboard": (_factor("leaderboard fit.json"), "Leaderboard on all prompts"),
    "factor-compare": (_factor("compare fit.json m0 m1"), "m0 against m1"),
    "factor-predict": (_factor("predict fit.json"), "Predicted averages"),
    "factor-study": (
        _factor(
            "study ratings.csv --human human --budget 0.2 --budget 0.4 --splits 2 --rank 1 --prior 1"
            " --rater-share 0.5 --rater-share 1 --restarts 1"
        ),
        "Human ratings and judges of ratings.csv",
    ),
    "factor-strengths": (_factor("strengths fit.json m0 --prompts prompts.csv"), "Strengths and weaknesses of m0"),
}
"""Kind to its maker and to how the heading of its page begins."""


@contextmanager
def _inside(folder):
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


PICTURED = tuple(kind for kind in KINDS if kind not in {"audit-picks", "audit-partial", "pick"})
"""Kinds to look at; the others are laid out like one of them."""


@contextmanager
def _alone(folder):
    """Keep the other processes of a run, which make pages in the same folder, waiting."""
    taken = folder / "taken"
    while True:
        try:
            taken.mkdir()
            break
        except FileExistsError:
            time.sleep(0.05)
    try:
        yield
    finally:
        taken.rmdir()


def page_of_kind(kind, folder):
    """Return the path of the page of a kind, made once in a folder beside the files that it is made of."""
    path = folder / f"{kind}.html"
    with _alone(folder):
        if not path.exists():
            with _inside(folder):
                if not Path("scores.csv").exists():
                    stock()
                KINDS[kind][0](path)
    return path

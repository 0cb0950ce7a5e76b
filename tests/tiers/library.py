"""What a program does with the library: called where the audit extra is absent, or to see what is loaded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import bonwise as bw

CANDIDATES = ["a", "quite long", "longer than that"]
LINE = "pip install 'bonwise[audit]'"


def selected():
    """Pick with a judge that asks a model, and look at all that a pick tells of itself."""
    pick = bw.select("Say something", CANDIDATES, judge=bw.Pointwise("openai/m"))
    assert pick.best in CANDIDATES
    assert pick.best_id in str(pick)
    assert pick.to_dict()["best"] == pick.best_id


def many_judged():
    """Judge many pools and select from them, and look at all that is said of them."""
    pools = [(f"Say {at}", CANDIDATES) for at in range(3)]
    found = bw.judge(pools, judge=bw.Pointwise("openai/m"), run="run")
    assert "3 pools" in str(found)
    assert len(found.to_csv().splitlines()) == 1 + 3 * len(CANDIDATES)
    assert [pick.prompt_id for pick in bw.select_many(pools, judge=bw.Pointwise("openai/m"), ledger="run")] == [
        *"012"
    ]


def served():
    """Pick with the long-lived object that a service holds, each pool routed, one run folder behind it."""

    async def main():
        judge, strong = bw.Interval("openai/m"), bw.Pairwise("openai/n")
        for signal in ("margin", "interval_width"):
            router = bw.Router(strong=strong, signal=signal, share=0.5)
            async with bw.Selector(judge, router=router, ledger="run", deadline=60.0) as selector:
                for at in range(3):
                    pick = await selector.aselect(f"Say {at}", CANDIDATES)
                    assert pick.best in CANDIDATES
                    assert pick.routed is not None

    asyncio.run(main())


def picked_and_shown():
    """A pick has no page here: a notebook shows its text, to_html says what to type and writes nothing."""
    pick = bw.select("Say something", CANDIDATES, judge=lambda _, text: len(text))
    assert pick._repr_html_() is None
    refused(lambda: pick.to_html("pick.html"))
    assert len(pick.to_frame()) == len(CANDIDATES)


def loaded():
    """A document is read back, prints itself and has its table; only its page is refused."""
    document = bw.load("loaded.json")
    assert "brier" in document.to_text(full=True)
    assert "brier" in document.to_markdown()
    assert document._repr_html_() is None
    refused(lambda: document.to_html("loaded.html"))
    assert "brier" in set(document.to_frame()["metric"])


def planned():
    """A plan from what is stated needs no table; only its page is refused."""
    plan = bw.plan(question="recovery>0", candidates=4, within_r=0.3)
    assert (plan.labels, plan.verdict) == (192, "feasible")
    refused(lambda: plan.to_html("plan.html"))
    refused(lambda: bw.plan(question="recovery>0", pilot="scores.csv"))


def public_names():
    """Every public name is there, whatever it does."""
    assert [name for name in bw.__all__ if getattr(bw, name) is None] == []


def audited():
    """Whatever opens a table says what to type, for a file and for a DataFrame."""
    import pandas as pd  # noqa: PLC0415 - the functions above are held to not loading it

    against = {"verdict_col": ["winner"], "label_col": "oracle", "prompt_col": ["prompt_id"]}
    votes = {"verdict_col": "winner", "pair_col": ("model_a", "model_b")}
    doors: list[Callable[[object], object]] = [
        bw.audit,
        bw.audit_confidence,
        lambda table: bw.audit_preferences(table, **against),
        bw.compare_designs,
        lambda table: bw.draw_labels(table, labels=2),
        lambda table: bw.draw_pairs(table, pairs=1, pools="pools.jsonl"),
        lambda table: bw.monitor(table, question="significance"),
        bw.route,
        bw.study_calibration,
        bw.study_candidates,
        lambda table: bw.study_transfer(table, to=table),
        lambda table: bw.study_discretisation(table, draws=2),
        lambda table: bw.study_label_strategy(table, verdicts="pairs.csv"),
        lambda table: bw.study_mix(table, control="a"),
        lambda table: bw.study_preferences(table, **votes),
        bw.study_readiness,
        bw.study_requirements,
        lambda table: bw.study_verdicts(table, **against),
        lambda table: bw.plan(question="recovery>0", pilot=table),
    ]
    frame = pd.DataFrame(
        {"prompt_id": ["p", "p"], "candidate": ["a", "b"], "judge_score": [0, 1], "winner": ["a", "b"]}
    )
    for door in doors:
        refused(lambda door=door: door("scores.csv"))
        refused(lambda door=door: door(frame))
    refused(lambda: bw.ScoreTable.read("scores.csv"))
    refused(lambda: bw.ScoreTable.from_frame(frame))
    refused(lambda: bw.compare("picks.jsonl", "others.jsonl", labels="labels.csv"))
    refused(lambda: bw.audit("picks.jsonl", labels=frame))
    refused(lambda: bw.LabelDesign.read("labels.csv"))


def refused(act):
    """Hold an act to its refusal: one error, with the line to type, and no file written."""
    before, error = sorted(Path().rglob("*")), None
    try:
        act()
    except bw.MissingExtraError as raised:
        error = raised
    assert error is not None
    assert error.hint == LINE
    assert "needs bonwise[audit]" in error.message
    assert sorted(Path().rglob("*")) == before

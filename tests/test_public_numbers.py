"""Every numeric parameter of every public name takes numbers of any kind, and refuses what is not finite."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

import bonwise as bw
from bonwise.calls.engine import Engine
from bonwise.declared import result_homes
from bonwise.results import Document
from bonwise.stacks.fitted_stack import FeatureScaling, JudgeStack, StackFeature
from bonwise.testing import simulate, simulate_ratings
from judges.described_model import described_judge

# The parameters are found in the signatures. For each public name there is a call that is known to work, so that a
# number of another kind gives the same as the plain one, and a value that is no number is all that is wrong.

RETURNED = {
    "AppliedStack",
    "JudgedPools",
    "LabelDesign",
    "RankedCandidate",
    "RatingTable",
    "RunProgress",
    "ScoreTable",
    "Selection",
}
"""Classes of which bonwise makes the objects, and people do not; their methods count."""

_NUMBER = re.compile(r"\b(?:int|float|MaxCost|Number)\b")


def _is_numeric(parameter):
    text = str(parameter.annotation)
    return "Callable" not in text and _NUMBER.search(text) is not None


def _callables(name, public):
    if not inspect.isclass(public):
        yield name, public
        return
    if not issubclass(public, Document) and name not in RETURNED:
        yield name, public
    for method in sorted(dir(public)):
        held = getattr(public, method)
        own = str(getattr(held, "__module__", "")).startswith("bonwise")
        if own and not method.startswith("_") and (inspect.isfunction(held) or inspect.ismethod(held)):
            yield f"{name}.{method}", held


HOMES = dict.fromkeys(dir(bw), "bonwise") | result_homes()


def public_value(name):
    """Return what has a public name, of the package or of a feature's results."""
    return getattr(import_module(HOMES[name]), name)


def numeric_parameters():
    """Return every numeric parameter of a public name, by name and parameter."""
    found = []
    for name in HOMES:
        public = public_value(name)
        if not callable(public) or getattr(public, "_is_protocol", False):
            continue
        for where, called in _callables(name, public):
            parameters = inspect.signature(called).parameters.values()
            found += [(where, one.name) for one in parameters if _is_numeric(one)]
    return found


@cache
def scores():
    """Return scores of 80 pools, with labels."""
    return simulate("arena", n=80, seed=1).frame()


@cache
def several(prompt="p"):
    """Return scores of three judges, of prompts of their own."""
    rng = np.random.default_rng(1)
    label = rng.normal(size=240)
    cells = pd.DataFrame(
        {"prompt_id": [f"{prompt}{at // 3}" for at in range(240)], "candidate": np.tile(list("abc"), 80)}
    )
    made = [cells.assign(judge=j, judge_score=label + rng.normal(size=240), oracle_label=label) for j in "xyz"]
    return pd.concat(made, ignore_index=True)


@cache
def fitted():
    """Return a stack of them."""
    return bw.fit_stack(several())


@cache
def rated_fit():
    """Return a factor model of one skill."""
    return bw.fit_factors(ratings(), human="human", rank=1, prior=1.0, restarts=1)


@cache
def ratings():
    """Return ratings of four models."""
    return simulate_ratings(1, prompts=60, judges=4, labelled=0.5).frame()


@cache
def audited():
    """Return an audit."""
    return bw.audit(scores())


@cache
def draws():
    """Return scores of several draws."""
    rng = np.random.default_rng(0)
    return rng.normal(0.6, 0.1, size=(60, 4, 1)) + rng.normal(0, 0.1, size=(60, 4, 5))


@cache
def model():
    """Return a model of draws."""
    return bw.DrawModel.fit(draws())


def length(prompt, text):
    """Judge by length."""
    return len(text)


def stack(**numbers):
    """Make a judge of two others."""
    features = StackFeature("longer", "score"), StackFeature("local:length", "score")
    whole = JudgeStack.of(FeatureScaling(features, np.ones(2), np.eye(2)), np.array([1.0, 0.0]), np.zeros((2, 2)))
    return bw.Stack(whole, judges={"longer": length}, **numbers)


def jury(**numbers):
    """Make a judge of three others."""
    return bw.Jury([length, JUDGE, bw.judge_from_spec("local:lexical")], **numbers)


def verified(**numbers):
    """Make a judge behind a check."""
    return bw.Verified(JUDGE, regex="e", **numbers)


JUDGE = bw.judge_from_spec("local:length")
VOTES = pd.DataFrame({"a": "x", "b": "y", "q": [n // 2 for n in range(40)], "won": ["a", "a", "b", "a"] * 10})
ITEMS = pd.DataFrame(
    {
        "item": range(8),
        "set": list("aabb") * 2,
        "v": [1, 2, 1, 2] * 2,
        "w": [1, 2, 2, 2] * 2,
        "gold": [1, 2, 2, 2] * 2,
    }
)
STATED = pd.DataFrame({"probability": [0.9, 0.8, 0.1, 0.3] * 5, "outcome": [1, 1, 0, 1] * 5})
PAIRS = pd.DataFrame(
    {"prompt_id": scores()["prompt_id"].unique(), "a": "c0", "b": "c1", "shown_first": 1, "shown_second": 0}
)
POOLS = [("Name a colour", ["red", "sky blue"]), ("Name a fish", ["cod", "salmon"])]
LIMITS = {"max_concurrency": 4, "max_calls": 5, "max_tokens": 1000, "deadline": 64.5, "attempts": 2, "reask": 1}
MONEY = {**LIMITS, "max_cost": 0.5}
SEEDED = {"seed": 3, **MONEY}
DRAWN = {"n": 3, "stop_at": 64.5, **SEEDED}
READING = {"label_map": {"good": 1.0}, "missing": -1.0}
UNLABELLED = {**READING, "unlabelled_is": 0.0, "depth": None}
ASKED = {"model": "openai/m"}
SHAPED = {"price": (0.25, 2.0), "temperature": 0.5, "max_tokens": 256, "longest": 5000}
PAIRED = {**SHAPED, "orders": 1, "seed": 3}
FACTORS = {"rank": 1, "prior": 1.0, "restarts": 1, "bins": 4, "confidence": 0.75, "seed": 3}


def _picked(picks):
    return [pick.best for pick in picks]


async def _all(picks):
    return [pick.best async for pick in picks]


def _best(n, **numbers):
    drafts = iter(["a long answer", "red", "a longer answer"])
    return bw.best_of(n=n, judge=length, **numbers)(lambda _: next(drafts))("Name a colour")


def _generated(generate_best, **numbers):
    drafts = iter(["a long answer", "red", "a longer answer"])
    pick = generate_best(lambda _: next(drafts), "Name a colour", judge=length, **numbers)
    return (asyncio.run(pick) if inspect.iscoroutine(pick) else pick).best


def _picks_file(folder):
    path = folder / "picks.jsonl"
    lines = ({"prompt_id": f"p{at}", "ids": ["a", "b"], "best": "b", "scores": [0.4, 0.5]} for at in range(60))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def _pools(folder):
    path = folder / "pools.jsonl"
    pools = scores().groupby("prompt_id")["candidate"].unique()
    lines = (
        {"prompt_id": p, "prompt": p, "candidates": [{"id": c, "text": c} for c in ids]} for p, ids in pools.items()
    )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def _labels():
    return pd.DataFrame(
        [{"prompt_id": f"p{n}", "candidate": c, "oracle_label": n % 2} for n in range(60) for c in "ab"]
    )


def _judged_by(judge, **numbers):
    async def judged():
        async with Engine() as engine:
            return (await judge().judged_by(engine, "Say hi", ["hi", "hello"], **numbers)).verdicts

    return asyncio.run(judged())


async def _arank(**numbers):
    async with bw.Selector(length) as selector:
        return await selector.arank(*POOLS[0], **numbers)


def _compare(folder, **numbers):
    return bw.compare(_picks_file(folder), _picks_file(folder), labels=_labels(), **numbers)


DOORS = {
    "Adaptive": (bw.Adaptive, {"margin": 0.25, "max_draws": 3, "temperature": 0.5}),
    "Adaptive.most_calls": (lambda **n: bw.Adaptive().most_calls(JUDGE, **n), {"candidates": 4}),
    "Audit.check": (lambda gates: audited().check(gates), {"gates": {"recovery": 0.5}}),
    "Audit.to_examples": (
        lambda folder, **n: audited().to_examples(folder / "ex.md", pools=_pools(folder), **n).text,
        {"seed": 3},
    ),
    "Audit.to_html": (
        lambda folder, gates: audited().to_html(folder / "page.html", gates=gates),
        {"gates": {"recovery": 0.5}},
    ),
    "Checklist": (lambda **n: bw.Checklist(**ASKED, **n), SHAPED),
    "Checklist.calls": (bw.Checklist(**ASKED).calls, {"candidates": 4}),
    "Decision": (lambda **n: bw.Decision(**ASKED, **n), PAIRED),
    "Decision.calls": (bw.Decision(**ASKED).calls, {"candidates": 4}),
    "DrawModel": (
        lambda **n: bw.DrawModel(prior=model().prior, **n),
        {
            "call_sd": 0.5,
            "candidate_sd": 0.25,
            "low": 0.0,
            "high": 1.0,
            "max_draws": 3,
            "mean_calls": (4.0, 6.0),
            "prices": (0.5, 0.25),
            "prompts": 4,
            "candidates": 16,
            "draws": 3,
            "left_out": 1,
        },
    ),
    "DrawModel.fit": (lambda **n: bw.DrawModel.fit(draws(), **n), {"max_draws": 4, "seed": 3}),
    "DrawModel.prices_for": (lambda **n: model().prices_for(**n), {"mean_calls": 6.5}),
    "FunctionJudge": (lambda **n: bw.FunctionJudge(length, **n), {"workers": 2}),
    "Greedy.most_calls": (lambda **n: bw.Greedy().most_calls(JUDGE, **n), {"candidates": 4}),
    "Interval": (lambda **n: bw.Interval(**ASKED, **n), SHAPED),
    "Interval.calls": (bw.Interval(**ASKED).calls, {"candidates": 4}),
    "Jury": (lambda **n: repr(jury(**n)), {"quorum": 2, "spares": 1, "seed": 3}),
    "Jury.calls": (lambda **n: jury().calls(**n), {"candidates": 4}),
    "Jury.judged_by": (partial(_judged_by, jury), {"draw": 1, "temperature": 0.5}),
    "Knockout.most_calls": (lambda **n: bw.Knockout().most_calls(JUDGE, **n), {"candidates": 4}),
    "Listwise": (lambda **n: bw.Listwise(**ASKED, **n), PAIRED),
    "Listwise.calls": (bw.Listwise(**ASKED).calls, {"candidates": 4}),
    "Logprob": (lambda **n: bw.Logprob(**ASKED, **n), {**PAIRED, "top_logprobs": 5}),
    "Logprob.calls": (bw.Logprob(**ASKED).calls, {"candidates": 4}),
    "Pairwise": (lambda **n: bw.Pairwise(**ASKED, **n), PAIRED),
    "Pairwise.calls": (bw.Pairwise(**ASKED).calls, {"candidates": 4}),
    "Probability.calls": (bw.Probability(**ASKED).calls, {"candidates": 4}),
    "Selector.rank": (lambda **n: bw.Selector(length).rank(*POOLS[0], **n), {"top_k": 1}),
    "Selector.arank": (lambda **n: asyncio.run(_arank(**n)), {"top_k": 1}),
    "Pointwise": (lambda **n: bw.Pointwise(**ASKED, **n), SHAPED),
    "Pointwise.calls": (bw.Pointwise(**ASKED).calls, {"candidates": 4}),
    "Preference": (bw.Preference, {"a": 0, "b": 1, "shown_first": 1.0, "shown_second": 0.5, "confidence": (80, 60)}),
    "Probability": (lambda **n: bw.Probability(**ASKED, **n), PAIRED),
    "Quantized": (lambda **n: bw.Quantized(JUDGE, **n), {"bins": 4}),
    "Rubric": (lambda **n: bw.Rubric(**ASKED, **n), SHAPED),
    "Rubric.calls": (bw.Rubric(**ASKED).calls, {"candidates": 4}),
    "Quantized.calls": (bw.Quantized(JUDGE, bins=4).calls, {"candidates": 4}),
    "RatingTable.read": (lambda **n: bw.RatingTable.read(ratings(), human="human", **n), {"bins": 4}),
    "Rerank": (lambda **n: bw.Rerank("tei/m", route="classify", **n), {"price": (0.25, 2.0), "label": 1}),
    "Rerank.calls": (bw.Rerank("voyage/m").calls, {"candidates": 4}),
    "Reward": (described_judge, {"label": 1, "batch": 4}),
    "Resample": (bw.Resample, {"draws": 3, "temperature": 0.5}),
    "Resample.most_calls": (lambda **n: bw.Resample().most_calls(JUDGE, **n), {"candidates": 4}),
    "Resampled": (lambda **n: bw.Resampled(JUDGE, **n), {"draws": 3, "temperature": 0.5, "confidence": 0.75}),
    "Resampled.calls": (bw.Resampled(JUDGE).calls, {"candidates": 4}),
    "RoundRobin": (bw.RoundRobin, {"pairs": 3}),
    "RoundRobin.many": (bw.RoundRobin().many, {"candidates": 4}),
    "RoundRobin.most_calls": (lambda **n: bw.RoundRobin().most_calls(JUDGE, **n), {"candidates": 4}),
    "Router": (lambda **n: bw.Router(JUDGE, **n).to_dict(), {"share": 0.5, "seed": 3, "window": 50}),
    "Scale": (bw.Scale, {"low": 0.5, "high": 8.0}),
    "Score": (
        bw.Score,
        {"value": 0.5, "low": 0.25, "high": 0.75, "draws": (0.5, 0.5), "p_best": 0.5, "expected_regret": 0.25},
    ),
    "ScoreTable.read": (lambda **n: len(bw.ScoreTable.read(scores(), **n).frame), READING),
    "ScoreTable.from_frame": (lambda **n: len(bw.ScoreTable.from_frame(scores(), **n).frame), READING),
    "Selector": (lambda **n: bw.Selector(length, **n).select(*POOLS[0]).best, SEEDED),
    "Stack": (lambda **n: repr(stack(**n)), {"seed": 3}),
    "Stack.calls": (lambda **n: stack().calls(**n), {"candidates": 4}),
    "Stack.judged_by": (partial(_judged_by, stack), {"draw": 1, "temperature": 0.5}),
    "TieBreak.most_calls": (lambda **n: bw.TieBreak(JUDGE).most_calls(JUDGE, **n), {"candidates": 4}),
    "ValueOfInformation": (
        lambda **n: bw.ValueOfInformation(model=model(), **n),
        {"mean_calls": 6.5, "price": None, "max_draws": 8, "temperature": 0.5},
    ),
    "ValueOfInformation.most_calls": (
        lambda **n: bw.ValueOfInformation(model=model(), mean_calls=6.5).most_calls(JUDGE, **n),
        {"candidates": 4},
    ),
    "Verified": (lambda **n: repr(verified(**n)), {"timeout": 4.0}),
    "Verified.calls": (lambda **n: verified().calls(**n), {"candidates": 4}),
    "Verified.judged_by": (partial(_judged_by, verified), {"draw": 1, "temperature": 0.5}),
    "WeightedMajority.calls": (bw.WeightedMajority(JUDGE).calls, {"candidates": 4}),
    "ajudge": (lambda **n: asyncio.run(bw.ajudge(POOLS, judge=length, **n)).to_table().frame.to_dict(), MONEY),
    "apply_stack": (
        lambda **n: bw.apply_stack(several(), stack=fitted(), **n).table.frame["judge_score"].tolist(),
        UNLABELLED,
    ),
    "aselect": (lambda **n: asyncio.run(bw.aselect(*POOLS[0], judge=length, **n)).best, SEEDED),
    "aselect_many": (lambda **n: asyncio.run(_all(bw.aselect_many(POOLS, judge=length, **n))), SEEDED),
    "audit": (
        lambda **n: bw.audit(scores(), **n),
        {
            "confidence": 0.75,
            "resamples": 200,
            "seed": 3,
            "top": 2,
            "thresholds": {"within_r_weak": 0.125},
            **UNLABELLED,
        },
    ),
    "audit_confidence": (lambda **n: bw.audit_confidence(STATED, **n), {"confidence": 0.75, **READING}),
    "audit_preferences": (
        lambda **n: bw.audit_preferences(
            ITEMS, verdict_col=["v"], label_col="gold", prompt_col=["item"], context_col=["set"], **n
        ),
        {"confidence": 0.75},
    ),
    "audit_stack": (
        lambda **n: bw.audit_stack(several("q"), stack=fitted(), **n),
        {"confidence": 0.75, "seed": 3, **UNLABELLED},
    ),
    "best_of": (_best, DRAWN),
    "generate_best": (lambda **n: _generated(bw.generate_best, **n), DRAWN),
    "agenerate_best": (lambda **n: _generated(bw.agenerate_best, **n), DRAWN),
    "compare": (_compare, {"confidence": 0.75, "label_map": {"good": 1.0}}),
    "compare_designs": (
        lambda **n: bw.compare_designs(scores(), **n),
        {"shares": (0.25, 0.5), "draws": 4, "seed": 3, "confidence": 0.75, **READING},
    ),
    "doctor": (lambda **n: bw.doctor(scores(), **n), UNLABELLED),
    "draw_labels": (lambda **n: bw.draw_labels(scores(), **n), {"labels": 20, "seed": 3, **READING}),
    "draw_pairs": (
        lambda folder, **n: bw.draw_pairs(scores(), pools=_pools(folder), **n),
        {"pairs": 20, "gap_groups": 3, "seed": 3, **READING},
    ),
    "FactorFit.compare": (lambda **n: rated_fit().compare("m0", "m1", **n), {"equivalence": 0.5}),
    "fit_factors": (
        lambda **n: bw.fit_factors(ratings(), human="human", interval=None, **n),
        {"holdout": 0.5, **FACTORS},
    ),
    "fit_stack": (
        lambda **n: bw.fit_stack(several(), **n),
        {"prices": {"x": 1.5, "y": 2.0, "z": 3.0}, "confidence": 0.75, "seed": 3, **UNLABELLED},
    ),
    "judge": (lambda **n: bw.judge(POOLS, judge=length, **n).to_table().frame.to_dict(), MONEY),
    "judge_from_spec": (
        lambda **n: repr(bw.judge_from_spec("pairwise", model="openai/m", **n)),
        {"price": (0.25, 2.0), "seed": 3},
    ),
    "monitor": (
        lambda **n: bw.monitor(scores(), question="precision", **n),
        {"half_width": 0.125, "than": None, "planned": None, "first_look": 40, "margin": None, **READING}
        | {"confidence": 0.75},
    ),
    "plan": (
        lambda **n: bw.plan(question="recovery>0", **n),
        {"candidates": 4, "within_r": 0.25, "rival_r": None, "error_correlation": None, "effect": None}
        | {"half_width": None, "r0": None, "labels": None, "prompts": None, "power": 0.75, "confidence": 0.75}
        | {
            "label_cost": 2.0,
            "judge_cost": 0.5,
            "raters": 1,
            "icc": None,
            "tie_rate": None,
            "first_stage": None,
            "kept_share": None,
            "seed": 0,
            "missing": (),
        },
    ),
    "route": (
        lambda **n: bw.route(several(), judge="x", strong="y", **n),
        {
            "share": 0.5,
            "mean_calls": None,
            "strong_cost": None,
            "target": {"recovery": 0.5},
            "budget": None,
            "prices": {"x": 0.25, "y": 2.0},
            "confidence": 0.75,
            "seed": 3,
            **UNLABELLED,
        },
    ),
    "select": (lambda **n: bw.select(*POOLS[0], judge=length, **n).best, SEEDED),
    "select_many": (lambda **n: _picked(bw.select_many(POOLS, judge=length, **n)), SEEDED),
    "strategy_from_spec": (
        lambda **n: repr(bw.strategy_from_spec("tie_break:of=pairwise", model="openai/m", **n)),
        {"price": (0.25, 2.0), "seed": 3},
    ),
    "study_calibration": (
        lambda **n: bw.study_calibration(scores(), **n),
        {"folds": 3, "confidence": 0.75, "seed": 3, **UNLABELLED},
    ),
    "study_candidates": (
        lambda **n: bw.study_candidates(scores(), **n),
        {"value": 2.0, "candidate_cost": 0.25, "judge_cost": 0.5, "confidence": 0.75, "seed": 3, **UNLABELLED},
    ),
    "study_discretisation": (
        lambda **n: bw.study_discretisation(scores(), **n),
        {"bins": (4,), "recovery": None, "rho": 0.5, "draws": 3, "confidence": 0.75, "seed": 3, **UNLABELLED},
    ),
    "study_factors": (
        lambda **n: bw.study_factors(ratings(), human="human", **n),
        {"budgets": (0.5,), "rater_shares": (0.5,), "rater_budget": None, "splits": 1, **FACTORS},
    ),
    "study_label_strategy": (
        lambda **n: bw.study_label_strategy(scores(), verdicts=PAIRS, **n),
        {"bins": 4, "edges": None, "gap_groups": 3, "confidence": 0.75, "seed": 3, **UNLABELLED},
    ),
    "study_mix": (
        lambda **n: bw.study_mix(scores(), control="c0", **n),
        {"confidence": 0.75, "seed": 3, **UNLABELLED},
    ),
    "study_readiness": (lambda **n: bw.study_readiness(scores(), **n), {"confidence": 0.75, "seed": 3, **UNLABELLED}),
    "study_preferences": (
        lambda **n: bw.study_preferences(VOTES, verdict_col="won", pair_col=["a", "b"], prompt_col="q", **n),
        {"near_tie": 0.25, "power": 0.75, "confidence": 0.75, "fewest_votes": 2, "kept_share": 0.5, "threshold": 1.5}
        | {"votes_at": (20,), "z_at": (10,), "resamples": 50, "permutations": 50, "repetitions": 50, "seed": 3}
        | {"early_votes": 20, "next": None, "depth": None},
    ),
    "study_requirements": (
        lambda **n: bw.study_requirements(scores(), **n),
        {"targets": (0.5,), "within_r": (0.25,), "confidence": 0.75, "seed": 3, **UNLABELLED},
    ),
    "study_strategies": (
        lambda **n: bw.study_strategies(simulate("one_model", n=30, seed=2, draws=3).frame(), **n),
        {"budget": 8.0, "prices": {"judge": 0.5}, "seeds": 1, "confidence": 0.75, "seed": 3, **UNLABELLED},
    ),
    "study_transfer": (
        lambda **n: bw.study_transfer(scores(), to=scores(), **n),
        {"gap_groups": 3, "confidence": 0.75, "seed": 3, **UNLABELLED},
    ),
    "study_verdicts": (
        lambda **n: bw.study_verdicts(ITEMS, verdict_col=["v", "w"], label_col="gold", prompt_col=["item"], **n),
        {"confidence": 0.75},
    ),
    "watch": (
        lambda folder, **n: bw.watch(_picks_file(folder), **n),
        {"by": 2, "first": 14, "year": 300, "confidence": 0.75, "seed": 3, "label_map": {"good": 1.0}},
    ),
}
"""A call of each public name, and a number for each parameter; None where the call has no use for one."""

INSTEAD = {"price": 0.25, "than": 0.5, "planned": 300, "margin": 0.25, "rival_r": 0.25, "error_correlation": 0.25}
INSTEAD |= {
    "effect": 0.5,
    "half_width": 0.125,
    "labels": 100,
    "prompts": 100,
    "icc": 0.5,
    "tie_rate": 0.25,
    "first_stage": 15,
    "kept_share": 0.25,
    "next": 5,
    "depth": 1,
}
INSTEAD |= {
    "missing": -1.0,
    "seed": 3,
    "mean_calls": 2.5,
    "r0": 0.25,
    "strong_cost": 2.5,
    "rater_budget": 0.5,
    "edges": 10,
    "recovery": 0.25,
    "budget": 1.5,
    "depth": 5,
}
"""What is spoilt of a parameter that has no number in the call."""

SLOW = {"Audit.to_html", "fit_factors", "study_factors"}
"""Calls that take seconds, whose results are compared in the slow test alone."""

CASES = [(where, name) for where, (_, numbers) in DOORS.items() for name in numbers]


def test_every_numeric_parameter_is_tried():
    """A parameter that a signature gains is missing here until there is a call for it."""
    assert sorted(CASES) == sorted(numeric_parameters())


def called(where, numbers, folder):
    """Return what the call gives, as something that can be compared."""
    door, _ = DOORS[where]
    more = {"folder": folder} if "folder" in inspect.signature(door).parameters else {}
    made = door(**numbers, **more)
    return made.to_dict() if isinstance(made, Document) else made


def changed(value, change):
    """Return a value whose numbers are changed."""
    if isinstance(value, Mapping):
        return {key: changed(one, change) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(changed(one, change) for one in value)
    return value if value is None else change(value)


def as_numpy(value):
    """Return a whole number as numpy's, any other in half the precision, which holds it too."""
    return np.int32(value) if isinstance(value, int) else np.float32(value)


KINDS = {"float": float, "numpy": as_numpy, "float64": np.float64, "Fraction": Fraction, "Decimal": Decimal}


def _with_kind(where, kind, folder):
    _, numbers = DOORS[where]
    plain = called(where, numbers, folder)
    other = called(where, changed(numbers, KINDS[kind]), folder)
    # pandas and numpy hold NaN, which is equal to nothing.
    assert repr(other) == repr(plain)


@pytest.mark.parametrize("where", [where for where in DOORS if where not in SLOW])
def test_numbers_of_any_kind_are_those_that_they_are(where, tmp_path):
    """All numbers of a call as another kind, a kind for each name; every kind with every name is the slow test."""
    kinds = [*KINDS][1:]
    _with_kind(where, kinds[sum(map(ord, where)) % len(kinds)], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", DOORS)
def test_numbers_of_every_kind_are_those_that_they_are(where, kind, tmp_path):
    """Every public name with numbers of every kind."""
    _with_kind(where, kind, tmp_path)


REFUSED = {
    "True": True,
    "numpy's True": np.True_,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "numpy's infinity": np.float32("-inf"),
    "Decimal NaN": Decimal("NaN"),
    "Decimal beyond floats": Decimal("1e400"),
    "Fraction beyond floats": Fraction(10**400),
    "10**400": 10**400,
    "-10**400": -(10**400),
    "10**5000": 10**5000,
}


@pytest.mark.parametrize(("where", "name"), CASES)
def test_what_is_no_finite_number_is_refused(where, name, tmp_path):
    """In one sentence that names the parameter, before anything is done."""
    _, numbers = DOORS[where]
    plain = INSTEAD[name] if numbers[name] is None else (numbers[name] or 1.0)
    for value in REFUSED.values():
        spoilt = numbers | {name: changed(plain, lambda _, value=value: value)}
        with pytest.raises((bw.BonwiseError, ValueError)) as refused:
            called(where, spoilt, tmp_path)
        said = str(refused.value)
        assert re.search(rf"\b{name}\b", said), said
        assert said.isprintable(), said
        assert len(said) < 250, said


@pytest.mark.parametrize(("where", "name"), CASES)
def test_a_part_of_a_whole_number_is_refused(where, name, tmp_path):
    """Nothing is rounded: 2.5 draws, or a seed of 2**60 that no JSON holds, are refused."""
    _, numbers = DOORS[where]
    called_ = public_value(where.partition(".")[0])
    for part in where.split(".")[1:]:
        called_ = getattr(called_, part)
    if "float" in str(inspect.signature(called_).parameters[name].annotation) or name in ("max_cost", "pairs"):
        return
    plain = INSTEAD[name] if numbers[name] is None else (numbers[name] or 1.0)
    for value in (2.5, Decimal("2.5"), Fraction(5, 2), 2**60):
        with pytest.raises((bw.BonwiseError, ValueError), match=rf"\b{name}\b"):
            called(where, numbers | {name: changed(plain, lambda _, value=value: value)}, tmp_path)

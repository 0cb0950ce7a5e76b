from __future__ import annotations

import copy
import json
import pickle
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

import bonwise as bw
from bonwise.declared import result_homes
from bonwise.labels.blind_sheet import sheet_of_pools
from bonwise.testing import simulate, simulate_ratings
from studies.studied import RESULTS as STUDIES

SETTINGS = {"DrawModel", "Router", "Selector"}
"""What is saved and loaded: settings, no findings."""

ESTIMATE = ["estimate", "low", "high", "se", "n", "interval"]


def arena(n=60):
    """Return a small simulated table of scores and labels."""
    return simulate("arena", n=n, seed=4).frame()


def picks(path, judge):
    """Write the pick of twelve pools by a judge that looks at the length of a text."""
    lines = []
    for at in range(12):
        pick = bw.select(
            f"prompt {at}", ["a" * (1 + at % 3), "b" * (1 + at % 5), "c" * 3], judge=judge, prompt_id=f"p{at:02}"
        )
        lines.append(json.dumps(pick.to_dict()) + "\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path


def compared_picks(folder):
    """Compare the picks of the shortest and of the longest text."""
    short = picks(folder / "short.jsonl", lambda _, text: -len(text))
    long = picks(folder / "long.jsonl", lambda _, text: len(text))
    labels = [
        {"prompt_id": f"p{at:02}", "candidate": f"c{k}", "oracle_label": ((at * 7 + k * 5) % 11) / 10}
        for at in range(12)
        for k in range(3)
    ]
    return bw.compare(short, long, labels=pd.DataFrame(labels))


@pytest.fixture
def compared(tmp_path):
    """Return a comparison of picks."""
    return compared_picks(tmp_path)


def watched(folder):
    """Watch two picks a day over 20 days."""
    for day in range(20):
        lines = [{"prompt_id": f"{day}-{at}", "ids": ["a", "b"], "best": "b", "scores": [0.1, at]} for at in range(2)]
        (folder / f"{day:02}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return bw.watch(f"{folder}/*.jsonl")


def stated(_folder):
    """Audit the stated probabilities of two judges."""
    rows = {"judge": ["j", "k"] * 20, "probability": [0.1, 0.4, 0.7, 0.9] * 10, "outcome": [0, 1, 1, 1, 0] * 8}
    return bw.audit_confidence(pd.DataFrame(rows))


def preferred(_folder):
    """Audit verdicts on pairs of two contexts."""
    gold = [1, 2, 2, 1, 2] * 8
    verdicts = pd.DataFrame({"item": range(40), "set": list("ab") * 20, "v": np.roll(gold, 1), "gold": gold})
    return bw.audit_preferences(
        verdicts, verdict_col=["v"], label_col="gold", prompt_col=["item"], context_col=["set"]
    )


def voted(_folder):
    """Study the votes on two pairs of models."""
    won = np.random.default_rng(5).choice(["a", "b"], 80, p=[0.6, 0.4])
    votes = pd.DataFrame({"a": "x", "b": ["y", "z"] * 40, "q": np.arange(80) // 4, "won": won})
    settings = {"verdict_col": "won", "pair_col": ["a", "b"], "prompt_col": "q"}
    return bw.study_preferences(votes, **settings, resamples=50, permutations=50, repetitions=50)


def stacked(_folder):
    """Fit a stack of two judges."""
    rng = np.random.default_rng(1)
    label = rng.normal(size=90)
    cells = pd.DataFrame({"prompt_id": np.repeat(np.arange(30), 3), "candidate": list("abc") * 30})
    scores = {name: label + rng.normal(size=90) for name in ("first", "second")}
    return bw.fit_stack(
        pd.concat([cells.assign(judge=name, judge_score=score, oracle_label=label) for name, score in scores.items()])
    )


def sheet(folder):
    """Make a sheet of two pools."""
    pools = [{"prompt_id": str(at), "prompt": "Say hi", "candidates": ["hi", "hello"]} for at in range(2)]
    (folder / "pools.jsonl").write_text("".join(json.dumps(pool) + "\n" for pool in pools), encoding="utf-8")
    return sheet_of_pools(folder / "pools.jsonl")


def fitted(**settings):
    """Fit a factor model of one skill to simulated ratings."""
    ratings = simulate_ratings(1, prompts=60, judges=4, labelled=0.5).frame()
    return bw.fit_factors(ratings, human="human", rank=1, prior=1.0, restarts=1, interval="fixed", **settings)


def routed_models():
    """Compare two models with a margin, by the category of the prompts."""
    ratings = simulate_ratings(1, prompts=60, judges=4, labelled=0.5).frame()
    ratings["category"] = np.where(ratings["prompt_id"].str[-1].isin(list("02468")), "even", "odd")
    fit = bw.fit_factors(ratings, human="human", rank=1, prior=1.0, restarts=1)
    return fit.compare("m0", "m1", equivalence=0.5)


def studied(_folder):
    """Study one budget of human ratings."""
    ratings = simulate_ratings(1, prompts=60, judges=4, labelled=0.5).frame()
    asked = {"budgets": [0.4], "rater_shares": [], "splits": 1, "rank": 1, "prior": 1.0, "restarts": 1}
    return bw.study_factors(ratings, human="human", **asked)


RESULTS = {
    "audit": lambda _: bw.audit(arena()).check({"recovery": 0.1}),
    "compare": compared_picks,
    "confidence": stated,
    "factor": lambda _: fitted(holdout=0.5),
    "factor_draws": lambda _: fitted().view,
    "factor_leaderboard": lambda _: fitted().leaderboard(),
    "factor_router": lambda _: routed_models().router,
    "factor_study": studied,
    "doctor": lambda _: bw.doctor(arena(12)),
    "label_designs": lambda _: bw.compare_designs(arena(), shares=[0.25], draws=5),
    "label_sheet": sheet,
    "labels": lambda _: bw.draw_labels(arena(), labels=20, seed=1),
    "monitor": lambda _: bw.monitor(arena(), question="precision", half_width=0.4),
    "stack": stacked,
    "plan": lambda _: bw.plan(question="recovery>0", pilot=arena(), seed=3),
    "preferences": preferred,
    "route": lambda _: bw.route(arena(80)),
    "votes": voted,
    "watch": watched,
    **{f"study {name}": make for name, make in STUDIES.items() if name != "draw"},
}
"""Every kind of result by the word of its schema, made in a folder; a draw of pairs has a frame of its own."""

ROWS_BESIDE = {"labels"}
"""Of these the rows of `to_frame` are not in the JSON."""


@pytest.mark.parametrize("word", RESULTS)
def test_a_result_is_its_document(word, tmp_path):
    """It survives pickle, copies and a file of JSON as an equal object of the same class, which says the same."""
    result = RESULTS[word](tmp_path)
    assert result.schema_ == f"bonwise.{word.split()[0]}/1"
    path = tmp_path / "result.json"
    path.write_text(result.to_json(), encoding="utf-8")
    pickled = pickle.loads(pickle.dumps(result))  # noqa: S301 - made in the line itself
    for again in (pickled, copy.copy(result), copy.deepcopy(result), bw.load(path)):
        assert type(again) is type(result)
        assert again == result
        assert hash(again) == hash(result)
        assert (repr(again), again.to_text(full=True)) == (repr(result), result.to_text(full=True))
        if word not in ROWS_BESIDE or again._source is not None:
            pd.testing.assert_frame_equal(again.to_frame(), result.to_frame())


def test_every_public_result_has_a_frame():
    """Whatever has a document has a frame too, and says what a row of it is."""
    homes = dict.fromkeys(bw.__all__, "bonwise") | result_homes()
    results = [one for name, home in homes.items() if isinstance(one := getattr(import_module(home), name), type)]
    with_document = {one.__name__: one for one in results if hasattr(one, "to_dict")}
    assert {name for name, one in with_document.items() if not hasattr(one, "to_frame")} == SETTINGS
    assert all(with_document[name].to_frame.__doc__ for name in with_document.keys() - SETTINGS)


def test_the_power_table_of_a_plan():
    """One row a number of labels, the plan marked; a half-width is in its own column."""
    plan = bw.plan(question="recovery>0", candidates=4, within_r=0.3)
    frame = plan.to_frame()
    assert list(frame["labels"]) == [row["labels"] for row in plan.power_table]
    assert list(frame["labels"][frame["planned"]]) == [plan.labels] == [192]
    assert frame["power"].is_monotonic_increasing
    assert frame["half_width"].isna().all()
    wide = bw.plan(question="recovery", candidates=4, within_r=0.3, half_width=0.1).to_frame()
    assert wide["half_width"].notna().all()
    assert wide["power"].isna().all()


def test_every_signal_at_every_share():
    """One row per judge, signal and share as the document has them, one of them recommended; others say why not."""
    study = bw.route(arena(80), share=0.25)
    document, frame = study.to_dict(), study.to_frame()
    figures = frame[frame["share"].notna()]
    assert len(figures) == sum(len(one["shares"]) for one in document["signals"].values())
    (taken,) = frame[frame["recommended"]].to_dict("records")
    recommended = document["recommendation"]
    assert (taken["signal"], taken["share"]) == (recommended["signal"], recommended["share"])
    (sent,) = (one for one in document["signals"][taken["signal"]]["shares"] if one["share"] == taken["share"])
    assert [taken[key] for key in ("captured", "low", "high")] == [sent[key] for key in ("captured", "low", "high")]
    # The recommended signal is the best of several, which its own interval counts.
    chosen = recommended["captured"]
    assert chosen["estimate"] == taken["captured"]
    assert chosen["low"] <= taken["low"] <= taken["high"] <= chosen["high"]
    without = [name for name, one in document["signals"].items() if not one["shares"]]
    assert without
    assert frame.loc[frame["share"].isna(), "reason"].to_list() == [
        document["signals"][name]["reason"] for name in without
    ]


def test_every_candidate_of_a_selection():
    """One row per candidate in the order given: its rank, whether it was picked, and why it has no score."""

    def judge(_prompt, text):
        return float(len(text)) if text != "none" else float("nan")

    pick = bw.select("say", ["aa", "none", "bbbb", "cccc"], judge=judge, prompt_id="p")
    frame = pick.to_frame()
    assert list(frame["candidate"]) == list(pick.ids)
    assert list(frame["candidate"][frame["picked"]]) == [pick.best_id]
    assert frame["score"].isna().tolist() == [False, True, False, False]
    assert sorted(frame["rank"].dropna()) == [1, 2, 3]
    assert frame.sort_values("rank")["candidate"].dropna().to_list()[:3] == list(pick.ranking)
    assert frame["tied"].tolist() == [False, False, True, True]
    assert dict(zip(frame["candidate"], frame["unscored"], strict=True))[pick.ids[1]] == pick.unscored[pick.ids[1]]
    assert frame["unscored"].notna().sum() == 1
    assert frame["p_best"].isna().all()


def test_both_sides_of_a_comparison(compared):
    """One row per metric: the difference is first less second, with its ends and its prompts."""
    frame = compared.to_frame().set_index("metric")
    assert set(frame.index) == set(compared.differences) == set(compared.first.metrics)
    row, found = frame.loc["recovery"], compared.differences["recovery"]
    assert row["difference"] == pytest.approx(row["first"] - row["second"])
    assert (row["difference_low"], row["difference_high"], row["n"]) == (found.low, found.high, 12)


def test_the_looks_of_a_monitor():
    """One row a look; the one at which the rule stopped is marked, and before the first look there is none."""
    votes = pd.DataFrame({"winner": ["a"] * 30 + ["b"] * 2})
    watched = bw.monitor(votes, question="preference", verdict_col="winner")
    frame = watched.to_frame()
    assert list(frame["n"]) == [look.n for look in watched.looks]
    assert list(frame["n"][frame["stopped"]]) == [watched.stopped.n]
    assert frame["estimate"].iloc[-1] == watched.now.estimate
    early = bw.monitor(arena(20), question="precision", half_width=0.2).to_frame()
    assert (len(early), list(early.columns)) == (0, list(frame.columns))


def test_the_rows_of_a_draw_of_labels(tmp_path):
    """The frame of a draw is the file that it writes: every prompt, with the phase and chance of being drawn."""
    draw = bw.draw_labels(arena(), labels=20, seed=1)
    frame = draw.to_frame()
    assert (len(frame), int((frame["phase"] > 0).sum())) == (60, 20)
    draw.write(tmp_path / "design.csv")
    pd.testing.assert_frame_equal(frame, bw.LabelDesign.read(tmp_path / "design.csv").frame(), check_dtype=False)


def test_every_design_at_every_share():
    """One row a design and share, as the document has them; what looks at unknown labels is not feasible."""
    compared = bw.compare_designs(arena(), shares=[0.25, 0.5], draws=10)
    frame = compared.to_frame()
    assert len(frame) == 2 * len(compared.designs)
    assert set(frame["design"][~frame["feasible"]]) == {"label_spread", "optimum"}
    one = frame[(frame["design"] == "rule") & (frame["share"] == 0.5)].iloc[0]
    assert one["labels_only"] == compared.designs["rule"].shares[1].labels_only


def test_metrics_of_stated_confidence():
    """One row per judge and metric, each with its ends and the count behind it."""
    chance = np.random.default_rng(7)
    said = chance.random(80).round(2)
    rows = {"judge": ["j", "k"] * 40, "probability": said, "outcome": (chance.random(80) < said).astype(int)}
    found = bw.audit_confidence(pd.DataFrame(rows))
    frame = found.to_frame().set_index(["judge", "metric"])
    assert len(frame) == sum(len(one["metrics"]) for one in found.judges.values())
    brier = found.judges["k"]["metrics"]["brier"]
    assert [frame.loc[("k", "brier"), key] for key in ESTIMATE] == [brier[key] for key in ESTIMATE]


def test_metrics_of_preferences():
    """One row per judge and metric, the estimates being those of the result."""
    gold = np.random.default_rng(6).integers(1, 3, 40)
    verdicts = pd.DataFrame({"item": range(40), "set": list("ab") * 20, "v": np.roll(gold, 1), "gold": gold})
    found = bw.audit_preferences(
        verdicts, verdict_col=["v"], label_col="gold", prompt_col=["item"], context_col=["set"]
    )
    frame = found.to_frame().set_index(["judge", "metric"])
    assert list(frame.index) == [("judge", metric) for metric in dict(found.judges["judge"].metrics)]
    assert frame.loc[("judge", "agreement"), "estimate"] == found.judges["judge"].metrics.agreement.estimate


def test_metrics_of_pairs_of_models():
    """One row per pair and metric; the margin is the win rate less a half, and so are its ends."""
    won = np.random.default_rng(5).choice(["a", "b"], 80, p=[0.6, 0.4])
    votes = pd.DataFrame({"a": "x", "b": "y", "q": np.arange(80) // 4, "won": won})
    settings = {"verdict_col": "won", "pair_col": ["a", "b"], "prompt_col": "q"}
    found = bw.study_preferences(votes, **settings, resamples=50, permutations=50, repetitions=50)
    frame = found.to_frame().set_index("metric")
    assert list(frame.index) == ["win_rate", "margin", "signal"]
    assert (frame["votes"] == 80).all()
    ends = ["estimate", "low", "high"]
    assert frame.loc["margin", ends].to_list() == pytest.approx([one - 0.5 for one in frame.loc["win_rate", ends]])
    assert frame.loc["win_rate", "estimate"] == found.pairs[0].win_rate.estimate

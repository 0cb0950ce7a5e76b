"""What has no score: audits of scores and of the picks made from them are one rule, and their intervals cover."""

from __future__ import annotations

import itertools
import json
import math
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import bonwise as bw
from bonwise.judges.comparing import borda
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimation import IntervalRule, estimate
from bonwise.stats.sums import Sums
from bonwise.table.verdicts import Preference, Score, Unscored
from judge_laws import LAWS, sums_of

TABLES = 500
RULES = ("random", "first", "drop")
TOO_LITTLE = "denominator not distinguishable from 0"
LOST = Unscored("no verdict")


def at_random(rng, scores, labels):
    """Lose any score, each with the same chance."""
    return np.where(rng.random(scores.shape) < rng.choice([0.05, 0.3, 0.7]), np.nan, scores)


def on_the_best(rng, scores, labels):
    """Lose scores of candidates with the best label of their prompt."""
    best = labels == labels.max(axis=1, keepdims=True)
    return np.where(best & (rng.random(scores.shape) < 0.6), np.nan, scores)


def on_one_name(rng, scores, labels):
    """Lose the scores of one candidate everywhere."""
    return np.where(np.arange(scores.shape[1]) == rng.integers(scores.shape[1]), np.nan, scores)


def of_whole_prompts(rng, scores, labels):
    """Lose all scores of some prompts, at least one and not all of them."""
    gone = rng.random(len(scores)) < 0.3
    gone[rng.permutation(len(scores))[:2]] = [True, False]
    return np.where(gone[:, None], np.nan, scores)


def of_an_order_of_a_pair(rng, scores, labels):
    """Compare all pairs in both orders and lose some replies: a candidate has its share of wins, or none at all."""
    count, rows = scores.shape[1], []
    for row in scores:
        pairs = []
        for a, b in itertools.combinations(range(count), 2):
            verdicts = [LOST if rng.random() < 0.5 else float((row[a] > row[b]) + 0.5 * (row[a] == row[b]))] * 1
            verdicts += [LOST if rng.random() < 0.3 else verdicts[0] if verdicts[0] is not LOST else 0.5]
            pairs.append(Preference(a, b, *verdicts))
        rows.append([one.value if isinstance(one, Score) else np.nan for one in borda(count, pairs)])
    return np.array(rows)


LOSSES = (at_random, on_the_best, on_one_name, of_whole_prompts, of_an_order_of_a_pair)


def drawn_table(seed):
    """Draw a small table of coarse scores and labels, with losses of one kind."""
    rng = np.random.default_rng(seed)
    prompts, count = rng.integers(3, 9), rng.integers(2, 5)
    labels = rng.integers(0, 4, (prompts, count)).astype(float)
    scores = np.round(labels * rng.choice([0.0, 0.5, 1.0]) + rng.integers(0, 4, labels.shape))
    return LOSSES[seed % len(LOSSES)](rng, scores, labels), labels


def frame_of(scores, labels):
    """Return a table as rows."""
    cells = [
        {"prompt_id": f"p{p}", "candidate": f"c{c}", "judge_score": scores[p, c], "oracle_label": labels[p, c]}
        for p, c in np.ndindex(*scores.shape)
    ]
    return pd.DataFrame(cells)


def selected(scores, path):
    """Pick from each prompt as production does, and write the picks."""
    by_text = {f"{p} {c}": float(scores[p, c]) for p, c in np.ndindex(*scores.shape)}
    texts = [[f"{p} {c}" for c in range(scores.shape[1])] for p in range(len(scores))]
    with bw.Selector(lambda _prompt, text: by_text[text], on_failure="owe") as selector:
        picks = [selector.select("?", pool, prompt_id=f"p{p}") for p, pool in enumerate(texts)]
    path.write_text("".join(json.dumps(pick.to_dict()) + "\n" for pick in picks), "utf-8")
    return path


def expected(scores, labels, unpicked):
    """Return figures of picks from their definitions, in plain loops."""
    rows = []
    for own, truth in zip(scores, labels, strict=True):
        known = [at for at, score in enumerate(own) if not math.isnan(score)]
        top = [at for at in known if own[at] == max(own[each] for each in known)]
        if not top and unpicked == "drop":
            continue
        picked = top or ([0] if unpicked == "first" else list(range(len(own))))
        rows.append(
            {
                "value_judge": sum(truth[at] for at in picked) / len(picked),
                "value_random": sum(truth) / len(truth),
                "value_oracle": max(truth),
                "hit_rate": sum(truth[at] == max(truth) for at in picked) / len(picked),
            }
        )
    means = {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]} if rows else {}
    if means and means["value_oracle"] > means["value_random"]:
        gain = means["value_judge"] - means["value_random"]
        means |= {"gain": gain, "recovery": gain / (means["value_oracle"] - means["value_random"])}
    return means


def close(one, other):
    """Whether both are nothing, or within 1e-12."""
    return one is other is None or (None not in {one, other} and abs(one - other) <= 1e-12)


@pytest.mark.parametrize("part", [0, 1, *(pytest.param(part, marks=pytest.mark.slow) for part in range(2, 10))])
def test_scores_and_the_picks_made_from_them_have_the_same_figures(part, tmp_path):
    """Estimates, intervals and reasons agree, whatever was lost; the estimates are those of plain loops too."""
    audited = 0
    for seed in range(part * TABLES // 10, (part + 1) * TABLES // 10):
        scores, labels = drawn_table(seed)
        frame, unpicked = frame_of(scores, labels), RULES[seed // len(LOSSES) % len(RULES)]
        twin = expected(scores, labels, unpicked)
        if np.isnan(scores).all():
            continue
        of_scores = bw.audit(frame, unpicked=unpicked)
        path = selected(scores, tmp_path / f"{seed}.jsonl")
        of_picks = bw.audit(path, labels=frame.drop(columns="judge_score"), unpicked=unpicked)
        assert of_scores.metrics.keys() == of_picks.metrics.keys()
        for name in of_scores.metrics:
            one, other = of_scores[name], of_picks[name]
            assert (one.n, one.interval, one.reason) == (other.n, other.interval, other.reason), (seed, name)
            for field in ("estimate", "low", "high", "se"):
                assert close(getattr(one, field), getattr(other, field)), (seed, name, field)
        for name, value in twin.items():
            if name == "recovery" and of_scores[name].reason == TOO_LITTLE:
                continue
            assert of_scores[name].estimate == pytest.approx(value, abs=1e-12), (seed, name)
        audited += 1
    assert audited >= 0.8 * TABLES / 10


def test_a_judge_that_only_loses_scores_does_not_pick_at_random():
    """Equal scores, missing where labels are best: the picks are worse than random ones, and it says so."""
    labels = np.random.default_rng(1).integers(0, 4, (80, 3)).astype(float)
    scores = np.where(labels == labels.max(axis=1, keepdims=True), np.nan, 1.0)
    judge = bw.audit(frame_of(scores, labels))
    assert judge["tie_rate"].estimate == 1
    assert judge.verdict.level == "harmful"
    assert judge["recovery"].high < 0


def test_what_counts_where_nothing_has_a_score_is_repeated(tmp_path):
    """The settings, the text and the page of an audit say it; by default nobody asked."""
    labels = np.arange(40.0).reshape(10, 4) % 7
    scores = of_whole_prompts(np.random.default_rng(2), labels, labels)
    judge = bw.audit(frame_of(scores, labels), unpicked="first")
    assert judge.settings.unpicked == "first"
    assert "where nothing has a score: first" in judge.to_text(full=True)
    judge.to_html(tmp_path / "page.html")
    assert "where nothing has a score" in (tmp_path / "page.html").read_text("utf-8")
    assert bw.audit(frame_of(scores, labels)).settings.unpicked is None


# Intervals where scores are lost on good candidates: a simulation with known truth.


FIGURES = tuple(one for one in ESTIMANDS if one.name in {"recovery", "gain", "hit_rate", "value_judge"})
LABELLED = {"complete": None, "prompts": "uniform", "cells": "cells"}
CELLS = [
    (law, prompts, which)
    for law in ("arena", "likert")
    for prompts in (60, 200, 1000)
    for which in LABELLED
    if (which, prompts) != ("prompts", 60)
]
"""Of 60 prompts 30 % are fewer than 20."""

FULL, THIN, THIN_PARTLY = 2000, 200, 24
SHARE = 0.3


def lossy(law, rng, prompts):
    """Draw a table whose judge loses two fifths of the scores of good candidates, and a few of the others."""
    scores, labels = LAWS[law](rng, prompts)
    good = labels >= np.quantile(labels, 0.7)
    return np.where(rng.random(labels.shape) < np.where(good, 0.4, 0.05), np.nan, scores), labels


@cache
def truth(law):
    """Return the figures over very many prompts."""
    totals = Sums(*sums_of(*lossy(law, np.random.default_rng(5), 400_000)).sum(1))
    return {one.name: float(one.of(totals)) for one in FIGURES}


def estimates(law, rng, prompts, which):
    """Audit one table of which so much is labelled."""
    scores, labels = lossy(law, rng, prompts)
    if which == "complete":
        return estimate(FIGURES, sums_of(scores, labels), IntervalRule())
    seen = rng.random(labels.shape) < SHARE
    if which == "prompts":
        seen = (rng.permutation(prompts) < SHARE * prompts)[:, None]
    rows, names = np.indices(labels.shape)
    frame = {"prompt_id": rows.ravel(), "candidate": names.ravel(), "judge_score": scores.ravel()}
    frame["oracle_label"] = np.where(seen, labels, np.nan).ravel()
    return bw.audit(pd.DataFrame(frame), design=LABELLED[which]).metrics


@pytest.mark.parametrize(
    "tables", [pytest.param(None, id="thinned"), pytest.param(FULL, id="full", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(("law", "prompts", "which"), CELLS)
def test_intervals_cover_where_the_best_lose_their_score(law, prompts, which, tables):
    """Coverage is at least .93 less two standard errors of the simulation; what has no interval is taken to hold."""
    count = tables or (THIN if which == "complete" else THIN_PARTLY)
    rng = np.random.default_rng([11, prompts, len(law), len(which)])
    held = dict.fromkeys((one.name for one in FIGURES), 0)
    for _ in range(count):
        metrics = estimates(law, rng, prompts, which)
        for name, value in truth(law).items():
            low, high = metrics[name].low, metrics[name].high
            held[name] += low is None or high is None or low <= value <= high
    # With few tables, what chance allows once in 10,000 figures.
    least = 0.93 - 2 * np.sqrt(0.93 * 0.07 / count) if tables else binom.ppf(1e-4, count, 0.93) / count
    assert min(held.values()) >= least * count, (count, held)


OF_LABELS = {"value_random", "value_judge", "value_oracle"}
"""Metrics that move with the labels."""


def in_units(name, value, column, factor, shift):
    """Take a figure of a table whose scores or labels were changed back to the units before."""
    if value is None:
        return None
    if column == "oracle_label" and name in OF_LABELS:
        return (value - shift) / factor
    if column == "oracle_label" and name in {"gain", "level_bias"}:
        return value / factor
    if name == "attenuation":
        return value * factor if column == "oracle_label" else value / factor
    return value


def rated(seed, prompts=40, each=4):
    """Return a table of scores in steps of a tenth and labels from 1 to 5; some of both are equal."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(1, 6, (prompts, each)).astype(float)
    scores = np.round(labels + 1.5 * rng.normal(size=labels.shape), 1)
    ids = np.repeat([f"p{x}" for x in range(prompts)], each)
    names = np.tile([f"c{i}" for i in range(each)], prompts)
    columns = {"prompt_id": ids, "candidate": names, "judge_score": scores.ravel(), "oracle_label": labels.ravel()}
    return pd.DataFrame(columns)


DESIGNS = {
    "complete": lambda frame, _lost: (frame, {}),
    "by prompt": lambda frame, lost: (
        frame.assign(oracle_label=frame["oracle_label"].where(~np.repeat(lost[::4] < 0.4, 4))),
        {"design": "uniform"},
    ),
    "by candidate": lambda frame, lost: (
        frame.assign(oracle_label=frame["oracle_label"].where(lost > 0.2)),
        {"design": "cells"},
    ),
    "unscored": lambda frame, lost: (frame.assign(judge_score=frame["judge_score"].where(lost > 0.1)), {}),
}


@given(
    column=st.sampled_from(["judge_score", "oracle_label"]),
    power=st.sampled_from([-20, -12, -8, 3, 12, 20]),
    factor=st.floats(1, 9),
    shift=st.sampled_from([0.0, 1.0, -300.0]),
    design=st.sampled_from(sorted(DESIGNS)),
    seed=st.integers(0, 1000),
)
@settings(max_examples=25)
def test_figures_do_not_depend_on_the_unit(column, power, factor, shift, design, seed):
    """Scores or labels times a factor plus a shift have the same ties, figures and intervals, in the new unit."""
    factor *= 10.0**power
    shift *= factor
    lost = np.random.default_rng(seed).random(160)
    frame, options = DESIGNS[design](rated(seed), lost)
    before = bw.audit(frame, **options)
    after = bw.audit(frame.assign(**{column: factor * frame[column] + shift}), **options)
    assert {one.data.scores_tied for one in (before, after)} == {None}
    assert {one.data.labels_tied for one in (before, after)} == {None}
    for name, metric in before.metrics.items():
        for end in ("estimate", "low", "high"):
            found = in_units(name, getattr(after[name], end), column, factor, shift)
            known = getattr(metric, end)
            assert found == (known if known is None else pytest.approx(known, rel=1e-6, abs=1e-7)), (
                name,
                end,
                after[name].reason,
            )


def test_tiny_scores_are_scores():
    """Products of probabilities, from 1e-21 to 1e-13, order candidates as their logarithms do."""
    frame = rated(7, prompts=100)
    logarithms = frame["judge_score"] - 21
    tiny, plain = (bw.audit(frame.assign(judge_score=scores)) for scores in (10.0**logarithms, logarithms))
    assert tiny["tie_rate"].estimate == pytest.approx(plain["tie_rate"].estimate, abs=0.02)
    assert tiny["top1_accuracy"].estimate == pytest.approx(plain["top1_accuracy"].estimate, abs=1e-9)


def test_values_that_tie_by_rounding_are_counted():
    """Scores of ten decades tie where they differ by less than 9 digits of the spread, and the output says so."""
    frame = rated(3)
    frame.loc[:3, "judge_score"] = [1e-12, 2e-12, 0.5, 1.0]
    found = bw.audit(frame)
    assert found.data.scores_tied == 1
    assert "1 score differ" in str(found)
    assert "scores_tied" not in bw.audit(rated(3)).to_dict()["data"]


@pytest.mark.parametrize("power", [-20, -12, 12, 20])
def test_picks_and_routes_do_not_depend_on_the_unit(power):
    """`select` takes the same candidates and `route` the same prompts, whatever the unit of the scores."""
    frame = rated(11, prompts=120)
    unit = 10.0**power
    for _, pool in frame.head(80).groupby("prompt_id"):
        picks = []
        for factor in (1.0, unit):
            of = dict(zip(pool["candidate"], pool["judge_score"] * factor, strict=True))
            picks.append(bw.select("q", list(of), judge=bw.FunctionJudge(lambda _, text, of=of: of[text])))
        assert picks[0].best == picks[1].best
        assert picks[0].tied == picks[1].tied
    routes = [bw.route(frame.assign(judge_score=frame["judge_score"] * factor)) for factor in (1.0, unit)]
    one, other = (route.signals["margin"] for route in routes)
    assert any(at.lift for at in one.shares)
    assert [at.lift for at in one.shares] == pytest.approx([at.lift for at in other.shares], rel=1e-6)

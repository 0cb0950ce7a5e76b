"""Intervals where scores are lost on good candidates: a simulation with known truth."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import bonwise as bw
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimation import IntervalRule, estimate
from bonwise.stats.sums import Sums
from judge_laws import LAWS, sums_of

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

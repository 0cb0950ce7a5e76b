"""How often intervals hold after the best of several judges was chosen.

Judge k scores as the law does on a share of the prompts, and deals the same scores at random to the candidates of the
others: its recovery and its gain are that share of the law's.
"""

from __future__ import annotations

from collections import Counter
from unittest import mock

import numpy as np
import pandas as pd
import pytest

from bonwise.auditing import simultaneous
from bonwise.auditing.comparison import Compared, choices
from bonwise.auditing.front import audit
from bonwise.auditing.simultaneous import UnitInfluences, pick_influences
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimation import IntervalRule, difference, estimate
from bonwise.stats.sums import Sums
from judge_laws import LAWS, sums_of, truth
from stats.nominal import clopper_pearson

SEED = 20261123
PROMPTS = 200
FULL, THIN = 2000, 40
DRAWS = 4000
"""Behind the joint confidence of a simulated table: fewer than the package takes, for time's sake."""
LEAST = 0.93
CHOSEN = [e for e in ESTIMANDS if e.name in ("gain", "recovery")]
SHARES = {"equal": lambda judges: np.full(judges, 0.8), "unequal": lambda judges: np.linspace(0.3, 0.9, judges)}
CELLS = [
    (law, judges, kind) for law in ("arena", "binary", "likert", "graded") for judges in (2, 5, 20) for kind in SHARES
]


def several(law, shares, n, seed):
    """Draw prompts of a law with the scores of several judges."""
    rng = np.random.default_rng([SEED, len(shares), n, seed, *law.encode()])
    scores, labels = LAWS[law](rng, n)
    dealt = [rng.permuted(scores, axis=1) for _ in shares]
    seen = [rng.random((n, 1)) < share for share in shares]
    return [np.where(mask, scores, other) for mask, other in zip(seen, dealt, strict=True)], labels


def chosen(scores, labels, seed, clusters=None):
    """Choose among judges."""
    sums = {f"j{k}": sums_of(one, labels) for k, one in enumerate(scores)}
    inside = labels.min() >= 0 and labels.max() <= 1
    rule = IntervalRule(label_range=(0.0, 1.0) if inside else (-np.inf, np.inf), clusters=clusters)
    units = np.arange(len(labels)) if clusters is None else np.unique(clusters)
    compared = {}
    for name, matrix in sums.items():
        t = Sums(*matrix)
        influences = UnitInfluences(units, pick_influences(t.J - t.R, t.M - t.R, clusters))
        compared[name] = Compared(estimate(CHOSEN, matrix, rule), influences)
    known = {}

    def apart(first, second, metric):
        if (first, second) not in known:
            known[first, second] = difference(CHOSEN, sums[first], sums[second], rule)
        return known[first, second][metric]

    return choices(compared, apart, 0.95, seed=seed)


def holds(ends, value):
    """Tell whether an interval holds a value; an unbounded set, which has none, excludes no value."""
    return ends is None or ends[0] <= value <= ends[1]


def counted(found, true, hits):
    """Count what holds: the winner before and after the choice, all judges and all differences together."""
    for metric, one in found.items():
        if one.after is None:
            continue
        of, best = true[metric], one.best[0]
        hits[metric, "tables"] += 1
        hits[metric, "before"] += holds(one.before, of[best])
        hits[metric, "after"] += holds(one.after, of[best])
        hits[metric, "together"] += all(holds(ends, of[name]) for name, ends in one.simultaneous.items())
        hits[metric, "differences"] += all(
            holds(apart.interval, of[best] - of[name]) for name, apart in one.differences.items()
        )


def simulated(law, judges, kind, replications, n=PROMPTS):
    """Count what holds over many tables."""
    shares = SHARES[kind](judges)
    true = {m: {f"j{k}": share * truth(law)[m] for k, share in enumerate(shares)} for m in ("gain", "recovery")}
    hits = Counter()
    with mock.patch.object(simultaneous, "_DRAWS", DRAWS):
        for replication in range(replications):
            counted(chosen(*several(law, shares, n, replication), replication), true, hits)
    return hits


def told(hits):
    """Return coverages by metric."""
    return {
        metric: {what: round(float(hits[metric, what] / hits[metric, "tables"]), 3) for what in WHAT}
        for metric in ("recovery", "gain")
    }


WHAT = ("before", "after", "together", "differences")


@pytest.mark.slow
@pytest.mark.parametrize(("law", "judges", "kind"), CELLS)
def test_intervals_hold_after_the_choice(law, judges, kind):
    """The winner's value in 93 % of tables or more, and all judges and all differences together."""
    hits = simulated(law, judges, kind, FULL)
    print(law, judges, kind, told(hits))  # noqa: T201 - the measured table
    for metric in ("recovery", "gain"):
        tables = hits[metric, "tables"]
        assert tables > 0.9 * FULL
        for what in ("after", "together", "differences"):
            assert clopper_pearson(hits[metric, what], tables)[1] >= LEAST, (
                metric,
                what,
                hits[metric, what] / tables,
            )


def test_intervals_hold_after_the_choice_in_a_few_tables():
    """A thinned simulation; without care the best of 20 equal judges would be missed far more often."""
    hits = simulated("binary", 20, "equal", THIN)
    for metric in ("recovery", "gain"):
        for what in ("after", "together", "differences"):
            assert hits[metric, what] >= 0.85 * THIN, (metric, what)
        assert hits[metric, "before"] < hits[metric, "after"]


DESIGNS = {"uniform": 0.5, "cells": 0.8, "clusters": 1.0}


def table(law, shares, n, seed, design):
    """Lay judges out as a table of which some prompts, or some candidates, are labelled."""
    if design == "clusters":
        scores, labels = several(law, shares, n // 3, seed)
        scores, labels = [np.repeat(one, 3, axis=0) for one in scores], np.repeat(labels, 3, axis=0)
    else:
        scores, labels = several(law, shares, n, seed)
    rng, (prompts, size) = np.random.default_rng([SEED, seed]), labels.shape
    if design == "uniform":
        labels = np.where(rng.permutation(prompts)[:, None] < DESIGNS[design] * prompts, labels, np.nan)
    elif design == "cells":
        labels = np.where(rng.random(labels.shape) < DESIGNS[design], labels, np.nan)
    frame = pd.DataFrame(
        {
            "prompt_id": np.repeat([f"p{x}" for x in range(prompts)], size),
            "candidate": np.tile([f"c{i}" for i in range(size)], prompts),
            "oracle_label": labels.ravel(),
        }
    )
    if design == "clusters":
        frame["cluster"] = np.repeat([f"g{x // 3}" for x in range(prompts)], size)
    return pd.concat([frame.assign(judge=f"j{k}", judge_score=one.ravel()) for k, one in enumerate(scores)])


def audited(law, judges, design, replications, n):
    """Count what holds over audits of tables with clusters, or with labels in part."""
    shares = SHARES["equal"](judges)
    true = {m: {f"j{k}": share * truth(law)[m] for k, share in enumerate(shares)} for m in ("gain", "recovery")}
    hits = Counter()
    for replication in range(replications):
        frame = table(law, shares, n, replication, design)
        found = audit(frame, design=None if design == "clusters" else design, seed=replication)
        counted(found.choice, true, hits)
    return hits


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
def test_intervals_hold_after_the_choice_with_clusters_and_labels_in_part(design):
    """Five equal judges: three wordings of each prompt, half of the prompts labelled, four of five candidates."""
    hits = audited("binary", 5, design, 200, 300)
    print(design, told(hits))  # noqa: T201 - the measured table
    for metric in ("recovery", "gain"):
        for what in ("after", "together", "differences"):
            assert clopper_pearson(hits[metric, what], hits[metric, "tables"])[1] >= LEAST, (metric, what)

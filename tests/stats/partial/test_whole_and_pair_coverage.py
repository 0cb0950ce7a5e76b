"""Width and coverage of whole pools and pairs against whole pools drawn at random, at an equal number of labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from bonwise.auditing.whole_and_pair import WholeAndPairDraw, WholeAndPairEstimates, whole_and_pair_estimates
from bonwise.stats.estimation import IntervalRule, estimate
from bonwise.stats.partial.cell_allocation import CellPopulation, allocate_cells, cell_strata
from bonwise.stats.partial.label_allocation import draw_within, size_measure
from bonwise.stats.recovery import ESTIMANDS
from bonwise.stats.sums import prompt_sums
from bonwise.stats.top_of_scores import at_top, top_of_scores
from bonwise.testing import simulate
from judge_laws import LAWS
from stats.nominal import assert_covered

SEED = 20270118
FULL, THIN = 2000, 100
PROMPTS, POOLS = 1000, 150
"""Prompts of a table, and how many whole pools its labels would buy."""

POPULATION = 60_000
RULE = IntervalRule(label_range=(-np.inf, np.inf))


@dataclass(frozen=True)
class Case:
    """A law and a number of candidates, and the ratios that are to be met."""

    law: str
    candidates: int
    width: float | None = None
    gain: float | None = None

    def __str__(self):
        """Name the case."""
        return f"{self.law}-{self.candidates}"


CASES = [
    Case("arena", 8, 0.76, 0.64),
    Case("arena", 16, 0.75, 0.58),
    Case("normal", 8, 0.86, 0.79),
    Case("normal", 16, 0.74, 0.62),
]
OTHERS = [Case("graded", 8), Case("skewed", 8)]


def normal(rng, n, candidates):
    """A judge without ties: normal labels, spreads that differ by prompt, and a within-prompt correlation of .55."""
    level = 0.7 * rng.standard_normal((n, 1))
    labels = level + rng.standard_normal((n, candidates)) * np.exp(0.4 * rng.standard_normal((n, 1)))
    return labels + 1.8 * rng.standard_normal((n, candidates)), labels


@cache
def population(law, candidates):
    """Draw very many prompts once: samples of them are drawn with replacement, and their means are the truth."""
    rng = np.random.default_rng([SEED, candidates])
    if law == "arena":
        drawn = simulate("arena", n=POPULATION, seed=SEED, candidates=candidates)
        scores, labels = drawn.scores, drawn.labels
    else:
        scores, labels = (LAWS | {"normal": normal})[law](rng, POPULATION, candidates)
    top = scores == scores.max(axis=1, keepdims=True)
    gain = (top * labels).sum(axis=1) / top.sum(axis=1) - labels.mean(axis=1)
    best = labels.max(axis=1) - labels.mean(axis=1)
    return scores, labels, {"recovery": gain.mean() / best.mean(), "gain": gain.mean()}


def by_cell(rng, scores, labels):
    """Draw whole pools and pairs, and estimate."""
    n, K = scores.shape
    sizes, flat = np.full(n, K), scores.ravel()
    top, tied = at_top(flat, sizes), top_of_scores(flat, sizes).tied
    everyone = CellPopulation(sizes, tied < K, size_measure(flat, sizes))
    strata = cell_strata(everyone, POOLS * K)
    drawn = allocate_cells(everyone, strata, POOLS * K)
    whole = draw_within(strata, drawn.whole, rng)
    pairs = draw_within(strata, drawn.pairs, rng, whole)
    keys, starts = rng.random(n * K), np.arange(n) * K
    picks, others = (
        np.where(pairs, starts + np.where(side, keys, -1).reshape(n, K).argmax(axis=1), -1) for side in (top, ~top)
    )
    assert whole.sum() * K + 2 * pairs.sum() > 0.98 * POOLS * K
    return whole_and_pair_estimates(
        WholeAndPairDraw(sizes, top, whole, picks, others, strata), labels.ravel(), RULE, seed=1
    )


def at_random(rng, scores, labels):
    """Draw as many labels in whole pools, all prompts alike."""
    rows = rng.choice(len(scores), POOLS, replace=False)
    sums = prompt_sums(scores[rows].ravel(), labels[rows].ravel(), np.full(POOLS, scores.shape[1]))
    found = estimate(ESTIMANDS, sums, RULE)
    return WholeAndPairEstimates(found["gain"], found["recovery"])


def measured(case, count):
    """Return coverage, widths over those of labels at random, biases in standard deviations."""
    scores, labels, truth = population(case.law, case.candidates)
    found = {name: {"cell": [], "random": []} for name in truth}
    for one in range(count):
        rng = np.random.default_rng([SEED, case.candidates, one])
        rows = rng.integers(0, POPULATION, PROMPTS)
        for how, draw in (("cell", by_cell), ("random", at_random)):
            told = draw(rng, scores[rows], labels[rows])
            for name, lists in found.items():
                made = getattr(told, name)
                lists[how].append((made.estimate, made.low, made.high))
    out = {}
    for name, lists in found.items():
        value, low, high = np.array(lists["cell"]).T
        alone = np.array(lists["random"])
        held = int(np.sum((low <= truth[name]) & (truth[name] <= high)))
        out[name] = {
            "held": held,
            "width": float(np.median(high - low) / np.median(alone[:, 2] - alone[:, 1])),
            "sd": float(value.std() / alone[:, 0].std()),
            "bias": float((value.mean() - truth[name]) / value.std()),
        }
    return out


def assert_holds(case, count):
    """Coverage near .95, no bias, and the widths that are promised."""
    found = measured(case, count)
    print(case, {k: {m: round(v, 3) for m, v in one.items()} for k, one in found.items()})  # noqa: T201 - a table
    assert_covered({name: one["held"] for name, one in found.items()}, count)
    for name, one in found.items():
        assert abs(one["bias"]) < 0.06 + 2.6 / np.sqrt(count), name
    slack = 0.02 + 0.5 / np.sqrt(count)
    if case.width is not None:
        assert found["recovery"]["width"] < case.width + slack
        # The standard deviation of 2,000 estimates is known to 1.6 %.
        assert found["gain"]["sd"] < case.gain + slack + 1.3 / np.sqrt(count)


@pytest.mark.parametrize("case", [CASES[0], CASES[3], OTHERS[0]], ids=str)
def test_intervals_hold_and_are_narrower(case):
    """Thinned: 100 tables."""
    assert_holds(case, THIN)


@pytest.mark.slow
@pytest.mark.parametrize("case", [*CASES, *OTHERS], ids=str)
def test_intervals_hold_and_are_narrower_in_full(case):
    """2,000 tables of each kind."""
    assert_holds(case, FULL)

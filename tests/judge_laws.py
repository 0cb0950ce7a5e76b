"""Judges and labels drawn from laws that nothing in the package was tuned to, with shapes that strain an interval.

Each law draws the scores and the labels of n prompts; `truth` is what a metric is over very many of them.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.sums import Sums, prompt_sums
from bonwise.testing import simulate

_SIZES = {"likert": 5}


def _logistic(x):
    return 1 / (1 + np.exp(-x))


def arena(rng, n, candidates=4):
    """About half of the prompts tied by the judge altogether; only four candidates."""
    drawn = simulate("arena", n=n, seed=int(rng.integers(2**31)), candidates=candidates)
    return drawn.scores, drawn.labels


def binary(rng, n, candidates=4):
    """Labels 0 and 1, scores in steps of .1, prompts of different difficulty."""
    quality = 1.2 * rng.standard_normal((n, 1)) + rng.standard_normal((n, candidates))
    labels = rng.random((n, candidates)) < _logistic(quality - 0.3)
    seen = quality + 1.5 * rng.standard_normal((n, candidates))
    return np.round(np.clip(0.5 + 0.18 * seen, 0, 1), 1), labels.astype(float)


def likert(rng, n, candidates=5):
    """Five grades on both sides."""
    quality = 0.8 * rng.standard_normal((n, 1)) + 0.7 * rng.standard_normal((n, candidates))
    labels = np.digitize(quality + 0.3 * rng.standard_normal((n, candidates)), [-1.6, -0.7, 0.3, 1.2])
    scores = np.digitize(quality + 0.5 + 0.9 * rng.standard_normal((n, candidates)), [-1.5, -0.5, 0.5, 1.5])
    return scores / 4, labels / 4


def hetero(rng, n, candidates=4):
    """Normal labels whose spread differs from prompt to prompt by a lognormal factor."""
    level, spread = 2 * rng.standard_normal((n, 1)), np.exp(rng.standard_normal((n, 1)))
    quality = rng.standard_normal((n, candidates))
    noise = rng.standard_normal((n, candidates)) * np.exp(0.5 * rng.standard_normal((n, 1)))
    return level + 0.6 * spread * quality + noise, level + spread * quality


def lognormal(rng, n, candidates=4):
    """Labels with a long upper tail and no largest value."""
    quality = 0.5 * rng.standard_normal((n, 1)) + rng.standard_normal((n, candidates))
    return 0.5 * quality + rng.standard_normal((n, candidates)), np.exp(quality)


def ties90(rng, n, candidates=4):
    """A judge that tells candidates apart in 13 % of the prompts."""
    quality = 0.6 * rng.standard_normal((n, 1)) + rng.standard_normal((n, candidates))
    said = np.round(_logistic(quality + 0.8 * rng.standard_normal((n, candidates))), 1)
    return np.where(rng.random((n, 1)) < 0.13, said, 0.8), np.round(_logistic(quality), 2)


def rare(rng, n, candidates=4):
    """Labels that differ in 5 % of the prompts alone."""
    level = np.round(_logistic(rng.standard_normal((n, 1))), 1)
    quality = rng.standard_normal((n, candidates))
    apart = np.clip(np.round(level + 0.3 * quality, 2), 0, 1)
    labels = np.where(rng.random((n, 1)) < 0.05, apart, level)
    return np.round(_logistic(0.8 * quality + rng.standard_normal((n, candidates))), 1), labels


def graded(rng, n, candidates=4):
    """Ten grades, easy prompts at the top of the scale, a judge that sees two thirds of what matters."""
    ease = rng.gamma(2.0, 0.6, (n, 1))
    quality = ease + 0.8 * rng.standard_normal((n, candidates))
    labels = np.clip(np.round(4 + 2.5 * quality), 0, 10) / 10
    seen = quality + 0.6 * rng.standard_normal((n, candidates))
    return np.clip(np.round(4 + 2.5 * seen), 0, 10) / 10, labels


def skewed(rng, n, candidates=4):
    """Most candidates alike, some much worse; the judge finds half of those."""
    bad = rng.random((n, candidates)) < rng.beta(0.6, 2.4, (n, 1))
    labels = np.where(bad, rng.beta(1, 4, (n, candidates)), rng.beta(8, 2, (n, candidates)))
    found = bad & (rng.random((n, candidates)) < 0.5)
    scores = np.where(found, rng.uniform(0, 0.5, (n, candidates)), rng.uniform(0.5, 1, (n, candidates)))
    return np.round(scores, 1), np.round(labels, 2)


LAWS = {law.__name__: law for law in (arena, binary, likert, hetero, lognormal, ties90, rare, graded, skewed)}


def sums_of(scores, labels):
    """Return the sums of prompts of one size."""
    n, candidates = scores.shape
    return prompt_sums(scores.ravel(), labels.ravel(), np.full(n, candidates))


@cache
def truth(law, candidates=None, prompts=400_000):
    """Return the metrics of a law over very many prompts, by name."""
    size = candidates or _SIZES.get(law, 4)
    rng = np.random.default_rng([99, len(law), size])
    drawn = LAWS[law](rng, prompts, size)
    totals = Sums(*sums_of(*drawn).sum(1))
    return {e.name: float(e.of(totals)) for e in ESTIMANDS}

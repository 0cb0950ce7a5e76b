"""Five laws each of judged prompts, of verdicts and statements on them, of streams of picks, and of ratings.

They were written down before any interval was seen on them, and no test of another folder uses them. Each strains an
interval in its own way: heaped counts, one failure among equals, heavy tails, prompts that are judged the wrong way
round, and long pools under a score that saturates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from bonwise.stats.sums import Sums, prompt_sums
from bonwise.testing.rated_models import RatedModels
from watching.laws import Law


def counted_items(rng, n):
    """Labels are the share of 5 items that an answer meets, scores that of 3 others; prompts differ in difficulty."""
    hard = rng.beta(1.5, 1.5, (n, 1))
    able = np.clip(hard + 0.25 * rng.normal(size=(n, 4)), 0.02, 0.98)
    return rng.binomial(3, able) / 3, rng.binomial(5, able) / 5


def one_failure(rng, n):
    """One of six answers fails in 70 of 100 prompts, the others are all right; the judge sees 7 of 10 failures."""
    labels, scores = np.ones((n, 6)), np.full((n, 6), 0.9)
    rows, place = np.flatnonzero(rng.random(n) < 0.7), rng.integers(0, 6, n)
    labels[rows, place[rows]] = 0.0
    seen = rows[rng.random(len(rows)) < 0.7]
    scores[seen, place[seen]] = 0.2
    wrong = np.flatnonzero(rng.random(n) < 0.1)
    scores[wrong, rng.integers(0, 6, len(wrong))] = 0.2
    return scores, labels


def heavy_tails(rng, n):
    """Labels have a Pareto law with shape 4, scores are their logarithm with noise, to one decimal."""
    labels = rng.pareto(4, (n, 5)) * np.exp(0.3 * rng.normal(size=(n, 1)))
    return np.round(np.log1p(labels) + 0.3 * rng.normal(size=labels.shape), 1), labels


def turned_prompts(rng, n):
    """A fourth of the prompts is judged the wrong way round, the others well."""
    labels = 0.5 * rng.normal(size=(n, 1)) + rng.normal(size=(n, 3))
    sign = np.where(rng.random((n, 1)) < 0.25, -1.0, 1.0)
    return sign * labels + 0.5 * rng.normal(size=labels.shape), labels


def saturated(rng, n):
    """Ten answers that are evenly apart in quality, scores from 1 to 7 of which the upper half is all 7."""
    quality = rng.permuted(np.tile(np.linspace(0, 1, 10), (n, 1)), axis=1)
    labels = np.clip(quality + 0.1 * rng.normal(size=(n, 1)), 0, 1)
    return np.clip(np.round(1 + 12 * (quality + 0.2 * rng.normal(size=quality.shape))), 1, 7), labels


LAWS = {one.__name__: one for one in (counted_items, one_failure, heavy_tails, turned_prompts, saturated)}
"""By name; each draws scores and labels, (prompts, candidates)."""


@cache
def population(law, prompts=300_000):
    """Return the sums of very many prompts of a law, one a prompt."""
    scores, labels = LAWS[law](np.random.default_rng(77), prompts)
    return Sums(*prompt_sums(scores.ravel(), labels.ravel(), np.full(prompts, scores.shape[1])))


def unit_labels(law):
    """Tell whether the labels of a law are known to lie from 0 to 1."""
    return law in ("counted_items", "one_failure", "saturated")


def pairs(law, rng, n):
    """Return verdicts of judge and oracle on the first two candidates of n prompts: 1, 0, or one half for a tie."""
    scores, labels = (one[:, :2] for one in LAWS[law](rng, n))
    return tuple((1 + np.sign(np.round(one[:, 0] - one[:, 1], 9))) / 2 for one in (scores, labels))


SLOPES = {"counted_items": 3.0, "one_failure": 4.0, "heavy_tails": 2.0, "turned_prompts": 1.5, "saturated": 1.0}


def statements(law, rng, prompts, each=3):
    """Return probabilities that the first candidate is the better one, outcomes, and the prompt of each statement."""
    scores, labels = LAWS[law](rng, prompts)
    at = np.repeat(np.arange(prompts), each)
    first = rng.integers(0, scores.shape[1], len(at))
    second = (first + rng.integers(1, scores.shape[1], len(at))) % scores.shape[1]
    apart = scores[at, first] - scores[at, second]
    stated = np.round(1 / (1 + np.exp(-SLOPES[law] * apart)), 2)
    won = (1 + np.sign(np.round(labels[at, first] - labels[at, second], 9))) / 2
    return stated, won, at


STREAMS = {
    "mostly ties": Law("share", 0.85, 0.05, picks=40),
    "rare and weekly": Law("share", 0.01, 0.5, picks=300, traffic="weekly"),
    "costs of few picks": Law("lognormal", 2.0, 0.6, picks=15),
    "order effect that grows": Law("pairs", 0.05, 1.0, picks=60, traffic="growing"),
    "lengths with busy weeks": Law("gamma", 300.0, 0.4, picks=80, traffic="weekly"),
}
"""Streams of picks of which nothing changes."""


@dataclass(frozen=True)
class RatingLaw:
    """How raters see models: skills, categories, and what the factors are drawn from."""

    skills: int
    categories: int
    tails: str
    judges: int = 8
    share: float = 0.4
    """Of the human's ratings that are known."""
    swayed: float = 0.0
    """Standard deviation of what moves all judges alike in an answer, and the human not at all."""


RATINGS = {
    "one skill, yes or no": RatingLaw(1, 2, "normal"),
    "two skills, five grades": RatingLaw(2, 5, "normal"),
    "heavy prompts": RatingLaw(2, 4, "student"),
    "skewed prompts, many judges": RatingLaw(2, 5, "gamma", judges=14),
    "two kinds of prompts": RatingLaw(2, 3, "kinds", share=0.6),
    "judges swayed alike": RatingLaw(2, 5, "normal", judges=6, swayed=1.25),
}


def rated(law, seed, prompts, models=4):
    """Draw ratings of a law; the human's capabilities are known, in units of the logistic noise of a rating."""
    rng, shape = np.random.default_rng([77, seed]), (prompts, law.skills)
    asked = {
        "normal": lambda: 0.8 + 0.8 * rng.normal(size=shape),
        "student": lambda: 0.8 + 0.5 * rng.standard_t(3, size=shape),
        "gamma": lambda: rng.gamma(1.0, 1.0, size=shape),
        "kinds": lambda: np.where(rng.random((prompts, 1)) < 0.5, 1.6, -0.3) + 0.3 * rng.normal(size=shape),
    }[law.tails]()
    able = rng.normal(size=(models, law.skills))
    heeded = rng.gamma(2.0, 0.5, size=(law.judges + 1, law.skills))
    capabilities = np.einsum("rk,pk,mk->rpm", heeded, asked, able)
    capabilities *= 1.5 / capabilities.std()
    cuts = np.sort(rng.normal(scale=1.5, size=(law.judges + 1, law.categories - 1)), axis=1)
    cuts += 0.4 * np.arange(law.categories - 1)
    noisy = capabilities + rng.logistic(size=capabilities.shape)
    if law.swayed:
        sways = np.random.default_rng([78, seed])
        capabilities[1:] += law.swayed * sways.standard_normal((prompts, models))
        noisy[1:] = capabilities[1:] + sways.logistic(size=noisy[1:].shape)
    ratings = (noisy[..., None] > cuts[:, None, None]).sum(axis=-1)
    known = rng.random((prompts, models)) < law.share
    return RatedModels(capabilities, cuts, ratings[0], ratings[None, 1:], known, seed)

"""Laws in which a few prompts carry a figure, and ordinary ones beside them: scores and labels of n prompts."""

from functools import cache

import numpy as np

from auditing.tables import table
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.sums import Sums, prompt_sums

FIGURES = ("recovery", "gain", "value_judge")


def catastrophes(rng, n, candidates=4):
    """Labels about 1, two of a hundred at -50, of which the judge sees six of ten."""
    labels = 1 + 0.5 * rng.standard_normal((n, candidates))
    scores = 0.6 * (labels - 1) + rng.standard_normal((n, candidates))
    bad = rng.random((n, candidates)) < 0.02
    seen = bad & (rng.random((n, candidates)) < 0.6)
    return np.where(seen, -10.0, scores), np.where(bad, -50.0, labels)


def wins(rng, n, candidates=4):
    """The same turned round: two of a hundred labels at 50."""
    scores, labels = catastrophes(rng, n, candidates)
    return -scores, 2 - labels


def ones(rng, n, candidates=4):
    """97 % ones."""
    labels = (rng.random((n, candidates)) < 0.97).astype(float)
    return 0.8 * labels + 0.5 * rng.standard_normal((n, candidates)), labels


def zeros(rng, n, candidates=4):
    """85 % zeros."""
    labels = (rng.random((n, candidates)) < 0.15).astype(float)
    return 0.8 * labels + 0.8 * rng.standard_normal((n, candidates)), labels


def normal(rng, n, candidates=4, r=0.6):
    """Normal scores and labels."""
    labels = rng.standard_normal((n, candidates))
    return r * labels + np.sqrt(1 - r * r) * rng.standard_normal((n, candidates)), labels


def grades(rng, n, candidates=4):
    """Five grades."""
    labels = np.clip(np.round(3 + rng.standard_normal((n, 1)) + rng.standard_normal((n, candidates))), 1, 5)
    return np.round(labels + 2 * rng.standard_normal((n, candidates))), labels


def heavy(rng, n, candidates=4):
    """Labels 0 to 10, and scores off by Student's t with 2.2 degrees of freedom."""
    level = 5 + 2 * rng.standard_normal((n, 1))
    labels = np.clip(np.round(level + 2 * rng.standard_normal((n, candidates))), 0, 10)
    return 0.3 * labels + rng.standard_t(2.2, (n, candidates)), labels


def users(rng, n, each=4, candidates=4):
    """Users of very different size, about one in five of whom the judge is good for: scores, labels and users."""
    count = max(n // each, 1)
    owner = rng.choice(count, n, p=rng.dirichlet(np.ones(count)))
    good = (rng.random(count) < 0.2)[owner][:, None]
    level, quality = rng.standard_normal((n, 1)), rng.standard_normal((n, candidates))
    return 0.8 * level + good * quality + 0.7 * rng.standard_normal((n, candidates)), level + quality, owner


def by_margin(rng, scores, labels):
    """Label about three of ten prompts, those with a narrow margin far more often: labels and propensities."""
    ordered = np.sort(scores, axis=1)
    wanted = np.exp(-3 * (ordered[:, -1] - ordered[:, -2]))
    chances = np.clip(0.3 * wanted / wanted.mean(), 0.05, 1.0)
    drawn = np.zeros(len(labels), dtype=bool)
    # An audit refuses weights that stand for far more prompts than there are, which a few draws in a thousand give.
    while abs(np.sum(1 / chances[drawn]) - len(labels)) > 3 * np.sqrt(np.sum((1 - chances) / chances)):
        drawn = rng.random(len(labels)) < chances
    return np.where(drawn[:, None], labels, np.nan), chances


LAWS = {one.__name__: one for one in (catastrophes, wins, ones, zeros, normal, grades)}


@cache
def truth(law):
    """Return the figures of picks over 400,000 prompts of a law."""
    scores, labels = LAWS[law](np.random.default_rng(999), 400_000)
    sums = prompt_sums(scores.ravel(), labels.ravel(), np.full(len(scores), scores.shape[1]))
    total = Sums(*sums.sum(axis=1))
    return {one.name: float(one.of(total)) for one in ESTIMANDS if one.name in FIGURES}


def drawn(law, rng, n):
    """Return a table of n prompts of a law."""
    scores, labels = LAWS[law](rng, n)
    return table(list(zip(scores.tolist(), labels.tolist(), strict=True)))

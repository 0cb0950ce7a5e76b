"""Judges that prefer some candidates at equal label, with a planted effect, and its size over very many prompts.

Each law draws scores, labels and an attribute of n prompts, shape (n, K). The effect is 0 where `planted` is.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from bonwise.auditing.equal_label import preference_cost, score_effects
from bonwise.stats.jackknife import from_left_out


def _logistic(x):
    return 1 / (1 + np.exp(-x))


def long_and_good(rng, n, planted):
    """Longer answers have better labels; scores follow the label along a curve and have no ties."""
    quality = 0.7 * rng.standard_normal((n, 1)) + rng.standard_normal((n, 4))
    longer = rng.standard_normal((n, 1)) + 0.6 * quality + rng.standard_normal((n, 4))
    labels = _logistic(quality)
    noise = 0.5 * rng.standard_normal((n, 1)) + 0.25 * rng.standard_normal((n, 4))
    return np.sqrt(labels) + 0.25 * planted * longer + noise, np.round(labels, 2), longer


def grades(rng, n, planted):
    """Five grades as labels, which length follows closely, and four as scores: most pairs tie."""
    quality = 0.8 * rng.standard_normal((n, 1)) + 0.7 * rng.standard_normal((n, 4))
    labels = np.digitize(quality + 0.3 * rng.standard_normal((n, 4)), [-1.6, -0.7, 0.3, 1.2]) / 4
    longer = 0.5 * rng.standard_normal((n, 1)) + 0.8 * rng.standard_normal((n, 4)) + 2 * labels
    seen = 3 * labels - 1.5 + 0.5 * planted * longer + 0.9 * rng.standard_normal((n, 4))
    return np.digitize(seen, [-1.5, -0.5, 0.5, 1.5]) / 4, labels, longer


def first_place(rng, n, planted):
    """Labels 0 and 1, scores in tenths, one candidate in first place."""
    quality = 0.7 * rng.standard_normal((n, 1)) + rng.standard_normal((n, 4))
    labels = (rng.random((n, 4)) < _logistic(quality)).astype(float)
    first = (rng.random((n, 4)).argsort(axis=1) == 0).astype(float)
    noise = 0.1 * rng.standard_normal((n, 1)) + 0.2 * rng.standard_normal((n, 4))
    seen = 0.5 + 0.18 * (2 * labels - 1) + 0.15 * planted * first + noise
    return np.round(np.clip(seen, 0, 1), 1), labels, first


def own_family(rng, n, planted):
    """Labels with a long upper tail; half of the candidates are of the judge's family, which is the better one."""
    own = (rng.random((n, 4)) < 0.5).astype(float)
    quality = 0.5 * rng.standard_normal((n, 1)) + 0.4 * own + rng.standard_normal((n, 4))
    noise = 0.8 * np.exp(0.5 * rng.standard_normal((n, 1))) * rng.standard_normal((n, 4))
    return 0.5 * quality + 0.5 * planted * own + noise, np.round(np.exp(quality), 3), own


LAWS = {law.__name__: law for law in (long_and_good, grades, first_place, own_family)}


def effect_and_costs(scores, labels, attribute):
    """Estimate the effect in sd, and its costs in recovery and label points, with errors and degrees of freedom."""
    sizes = np.full(len(scores), scores.shape[1])
    effects = score_effects(scores.ravel(), labels.ravel(), attribute.reshape(-1, 1), sizes)
    slope = from_left_out(effects.slopes / effects.sd, effects.left_out / effects.sd_left_out)
    costs = preference_cost(scores.ravel(), labels.ravel(), attribute.ravel(), sizes, effects).costs
    return [np.concatenate(pair) for pair in zip(slope[:3], costs[:3], strict=True)]


@cache
def truth(law, planted, prompts=400_000):
    """Return the effect and its costs over very many prompts."""
    return effect_and_costs(*LAWS[law](np.random.default_rng([99, len(law)]), prompts, planted))[0]

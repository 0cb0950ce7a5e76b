"""Laws of pairwise verdicts in contexts, with the share that lies between them in the population."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from bonwise.stats.estimation import from_jackknife
from bonwise.stats.jackknife import Scatter
from bonwise.votes.preferences import PREFERENCE_METRICS, preference_jackknife

SHARES = ("oracle_between_share", "covariance_between_share")


@dataclass(frozen=True)
class Contexts:
    """Contexts with their number of pairs, rates of each oracle verdict, and how the judge answers it.

    Parameters
    ----------
    sizes : ndarray of int64, shape (contexts,)
    oracle : ndarray of float64, shape (contexts, verdicts)
        Probability of the verdicts 0, 1 or 0, 1/2, 1.
    judge : ndarray of float64, shape (contexts, verdicts, verdicts)
        Probability of the judge's verdict, given the oracle's.
    """

    sizes: np.ndarray
    oracle: np.ndarray
    judge: np.ndarray

    @property
    def values(self):
        """The verdicts."""
        return np.linspace(0, 1, self.oracle.shape[1])

    def truth(self):
        """Return the shares between contexts: of the oracle's variance, and of the covariance."""
        w, v = self.sizes / self.sizes.sum(), self.values
        means, joint = self.oracle @ v, self.oracle[:, :, None] * self.judge
        says = joint.sum(axis=1) @ v
        inside = (self.oracle @ v**2 - means**2, np.einsum("xoj,o,j->x", joint, v, v) - means * says)
        between = [w @ ((means - w @ means) * (one - w @ one)) for one in (means, says)]
        return dict(zip(SHARES, [b / (b + w @ i) for b, i in zip(between, inside, strict=True)], strict=True))

    def draw(self, rng):
        """Return the verdicts of judge and oracle and the context of each pair, one pair per prompt."""
        context = np.repeat(np.arange(len(self.sizes)), self.sizes)
        said = (rng.random(len(context))[:, None] > np.cumsum(self.oracle, axis=1)[context][:, :-1]).sum(axis=1)
        given = self.judge[context, said]
        answer = (rng.random(len(context))[:, None] > np.cumsum(given, axis=1)[:, :-1]).sum(axis=1)
        return self.values[answer], self.values[said], context


def two_way(sizes, rates, right):
    """Return contexts of an oracle without ties by its rates, and a judge that is right with a probability."""
    right = np.broadcast_to(right, len(sizes))
    keeps = np.stack([np.stack([right, 1 - right], axis=1), np.stack([1 - right, right], axis=1)], axis=1)
    return Contexts(np.asarray(sizes), np.stack([1 - rates, rates], axis=1), keeps)


def published(contexts, pairs, *, nothing_between):
    """Return a law of the published table: a judge that is right in 75 % of the pairs, whatever the context."""
    rates = np.full(contexts, 0.5)
    if not nothing_between:
        rates = expit(np.random.default_rng(9).normal(0, 0.6, contexts))
    sizes = np.full(contexts, pairs)
    if not pairs:
        sizes = np.random.default_rng(4).integers(1, 11, contexts)
    return two_way(sizes, rates, 0.75)


def uneven():
    """Return many contexts of one or two pairs, few large ones; the judge is better where the first side wins."""
    rates = expit(np.random.default_rng(11).normal(0.3, 1.0, 60))
    return two_way(np.array([1] * 25 + [2] * 25 + [12] * 8 + [60] * 2), rates, 0.6 + 0.3 * rates)


def with_ties():
    """Return 25 contexts of 6 pairs with ties of the oracle and a judge that leans to ties."""
    lean = np.random.default_rng(12).uniform(0.05, 0.6, 25)
    oracle = np.stack([0.8 - lean, np.full(25, 0.2), lean], axis=1)
    judge = np.array([[0.6, 0.3, 0.1], [0.25, 0.5, 0.25], [0.1, 0.3, 0.6]])
    return Contexts(np.full(25, 6), oracle, np.broadcast_to(judge, (25, 3, 3)))


def tried(law, samples, seed):
    """Estimate both shares on samples of a law: estimate, low and high, of shape (samples, 2, 3)."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(samples):
        judge, oracle, context = law.draw(rng)
        n = len(judge)
        rows = zip(PREFERENCE_METRICS, *preference_jackknife(judge, oracle, np.arange(n), context), strict=True)
        for name, value, se, df, _ in rows:
            if name in SHARES:
                one = from_jackknife(value, Scatter(se, df), n, (-np.inf, np.inf), 0.95, exact=None)
                found.append((one.estimate, one.low, one.high))
    by_name = [name for name in PREFERENCE_METRICS if name in SHARES]
    order = [by_name.index(name) for name in SHARES]
    return np.array(found, dtype=float).reshape(samples, len(SHARES), 3)[:, order]

"""What is believed about the candidates of many pools while their draws come in, and which draw is worth most."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from bonwise.stats.draw_prior import DrawPrior, class_of
from bonwise.stats.sums import Floats

__all__ = ["Beliefs", "Posterior"]

_Ints = npt.NDArray[np.int64]
_Marks = npt.NDArray[np.bool_]

_LOOKAHEAD = (1, 2, 4)
"""Calls of one candidate that are weighed at once: a single one often cannot change the pick of heaped scores."""

_DECIMALS = 9

_TINY = 1e-300  # a weight where nobody is in the running


class Posterior(NamedTuple):
    """Normal beliefs about every candidate."""

    mean: Floats
    """Of the score that infinitely many later calls would average to; NaN for a candidate out of the running."""
    variance: Floats
    """Of the score that infinitely many later calls would average to; NaN for a candidate out of the running."""
    call_variance: Floats
    """Of one later call."""


class Beliefs:
    """The state of n pools of at most K candidates each, all told of their first scores.

    Where the prior keeps the first score apart, a candidate's belief starts there: p_i = d + mu + beta (d_i - d) with
    d the mean first score and mu the shift of this prompt, itself learnt from the later draws. Then, over the later
    draws alone, m_i = p_i + B (ybar_i - p_i), v_i = B s2 / n_i and B = tau2 / (tau2 + s2 / n_i), where
    s2 = (sigma2 (nu0 - 2) + SS) / (nu0 + nu - 2); each later draw y adds (y - m_i)^2 s2 / (v_i + s2) to SS and 1
    to nu. Where the prior counts the first score as a call like the later ones, ybar_i and n_i are of all of them and
    p_i = sum w_j ybar_j / sum w_j with w_j = 1 / (tau2 + s2 / n_j).

    Parameters
    ----------
    prior : DrawPrior
    first : ndarray of float64, shape (n, K)
        First scores; NaN puts a candidate out of the running, also where a pool is smaller than K.
    rank : ndarray of int64, shape (n, K)
        Which of two equal candidates goes ahead: the one of lower rank.
    most : int
        Draws of one candidate, the first among them.

    Examples
    --------
    >>> import numpy as np
    >>> prior = DrawPrior(0.5, (0.3, 0.6), (0.01, 0.01, 0.01), (0.02, 0.02, 0.02), 10.0)
    >>> beliefs = Beliefs(prior, np.array([[0.8, 0.8, 0.4]]), np.array([[0, 1, 2]]), most=8)
    >>> beliefs.posterior().mean.round(3).tolist()
    [[0.733, 0.733, 0.533]]
    >>> beliefs.hear(beliefs.best_draw(), np.array([0.4]))
    >>> beliefs.posterior().mean.round(3).tolist()
    [[0.482, 0.608, 0.408]]
    """

    def __init__(self, prior: DrawPrior, first: Floats, rank: _Ints, most: int) -> None:
        self.running: _Marks = ~np.isnan(first)
        self._prior, self._rank, self._most = prior, rank, most
        count = np.maximum(self.running.sum(axis=1, keepdims=True), 1)
        known = np.where(self.running, first, 0.0)
        self._level: Floats = known.sum(axis=1, keepdims=True) / count
        # Where the first score counts as a call, the level of the pool is learnt from its calls alone.
        beta, self._certainty = (0.0, 0.0) if prior.first_counts else (prior.beta, 1.0)
        self._lean: Floats = np.where(self.running, beta * (known - self._level), 0.0)
        own = class_of(self._level, prior.cuts)
        self._sigma2: Floats = np.array(prior.sigma2)[own]
        self._tau2: Floats = np.array(prior.tau2)[own]
        self.asked: _Ints = np.ones(first.shape, dtype=np.int64)
        counted = self.running & prior.first_counts
        self._heard, self._sum = counted.astype(np.float64), np.where(counted, known, 0.0)
        self._squares, self._freedom = np.zeros((len(first), 1)), np.zeros((len(first), 1))
        self._rows = np.arange(len(first))
        self._now: Posterior | None = None

    def posterior(self) -> Posterior:
        """Return what is believed now."""
        if self._now is None:
            self._now = self._computed()
        return self._now

    def _computed(self) -> Posterior:
        nu0 = self._prior.nu0
        s2 = (self._sigma2 * (nu0 - 2) + self._squares) / (nu0 + self._freedom - 2)
        n, tau2 = self._heard, self._tau2
        start = self._level + self._lean
        weight = n / (tau2 * n + s2)
        shifts = ((self._sum - n * start) / (tau2 * n + s2)).sum(axis=1, keepdims=True)
        shift = shifts / np.maximum(self._certainty / tau2 + weight.sum(axis=1, keepdims=True), _TINY)
        mean = ((start + shift) * s2 + tau2 * self._sum) / (tau2 * n + s2)
        variance = tau2 * s2 / (tau2 * n + s2)
        return Posterior(np.where(self.running, mean, np.nan), np.where(self.running, variance, np.nan), s2)

    def open(self) -> _Marks:
        """Tell for each candidate whether another draw of it may be asked, shape (n, K)."""
        contested = self.running.sum(axis=1, keepdims=True) > 1
        found: _Marks = self.running & (self.asked < self._most) & contested
        return found

    def opportunity_cost(self) -> Floats:
        """Return what keeping the present best is expected to lose to its strongest rival, shape (n,), score units.

        max over j != b of s f(-(m_b - m_j) / s), s^2 = v_b + v_j, f(z) = z Phi(z) + phi(z); 0 without a rival.
        """
        mean, variance, _ = self.posterior()
        best = self._ahead(mean)
        d = mean[self._rows, best][:, None] - mean
        s = np.sqrt(variance + variance[self._rows, best][:, None])
        loss = s * _gain(np.where(self.running, -d / s, -np.inf))
        loss = np.where(self.running, loss, 0.0)
        loss[self._rows, best] = 0.0
        found: Floats = loss.max(axis=1)
        return found

    def best_draw(self) -> _Ints:
        """Return the open candidate whose next calls promise most a call, shape (n,); -1 where none is open.

        max over r in 1, 2, 4 of s_r f(-|m_i - m_other| / s_r) / r with s_r = v_i / sqrt(v_i + s2 / r), where `other`
        is the best of the others.
        """
        mean, variance, s2 = self.posterior()
        distance = np.abs(mean - self._best_other(mean))
        value = np.zeros_like(mean)
        for r in _LOOKAHEAD:
            s = variance / np.sqrt(variance + s2 / r)
            value = np.maximum(value, np.where(self.running, s * _gain(-distance / s) / r, 0.0))
        # In units of its own scale, so that rounding and not the last bit says what is equal.
        found = self._ahead(np.where(self.open(), value / np.sqrt(self._tau2), np.nan))
        return np.where(self.open().any(axis=1), found, -1)

    def hear(self, candidate: _Ints, score: Floats) -> None:
        """Take one more draw in each pool: of no candidate where it is -1; NaN where it was asked but not scored."""
        mean, variance, s2 = self.posterior()
        self._now = None
        self.asked[self._rows[candidate >= 0], candidate[candidate >= 0]] += 1
        some = np.flatnonzero((candidate >= 0) & ~np.isnan(score))
        who, y = candidate[some], score[some]
        surprise = (y - mean[some, who]) ** 2
        self._squares[some, 0] += surprise * s2[some, 0] / (variance[some, who] + s2[some, 0])
        self._freedom[some] += 1
        self._heard[some, who] += 1
        self._sum[some, who] += y

    def top(self) -> _Marks:
        """Mark the candidates that share the highest posterior mean, shape (n, K)."""
        return _highest(self.posterior().mean)

    def _ahead(self, values: Floats) -> _Ints:
        """Return the position of each row's highest value, the lower rank among equals."""
        ranks = np.where(_highest(values), self._rank, values.shape[1])
        found: _Ints = ranks.argmin(axis=1)
        return found

    def _best_other(self, mean: Floats) -> Floats:
        filled = np.where(self.running, mean, -np.inf)
        ordered = np.sort(filled, axis=1)
        alone = filled.argmax(axis=1)[:, None] == np.arange(mean.shape[1])
        found: Floats = np.where(alone, ordered[:, -2:-1], ordered[:, -1:])
        return found


def _gain(z: Floats) -> Floats:
    """Expectation of the positive part of a normal value of mean z and variance 1."""
    z = np.maximum(z, -40.0)  # from here on nothing is left, and minus infinity times 0 is not a number
    found: Floats = np.maximum(z * ndtr(z) + np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi), 0.0)
    return found


def _highest(values: Floats) -> _Marks:
    filled = np.round(np.where(np.isnan(values), -np.inf, values), _DECIMALS)
    found: _Marks = (filled == filled.max(axis=1, keepdims=True)) & ~np.isnan(values)
    return found

"""Which of several uncertain scores is the highest, what the pick may lose, and which further draw is worth most."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from bonwise.arrays import Floats, Ints, Mask
from bonwise.flags import TIE_DECIMALS
from bonwise.stats.draw_prior import DrawPrior, class_of
from bonwise.stats.sums import pool_decimals, rounded_each

_TINY = 1e-300  # a weight, or a sum of shares, where nobody is in the running


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
    draws alone, m_i = p_i + B (ybar_i - p_i), v_i = B s2 / n_i and B = tau2 / (tau2 + s2 / n_i), where s2 = (sigma2
    (nu0 - 2) + SS) / (nu0 + nu - 2), SS the squared distances of the draws from their candidates' means and nu their
    degrees of freedom. Where the prior counts the first score as a call like the later ones, ybar_i and n_i are of
    all of them and p_i = sum w_j ybar_j / sum w_j with w_j = 1 / (tau2 + s2 / n_j). `first` is (n, K): NaN puts a
    candidate out of the running, also where a pool is smaller than K. Of two equal candidates the one of lower
    `rank`, (n, K), goes ahead. `most` counts the draws of one candidate, the first among them.
    """

    def __init__(self, prior: DrawPrior, first: Floats, rank: Ints, most: int) -> None:
        self.running: Mask = ~np.isnan(first)
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
        self.asked: Ints = np.ones(first.shape, dtype=np.int64)
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

    def open(self) -> Mask:
        """Tell for each candidate whether another draw of it may be asked, shape (n, K)."""
        contested = self.running.sum(axis=1, keepdims=True) > 1
        found: Mask = self.running & (self.asked < self._most) & contested
        return found

    def opportunity_cost(self) -> Floats:
        """Return what the best is expected to lose to a rival, (n,): max s f(-(m_b - m_j) / s); 0 without one."""
        mean, variance, _ = self.posterior()
        best = self._ahead(mean, _row_decimals(mean))
        d = mean[self._rows, best][:, None] - mean
        s = np.sqrt(variance + variance[self._rows, best][:, None])
        loss = s * _gain(np.where(self.running, -d / s, -np.inf))
        loss = np.where(self.running, loss, 0.0)
        loss[self._rows, best] = 0.0
        found: Floats = loss.max(axis=1)
        return found

    def best_draw(self) -> Ints:
        """Return the open candidate that is owed most of the calls, shape (n,); -1 where none is open.

        max over i of N w_i - n_i, with w_j in proportion to 1 / ((m_b - m_j)^2 + v_b + v_j) for the rivals of the
        best b and to sqrt(sum_j w_j^2) for b, n_i the calls of i so far and N their sum plus 1 (optimal computing-
        budget allocation).
        """
        mean, variance, _ = self.posterior()
        best = self._ahead(mean, _row_decimals(mean))
        # In units of tau2, so that squares of shares stay within what doubles hold.
        distance = (mean[self._rows, best][:, None] - mean) ** 2 / self._tau2
        both = (variance + variance[self._rows, best][:, None]) / self._tau2
        share = np.where(self.running, 1 / (distance + both), 0.0)
        share[self._rows, best] = 0.0
        share[self._rows, best] = np.sqrt((share**2).sum(axis=1))
        calls = np.where(self.running, self.asked, 0)
        total = calls.sum(axis=1, keepdims=True) + 1
        owed = share / np.maximum(share.sum(axis=1, keepdims=True), _TINY) * total - calls
        found = self._ahead(np.where(self.open(), owed, np.nan), np.array(TIE_DECIMALS))
        return np.where(self.open().any(axis=1), found, -1)

    def hear(self, candidate: Ints, score: Floats) -> None:
        """Take one more draw in each pool: of no candidate where it is -1; NaN where it was asked but not scored."""
        self._now = None
        self.asked[self._rows[candidate >= 0], candidate[candidate >= 0]] += 1
        some = np.flatnonzero((candidate >= 0) & ~np.isnan(score))
        who, y = candidate[some], score[some]
        # What a draw adds to the squares about its candidate's own mean; the first one that is heard adds nothing.
        n = self._heard[some, who]
        self._squares[some, 0] += (n * y - self._sum[some, who]) ** 2 / np.maximum(n * (n + 1), 1)
        self._freedom[some, 0] += n > 0
        self._heard[some, who] += 1
        self._sum[some, who] += y

    def top(self) -> Mask:
        """Mark the candidates that share the highest posterior mean, shape (n, K)."""
        mean = self.posterior().mean
        return _highest(mean, _row_decimals(mean))

    def _ahead(self, values: Floats, decimals: Ints) -> Ints:
        """Return the position of each row's highest value, the lower rank among equals."""
        ranks = np.where(_highest(values, decimals), self._rank, values.shape[1])
        found: Ints = ranks.argmin(axis=1)
        return found


def _gain(z: Floats) -> Floats:
    """Expectation of the positive part of a normal value of mean z and variance 1."""
    z = np.maximum(z, -40.0)  # from here on nothing is left, and minus infinity times 0 is not a number
    found: Floats = np.maximum(z * ndtr(z) + np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi), 0.0)
    return found


def _highest(values: Floats, decimals: Ints) -> Mask:
    filled = rounded_each(np.where(np.isnan(values), -np.inf, values), decimals)
    found: Mask = (filled == filled.max(axis=1, keepdims=True)) & ~np.isnan(values)
    return found


def _row_decimals(values: Floats) -> Ints:
    """Return the decimals by which each row, the scores of one pool, is compared, shape (n, 1)."""
    return pool_decimals(values.ravel(), np.full(len(values), values.shape[1]))[:, None]


# Beyond 7 standard errors a normal density holds less than 1e-11.
_CUTS = np.array([-7.0, -4.5, -3.0, -1.5, 0.0, 1.5, 3.0, 4.5, 7.0])
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)

_EXACT = 1e-12
"""A standard error this much smaller than the distance to the top is none: doubles could not resolve it."""


_CELLS = 2_000_000  # of one array, so that many prompts do not fill the memory

_MANY = 12
"""Candidates from which on one row is integrated at a time, with cuts that lie close together made one."""

_CLOSE = 0.4
"""Standard errors of its own within which a cut adds nothing to the one before it."""


class BestOfNormals(NamedTuple):
    """Who is best among independent normal values."""

    probability: Floats
    """Of being the highest; each row sums to 1. 0 for a candidate that is out of the running."""
    regret: Floats
    """Expectation of the highest value less the highest mean, in score units, never negative."""


def best_of_normals(mean: Floats, se: Floats) -> BestOfNormals:
    """Find how likely each candidate is the best, and what keeping the one of highest mean is expected to lose.

    P(i best) = integral of phi_i(x) prod_{j != i} Phi_j(x) dx, E[max] = a + integral from a of (1 - prod_j Phi_j(x))
    dx with a below the maximum; Gauss-Legendre between cuts, to about 1e-9. `mean` and `se` are (n, K), in score
    units, of independent normal values; `se` 0 is certain, and certain values that tie at the top share their
    probability. NaN in either takes a candidate out; in a row without any the regret is NaN and every probability 0.
    A negative `se` raises ValueError.
    """
    mean, se = np.asarray(mean, dtype=np.float64), np.asarray(se, dtype=np.float64)
    if mean.shape != se.shape or mean.ndim != 2:
        raise ValueError(f"means and standard errors must be tables of one shape, not {mean.shape} and {se.shape}")
    if (se < 0).any():
        raise ValueError("a standard error must not be negative")
    probability, regret = np.zeros(mean.shape), np.full(len(mean), np.nan)
    rows = np.flatnonzero((~np.isnan(mean + se)).any(axis=1))
    many = mean.shape[1] >= _MANY
    a_time = 1 if many else max(1, _CELLS // (mean.shape[1] ** 2 * len(_CUTS) * len(_NODES)))
    for start in range(0, len(rows), a_time):
        some = rows[start : start + a_time]
        probability[some], regret[some] = _integrated(mean[some], se[some])
    return BestOfNormals(probability, regret)


def _integrated(mean: Floats, se: Floats) -> tuple[Floats, Floats]:
    out = np.isnan(mean + se)
    top = np.where(out, -np.inf, mean).max(axis=1, keepdims=True)
    centred = np.where(out, -np.inf, mean - top)  # differences near the top stay exact
    certain = out | (se <= _EXACT * np.abs(np.where(out, 0.0, centred)))
    spread = np.where(certain, 0.0, se)
    floor = (centred + _CUTS[0] * spread).max(axis=1)
    x, weight = _nodes(centred, spread, certain, floor)
    below, density = _normals(x, centred, spread, certain)
    others = _product_of_others(below)
    probability = (weight[:, None] * density * others).sum(axis=2)
    decimals = _row_decimals(np.where(out, np.nan, mean))
    probability += _certain_share(centred, certain, floor, decimals) * others[:, :, 0]
    probability /= probability.sum(axis=1, keepdims=True)
    highest = floor + (weight * (1 - below.prod(axis=1))).sum(axis=1)
    return probability, np.maximum(highest, 0.0)


def _nodes(centred: Floats, spread: Floats, certain: np.ndarray, floor: Floats) -> tuple[Floats, Floats]:
    """Return abscissas and weights, shape (n, nodes); the first is the floor itself, of weight 0."""
    cuts = np.where(certain, 0.0, centred)[:, :, None] + spread[:, :, None] * _CUTS
    cuts = np.where(certain[:, :, None], floor[:, None, None], cuts).reshape(len(centred), -1)
    cuts = np.maximum(cuts, floor[:, None])
    if centred.shape[1] >= _MANY:
        cuts = _thinned(cuts[0], np.repeat(spread[0], len(_CUTS)))[None]
    cuts = np.sort(cuts, axis=1)
    half = np.diff(cuts, axis=1)[:, :, None] / 2
    x = cuts[:, :-1, None] + half * (1 + _NODES)
    flat = (x.reshape(len(x), -1), (half * _WEIGHTS).reshape(len(x), -1))
    return np.hstack([floor[:, None], flat[0]]), np.hstack([np.zeros((len(x), 1)), flat[1]])


def _thinned(cuts: Floats, spread: Floats) -> Floats:
    """Return the cuts of one row without those that lie close behind another one; the ends stay."""
    order = np.argsort(cuts)
    kept = [float(cuts[order[0]])]
    for cut, own in zip(cuts[order].tolist(), spread[order].tolist(), strict=True):
        if cut - kept[-1] > _CLOSE * own:
            kept.append(cut)
    return np.array([*kept, float(cuts[order[-1]])])


def _normals(x: Floats, centred: Floats, spread: Floats, certain: np.ndarray) -> tuple[Floats, Floats]:
    """Return distribution and density of every candidate at every abscissa, shape (n, K, nodes)."""
    scale = np.where(certain, 1.0, spread)[:, :, None]
    z = (x[:, None] - np.where(certain, 0.0, centred)[:, :, None]) / scale
    sure = certain[:, :, None]
    # No abscissa lies below a value that is certain.
    below = np.where(sure, 1.0, ndtr(z))
    density = np.where(sure, 0.0, np.exp(-0.5 * z * z) / (scale * np.sqrt(2 * np.pi)))
    return below, density


def _product_of_others(below: Floats) -> Floats:
    """Multiply over all candidates but one, for each one, without a division by nearly 0."""
    before, behind = np.ones_like(below), np.ones_like(below)
    np.cumprod(below[:, :-1], axis=1, out=before[:, 1:])
    behind[:, :-1] = np.cumprod(below[:, :0:-1], axis=1)[:, ::-1]
    return before * behind


def _certain_share(centred: Floats, certain: np.ndarray, floor: Floats, decimals: Ints) -> Floats:
    """Return each candidate's share of the event that no uncertain value exceeds the highest certain one."""
    highest = certain & (rounded_each(centred, decimals) >= rounded_each(floor[:, None], decimals))
    count: Floats = np.maximum(highest.sum(axis=1, keepdims=True), 1)
    return highest / count

"""Rules that ask for further draws, each played on stored draws: nine of every candidate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from bonwise.stats.redraws import Replay, lengthened

__all__ = ["Picked", "learn_ocba", "ocba", "paper", "uniform"]

Floats = npt.NDArray[np.float64]
DECIMALS = 9


class Picked(NamedTuple):
    """Who shares the top of each pool, and after how many calls."""

    calls: Floats
    top: npt.NDArray[np.bool_]


def highest(values: Floats) -> npt.NDArray[np.bool_]:
    """Mark the highest value of each row, and what ties with it after rounding."""
    rounded = np.round(values, DECIMALS)
    marks: npt.NDArray[np.bool_] = rounded == rounded.max(axis=1, keepdims=True)
    return marks


def uniform(draws: Floats, count: int) -> Picked:
    """Ask every candidate the same number of times."""
    return Picked(np.full(len(draws), float(count * draws.shape[1])), highest(draws[:, :, :count].mean(axis=2)))


def paper(draws: Floats, *, repick: bool, seed: int = 0) -> Picked:
    """Redraw the top two while they are less than 0.10 apart, up to 3 draws each.

    Parameters
    ----------
    draws : ndarray, shape (n, K, k)
    repick : bool
        Whether the two are chosen anew in each round; the paper chooses them once.
    seed : int
        Of ties.
    """
    n, K, _ = draws.shape
    rows, rank = np.arange(n), np.random.default_rng(seed).random((n, K))
    total, count, going = draws[:, :, 0].copy(), np.ones((n, K), dtype=int), np.ones(n, dtype=bool)
    pair = leaders(total / count, rank)
    for _ in range(2):
        pair = leaders(total / count, rank) if repick else pair
        means = [total[rows, one] / count[rows, one] for one in pair.T]
        going = going & (np.round(np.abs(means[0] - means[1]), DECIMALS) < 0.10)
        for one in pair.T:
            asked = going & (count[rows, one] < 3)
            total[rows, one] += np.where(asked, draws[rows, one, np.minimum(count[rows, one], 2)], 0.0)
            count[rows, one] += asked
    return Picked(count.sum(axis=1).astype(float), highest(total / count))


def leaders(means: Floats, rank: Floats) -> npt.NDArray[np.int64]:
    """Return the two highest of each row, ties by rank."""
    order: npt.NDArray[np.int64] = np.lexsort((rank, -np.round(means, DECIMALS)), axis=1)
    return order[:, :2]


class Exchangeable(NamedTuple):
    """What OCBA-EB believes before any draw: all draws of a candidate are alike, all prompts have one spread."""

    call: float
    between: float
    freedom: float


def learn_ocba(draws: Floats) -> Exchangeable:
    """Learn from pilot draws by moments."""
    _, K, k = draws.shape
    own = draws.var(axis=2, ddof=1).mean(axis=1)
    call = own.mean()
    between = max(draws.mean(axis=2).var(axis=1, ddof=1).mean() - call / k, 1e-6)
    r = (own**2).mean() / call**2 / (1 + 2 / (K * (k - 1)))
    return Exchangeable(float(call), float(between), max(4.2, (4 * r - 2) / (r - 1)) if r > 1.01 else 200.0)


def ocba(draws: Floats, learnt: Exchangeable, *, most: int = 8, seed: int = 0) -> Replay:
    """Play optimal computing-budget allocation with empirical-Bayes beliefs, stopped by opportunity cost."""
    rng = np.random.default_rng(seed)
    stored = lengthened(draws, most, rng)
    n, K, _ = stored.shape
    rows, tie = np.arange(n), rng.random((n, K)) * 1e-9
    total, squares, count = stored[:, :, 0].copy(), stored[:, :, 0] ** 2, np.ones((n, K))
    steps = K * (most - 1)
    opportunity, top = np.full((n, steps + 1), -np.inf), np.zeros((n, steps + 1, K), dtype=bool)
    for step in range(steps + 1):
        m, v, s2 = _posterior(total, squares, count, learnt)
        top[:, step] = highest(m)
        best = (m + tie).argmax(axis=1)
        d, both = m[rows, best][:, None] - m, v + v[rows, best][:, None]
        z = -d / np.sqrt(both)
        loss = np.sqrt(both) * (z * ndtr(z) + np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi))
        loss[rows, best] = 0.0
        share = s2[:, None] / (d * d + both)
        share[rows, best] = 0.0
        share[rows, best] = np.sqrt((share**2).sum(axis=1))
        lack = share / share.sum(axis=1, keepdims=True) * (count.sum(axis=1, keepdims=True) + 1) - count
        who = np.where(count < most, lack, -np.inf).argmax(axis=1)
        if step == steps:
            break
        opportunity[:, step] = loss.max(axis=1)
        heard = stored[rows, who, np.minimum(count[rows, who].astype(int), most - 1)]
        total[rows, who] += heard
        squares[rows, who] += heard**2
        count[rows, who] += 1
    return Replay(np.full(n, K), opportunity, top, np.zeros(opportunity.shape))


def _posterior(total: Floats, squares: Floats, count: Floats, learnt: Exchangeable) -> tuple[Floats, Floats, Floats]:
    freedom = learnt.freedom
    scatter = (squares - total**2 / count).sum(axis=1)
    s2 = (learnt.call * (freedom - 2) + scatter) / (freedom + (count - 1).sum(axis=1) - 2)
    s2 = np.maximum(s2, 1e-7)
    noise = s2[:, None] / count
    weight = 1 / (learnt.between + noise)
    middle = ((weight * total / count).sum(axis=1) / weight.sum(axis=1))[:, None]
    shrink = learnt.between / (learnt.between + noise)
    return middle + shrink * (total / count - middle), shrink * noise, s2

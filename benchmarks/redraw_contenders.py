"""Rules that ask for further draws, each played on stored draws: nine of every candidate."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from bonwise.stats.redraws import Replay, lengthened

__all__ = ["Picked", "halving", "learn_ocba", "ocba", "paper", "top_two", "uniform"]

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


class State(NamedTuple):
    """What is believed of each candidate, how many calls it has had, and whether it may have no more."""

    mean: Floats
    variance: Floats
    call: Floats
    best: npt.NDArray[np.int64]
    count: Floats
    full: npt.NDArray[np.bool_]


Allocation = Callable[[State, np.random.Generator], npt.NDArray[np.int64]]

_TRIES = 24
"""Samples in which a challenger is looked for before the second highest mean is taken."""


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
    return _played(draws, learnt, _owed, most=most, seed=seed)


def top_two(draws: Floats, learnt: Exchangeable, *, most: int = 8, seed: int = 0) -> Replay:
    """Play top-two Thompson sampling with the same beliefs and the same stop."""
    return _played(draws, learnt, _sampled, most=most, seed=seed)


def halving(draws: Floats, calls: int, *, seed: int = 0) -> Picked:
    """Play sequential halving: half of the candidates leave after each round, and each round has as many calls."""
    n, K, stored = draws.shape
    rank = np.random.default_rng(seed).random((n, K))
    rounds = int(np.ceil(np.log2(K)))
    rows, alive, count = np.arange(n)[:, None], np.tile(np.arange(K), (n, 1)), np.ones((n, K), dtype=int)
    left = calls - K
    sums = np.concatenate([np.zeros((n, K, 1)), draws.cumsum(axis=2)], axis=2)
    for turn in range(rounds):
        # What the first round asked of everyone counts as a part of it.
        share = max(calls // rounds - K, 0) if turn == 0 else left // (rounds - turn)
        for at in range(share):
            who = alive[:, at % alive.shape[1]]
            count[rows[:, 0], who] = np.minimum(count[rows[:, 0], who] + 1, stored)
        left -= share
        means = np.take_along_axis(sums, count[:, :, None], axis=2)[:, :, 0] / count
        own, lot = np.take_along_axis(means, alive, axis=1), np.take_along_axis(rank, alive, axis=1)
        order = np.lexsort((lot, -np.round(own, DECIMALS)))
        alive = np.take_along_axis(alive, order, axis=1)[:, : max(1, -(-alive.shape[1] // 2))]
    top = np.zeros((n, K), dtype=bool)
    top[rows[:, 0], alive[:, 0]] = True
    return Picked(count.sum(axis=1).astype(float), top)


def _played(draws: Floats, learnt: Exchangeable, allocate: Allocation, *, most: int, seed: int) -> Replay:
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
        if step == steps:
            break
        who = allocate(State(m, v, s2, best, count, count >= most), rng)
        opportunity[:, step] = loss.max(axis=1)
        heard = stored[rows, who, np.minimum(count[rows, who].astype(int), most - 1)]
        total[rows, who] += heard
        squares[rows, who] += heard**2
        count[rows, who] += 1
    return Replay(np.full(n, K), opportunity, top, np.zeros(opportunity.shape))


def _owed(state: State, _: np.random.Generator) -> npt.NDArray[np.int64]:
    rows = np.arange(len(state.best))
    d = state.mean[rows, state.best][:, None] - state.mean
    both = state.variance + state.variance[rows, state.best][:, None]
    share = state.call[:, None] / (d * d + both)
    share[rows, state.best] = 0.0
    share[rows, state.best] = np.sqrt((share**2).sum(axis=1))
    lack = share / share.sum(axis=1, keepdims=True) * (state.count.sum(axis=1, keepdims=True) + 1) - state.count
    who: npt.NDArray[np.int64] = np.where(state.full, -np.inf, lack).argmax(axis=1)
    return who


def _sampled(state: State, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    n, K = state.mean.shape
    rows = np.arange(n)
    sd = np.sqrt(state.variance)
    first = (state.mean + sd * rng.normal(size=(n, K))).argmax(axis=1)
    rivals = (state.mean[:, None] + sd[:, None] * rng.normal(size=(n, _TRIES, K))).argmax(axis=2)
    other = rivals[rows, (rivals != first[:, None]).argmax(axis=1)]
    runner = np.where(np.arange(K) == first[:, None], -np.inf, state.mean).argmax(axis=1)
    challenger = np.where(other == first, runner, other)
    who = np.where(rng.random(n) < 0.5, first, challenger)
    # Where the one drawn has all its calls, the open candidate of fewest calls has the next.
    least = np.where(state.full, np.inf, state.count).argmin(axis=1)
    return np.where(state.full[rows, who], least, who)


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

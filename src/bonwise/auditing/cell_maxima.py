"""Figures that need the best label of a pool: complete pools, corrected by what the labels of all others say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.auditing.cell_models import FOLDS, FREQUENT, FoldedRidge, ModelledBlock, SizeGroup

BRIEF = (0, 1, 4, 9)
"""Columns that serve where complete pools are few: x1, x3, u, and the hit of the completed pool."""


def pattern_features(one: ModelledBlock, some: Ints, seen: Mask, group: SizeGroup) -> Floats:
    """Describe m pools by the labels that may be read, `seen`, (m, K): 12 columns.

    x1, x3, x1 u, x3 u, u, u^2, spread of scores, of the completed pool (a biased guess of the largest label, hence no
    figure), largest label seen, hit of the completed pool, the same times u, share of top-scored candidates that are
    seen with the largest label seen.
    """
    S, A, f = one.block.S[some], one.block.A[some], one.f[some]
    K, count = one.block.K, seen.sum(axis=1)
    known, a = count > 0, A.sum(axis=1)
    O = np.where(seen, one.O[some], 0.0)
    level = np.where(seen, O - f, 0.0).sum(axis=1) / (count + group.within / group.between)
    P = np.where(seen, O, f + level[:, None])
    mean = P.mean(axis=1)
    most = P.max(axis=1)
    largest = np.where(seen, O, -np.inf).max(axis=1)
    rounding = 1e-12 * float(np.abs(one.O).max(initial=0.0))
    at_largest = seen & (O >= largest[:, None] - rounding) & A
    x1 = most - mean
    x3 = np.where(known, largest - O.sum(axis=1) / np.maximum(count, 1), 0.0)
    u = 1 - count / K
    hit = (A & (most[:, None] - rounding <= P)).sum(axis=1) / a
    return np.stack(
        (
            x1,
            x3,
            x1 * u,
            x3 * u,
            u,
            u * u,
            S.std(axis=1),
            P.std(axis=1),
            np.where(known, largest, mean),
            hit,
            hit * u,
            at_largest.sum(axis=1) / a,
        ),
        axis=1,
    )


_ALL_OF = 6  # candidates up to which every pattern is gone through; beyond, some are drawn
_DRAWN = 64


def complete_chance(one: ModelledBlock) -> Floats:
    """Return the chance of each prompt to be labelled whole, (n,); at one rate the share that is so of its size."""
    if one.pi is None:
        return np.full(len(one.block.prompts), float(one.block.complete.mean()))
    found: Floats = one.pi.prod(axis=1)
    return found


def incomplete_patterns(one: ModelledBlock, rng: np.random.Generator) -> Iterator[tuple[Mask, Floats]]:
    """Yield patterns that leave a label out, (m, K), and their chances; beyond 6 candidates 64 drawn ones."""
    return _every(one) if one.block.K <= _ALL_OF else _drawn(one, rng)


def _by_count(one: ModelledBlock) -> Floats:
    """Return the share of prompts with 0, 1, ..., K labels."""
    return np.bincount(one.block.labelled, minlength=one.block.K + 1) / len(one.block.prompts)


def _every(one: ModelledBlock) -> Iterator[tuple[Mask, Floats]]:
    K, m = one.block.K, int(one.block.complete.sum())
    shares = _by_count(one)
    pi = None if one.pi is None else one.pi[one.block.complete]
    for count in range(K):
        for some in combinations(range(K), count):
            pattern = np.zeros(K, dtype=bool)
            pattern[list(some)] = True
            if pi is not None:
                chance = np.where(pattern, pi, 1 - pi).prod(axis=1)
            elif shares[count] > 0:
                chance = np.full(m, shares[count] / comb(K, count))
            else:
                continue
            yield np.broadcast_to(pattern, (m, K)), chance


def _drawn(one: ModelledBlock, rng: np.random.Generator) -> Iterator[tuple[Mask, Floats]]:
    K, m = one.block.K, int(one.block.complete.sum())
    ends = np.cumsum(_by_count(one))
    pi = None if one.pi is None else one.pi[one.block.complete]
    for draw in range(_DRAWN):
        if pi is not None:
            pattern = rng.random((m, K)) < pi
        else:
            # Numbers of labels are drawn evenly over their law, which cells have them at random.
            at = (draw + rng.random(m)) / _DRAWN
            counts = np.minimum(np.searchsorted(ends, at, side="right"), K)
            pattern = rng.random((m, K)).argsort(axis=1).argsort(axis=1) < counts[:, None]
        yield pattern, np.where(pattern.all(axis=1), 0.0, 1 / _DRAWN)


OUTCOMES = ("oracle_gain", "hit_rate", "top1_accuracy")
"""M - R, whether the pick is among the best, whether it is the best."""

LEAST_COMPLETE = 8
"""Complete pools of a frequent size below which nothing is said of the best label."""

_LEAST_MODEL, _LEAST_FULL = 12, 60  # complete pools for a correction at all, and for all its covariates
_LEAST_TRAINING = 8
_LEAST_STRATUM = 3


def maxima(groups: tuple[SizeGroup, ...], prompts: int, seed: int) -> Floats:
    """Return what each prompt contributes to the means of the three outcomes, shape (3, prompts).

    ``beta + w (Y - beta) sqrt(m / (m - 1)) + lam Aug``: complete pools by the inverse of their chance, plus a
    correction of mean 0. A ridge h learns Y - beta from every pattern that a complete pool could have shown. An
    incomplete prompt adds h of what it shows; a complete one takes off the mean of h over what it could have shown,
    divided by its chance. A poor h costs width and no bias.
    """
    found = np.zeros((len(OUTCOMES), prompts))
    rng = np.random.default_rng([seed, 1])
    for group in groups:
        found[:, group.prompts] = _of_group(group, rng)
    return found


def maxima_refused(groups: tuple[SizeGroup, ...], prompts: int) -> str:
    """Return why figures of the best label cannot be estimated; empty where they can."""
    total = 0
    for group in groups:
        for block in group.blocks:
            complete = int(block.block.complete.sum())
            total += complete
            if complete < LEAST_COMPLETE and len(block.block.prompts) >= FREQUENT * prompts:
                return (
                    f"{complete} of the {len(block.block.prompts)} pools of {block.block.K} candidates are labelled "
                    f"whole, and {LEAST_COMPLETE} are needed"
                )
    if total < LEAST_COMPLETE:
        return f"{total} pools are labelled whole, and {LEAST_COMPLETE} are needed"
    return ""


def complete_weights(groups: tuple[SizeGroup, ...]) -> Floats:
    """Return the inverse of the chance to be complete of every complete pool."""
    return np.concatenate(
        [1 / complete_chance(block)[block.block.complete] for group in groups for block in group.blocks]
    )


def whole_pool_outcomes(O: Floats, A: Mask) -> Floats:
    """Return the outcomes of complete pools, (3, pools); O is (pools, K), as is A: who has the highest score."""
    best = O.max(axis=1)
    B = best[:, None] == O
    shared, a = (A & B).sum(axis=1), A.sum(axis=1)
    return np.stack((best - O.mean(axis=1), shared / a, shared / (a * B.sum(axis=1))))


@dataclass(frozen=True, eq=False)
class _Whole:
    """Complete pools of a group, in strata where their weights have mean 1 over the prompts."""

    Y: Floats
    """0 where a pool is incomplete."""
    complete: Mask
    weights: Floats
    """w, 0 where incomplete; and sqrt(m / (m - 1)) of the stratum."""
    stretch: Floats
    """w, 0 where incomplete; and sqrt(m / (m - 1)) of the stratum."""
    beta: Floats
    """Weighted mean outcomes of the stratum."""


def _of_group(group: SizeGroup, rng: np.random.Generator) -> Floats:
    whole = _whole(group)
    around = whole.weights * (whole.Y - whole.beta)
    correction = _correction(group, whole, rng)
    square = np.sum(correction * correction, axis=1)
    pull = -np.sum(correction * around, axis=1)
    share = np.clip(np.divide(pull, square, out=np.zeros(len(pull)), where=square > 0), 0.0, 1.0)
    found: Floats = whole.beta + around * whole.stretch + share[:, None] * correction
    return found


def _whole(group: SizeGroup) -> _Whole:
    complete = np.concatenate([block.block.complete for block in group.blocks])
    chance = np.concatenate([complete_chance(block) for block in group.blocks])
    Y = np.zeros((len(OUTCOMES), len(complete)))
    first = 0
    for block in group.blocks:
        rows = np.flatnonzero(block.block.complete)
        Y[:, first + rows] = whole_pool_outcomes(block.block.O[rows], block.block.A[rows])
        first += len(block.block.prompts)
    raw = np.divide(complete, chance, out=np.zeros(len(chance)), where=complete)
    weights, stretch, beta = np.zeros(len(raw)), np.ones(len(raw)), np.zeros(Y.shape)
    strata = _strata(group, complete, chance)
    for h in np.unique(strata).tolist():
        mine = strata == h
        total, m = raw[mine].sum(), int(complete[mine].sum())
        if not m:
            continue
        weights[mine] = raw[mine] * mine.sum() / total
        stretch[mine] = np.sqrt(m / max(m - 1, 1))
        beta[:, mine] = (Y[:, mine] @ raw[mine] / total)[:, None]
    return _Whole(Y, complete, weights, stretch, beta)


def _strata(group: SizeGroup, complete: Mask, chance: Floats) -> Ints:
    """At one rate the sizes, at several the quarters of the chance to be complete; thin ones are joined."""
    if group.blocks[0].pi is None:
        strata = np.repeat(np.arange(len(group.blocks)), [len(block.block.prompts) for block in group.blocks])
        return _joined(strata, complete, _LEAST_STRATUM)
    strata = np.searchsorted(np.quantile(chance, (0.25, 0.5, 0.75)), chance).astype(np.int64)
    return _joined(strata, complete, LEAST_COMPLETE)


def _joined(strata: Ints, complete: Mask, least: int) -> Ints:
    """Join the stratum with the fewest complete pools to the one below it, or above, until none has too few."""
    strata = np.unique(strata, return_inverse=True)[1].astype(np.int64)
    while strata.max(initial=0) > 0:
        counts = np.bincount(strata[complete], minlength=int(strata.max()) + 1)
        fewest = int(counts.argmin())
        if counts[fewest] >= least:
            break
        strata = np.where(strata == fewest, fewest - 1 if fewest else 1, strata)
        strata = np.unique(strata, return_inverse=True)[1].astype(np.int64)
    return strata


def _correction(group: SizeGroup, whole: _Whole, rng: np.random.Generator) -> Floats:
    """Return the correction of each outcome, of mean 0 whatever the regression has learnt; shape (3, n)."""
    nothing = np.zeros(whole.Y.shape)
    m = int(whole.complete.sum())
    if m < _LEAST_MODEL or m == len(whole.complete):
        return nothing
    columns = list(range(12)) if m >= _LEAST_FULL else list(BRIEF)
    ridge, patterned, first = FoldedRidge(len(columns), len(OUTCOMES)), [], 0
    for block in group.blocks:
        last = first + len(block.block.prompts)
        target = (whole.Y - whole.beta)[:, first:last][:, block.block.complete].T
        patterned.append(_learn(ridge, block, group, columns, target, rng))
        first = last
    if _fewest_training(group, whole) < _LEAST_TRAINING:
        return nothing
    parts = [
        _of_block(ridge, block, group, columns, *means) for block, means in zip(group.blocks, patterned, strict=True)
    ]
    return np.concatenate(parts).T


def _fewest_training(group: SizeGroup, whole: _Whole) -> int:
    folds = np.concatenate([block.folds for block in group.blocks])[whole.complete]
    return len(folds) - int(np.bincount(folds, minlength=FOLDS).max())


def _learn(
    ridge: FoldedRidge,
    one: ModelledBlock,
    group: SizeGroup,
    columns: list[int],
    target: Floats,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Show every pattern of the complete pools; return the sums of chance and of chance times features."""
    some = np.flatnonzero(one.block.complete)
    chances, features = np.zeros(len(some)), np.zeros((len(some), len(columns)))
    if len(some) < _LEAST_STRATUM:
        return chances, features
    for pattern, chance in incomplete_patterns(one, rng):
        X = pattern_features(one, some, pattern, group)[:, columns]
        ridge.add(X, target, chance + 1e-9, one.folds[some])
        chances += chance
        features += chance[:, None] * X
    return chances, features


def _of_block(
    ridge: FoldedRidge, one: ModelledBlock, group: SizeGroup, columns: list[int], chances: Floats, features: Floats
) -> Floats:
    found = np.zeros((len(one.block.prompts), len(OUTCOMES)))
    some, others = np.flatnonzero(one.block.complete), np.flatnonzero(~one.block.complete)
    if len(some) < _LEAST_STRATUM:
        return found
    intercepts, slopes = ridge.coefficients
    folds = one.folds[some]
    mean = chances[:, None] * intercepts[folds] + np.einsum("xc,xco->xo", features, slopes[folds])
    found[some] = -mean / complete_chance(one)[some, None]
    X = pattern_features(one, others, one.block.L[others], group)[:, columns]
    found[others] = ridge.predict(X, one.folds[others])
    return found

"""Worst-case bounds when some prompts, or some cells, carry no labels and nobody knows why."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.auditing.cell_table import CellTable, PoolBlock


class Unlabelled(NamedTuple):
    """Prompts without labels: how many candidates, how many of them the judge ties at the top."""

    sizes: Floats  # K, shape (prompts,)
    tied: Floats  # |A|, shape (prompts,)


def recovery_bounds(
    gain: float, possible: float, missing: Unlabelled, label_range: tuple[float, float]
) -> tuple[float, float]:
    """Bound recovery over all prompts from labelled sums: linear in how many stand high, so corners count."""
    vertices = _vertices(missing, label_range[1] - label_range[0])
    (least, _), (most, _) = extreme_corners(gain, possible, *vertices)
    return least, most


def _vertices(missing: Unlabelled, width: float) -> tuple[Floats, Floats]:
    """Return J - R and M - R of each prompt at each corner, shapes (corners, prompts)."""
    K, a = missing
    none, one = np.zeros_like(K), np.ones_like(K)
    corners = ((one, none), (a, none), (none, np.minimum(K - a, 1)), (none, K - a), (none, none))
    gains = [t / a - (t + m) / K for t, m in corners]
    possibles = [((t + m) > 0) - (t + m) / K for t, m in corners]
    return width * np.array(gains), width * np.array(possibles)


def extreme_corners(
    gain: float, possible: float, gains: Floats, possibles: Floats
) -> tuple[tuple[float, Ints], tuple[float, Ints]]:
    """Minimise and maximise a ratio of sums over corners of each prompt by Dinkelbach's iteration, corners too."""
    least, most = (_extreme_corner(gain, possible, gains, possibles, sign) for sign in (-1.0, 1.0))
    return least, most


def _extreme_corner(
    gain: float, possible: float, gains: Floats, possibles: Floats, sign: float
) -> tuple[float, Ints]:
    prompts = np.arange(gains.shape[1])
    choice = possibles.argmax(axis=0)
    if possible + float(possibles[choice, prompts].sum()) <= 0:
        return 0.0, choice
    rho = (gain + float(gains[choice, prompts].sum())) / (possible + float(possibles[choice, prompts].sum()))
    while True:
        better = (sign * (gains - rho * possibles)).argmax(axis=0)
        numerator = gain + float(gains[better, prompts].sum())
        denominator = possible + float(possibles[better, prompts].sum())
        # Each step improves until the optimum is reached; from there on only rounding moves.
        if denominator <= 0 or sign * (numerator / denominator - rho) <= 1e-12 * max(1.0, abs(rho)):
            return rho, choice
        rho, choice = numerator / denominator, better


_STEPS = 200  # Dinkelbach's iteration ends within a dozen; this only guards against rounding


def cell_bounds(table: CellTable, label_range: tuple[float, float]) -> dict[str, tuple[float, float]]:
    """Bound figures of the table over all that its missing labels could be.

    Infinite ends of `label_range` leave infinite bounds wherever a label is missing, and leave ``recovery`` out.

    For a given ratio r of recovery, which Dinkelbach's iteration finds, a prompt contributes
    ``sum c_i O_i - r max O`` with ``c_i = w_i - (1 - r) / K``, w_i the judge's weights. Given the largest label M,
    missing labels with c_i > 0 stand at M and others at lo, linear in M: M is the largest label seen, or hi.
    """
    low, high = label_range
    n = table.prompts
    random = [_linear(block, np.full(block.S.shape, 1 / block.K), label_range) for block in table.blocks]
    judge = [_linear(block, block.contrast + 1 / block.K, label_range) for block in table.blocks]
    gain = [_linear(block, block.contrast, label_range) for block in table.blocks]
    oracle = [_largest(block, label_range) for block in table.blocks]
    found = {
        name: (sum(part[0] for part in parts) / n, sum(part[1] for part in parts) / n)
        for name, parts in (
            ("value_random", random),
            ("value_judge", judge),
            ("value_oracle", oracle),
            ("gain", gain),
        )
    }
    complete = bool(table.labelled.all())
    if complete or np.isfinite([low, high]).all():
        ends = _recovery(table.blocks, *((0.0, 0.0) if complete else (low, high)))
        if ends is not None:
            found["recovery"] = ends
    return found


def _linear(block: PoolBlock, c: Floats, label_range: tuple[float, float]) -> tuple[float, float]:
    """Return the least and the greatest sum over prompts of ``sum c_i O_i``."""
    seen = float(np.sum(c * block.O))
    c = c[~block.L]
    up, down = float(c[c > 0].sum()), float(c[c < 0].sum())
    low, high = label_range

    def at(end: float, other: float) -> float:
        return seen + (up * end if up else 0.0) + (down * other if down else 0.0)

    return at(low, high), at(high, low)


def _largest(block: PoolBlock, label_range: tuple[float, float]) -> tuple[float, float]:
    """Return the least and the greatest sum over prompts of the largest label."""
    low, high = label_range
    seen = np.where(block.L, block.O, -np.inf).max(axis=1)
    at_most = np.where(block.complete, seen, np.maximum(seen, high))
    at_least = np.where(block.complete, seen, np.maximum(seen, low))
    return float(at_least.sum()), float(at_most.sum())


def _recovery(blocks: tuple[PoolBlock, ...], low: float, high: float) -> tuple[float, float] | None:
    least = _extreme_of_blocks(blocks, low, high, sign=-1.0)
    most = _extreme_of_blocks(blocks, low, high, sign=1.0)
    return None if least is None or most is None else (least, most)


def _extreme_of_blocks(blocks: tuple[PoolBlock, ...], low: float, high: float, *, sign: float) -> float | None:
    """Minimise or maximise the sum of J - R over that of M - R; None where the latter can only be 0."""
    gain = possible = 0.0
    for block in blocks:
        parts = _start(block, low, high)
        gain, possible = gain + parts[0].sum(), possible + parts[1].sum()
    scale = sum(float(np.abs(block.O).sum()) for block in blocks) + abs(low) + abs(high)
    if not possible > 1e-12 * scale:
        return None
    r = gain / possible
    for _ in range(_STEPS):
        gain = possible = 0.0
        for block in blocks:
            parts = _best(block, r, low, high, sign)
            gain, possible = gain + parts[0].sum(), possible + parts[1].sum()
        # Each step improves until the optimum is reached; from there on only rounding moves.
        if possible <= 1e-12 * scale or sign * (gain / possible - r) <= 1e-13 * max(1.0, abs(r)):
            break
        r = gain / possible
    return float(r)


def _start(block: PoolBlock, low: float, high: float) -> tuple[Floats, Floats]:
    """Return J - R and M - R of each prompt under labels that differ if they can: the ratio is defined there."""
    O = np.where(block.L, block.O, low)
    gains, possibles = _parts(block, O)
    some = np.flatnonzero(~block.complete)
    O[some, (~block.L).argmax(axis=1)[some]] = high
    raised = _parts(block, O)
    apart = raised[1] > possibles
    return np.where(apart, raised[0], gains), np.where(apart, raised[1], possibles)


def _best(block: PoolBlock, r: float, low: float, high: float, sign: float) -> tuple[Floats, Floats]:
    """Return J - R and M - R of each prompt under the labels that make ``sign (J - R - r (M - R))`` greatest."""
    c = sign * (block.contrast + 1 / block.K - (1 - r) / block.K)
    missing = ~block.L
    seen = np.maximum(np.where(block.L, block.O, -np.inf).max(axis=1, keepdims=True), low)
    helping = missing & (c > 0)
    at_low = np.where(block.L, block.O, low)
    at_seen, at_high = np.where(helping, seen, at_low), np.where(helping, high, at_low)
    raised = at_high.copy()
    cheapest = np.where(missing, c, -np.inf).argmax(axis=1)
    some = np.flatnonzero(~block.complete)
    raised[some, cheapest[some]] = high
    gains, possibles = _parts(block, at_seen)
    for labels in (at_high, raised):
        others = _parts(block, labels)
        better = sign * (others[0] - r * others[1]) > sign * (gains - r * possibles)
        gains, possibles = np.where(better, others[0], gains), np.where(better, others[1], possibles)
    return gains, possibles


def _parts(block: PoolBlock, O: Floats) -> tuple[Floats, Floats]:
    gains: Floats = np.einsum("xi,xi->x", block.contrast, O)
    return gains, O.max(axis=1) - O.mean(axis=1)

"""The gain from whichever cells are labelled: what each prompt contributes, and whether there is any."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.auditing.cell_models import FREQUENT, ModelledBlock, SizeGroup
from bonwise.auditing.cell_table import CellTable, PoolBlock
from bonwise.stats.no_gain import Dealt, DealtLabels, dealt, z_of_dealt

LEAST_USABLE = 3
"""Pools with a mean difference below which a stratum joins the one next to it."""


class CellDifferences(NamedTuple):
    """One a prompt: the difference or mean that its labels give, its weight, and whether it has one."""

    D: Floats
    weights: Floats
    usable: Mask

    def keep(self, some: Mask) -> CellDifferences:
        """Return those of some prompts."""
        return CellDifferences(self.D[some], self.weights[some], self.usable[some])


def gain_contributions(groups: tuple[SizeGroup, ...], prompts: int) -> Floats:
    """Return each prompt's part of the mean of J - R: what predictions leave, by counts or 1 / (pi_i pi_j)."""
    found = np.zeros(prompts)
    for group in groups:
        parts = [
            _pair_differences(block) if block.pi is not None else _mean_differences(block, group)
            for block in group.blocks
        ]
        every = _together(parts)
        if group.blocks[0].pi is None:
            every = every._replace(weights=_inverse_variances(every, group.within))
        sizes = np.concatenate([np.full(len(block.block.prompts), block.block.K) for block in group.blocks])
        tops = np.concatenate([block.block.tops for block in group.blocks])
        some = tops < sizes
        means = stratified(every.keep(some), sizes[some], tops[some])
        modelled = np.concatenate([np.sum(block.block.contrast * block.f, axis=1) for block in group.blocks])
        where = group.prompts
        found[where] = modelled
        found[where[some]] += (1 - tops[some] / sizes[some]) * means
    return found


def gain_refused(groups: tuple[SizeGroup, ...], prompts: int) -> str:
    """Return why the gain cannot be estimated; empty where it can."""
    most = []
    for group in groups:
        for one in group.blocks:
            block = one.block
            apart = block.tops < block.K
            usable = np.bincount(block.tops[apart & _usable(one)], minlength=1).max()
            most.append(int(usable))
            if len(block.prompts) >= FREQUENT * prompts and apart.any() and usable < LEAST_USABLE:
                return (
                    f"too few pools of {block.K} candidates have a label on a top-scored candidate and on another: "
                    f"{LEAST_USABLE} with equally many top-scored candidates are needed"
                )
    if max(most, default=0) >= LEAST_USABLE:
        return ""
    return f"fewer than {LEAST_USABLE} pools have a label on a top-scored candidate and on another"


def random_refused(groups: tuple[SizeGroup, ...], prompts: int) -> str:
    """Return why the value of a random pick cannot be estimated; empty where it can."""
    for group in groups:
        for block in group.blocks:
            some = int(np.count_nonzero(block.block.labelled))
            if some < LEAST_USABLE and len(block.block.prompts) >= FREQUENT * prompts:
                return f"{some} pools of {block.block.K} candidates have a label, and {LEAST_USABLE} are needed"
    return ""


def random_contributions(groups: tuple[SizeGroup, ...], prompts: int) -> Floats:
    """Return what each prompt contributes to the mean of R, shape (prompts,)."""
    found = np.zeros(prompts)
    for group in groups:
        parts = [_mean_residuals(block, group) for block in group.blocks]
        sizes = np.concatenate([np.full(len(block.block.prompts), block.block.K) for block in group.blocks])
        modelled = np.concatenate([block.f.mean(axis=1) for block in group.blocks])
        found[group.prompts] = modelled + stratified(_together(parts), sizes, np.zeros_like(sizes))
    return found


def stratified(values: CellDifferences, sizes: Ints, tops: Ints) -> Floats:
    """Return contributions to means by stratum of `sizes` and `tops`, thin ones joined to the nearest."""
    D, weights, usable = values
    found = np.zeros(len(D))
    if not usable.any():
        return found
    strata = _joined(usable, sizes, tops)
    for h in np.unique(strata).tolist():
        mine = strata == h
        some = mine & usable
        w, k = weights[some], int(some.sum())
        mean = float(w @ D[some] / w.sum())
        found[mine] = mean
        if k > 1:
            found[some] += mine.sum() / w.sum() * w * (D[some] - mean) * np.sqrt(k / (k - 1))
    return found


def _together(parts: list[CellDifferences]) -> CellDifferences:
    return CellDifferences(
        np.concatenate([part.D for part in parts]),
        np.concatenate([part.weights for part in parts]),
        np.concatenate([part.usable for part in parts]),
    )


def _joined(usable: Mask, sizes: Ints, tops: Ints) -> Ints:
    """Return a code of the stratum of each prompt, thin strata joined to the nearest that is not."""
    keys, codes = np.unique(np.stack((sizes, tops)), axis=1, return_inverse=True)
    codes = codes.reshape(-1)
    counts = np.bincount(codes, weights=usable)
    thick = np.flatnonzero(counts >= LEAST_USABLE)
    if not thick.size:
        return np.zeros(len(codes), dtype=np.int64)
    nearest = np.arange(len(counts))
    for h in np.flatnonzero(counts < LEAST_USABLE).tolist():
        apart = np.abs(keys[:, thick] - keys[:, [h]])
        nearest[h] = thick[np.lexsort((apart[1], apart[0]))[0]]
    return nearest[codes]


def _usable(one: ModelledBlock) -> Mask:
    block = one.block
    return np.asarray((block.L & block.A).any(axis=1) & (block.L & ~block.A).any(axis=1))


def _mean_differences(one: ModelledBlock, group: SizeGroup) -> CellDifferences:
    """Return mean residual of labelled tops less that of labelled others; as weight the variance by counts, q."""
    block = one.block
    K, a = block.K, block.tops
    lt, ln = (block.A & block.L).sum(axis=1), (~block.A & block.L).sum(axis=1)
    top, other = np.maximum(lt, 1), np.maximum(ln, 1)
    D = (block.A * one.e).sum(axis=1) / top - (~block.A * one.e).sum(axis=1) / other
    q = group.within * (1 / top - 1 / a + 1 / other - 1 / np.maximum(K - a, 1))
    return CellDifferences(D, q, (lt > 0) & (ln > 0))


def _inverse_variances(every: CellDifferences, within: float) -> Floats:
    D, q = every.D[every.usable], every.weights[every.usable]
    between = float(np.mean((D - D.mean()) ** 2 - q)) if len(D) else 0.0
    return 1 / (max(between, 0.3 * within) + every.weights)


def _pair_differences(one: ModelledBlock) -> CellDifferences:
    """Return the weighted mean of ``e_i - e_j`` over pairs of a labelled top and a labelled other."""
    block = one.block
    K, a = block.K, block.tops
    tops, others = one.weights * block.A, one.weights * ~block.A
    by_top, by_other = tops.sum(axis=1), others.sum(axis=1)
    usable = np.asarray((by_top > 0) & (by_other > 0))
    safe_top, safe_other = np.where(by_top > 0, by_top, 1.0), np.where(by_other > 0, by_other, 1.0)
    D = (tops * one.e).sum(axis=1) / safe_top - (others * one.e).sum(axis=1) / safe_other
    return CellDifferences(D, by_top * by_other / np.maximum(a * (K - a), 1), usable)


def _mean_residuals(one: ModelledBlock, group: SizeGroup) -> CellDifferences:
    block = one.block
    usable = np.asarray(block.labelled > 0)
    total = one.weights.sum(axis=1)
    D = (one.weights * one.e).sum(axis=1) / np.where(usable, total, 1.0)
    if one.pi is not None:
        return CellDifferences(D, total / block.K, usable)
    variance = group.between + group.within * (1 / np.maximum(block.labelled, 1) - 1 / block.K)
    return CellDifferences(D, 1 / variance, usable)


_BETWEEN = 0.5  # variance of a contrast between prompts, in units of that within: only the power depends on it


@dataclass(frozen=True, eq=False)
class DealtCells(DealtLabels):
    """The test of no gain on labelled cells, made when it is asked for; a label is NaN where there is none."""

    @cached_property
    def z(self) -> float | None:
        """The gain in standard deviations of dealt labels; None where no prompt has a top and another label."""
        found, prompts = dealt_cells(CellTable(self.sizes, self.scores, self.labels))
        if not len(prompts):
            return None
        return z_of_dealt(found, None if self.clusters is None else self.clusters[prompts])


def dealt_cells(table: CellTable) -> tuple[Dealt, Ints]:
    """Return the moments of contrasts D of labels dealt at random among labelled candidates, and their prompts."""
    parts = [_of_block(block) for block in table.blocks]
    gain, variance, third = (np.concatenate([part[0][at] for part in parts]) for at in range(3))
    return Dealt(gain, variance, third), np.concatenate([part[1] for part in parts])


def _of_block(block: PoolBlock) -> tuple[Dealt, Ints]:
    tops, others = (block.A & block.L).sum(axis=1), (~block.A & block.L).sum(axis=1)
    used = np.flatnonzero((tops > 0) & (others > 0))
    L, labelled = block.L[used], block.labelled[used]
    if not used.size:
        return Dealt(np.zeros(0), np.zeros(0), np.zeros(0)), block.prompts[used]
    found = dealt(block.R[used][L], block.O[used][L], labelled)
    # That is of the mean at the top less that of all labelled candidates, which is ln / l of the contrast.
    k: Floats = _weights(block, used, tops[used], others[used]) * labelled / others[used]
    return Dealt(k * found.gain, k**2 * found.variance, k**3 * found.third), block.prompts[used]


def _weights(block: PoolBlock, used: Ints, tops: Ints, others: Ints) -> Floats:
    a, K = block.tops[used].astype(np.float64), float(block.K)
    return (1 - a / K) / (_BETWEEN + 1 / tops - 1 / a + 1 / others - 1 / (K - a))

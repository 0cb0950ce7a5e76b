"""Figures that need pairs of labelled cells, or cells alone.

Their totals, correlations, shares of variance, agreement, Kendall's tau.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bonwise.auditing.cell_maxima import complete_chance
from bonwise.auditing.cell_models import ModelledBlock
from bonwise.auditing.cell_table import Bools
from bonwise.stats.sums import Floats, Sums, prompt_sums

__all__ = [
    "OVER_CELLS",
    "OVER_PAIRS",
    "PairInfluence",
    "PairTotals",
    "pair_influences",
    "pair_totals",
    "tau_influence",
]


class PairTotals(NamedTuple):
    """What each prompt contributes to totals, each of shape (prompts,), labelled cells standing for the others.

    ``eSS``, ``eOO``, ``eSO`` are sums of deviations from the prompt's mean, as ``(1 / K) sum_{i<j} dS dO``; scores
    and labels of ``S`` to ``SO`` are centred at one value for all prompts.
    """

    cells: Floats
    S: Floats
    O: Floats
    SS: Floats
    OO: Floats
    SO: Floats
    eSS: Floats
    eOO: Floats
    eSO: Floats
    pairs: Floats
    apart_O: Floats
    apart_both: Floats
    concordant: Floats


def pair_totals(blocks: list[ModelledBlock], prompts: int, centre: float) -> PairTotals:
    """Add up over labelled cells and over pairs of them.

    A cell weighs 1 / pi and a pair 1 / (pi_i pi_j). At one rate these are the inverse of the labelled share of the
    cells, and of the pairs, of the size: this holds for labels in bunches as well.

    Parameters
    ----------
    blocks : list of ModelledBlock
    prompts : int
    centre : float
        Taken off the scores.
    """
    found = np.zeros((len(PairTotals._fields), prompts))
    for one in blocks:
        found[:, one.block.prompts] = _of_block(one, centre)
    return PairTotals(*found)


def _of_block(one: ModelledBlock, centre: float) -> Floats:
    block = one.block
    K, w = block.K, one.weights
    S, O = np.where(block.L, block.S - centre, 0.0), one.O
    per_cell, per_pair = 1.0, 1.0
    if one.pi is None:
        l = block.labelled
        per_cell = block.L.size / max(int(l.sum()), 1)
        per_pair = len(l) * K * (K - 1) / max(int(np.sum(l * (l - 1))), 1)
    total, first = w.sum(axis=1), (w * S).sum(axis=1)
    of_O, of_SO = (w * O).sum(axis=1), (w * S * O).sum(axis=1)
    of_SS, of_OO = (w * S * S).sum(axis=1), (w * O * O).sum(axis=1)
    cells = per_cell * np.stack((total, first, of_O, of_SS, of_OO, of_SO))
    return np.concatenate((cells, _deviations(one) * per_pair / K, per_pair * _signs(one)))


def _deviations(one: ModelledBlock) -> Floats:
    """Return ``sum_{i<j} w_i w_j`` times dS^2, dO^2 and dS dO; exactly 0 where all values seen are equal."""
    block, w = one.block, one.weights
    total = w.sum(axis=1, keepdims=True)
    safe = np.where(total > 0, total, 1.0)
    around = []
    for values in (block.S, block.O):
        seen = np.where(block.L, values, np.nan)
        # Centring at a value of the prompt leaves equal values exactly 0.
        one_of_them = np.take_along_axis(seen, block.L.argmax(axis=1)[:, None], axis=1)
        centred = np.where(block.L, values - np.nan_to_num(one_of_them), 0.0)
        around.append(np.where(block.L, centred - (w * centred).sum(axis=1, keepdims=True) / safe, 0.0))
    dS, dO = around
    weight = w * total
    single = block.labelled < 2
    found = np.stack([(weight * x * y).sum(axis=1) for x, y in ((dS, dS), (dO, dO), (dS, dO))])
    found[:, single] = 0.0
    return found


def _signs(one: ModelledBlock) -> Floats:
    """Return weighted counts of pairs: all, with different labels, with both different, in the same order."""
    block, w = one.block, one.weights
    S, O = block.S, block.O
    found = np.zeros((4, len(S)))
    for step in range(1, block.K):
        weight = w[:, step:] * w[:, :-step]
        right, below = S[:, step:] - S[:, :-step], O[:, step:] - O[:, :-step]
        apart: Bools = below != 0
        both = apart & (right != 0)
        same = both & ((right > 0) == (below > 0))
        for row, some in enumerate((None, apart, both, same)):
            found[row] += (weight if some is None else weight * some).sum(axis=1)
    return found


OVER_CELLS = ("global_r",)
OVER_PAIRS = (
    "within_r",
    "attenuation",
    "oracle_between_share",
    "oracle_tie_rate",
    "sign_agreement",
    "effective_agreement",
    "effective_agreement_decided",
)


class PairInfluence(NamedTuple):
    """A figure, and what each prompt contributes to it: their mean is the figure."""

    value: float
    contributions: Floats


def pair_influences(t: PairTotals) -> dict[str, PairInfluence | None]:
    """Return the figures that are functions of totals, linearised in what prompts contribute; None where undefined.

    Parameters
    ----------
    t : PairTotals
    """
    return {
        "global_r": _correlation(*_over_cells(t), (t.SS, t.OO)),
        "within_r": _correlation(t.eSO, t.eSS, t.eOO, (t.SS, t.OO)),
        "attenuation": _ratio(t.eSO, t.eOO, t.OO),
        "oracle_between_share": _map(_ratio(t.eOO, _over_cells(t)[2], t.OO), lambda share: 1 - share, -1.0),
        "oracle_tie_rate": _map(_ratio(t.apart_O, t.pairs, t.pairs), lambda share: 1 - share, -1.0),
        "sign_agreement": _ratio(t.concordant, t.apart_both, t.pairs),
        "effective_agreement": _map(_ratio(_excess(t), t.pairs, t.pairs), lambda share: share + 0.5, 1.0),
        "effective_agreement_decided": _map(_ratio(_excess(t), t.apart_O, t.pairs), lambda share: share + 0.5, 1.0),
    }


def _excess(t: PairTotals) -> Floats:
    return t.concordant - t.apart_both / 2


def _over_cells(t: PairTotals) -> tuple[Floats, Floats, Floats]:
    """Return contributions to the total sums of products SO, SS, OO about the means over cells."""
    cells = t.cells.sum()
    if cells <= 0:
        return t.SO, t.SS, t.OO
    S, O = t.S.sum() / cells, t.O.sum() / cells
    return (
        t.SO - S * t.O - O * t.S + S * O * t.cells,
        t.SS - 2 * S * t.S + S * S * t.cells,
        t.OO - 2 * O * t.O + O * O * t.cells,
    )


def _correlation(SO: Floats, SS: Floats, OO: Floats, scales: tuple[Floats, Floats]) -> PairInfluence | None:
    mean_SO, mean_SS, mean_OO = SO.mean(), SS.mean(), OO.mean()
    if not (mean_SS > 1e-12 * scales[0].mean() and mean_OO > 1e-12 * scales[1].mean()):
        return None
    reach = float(np.sqrt(mean_SS) * np.sqrt(mean_OO))
    r = float(mean_SO) / reach
    pull = (SO - mean_SO) / reach - r * ((SS - mean_SS) / (2 * mean_SS) + (OO - mean_OO) / (2 * mean_OO))
    return PairInfluence(r, r + pull)


def _ratio(numerator: Floats, denominator: Floats, scale: Floats) -> PairInfluence | None:
    below = float(denominator.mean())
    if not below > 1e-12 * float(scale.mean()):
        return None
    value = float(numerator.mean()) / below
    return PairInfluence(value, value + (numerator - value * denominator) / below)


def _map(found: PairInfluence | None, of: Callable[[float], float], slope: float) -> PairInfluence | None:
    if found is None:
        return None
    value = of(found.value)
    return PairInfluence(value, value + slope * (found.contributions - found.value))


def tau_influence(blocks: list[ModelledBlock], prompts: int) -> PairInfluence | None:
    """Return mean tau-b over complete pools where it is defined, weighted by 1 / their chance to be complete.

    Parameters
    ----------
    blocks : list of ModelledBlock
    prompts : int
    """
    tau, defined = np.zeros(prompts), np.zeros(prompts)
    for one in blocks:
        some = np.flatnonzero(one.block.complete)
        if not some.size:
            continue
        S, O = one.block.S[some], one.block.O[some]
        sums = Sums(*prompt_sums(S.ravel(), O.ravel(), np.full(len(some), one.block.K)))
        weights = 1 / complete_chance(one)[some]
        tau[one.block.prompts[some]] = weights * sums.tau
        defined[one.block.prompts[some]] = weights * sums.tau_defined
    total = float(defined.mean())
    if total <= 0:
        return None
    value = float(tau.mean()) / total
    return PairInfluence(value, value + (tau - value * defined) / total)

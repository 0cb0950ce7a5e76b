"""Figures that need pairs of cells, or cells, alone: correlations, slopes, shares of variance, agreement."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bonwise.stats.cells.pair_totals import PairTotals
from bonwise.stats.sums import Floats

__all__ = ["OVER_CELLS", "OVER_PAIRS", "PairInfluence", "pair_influences"]

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

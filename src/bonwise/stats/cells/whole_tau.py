"""Kendall's tau over pools that are labelled whole."""

from __future__ import annotations

import numpy as np

from bonwise.stats.cells.modelled import ModelledBlock
from bonwise.stats.cells.pair_figures import PairInfluence
from bonwise.stats.cells.patterns import complete_chance
from bonwise.stats.sums import Sums, prompt_sums

__all__ = ["tau_influence"]


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

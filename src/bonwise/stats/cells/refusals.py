"""Which figures the labels there are cannot bear, and why."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bonwise.stats.cells.contrasts import gain_refused, random_refused
from bonwise.stats.cells.label_rates import LEAST_RATE
from bonwise.stats.cells.maxima import maxima_refused
from bonwise.stats.cells.modelled import FREQUENT, SizeGroup
from bonwise.stats.cells.table import CellTable
from bonwise.stats.sums import Floats

__all__ = ["FEW_COMPLETE", "LEAST_ESS", "notes", "refusals"]

LEAST_ESS = 30.0
"""Effective complete pools below which figures of the best label are refused where chances of a label differ."""

FEW_COMPLETE = 20
"""Complete pools of a frequent size below which a note says that they are few."""


def refusals(table: CellTable, groups: tuple[SizeGroup, ...], rates: Floats | None, ess: float) -> Mapping[str, str]:
    """Return why figures are refused, by kind: ``random``, ``gain``, ``best``, ``pairs``; empty where they are not.

    Parameters
    ----------
    table : CellTable
    groups : tuple of SizeGroup
    rates : ndarray of float64, shape (cells,), or None
    ess : float
        Effective complete pools.
    """
    n = table.prompts
    random, gain = random_refused(groups, n), gain_refused(groups, n)
    if rates is not None and not table.fitted:
        gain = gain or _rare(groups, contrasts=True)
        random = random or _rare(groups, contrasts=False)
    best = maxima_refused(groups, n)
    if rates is not None and ess < LEAST_ESS:
        best = best or (
            f"the complete pools are worth {ess:.0f} of equal chance to be complete, and {LEAST_ESS:.0f} are needed"
        )
    return {"random": random, "gain": gain, "best": best, "pairs": _without_pairs(groups, n)}


def notes(table: CellTable, groups: tuple[SizeGroup, ...], rates: Floats | None, why: Mapping[str, str]) -> list[str]:
    """Return sentences on figures that are given and that the labels bear less well."""
    if why["best"]:
        return []
    found = []
    frequent = [
        int(one.block.complete.sum())
        for group in groups
        for one in group.blocks
        if len(one.block.prompts) >= FREQUENT * table.prompts
    ]
    fewest = min(frequent, default=0)
    if frequent and fewest < FEW_COMPLETE:
        found.append(
            f"Few complete pools: {fewest} of a size are labelled whole, and below {FEW_COMPLETE} the intervals of "
            "value_oracle, recovery, hit_rate and top1_accuracy may be too narrow."
        )
    if rates is not None:
        found.append("hit_rate and top1_accuracy are approximate: cells had different chances of a label.")
    return found


def _rare(groups: tuple[SizeGroup, ...], *, contrasts: bool) -> str:
    for group in groups:
        for one in group.blocks:
            if one.pi is None:
                continue
            counts = one.block.contrast != 0 if contrasts else np.ones(one.pi.shape, dtype=bool)
            if bool((one.pi[counts] < LEAST_RATE).any()):
                return f"some cells that count had a chance of a label below {LEAST_RATE:g}"
    return ""


def _without_pairs(groups: tuple[SizeGroup, ...], prompts: int) -> str:
    every = [one.block for group in groups for one in group.blocks]
    for block in every:
        if len(block.prompts) >= FREQUENT * prompts and not (block.labelled > 1).any():
            return f"no pool of {block.K} candidates has two labels"
    return "" if any((block.labelled > 1).any() for block in every) else "no pool has two labels"

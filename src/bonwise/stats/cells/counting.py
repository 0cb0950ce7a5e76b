"""How many labelled cells, pools and pairs of cells stand behind each figure."""

from __future__ import annotations

import numpy as np

from bonwise.stats.catalog import METRICS
from bonwise.stats.cells.modelled import SizeGroup
from bonwise.stats.cells.results import CellCounts
from bonwise.stats.cells.table import PoolBlock

__all__ = ["cell_counts"]

_GAIN = ("gain", "value_judge", "recovery")
_BEST = ("value_oracle", "recovery", "hit_rate", "top1_accuracy")
_CELLS = ("value_random", "global_r", "level_bias")


def cell_counts(groups: tuple[SizeGroup, ...]) -> dict[str, CellCounts]:
    """Count behind every metric of the catalogue.

    Pairs are pairs of labelled cells of a prompt; of the gain those of a top-scored candidate and another, in prompts
    where not all have the highest score. Figures of the best label count complete pools, and all labelled cells,
    which correct them.
    """
    blocks = [one.block for group in groups for one in group.blocks]
    cells = sum(int(block.labelled.sum()) for block in blocks)
    some = sum(int(np.count_nonzero(block.labelled)) for block in blocks)
    complete = sum(int(block.complete.sum()) for block in blocks)
    of_gain = _sum([_gain(block) for block in blocks])
    of_pairs = _sum([_pairs(block) for block in blocks])
    whole = sum(int(block.complete.sum()) * block.K for block in blocks)
    whole_pairs = sum(int(block.complete.sum()) * block.K * (block.K - 1) // 2 for block in blocks)
    found = {metric.name: of_pairs for metric in METRICS}
    for name in _CELLS:
        found[name] = CellCounts(cells, some, 0)
    found["gain"] = of_gain
    found["value_judge"] = CellCounts(cells, some, of_gain.pairs)
    for name in _BEST:
        found[name] = CellCounts(cells, complete, of_gain.pairs if name in _GAIN else 0)
    found["kendall_tau"] = CellCounts(whole, complete, whole_pairs)
    return found


def _sum(counts: list[CellCounts]) -> CellCounts:
    return CellCounts(*(int(sum(column)) for column in zip(CellCounts(0, 0, 0), *counts, strict=True)))


def _gain(block: PoolBlock) -> CellCounts:
    tops, others = (block.L & block.A).sum(axis=1), (block.L & ~block.A).sum(axis=1)
    usable = (tops > 0) & (others > 0)
    cells, pairs = int(block.labelled[usable].sum()), int(np.sum(tops * others))
    return CellCounts(cells, int(np.count_nonzero(usable)), pairs)


def _pairs(block: PoolBlock) -> CellCounts:
    l = block.labelled
    return CellCounts(int(l[l > 1].sum()), int(np.count_nonzero(l > 1)), int(np.sum(l * (l - 1)) // 2))

"""Pools as one annotator labelled them, beside the labels that the other annotators give the same candidates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bonwise.data.annotator_rules import aggregate
from bonwise.data.annotators import AnnotatorLabels
from bonwise.data.cells import positions
from bonwise.data.checks import AnnotatorRule
from bonwise.data.panel import Panel
from bonwise.data.table import ScoreTable
from bonwise.stats.sums import Floats

__all__ = ["AnnotatorPools", "CellLabelsGiven", "annotator_pools", "labels_given"]

_Ints = npt.NDArray[np.int64]

_AT_A_TIME = 1 << 20
"""Labels of others that are gathered at a time."""


@dataclass(frozen=True, eq=False)
class CellLabelsGiven:
    """The labels of several annotators at the cells of a panel."""

    cells: _Ints
    """Sorted by cell."""
    annotators: _Ints
    """Sorted by cell."""
    values: Floats
    prompts: _Ints
    """The prompt of each label, by its place in the panel."""


@dataclass(frozen=True, eq=False)
class AnnotatorPools:
    """Prompts of which an annotator labelled every candidate, and others too; a prompt once per such annotator."""

    prompts: _Ints
    """Sorted by prompt."""
    annotators: _Ints
    """Sorted by prompt."""
    sizes: _Ints
    """Sorted by prompt."""
    cells: _Ints
    """Of the panel, grouped by pool."""
    own: Floats
    """The annotator's label of each of these cells, and the one label that those of all others become."""
    others: Floats
    """The annotator's label of each of these cells, and the one label that those of all others become."""


def labels_given(found: AnnotatorLabels, table: ScoreTable, panel: Panel) -> CellLabelsGiven:
    """Return the labels that annotators gave the candidates of a panel."""
    prompts = table.prompts.get_indexer(panel.prompt_ids).astype(np.int64)
    keys = np.repeat(prompts, panel.sizes) * len(table.candidates) + panel.names
    at = positions(found.cell_keys(table.prompts, table.candidates), keys)
    rows = np.flatnonzero(at >= 0)
    rows = rows[np.argsort(at[rows], kind="stable")]
    of_cell = np.repeat(np.arange(len(panel.sizes)), panel.sizes)
    return CellLabelsGiven(at[rows], found.annotators[rows], found.values[rows], of_cell[at[rows]])


def annotator_pools(given: CellLabelsGiven, sizes: _Ints, rule: AnnotatorRule) -> AnnotatorPools:
    """Return the pools of every annotator beside the labels of all others.

    Parameters
    ----------
    given : CellLabelsGiven
    sizes : ndarray of int64, shape (prompts,)
        Candidates per prompt of the panel.
    rule : {"mean", "median", "majority"}
        How labels become one.
    """
    count = int(given.annotators.max(initial=0)) + 1
    held = np.bincount(given.cells, minlength=int(sizes.sum()))
    pairs = given.prompts * count + given.annotators
    with_others = held[given.cells] > 1
    known, at, times = np.unique(pairs, return_inverse=True, return_counts=True)
    shared = np.bincount(at.reshape(-1), weights=with_others, minlength=len(known)).astype(np.int64)
    # An annotator gives a candidate one label, so that these are all candidates of the prompt.
    whole = (times == sizes[known // count]) & (shared == times)
    mine = np.flatnonzero(whole[at.reshape(-1)])
    mine = mine[np.argsort(pairs[mine], kind="stable")]
    pools = known[whole]
    return AnnotatorPools(
        prompts=pools // count,
        annotators=pools % count,
        sizes=sizes[pools // count],
        cells=given.cells[mine],
        own=given.values[mine],
        others=_without_each(given, mine, held, rule),
    )


def _without_each(given: CellLabelsGiven, mine: _Ints, held: _Ints, rule: AnnotatorRule) -> Floats:
    """Return what the labels of a cell become without each of some labels in turn."""
    starts = np.cumsum(held) - held
    sizes = held[given.cells[mine]]
    out = np.empty(len(mine))
    step = max(1, _AT_A_TIME // max(1, int(sizes.max(initial=1))))
    for first in range(0, len(mine), step):
        some, many = mine[first : first + step], sizes[first : first + step]
        whose = np.repeat(np.arange(len(some)), many)
        begins = np.repeat(np.cumsum(many) - many, many)
        label = np.repeat(starts[given.cells[some]], many) + np.arange(len(whose)) - begins
        other = label != some[whose]
        out[first : first + step] = aggregate(rule, whose[other], given.values[label[other]], len(some)).labels
    return out

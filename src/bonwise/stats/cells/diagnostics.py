"""Do the labels look as if every cell had the same chance of one?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from bonwise.stats.cells.table import Bools, CellTable
from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = ["CONTRADICTS", "LabelDiagnostics", "LabelledShare", "PoolsByLabels", "label_diagnostics"]

CONTRADICTS = 3.0
"""A t beyond this, of either sign, contradicts the statement that cells were labelled at one rate, at random."""

_ROUNDING = 1e-12


@dataclass(frozen=True)
class LabelledShare:
    """How large a share of some cells is labelled, compared with the other cells."""

    group: str
    """Which cells, in words."""
    cells: int
    share: float
    """Labelled share of them."""
    difference: float
    """Their share less that of the others, and its standard error by prompt or cluster."""
    se: float
    """Their share less that of the others, and its standard error by prompt or cluster."""
    t: float
    """The difference in standard errors; infinite where it is the same in every prompt."""


@dataclass(frozen=True)
class PoolsByLabels:
    """Pools of one size by their number of labels."""

    size: int
    """Candidates, K."""
    pools: tuple[int, ...]
    """Pools with 0, 1, ..., K labels."""
    expected: tuple[float, ...]
    """The same if every cell of these pools had been labelled with one probability, each on its own."""


@dataclass(frozen=True)
class LabelDiagnostics:
    """What the pattern of labels says of how cells came to be labelled."""

    share: float
    """Labelled share of all cells."""
    by_name: tuple[LabelledShare, ...]
    """One a candidate name, where candidates are named."""
    tops: LabelledShare | None
    """Of the cells with the highest score, in prompts where not all have it."""
    terciles: tuple[LabelledShare, ...]
    """By thirds of the scores, the lowest first; cells of one score stand in one third."""
    counts: tuple[PoolsByLabels, ...]
    """Labels that come in bunches depart from what is expected and contradict nothing."""
    contradicts: tuple[str, ...]
    """The groups whose share differs beyond chance, ``|t| > 3``, in words."""


def label_diagnostics(table: CellTable, candidates: Sequence[str] | None = None) -> LabelDiagnostics:
    """Compare the labelled share of groups of cells.

    Parameters
    ----------
    table : CellTable
    candidates : sequence of str, optional
        The name behind each code of `table.names`, for the words; without them the code stands for the name.

    Examples
    --------
    >>> scores, labels = np.tile([.9, .1], 4), np.tile([1., np.nan], 4)
    >>> found = label_diagnostics(CellTable(np.full(4, 2), scores, labels))
    >>> found.tops.share, found.tops.difference, found.contradicts[0]
    (1.0, 1.0, 'top-scored candidates')
    """
    every = np.ones(len(table.scores), dtype=bool)
    by_name = []
    if table.names is not None:
        for code in np.unique(table.names).tolist():
            word = str(code) if candidates is None else candidates[code]
            by_name.append(_share(table, f"candidate {word}", table.names == code, every))
    tops = _tops(table)
    terciles = _terciles(table, every)
    shares = [one for one in (*by_name, tops, *terciles) if one is not None]
    return LabelDiagnostics(
        share=float(table.labelled.mean()) if len(table.labels) else 0.0,
        by_name=tuple(one for one in by_name if one is not None),
        tops=tops,
        terciles=terciles,
        counts=_counts(table),
        contradicts=tuple(one.group for one in shares if abs(one.t) > CONTRADICTS),
    )


def _tops(table: CellTable) -> LabelledShare | None:
    top, among = np.zeros(len(table.scores), dtype=bool), np.zeros(len(table.scores), dtype=bool)
    for block in table.blocks:
        top[block.cells] = block.A
        among[block.cells] = (block.tops < block.K)[:, None]
    return _share(table, "top-scored candidates", top & among, among)


def _terciles(table: CellTable, every: Bools) -> tuple[LabelledShare, ...]:
    scores = np.round(table.scores, TIE_DECIMALS)
    if not scores.size:
        return ()
    lower, upper = np.quantile(scores, (1 / 3, 2 / 3), method="inverted_cdf")
    groups = (
        ("the lowest third of scores", scores <= lower),
        ("the middle third of scores", (scores > lower) & (scores <= upper)),
        ("the highest third of scores", scores > upper),
    )
    found = (_share(table, word, some, every) for word, some in groups)
    return tuple(one for one in found if one is not None)


def _share(table: CellTable, group: str, some: Bools, among: Bools) -> LabelledShare | None:
    """Compare the labelled share of some cells with that of the others among which they are."""
    rest = among & ~some
    inside, outside = int(some.sum()), int(rest.sum())
    if not inside or not outside:
        return None
    labelled = table.labelled.astype(float)
    share, other = float(labelled[some].mean()), float(labelled[rest].mean())
    pull: Floats = np.where(some, (labelled - share) / inside, 0.0) - np.where(
        rest, (labelled - other) / outside, 0.0
    )
    by_unit = np.bincount(table.units[table.owners], weights=pull)
    units = len(by_unit)
    se = float(np.sqrt(units / (units - 1) * np.sum(by_unit**2))) if units > 1 else 0.0
    difference = share - other
    return LabelledShare(group, inside, share, difference, se, _in_errors(difference, se))


def _in_errors(difference: float, se: float) -> float:
    if abs(difference) <= _ROUNDING:
        return 0.0
    return difference / se if se > _ROUNDING else float(np.copysign(np.inf, difference))


def _counts(table: CellTable) -> tuple[PoolsByLabels, ...]:
    found = []
    for block in table.blocks:
        K, n = block.K, len(block.prompts)
        rate = float(block.L.mean())
        pools = np.bincount(block.labelled, minlength=K + 1).tolist()
        expected = tuple(n * comb(K, l) * rate**l * (1 - rate) ** (K - l) for l in range(K + 1))
        found.append(PoolsByLabels(K, tuple(pools), expected))
    return tuple(found)

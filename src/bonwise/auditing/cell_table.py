"""A judge's scores with labels on some cells, and whether all cells look to have the same chance of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Literal

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.auditing.result_labels import LabelledShare
from bonwise.stats import top_of_scores
from bonwise.stats.sums import by_rank, compared, filled_scores


@dataclass(frozen=True, eq=False)
class PoolBlock:
    """The prompts with one number of candidates, K."""

    prompts: Ints
    """Their positions in the table."""
    cells: Ints
    """Positions of their cells."""
    S: Floats
    """Scores; where there is none, the lowest of the prompt."""
    R: Floats
    """What picks are made by: the scores, below them what has none."""
    O: Floats
    """Labels, 0 where there is none."""
    L: Mask
    """Whether a cell is labelled."""
    A: Mask
    """Whether a cell may be picked: its score is the highest of its prompt."""
    scored: Mask
    """Whether a cell has a score."""

    @property
    def K(self) -> int:  # noqa: N802 - the letter of the paper
        """Candidates of each prompt."""
        return int(self.S.shape[1])

    @cached_property
    def labelled(self) -> Ints:
        """Number of labelled cells of each prompt."""
        found: Ints = self.L.sum(axis=1)
        return found

    @cached_property
    def tops(self) -> Ints:
        """Number of candidates with the highest score of each prompt."""
        found: Ints = self.A.sum(axis=1)
        return found

    @cached_property
    def complete(self) -> Mask:
        """Whether all cells of a prompt are labelled."""
        found: Mask = self.labelled == self.K
        return found

    @cached_property
    def contrast(self) -> Floats:
        """Weights c that make J - R of the labels of a prompt; exactly 0 where the judge ties all candidates."""
        c: Floats = self.A / self.tops[:, None] - 1 / self.K
        c[self.tops == self.K] = 0.0
        return c


@dataclass(frozen=True, eq=False)
class CellTable:
    """One judge's scores, and the labels of some cells."""

    sizes: Ints
    """Candidates of each prompt, 2 or more; cells lie end to end, prompt after prompt."""
    scores: Floats
    """NaN where there is none."""
    labels: Floats
    """NaN where there is none."""
    others: tuple[Floats, ...] = ()
    """Scores of further judges, NaN where one did not score."""
    names: Ints | None = None
    """Code of each cell's candidate name, where candidates are named."""
    propensities: Floats | None = None
    """Probability with which a cell came to be labelled, independently of others; None where all had the same."""
    fitted: bool = False
    """Whether propensities are to be fitted from scores and names."""
    clusters: Ints | None = None
    """Code of the cluster of each prompt."""
    ranked: Floats | None = None
    """What picks are made by, as in `bonwise.stats.sums.prompt_sums`."""

    @cached_property
    def scored(self) -> Mask:
        """Whether a cell has a score, shape (cells,)."""
        return ~np.isnan(self.scores)

    @cached_property
    def ranks(self) -> Floats:
        """What picks are made by; finite, so that it can be subtracted."""
        ranks = compared(by_rank(self.scores) if self.ranked is None else self.ranked)
        known = ranks[np.isfinite(ranks)]
        return np.where(np.isfinite(ranks), ranks, known.min() - 1 if known.size else 0.0)

    @property
    def at_top(self) -> Mask:
        """Whether a cell may be picked, shape (cells,)."""
        return top_of_scores.at_top(self.ranks, self.sizes)

    @cached_property
    def filled(self) -> Floats:
        """The scores for models, without gaps."""
        return filled_scores(self.scores, self.sizes)

    @property
    def prompts(self) -> int:
        """Number of prompts."""
        return len(self.sizes)

    @cached_property
    def owners(self) -> Ints:
        """Position of the prompt of each cell."""
        return np.repeat(np.arange(self.prompts), self.sizes)

    @cached_property
    def labelled(self) -> Mask:
        """Whether a cell is labelled, shape (cells,)."""
        return ~np.isnan(self.labels)

    @cached_property
    def units(self) -> Ints:
        """Code of the unit of each prompt, from 0 without gaps: its cluster, or the prompt itself."""
        if self.clusters is None:
            return np.arange(self.prompts)
        return np.unique(self.clusters, return_inverse=True)[1].astype(np.int64)

    @cached_property
    def blocks(self) -> tuple[PoolBlock, ...]:
        """The prompts by number of candidates, the smallest first."""
        starts = np.cumsum(self.sizes) - self.sizes
        scores, labels = compared(self.filled), compared(self.labels)
        found = []
        for size in np.unique(self.sizes).tolist():
            prompts = np.flatnonzero(self.sizes == size)
            cells = starts[prompts][:, None] + np.arange(size)
            R, O = self.ranks[cells], labels[cells]
            L, A = ~np.isnan(O), R == R.max(axis=1, keepdims=True)
            O = np.where(L, O, 0.0)
            found.append(PoolBlock(prompts, cells, scores[cells], R, O, L, A, self.scored[cells]))
        return tuple(found)


CONTRADICTS = 3.0
"""A t beyond this, of either sign, contradicts the statement that cells were labelled at one rate, at random."""

_ROUNDING = 1e-12

_By = Literal["name", "top", "score"]


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

    @property
    def shares(self) -> list[LabelledShare]:
        """Of all these groups."""
        return [one for one in (*self.by_name, self.tops, *self.terciles) if one is not None]

    @property
    def contradicts(self) -> tuple[str, ...]:
        """The groups whose share differs beyond chance, ``|t| > 3``, in words."""
        return tuple(share.group for share in self.shares if share.t is None or abs(share.t) > CONTRADICTS)


def label_diagnostics(table: CellTable, candidates: Sequence[str] | None = None) -> LabelDiagnostics:
    """Compare the labelled share of groups of cells; `candidates` names the codes of `table.names`."""
    every = np.ones(len(table.scores), dtype=bool)
    by_name = []
    if table.names is not None:
        for code in np.unique(table.names).tolist():
            word = str(code) if candidates is None else candidates[code]
            by_name.append(_share(table, "name", f"candidate {word}", table.names == code, every))
    return LabelDiagnostics(
        share=float(table.labelled.mean()) if len(table.labels) else 0.0,
        by_name=tuple(one for one in by_name if one is not None),
        tops=_tops(table),
        terciles=_terciles(table),
        counts=_counts(table),
    )


def _tops(table: CellTable) -> LabelledShare | None:
    top, among = np.zeros(len(table.scores), dtype=bool), np.zeros(len(table.scores), dtype=bool)
    for block in table.blocks:
        top[block.cells] = block.A
        among[block.cells] = (block.tops < block.K)[:, None]
    return _share(table, "top", "top-scored candidates", top & among, among)


def _terciles(table: CellTable) -> tuple[LabelledShare, ...]:
    scores = compared(table.scores)
    if not table.scored.any():
        return ()
    lower, upper = np.quantile(scores[table.scored], (1 / 3, 2 / 3), method="inverted_cdf")
    groups = (
        ("the lowest third of scores", scores <= lower),
        ("the middle third of scores", (scores > lower) & (scores <= upper)),
        ("the highest third of scores", scores > upper),
    )
    found = (_share(table, "score", word, some, table.scored) for word, some in groups)
    return tuple(one for one in found if one is not None)


def _share(table: CellTable, by: _By, group: str, some: Mask, among: Mask) -> LabelledShare | None:
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
    return LabelledShare(
        by=by, group=group, cells=inside, share=share, difference=difference, se=se, t=_in_errors(difference, se)
    )


def _in_errors(difference: float, se: float) -> float | None:
    """Return a difference in standard errors; None where it is the same in every prompt."""
    if abs(difference) <= _ROUNDING:
        return 0.0
    return difference / se if se > _ROUNDING else None


def _counts(table: CellTable) -> tuple[PoolsByLabels, ...]:
    found = []
    for block in table.blocks:
        K, n = block.K, len(block.prompts)
        rate = float(block.L.mean())
        pools = np.bincount(block.labelled, minlength=K + 1).tolist()
        expected = tuple(n * comb(K, l) * rate**l * (1 - rate) ** (K - l) for l in range(K + 1))
        found.append(PoolsByLabels(K, tuple(pools), expected))
    return tuple(found)

"""Pairs of candidates: scores from their verdicts, pools of two, strata by gap, and ties broken by comparisons."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.flags import TIE_DECIMALS
from bonwise.stats import estimand, top_of_scores
from bonwise.stats.sums import compared, prompt_sums, tie_decimals


class Pairs(NamedTuple):
    """Pairs of candidates, each of shape (pairs,), sorted by prompt."""

    prompt: Ints  # position of the prompt
    i: Ints  # position of the cell of one candidate
    j: Ints  # of the other, i < j

    def some(self, kept: Mask | Ints) -> Pairs:
        """Return some of the pairs, by a mask or by position."""
        return Pairs(self.prompt[kept], self.i[kept], self.j[kept])


def every_pair(sizes: Ints) -> Pairs:
    """List every pair of every prompt of so many candidates; cells are counted through."""
    starts = np.cumsum(sizes) - sizes
    corners = {size: np.triu_indices(size, 1) for size in np.unique(sizes).tolist()}
    many = [(x, *corners[size]) for x, size in enumerate(sizes.tolist())]
    if not many:
        none = np.zeros(0, dtype=np.int64)
        return Pairs(none, none, none)
    return Pairs(
        np.repeat(np.arange(len(sizes)), sizes * (sizes - 1) // 2),
        np.concatenate([starts[x] + i for x, i, _ in many]),
        np.concatenate([starts[x] + j for x, _, j in many]),
    )


def borda(pairs: Pairs, values: Floats, cells: int) -> Floats:
    """Return what each candidate earned on average over its pairs, (cells,), from 0 to 1; 1/2 where it is in none."""
    both = np.concatenate([pairs.i, pairs.j])
    earned = np.bincount(both, weights=np.concatenate([values, 1 - values]), minlength=cells)
    count = np.bincount(both, minlength=cells)
    shares: Floats = np.divide(earned, count, out=np.full(cells, 0.5), where=count > 0)
    return np.round(shares, TIE_DECIMALS)


def connected_edges(pairs: Pairs, edges: Ints, seed: int) -> Mask:
    """Draw so many pairs of each prompt in random order, those that join two groups of candidates first."""
    chosen = np.zeros(len(pairs.prompt), dtype=bool)
    order = np.random.default_rng(seed).permutation(len(chosen))
    order = order[np.argsort(pairs.prompt[order], kind="stable")]
    prompts, first = np.unique(pairs.prompt[order], return_index=True)
    for x, its in zip(prompts.tolist(), np.split(order, first[1:]), strict=True):
        chosen[_tree_first(pairs, its, int(edges[x]))] = True
    return chosen


def _tree_first(pairs: Pairs, order: Ints, edges: int) -> list[int]:
    """Take the pairs that join two groups, in this order, then the others."""
    group: dict[int, int] = {}
    joining: list[int] = []
    others: list[int] = []
    for at in order.tolist():
        one, other = (_root(group, int(end)) for end in (pairs.i[at], pairs.j[at]))
        group[one] = other
        (others if one == other else joining).append(at)
    return [*joining, *others][:edges]


def _root(group: dict[int, int], cell: int) -> int:
    while group.setdefault(cell, cell) != cell:
        cell = group[cell]
    return cell


OF_PAIRS = ("tie_rate", "sign_agreement", "effective_agreement_decided", "effective_agreement", "gain", "recovery")
"""What a matched-pair audit reports of each way of asking (the columns of Table 4, and the gain behind recovery)."""


def of_pairs(estimands: tuple[estimand.Estimand, ...]) -> list[estimand.Estimand]:
    """Return the estimands of `OF_PAIRS`, in their order."""
    by_name = {e.name: e for e in estimands}
    return [by_name[name] for name in OF_PAIRS]


def pair_scores(values: Floats) -> Floats:
    """Return the scores of pools of two from what the first of the two earned."""
    return np.column_stack([values, 1 - values]).ravel()


def pair_sums(scores: Floats, labels: Floats, pairs: Pairs, weights: Floats | None = None) -> Floats:
    """Compute the sums of pairs as pools of two by prompt, `i` before `j`; ``recovery`` is of best of two."""
    found = prompt_sums(scores, labels, np.full(len(pairs.prompt), 2))
    if weights is not None:
        found = found * (weights / weights.mean())
    units, owner = np.unique(pairs.prompt, return_inverse=True)
    return np.array([np.bincount(owner, weights=row, minlength=len(units)) for row in found])


def gap_groups(gaps: Floats, groups: int) -> tuple[Ints, Floats]:
    """Cut gaps above 0 into at most so many groups at quantiles, equal ones together: their codes and ends."""
    cuts = np.quantile(gaps, np.arange(1, groups) / groups, method="inverted_cdf")
    cuts = np.unique(cuts[cuts < gaps.max()])
    group = np.searchsorted(cuts, gaps)
    return group, np.concatenate([[gaps.min()], cuts, [gaps.max()]])


def gap_strata(gaps: Floats, groups: int) -> tuple[Ints, list[str]]:
    """Return each pair's stratum, and the names of the strata: ties, and at most `groups` of gaps above 0."""
    gaps = compared(gaps)
    apart = gaps > 0
    strata, names = np.zeros(len(gaps), dtype=np.int64), [] if apart.all() else ["tie"]
    if apart.any():
        group, ends = gap_groups(gaps[apart], groups)
        strata[apart] = group + len(names)
        names += [_between(ends[at], ends[at + 1], first=at == 0) for at in range(len(ends) - 1)]
    return strata, names


def _between(low: float, high: float, *, first: bool) -> str:
    if low == high:
        return f"{low:g}"
    return f"{low:g} to {high:g}" if first else f"above {low:g} to {high:g}"


def even_counts(sizes: Ints, count: int) -> Ints:
    """Share a count evenly among strata of these sizes, none getting more than it holds."""
    taken = np.zeros(len(sizes), dtype=np.int64)
    left = count
    # The smallest first: what they cannot take is there for the others.
    for behind, h in enumerate(np.argsort(sizes, kind="stable").tolist()):
        taken[h] = min(int(sizes[h]), left // (len(sizes) - behind))
        left -= int(taken[h])
    return taken


def draw_in_strata(strata: Ints, count: int, seed: int) -> tuple[Ints, Floats]:
    """Draw pairs without replacement, evenly over strata; return positions, ascending, and 1 / probability."""
    sizes = np.bincount(strata)
    counts = even_counts(sizes, count)
    chance = np.random.default_rng(seed)
    drawn = np.sort(
        np.concatenate(
            [chance.choice(np.flatnonzero(strata == h), size=m, replace=False) for h, m in enumerate(counts.tolist())]
        )
    ).astype(np.int64)
    mine = strata[drawn]
    return drawn, sizes[mine] / counts[mine]


_STEP = 1e-6
"""By how much a rank among tied candidates moves a score, in the smallest gap of scores: enough to order, no more."""


def quantised(scores: Floats, bins: int, low: float, high: float) -> Floats:
    """Cut scores from `low` to `high` into bins of equal width; each becomes the middle of its bin."""
    if high <= low:
        return np.full(len(scores), low)
    # Rounded first: 0.15 * 20 is a hair below 3.
    at = np.floor(np.round((scores - low) / (high - low) * bins, TIE_DECIMALS)).clip(0, bins - 1)
    return np.round(low + (at + 0.5) * (high - low) / bins, tie_decimals(np.array([low, high])))


def between_top(scores: Floats, sizes: Ints, pairs: Pairs) -> Mask:
    """Return which pairs are of two candidates that share the highest score of their prompt."""
    top = top_of_scores.at_top(scores, sizes)
    return top[pairs.i] & top[pairs.j]


def tie_broken(scores: Floats, sizes: Ints, pairs: Pairs, values: Floats) -> Floats:
    """Order candidates that share the top by verdicts on their pairs, raising them by next to nothing."""
    kept = between_top(scores, sizes, pairs)
    earned = borda(pairs.some(kept), values[kept], len(scores))
    owner = np.repeat(np.arange(len(sizes)), sizes)
    top = np.flatnonzero(top_of_scores.at_top(scores, sizes))
    out = _in_gaps(scores)
    # Where the scores are huge beside their gaps, a step has to be one that such a number can take.
    step = max(_STEP, 4 * float(np.spacing(np.abs(out).max(initial=0.0))))
    out[top] += step * _ranks(owner[top], earned[top])
    return out


def _in_gaps(scores: Floats) -> Floats:
    """Return scores in units of the smallest gap between two that do not tie, so that a step survives rounding."""
    rounded = compared(scores)
    gap = float(np.diff(np.unique(rounded)).min(initial=np.inf))
    return rounded / gap if np.isfinite(gap) else rounded


def _ranks(owner: Ints, values: Floats) -> Floats:
    """Return the rank of each value among those of its owner, from 0; equal values share one."""
    order = np.lexsort((values, owner))
    owners, ordered = owner[order], values[order]
    new = np.diff(owners, prepend=-1) != 0
    risen = (np.diff(ordered, prepend=np.nan) > 0) & ~new
    steps = np.cumsum(risen)
    ranks = np.empty(len(values))
    ranks[order] = steps - np.repeat(steps[new], np.diff(np.flatnonzero(np.append(new, True))))
    return ranks

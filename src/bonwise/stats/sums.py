"""Per-prompt sufficient statistics, of whose totals every metric is a smooth function; how pairs of a pool stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.arrays import Floats, Ints, Mask
from bonwise.flags import TIE_DECIMALS, compared_decimals, decimals_of_pool

PairCounts = Ints
"""Of shape (4, prompts): pairs apart in score, apart in label, apart in both, and concordant."""

_SORTED_FROM = 64  # candidates: from here on, sorting costs less than looking at each pair
_SORTED_CELLS = 1 << 12  # sorted at a time, but for a single prompt that has more: what sorting takes is short-lived


def pair_counts(scores: Floats, labels: Floats) -> PairCounts:
    """Count the pairs of candidates of each prompt, exactly; scores and labels are (prompts, K), no NaN."""
    n, K = scores.shape
    if K < _SORTED_FROM:
        return single_pairs(scores, labels)
    step = max(1, _SORTED_CELLS // K)
    parts = [sorted_pairs(scores[x : x + step], labels[x : x + step]) for x in range(0, n, step)]
    return np.concatenate(parts, axis=1)


def single_pairs(scores: Floats, labels: Floats) -> PairCounts:
    """Look at each pair: K (K - 1) / 2 steps a prompt."""
    n, K = scores.shape
    S, O = _by_candidate(scores), _by_candidate(labels)
    counts, narrow = np.zeros((4, n), np.int64), np.min_scalar_type(K)
    # All pairs at distance d at once: K - 1 passes, never a K x K array.
    for d in range(1, K):
        dS, dO = _order(S[d:], S[:-d]), _order(O[d:], O[:-d])
        same = dS * dO
        for at, told_apart in enumerate((dS != 0, dO != 0, same != 0, same > 0)):
            counts[at] += np.add.reduce(told_apart.view(np.uint8), axis=0, dtype=narrow)
    return counts


def _by_candidate(values: Floats) -> Floats:
    """Put a candidate of all prompts into one row: what is compared then stands side by side in memory."""
    return np.ascontiguousarray(values.T)


def sorted_pairs(scores: Floats, labels: Floats) -> PairCounts:
    """Sort instead, about K log(K)^2 steps: then exactly discordant pairs have falling labels (Knight 1966)."""
    K = scores.shape[1]
    S, O = _ranks(scores), _ranks(labels)
    cells = np.sort(S * K + O, axis=1)
    S.sort(axis=1)
    O.sort(axis=1)
    tied_S, tied_O = _tied(S), _tied(O)
    pairs = K * (K - 1) // 2
    both = pairs - tied_S - tied_O + _tied(cells)
    return np.stack([pairs - tied_S, pairs - tied_O, both, both - _falling(cells % K)])


def _order(left: Floats, right: Floats) -> npt.NDArray[np.int8]:
    return (left > right).view(np.int8) - (left < right).view(np.int8)


def _ranks(values: Floats) -> Ints:
    """Number the distinct values of each row from 0."""
    order = values.argsort(axis=1)
    ranks = np.empty(values.shape, np.int64)
    steps = _starts(np.take_along_axis(values, order, 1)).cumsum(axis=1) - 1
    np.put_along_axis(ranks, order, steps, 1)
    return ranks


def _starts(rising: npt.NDArray[np.float64 | np.int64]) -> Mask:
    """Mark the first of each run of equal values in each row."""
    starts = np.ones(rising.shape, np.bool_)
    np.not_equal(rising[:, 1:], rising[:, :-1], out=starts[:, 1:])
    return starts


def _tied(rising: Ints) -> Ints:
    """Count the pairs of equal values in each row."""
    positions = np.arange(rising.shape[1])
    first = np.maximum.accumulate(np.where(_starts(rising), positions, 0), axis=1)
    tied: Ints = (positions - first).sum(axis=1)
    return tied


def _falling(ranks: Ints) -> Ints:
    """Count the pairs in each row of which the later is smaller, by the first binary digit in which they differ."""
    falling = np.zeros(len(ranks), np.int64)
    for digit in reversed(range((ranks.shape[1] - 1).bit_length())):
        ones = ranks >> digit & 1
        before = ones.cumsum(axis=1) - ones
        elsewhere = np.maximum.accumulate(np.where(_starts(ranks >> digit + 1), before, 0), axis=1)
        falling += ((before - elsewhere) * (1 - ones)).sum(axis=1)
        ranks = np.take_along_axis(ranks, (ranks >> digit).argsort(axis=1, kind="stable"), 1)
    return falling


def tie_decimals(column: Floats) -> int:
    """Return the decimals by which values of a column are compared; NaN and infinities do not count."""
    low, high = (float(column.min()), float(column.max())) if column.size else (np.nan, np.nan)
    if not (isfinite(low) and isfinite(high)):
        known = column[np.isfinite(column)]
        if not known.size:
            return TIE_DECIMALS
        low, high = float(known.min()), float(known.max())
    return compared_decimals(high - low, max(abs(low), abs(high)))


def compared(values: Floats) -> Floats:
    """Return the values of a column, or of several, as they are compared: beyond 9 digits of the spread all tie."""
    if values.ndim > 1:
        if not len(values):
            return values
        lows, highs = values.min(axis=0), values.max(axis=0)
        known = np.isfinite(lows) & np.isfinite(highs)
        decimals = [
            compared_decimals(high - low, max(abs(low), abs(high))) if known[at] else tie_decimals(values[:, at])
            for at, (low, high) in enumerate(zip(lows.tolist(), highs.tolist(), strict=True))
        ]
        if len(set(decimals)) == 1:
            return np.round(values, decimals[0])
        return np.stack([np.round(column, own) for column, own in zip(values.T, decimals, strict=True)], axis=1)
    return np.round(values, tie_decimals(values))


def distinct(values: Floats) -> tuple[Floats, Ints]:
    """Return the distinct values, sorted, and the place of each value among them; no NaN."""
    # Few of them are the rule for scores, and looking them up takes a fraction of the time that sorting does.
    known = np.unique(values[:: 1 + len(values) // _FIRST_VALUES])
    while len(known) < len(values) // _FEW_VALUES:
        at = np.searchsorted(known[:-1], values)
        unlike = known[at] != values
        if not unlike.any():
            return known, at
        known = np.unique(np.concatenate([known, values[unlike]]))
    known, at = np.unique(values, return_inverse=True)
    return known, at.reshape(-1)


def tied_by_rounding(values: Floats, sizes: Ints) -> int:
    """Count the cells that tie with another of their prompt only as `compared`, rounding errors of doubles apart."""
    rounded, least = compared(values), _ROUNDING * float(np.nanmax(np.abs(values), initial=0.0))
    if not (np.abs(values - rounded) > least / 2).any():
        return 0  # what is rounded to one value lies no further apart
    owner = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((values, owner))
    own, rounded, owner = values[order], rounded[order], owner[order]
    same = (owner[1:] == owner[:-1]) & (rounded[1:] == rounded[:-1])
    apart = own[1:] - own[:-1] > least
    return int(np.count_nonzero(same & apart))


def pool_decimals(values: Floats, sizes: Ints) -> Ints:
    """Return the decimals by which each pool alone is compared, as `bonwise.table.verdicts.pool_decimals` has it."""
    if not len(sizes):
        return np.zeros(0, dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    ends = np.stack([of.reduceat(values, starts) for of in (np.fmin, np.fmax)])
    order = np.lexsort(ends)
    # Pools with the same ends are looked at once.
    new = np.append(True, (np.diff(ends[:, order], axis=1) != 0).any(axis=0))
    each = np.array([decimals_of_pool(*pair) for pair in ends[:, order[new]].T.tolist()])
    decimals = np.empty(len(sizes), dtype=np.int64)
    decimals[order] = each[np.cumsum(new) - 1]
    return decimals


def rounded_each(values: Floats, decimals: Ints) -> Floats:
    """Return each value rounded to its own decimals."""
    scale = 10.0**decimals
    rounded: Floats = np.rint(values * scale) / scale
    return rounded


_ROUNDING = 1e-14

_MOST_COLUMNS = 16

_FIRST_VALUES, _FEW_VALUES = 4096, 64  # looked at first; and so few distinct ones, as a part of all, are few

_BLOCK_CELLS = 1 << 18  # cells worked on at a time: what fits the cache, and bounds the memory


class ColumnScale(NamedTuple):
    """What all prompts share of the columns of scores and labels."""

    decimals_S: int  # by which values are compared
    decimals_O: int
    middle_S: float  # at which values are centred: of a constant column its value
    middle_O: float


class Sums(NamedTuple):
    """Sums over the candidates or pairs of a prompt, each of shape (prompts,); or their totals.

    Values are centred at one value for all prompts. A candidate without score is left out where scores meet labels,
    stands below the scored ones where a pick is made, and has its label in what is of labels alone.
    """

    prompts: Floats  # 1 a prompt
    cells: Floats  # scored candidates
    S: Floats
    O: Floats
    SS: Floats
    OO: Floats
    SO: Floats
    eSS: Floats  # sum of e^S squared
    eOO: Floats
    eSO: Floats
    pairs: Floats  # of scored candidates
    apart_S: Floats  # pairs with different scores
    apart_O: Floats
    apart_both: Floats
    concordant: Floats  # pairs where the differences have the same sign
    tau: Floats  # Kendall's tau-b, 0 where undefined
    tau_defined: Floats
    tied_top: Floats  # 1 where more than one candidate has the highest score
    same_top: Floats  # |A and B| / (|A| |B|)
    hit: Floats  # |A and B| / |A|
    J: Floats
    R: Floats
    M: Floats
    judged: Floats  # 1 where two candidates or more are scored
    whole: Floats  # 1 where all are
    all_cells: Floats  # candidates K, scored or not; so all that follow
    all_O: Floats
    all_OO: Floats
    all_eOO: Floats
    all_pairs: Floats  # K (K - 1) / 2
    all_apart_O: Floats
    decided: Floats  # pairs apart in label that the judge decides, a scored candidate being above one that is not
    decided_right: Floats


def prompt_sums(
    scores: Floats, labels: Floats, sizes: Ints, ranked: Floats | None = None, shared: ColumnScale | None = None
) -> Floats:
    """Compute the sums of every prompt, (len(Sums._fields), prompts), in memory proportional to the rows.

    Scores and labels are (cells,), grouped by prompt of 2 candidates or more, a missing score NaN. The pick is made
    by `ranked`, or else the scores, below them what has none. `shared` is that of a table of which these are a part.
    """
    own = shared or _scale_of(scores, labels)
    decimals = own.decimals_S if shared or ranked is None else tie_decimals(ranked)
    middle, ranked = own[2:], scores if shared or ranked is None else ranked
    out = np.empty((len(Sums._fields), len(sizes)))
    for prompts, cells, size in _blocks(sizes):
        shape = (-1, size)
        S = np.round(scores[cells], own.decimals_S).reshape(shape)
        O = np.round(labels[cells], own.decimals_O).reshape(shape)
        whole = ~np.isnan(S).any(1)
        if whole.all():
            for row, of_block in zip(out, _block(S, O, *middle), strict=True):
                row[prompts] = of_block
            continue
        found, ranks = np.empty((len(out), len(S))), np.round(by_rank(ranked[cells]), decimals).reshape(shape)
        found[:, whole] = _block(S[whole], O[whole], *middle)
        found[:, ~whole] = _with_unscored(S[~whole], O[~whole], ranks[~whole], *middle)
        out[:, prompts] = found
    return out


class SumRows:
    """The sums of prompts as a matrix (len(Sums._fields), prompts) has them; rows that say the same are one array."""

    def __init__(self, rows: Sequence[Floats]) -> None:
        self._rows = rows

    @classmethod
    def of_scored(cls, scores: Floats, labels: Floats, sizes: Ints) -> SumRows:
        """Return what `prompt_sums` does where every candidate has a score, in two thirds of the memory."""
        own, held, places = _scale_of(scores, labels), dict[int, Floats](), list[int]()
        for prompts, cells, size in _blocks(sizes):
            S, O = np.round(scores[cells], own.decimals_S), np.round(labels[cells], own.decimals_O)
            rows = _block(S.reshape(-1, size), O.reshape(-1, size), own.middle_S, own.middle_O)
            if not held:
                places = [next(at for at, other in enumerate(rows) if other is row) for row in rows]
                held = {at: np.empty(len(sizes)) for at in dict.fromkeys(places)}
            for at, whole in held.items():
                whole[prompts] = rows[at]
        return cls([held[at] for at in places])

    @property
    def shape(self) -> tuple[int, int]:
        """The number of fields and of prompts."""
        return len(self._rows), len(self._rows[0])

    def __iter__(self) -> Iterator[Floats]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, at: tuple[slice, slice]) -> Floats:
        """Return some prompts as a matrix."""
        return np.array([row[at[1]] for row in self._rows[at[0]]])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        return np.array(self._rows, dtype=dtype)

    def sum(self, axis: int) -> Floats:
        """Return the sum of each row; `axis` is 1, as of a matrix."""
        return np.array([row.sum(axis - 1) for row in self._rows])


def by_rank(scores: Floats, sizes: Ints | None = None, first: Mask | None = None) -> Floats:
    """Return scores with what lacks one below all others; if `first` marks its first cell, that is above those."""
    lost = np.isnan(scores)
    if not lost.any():
        return scores
    ranked = np.where(lost, -np.inf, scores)
    if first is not None and sizes is not None:
        none = np.repeat(np.logical_and.reduceat(lost, np.cumsum(sizes) - sizes, axis=0), sizes, axis=0)
        # Some score of the column, so that it adds nothing to its spread.
        level = 0.0 if lost.all() else float(scores[~lost].min())
        ranked[none & (first if scores.ndim == 1 else first[:, None])] = level
    return ranked


def filled_scores(scores: Floats, sizes: Ints) -> Floats:
    """Return scores for models: where a candidate has none the lowest of its prompt, else the mean of all."""
    lost = np.isnan(scores)
    if not lost.any():
        return scores
    lowest = np.fmin.reduceat(scores, np.cumsum(sizes) - sizes)
    mean = 0.0 if lost.all() else float(scores[~lost].mean())
    return np.where(lost, np.repeat(np.where(np.isnan(lowest), mean, lowest), sizes), scores)


def _scale_of(scores: Floats, labels: Floats) -> ColumnScale:
    decimals = tie_decimals(scores), tie_decimals(labels)
    return ColumnScale(*decimals, _middle(scores, decimals[0]), _middle(labels, decimals[1]))


def _middle(values: Floats, decimals: int) -> float:
    # Centring at a value of the data, not at the mean, leaves a constant column exactly 0.
    lost = np.isnan(values)
    values = values[~lost] if lost.any() else values
    return float(np.round(values[np.abs(values - values.mean()).argmin()], decimals)) if values.size else 0.0


def _blocks(sizes: Ints) -> Iterator[tuple[Ints | slice, Ints | slice, int]]:
    """Yield prompts of one pool size together, with the positions of their cells."""
    starts = np.cumsum(sizes) - sizes
    distinct = np.unique(sizes)
    for size in distinct.tolist():
        step = max(1, _BLOCK_CELLS // size)
        if len(distinct) == 1:
            for first in range(0, len(sizes), step):
                last = min(first + step, len(sizes))
                yield slice(first, last), slice(first * size, last * size), size
            continue
        prompts = np.flatnonzero(sizes == size)
        for first in range(0, len(prompts), step):
            some = prompts[first : first + step]
            yield some, (starts[some][:, None] + np.arange(size)).ravel(), size


_SCORED = slice(1, Sums._fields.index("tied_top") + 1)
"""What is of the scored candidates alone."""


def _block(S: Floats, O: Floats, middle_S: float, middle_O: float) -> list[Floats]:
    """Compute the sums of prompts with the same number of candidates, all scored, shapes (prompts, K)."""
    n, K = S.shape
    ones = np.ones(n)
    cS, cO = S - middle_S, O - middle_O
    eS, eO = _deviations(cS), _deviations(cO)
    cells, all_O, all_OO, all_eOO = ones * K, cO.sum(1), _dot(cO, cO), _dot(eO, eO)
    moments = (cS.sum(1), all_O, _dot(cS, cS), all_OO, _dot(cS, cO), _dot(eS, eS), all_eOO, _dot(eS, eO))
    pairs, apart_S, apart_O, both, agree, *tau = _pair_sums(S, O)
    of_labels = (cells, all_O, all_OO, all_eOO, pairs, apart_O)
    judged = ones if K > 1 else np.zeros(n)
    order = (pairs, apart_S, apart_O, both, agree, *tau)
    return [ones, cells, *moments, *order, *_top_sums(S, O), judged, ones, *of_labels, both, agree]


def _with_unscored(S: Floats, O: Floats, ranked: Floats, middle_S: float, middle_O: float) -> Floats:
    """Compute the sums of prompts with candidates that have no score, shapes (prompts, K)."""
    n, K = S.shape
    scored = ~np.isnan(S)
    counts, centred = scored.sum(1), O - middle_O
    eO = _deviations(centred)
    # A pair of which one is scored is decided for it: this is what the pick does.
    _, apart_O, decided, right = pair_counts(ranked, O).astype(float)
    _, *picked = _top_sums(ranked, O)
    pairs = np.full(n, K * (K - 1) / 2)
    of_labels = (np.full(n, K), centred.sum(1), _dot(centred, centred), _dot(eO, eO), pairs, apart_O)
    out = np.zeros((len(Sums._fields), n))
    out[0] = 1.0
    out[_SCORED.stop :] = (*picked, counts > 1, np.zeros(n), *of_labels, decided, right)
    for count in np.unique(counts[counts > 0]).tolist():
        some = counts == count
        cells = scored[some]
        rows = _block(S[some][cells].reshape(-1, count), O[some][cells].reshape(-1, count), middle_S, middle_O)
        out[_SCORED, some] = rows[_SCORED]
    return out


def over_prompts(ufunc: np.ufunc, values: npt.NDArray[Any], sizes: Ints) -> npt.NDArray[Any]:
    """Reduce the cells of each prompt by a function of two values, such as ``numpy.maximum``."""
    reduced: npt.NDArray[Any] = values[:0]
    size = int(sizes[0]) if len(sizes) else 0
    if 0 < size <= _MOST_COLUMNS and len(values) == size * len(sizes) and (sizes == size).all():
        # A column at a time is many times faster than a few cells at a time.
        columns = values.reshape(-1, size).T
        reduced = columns[0].copy()
        for column in columns[1:]:
            ufunc(reduced, column, out=reduced)
    elif size:
        reduced = ufunc.reduceat(values, np.cumsum(sizes) - sizes)
    return reduced


def _dot(a: Floats, b: Floats) -> Floats:
    product: Floats = np.einsum("xi,xi->x", a, b)
    return product


def _deviations(values: Floats) -> Floats:
    deviations: Floats = values - values.mean(1, keepdims=True)
    # The mean of equal numbers need not equal them in floating point; a tied prompt has no spread.
    by_candidate = _by_candidate(values)
    deviations[by_candidate.max(0) == by_candidate.min(0)] = 0.0
    return deviations


def _pair_sums(S: Floats, O: Floats) -> tuple[Floats, ...]:
    n, K = S.shape
    apart_S, apart_O, both, agree = pair_counts(S, O).astype(float)
    reach = np.sqrt(apart_S * apart_O)
    tau = np.divide(2 * agree - both, reach, out=np.zeros(n), where=reach > 0)
    return np.full(n, K * (K - 1) / 2), apart_S, apart_O, both, agree, tau, (reach > 0).astype(float)


def _top_sums(S: Floats, O: Floats) -> tuple[Floats, ...]:
    by_candidate, labels = _by_candidate(S), _by_candidate(O)
    best = labels.max(0)
    top_S, top_O = by_candidate == by_candidate.max(0), labels == best
    size_S, size_O, shared = (np.add.reduce(top, axis=0, dtype=np.int32) for top in (top_S, top_O, top_S & top_O))
    expected = _dot(np.ascontiguousarray(top_S.T, dtype=float), O) / size_S
    mean = O.mean(1)
    # Where the judge ties all candidates its pick is the random pick, to the last bit.
    judge = np.where(size_S == S.shape[1], mean, expected)
    flat = size_O == O.shape[1]
    mean, judge = np.where(flat, best, mean), np.where(flat, best, judge)
    return (size_S > 1).astype(float), shared / (size_S * size_O), shared / size_S, judge, mean, best

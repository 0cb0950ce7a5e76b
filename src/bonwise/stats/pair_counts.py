"""How the pairs of a pool stand: how many differ in score, in label, in both, and in both the same way."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["PairCounts", "pair_counts", "single_pairs", "sorted_pairs"]

_Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int64]

PairCounts = _Ints
"""Of shape (4, prompts): pairs apart in score, apart in label, apart in both, and concordant."""

_SORTED_FROM = 64  # candidates: from here on, sorting costs less than looking at each pair
_SORTED_CELLS = 1 << 12  # sorted at a time, but for a single prompt that has more: what sorting takes is short-lived


def pair_counts(scores: _Floats, labels: _Floats) -> PairCounts:
    """Count the pairs of candidates of each prompt, exactly, in memory proportional to the number of cells.

    Parameters
    ----------
    scores, labels : ndarray of float64, shape (prompts, K)
        Equal numbers are ties; no NaN.

    Examples
    --------
    >>> pair_counts(np.array([[.9, .9, .1]]), np.array([[1., 0., 0.]])).ravel()
    array([2, 2, 1, 1])
    """
    n, K = scores.shape
    if K < _SORTED_FROM:
        return single_pairs(scores, labels)
    step = max(1, _SORTED_CELLS // K)
    parts = [sorted_pairs(scores[x : x + step], labels[x : x + step]) for x in range(0, n, step)]
    return np.concatenate(parts, axis=1)


def single_pairs(scores: _Floats, labels: _Floats) -> PairCounts:
    """Look at each pair: K (K - 1) / 2 steps a prompt."""
    n, K = scores.shape
    apart_S, apart_O, both, agree = (np.zeros(n, np.int64) for _ in range(4))
    # All pairs at distance d at once: K - 1 passes, never a K x K array.
    for d in range(1, K):
        dS = _order(scores[:, d:], scores[:, :-d])
        dO = _order(labels[:, d:], labels[:, :-d])
        same = dS * dO
        apart_S += np.count_nonzero(dS, axis=1)
        apart_O += np.count_nonzero(dO, axis=1)
        both += np.count_nonzero(same, axis=1)
        agree += np.count_nonzero(same > 0, axis=1)
    return np.stack([apart_S, apart_O, both, agree])


def sorted_pairs(scores: _Floats, labels: _Floats) -> PairCounts:
    """Sort instead: about K log(K)^2 steps a prompt.

    Of candidates in the order of their scores, and of their labels where scores tie, exactly the discordant pairs
    have falling labels (Knight 1966, doi:10.1080/01621459.1966.10480879).
    """
    K = scores.shape[1]
    S, O = _ranks(scores), _ranks(labels)
    cells = np.sort(S * K + O, axis=1)
    S.sort(axis=1)
    O.sort(axis=1)
    tied_S, tied_O = _tied(S), _tied(O)
    pairs = K * (K - 1) // 2
    both = pairs - tied_S - tied_O + _tied(cells)
    return np.stack([pairs - tied_S, pairs - tied_O, both, both - _falling(cells % K)])


def _order(left: _Floats, right: _Floats) -> npt.NDArray[np.int8]:
    return (left > right).view(np.int8) - (left < right).view(np.int8)


def _ranks(values: _Floats) -> _Ints:
    """Number the distinct values of each row from 0."""
    order = values.argsort(axis=1)
    ranks = np.empty(values.shape, np.int64)
    steps = _starts(np.take_along_axis(values, order, 1)).cumsum(axis=1) - 1
    np.put_along_axis(ranks, order, steps, 1)
    return ranks


def _starts(rising: npt.NDArray[np.float64 | np.int64]) -> npt.NDArray[np.bool_]:
    """Mark the first of each run of equal values in each row."""
    starts = np.ones(rising.shape, np.bool_)
    np.not_equal(rising[:, 1:], rising[:, :-1], out=starts[:, 1:])
    return starts


def _tied(rising: _Ints) -> _Ints:
    """Count the pairs of equal values in each row."""
    positions = np.arange(rising.shape[1])
    first = np.maximum.accumulate(np.where(_starts(rising), positions, 0), axis=1)
    tied: _Ints = (positions - first).sum(axis=1)
    return tied


def _falling(ranks: _Ints) -> _Ints:
    """Count the pairs in each row of which the later is smaller, one binary digit after the other.

    A falling pair is told by the first digit in which the two differ. Before each pass a row is in the order of the
    digits before, so that numbers with these digits in common stand together, as they came.
    """
    falling = np.zeros(len(ranks), np.int64)
    for digit in reversed(range((ranks.shape[1] - 1).bit_length())):
        ones = ranks >> digit & 1
        before = ones.cumsum(axis=1) - ones
        elsewhere = np.maximum.accumulate(np.where(_starts(ranks >> digit + 1), before, 0), axis=1)
        falling += ((before - elsewhere) * (1 - ones)).sum(axis=1)
        ranks = np.take_along_axis(ranks, (ranks >> digit).argsort(axis=1, kind="stable"), 1)
    return falling

"""Per-prompt sufficient statistics: every metric is a smooth function of their totals.

Notation as in Landesberg (2026), arXiv:2603.12520, section 3: for prompt x and candidate i, ``S`` is
the judge's score, ``O`` the oracle label, ``e`` the deviation from the prompt mean, ``A`` the set of
candidates with the highest score, ``B`` the set with the highest label, ``J`` the expected label of the
judge's pick (ties in expectation), ``R`` the mean label, ``M`` the best label.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.stats.pair_counts import pair_counts

__all__ = ["Floats", "Sums", "prompt_sums"]

Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int64]

TIE_DECIMALS = 9
"""Values are rounded to this many decimals before any tie test, so that 0.1 + 0.2 ties 0.3."""

_BLOCK_CELLS = 1 << 18  # cells worked on at a time: what fits the cache, and bounds the memory


class Sums(NamedTuple):
    """Sums over the candidates or pairs of a prompt, each of shape (prompts,); or their totals.

    ``S``, ``O``, ``SS``, ``OO``, ``SO`` are sums of values centred at one value for all prompts.
    """

    prompts: Floats  # 1 a prompt
    cells: Floats  # candidates K
    S: Floats
    O: Floats
    SS: Floats
    OO: Floats
    SO: Floats
    eSS: Floats  # sum of e^S squared
    eOO: Floats
    eSO: Floats
    pairs: Floats  # K (K - 1) / 2
    apart_S: Floats  # pairs with different scores
    apart_O: Floats
    apart_both: Floats
    concordant: Floats  # pairs where the differences have the same sign
    tau: Floats  # Kendall's tau-b, 0 where undefined
    tau_defined: Floats
    tied_top: Floats  # 1 where |A| > 1
    same_top: Floats  # |A and B| / (|A| |B|)
    hit: Floats  # |A and B| / |A|
    J: Floats
    R: Floats
    M: Floats


def prompt_sums(scores: Floats, labels: Floats, sizes: _Ints) -> Floats:
    """Compute the sums of every prompt, in memory proportional to the number of rows.

    Parameters
    ----------
    scores, labels : ndarray of float64, shape (cells,)
        Grouped by prompt, no NaN.
    sizes : ndarray of int64, shape (prompts,)
        Candidates per prompt, 2 or more.

    Returns
    -------
    ndarray of float64, shape (len(Sums._fields), prompts)
        ``Sums(*matrix)`` names the rows.

    Examples
    --------
    >>> sums = Sums(*prompt_sums(np.array([.9, .9, .1]), np.array([1., 0., 0.]), np.array([3])))
    >>> float(sums.J[0]), float(sums.pairs[0]), float(sums.apart_S[0])
    (0.5, 3.0, 2.0)
    """
    scores, labels = np.round(scores, TIE_DECIMALS), np.round(labels, TIE_DECIMALS)
    out = np.empty((len(Sums._fields), len(sizes)))
    middle = _middle(scores), _middle(labels)
    for prompts, cells, size in _blocks(sizes):
        shape = (-1, size)
        out[:, prompts] = _block(scores[cells].reshape(shape), labels[cells].reshape(shape), *middle)
    return out


def _middle(values: Floats) -> float:
    # Centring at a value of the data, not at the mean, leaves a constant column exactly 0.
    return float(values[np.abs(values - values.mean()).argmin()]) if values.size else 0.0


def _blocks(sizes: _Ints) -> Iterator[tuple[_Ints | slice, _Ints | slice, int]]:
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


def _block(S: Floats, O: Floats, middle_S: float, middle_O: float) -> Floats:
    """Compute the sums of prompts with the same number of candidates, shapes (prompts, K)."""
    n, K = S.shape
    ones = np.ones(n)
    cS, cO = S - middle_S, O - middle_O
    eS, eO = _deviations(cS), _deviations(cO)
    moments = (
        cS.sum(1),
        cO.sum(1),
        _dot(cS, cS),
        _dot(cO, cO),
        _dot(cS, cO),
        _dot(eS, eS),
        _dot(eO, eO),
        _dot(eS, eO),
    )
    return np.array([ones, ones * K, *moments, *_pair_sums(S, O), *_top_sums(S, O)])


def _dot(a: Floats, b: Floats) -> Floats:
    product: Floats = np.einsum("xi,xi->x", a, b)
    return product


def _deviations(values: Floats) -> Floats:
    deviations: Floats = values - values.mean(1, keepdims=True)
    # The mean of equal numbers need not equal them in floating point; a tied prompt has no spread.
    deviations[values.max(1) == values.min(1)] = 0.0
    return deviations


def _pair_sums(S: Floats, O: Floats) -> tuple[Floats, ...]:
    n, K = S.shape
    apart_S, apart_O, both, agree = pair_counts(S, O).astype(float)
    reach = np.sqrt(apart_S * apart_O)
    tau = np.divide(2 * agree - both, reach, out=np.zeros(n), where=reach > 0)
    return np.full(n, K * (K - 1) / 2), apart_S, apart_O, both, agree, tau, (reach > 0).astype(float)


def _top_sums(S: Floats, O: Floats) -> tuple[Floats, ...]:
    best = O.max(1)
    top_S, top_O = S == S.max(1, keepdims=True), O == best[:, None]
    size_S, size_O = top_S.sum(1), top_O.sum(1)
    shared = (top_S & top_O).sum(1)
    expected = _dot(top_S.astype(float), O) / size_S
    mean = O.mean(1)
    # Where the judge ties all candidates its pick is the random pick, to the last bit.
    judge = np.where(size_S == S.shape[1], mean, expected)
    flat = size_O == O.shape[1]
    mean, judge = np.where(flat, best, mean), np.where(flat, best, judge)
    return (size_S > 1).astype(float), shared / (size_S * size_O), shared / size_S, judge, mean, best

"""Krippendorff's alpha: how much annotators agree beyond chance, with an interval clustered by prompt.

Notation as in Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability": a unit is what is labelled, ``m``
is how many labels it has, ``n`` how many labels there are in units with two or more, ``n_c`` how many of those are
``c``, ``D_o`` the observed and ``D_e`` the expected disagreement.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array, diags_array

from bonwise.stats.clusters import cluster_codes, too_few_clusters
from bonwise.stats.estimate import Estimate
from bonwise.stats.estimation import from_jackknife
from bonwise.stats.jackknife import Scatter
from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = ["Level", "krippendorff_alpha"]

Level = Literal["nominal", "ordinal", "interval"]

_Ints = npt.NDArray[np.int64]

_MOST_NUMBERS = 1 << 22
"""Numbers that a block of clusters may hold by label at a time."""

_LIMITS = (-1.0, 1.0)

_ROUNDING = 1e-12


class _PairableLabels(NamedTuple):
    """The labels of units that have two or more, sorted by cluster.

    ``code`` is the position of a label among the distinct ones, ``of`` its unit, ``weight`` is 1 / (m - 1), and
    ``starts`` says where the labels of each cluster begin.
    """

    code: _Ints
    of: _Ints
    weight: Floats
    cluster: _Ints
    starts: _Ints
    distinct: Floats


def krippendorff_alpha(
    labels: Floats,
    units: _Ints,
    prompts: _Ints,
    level: Level,
    *,
    clusters: _Ints | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Estimate Krippendorff's alpha, ``1 - D_o / D_e``, and its jackknife interval over prompts.

    Alpha is 1 where all labels of every unit agree, and 0 where they agree as labels drawn at random from all would.

    Parameters
    ----------
    labels : ndarray of float64, shape (labels,)
        No NaN.
    units : ndarray of int64, shape (labels,)
        What each label is of; a unit with one label tells nothing of agreement.
    prompts : ndarray of int64, shape (labels,)
        The prompt of each label; all labels of a unit are of one prompt.
    level : {"nominal", "ordinal", "interval"}
        Whether two labels are the same or not, differ by the labels between them, or by their distance.
    clusters : ndarray of int64, shape (labels,), optional
        The cluster of the prompt of each label, where prompts belong together.
    confidence : float
        Two-sided, in (0, 1).

    Returns
    -------
    Estimate
        ``n`` counts the prompts that have a unit with two labels.

    Examples
    --------
    >>> units = np.array([0, 0, 1, 1, 2, 2])
    >>> round(krippendorff_alpha(np.array([1.0, 1, 2, 2, 1, 2]), units, units, "nominal").estimate, 4)
    0.4444
    """
    several = np.bincount(units, minlength=1)[units] > 1
    n = len(np.unique(prompts[several]))
    if not n:
        return Estimate.undefined("no candidate has two labels", 0)
    own = (prompts if clusters is None else clusters)[several]
    found = _sorted_by_cluster(np.round(labels[several], TIE_DECIMALS), units[several], own)
    if len(found.distinct) < 2:
        return Estimate.undefined("undefined: all labels are the same", n)
    value, left_out = {"nominal": _nominal, "ordinal": _ordinal, "interval": _interval}[level](found)
    few = too_few_clusters(None if clusters is None else own)
    if few:
        return Estimate(value, None, None, None, n, None, reason=f"no interval: {few}")
    return from_jackknife(value, Scatter.without(left_out), n, _LIMITS, confidence, exact=None)


def _sorted_by_cluster(labels: Floats, units: _Ints, clusters: _Ints) -> _PairableLabels:
    cluster, _ = cluster_codes(clusters)
    order = np.argsort(cluster, kind="stable")
    distinct, code = np.unique(labels[order], return_inverse=True)
    of, _ = cluster_codes(units[order])
    cluster = cluster[order]
    starts = np.flatnonzero(np.diff(cluster, prepend=-1))
    weight = 1.0 / (np.bincount(of)[of].astype(np.float64) - 1.0)
    return _PairableLabels(code.reshape(-1).astype(np.int64), of, weight, cluster, starts, distinct)


def _nominal(found: _PairableLabels) -> tuple[float, Floats]:
    """Return alpha of labels that are the same or not, and alpha without each cluster in turn."""
    # Labels of a unit that are the same: each of the k equal labels meets k - 1 others.
    pair = found.of * len(found.distinct) + found.code
    _, at, equal = np.unique(pair, return_inverse=True, return_counts=True)
    others = equal[at.reshape(-1)].astype(np.float64) - 1.0
    agreeing = np.add.reduceat(others * found.weight, found.starts)
    sizes = np.diff(found.starts, append=len(found.code)).astype(np.float64)
    totals = np.bincount(found.code, minlength=len(found.distinct)).astype(np.float64)
    # Of each cluster: the sum over labels c of n_c n_c(cluster), and of n_c(cluster) squared.
    own, counts = np.unique(found.cluster * len(found.distinct) + found.code, return_counts=True)
    whose, which = own // len(found.distinct), own % len(found.distinct)
    crossed = np.bincount(whose, weights=totals[which] * counts)
    squared = np.bincount(whose, weights=counts.astype(np.float64) ** 2)
    total, n = float(totals @ totals), float(len(found.code))
    value = _alpha_of_shares(np.array(agreeing.sum()), np.array(total), np.array(n))
    squares: Floats = np.asarray(total - 2 * crossed + squared, dtype=np.float64)
    rest = _alpha_of_shares(agreeing.sum() - agreeing, squares, n - sizes)
    return float(value), rest


def _alpha_of_shares(agreeing: Floats, squares: Floats, n: Floats) -> Floats:
    """Return alpha from the agreeing labels, the sum of ``n_c`` squared and ``n``."""
    observed, expected = n - agreeing, n * n - squares
    return _one_less(observed * (n - 1), expected)


def _one_less(numerator: Floats, denominator: Floats) -> Floats:
    ratio = np.divide(numerator, denominator, out=np.full(np.shape(numerator), np.nan), where=denominator > 0)
    return np.asarray(1.0 - ratio)


def _interval(found: _PairableLabels) -> tuple[float, Floats]:
    """Return alpha of labels that differ by their distance, and alpha without each cluster in turn."""
    place = (found.distinct - found.distinct.mean())[found.code]
    sums = np.array(
        [np.add.reduceat(row, found.starts) for row in (np.ones(len(place)), place, place**2, _met(found, place))]
    )
    totals = sums.sum(axis=1)
    return float(_alpha_of_sums(*totals)), _alpha_of_sums(*(totals[:, None] - sums))


def _met(found: _PairableLabels, place: Floats) -> Floats:
    """Return of each label the sum of its products with the other labels of its unit, over m - 1."""
    sums = np.bincount(found.of, weights=place)
    products: Floats = place * (sums[found.of] - place) * found.weight
    return products


def _ordinal(found: _PairableLabels) -> tuple[float, Floats]:
    """Return alpha of labels that are in an order, and alpha without each cluster in turn.

    The difference of two labels is that of their mean ranks among all labels: the sum of ``n_g`` from c to k less
    half of ``n_c + n_k``. Leaving a cluster out changes the ranks, so each cluster has ranks of its own.
    """
    width = len(found.distinct)
    totals = np.bincount(found.code, minlength=width).astype(np.float64)
    met = _coincidences(found, width)
    place = _mean_ranks(totals)
    value = _alpha_of_places(place, totals, place @ (met @ place))
    left_out = []
    ends = np.append(found.starts[1:], len(found.code))
    step = max(1, _MOST_NUMBERS // width)
    for first in range(0, len(found.starts), step):
        last = min(first + step, len(ends))
        some = slice(found.starts[first], ends[last - 1])
        at = found.cluster[some] - first
        counts = np.zeros((last - first, width))
        np.add.at(counts, (at, found.code[some]), 1.0)
        rest = totals - counts
        places = _mean_ranks(rest)
        block = _PairableLabels(
            found.code[some], cluster_codes(found.of[some])[0], found.weight[some], at, found.starts, found.distinct
        )
        own = np.bincount(at, weights=_met(block, places[at, block.code]), minlength=last - first)
        left_out.append(_alpha_of_places(places, rest, np.einsum("gv,gv->g", (met @ places.T).T, places) - own))
    return float(value), np.concatenate(left_out)


def _coincidences(found: _PairableLabels, width: int) -> csr_array:
    """Return how often each label meets each other one in a unit, over m - 1: shape (labels, labels)."""
    held = coo_array((np.ones(len(found.code)), (found.of, found.code))).tocsr()
    weight = np.zeros(held.shape[0])
    weight[found.of] = found.weight
    # A label meets those of its unit, itself left out.
    itself = np.bincount(found.code, weights=found.weight, minlength=width)
    return csr_array(held.T @ (held * weight[:, None]) - diags_array(itself))


def _mean_ranks(counts: Floats) -> Floats:
    """Return the mean rank of each label, where each occurs as often as `counts` says, along the last axis."""
    ranks: Floats = np.cumsum(counts, axis=-1) - counts / 2
    return ranks


def _alpha_of_places(place: Floats, counts: Floats, products: Floats) -> Floats:
    """Return alpha from the place of each label, how often it occurs, and the products of those that meet."""
    return _alpha_of_sums(
        counts.sum(axis=-1), (counts * place).sum(axis=-1), (counts * place * place).sum(axis=-1), products
    )


def _alpha_of_sums(n: Floats, first: Floats, second: Floats, products: Floats) -> Floats:
    """Return alpha from the number of labels, the sums of their places and of the squares, and their products."""
    observed, expected = second - products, n * second - first * first
    # Where all labels are the same, only rounding keeps what is expected from 0.
    expected = np.where(expected > _ROUNDING * n * second, expected, 0.0)
    return _one_less(np.maximum(observed, 0.0) * (n - 1), expected)

"""Gain and recovery with their intervals, from whole pools and pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from bonwise.stats.clusters import FEWEST, cluster_sums
from bonwise.stats.end_laws import RecoveryNearOne
from bonwise.stats.estimate import NOT_DISTINGUISHABLE, Estimate
from bonwise.stats.estimation import IntervalRule, from_jackknife
from bonwise.stats.jackknife import Scatter
from bonwise.stats.kurtosis import kurtosis_df
from bonwise.stats.laws import Fieller, Student
from bonwise.stats.partial.whole_and_pair import WholeAndPairDraw, WholeAndPairParts, whole_and_pair
from bonwise.stats.sums import Floats

__all__ = ["FEWEST_WHOLE_LABELLED", "WholeAndPairEstimates", "whole_and_pair_estimates"]

FEWEST_WHOLE_LABELLED = 8
"""Whole pools below which recovery is not estimated."""

_FEWEST_IN_STRATUM = 2  # that show how much they differ

_Strata = np.typing.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class WholeAndPairEstimates:
    """What whole pools and pairs tell of a judge."""

    gain: Estimate
    recovery: Estimate
    predicted: float = field(default=0.0)
    """Share of the variance of the best label less the mean, within strata, that pairs predict."""


def whole_and_pair_estimates(
    draw: WholeAndPairDraw, labels: Floats, rule: IntervalRule, *, seed: int = 0
) -> WholeAndPairEstimates:
    """Estimate gain and recovery for all prompts.

    Parameters
    ----------
    draw : WholeAndPairDraw
        Strata as they were drawn: those with too few labels are joined to a neighbour of their kind.
    labels : ndarray of float64, shape (cells,)
    rule : IntervalRule
        Its confidence, range of labels and clusters; intervals are by their usual law also where it asks for a
        bootstrap.
    seed : int
        Of the folds of the model.
    """
    joined = replace(draw, strata=_joined(draw))
    n, whole = int((draw.whole | draw.pairs).sum()), int(draw.whole.sum())
    reason = _too_few(joined, whole)
    if reason:
        found = Estimate.undefined(reason, n).with_method("cells")
        return WholeAndPairEstimates(found, found)
    parts = whole_and_pair(joined, labels, seed=seed)
    units = 0 if rule.clusters is None else len(np.unique(rule.clusters))
    if 0 < units < FEWEST:
        reason = f"no interval: {units} clusters, and an interval needs {FEWEST}"
        values = (float(parts.gain.mean()), float(parts.gain.mean() / parts.best.mean()))
        gain, recovery = (Estimate(one, None, None, None, n, None, "cells", reason) for one in values)
        return WholeAndPairEstimates(gain, recovery, parts.predicted)
    gain, recovery = _gain(parts, rule, n), _recovery(parts, rule, n)
    return WholeAndPairEstimates(gain.with_method("cells"), recovery.with_method("cells"), parts.predicted)


def _joined(draw: WholeAndPairDraw) -> _Strata:
    """Number strata anew so that each holds two whole pools, and each open one two pairs where there are any."""
    found = np.zeros(len(draw.sizes), dtype=np.int64)
    start = 0
    for mine in (np.flatnonzero(draw.open), np.flatnonzero(~draw.open)):
        if not len(mine):
            continue
        codes = np.unique(draw.strata[mine], return_inverse=True)[1].reshape(-1)
        whole, pairs = (
            np.bincount(codes[mask[mine]], minlength=codes.max() + 1) for mask in (draw.whole, draw.pairs)
        )
        new = _numbered(whole.tolist(), pairs.tolist())
        found[mine] = start + new[codes]
        start = int(found[mine].max()) + 1
    return found


def _numbered(whole: Sequence[int], pairs: Sequence[int]) -> _Strata:
    """Join each stratum that holds too little to the next, the last to the one before."""
    found, new, held_whole, held_pairs = [], 0, 0, 0
    for k, m in zip(whole, pairs, strict=True):
        found.append(new)
        held_whole, held_pairs = held_whole + k, held_pairs + m
        if held_whole >= _FEWEST_IN_STRATUM and held_pairs != 1:
            new, held_whole, held_pairs = new + 1, 0, 0
    return np.minimum(np.array(found, dtype=np.int64), max(new - 1, 0))


def _too_few(draw: WholeAndPairDraw, whole: int) -> str:
    if whole < FEWEST_WHOLE_LABELLED:
        return f"undefined: needs {FEWEST_WHOLE_LABELLED} pools that are labelled whole, and {whole} are"
    counts, prompts = np.bincount(draw.strata, weights=draw.whole), np.bincount(draw.strata)
    if (counts < np.minimum(prompts, _FEWEST_IN_STRATUM)).any():
        return "undefined: needs 2 whole pools among those that the judge ties entirely, and 2 among the others"
    return ""


def _scatter(values: Floats, rule: IntervalRule) -> Floats:
    """Return what each prompt, or cluster, adds to means of some values, shape (means, units)."""
    centred = values - values.mean(axis=1, keepdims=True)
    found: Floats = cluster_sums(centred, rule.clusters) / values.shape[1]
    return found


def _covariance(added: Floats) -> Floats:
    units = added.shape[1]
    found: Floats = added @ added.T * (units / (units - 1))
    return found


def _gain(parts: WholeAndPairParts, rule: IntervalRule, n: int) -> Estimate:
    low, high = rule.label_range
    limits = (low - high, high - low)
    added = _scatter(parts.gain[None, :], rule)
    value, se = float(parts.gain.mean()), float(np.sqrt(_covariance(added)[0, 0]))
    df = kurtosis_df(added[0])
    value = min(max(value, limits[0]), limits[1])
    law = Student(value, se, df, limits)
    return from_jackknife(value, Scatter(se, df), n, limits, rule.confidence, exact=None, law=law)


def _recovery(parts: WholeAndPairParts, rule: IntervalRule, n: int) -> Estimate:
    gain, best = float(parts.gain.mean()), float(parts.best.mean())
    if best <= 0:
        return Estimate.undefined(NOT_DISTINGUISHABLE, n)
    value, limits = gain / best, (-np.inf, 1.0)
    added = _scatter(np.stack((parts.gain, parts.best)), rule)
    C, along = _covariance(added), added[0] - value * added[1]
    df, se = kurtosis_df(along), float(np.sqrt(_covariance(along[None, :])[0, 0])) / best
    ratio = Fieller(gain, best, float(C[0, 0]), float(C[0, 1]), float(C[1, 1]), df, limits)
    if ratio.at(rule.confidence) is None:
        return Estimate.undefined(NOT_DISTINGUISHABLE, n)
    value = min(value, 1.0)
    law = RecoveryNearOne.over(ratio, value, se, df)
    return from_jackknife(value, Scatter(se, df), n, limits, rule.confidence, exact=None, law=law)

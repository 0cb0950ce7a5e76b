"""Gain and recovery where some pools are labelled whole and, of others, a top candidate and one of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.stats import clusters, estimand, estimation, jackknife, laws, support

FEWEST_TO_FIT = 12
"""Whole open pools from which the best label is predicted by what a pair shows."""

_FOLDS = 5
_PAIR_VARIANCE = 2.0  # of D, in units of the variance of labels in a pool


@dataclass(frozen=True, eq=False)
class WholeAndPairDraw:
    """Which pools are labelled whole, and which pairs are."""

    sizes: Ints = field(repr=False)
    """K, 2 or more."""
    top: Mask = field(repr=False)
    """A: cells with the highest score of their prompt."""
    whole: Mask = field(repr=False)
    """Drawn whole, and labelled so."""
    picks: Ints = field(repr=False)
    others: Ints = field(repr=False)
    """Both: cell of the labelled top candidate, and of the labelled other one, of a pair; -1 where none is."""
    strata: Ints = field(repr=False)
    """Whole pools and pairs were drawn alike within each; open prompts and prompts that the judge ties entirely lie
    in different ones, as `joined_strata` makes them.
    """

    @cached_property
    def tied(self) -> Ints:
        """Return a, shape (prompts,)."""
        return np.add.reduceat(self.top.astype(np.int64), self.starts)

    @cached_property
    def starts(self) -> Ints:
        """Return the first cell of each prompt."""
        return np.cumsum(self.sizes) - self.sizes

    @property
    def open(self) -> Mask:
        """Whether the judge tells candidates of a prompt apart."""
        return self.tied < self.sizes

    @property
    def pairs(self) -> Mask:
        """Whether a pair of the prompt is labelled."""
        return (self.picks >= 0) & (self.others >= 0)

    @property
    def drawn(self) -> Mask:
        """Whether a cell was drawn and is labelled, shape (cells,)."""
        cells: Mask = np.repeat(self.whole, self.sizes)
        cells[np.concatenate((self.picks[self.pairs], self.others[self.pairs]))] = True
        return cells

    @cached_property
    def whole_variance(self) -> Floats:
        """Return ``1/a + 1/(K-a)``, the variance of D of a whole pool by that of its labels; 0 where all tie."""
        return np.where(self.open, 1 / self.tied + 1 / np.maximum(self.sizes - self.tied, 1), 0.0)


@dataclass(frozen=True, eq=False)
class WholeAndPairParts:
    """What every prompt adds to the two means that recovery is the ratio of."""

    gain: Floats = field(repr=False)
    """psi1, psi2: their means estimate those of Y1 and Y2, their covariance over prompts that of estimates."""
    best: Floats = field(repr=False)
    """psi1, psi2: their means estimate those of Y1 and Y2, their covariance over prompts that of estimates."""
    predicted: float
    """Share of the variance of Y2 among whole open pools, within strata, that pairs predict out of sample; 0 where
    nothing is fitted.
    """


def whole_and_pair(draw: WholeAndPairDraw, labels: Floats, *, seed: int = 0) -> WholeAndPairParts:
    """Estimate Y1 and Y2 of all prompts from whole pools and pairs, a random sample each within a stratum.

    Each open stratum holds 2 whole pools or more, and no pair or 2 and more; each other one 2 whole pools, or its
    only prompt. `labels`, (cells,), are read at the labelled cells only.

    Y1, 0 where the judge ties all, is the mean of c D, weighted by 1 / v: v is 2 for pairs and, for whole pools, the
    mean of ``1/a + 1/(K-a)`` over the stratum, the variances of D where labels of a pool are independent. The weights
    look at no label, so that they bring no bias.

    Y2 is sampled in two phases: with z = beta'(D, abs(D)), whose mean over the pairs of a pool is known for whole
    pools, it is the mean of z over whole pools and pairs plus that of Y2 - z over whole pools. beta is a ridge of Y2
    on z within strata; whole pools of a fold use that of the others, pairs the mean: the correction has a mean of 0.
    """
    known = _Known.of(draw, labels)
    slopes, predicted = _slopes(draw, known, seed)
    gain, best = np.zeros(len(draw.sizes)), np.zeros(len(draw.sizes))
    for mine in _groups(draw.strata):
        if draw.open[mine[0]]:
            gain[mine] = _contrast(draw, known, mine)
            best[mine] = _two_phases(draw, known, slopes, mine)
        else:
            best[mine] = _one_phase(known.best[mine], draw.whole[mine])
    return WholeAndPairParts(gain, best, predicted)


def pair_features(top: Floats, rest: Floats) -> tuple[float, float]:
    """Return the means of D and abs(D) over pairs of a top candidate and another: best, mean and range of a pair."""
    apart = top[:, None] - rest[None, :]
    return float(apart.mean()), float(np.abs(apart).mean())


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """What labels say of each prompt, 0 where they say nothing: c D, Y2 of whole pools, and (D, abs(D))."""

    contrast: Floats
    best: Floats
    features: Floats

    @classmethod
    def of(cls, draw: WholeAndPairDraw, labels: Floats) -> _Known:
        n, share = len(draw.sizes), 1 - draw.tied / draw.sizes
        contrast, best, features = np.zeros(n), np.zeros(n), np.zeros((n, 2))
        at = np.flatnonzero(draw.pairs)
        D = labels[draw.picks[at]] - labels[draw.others[at]]
        features[at] = np.column_stack((D, np.abs(D)))
        for x in np.flatnonzero(draw.whole).tolist():
            cells = slice(draw.starts[x], draw.starts[x] + draw.sizes[x])
            pool, top = labels[cells], draw.top[cells]
            best[x] = pool.max() - pool.mean()
            if draw.open[x]:
                features[x] = pair_features(pool[top], pool[~top])
        contrast = share * features[:, 0]
        return cls(contrast, best, features)


def _groups(strata: Ints) -> list[Ints]:
    order = np.argsort(strata, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(strata[order])) + 1)


def _within(values: Floats, strata: Ints) -> Floats:
    """Return values less the mean of their stratum."""
    _, of = np.unique(strata, return_inverse=True)
    count = np.bincount(of)
    means = np.column_stack([np.bincount(of, weights=column) / count for column in values.T])
    return values - means[of]


def _slopes(draw: WholeAndPairDraw, known: _Known, seed: int) -> tuple[Floats, float]:
    """Return beta for each prompt, shape (prompts, 2), fitted without its fold, and the share that it predicts."""
    slopes = np.zeros((len(draw.sizes), 2))
    rows = np.flatnonzero(draw.whole & draw.open)
    if len(rows) < FEWEST_TO_FIT or not draw.pairs.any():
        return slopes, 0.0
    strata, fold = draw.strata[rows], _folds(draw.strata[rows], seed)
    for one in range(_FOLDS):
        others = rows[fold != one]
        slopes[rows[fold == one]] = _ridge(known, others, draw.strata[others])
    both = _within(np.column_stack((known.best[rows], np.sum(slopes[rows] * known.features[rows], axis=1))), strata)
    whole = float(both[:, 0] @ both[:, 0])
    left = both[:, 0] - both[:, 1]
    return slopes, 1 - float(left @ left) / whole if whole > 0 else 0.0


def _folds(strata: Ints, seed: int) -> Ints:
    """Return the fold of each whole pool: those of a stratum are spread over all folds."""
    rng = np.random.default_rng([seed, 17])
    order = np.lexsort((rng.random(len(strata)), strata))
    found = np.empty(len(strata), dtype=np.int64)
    found[order] = np.arange(len(strata)) % _FOLDS
    return found


def _ridge(known: _Known, rows: Ints, strata: Ints) -> Floats:
    """Fit Y2 on (D, abs(D)) within strata, standardised, with a penalty of 1 + m / 1000."""
    both = _within(np.column_stack((known.best[rows], known.features[rows])), strata)
    y, Z = both[:, 0], both[:, 1:]
    scale = np.sqrt(np.mean(Z**2, axis=0))
    scale = np.where(scale > 0, scale, 1.0)
    Z = Z / scale
    return np.linalg.solve(Z.T @ Z + (1 + 0.001 * len(rows)) * np.eye(Z.shape[1]), Z.T @ y) / scale


def _contrast(draw: WholeAndPairDraw, known: _Known, mine: Ints) -> Floats:
    """Return psi1 of the prompts of an open stratum."""
    usable = draw.whole[mine] | draw.pairs[mine]
    whole = float(draw.whole_variance[mine].mean())
    weight = np.where(draw.whole[mine], 1 / whole, 1 / _PAIR_VARIANCE) * usable
    values, total, k = known.contrast[mine], float(weight.sum()), int(usable.sum())
    mean = float(weight @ values) / total
    found: Floats = mean + len(mine) / total * weight * (values - mean) * np.sqrt(k / max(k - 1, 1))
    return found


def _two_phases(draw: WholeAndPairDraw, known: _Known, slopes: Floats, mine: Ints) -> Floats:
    """Return psi2 of the prompts of an open stratum."""
    whole, pairs = draw.whole[mine], draw.pairs[mine]
    k, m = int(whole.sum()), int(pairs.sum())
    shared = m / (k + m)
    z_whole = shared * np.sum(slopes[mine] * known.features[mine], axis=1)
    found = _one_phase(known.best[mine] - z_whole, whole)
    if m:
        z_pairs = shared * known.features[mine] @ slopes[mine[whole]].mean(axis=0)
        found = found + _one_phase(z_pairs, pairs)
    return found


def _one_phase(values: Floats, drawn: Mask) -> Floats:
    """Return what each prompt of a stratum adds to the mean of a random sample of it."""
    k = int(drawn.sum())
    mean = float(values[drawn].mean())
    return mean + np.where(drawn, len(values) / k * (values - mean) * np.sqrt(k / max(k - 1, 1)), 0.0)


FEWEST_WHOLE_LABELLED = 8
"""Whole pools below which recovery is not estimated."""

_FEWEST_IN_STRATUM = 2  # that show how much they differ

_Strata = Ints


@dataclass(frozen=True, slots=True, eq=False)
class WholeAndPairEstimates:
    """What whole pools and pairs tell of a judge."""

    gain: estimand.Estimate
    recovery: estimand.Estimate
    predicted: float = field(default=0.0)
    """Share of the variance of the best label less the mean, within strata, that pairs predict."""


def whole_and_pair_estimates(
    draw: WholeAndPairDraw, labels: Floats, rule: estimation.IntervalRule, *, seed: int = 0
) -> WholeAndPairEstimates:
    """Estimate gain and recovery for all prompts from `labels`, (cells,); thin strata join one of their kind."""
    joined = replace(draw, strata=_joined(draw))
    n, whole = int((draw.whole | draw.pairs).sum()), int(draw.whole.sum())
    reason = _too_few(joined, whole)
    if reason:
        estimate = estimand.Estimate.undefined(reason, n).with_method("cells")
        return WholeAndPairEstimates(estimate, estimate)
    parts = whole_and_pair(joined, labels, seed=seed)
    units = 0 if rule.clusters is None else len(np.unique(rule.clusters))
    if 0 < units < clusters.FEWEST:
        reason = f"no interval: {units} clusters, and an interval needs {clusters.FEWEST}"
        values = (float(parts.gain.mean()), float(parts.gain.mean() / parts.best.mean()))
        gain, recovery = (estimand.Estimate(value, None, None, None, n, None, "cells", reason) for value in values)
        return WholeAndPairEstimates(gain, recovery, parts.predicted)
    estimates = {"gain": _gain(parts, rule, n), "recovery": _recovery(parts, rule, n)}
    seen = support.SeenPools.of(np.where(draw.drawn, labels, np.nan), draw.top, draw.sizes)
    room = float(parts.best.mean())
    worth = {
        name: support.Worth(support.worth_of_mean(parts.best, pools, rule.clusters), pools, pools * room)
        for name, pools in (("gain", n), ("recovery", whole))
    }
    estimates |= support.with_support(estimates, worth, seen.further, rule)
    gain, recovery = (estimates[name].with_method("cells") for name in estimates)
    return WholeAndPairEstimates(gain, recovery, parts.predicted)


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


def _scatter(values: Floats, rule: estimation.IntervalRule) -> Floats:
    """Return what each prompt, or cluster, adds to means of some values, shape (means, units)."""
    centred = values - values.mean(axis=1, keepdims=True)
    found: Floats = clusters.cluster_sums(centred, rule.clusters) / values.shape[1]
    return found


def _covariance(added: Floats) -> Floats:
    units = added.shape[1]
    found: Floats = added @ added.T * (units / (units - 1))
    return found


def _gain(parts: WholeAndPairParts, rule: estimation.IntervalRule, n: int) -> estimand.Estimate:
    low, high = rule.label_range
    limits = (low - high, high - low)
    added = _scatter(parts.gain[None, :], rule)
    value, se = float(parts.gain.mean()), float(np.sqrt(_covariance(added)[0, 0]))
    df, skew = jackknife.kurtosis_df(added[0]), jackknife.skewness(added[0])
    value = min(max(value, limits[0]), limits[1])
    law, scatter = laws.Student(value, se, df, limits, skew=skew), jackknife.Scatter(se, df, size=rule.label_width)
    return estimation.from_jackknife(value, scatter, n, limits, rule.confidence, exact=None, law=law)


def _recovery(parts: WholeAndPairParts, rule: estimation.IntervalRule, n: int) -> estimand.Estimate:
    gain, best = float(parts.gain.mean()), float(parts.best.mean())
    if best <= 0:
        return estimand.Estimate.undefined(estimand.NOT_DISTINGUISHABLE, n)
    value, limits = gain / best, (-np.inf, 1.0)
    added = _scatter(np.stack((parts.gain, parts.best)), rule)
    C, along = _covariance(added), added[0] - value * added[1]
    df, se = jackknife.kurtosis_df(along), float(np.sqrt(_covariance(along[None, :])[0, 0])) / best
    ratio = laws.Fieller(gain, best, float(C[0, 0]), float(C[0, 1]), float(C[1, 1]), df, limits)
    if ratio.at(rule.confidence) is None:
        return estimand.Estimate.undefined(estimand.NOT_DISTINGUISHABLE, n)
    value = min(value, 1.0)
    law = laws.RecoveryNearOne.over(ratio, value, se, df)
    return estimation.from_jackknife(
        value, jackknife.Scatter(se, df), n, limits, rule.confidence, exact=None, law=law
    )

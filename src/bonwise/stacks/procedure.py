"""The whole procedure on any prompts: folds, a ridge chosen, a fit, and the best judge where nothing is won."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.progress import counting
from bonwise.stacks.ridge_path import LabelledPairs, RidgePath, labelled_pairs, ridge_path
from bonwise.stats.clusters import cluster_codes
from bonwise.stats.sums import by_rank, compared, prompt_sums, tie_decimals

FOLDS, INNER, PARTITIONS, GROUPS = 10, 5, 3, 20
_MOST_PARTS = 200


@dataclass(frozen=True, eq=False)
class Deal:
    """How prompts are dealt out. A cluster of prompts is never divided."""

    parts: Ints
    """The part of each prompt: what folds and groups are made of. There are at most 200."""
    folds: Ints
    """Number of the fold that is held out with the part."""
    inner: Ints
    """Number of the inner fold, by which ridge and fallback are chosen."""
    groups: Ints
    """Number of the group that the jackknife leaves out with the part."""

    @property
    def count(self) -> int:
        """Number of parts."""
        return len(self.groups)


def deal(prompts: int, clusters: Ints | None, *, seed: int, partitions: int = PARTITIONS) -> Deal:
    """Deal prompts out by a seeded generator; `partitions` is how often all are dealt into folds."""
    rng = np.random.default_rng(seed)
    units, count = (np.arange(prompts), prompts) if clusters is None else cluster_codes(clusters)
    parts = min(count, _MOST_PARTS)
    of_unit = rng.permutation(count) % parts

    def numbers(most: int) -> Ints:
        return (rng.permutation(parts) % min(most, parts)).astype(np.int64)

    folds = np.array([numbers(FOLDS) for _ in range(partitions)])
    inner = np.array([numbers(INNER) for _ in range(partitions)])
    return Deal(of_unit[units].astype(np.int64), folds, inner, numbers(GROUPS))


def pick_gains(scores: Floats, labels: Floats, sizes: Ints, first: Mask | None = None) -> Floats:
    """Return the top's label less the mean, (prompts, columns); without scores that of a random one or `first`."""
    known = by_rank(compared(scores), sizes, first)
    if len(sizes) and (sizes == sizes[0]).all():
        return _of_one_size(known.reshape(len(sizes), int(sizes[0]), -1), labels.reshape(len(sizes), -1))
    starts = np.cumsum(sizes) - sizes
    top = known == np.repeat(np.maximum.reduceat(known, starts, axis=0), sizes, axis=0)
    picked = np.add.reduceat(np.where(top, labels[:, None], 0.0), starts, axis=0)
    values: Floats = picked / np.add.reduceat(top, starts, axis=0, dtype=np.float64)
    return values - (np.add.reduceat(labels, starts) / sizes)[:, None]


def _of_one_size(scores: Floats, labels: Floats) -> Floats:
    """Return the gains of pools of one size, which needs no bounds of segments."""
    candidates = range(scores.shape[1])
    best = scores[:, 0].copy()
    for at in candidates[1:]:
        np.maximum(best, scores[:, at], out=best)
    picked, count = np.zeros(best.shape), np.zeros(best.shape)
    for at in candidates:  # a candidate of all pools at a time, which is faster than a few cells at a time
        top = scores[:, at] == best
        picked += np.where(top, labels[:, at, None], 0.0)
        count += top
    gains: Floats = picked / count - labels.mean(axis=1)[:, None]
    return gains


def best_by_gain(gains: Floats) -> Floats:
    """Return the share that each column of each set has in being the best: 1, or equal shares where several are."""
    best = gains >= gains.max(axis=1, keepdims=True) - 10.0 ** -tie_decimals(gains)
    shares: Floats = best / best.sum(axis=1, keepdims=True)
    return shares


_LEAST = 1e-3
"""The coefficient of a judge that is taken alone, at least."""

_AT_ONCE = 64
"""Sets that are worked on together, which bounds the memory."""


@dataclass(frozen=True, eq=False)
class StackPools:
    """Labelled candidates of prompts that have two or more."""

    features: Floats
    """Centred within prompts, on a common scale, without gaps; NaN where no judge scored the candidate."""
    judges: Floats
    """The scores of each judge alone, NaN where there is none."""
    own: tuple[int, ...]
    """The feature that is each judge's score."""
    labels: Floats
    sizes: Ints
    clusters: Ints | None = None
    weights: Floats | None = None
    """1 / chance of being labelled."""
    first: Mask | None = None
    """The first cell of each prompt, picked where none has a score; None where one is then picked at random."""

    @property
    def judge_gains(self) -> Floats:
        """What picks by each judge are worth beyond random ones, shape (prompts, judges)."""
        return pick_gains(self.judges, self.labels, self.sizes, self.first)

    @property
    def scored(self) -> Mask:
        """Which candidates have the score of a judge."""
        return np.asarray(~np.isnan(self.features).any(axis=1))

    @property
    def scored_sizes(self) -> Ints:
        """Number of them in each prompt."""
        return np.add.reduceat(self.scored.astype(np.int64), np.cumsum(self.sizes) - self.sizes)

    def sums(self, utilities: Floats) -> Floats:
        """Return the sums of every prompt, picked by utilities."""
        return prompt_sums(utilities, self.labels, self.sizes, by_rank(utilities, self.sizes, self.first))

    def keep(self, prompts: Mask) -> StackPools:
        """Return some of the prompts."""
        cells = np.repeat(prompts, self.sizes)
        return StackPools(
            self.features[cells],
            self.judges[cells],
            self.own,
            self.labels[cells],
            self.sizes[prompts],
            None if self.clusters is None else self.clusters[prompts],
            None if self.weights is None else self.weights[cells],
            None if self.first is None else self.first[cells],
        )

    def only(self, judges: list[int], columns: list[int]) -> StackPools:
        """Return the pools with some of the judges, and some of the features."""
        own = tuple(columns.index(self.own[judge]) for judge in judges)
        return replace(self, features=self.features[:, columns], judges=self.judges[:, judges], own=own)


@dataclass(frozen=True, eq=False)
class Trained:
    """What the procedure made of each set of prompts."""

    coefficients: Floats
    """Of the stack; where it falls back, that of the best judge's score alone."""
    ridges: Ints
    """Positions of the ridges that were chosen: for the stack, and for the best judge alone."""
    best: Floats
    """Shares of the judges in being the best by labels: 1 for the best one."""
    gains: Floats
    """By inner cross-validation: mean gain of the picks of the stack, and of those of the best judge."""
    losses: Floats
    """By inner cross-validation: log loss of the stack on pairs, and of a logit on the best judge alone."""

    @property
    def best_alone(self) -> Ints:
        """The judge that is taken where a set falls back; of equally good ones the first."""
        best: Ints = self.best.argmax(axis=1)
        return best

    @property
    def falls_back(self) -> Mask:
        """Whether the best judge is taken: the stack neither predicts pairs better nor picks better."""
        return (self.losses[:, 0] >= self.losses[:, 1]) & (self.gains[:, 0] <= self.gains[:, 1])

    def some(self, sets: slice) -> Trained:
        """Return what was made of some of the sets."""
        return Trained(*(getattr(self, part.name)[sets] for part in fields(self)))


@dataclass(frozen=True, eq=False)
class Paths:
    """The fits to all prompts."""

    stack: RidgePath
    alone: tuple[RidgePath, ...]
    """A logit on each judge alone."""
    pairs: LabelledPairs
    """What they are fitted to."""

    @classmethod
    def of(cls, pools: StackPools, deal: Deal, *, seed: int = 0) -> Paths:
        """Fit them."""
        scored = pools.scored
        weights = None if pools.weights is None else pools.weights[scored]
        pairs = labelled_pairs(
            pools.features[scored], pools.labels[scored], pools.scored_sizes, weights=weights, seed=seed
        )
        whole = ridge_path(pairs, deal.parts, deal.count)
        alone = tuple(ridge_path(pairs.only([columns]), deal.parts, deal.count) for columns in pools.own)
        return cls(whole, alone, pairs)

    def only(self, judges: list[int], columns: list[int], deal: Deal) -> Paths:
        """Fit a stack of some of the judges, with some of the features."""
        pairs = self.pairs.only(columns)
        return Paths(ridge_path(pairs, deal.parts, deal.count), tuple(self.alone[judge] for judge in judges), pairs)


def train(pools: StackPools, paths: Paths, deal: Deal, sets: Mask | None = None) -> Trained:
    """Run the procedure on `sets` of parts, or all, by the largest ridge within one standard error of the best."""
    sets = np.ones((1, deal.count), dtype=bool) if sets is None else sets
    folds = [_InnerFold.of(pools, deal, numbers == fold) for numbers in deal.inner for fold in np.unique(numbers)]
    some = []
    with counting("fit", len(sets)) as step:
        for at in range(0, len(sets), _AT_ONCE):
            some.append(_train(pools, paths, deal, folds, sets[at : at + _AT_ONCE]))
            step(min(_AT_ONCE, len(sets) - at))
    return Trained(*(np.concatenate([getattr(part, field.name) for part in some]) for field in fields(Trained)))


@dataclass(frozen=True, eq=False)
class _InnerFold:
    """An inner fold: its parts, its prompts with the part of each, and what picks by the judges gain."""

    held: Mask
    pools: StackPools
    parts: Ints
    gains: Floats

    @classmethod
    def of(cls, pools: StackPools, deal: Deal, held: Mask) -> _InnerFold:
        in_set = held[deal.parts]
        kept = pools.keep(in_set)
        return cls(held, kept, deal.parts[in_set], kept.judge_gains)

    def gains_by_part(self, count: int) -> Floats:
        """Add up the gains of the judges, shape (parts, judges)."""
        sums = [np.bincount(self.parts, weights=judge_gains, minlength=count) for judge_gains in self.gains.T]
        return np.stack(sums, axis=1)

    def sums(self, coefficients: Floats, shares: Floats, sets: Mask) -> Floats:
        """Add up prompts, gains of the stack and gains of the best judge over each set, as an array (3, sets)."""
        pools = self.pools
        stack = pick_gains(pools.features @ coefficients.T, pools.labels, pools.sizes, pools.first)
        held = np.ascontiguousarray(sets.T)[self.parts]
        added = (np.where(held, gains, 0.0).sum(axis=0) for gains in (stack, self.gains @ shares.T))
        return np.stack([held.sum(axis=0, dtype=np.float64), *added])


def _train(pools: StackPools, paths: Paths, deal: Deal, folds: list[_InnerFold], sets: Mask) -> Trained:
    kept = [sets & ~fold.held for fold in folds]
    held = [sets & fold.held for fold in folds]
    fits = [paths.stack.fitted_to(some) for some in kept]
    losses = np.stack([paths.stack.losses_at(fit, some) for fit, some in zip(fits, held, strict=True)])
    ridges = _strongest_of_the_best(losses, paths.stack.ridges)
    rows = np.arange(len(sets))
    # Each inner partition holds every prompt once.
    judges = np.sum([fold.gains_by_part(deal.count) for fold in folds], axis=0)
    shares = [best_by_gain(some.astype(np.float64) @ judges) for some in kept]
    by_fold = zip(folds, fits, shares, held, strict=True)
    sums = np.sum([fold.sums(fit[rows, ridges], best, some) for fold, fit, best, some in by_fold], axis=0)
    alone, ridges_alone = _losses_alone(paths, kept, held, shares)
    trained = Trained(
        paths.stack.fitted_to(sets)[rows, ridges],
        np.stack([ridges, ridges_alone], axis=1),
        best_by_gain(sets.astype(np.float64) @ judges),
        (sums[1:] / np.maximum(sums[0], 1.0)).T,
        np.stack([losses.mean(axis=0)[rows, ridges], alone], axis=1),
    )
    lonely = _coefficients_alone(paths, pools, sets, trained.best, ridges_alone)
    return replace(trained, coefficients=np.where(trained.falls_back[:, None], lonely, trained.coefficients))


def _losses_alone(paths: Paths, kept: list[Mask], held: list[Mask], shares: list[Floats]) -> tuple[Floats, Ints]:
    """Return the log loss over inner folds of a logit on the judge that is best on the rest, and its best ridge."""
    by_ridge = np.zeros((len(shares[0]), len(paths.stack.ridges)))
    for some, rest, best in zip(kept, held, shares, strict=True):
        for judge in np.flatnonzero(best.any(axis=0)).tolist():
            path = paths.alone[judge]
            by_ridge = by_ridge + path.losses_at(path.fitted_to(some), rest) * best[:, judge, None] / len(kept)
    return np.min(by_ridge, axis=1), np.argmin(by_ridge, axis=1)


def _coefficients_alone(paths: Paths, pools: StackPools, sets: Mask, best: Floats, ridges: Ints) -> Floats:
    """Return coefficients that are 0 but for the score of the best judge."""
    judges = best.argmax(axis=1)
    coefficients = np.zeros((len(sets), pools.features.shape[1]))
    for judge in np.unique(judges).tolist():
        of_judge = np.flatnonzero(judges == judge)
        fitted = paths.alone[judge].fitted_to(sets[of_judge])[np.arange(len(of_judge)), ridges[of_judge], 0]
        # It was chosen for its picks, so that more of its score counts as better whatever its pairs say.
        coefficients[of_judge, pools.own[judge]] = np.maximum(fitted, _LEAST)
    return coefficients


def _strongest_of_the_best(losses: Floats, ridges: Floats) -> Ints:
    """Return which is the largest ridge with a loss, (folds, sets, ridges), within one se of the least."""
    least = losses.mean(axis=0).argmin(axis=1)
    excess = losses - np.take_along_axis(losses, least[None, :, None], axis=2)
    error = excess.std(axis=0, ddof=1) / np.sqrt(len(losses))
    strongest: Ints = np.where(excess.mean(axis=0) <= error, ridges, -np.inf).argmax(axis=1)
    return strongest

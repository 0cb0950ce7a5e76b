"""Pairs of labelled candidates of one prompt, and the symmetric pairwise logit on them at several ridges."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from bonwise.arrays import Floats, Ints, Mask
from bonwise.stats.sums import compared

MOST_PAIRS = 120
"""Pairs of one prompt that are used, which a pool of 16 has; of a larger one a random sample of so many."""


@dataclass(frozen=True, eq=False)
class LabelledPairs:
    """Pairs of candidates of one prompt."""

    differences: Floats
    """Features of the first candidate less those of the second."""
    better: Floats
    """1 where the first has the higher label, 0 where the second has, 1/2 where labels are equal."""
    weights: Floats
    """The pairs of a prompt with n labelled candidates weigh n - 1 together, 2 / n each, times its design weight."""
    prompts: Ints
    """Position of the prompt of each pair, in ascending order."""

    def only(self, features: npt.NDArray[np.intp] | list[int]) -> LabelledPairs:
        """Return the pairs with some of the features."""
        return LabelledPairs(self.differences[:, features], self.better, self.weights, self.prompts)


def labelled_pairs(
    features: Floats, labels: Floats, sizes: Ints, *, weights: Floats | None = None, seed: int = 0
) -> LabelledPairs:
    """Return pairs of labelled candidates by prompt, weighted; the seed samples those of more than 16."""
    starts = np.cumsum(sizes) - sizes
    rng = np.random.default_rng(seed)
    firsts, seconds, shares, owners = [], [], [], []
    for size in np.unique(sizes[sizes > 1]).tolist():
        prompts = np.flatnonzero(sizes == size)
        one, other = np.triu_indices(size, 1)
        at = starts[prompts][:, None]
        if len(one) <= MOST_PAIRS:
            firsts.append((at + one).ravel())
            seconds.append((at + other).ravel())
        else:
            drawn = np.array([rng.choice(len(one), MOST_PAIRS, replace=False) for _ in prompts])
            firsts.append((at + one[drawn]).ravel())
            seconds.append((at + other[drawn]).ravel())
        each = min(len(one), MOST_PAIRS)
        shares.append(np.full(each * len(prompts), (size - 1) / each))
        owners.append(np.repeat(prompts, each))
    order = np.argsort(np.concatenate(owners), kind="stable")
    first, second = np.concatenate(firsts)[order], np.concatenate(seconds)[order]
    share = np.concatenate(shares)[order]
    if weights is not None:
        share = share * weights[first] * weights[second]
        share *= np.maximum(sizes - 1, 0).sum() / share.sum()
    rounded = compared(labels)
    better = (1 + np.sign(rounded[first] - rounded[second])) / 2
    return LabelledPairs(features[first] - features[second], better, share, np.concatenate(owners)[order])


RIDGES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Those that cross-validation chooses among; a ridge of 1 is worth about as much as one prompt of two candidates."""

_STEPS = 100
_DONE = 1e-9


@dataclass(frozen=True, eq=False)
class RidgePath:
    """Fits to all prompts at every ridge, and what the parts of the prompts add at these fits."""

    ridges: Floats
    coefficients: Floats
    losses: Floats
    """Weighted log loss of the pairs of each part."""
    scores: Floats
    """Gradient of the log likelihood of each part."""
    information: Floats
    """Its negative second derivatives."""
    weights: Floats
    """Of the pairs of each part."""

    def fitted_to(self, parts: Mask) -> Floats:
        """Return coefficients, (sets, ridges, features), of the parts kept, (sets, parts), by one Newton step."""
        kept = parts.astype(np.float64)
        ridges, count, features = self.scores.shape
        information = (kept @ self.information.reshape(ridges, count, -1)).reshape(ridges, -1, features, features)
        information += self.ridges[:, None, None, None] * np.eye(features)
        gradient = kept @ self.scores - (self.ridges[:, None] * self.coefficients)[:, None, :]
        step = np.linalg.solve(information, gradient[..., None])[..., 0]
        return (self.coefficients[:, None, :] + step).transpose(1, 0, 2)

    def losses_at(self, coefficients: Floats, parts: Mask) -> Floats:
        """Return the mean log loss, (sets, ridges), of `parts`, (sets, parts), near the fit, to second order."""
        asked = parts.astype(np.float64)
        ridges, count, features = self.scores.shape
        off = coefficients.transpose(1, 0, 2) - self.coefficients[:, None, :]
        scores = asked @ self.scores
        information = (asked @ self.information.reshape(ridges, count, -1)).reshape(ridges, -1, features, features)
        bent = (off[..., None, :] @ information @ off[..., None])[..., 0, 0] / 2
        sums = asked @ self.losses.T - (off * scores).sum(axis=2).T + bent.T
        losses: Floats = sums / np.maximum(asked @ self.weights, 1e-300)[:, None]
        return losses

    def sandwich(self, at: int) -> Floats:
        """Return the covariance of the coefficients at a ridge, clustered by part."""
        features = self.coefficients.shape[1]
        bread = np.linalg.inv(self.information[at].sum(0) + self.ridges[at] * np.eye(features))
        scores = self.scores[at] - self.scores[at].mean(0)
        covariance: Floats = bread @ (scores.T @ scores) @ bread
        return covariance


def ridge_path(pairs: LabelledPairs, parts: Ints, count: int, ridges: tuple[float, ...] = RIDGES) -> RidgePath:
    """Fit the logit at every ridge, from the strongest to the weakest; each prompt is in one of `count` parts."""
    features = pairs.differences.shape[1]
    of_pair = parts[pairs.prompts]
    order = np.argsort(of_pair, kind="stable")
    ends = np.searchsorted(of_pair[order], np.arange(count + 1))
    laid = replace(
        pairs,
        differences=np.ascontiguousarray(pairs.differences[order]),
        better=pairs.better[order],
        weights=pairs.weights[order],
        prompts=pairs.prompts[order],
    )
    path = RidgePath(
        np.array(ridges),
        np.zeros((len(ridges), features)),
        np.zeros((len(ridges), count)),
        np.zeros((len(ridges), count, features)),
        np.zeros((len(ridges), count, features, features)),
        np.bincount(of_pair, weights=pairs.weights, minlength=count).astype(np.float64),
    )
    start = np.zeros(features)
    for at in np.argsort(ridges)[::-1].tolist():
        start = logit(laid, ridges[at], start)
        path.coefficients[at] = start
        _add_up(path, at, laid, ends)
    return path


def logit(pairs: LabelledPairs, ridge: float, start: Floats | None = None) -> Floats:
    """Fit the logit at one ridge, above 0 for one maximum, by Newton's method, steps halved where they overshoot."""
    features = pairs.differences.shape[1]
    at = np.zeros(features) if start is None else start
    value = _objective(pairs, ridge, at)
    for _ in range(_STEPS):
        chance = _chances(pairs.differences @ at)
        gradient = pairs.differences.T @ (pairs.weights * (pairs.better - chance)) - ridge * at
        bent = pairs.differences * (pairs.weights * chance * (1 - chance))[:, None]
        step = np.linalg.solve(bent.T @ pairs.differences + ridge * np.eye(features), gradient)
        gain = float(gradient @ step)
        if gain < _DONE:
            return at + step
        length = 1.0
        while (lower := _objective(pairs, ridge, at + length * step)) < value and length > _DONE:
            length /= 2
        at, value = at + length * step, lower
    return at


def _objective(pairs: LabelledPairs, ridge: float, at: Floats) -> float:
    return -float(_loss(pairs, pairs.differences @ at).sum()) - ridge / 2 * float(at @ at)


def _loss(pairs: LabelledPairs, margins: Floats) -> Floats:
    return pairs.weights * (np.logaddexp(0, margins) - pairs.better * margins)


def _chances(margins: Floats) -> Floats:
    # Margins beyond 500 have a chance of 0 or 1 in floating point.
    return 1 / (1 + np.exp(-np.clip(margins, -500, 500)))


def _add_up(path: RidgePath, at: int, pairs: LabelledPairs, ends: Ints) -> None:
    """Write down what each part adds to loss, gradient and information; pairs stand in the order of the parts."""
    margins = pairs.differences @ path.coefficients[at]
    chance = _chances(margins)
    loss, slope = _loss(pairs, margins), pairs.weights * (pairs.better - chance)
    bend = pairs.weights * chance * (1 - chance)
    for part, (first, last) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)):
        some = pairs.differences[first:last]
        path.losses[at, part] = loss[first:last].sum()
        path.scores[at, part] = slope[first:last] @ some
        path.information[at, part] = (some * bend[first:last, None]).T @ some

"""Proportional odds regression of ordinal ratings: cutoffs, likelihood, derivatives and information."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import sparse, special

from bonwise.arrays import Floats, Ints, Mask

LEAST_GAP = 1e-4
"""Between two cutoffs: a category whose cutoffs coincide has no probability."""


def mirrored(size: int) -> Floats:
    """Return the map from free numbers to cutoffs that mirror each other about 0, ``a_j = -a_{size-j}``."""
    half = (size - 1) // 2
    up = np.tril(np.ones((half, half)))
    middle = np.zeros(((size - 1) % 2, half))
    return np.concatenate([-up[::-1], middle, up])


@dataclass(frozen=True, eq=False)
class CutoffLayout:
    """The cutoffs of all raters in one vector, ``P(Y <= c) = sigma(a_{c+1} - eta)``; a symmetric rater's mirror."""

    sizes: tuple[int, ...]
    """Categories of each rater, at least 2."""
    symmetric: tuple[bool, ...]
    """Raters that compare two sides."""
    first_category: Ints = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "first_category", np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64))

    @cached_property
    def spans(self) -> tuple[tuple[slice, slice], ...]:
        """Of each rater the places of its cutoffs, and of its free numbers."""
        found, at, free = [], 0, 0
        for size, symmetric in zip(self.sizes, self.symmetric, strict=True):
            count = (size - 1) // 2 if symmetric else size - 1
            found.append((slice(at, at + size - 1), slice(free, free + count)))
            at, free = at + size - 1, free + count
        return tuple(found)

    @cached_property
    def free(self) -> int:
        """How many free numbers there are."""
        return self.spans[-1][1].stop if self.spans else 0

    @cached_property
    def increments(self) -> Mask:
        """Which free numbers are increments, which a softplus keeps positive; the others are first cutoffs."""
        found = np.ones(self.free, dtype=bool)
        for (_, free), symmetric in zip(self.spans, self.symmetric, strict=True):
            found[free.start : free.start + 1] = symmetric
        return found

    @cached_property
    def maps(self) -> tuple[Floats, ...]:
        """Of each rater the map from its increments to its cutoffs."""
        return tuple(
            mirrored(size) if symmetric else np.tril(np.ones((size - 1, size - 1)))
            for size, symmetric in zip(self.sizes, self.symmetric, strict=True)
        )

    @cached_property
    def to_cutoffs(self) -> sparse.csr_array:
        """The map from the increments of all raters to their cutoffs."""
        return sparse.csr_array(sparse.block_diag(self.maps, format="csr"))

    @cached_property
    def end_places(self) -> tuple[Ints, Ints]:
        """Of each category the place of its upper and its lower cutoff among the cutoffs, +inf and -inf."""
        total = sum(self.sizes) - len(self.sizes)
        upper, lower = [], []
        for (cutoffs, _), size in zip(self.spans, self.sizes, strict=True):
            places = np.arange(cutoffs.start, cutoffs.stop)
            upper.append(np.append(places, total))
            lower.append(np.insert(places, 0, total + 1))
            del size
        return np.concatenate(upper), np.concatenate(lower)

    def cutoffs(self, raw: Floats) -> Floats:
        """Return the cutoffs that free numbers make."""
        return np.asarray(self.to_cutoffs @ np.where(self.increments, np.logaddexp(0, raw) + LEAST_GAP, raw))

    def raw(self, cutoffs: Floats) -> Floats:
        """Return the free numbers of cutoffs; the inverse of `cutoffs`."""
        found = np.zeros(self.free)
        for (places, free), to_cutoffs in zip(self.spans, self.maps, strict=True):
            if free.stop > free.start:
                found[free] = np.linalg.lstsq(to_cutoffs, cutoffs[places], rcond=None)[0]
        gap = np.maximum(found - LEAST_GAP, 1e-8)
        return np.where(self.increments, gap + np.log(-np.expm1(-gap)), found)

    def raw_gradient(self, raw: Floats, gradient: Floats) -> Floats:
        """Return the gradient by the free numbers, given that by the cutoffs."""
        slope = np.where(self.increments, special.expit(raw), 1.0)
        return np.asarray(slope * (self.to_cutoffs.T @ gradient))

    def ends(self, cutoffs: Floats) -> tuple[Floats, Floats]:
        """Return the upper and the lower cutoff of every category, infinite at the ends, shape (sum of sizes,)."""
        padded = np.concatenate([cutoffs, [np.inf, -np.inf]])
        upper, lower = self.end_places
        return padded[upper], padded[lower]

    def gradient_of_ends(self, by_upper: Floats, by_lower: Floats) -> Floats:
        """Return the gradient by the cutoffs, given the sums of those by the ends of every category."""
        upper, lower = self.end_places
        total = sum(self.sizes) - len(self.sizes)
        found = np.bincount(upper, by_upper, total + 2) + np.bincount(lower, by_lower, total + 2)
        return np.asarray(found[:total])

    def even(self, shares: Sequence[Floats]) -> Floats:
        """Return cutoffs that give ratings without effect these shares, averaged with mirrors if symmetric."""
        parts = []
        for share, symmetric in zip(shares, self.symmetric, strict=True):
            kept = (share + share[::-1]) / 2 if symmetric else share
            below = np.clip(np.cumsum(kept)[:-1], 0.005, 0.995)
            parts.append(_spread(np.log(below / (1 - below)), symmetric=symmetric))
        return np.concatenate(parts) if parts else np.zeros(0)


def _spread(cutoffs: Floats, *, symmetric: bool) -> Floats:
    """Move cutoffs apart that coincide, as those of a category without ratings do."""
    found = np.array(cutoffs, dtype=np.float64)
    for at in range(1, len(found)):
        found[at] = max(found[at], found[at - 1] + 0.02)
    return np.asarray((found - found[::-1]) / 2 if symmetric else found)


@dataclass(frozen=True, eq=False, slots=True)
class OrdinalTerms:
    """Log-likelihood of ratings, and its derivatives; each of shape (ratings,)."""

    log_probability: Floats = field(repr=False)
    by_eta: Floats = field(repr=False)
    """First derivative by the linear predictor."""
    by_upper: Floats = field(repr=False)
    by_lower: Floats = field(repr=False)
    """Both: first derivatives by the cutoff above and below the category; 0 where that is infinite."""


def ordinal_terms(eta: Floats, upper: Floats, lower: Floats) -> OrdinalTerms:
    """Return the terms of ratings.

    With ``a = upper - eta`` and ``b = lower - eta`` the probability ``sigma(a) - sigma(b)`` is ``sigma(a) sigma(-b)
    (1 - exp(b - a))``, no difference of near numbers. `eta` is the effective advantage of equation 3.1; `upper` and
    `lower` are the cutoffs of the category seen, infinite at the ends. All are (ratings,).
    """
    a, b = upper - eta, lower - eta
    apart = np.log(-np.expm1(lower - upper))
    # Logarithms, because a probability far out is 0 in floating point.
    below_upper, above_lower = special.log_expit(a), special.log_expit(-b)
    return OrdinalTerms(
        apart + below_upper + above_lower,
        special.expit(a) - special.expit(-b),
        np.exp(special.log_expit(-a) - above_lower - apart),
        -np.exp(special.log_expit(b) - below_upper - apart),
    )


def slope_and_curvature(eta: Floats, upper: Floats, lower: Floats) -> tuple[Floats, Floats]:
    """Return the log-probability's first derivative by `eta`, and minus the second, never negative; (ratings,)."""
    above, below = special.expit(upper - eta), special.expit(lower - eta)
    return np.asarray(above + below - 1), np.asarray(above * (1 - above) + below * (1 - below))


def log_probability(eta: Floats, upper: Floats, lower: Floats) -> Floats:
    """Return the log-probabilities of ratings, shape (ratings,)."""
    apart = np.log(-np.expm1(lower - upper))
    return np.asarray(apart + special.log_expit(upper - eta) + special.log_expit(eta - lower))


def category_probabilities(eta: Floats, cutoffs: Floats) -> Floats:
    """Return the probability of each category, shape (cells, categories), for increasing cutoffs."""
    upper = np.append(cutoffs, np.inf)
    lower = np.insert(cutoffs, 0, -np.inf)
    return np.asarray(np.exp(log_probability(eta[:, None], upper[None], lower[None])))


def score_and_information(
    x: Floats, y: Ints, coefficients: Floats, cutoffs: Floats, weights: Floats
) -> tuple[float, Floats, Floats]:
    """Return log-likelihood, gradient and observed information, by coefficients, then cutoffs."""
    upper, lower = np.append(cutoffs, np.inf)[y], np.insert(cutoffs, 0, -np.inf)[y]
    eta = x @ coefficients
    terms = ordinal_terms(eta, upper, lower)
    above, below = special.expit(upper - eta), special.expit(lower - eta)
    at_upper, at_lower = weights * above * (1 - above), weights * below * (1 - below)
    both = -weights * terms.by_upper * terms.by_lower
    k, count = x.shape[1], len(cutoffs)
    size = count + 1

    def by_cutoff(of_upper: Floats, of_lower: Floats) -> Floats:
        return np.asarray(np.bincount(y, of_upper, size)[:-1] + np.bincount(y, of_lower, size)[1:])

    gradient = np.concatenate(
        [x.T @ (weights * terms.by_eta), by_cutoff(weights * terms.by_upper, weights * terms.by_lower)]
    )
    found = np.zeros((k + count, k + count))
    found[:k, :k] = x.T @ ((at_upper + at_lower)[:, None] * x)
    for column in range(k):
        found[column, k:] = -by_cutoff(at_upper * x[:, column], at_lower * x[:, column])
    found[k:, :k] = found[:k, k:].T
    places = np.arange(k, k + count)
    found[places, places] = by_cutoff(at_upper + both, at_lower + both)
    if count > 1:
        beside = -np.bincount(y, both, size)[1:-1]
        found[places[:-1], places[1:]] = found[places[1:], places[:-1]] = beside
    return float(weights @ terms.log_probability), gradient, found


_STEPS = 60
_PRECISE = 1e-10
_WEAK = 0.5


@dataclass(frozen=True, eq=False)
class OrdinalRegression:
    """A fitted regression."""

    coefficients: Floats
    cutoffs: Floats
    covariance: Floats = field(repr=False)
    """Block of the coefficients in the inverse of the observed information, the penalty counted."""
    log_likelihood: float
    """Without the penalty."""
    smoothed: bool = False
    """Whether half a rating without any effect was added to each category, because one had none."""
    converged: bool = True

    @property
    def se(self) -> Floats:
        """Standard errors of the coefficients, shape (columns,)."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.covariance), 0)))

    def log_probabilities(self, x: Floats, y: Ints) -> Floats:
        """Return the log-probability of each rating ``y`` (ratings,) at ``x`` (ratings, columns)."""
        upper, lower = np.append(self.cutoffs, np.inf), np.insert(self.cutoffs, 0, -np.inf)
        return log_probability(x @ self.coefficients, upper[y], lower[y])


def fit_ordinal(
    x: Floats,
    y: Ints,
    categories: int,
    *,
    ridge: float | Floats = 0.0,
    weights: Floats | None = None,
    symmetric: bool = False,
) -> OrdinalRegression:
    """Fit a proportional odds regression, ``P(Y <= c) = sigma(a_{c+1} - x'b)``.

    The maximum of ``sum w log p - ridge |b|^2 / 2``, which is concave, by Newton's method. Where a category has no
    rating, half a rating at ``x = 0`` is added to each: cutoffs would coincide or be infinite. `x` is (ratings,
    columns), `y` from 0, `ridge` one number or one a column; with `symmetric` cutoffs mirror each other about 0.
    """
    ratings = np.ones(len(y)) if weights is None else weights
    counts = np.bincount(y, ratings, categories)
    seen = counts + counts[::-1] if symmetric else counts
    smoothed = bool((seen <= 0).any())
    if smoothed:
        x = np.concatenate([x, np.zeros((categories, x.shape[1]))])
        y = np.concatenate([y, np.arange(categories)])
        ratings = np.concatenate([ratings, np.full(categories, _WEAK)])
    penalty = np.broadcast_to(np.asarray(ridge, dtype=np.float64), x.shape[1:])
    to_cutoffs = mirrored(categories) if symmetric else np.eye(categories - 1)
    likelihood = _Penalised(x, y, ratings, penalty, to_cutoffs)
    layout = CutoffLayout((categories,), (symmetric,))
    shares = np.maximum(np.bincount(y, ratings, categories), 1e-9)
    start = np.linalg.lstsq(to_cutoffs, layout.even([shares / shares.sum()]), rcond=None)[0]
    k = x.shape[1]
    found, converged = _maximised(likelihood, np.concatenate([np.zeros(k), start]))
    _, _, information = likelihood.at(found)
    inverse: Floats = np.linalg.pinv(information, hermitian=True).astype(np.float64)
    return OrdinalRegression(
        found[:k],
        to_cutoffs @ found[k:],
        inverse[:k, :k],
        likelihood.value(found, penalised=False),
        smoothed,
        converged,
    )


@dataclass(frozen=True, eq=False, slots=True)
class _Penalised:
    """A penalised log-likelihood as a function of the coefficients and of numbers that are linear in the cutoffs."""

    x: Floats
    y: Ints
    weights: Floats
    ridge: Floats
    to_cutoffs: Floats

    def value(self, at: Floats, *, penalised: bool = True) -> float:
        """Return the log-likelihood; minus infinity where the cutoffs are not increasing."""
        coefficients, cutoffs = at[: self.x.shape[1]], self.to_cutoffs @ at[self.x.shape[1] :]
        if (np.diff(cutoffs) <= 0).any():
            return -np.inf
        upper, lower = np.append(cutoffs, np.inf)[self.y], np.insert(cutoffs, 0, -np.inf)[self.y]
        found = float(self.weights @ log_probability(self.x @ coefficients, upper, lower))
        return found - (float(self.ridge @ coefficients**2) / 2 if penalised else 0.0)

    def at(self, at: Floats) -> tuple[float, Floats, Floats]:
        """Return value, gradient and observed information, the penalty counted."""
        k = self.x.shape[1]
        coefficients = at[:k]
        value, gradient, information = score_and_information(
            self.x, self.y, coefficients, self.to_cutoffs @ at[k:], self.weights
        )
        turn = np.zeros((len(gradient), len(at)))
        turn[:k, :k] = np.eye(k)
        turn[k:, k:] = self.to_cutoffs
        gradient, information = turn.T @ gradient, turn.T @ information @ turn
        gradient[:k] -= self.ridge * coefficients
        information[range(k), range(k)] += self.ridge
        return value - float(self.ridge @ coefficients**2) / 2, gradient, information


def _maximised(likelihood: _Penalised, start: Floats) -> tuple[Floats, bool]:
    """Climb by Newton's method; a step is halved until the value rises."""
    at = start
    for _ in range(_STEPS):
        value, gradient, information = likelihood.at(at)
        step = np.linalg.lstsq(information, gradient, rcond=1e-12)[0]
        gain = float(gradient @ step)
        if gain < _PRECISE:
            return at, True
        size = 1.0
        while size > 1e-8 and not likelihood.value(at + size * step) > value:
            size /= 2
        if size <= 1e-8:
            return at, gain < 1e-6
        at = at + size * step
    return at, False

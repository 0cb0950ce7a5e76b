"""What picks of one judge, or of two, are worth when scores and labels are jointly normal within a prompt."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from bonwise.arrays import Floats
from bonwise.errors import UsageError
from bonwise.stats import support

CLOSEST = 0.99
"""Correlation of the two scores up to which the integrals are accurate."""

_REACH_OF_GRID = 8.5
_ANGLE, _ANGLE_WEIGHT = np.polynomial.legendre.leggauss(40)
_INNER, _INNER_WEIGHT = np.polynomial.legendre.leggauss(14)


class TwoPicks(NamedTuple):
    """Two judges' picks."""

    disagree: float
    """Probability that the picks differ."""
    product: float
    """Expectation of ``y_i y_j``, labels in within-prompt standard deviations."""


_SAMPLES, _LONGEST, _MOST_CANDIDATES, _SEED = 4000, 80, 32, 20261129


@cache
def chance_of_enough(candidates: int, of: Literal["room", "spread"] = "room") -> Callable[[int], float]:
    """Return prompts to the chance that normal labels are worth what a gate needs, of 4,000 samples."""
    labels = np.random.default_rng(_SEED).standard_normal((min(candidates, _MOST_CANDIDATES), _SAMPLES, _LONGEST))
    room = labels.max(axis=0) - labels.mean(axis=0) if of == "room" else labels.std(axis=0)
    return chance_of_samples(room)


def chance_of_samples(weights: Floats, effect: float = 1.0) -> Callable[[int], float]:
    """Return the same of samples, each a row of what its prompts weigh; clusters cost a design effect."""
    longest, squares = weights.shape[1], np.square(weights).cumsum(axis=1)
    count = np.divide(weights.cumsum(axis=1) ** 2, squares, out=np.zeros_like(squares), where=squares > 0)
    shares = support.enough(np.arange(1.0, longest + 1), count / effect).mean(axis=0)
    return lambda prompts: float(shares[min(prompts, longest) - 1]) if prompts > 0 else 0.0


class _Joint(NamedTuple):
    """Scores of both judges and the label: correlations, and the regression of the label on the scores."""

    rho: float
    s: float  # sqrt(1 - rho^2)
    on_a: float
    on_b: float
    left: float  # variance of the label given both scores


class _Grid(NamedTuple):
    """Both scores of the pivotal values, their weights, and P(a candidate lies below both)."""

    a: Floats
    b: Floats
    weight: Floats
    below: Floats


def score_correlation(r_a: float, r_b: float, errors: float) -> float:
    """Return two judges' within-prompt correlation: ``r_a r_b + errors sqrt((1 - r_a^2) (1 - r_b^2))``."""
    return r_a * r_b + errors * float(np.sqrt((1 - r_a**2) * (1 - r_b**2)))


def two_picks(n: int, r_a: float, r_b: float, errors: float) -> TwoPicks:
    """Find how often two judges of n >= 2 pick otherwise, and how labels of picks go together, by quadrature."""
    joint = _joint(r_a, r_b, errors)
    a, b, weight, below = _grid(joint)
    mean_both = joint.on_a * a + joint.on_b * b
    same = n * _density(a) * _density((b - joint.rho * a) / joint.s) / joint.s * below ** (n - 1) * weight
    reach_b, reach_a = (b - joint.rho * a) / joint.s, (a - joint.rho * b) / joint.s
    under_b, under_a = ndtr(reach_b), ndtr(reach_a)
    apart = n * (n - 1) * _density(a) * _density(b) * below ** (n - 2) * weight
    # E[y; b' < b | a] of the pick of A, and E[y; a' < a | b] of the pick of B.
    mine = under_b * (joint.on_a + joint.on_b * joint.rho) * a - joint.on_b * joint.s * _density(reach_b)
    other = under_a * (joint.on_b + joint.on_a * joint.rho) * b - joint.on_a * joint.s * _density(reach_a)
    product = float(np.sum(same * (mean_both**2 + joint.left)) + np.sum(apart * mine * other))
    return TwoPicks(float(np.sum(apart * under_a * under_b)), product)


def win_share(n: int, r_a: float, r_b: float, errors: float) -> float:
    """Return the probability that A's pick has the higher label where picks differ; arguments as of `two_picks`."""
    joint = _joint(r_a, r_b, errors)
    a, b, weight, below = _grid(joint)
    apart = n * (n - 1) * _density(a) * _density(b) * below ** (n - 2) * weight
    under_b, under_a = ndtr((b - joint.rho * a) / joint.s), ndtr((a - joint.rho * b) / joint.s)
    u, part = (_INNER + 1) / 2, _INNER_WEIGHT / 2
    won = np.zeros_like(a)
    for row in range(len(a)):  # a row at a time bounds the memory
        mean_a, mean_b = a[row][:, None], b[row][:, None]
        lower_b = joint.rho * mean_a + joint.s * ndtri(np.maximum(u * under_b[row][:, None], 1e-300))
        lower_a = joint.rho * mean_b + joint.s * ndtri(np.maximum(u * under_a[row][:, None], 1e-300))
        pick_a = joint.on_a * mean_a + joint.on_b * lower_b
        pick_b = joint.on_b * mean_b + joint.on_a * lower_a
        ahead = (pick_a[:, :, None] - pick_b[:, None, :]) / np.sqrt(2 * joint.left)
        won[row] = np.einsum("xuv,u,v->x", ndtr(ahead), part, part)
    chance = apart * under_a * under_b
    return float(np.sum(chance * won) / np.sum(chance))


def _joint(r_a: float, r_b: float, errors: float) -> _Joint:
    rho = score_correlation(r_a, r_b, errors)
    if abs(rho) > CLOSEST:
        words = f"the scores of the two judges correlate by {rho:.3f}, which is nearly the same judge"
        raise UsageError(words, hint="give judges or an error_correlation further apart")
    rest = 1 - rho**2
    on_a, on_b = (r_a - rho * r_b) / rest, (r_b - rho * r_a) / rest
    return _Joint(rho, float(np.sqrt(rest)), on_a, on_b, max(0.0, 1 - on_a * r_a - on_b * r_b))


def _grid(joint: _Joint) -> _Grid:
    # The density is as narrow as s across its ridge: the nodes must be closer than that.
    x, weight = np.polynomial.legendre.leggauss(int(max(64, 60 / joint.s)))
    a, b = np.meshgrid(_REACH_OF_GRID * x, _REACH_OF_GRID * x, indexing="ij")
    weights = _REACH_OF_GRID**2 * weight[:, None] * weight[None, :]
    return _Grid(a, b, weights, np.clip(_below(a, b, joint.rho), 0.0, 1.0))


def _below(a: Floats, b: Floats, rho: float) -> Floats:
    """Return P(A < a, B < b): the independent value plus the integral of the density over the correlation."""
    total = ndtr(a) * ndtr(b)
    half = np.arcsin(rho) / 2
    for node, weight in zip(_ANGLE, _ANGLE_WEIGHT, strict=True):
        angle = half * (node + 1)
        exponent = (a * a + b * b - 2 * a * b * np.sin(angle)) / (2 * np.cos(angle) ** 2)
        total += half * weight / (2 * np.pi) * np.exp(-exponent)
    return total


def _density(x: Floats) -> Floats:
    value: Floats = np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    return value


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)
_REACH_OF_LARGEST = 9.0
"""Standard deviations beyond which a normal density adds nothing to a double."""


class Contrast(NamedTuple):
    """Mean and variance over prompts of a difference of labels."""

    mean: float
    variance: float
    """In within-prompt standard deviations of the label, and their square."""

    @property
    def standardised(self) -> float:
        """Mean over standard deviation: what decides how many prompts are enough."""
        return self.mean / float(np.sqrt(self.variance))


def largest_of_normals(n: int) -> tuple[float, float]:
    """Return mean and variance of the largest of n independent standard normal values."""
    x, weight = _REACH_OF_LARGEST * _NODES, _REACH_OF_LARGEST * _WEIGHTS
    density = n * np.exp(-x * x / 2) / np.sqrt(2 * np.pi) * ndtr(x) ** (n - 1) * weight
    mean = float(density @ x)
    return mean, float(density @ (x * x)) - mean**2


def complete_contrast(n: int, r: float) -> Contrast:
    """Describe the pick's label less the mean: ``E d = r e``, ``Var d = r^2 v + 1 - r^2 - 1 / n``."""
    e, v = largest_of_normals(n)
    return Contrast(r * e, r * r * v + 1 - r * r - 1 / n)


def two_label_contrast(n: int, r: float) -> Contrast:
    """Describe the pick's label less that of another drawn alike: ``E d = r e n / (n - 1)``, r within prompts."""
    e, v = largest_of_normals(n)
    pick, mean = r * r * v + 1 - r * r, r * e
    square = pick + mean**2
    other = (n - square) / (n - 1) - (mean / (n - 1)) ** 2
    together = (1 - square) / (n - 1) + mean**2 / (n - 1)
    return Contrast(mean * n / (n - 1), pick + other - 2 * together)


def recovery_residual(n: int, r: float) -> float:
    """Return the variance of ``(Y1 - r Y2) / E Y2`` over prompts: a recovery's squared error times P."""
    e, v = largest_of_normals(n)
    best = v - 1 / n
    # The label is a judge that errs in nothing: its pick is the best candidate.
    product = two_picks(n, r, 1.0, 0.0).product
    shared = product - r * e * e - 1 / n
    pick = complete_contrast(n, r).variance
    return (pick - 2 * r * shared + r * r * best) / e**2

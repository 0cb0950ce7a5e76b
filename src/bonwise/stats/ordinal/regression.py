"""Proportional odds regression: penalised maximum likelihood by Newton's method, with observed information."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bonwise.stats.ordinal.cutoffs import CutoffLayout, mirrored
from bonwise.stats.ordinal.information import score_and_information
from bonwise.stats.ordinal.likelihood import log_probability
from bonwise.stats.sums import Floats

__all__ = ["OrdinalRegression", "fit_ordinal"]

_Ints = npt.NDArray[np.int64]

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

    def log_probabilities(self, x: Floats, y: _Ints) -> Floats:
        """Return the log-probability of each rating ``y`` (ratings,) at ``x`` (ratings, columns)."""
        upper, lower = np.append(self.cutoffs, np.inf), np.insert(self.cutoffs, 0, -np.inf)
        return log_probability(x @ self.coefficients, upper[y], lower[y])


def fit_ordinal(
    x: Floats,
    y: _Ints,
    categories: int,
    *,
    ridge: float | Floats = 0.0,
    weights: Floats | None = None,
    symmetric: bool = False,
) -> OrdinalRegression:
    """Fit a proportional odds regression, ``P(Y <= c) = sigma(a_{c+1} - x'b)``.

    The penalised log-likelihood ``sum w log p - ridge |b|^2 / 2`` is concave, so Newton's method with halved steps
    finds its maximum. Where a category has no rating, half a rating at ``x = 0`` is added to each category: its
    cutoffs would otherwise coincide or be infinite.

    Parameters
    ----------
    x : ndarray of float64, shape (ratings, columns)
    y : ndarray of int64, shape (ratings,)
        Categories from 0.
    categories : int
        At least 2.
    ridge : float or ndarray of float64, shape (columns,)
        At least 0.
    weights : ndarray of float64, shape (ratings,), optional
    symmetric : bool
        Whether the cutoffs mirror each other about 0, as those of a comparison do.

    Returns
    -------
    OrdinalRegression

    Examples
    --------
    >>> x, y = np.array([[-1.0], [0.0], [1.0], [0.5]]), np.array([0, 1, 1, 0])
    >>> found = fit_ordinal(x, y, 2, ridge=1.0)
    >>> found.coefficients.round(3).tolist(), found.cutoffs.round(3).tolist()
    ([0.488], [0.063])
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
    y: _Ints
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

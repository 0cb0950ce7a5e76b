"""The ordered logit: log-probabilities, and their derivatives by the linear predictor and the cutoffs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import special

from bonwise.stats.sums import Floats

__all__ = ["OrdinalTerms", "category_probabilities", "log_probability", "ordinal_terms", "slope_and_curvature"]


@dataclass(frozen=True, eq=False, slots=True)
class OrdinalTerms:
    """Log-likelihood of ratings, and its derivatives; each of shape (ratings,)."""

    log_probability: Floats = field(repr=False)
    by_eta: Floats = field(repr=False)
    """First derivative by the linear predictor."""
    by_upper: Floats = field(repr=False)
    """First derivatives by the cutoff above and below the category; 0 where that is infinite."""
    by_lower: Floats = field(repr=False)
    """First derivatives by the cutoff above and below the category; 0 where that is infinite."""


def ordinal_terms(eta: Floats, upper: Floats, lower: Floats) -> OrdinalTerms:
    """Return the terms of ratings.

    With ``a = upper - eta`` and ``b = lower - eta`` the probability is ``sigma(a) - sigma(b)``, which is computed as
    ``sigma(a) sigma(-b) (1 - exp(b - a))``: no difference of numbers that are nearly equal.

    Parameters
    ----------
    eta : ndarray of float64, shape (ratings,)
        Linear predictor, the effective advantage of equation 3.1.
    upper, lower : ndarray of float64, shape (ratings,)
        Cutoffs of the category that was seen; infinite at the ends.

    Examples
    --------
    >>> found = ordinal_terms(np.array([0.0]), np.array([1.0]), np.array([-np.inf]))
    >>> round(float(np.exp(found.log_probability[0])), 4), round(float(found.by_eta[0]), 4)
    (0.7311, -0.2689)
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
    """Return the first derivative of the log-probability by the linear predictor, and minus the second.

    The second is never negative, because the log-probability is concave. Both have shape (ratings,).
    """
    above, below = special.expit(upper - eta), special.expit(lower - eta)
    return np.asarray(above + below - 1), np.asarray(above * (1 - above) + below * (1 - below))


def log_probability(eta: Floats, upper: Floats, lower: Floats) -> Floats:
    """Return the log-probabilities of ratings, shape (ratings,)."""
    apart = np.log(-np.expm1(lower - upper))
    return np.asarray(apart + special.log_expit(upper - eta) + special.log_expit(eta - lower))


def category_probabilities(eta: Floats, cutoffs: Floats) -> Floats:
    """Return the probability of each category.

    Parameters
    ----------
    eta : ndarray of float64, shape (cells,)
    cutoffs : ndarray of float64, shape (categories - 1,)
        Increasing.

    Returns
    -------
    ndarray of float64, shape (cells, categories)

    Examples
    --------
    >>> category_probabilities(np.zeros(1), np.array([-1.0, 1.0])).round(3).tolist()
    [[0.269, 0.462, 0.269]]
    """
    upper = np.append(cutoffs, np.inf)
    lower = np.insert(cutoffs, 0, -np.inf)
    return np.asarray(np.exp(log_probability(eta[:, None], upper[None], lower[None])))

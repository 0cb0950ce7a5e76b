"""Intervals that hold together, for several estimates from the same prompts, and for the one that is the highest.

An interval of its law is pointwise: of 20 such intervals at 95 %, one misses on average. Each law answers at any
confidence, so that intervals that hold together are those of the same laws at a higher confidence. How much higher
follows from how the estimates vary together: from draws of the normal law with the correlation of their influences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bonwise.stats.clusters import cluster_sums
from bonwise.stats.sums import Floats

__all__ = ["JointConfidence", "UnitInfluences", "aligned", "joint_confidence", "pick_influences"]

_DRAWS = 20_000
_SAME = 1e-9  # a difference of influences below this share of them is rounding: the estimates vary alike


@dataclass(frozen=True, slots=True, eq=False)
class UnitInfluences:
    """How much every prompt, or cluster of prompts, adds to the estimates of one judge."""

    units: npt.NDArray[np.object_] | npt.NDArray[np.int64]
    """Names of the prompts or codes of the clusters, each once."""
    by_metric: Mapping[str, Floats] = field(repr=False)
    """Their sum of squares is about the variance of the estimate."""


@dataclass(frozen=True, slots=True)
class JointConfidence:
    """Confidences at which intervals of single estimates hold for several."""

    each: float
    """Two-sided: all intervals hold together."""
    lower: float
    """Two-sided: all lower ends hold together, as often as the lower end of one interval alone."""
    differences: float
    """Two-sided: the intervals of the differences of every two hold together."""


def pick_influences(
    gains: Floats, possible: Floats, clusters: npt.NDArray[np.int64] | None = None, weights: Floats | None = None
) -> dict[str, Floats]:
    """Return the influence of every prompt, or cluster, on gain and recovery.

    Parameters
    ----------
    gains, possible : ndarray of float64, shape (prompts,)
        J - R and M - R.
    clusters : ndarray of int64, shape (prompts,), optional
        The influences are then by cluster, in the order of the codes.
    weights : ndarray of float64, shape (prompts,), optional

    Examples
    --------
    >>> found = pick_influences(np.array([0.2, 0.0, 0.4]), np.array([0.4, 0.4, 0.4]))
    >>> (found["gain"].round(3) + 0.0).tolist(), (found["recovery"].round(3) + 0.0).tolist()
    ([0.0, -0.067, 0.067], [0.0, -0.167, 0.167])
    """
    w = np.ones(len(gains)) if weights is None else weights
    mean, room = float(w @ gains / w.sum()), float(w @ possible / w.sum())
    w = w / w.sum()
    found = {"gain": w * (gains - mean)}
    if room > 0:
        found["recovery"] = w * (gains - mean / room * possible) / room
    return {name: cluster_sums(values, clusters) for name, values in found.items()}


def aligned(judges: Sequence[UnitInfluences], metric: str) -> Floats:
    """Return the influences of all judges on all units that some judge has, shape (judges, units).

    A unit does not move the estimate of a judge that lacks it.

    Examples
    --------
    >>> judges = [UnitInfluences(np.array(units), {"gain": np.array(found)})
    ...           for units, found in (([3, 5], [1.0, -1.0]), ([5, 7], [2.0, -2.0]))]
    >>> aligned(judges, "gain").tolist()
    [[1.0, -1.0, 0.0], [0.0, 2.0, -2.0]]
    """
    first = judges[0].units
    if all(one.units is first or np.array_equal(one.units, first) for one in judges):
        return np.stack([one.by_metric[metric] for one in judges])
    known, places = np.unique(np.concatenate([one.units for one in judges]), return_inverse=True)
    ends = np.cumsum([len(one.units) for one in judges])[:-1]
    found = np.zeros((len(judges), len(known)))
    for row, one, columns in zip(found, judges, np.split(places.reshape(-1), ends), strict=True):
        row[columns] = one.by_metric[metric]
    return found


def joint_confidence(influences: Floats, confidence: float, *, seed: int = 0) -> JointConfidence:
    """Return the confidences at which intervals of single estimates hold together.

    Z is drawn from the normal law with the correlation of the influences. With c the quantile of max |Z_k| at the
    confidence wanted, intervals at ``2 Phi(c) - 1`` hold together; likewise with max Z_k for lower ends, and with
    the standardised differences of every two.

    Parameters
    ----------
    influences : ndarray of float64, shape (estimates, units)
        Two or more estimates. One that nothing moves is taken to be independent of the others.
    confidence : float
        Two-sided, that of one interval alone.
    seed : int
        Of the draws.

    Examples
    --------
    >>> alike = np.tile(np.random.default_rng(1).standard_normal(100), (5, 1))
    >>> round(joint_confidence(alike, 0.95).each, 2)  # five estimates that vary alike are one
    0.95
    >>> apart = np.random.default_rng(1).standard_normal((5, 100_000))
    >>> round(joint_confidence(apart, 0.95).each, 3), round(0.95 ** (1 / 5), 3)  # independent ones
    (0.99, 0.99)
    """
    from scipy import special  # noqa: PLC0415 - what reads no table has no use for scipy

    rng, tail = np.random.default_rng(seed), (1 - confidence) / 2
    size = np.sqrt(np.einsum("ku,ku->k", influences, influences))
    errors = _drawn(influences, rng)
    largest = _largest_difference(errors, influences, size)
    moved = size > 0
    Z = rng.standard_normal(errors.shape) if not moved.all() else errors
    Z[moved] = errors[moved] / size[moved, None]
    lower = float(np.quantile(Z.max(axis=0), 1 - tail))
    each = float(np.quantile(np.abs(Z, out=Z).max(axis=0), confidence))
    apart = float(np.quantile(largest, confidence)) if len(influences) > 2 else 0.0  # a single pair is pointwise
    # A critical value below that of one estimate alone is an accident of the draws.
    return JointConfidence(*(max(float(1 - 2 * special.ndtr(-c)), confidence) for c in (each, lower, apart)))


def _drawn(influences: Floats, rng: np.random.Generator) -> Floats:
    """Return draws of the estimates' errors, shape (estimates, draws)."""
    # The triangular factor of the covariance, without the covariance: estimates may vary exactly alike.
    _, factor = np.linalg.qr(influences.T)
    # The signs are LAPACK's choice, and would show in the draws.
    factor *= np.where(np.diagonal(factor) < 0, -1.0, 1.0)[:, None]
    errors: Floats = factor.T @ rng.standard_normal((len(factor), _DRAWS))
    return errors


def _largest_difference(errors: Floats, influences: Floats, size: Floats) -> Floats:
    """Return the largest standardised difference between two estimates in each draw."""
    product = influences @ influences.T
    squares = np.diagonal(product)
    found = np.zeros(errors.shape[1])
    for k in range(len(errors) - 1):
        variance = squares[k] + squares[k + 1 :] - 2 * product[k, k + 1 :]
        for row, square in enumerate(variance, start=k + 1):
            spread = float(np.sqrt(max(square, 0.0)))
            if spread > _SAME * (size[k] + size[row]):
                np.maximum(found, np.abs(errors[k] - errors[row]) / spread, out=found)
    return found

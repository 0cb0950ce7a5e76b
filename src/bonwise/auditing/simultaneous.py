"""Several judges on the same prompts: the differences of every two, and intervals that hold together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.auditing.result import ChoiceConfidences
from bonwise.stats import laws
from bonwise.stats.clusters import cluster_sums
from bonwise.table.store import Names

_DRAWS = 20_000
_SAME = 1e-9  # a difference of influences below this share of them is rounding: the estimates vary alike


@dataclass(frozen=True, slots=True, eq=False)
class UnitInfluences:
    """How much every prompt, or cluster of prompts, adds to the estimates of one judge."""

    units: Names | np.typing.NDArray[np.object_] | Ints
    """Names of the prompts or codes of the clusters, each once."""
    by_metric: Mapping[str, Floats] = field(repr=False)
    """Their sum of squares is about the variance of the estimate."""


def pick_influences(
    gains: Floats, possible: Floats, clusters: Ints | None = None, weights: Floats | None = None
) -> dict[str, Floats]:
    """Return the influence of each prompt, or cluster by code, on gain and recovery, of J - R and M - R."""
    w = np.ones(len(gains)) if weights is None else weights
    mean, room = float(w @ gains / w.sum()), float(w @ possible / w.sum())
    w = w / w.sum()
    found = {"gain": w * (gains - mean)}
    if room > 0:
        found["recovery"] = w * (gains - mean / room * possible) / room
    return {name: cluster_sums(values, clusters) for name, values in found.items()}


def aligned(judges: Sequence[UnitInfluences], metric: str) -> Floats:
    """Return the influences of judges on all units, shape (judges, units), 0 where a judge lacks the unit."""
    first = judges[0].units
    if all(judge.units is first or np.array_equal(judge.units, first) for judge in judges):
        return np.stack([judge.by_metric[metric] for judge in judges])
    known, places = np.unique(np.concatenate([judge.units for judge in judges]), return_inverse=True)
    ends = np.cumsum([len(judge.units) for judge in judges])[:-1]
    found = np.zeros((len(judges), len(known)))
    for row, judge, columns in zip(found, judges, np.split(places.reshape(-1), ends), strict=True):
        row[columns] = judge.by_metric[metric]
    return found


def joint_confidence(influences: Floats, confidence: float, *, seed: int = 0) -> ChoiceConfidences:
    """Return the confidences at which intervals of single estimates hold together, by drawn normal maxima."""
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
    after, simultaneous, differences = (
        max(float(1 - 2 * laws.special().ndtr(-c)), confidence) for c in (lower, each, apart)
    )
    return ChoiceConfidences(after=after, simultaneous=simultaneous, differences=differences)


def _drawn(influences: Floats, rng: np.random.Generator) -> Floats:
    """Return draws of the estimates' errors, shape (estimates, draws)."""
    # The triangular factor of the covariance, without the covariance: estimates may vary exactly alike.
    _, factor = np.linalg.qr(influences.T)
    # The signs are LAPACK's choice, and would show in the draws.
    factor *= np.where(np.diagonal(factor) < 0, -1.0, 1.0)[:, None]
    return factor.T @ rng.standard_normal((len(factor), _DRAWS))


def _largest_difference(errors: Floats, influences: Floats, size: Floats) -> Floats:
    """Return the largest standardised difference between two estimates in each draw."""
    product = influences @ influences.T
    squares = np.diagonal(product)
    found, apart = np.zeros((2, errors.shape[1]))
    for k in range(len(errors) - 1):
        variance = squares[k] + squares[k + 1 :] - 2 * product[k, k + 1 :]
        for row, square in enumerate(variance, start=k + 1):
            spread = float(np.sqrt(max(square, 0.0)))
            if spread > _SAME * (size[k] + size[row]):
                np.subtract(errors[k], errors[row], out=apart)
                np.abs(apart, out=apart)
                apart /= spread
                np.maximum(found, apart, out=found)
    return found

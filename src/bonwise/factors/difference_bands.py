"""Intervals for capabilities: pointwise, and simultaneous by the largest standardised error.

``laplace_gibbs`` takes the joint posterior of all factors. ``propagated`` adds the error of the prompts' factors to
that of stage 2. ``fixed`` is the paper's: it takes the features of stage 1 as known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from scipy import special, stats

from bonwise.arrays import Floats

StageOneError = Literal["laplace_gibbs", "propagated", "fixed"]
"""How an interval treats the error of stage 1."""

STAGE_ONE_ERRORS: tuple[StageOneError, ...] = get_args(StageOneError)

COVERS: dict[StageOneError, float] = {"laplace_gibbs": 0.95, "propagated": 0.87, "fixed": 0.51}
"""Share of within-prompt differences in the 95 % interval: mean of 16 simulated sets of the size of BiGGen-Bench."""

UNSEEN_TRAITS = "Intervals assume that no trait matters to people that every judge overlooks."

_DRAWS = 20_000
_FEWEST_DRAWS = 4


@dataclass(frozen=True, eq=False)
class Band:
    """Estimates with intervals, one per item."""

    estimate: Floats = field(repr=False)
    se: Floats = field(repr=False)
    pointwise: float
    simultaneous: float
    """Both: multiples of the standard error at which the intervals end: for each item alone, and for all together."""

    @property
    def interval(self) -> tuple[Floats, Floats]:
        """Ends of the pointwise intervals."""
        return self.estimate - self.pointwise * self.se, self.estimate + self.pointwise * self.se

    @property
    def band(self) -> tuple[Floats, Floats]:
        """Ends of the simultaneous intervals: all of them hold together with the stated confidence."""
        return self.estimate - self.simultaneous * self.se, self.estimate + self.simultaneous * self.se

    def alone(self, at: int) -> dict[str, float]:
        """Return one item with its pointwise interval, as the fields of a record."""
        estimate, se = float(self.estimate[at]), float(self.se[at])
        half = self.pointwise * se
        return {"estimate": estimate, "se": se, "low": estimate - half, "high": estimate + half}

    def figures(self, at: int) -> dict[str, float]:
        """Return one item with both intervals, as the fields of a record."""
        half = self.simultaneous * float(self.se[at])
        centre = float(self.estimate[at])
        return {**self.alone(at), "band_low": centre - half, "band_high": centre + half}


def band_of_draws(draws: Floats, confidence: float) -> Band:
    """Return mean and standard deviation of posterior draws, shape (draws, items), with both intervals."""
    mean, sd = draws.mean(axis=0), draws.std(axis=0, ddof=1)
    off = (draws - mean) / np.where(sd > 0, sd, 1.0)
    return Band(mean, sd, _normal(confidence), _largest(_by_the_others(off), confidence))


def band_of_covariance(estimate: Floats, covariance: Floats, confidence: float, degrees: int, seed: int) -> Band:
    """Return both intervals of estimates with a known covariance, by Student's law; `degrees` are at least 1."""
    se = np.sqrt(np.maximum(np.diag(covariance), 0))
    pointwise = float(stats.t.ppf((1 + confidence) / 2, degrees))
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    rng = np.random.default_rng(seed)
    drawn = rng.standard_normal((_DRAWS, len(se))) @ root.T / np.where(se > 0, se, 1.0)
    drawn /= np.sqrt(rng.chisquare(degrees, (_DRAWS, 1)) / degrees)
    return Band(estimate, se, pointwise, max(float(np.quantile(np.abs(drawn).max(axis=1), confidence)), pointwise))


def _by_the_others(standardised: Floats) -> Floats:
    """Return how far each draw lies from the mean of the others, in their deviations, as the truth is compared.

    A draw far from the mean raises the deviation by itself: among 150 draws, 4.00 becomes 4.25.
    """
    count, squares = len(standardised), standardised**2
    if count < _FEWEST_DRAWS:
        return standardised
    of_others = np.maximum(count - 1 - squares * count / (count - 1), 1e-9) / (count - 2)
    return np.asarray(count / (count - 1) * np.sqrt(squares / of_others))


def _normal(confidence: float) -> float:
    return float(special.ndtri((1 + confidence) / 2))


def _largest(standardised: Floats, confidence: float) -> float:
    """Return the quantile of the largest standardised error over the items; of few draws the next larger one."""
    most = np.sort(np.abs(standardised).max(axis=1))
    at = int(np.ceil((len(most) + 1) * confidence)) - 1
    return float(max(most[min(at, len(most) - 1)], _normal(confidence)))

"""Intervals for capabilities: pointwise, and simultaneous by the largest standardised error.

``laplace_gibbs`` takes the joint posterior of all factors. ``propagated`` adds the error of the prompts' factors to
that of stage 2. ``fixed`` is the paper's: it takes the features of stage 1 as known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from scipy import special

from bonwise.factors.capabilities import CapabilityFactors
from bonwise.factors.rating_arrays import RatingArrays
from bonwise.factors.stage_two import HumanModel
from bonwise.stats.ordinal.likelihood import slope_and_curvature
from bonwise.stats.sums import Floats

__all__ = ["COVERS", "STAGE_ONE_ERRORS", "Band", "PluggedIn", "StageOneError", "band_of_draws"]

StageOneError = Literal["laplace_gibbs", "propagated", "fixed"]
"""How an interval treats the error of stage 1."""

STAGE_ONE_ERRORS: tuple[StageOneError, ...] = get_args(StageOneError)

COVERS: dict[StageOneError, float] = {"laplace_gibbs": 0.954, "propagated": 0.879, "fixed": 0.509}
"""Share of within-prompt differences in the 95 % interval: mean of 16 simulated sets of the size of BiGGen-Bench."""

_DRAWS = 4000


@dataclass(frozen=True, eq=False)
class Band:
    """Estimates with intervals, one per item.

    Parameters
    ----------
    estimate, se : ndarray of float64, shape (items,)
    pointwise, simultaneous : float
        Multiples of the standard error at which the intervals end: for each item alone, and for all together.
    """

    estimate: Floats = field(repr=False)
    se: Floats = field(repr=False)
    pointwise: float
    simultaneous: float

    @property
    def interval(self) -> tuple[Floats, Floats]:
        """Ends of the pointwise intervals."""
        return self.estimate - self.pointwise * self.se, self.estimate + self.pointwise * self.se

    @property
    def band(self) -> tuple[Floats, Floats]:
        """Ends of the simultaneous intervals: all of them hold together with the stated confidence."""
        return self.estimate - self.simultaneous * self.se, self.estimate + self.simultaneous * self.se


def band_of_draws(draws: Floats, confidence: float) -> Band:
    """Return mean and standard deviation of posterior draws, with both intervals.

    Parameters
    ----------
    draws : ndarray of float64, shape (draws, items)
    confidence : float
    """
    mean, sd = draws.mean(axis=0), draws.std(axis=0, ddof=1)
    return Band(mean, sd, _normal(confidence), _largest((draws - mean) / np.where(sd > 0, sd, 1.0), confidence))


@dataclass(frozen=True, eq=False)
class PluggedIn:
    """Intervals around the fitted stages 1 and 2, without further draws of the factors.

    Parameters
    ----------
    capabilities : CapabilityFactors
        Stage 1.
    human : HumanModel
        Stage 2 on the block ``skills`` alone.
    information : ndarray of float64, shape (prompts, rank, rank), optional
        Of the prompts' factors in stage 1; None takes them as known.
    """

    capabilities: CapabilityFactors = field(repr=False)
    human: HumanModel = field(repr=False)
    information: Floats | None = field(repr=False)

    @classmethod
    def of(
        cls,
        judges: RatingArrays,
        capabilities: CapabilityFactors,
        human: HumanModel,
        *,
        prior: float,
        propagated: bool,
    ) -> PluggedIn:
        """Return the intervals; with `propagated` the error of the prompts' factors counts.

        Parameters
        ----------
        judges : RatingArrays
            Ratings of the judges alone.
        capabilities : CapabilityFactors
        human : HumanModel
            Of the block ``skills``.
        prior : float
            Precision of the prior of stage 1.
        propagated : bool
        """
        if not propagated:
            return cls(capabilities, human, None)
        counted = judges.counted()
        z = capabilities.raters[counted.rater] * counted.differences(capabilities.models)
        upper, lower = counted.layout.ends(capabilities.cutoffs)
        eta = (z * capabilities.prompts[counted.prompt]).sum(axis=1)
        bend = counted.weight * slope_and_curvature(eta, upper[counted.category], lower[counted.category])[1]
        rank = capabilities.rank
        products = (z[:, :, None] * z[:, None, :]).reshape(len(z), -1)
        information = (counted.by_prompt @ (bend[:, None] * products)).reshape(-1, rank, rank)
        return cls(capabilities, human, information + prior * np.eye(rank))

    @property
    def _scales(self) -> Floats:
        scales = self.human.design.scales
        return np.ones(self.capabilities.rank) if scales is None else scales

    @property
    def _weights(self) -> Floats:
        """Weight of each skill before features were scaled."""
        return np.asarray(self.human.regression.coefficients / self._scales)

    def difference(self, of_models: Floats, confidence: float, rng: np.random.Generator) -> Band:
        """Return by how much a model, or a difference of models, is rated higher on each prompt.

        Parameters
        ----------
        of_models : ndarray of float64, shape (rank,)
            Row of the models' factor, or the difference of two rows.
        confidence : float
        rng : numpy.random.Generator
            Draws the largest standardised error.
        """
        x = self.capabilities.prompts * of_models / self._scales
        covariance = self.human.regression.covariance
        variance = ((x @ covariance) * x).sum(axis=1)
        own = np.zeros(len(x))
        if self.information is not None:
            toward = self._weights * of_models
            own = np.linalg.solve(self.information, np.broadcast_to(toward, x.shape)[..., None])[..., 0] @ toward
        se = np.sqrt(variance + own)
        root = np.linalg.cholesky(covariance + 1e-12 * np.eye(len(covariance)))
        most = np.empty(_DRAWS)
        for at in range(0, _DRAWS, 200):
            off = x @ root @ rng.standard_normal((x.shape[1], 200))
            off += np.sqrt(own)[:, None] * rng.standard_normal((len(x), 200))
            most[at : at + 200] = np.abs(off / np.where(se > 0, se, 1.0)[:, None]).max(axis=0)
        estimate = x @ self.human.regression.coefficients
        return Band(estimate, se, _normal(confidence), float(np.quantile(most, confidence)))


def _normal(confidence: float) -> float:
    return float(special.ndtri((1 + confidence) / 2))


def _largest(standardised: Floats, confidence: float) -> float:
    """Return the quantile of the largest standardised error over the items; of few draws the next larger one."""
    most = np.sort(np.abs(standardised).max(axis=1))
    at = int(np.ceil((len(most) + 1) * confidence)) - 1
    return float(max(most[min(at, len(most) - 1)], _normal(confidence)))

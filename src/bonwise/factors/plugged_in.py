"""Draws around the fitted stages 1 and 2: the paper's interval, and one that adds the error of the prompts."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bonwise.factors.capabilities import CapabilityFactors
from bonwise.factors.posterior_sampler import PosteriorDraws
from bonwise.factors.rating_arrays import RatingArrays
from bonwise.factors.stage_two import HumanModel
from bonwise.stats.ordinal.likelihood import slope_and_curvature
from bonwise.stats.sums import Floats

__all__ = ["DRAWS", "PluggedIn"]

DRAWS = 400


@dataclass(frozen=True, eq=False)
class PluggedIn:
    """Intervals around the fitted stages 1 and 2, without further draws of the factors."""

    capabilities: CapabilityFactors = field(repr=False)
    """Stage 1."""
    human: HumanModel = field(repr=False)
    """Stage 2 on the block ``skills`` alone."""
    information: Floats | None = field(repr=False)
    """Of the prompts' factors in stage 1; None takes them as known."""

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

    def draws(self, rng: np.random.Generator, count: int = DRAWS) -> PosteriorDraws:
        """Draw the weights of the skills, and the prompts' factors where their error counts.

        Parameters
        ----------
        rng : numpy.random.Generator
        count : int
        """
        regression = self.human.regression
        root = np.linalg.cholesky(regression.covariance + 1e-12 * np.eye(len(regression.coefficients)))
        weights = regression.coefficients + rng.standard_normal((count, len(root))) @ root.T
        scales = np.ones(self.capabilities.rank) if self.human.design.scales is None else self.human.design.scales
        models = (weights / scales)[:, None, :] * self.capabilities.models
        prompts = np.broadcast_to(self.capabilities.prompts, (count, *self.capabilities.prompts.shape))
        if self.information is not None:
            upper = np.linalg.cholesky(self.information).transpose(0, 2, 1)
            noise = rng.standard_normal((len(upper), upper.shape[1], count))
            prompts = prompts + np.linalg.solve(upper, noise).transpose(2, 0, 1)
        size = np.sqrt((prompts**2).mean(axis=1, keepdims=True))
        cutoffs = np.broadcast_to(regression.cutoffs, (count, len(regression.cutoffs)))
        return PosteriorDraws(models * size, prompts / size, np.array(cutoffs))

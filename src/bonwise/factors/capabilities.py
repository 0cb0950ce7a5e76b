"""The tensor of capabilities, as its factors: ``t[r, m, p] = sum_k U[r, k] M[m, k] P[p, k]``."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bonwise.stats.ordinal.cutoffs import CutoffLayout
from bonwise.stats.sums import Floats

__all__ = ["CapabilityFactors", "CapabilityShape"]


@dataclass(frozen=True, slots=True)
class CapabilityShape:
    """Sizes of the factors, and where they stand in one vector of parameters."""

    raters: int
    prompts: int
    models: int
    rank: int
    layout: CutoffLayout = field(repr=False)
    """Of the raters."""

    @property
    def factors(self) -> int:
        """How many numbers the factors hold; the free numbers of the cutoffs follow them."""
        return (self.raters + self.prompts + self.models) * self.rank

    def split(self, vector: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return raters (R, K), prompts (P, K), models (M, K) and free numbers of the cutoffs."""
        k = self.rank
        ends = np.cumsum([self.raters * k, self.prompts * k, self.models * k])
        raters, prompts, models, raw = np.split(vector, ends)
        return raters.reshape(-1, k), prompts.reshape(-1, k), models.reshape(-1, k), raw


@dataclass(frozen=True, eq=False)
class CapabilityFactors:
    """Factors of the tensor of capabilities, and the cutoffs of the raters."""

    raters: Floats = field(repr=False)
    """U: how far a rater heeds each skill."""
    prompts: Floats = field(repr=False)
    """P: how far a prompt asks for each skill."""
    models: Floats = field(repr=False)
    """M: how good a model is at each skill."""
    cutoffs: Floats = field(repr=False)
    loss: float
    """Mean negative log-likelihood per rating with the penalty, as it was minimised."""
    steps: int = 0
    """Iterations that the optimiser took."""

    @property
    def rank(self) -> int:
        """How many skills there are, K."""
        return int(self.raters.shape[1])

    def tensor(self) -> Floats:
        """Return the capabilities, shape (raters, models, prompts)."""
        return np.asarray(np.einsum("rk,mk,pk->rmp", self.raters, self.models, self.prompts))

    def features(self) -> Floats:
        """Return ``M_m * P_p``, the features that stage 2 takes, shape (models, prompts, rank)."""
        return np.asarray(self.models[:, None, :] * self.prompts[None, :, :])

"""Which prompts of a population carry labels, and with which probability each came to carry them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bonwise.stats.sums import Floats

__all__ = ["LabelSample"]

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LabelSample:
    """A random sample of prompts whose candidates were labelled.

    Parameters
    ----------
    labelled : ndarray of bool, shape (prompts,)
        R: whether a prompt is labelled.
    propensity : ndarray of float64, shape (prompts,)
        pi: probability with which it came to be labelled, in (0, 1]; NaN may stand where R is 0.
    strata : ndarray of int64, shape (prompts,), or None
        h: within a stratum all prompts were drawn alike, a fixed number of them without replacement. None where
        prompts were drawn independently of each other, each with its own propensity.

    Examples
    --------
    >>> sample = LabelSample.uniform(np.array([True, False, True, False]))
    >>> sample.weights.tolist(), sample.ess
    ([2.0, 0.0, 2.0, 0.0], 2.0)
    """

    labelled: npt.NDArray[np.bool_]
    propensity: Floats
    strata: _Ints | None

    @classmethod
    def uniform(cls, labelled: npt.NDArray[np.bool_]) -> LabelSample:
        """Return the sample in which every prompt was as likely as any other."""
        prompts = len(labelled)
        share = labelled.sum() / prompts
        return cls(labelled, np.full(prompts, share), np.zeros(prompts, dtype=np.int64))

    @classmethod
    def realised(cls, labelled: npt.NDArray[np.bool_], strata: _Ints) -> LabelSample:
        """Return the stratified sample with the shares that were labelled, ``pi_h = n_h / N_h``."""
        _, owner = np.unique(strata, return_inverse=True)
        share = np.bincount(owner, weights=labelled) / np.bincount(owner)
        return cls(labelled, share[owner], strata)

    def keep(self, prompts: npt.NDArray[np.bool_]) -> LabelSample:
        """Return the sample of some of the prompts, with the shares of its strata that are labelled among them."""
        if self.strata is None:
            return LabelSample(self.labelled[prompts], self.propensity[prompts], None)
        return LabelSample.realised(self.labelled[prompts], self.strata[prompts])

    @property
    def count(self) -> int:
        """Number of labelled prompts, m."""
        return int(self.labelled.sum())

    @property
    def weights(self) -> Floats:
        """R / pi of each prompt, 0 where it is unlabelled."""
        return np.divide(1.0, self.propensity, out=np.zeros(len(self.labelled)), where=self.labelled)

    @property
    def equal(self) -> bool:
        """Whether all labelled prompts have the same propensity."""
        mine = self.propensity[self.labelled]
        return bool(np.ptp(mine) <= 1e-12)

    @property
    def ess(self) -> float:
        """Effective number of labelled prompts, ``(sum w)^2 / sum w^2`` with w = R / pi."""
        weights = self.weights
        return float(weights.sum() ** 2 / np.sum(weights**2))

"""A fitted stack of judges: scores of several judges in, how good each candidate is and which is the best out."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bonwise.data.feature_scaling import FeatureScaling, StackFeature

__all__ = ["DRAWS", "JudgeStack"]

DRAWS = 200
"""Draws of the coefficients behind chances."""

_Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class JudgeStack:
    """Weights of several judges, as they were fitted to labelled candidates.

    The utility of candidate i is ``u_i = x_i' b`` with features x, see `FeatureScaling`. It is on the scale of a
    logit, and compares candidates of one prompt only. With draws b_s of the coefficients and the temperature t::

        P(i is best) = mean_s exp(x_i' b_s / t) / sum_k exp(x_k' b_s / t)

    The quality of a candidate is its utility and a Gumbel error that no judge sees, so that the regret to be expected
    of picking i is ``unit * mean_s (log sum_k exp(x_k' b_s / t) - x_i' b_s / t)``.

    Examples
    --------
    >>> scaling = FeatureScaling((StackFeature("a", "score"), StackFeature("b", "score")), np.ones(2), np.eye(2))
    >>> stack = JudgeStack(scaling, np.array([2.0, 1.0]), np.zeros((2, 2)))
    >>> pool = np.array([[.9, .2], [.4, .3]])
    >>> stack.utilities(pool).tolist(), stack.p_best(pool).round(3).tolist()
    ([0.45, -0.45], [0.711, 0.289])
    """

    scaling: FeatureScaling
    coefficients: _Floats = field(repr=False)
    covariance: _Floats = field(repr=False)
    """Of the coefficients, clustered by prompt."""
    temperature: float = 1.0
    """Above 0: calibrates P(best), out of fold."""
    unit: float = 1.0
    """Labels per unit of regret."""
    seed: int = 0
    """Of the draws."""
    fallback: str | None = None
    """The judge that is taken alone, because cross-validation showed no gain of a stack."""

    @property
    def features(self) -> tuple[StackFeature, ...]:
        """What the columns of features are."""
        return self.scaling.features

    @cached_property
    def judges(self) -> tuple[str, ...]:
        """The judges whose scores it takes."""
        return tuple(one.judge for one in self.features if one.kind == "score")

    def scored(self, values: _Floats) -> npt.NDArray[np.bool_]:
        """Tell which candidates have the score of one judge at least."""
        scores = [at for at, one in enumerate(self.features) if one.kind == "score"]
        return np.asarray((~np.isnan(values[:, scores])).any(axis=1))

    def utilities(self, values: _Floats, sizes: _Ints | None = None) -> _Floats:
        """Return the utility of each candidate, NaN where no judge scored it.

        Parameters
        ----------
        values : ndarray of float64, shape (cells, features)
            NaN where there is none.
        sizes : ndarray of int64, shape (prompts,), optional
            All candidates are of one prompt where they are not given.
        """
        found: _Floats = self.scaling.standardised(values, sizes) @ self.coefficients
        return np.where(self.scored(values), found, np.nan)

    def p_best(self, values: _Floats) -> _Floats:
        """Return the chance of each candidate of one prompt to be the best; NaN for one that no judge scored."""
        return self.judged(values)[1]

    def expected_regret(self, values: _Floats) -> _Floats:
        """Return by how much the label of the best is expected to exceed that of each candidate of one prompt."""
        return self.judged(values)[2]

    def judged(self, values: _Floats) -> tuple[_Floats, _Floats, _Floats]:
        """Return utilities, `p_best` and `expected_regret` of the candidates of one prompt.

        Parameters
        ----------
        values : ndarray of float64, shape (candidates, features)
            NaN where there is none.

        Returns
        -------
        tuple of ndarray, each of shape (candidates,)
            NaN for a candidate that no judge scored: it is not among those that may be the best.
        """
        scored = self.scored(values)
        standardised = self.scaling.standardised(values)
        if scored.all():
            return standardised @ self.coefficients, *self._drawn(standardised)
        found = np.full((3, len(values)), np.nan)
        if scored.any():
            found[0, scored] = standardised[scored] @ self.coefficients
            found[1:, scored] = self._drawn(standardised[scored])
        return found[0], found[1], found[2]

    def _drawn(self, standardised: _Floats) -> tuple[_Floats, _Floats]:
        quality = standardised @ self._draws
        top = quality.max(axis=0)
        sums = np.exp(quality - top)
        total = sums.sum(axis=0)
        regret = (top + np.log(total) - quality).mean(axis=1)
        return (sums / total).mean(axis=1), self.unit * regret

    @cached_property
    def _draws(self) -> _Floats:
        """Coefficients divided by the temperature, shape (features, draws): each draw and its mirror image."""
        rng = np.random.default_rng(self.seed)
        values, vectors = np.linalg.eigh((self.covariance + self.covariance.T) / 2)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        noise = root @ rng.standard_normal((len(self.coefficients), DRAWS // 2))
        both = np.concatenate([noise, -noise], axis=1)
        found: _Floats = (self.coefficients[:, None] + both) / self.temperature
        return found

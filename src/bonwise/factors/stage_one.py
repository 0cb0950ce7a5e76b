"""Stage 1: the factors of the cheap raters, by penalised maximum likelihood.

The paper minimises the mean negative log-likelihood by Adam and normalises the columns of two factors. Here all three
factors have a Gaussian prior with precision `prior` instead, and L-BFGS with analytic gradients finds the mode: this
is better conditioned and predicts better. `normalize=True` is the paper's way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy import optimize

from bonwise.factors.capabilities import CapabilityFactors, CapabilityShape
from bonwise.factors.rating_arrays import RatingArrays
from bonwise.stats.ordinal.likelihood import ordinal_terms
from bonwise.stats.sums import Floats

__all__ = ["StageOneLoss", "fit_capabilities"]

_ITERATIONS = 400
_MEMORY = 20


@dataclass(frozen=True, eq=False)
class StageOneLoss:
    """Mean negative log-likelihood per rating with its penalty, as a function of one vector of parameters.

    Parameters
    ----------
    data : RatingArrays
    shape : CapabilityShape
    prior : float
        Precision of the Gaussian prior of all factors; at least 0.
    normalize : bool
        Whether the columns of prompts and models are normalised, and there is no prior.
    """

    data: RatingArrays = field(repr=False)
    shape: CapabilityShape
    prior: float = 1.0
    normalize: bool = False

    def __call__(self, vector: Floats) -> tuple[float, Floats]:
        """Return the loss and its gradient."""
        data = self.data
        raters, prompts, models, raw = self.shape.split(vector)
        if self.normalize:
            of_prompts, of_models = (np.linalg.norm(part, axis=0) for part in (prompts, models))
            prompts, models = prompts / of_prompts, models / of_models
        upper, lower = self.shape.layout.ends(self.shape.layout.cutoffs(raw))
        better = data.differences(models)
        heeded, asked = raters[data.rater], prompts[data.prompt]
        both = heeded * asked
        terms = ordinal_terms((both * better).sum(axis=1), upper[data.category], lower[data.category])
        total = data.weight.sum()
        share = data.weight / total
        off = -(share * terms.by_eta)[:, None]
        by_rater = data.by_rater @ (off * asked * better)
        by_prompt = data.by_prompt @ (off * heeded * better)
        by_model = data.by_model @ (off * both)
        if self.normalize:
            by_prompt = (by_prompt - prompts * (prompts * by_prompt).sum(axis=0)) / of_prompts
            by_model = (by_model - models * (models * by_model).sum(axis=0)) / of_models
        factors = np.concatenate([by_rater.ravel(), by_prompt.ravel(), by_model.ravel()])
        value = -float(share @ terms.log_probability)
        if not self.normalize:
            weight = self.prior / total
            held = vector[: self.shape.factors]
            value += weight / 2 * float(held @ held)
            factors = factors + weight * held
        count = len(upper)
        by_upper = np.bincount(data.category, -share * terms.by_upper, count).astype(np.float64)
        by_lower = np.bincount(data.category, -share * terms.by_lower, count).astype(np.float64)
        by_cutoffs = self.shape.layout.gradient_of_ends(by_upper, by_lower)
        return value, np.concatenate([factors, self.shape.layout.raw_gradient(raw, by_cutoffs)])

    def start(self, rng: np.random.Generator) -> Floats:
        """Return parameters to start from: positive raters, scattered prompts and models, cutoffs at the shares."""
        shape, k = self.shape, self.shape.rank
        raters = 0.7 + 0.3 * rng.standard_normal(shape.raters * k)
        rest = 0.5 * rng.standard_normal((shape.prompts + shape.models) * k)
        raw = shape.layout.raw(shape.layout.even(self.data.shares()))
        return np.concatenate([raters, rest, raw])

    def capabilities(self, vector: Floats, loss: float, steps: int) -> CapabilityFactors:
        """Return the factors that a vector of parameters holds."""
        raters, prompts, models, raw = self.shape.split(vector)
        if self.normalize:
            prompts, models = (part / np.linalg.norm(part, axis=0) for part in (prompts, models))
        return CapabilityFactors(raters, prompts, models, self.shape.layout.cutoffs(raw), loss, steps)


def fit_capabilities(
    data: RatingArrays,
    rank: int,
    *,
    prior: float = 1.0,
    normalize: bool = False,
    restarts: int = 2,
    seed: int = 0,
    say: Callable[[str], None] | None = None,
) -> CapabilityFactors:
    """Fit the factors of all raters of `data`.

    Parameters
    ----------
    data : RatingArrays
        Ratings of the cheap raters.
    rank : int
        K; at least 1.
    prior : float
        Precision of the Gaussian prior of the factors.
    normalize : bool
        The paper's column normalisation in place of the prior.
    restarts : int
        Starts, of which the one with the smallest loss is kept.
    seed : int
    say : callable, optional
        Called with one line per start.

    Returns
    -------
    CapabilityFactors
    """
    counted = data.counted()
    shape = CapabilityShape(counted.raters, counted.prompts, counted.models, rank, counted.layout)
    loss = StageOneLoss(counted, shape, prior, normalize)
    best: CapabilityFactors | None = None
    for number, rng in enumerate(np.random.default_rng(seed).spawn(max(restarts, 1))):
        found = optimize.minimize(
            loss,
            loss.start(rng),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": _ITERATIONS, "maxcor": _MEMORY, "gtol": 1e-6, "ftol": 1e-9},
        )
        one = loss.capabilities(found.x, float(found.fun), int(found.nit))
        if say is not None:
            say(f"stage 1, rank {rank}, start {number + 1} of {restarts}: loss {one.loss:.5f}")
        if best is None or one.loss < best.loss:
            best = one
    assert best is not None  # noqa: S101 - there is at least one start
    return best

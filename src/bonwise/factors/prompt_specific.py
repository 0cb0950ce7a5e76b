"""The baseline that sees human ratings alone and gives each prompt parameters of its own."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import optimize, sparse

from bonwise.factors.stage_two import HumanRatings
from bonwise.factors.verdict_columns import RatedCells
from bonwise.stats.ordinal.cutoffs import CutoffLayout
from bonwise.stats.ordinal.likelihood import log_probability, ordinal_terms
from bonwise.stats.sums import Floats

__all__ = ["PromptSpecific", "fit_prompt_specific"]

_PRECISIONS = (0.5, 2.0, 8.0, 32.0)
_OF_MODELS = 1.0


@dataclass(frozen=True, eq=False)
class PromptSpecific:
    """Strength of each model, and what each prompt adds.

    A human who rates one model has one number per prompt; one who compares two has one per prompt and model, because
    what a prompt adds to all models alike cancels.
    """

    coefficients: Floats = field(repr=False)
    """Of the models, then those of the prompts."""
    cutoffs: Floats = field(repr=False)
    prompts: int
    models: int
    precision: float
    """Of the Gaussian prior of what a prompt adds."""

    def log_probabilities(self, ratings: HumanRatings) -> Floats:
        """Return the log-probability of each rating, shape (ratings,)."""
        upper, lower = np.append(self.cutoffs, np.inf), np.insert(self.cutoffs, 0, -np.inf)
        eta = _columns(ratings.cells, self.prompts, self.models, pairs=ratings.symmetric) @ self.coefficients
        return log_probability(eta, upper[ratings.rating], lower[ratings.rating])


def fit_prompt_specific(ratings: HumanRatings, prompts: int, models: int) -> PromptSpecific:
    """Fit with the prior that cross-validation prefers."""
    losses = []
    for precision in _PRECISIONS:
        found = [
            -_fit(fitted, prompts, models, precision).log_probabilities(held).sum()
            for fitted, held in ratings.splits()
        ]
        losses.append(float(np.sum(found)))
    return _fit(ratings, prompts, models, _PRECISIONS[int(np.argmin(losses))])


def _columns(cells: RatedCells, prompts: int, models: int, *, pairs: bool) -> sparse.csr_array:
    rows = np.arange(len(cells))
    width = models + (prompts * models if pairs else prompts)
    if not pairs:
        place = np.concatenate([cells.model, models + cells.prompt])
        return sparse.csr_array((np.ones(2 * len(rows)), (np.tile(rows, 2), place)), shape=(len(rows), width))
    at = models + cells.prompt * models
    place = np.concatenate([cells.model, at + cells.model, cells.opponent, at + cells.opponent])
    sign = np.repeat([1.0, -1.0], 2 * len(rows))
    return sparse.csr_array((sign, (np.tile(rows, 4), place)), shape=(len(rows), width))


def _fit(ratings: HumanRatings, prompts: int, models: int, precision: float) -> PromptSpecific:
    x = _columns(ratings.cells, prompts, models, pairs=ratings.symmetric)
    layout = CutoffLayout((ratings.categories,), (ratings.symmetric,))
    penalty = np.concatenate([np.full(models, _OF_MODELS), np.full(x.shape[1] - models, precision)])
    width = x.shape[1]

    def loss(vector: Floats) -> tuple[float, Floats]:
        coefficients, raw = vector[:width], vector[width:]
        upper, lower = layout.ends(layout.cutoffs(raw))
        terms = ordinal_terms(x @ coefficients, upper[ratings.rating], lower[ratings.rating])
        by_upper, by_lower = (
            np.bincount(ratings.rating, -ratings.weight * slope, ratings.categories).astype(np.float64)
            for slope in (terms.by_upper, terms.by_lower)
        )
        by_raw = layout.raw_gradient(raw, layout.gradient_of_ends(by_upper, by_lower))
        # A weak prior, so that the cutoffs of a category without ratings stay finite.
        value = (
            -float(ratings.weight @ terms.log_probability) + float(penalty @ coefficients**2 + 0.01 * raw @ raw) / 2
        )
        by_coefficients = -(x.T @ (ratings.weight * terms.by_eta)) + penalty * coefficients
        return value, np.concatenate([by_coefficients, by_raw + 0.01 * raw])

    counts = np.bincount(ratings.rating, ratings.weight, ratings.categories) + 0.5
    start = np.concatenate([np.zeros(width), layout.raw(layout.even([counts / counts.sum()]))])
    found = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 300})
    return PromptSpecific(found.x[:width], layout.cutoffs(found.x[width:]), prompts, models, precision)

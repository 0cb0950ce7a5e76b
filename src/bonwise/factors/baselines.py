"""Held-out human ratings, and what else predicts them, fitted to the same ratings as the factor model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from scipy import optimize, sparse, stats

from bonwise.arrays import Floats, Ints
from bonwise.estimates import EstimateRecord
from bonwise.factors.stage_two import Block, HumanDesign, HumanRatings, RatedCells, with_best_ridge
from bonwise.stats.ordinal_ratings import CutoffLayout, log_probability, ordinal_terms

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
    size: tuple[int, int]
    """Prompts and models."""
    precision: float
    """Of the Gaussian prior of what a prompt adds."""

    def log_probabilities(self, ratings: HumanRatings) -> Floats:
        """Return the log-probability of each rating, shape (ratings,)."""
        upper, lower = np.append(self.cutoffs, np.inf), np.insert(self.cutoffs, 0, -np.inf)
        eta = _columns(ratings.cells, self.size, pairs=ratings.symmetric) @ self.coefficients
        return log_probability(eta, upper[ratings.rating], lower[ratings.rating])


def fit_prompt_specific(ratings: HumanRatings, prompts: int, models: int) -> PromptSpecific:
    """Fit with the prior that cross-validation prefers."""
    size = prompts, models
    losses = []
    for precision in _PRECISIONS:
        out_of_fold = [
            -_fit(fitted, size, precision).log_probabilities(held).sum() for fitted, held in ratings.splits()
        ]
        losses.append(float(np.sum(out_of_fold)))
    return _fit(ratings, size, _PRECISIONS[int(np.argmin(losses))])


def _columns(cells: RatedCells, size: tuple[int, int], *, pairs: bool) -> sparse.csr_array:
    prompts, models = size
    rows = np.arange(len(cells))
    width = models + (prompts * models if pairs else prompts)
    if not pairs:
        place = np.concatenate([cells.model, models + cells.prompt])
        return sparse.csr_array((np.ones(2 * len(rows)), (np.tile(rows, 2), place)), shape=(len(rows), width))
    at = models + cells.prompt * models
    place = np.concatenate([cells.model, at + cells.model, cells.opponent, at + cells.opponent])
    sign = np.repeat([1.0, -1.0], 2 * len(rows))
    return sparse.csr_array((sign, (np.tile(rows, 4), place)), shape=(len(rows), width))


def _fit(ratings: HumanRatings, size: tuple[int, int], precision: float) -> PromptSpecific:
    models = size[1]
    x = _columns(ratings.cells, size, pairs=ratings.symmetric)
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
    return PromptSpecific(found.x[:width], layout.cutoffs(found.x[width:]), size, precision)


_REGRESSIONS: Mapping[str, tuple[Block, ...]] = MappingProxyType(
    {
        "constant": ("models",),
        "verdicts_only": ("verdicts",),
        "constant_and_verdict": ("models", "mean_verdict"),
        "all_ratings": ("models", "verdicts"),
    }
)

BASELINES = ("frequencies", "constant", "prompt_specific", *tuple(_REGRESSIONS)[1:])
"""``frequencies``: shares of the categories. ``constant``: strengths of the models (Bradley-Terry, or ordered logit).
``prompt_specific``: strengths, and what each prompt adds. ``verdicts_only``: every judge's verdict.
``constant_and_verdict``: strengths and the mean verdict. ``all_ratings``: strengths and every judge's verdict.

Cross-validation chooses the ridge of each.
"""


def baseline_losses(design: HumanDesign, fitted: HumanRatings, held: HumanRatings, prompts: int) -> dict[str, Floats]:
    """Return minus the log-probability of each rating of `held` by baseline, fitted to `fitted`."""
    found: dict[str, Callable[[], Floats]] = {
        "frequencies": lambda: _frequencies(fitted, held),
        "prompt_specific": lambda: fit_prompt_specific(fitted, prompts, design.models).log_probabilities(held),
        **{name: _regression(design, fitted, held, blocks) for name, blocks in _REGRESSIONS.items()},
    }
    return {name: -found[name]() for name in BASELINES}


def _regression(
    design: HumanDesign, fitted: HumanRatings, held: HumanRatings, blocks: tuple[Block, ...]
) -> Callable[[], Floats]:
    return lambda: with_best_ridge(design, fitted, blocks).log_probabilities(held)


def _frequencies(fitted: HumanRatings, held: HumanRatings) -> Floats:
    counts = np.bincount(fitted.rating, fitted.weight, fitted.categories) + 0.5
    if fitted.symmetric:
        counts = counts + counts[::-1]
    return np.asarray(np.log(counts / counts.sum())[held.rating])


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What predicting each held-out rating cost, in nats."""

    own: Floats = field(repr=False)
    baselines: Mapping[str, Floats] = field(repr=False)
    prompt: Ints = field(repr=False)
    """Cluster of each rating."""

    def mean(self, losses: Floats, confidence: float) -> EstimateRecord:
        """Return a mean over ratings with its interval, clustered by prompt."""
        mean = float(losses.mean())
        _, owner = np.unique(self.prompt, return_inverse=True)
        off = np.bincount(owner, losses - mean)
        count = len(off)
        if count < 2:
            reason = "one prompt alone"
            ends = dict.fromkeys(("low", "high", "se", "interval"))
            return EstimateRecord(estimate=mean, **ends, n=count, method="complete", reason=reason)
        se = float(np.sqrt(count / (count - 1) * (off**2).sum()) / len(losses))
        half = float(stats.t.ppf((1 + confidence) / 2, count - 1)) * se
        return EstimateRecord(
            estimate=mean, low=mean - half, high=mean + half, se=se, n=count, interval="cluster_t", method="complete"
        )

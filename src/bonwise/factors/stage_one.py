"""Stage 1: the tensor of capabilities as its factors, from the cheap raters, by penalised maximum likelihood."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from scipy import optimize

from bonwise.arrays import Floats
from bonwise.errors import UsageError
from bonwise.extras import TORCH
from bonwise.factors import rating_arrays, settings
from bonwise.printable import quoted
from bonwise.progress import counting
from bonwise.stats.ordinal_ratings import CutoffLayout, ordinal_terms


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


UsedBackend = Literal["numpy", "torch"]

BACKENDS: tuple[settings.Backend, ...] = get_args(settings.Backend)

MANY_RATINGS = 300_000
"""Ratings of judges above which ``auto`` is torch."""

_ITERATIONS = 400
_MEMORY = 20


@dataclass(frozen=True, eq=False)
class StageOneLoss:
    """Mean negative log-likelihood per rating with its penalty, as a function of one vector of parameters."""

    data: rating_arrays.RatingArrays = field(repr=False)
    shape: CapabilityShape
    prior: float = 1.0
    """Precision of the Gaussian prior of all factors; at least 0."""
    normalize: bool = False
    """Whether the columns of prompts and models are normalised, and there is no prior."""

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


def backend_for(backend: settings.Backend, ratings: int) -> UsedBackend:
    """Return what computes the loss of so many ratings; `MissingExtraError` where torch is asked for but missing."""
    if backend not in BACKENDS:
        raise UsageError(f"there is no backend {quoted(backend)}", hint=f"one of {', '.join(BACKENDS)}")
    if backend == "torch":
        TORCH.require("the backend torch")
    many = ratings > MANY_RATINGS and not TORCH.missing()
    return "torch" if backend == "torch" or (backend == "auto" and many) else "numpy"


def say_torch_is_faster(backend: settings.Backend, ratings: int, say: Callable[[str], None]) -> None:
    """Say which package to install where ``auto`` would take torch if it were installed."""
    if backend == "auto" and ratings > MANY_RATINGS and TORCH.missing():
        say(f"stage 1 fits {ratings:,} ratings with numpy; torch needs less time: pip install 'bonwise[torch]'")


def fit_capabilities(
    data: rating_arrays.RatingArrays,
    rank: int,
    *,
    prior: float = 1.0,
    normalize: bool = False,
    restarts: int = 2,
    seed: int = 0,
    backend: settings.Backend = "auto",
) -> CapabilityFactors:
    """Fit factors of all raters, the best of `restarts`; `rank` is K, `normalize` stands for the `prior`."""
    counted = data.counted()
    shape = CapabilityShape(counted.raters, counted.prompts, counted.models, rank, counted.layout)
    loss = StageOneLoss(counted, shape, prior, normalize)
    minimised: Callable[[Floats], tuple[float, Floats]] = loss
    nearer: Callable[[Floats, np.random.Generator], Floats] = lambda start, _: start  # noqa: E731 - its other form follows
    if backend_for(backend, len(data)) == "torch":
        from bonwise.factors.torch_stage_one import TorchStageOneLoss, by_batches  # noqa: PLC0415 - an extra

        by_torch = TorchStageOneLoss(counted, shape, prior, normalize)
        minimised, nearer = by_torch, lambda start, rng: by_batches(by_torch, start, rng)
    best: CapabilityFactors | None = None
    starts = np.random.default_rng(seed).spawn(max(restarts, 1))
    with counting("start", len(starts)) as step:
        for rng in starts:
            found = optimize.minimize(
                minimised,
                nearer(loss.start(rng), rng),
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": _ITERATIONS, "maxcor": _MEMORY, "gtol": 1e-6, "ftol": 1e-9},
            )
            one = loss.capabilities(found.x, float(found.fun), int(found.nit))
            if best is None or one.loss < best.loss:
                best = one
            step()
    assert best is not None  # noqa: S101 - there is at least one start
    return best

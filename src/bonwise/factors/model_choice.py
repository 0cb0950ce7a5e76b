"""Rank, prior and columns chosen by cross-validation on human ratings.

The loss of stage 1 falls with every further skill, so it cannot choose the rank.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bonwise.factors.rating_arrays import RatingArrays
from bonwise.factors.stage_one import Backend, CapabilityFactors, fit_capabilities
from bonwise.factors.stage_two import RIDGES, Block, HumanDesign, HumanModel, HumanRatings, cross_validated, fit_human

__all__ = [
    "PRIORS",
    "RANKS",
    "ChosenModel",
    "ModelCandidate",
    "StageOneFit",
    "StageOneSettings",
    "choose_among",
    "choose_model",
    "fit_stage_one",
]

RANKS = (1, 2, 3, 5)
PRIORS = (1.0, 6.0)
"""Ranks, and precisions of the prior of the factors, among which cross-validation chooses."""

COLUMNS: tuple[tuple[Block, ...], ...] = (
    ("skills",),
    ("skills", "models"),
    ("skills", "verdicts"),
    ("skills", "models", "verdicts"),
)


@dataclass(frozen=True, slots=True)
class StageOneSettings:
    """How stage 1 is fitted."""

    ranks: Sequence[int] = RANKS
    priors: Sequence[float] = PRIORS
    normalize: bool = False
    restarts: int = 2
    seed: int = 0
    backend: Backend = "auto"


@dataclass(frozen=True, eq=False, slots=True)
class StageOneFit:
    """A stage 1 with its rank and the precision of its prior."""

    rank: int
    prior: float
    capabilities: CapabilityFactors = field(repr=False)


@dataclass(frozen=True, slots=True)
class ModelCandidate:
    """One choice, and how well it predicts."""

    rank: int
    prior: float
    columns: tuple[Block, ...]
    ridge: float
    """The best for these columns."""
    cross_entropy: float
    """Per human rating, cross-validated."""
    se: float
    """Over ratings."""
    stage_one_loss: float
    """For comparison; it chooses nothing."""


@dataclass(frozen=True, eq=False)
class ChosenModel:
    """The choice."""

    capabilities: CapabilityFactors = field(repr=False)
    """Stage 1."""
    human: HumanModel = field(repr=False)
    """Stage 2."""
    best: ModelCandidate
    candidates: tuple[ModelCandidate, ...] = field(repr=False)
    """All that were compared."""


def choose_model(
    judges: RatingArrays,
    design: HumanDesign,
    ratings: HumanRatings,
    settings: StageOneSettings,
    *,
    columns: Sequence[tuple[Block, ...]] = COLUMNS,
    say: Callable[[str], None] | None = None,
) -> ChosenModel:
    """Fit stage 1 with each rank and prior, and take what predicts human ratings best out of fold.

    Parameters
    ----------
    judges : RatingArrays
        Ratings of the judges alone.
    design : HumanDesign
    ratings : HumanRatings
        Those to fit.
    settings : StageOneSettings
    columns : sequence of tuple of str
        Sets of blocks to compare.
    say : callable, optional

    Returns
    -------
    ChosenModel
    """
    return choose_among(fit_stage_one(judges, settings, say=say), design, ratings, columns=columns)


def fit_stage_one(
    judges: RatingArrays, settings: StageOneSettings, *, say: Callable[[str], None] | None = None
) -> list[StageOneFit]:
    """Fit stage 1 with each rank and prior."""
    return [
        StageOneFit(
            rank,
            prior,
            fit_capabilities(
                judges,
                rank,
                prior=prior,
                normalize=settings.normalize,
                restarts=settings.restarts,
                seed=settings.seed,
                backend=settings.backend,
                say=say,
            ),
        )
        for rank in settings.ranks
        for prior in settings.priors
    ]


def choose_among(
    fits: Sequence[StageOneFit],
    design: HumanDesign,
    ratings: HumanRatings,
    *,
    columns: Sequence[tuple[Block, ...]] = COLUMNS,
) -> ChosenModel:
    """Take of fits of stage 1 what predicts human ratings best out of fold; see `choose_model`."""
    found: list[tuple[ModelCandidate, CapabilityFactors, HumanDesign]] = []
    for one in fits:
        skilled = design.with_skills(one.capabilities)
        stage_one = (one.rank, one.prior, one.capabilities.loss)
        found += [(_candidate(skilled, ratings, blocks, stage_one), one.capabilities, skilled) for blocks in columns]
    best, capabilities, skilled = min(found, key=lambda one: one[0].cross_entropy)
    human = fit_human(skilled, ratings, best.columns, best.ridge)
    return ChosenModel(capabilities, human, best, tuple(one for one, *_ in found))


def _candidate(
    design: HumanDesign, ratings: HumanRatings, blocks: tuple[Block, ...], stage_one: tuple[int, float, float]
) -> ModelCandidate:
    rank, prior, loss = stage_one
    compared = [(*cross_validated(design, ratings, blocks, ridge), ridge) for ridge in RIDGES]
    mean, se, ridge = min(compared)
    return ModelCandidate(rank, prior, blocks, ridge, mean, se, loss)

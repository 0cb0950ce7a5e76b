"""Rank, prior and columns by cross-validation on human ratings: the loss of stage 1 falls with every skill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bonwise.factors.rating_arrays import RatingArrays
from bonwise.factors.result import ModelCandidateRecord
from bonwise.factors.stage_one import CapabilityFactors, fit_capabilities
from bonwise.factors.stage_two import RIDGES, Block, HumanDesign, HumanModel, HumanRatings, cross_validated, fit_human

__all__ = ["PRIORS", "RANKS", "ChosenModel", "StageOneFit", "choose_among", "fit_stage_one"]

RANKS = (1, 2, 3, 5)
PRIORS = (1.0, 6.0)
"""Ranks, and precisions of the prior of the factors, among which cross-validation chooses."""

COLUMNS: tuple[tuple[Block, ...], ...] = (
    ("skills",),
    ("skills", "models"),
    ("skills", "verdicts"),
    ("skills", "models", "verdicts"),
)


@dataclass(frozen=True, eq=False, slots=True)
class StageOneFit:
    """A stage 1 with its rank and the precision of its prior."""

    rank: int
    prior: float
    capabilities: CapabilityFactors = field(repr=False)


@dataclass(frozen=True, eq=False)
class ChosenModel:
    """The choice."""

    capabilities: CapabilityFactors = field(repr=False)
    """Stage 1."""
    human: HumanModel = field(repr=False)
    """Stage 2."""
    best: ModelCandidateRecord
    candidates: list[ModelCandidateRecord] = field(repr=False)
    """All that were compared."""


def fit_stage_one(
    judges: RatingArrays, ranks: Sequence[int] = RANKS, priors: Sequence[float] = PRIORS, **settings: Any
) -> list[StageOneFit]:
    """Fit stage 1 to the judges' ratings, with each rank and prior; `settings` are those of `fit_capabilities`."""
    return [
        StageOneFit(rank, prior, fit_capabilities(judges, rank, prior=prior, **settings))
        for rank in ranks
        for prior in priors
    ]


def choose_among(
    fits: Sequence[StageOneFit],
    design: HumanDesign,
    ratings: HumanRatings,
    *,
    columns: Sequence[tuple[Block, ...]] = COLUMNS,
) -> ChosenModel:
    """Take of fits of stage 1, and of `columns`, sets of blocks, what predicts human ratings best out of fold."""
    compared = [
        (_candidate(fit, skilled, ratings, blocks), fit.capabilities, skilled, blocks)
        for fit, skilled in [(fit, design.with_skills(fit.capabilities)) for fit in fits]
        for blocks in columns
    ]
    best, capabilities, skilled, blocks = min(compared, key=lambda row: row[0].cross_entropy)
    human = fit_human(skilled, ratings, blocks, best.ridge)
    return ChosenModel(capabilities, human, best, [candidate for candidate, *_ in compared])


def _candidate(
    fit: StageOneFit, design: HumanDesign, ratings: HumanRatings, blocks: tuple[Block, ...]
) -> ModelCandidateRecord:
    mean, se, ridge = min((*cross_validated(design, ratings, blocks, ridge), ridge) for ridge in RIDGES)
    return ModelCandidateRecord(
        rank=fit.rank,
        prior=fit.prior,
        columns=list(blocks),
        ridge=ridge,
        cross_entropy=mean,
        se=se,
        stage_one_loss=fit.capabilities.loss,
    )

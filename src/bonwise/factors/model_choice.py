"""Rank, prior and columns by cross-validation on human ratings: the loss of stage 1 falls with every skill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from bonwise.factors import rating_arrays, result, stage_one, stage_two
from bonwise.progress import counting

RANKS = (1, 2, 3, 5)
PRIORS = (1.0, 6.0)
"""Ranks, and precisions of the prior of the factors, among which cross-validation chooses."""

COLUMNS: tuple[tuple[stage_two.Block, ...], ...] = (
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
    capabilities: stage_one.CapabilityFactors = field(repr=False)


@dataclass(frozen=True, eq=False)
class ChosenModel:
    """The choice."""

    capabilities: stage_one.CapabilityFactors = field(repr=False)
    """Stage 1."""
    human: stage_two.HumanModel = field(repr=False)
    """Stage 2."""
    best: result.ModelCandidateRecord
    candidates: list[result.ModelCandidateRecord] = field(repr=False)
    """All that were compared."""


def fit_stage_one(
    judges: rating_arrays.RatingArrays,
    ranks: Sequence[int] = RANKS,
    priors: Sequence[float] = PRIORS,
    **settings: Any,
) -> list[StageOneFit]:
    """Fit stage 1 to the judges' ratings, with each rank and prior; `settings` are those of `fit_capabilities`."""
    fits = []
    with counting("stage 1: fit", len(ranks) * len(priors)) as step:
        for rank, prior in product(ranks, priors):
            fits.append(StageOneFit(rank, prior, stage_one.fit_capabilities(judges, rank, prior=prior, **settings)))
            step()
    return fits


def choose_among(
    fits: Sequence[StageOneFit], design: stage_two.HumanDesign, ratings: stage_two.HumanRatings
) -> ChosenModel:
    """Take of fits of stage 1, and of `COLUMNS`, what predicts human ratings best out of fold."""
    compared = []
    with counting("stage 2: fit", len(fits) * len(COLUMNS)) as step:
        for fit in fits:
            skilled = design.with_skills(fit.capabilities)
            for blocks in COLUMNS:
                compared.append((_candidate(fit, skilled, ratings, blocks), fit.capabilities, skilled, blocks))
                step()
    best, capabilities, skilled, blocks = min(compared, key=lambda row: row[0].cross_entropy)
    human = stage_two.fit_human(skilled, ratings, blocks, best.ridge)
    return ChosenModel(capabilities, human, best, [candidate for candidate, *_ in compared])


def _candidate(
    fit: StageOneFit,
    design: stage_two.HumanDesign,
    ratings: stage_two.HumanRatings,
    blocks: tuple[stage_two.Block, ...],
) -> result.ModelCandidateRecord:
    mean, se, ridge = min(stage_two.cross_validated(design, ratings, blocks))
    return result.ModelCandidateRecord(
        rank=fit.rank,
        prior=fit.prior,
        columns=list(blocks),
        ridge=ridge,
        cross_entropy=mean,
        se=se,
        stage_one_loss=fit.capabilities.loss,
    )

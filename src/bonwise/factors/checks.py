"""Ratings that no factor model can be fitted to, refused in one sentence."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bonwise.data.ratings import RatingTable
from bonwise.data.wording import listed, quoted
from bonwise.errors import InputError, UsageError
from bonwise.factors.rating_arrays import RatingArrays

__all__ = ["FEWEST_HUMAN", "largest_rank", "refuse_unfit"]

FEWEST_HUMAN = 20
"""Human ratings without which nothing can be cross-validated."""


def largest_rank(judges: RatingArrays) -> int:
    """Return the most skills that ratings by judges tell apart: no more than prompts, or pairs of judge and model."""
    return max(min(judges.prompts, judges.models * judges.raters), 1)


def refuse_unfit(table: RatingTable, data: RatingArrays, rank: int | None) -> None:
    """Refuse ratings that no factor model can be fitted to.

    Raises
    ------
    bonwise.errors.InputError
        No judge, a human with one category or few ratings, one model, a model that no judge rates, or comparisons
        that fall apart into groups of models.
    bonwise.errors.UsageError
        A rank beyond what the ratings can tell apart.
    """
    human = table.human_scale.rater
    if table.human_scale.size < 2:
        raise InputError(
            f"{table.source}: {quoted(human)} gives one rating alone, {quoted(table.human_scale.labels[0])}",
            hint="a human rater needs ratings in at least two categories",
        )
    if data.raters < 2:
        raise InputError(
            f"{table.source}: no rater but {quoted(human)} gives ratings in two categories",
            hint="add the ratings of at least one judge",
        )
    found = int(data.human.sum())
    if found < FEWEST_HUMAN:
        raise InputError(
            f"{table.source}: {found} ratings by {quoted(human)} are too few to cross-validate",
            hint=f"add human ratings: at least {FEWEST_HUMAN}",
        )
    if len(table.models) < 2:
        raise InputError(f"{table.source}: all ratings are of one model", hint="add ratings of a second model")
    judges = data.without_human()
    rated = np.bincount(judges.model, minlength=data.models)
    rated += np.bincount(judges.opponent[judges.side_by_side], minlength=data.models)
    if (rated == 0).any():
        names = [table.models[at] for at in np.flatnonzero(rated == 0)]
        raise InputError(
            f"{table.source}: no judge rates {listed(names)}", hint="have every model judged, or leave it out"
        )
    _refuse_apart(table, judges)
    if rank is not None and rank > largest_rank(judges):
        raise UsageError(
            f"{table.source}: a rank of {rank} is more than {data.models} models, {judges.raters} judges and "
            f"{data.prompts} prompts can tell apart",
            hint=f"choose a rank of at most {largest_rank(judges)}",
        )


def _refuse_apart(table: RatingTable, judges: RatingArrays) -> None:
    """Refuse groups of models that no judge compares with each other."""
    pairs = judges.side_by_side
    if not pairs.all():
        return
    ones = np.ones(int(pairs.sum()))
    graph = sparse.csr_array((ones, (judges.model[pairs], judges.opponent[pairs])), shape=(judges.models,) * 2)
    count, group = _components(graph)
    if count > 1:
        names = [listed(table.models[at] for at in np.flatnonzero(group == one)) for one in range(2)]
        raise InputError(
            f"{table.source}: no judge compares one of {names[0]} with one of {names[1]}",
            hint="add comparisons between them, or fit them apart",
        )


def _components(graph: sparse.csr_array) -> tuple[int, npt.NDArray[np.int32]]:
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - needed here alone

    count, group = connected_components(graph, directed=False)
    return int(count), group

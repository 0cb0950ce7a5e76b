"""Strengths of models from all votes together: Bradley-Terry, in which a tie is half a vote for each side."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

from bonwise.arrays import Floats, Ints
from bonwise.errors import UsageError
from bonwise.estimates import EstimateRecord
from bonwise.stats import clusters, estimand, estimation, jackknife, laws
from bonwise.table.votes import VoteTable
from bonwise.votes.result import ModelStrength

_MOST_STEPS, _SAME, _NOTHING = 500, 1e-12, 1e-7


def rank_models(table: VoteTable, ties: str | None, confidence: float) -> list[ModelStrength]:
    """Return the models, the strongest first, then those whose strength is withheld with its reason."""
    if ties == "pessimistic":
        raise UsageError(
            "--ties pessimistic counts a tie by the names of the models, which ranks by name",
            hint="rank with --ties half or drop",
        )
    won = np.zeros((len(table.models),) * 2)
    np.add.at(won, (table.first, table.second), table.in_votes[:, 0])
    np.add.at(won, (table.second, table.first), table.in_votes[:, 1])
    # Strengths are finite among models of which each can be reached from each by won votes.
    groups, votes = connected_components(won > 0, connection="strong")[1], won.sum(axis=1) + won.sum(axis=0)
    sizes = np.bincount(groups) + np.bincount(groups, weights=votes) / (votes.sum() + 1)
    ranked = np.flatnonzero(groups == sizes.argmax())
    parts = connected_components(won > 0, directed=False)[1].astype(np.int64)
    strengths, places = _estimated(table, won, ranked, confidence) if len(ranked) > 1 else ({}, {})
    for at in np.setdiff1d(np.flatnonzero(votes), list(strengths)).tolist():
        strengths[at] = estimand.Estimate.undefined(_reason(won, at, ranked, parts), 0)
    return [
        ModelStrength(
            model=table.models[at],
            votes=round(votes[at]),
            share=float(won[at].sum() / votes[at]),
            strength=EstimateRecord.of(strengths[at]),
            places=places.get(at),
        )
        for at in sorted(strengths, key=lambda at: (at not in places, -(strengths[at].estimate or 0.0)))
    ]


def _reason(won: Floats, at: int, ranked: Ints, parts: Ints) -> str:
    """Say why a model has no finite strength beside the models that are ranked."""
    if parts[at] != parts[ranked[0]]:
        return "no votes connect it with the ranked models"
    if not won[at].any():
        return "it won no vote, so no strength is low enough"
    if not won[:, at].any():
        return "it lost no vote, so no strength is high enough"
    others = "ranked" if len(ranked) > 1 else "other"
    return f"its votes against the {others} models all go one way"


def _estimated(
    table: VoteTable, won: Floats, ranked: Ints, confidence: float
) -> tuple[dict[int, estimand.Estimate], dict[int, list[int]]]:
    """Return strengths, and the places that differences of two models leave open, by the position of the model."""
    strengths, curvature = fit_strengths(won[np.ix_(ranked, ranked)])
    kept = np.isin(table.first, ranked) & np.isin(table.second, ranked)
    first, second = (np.searchsorted(ranked, side[kept]) for side in (table.first, table.second))
    prompt, prompts = clusters.cluster_codes(table.prompt[kept])
    in_votes = table.in_votes[kept]
    surprise = in_votes[:, 1] - in_votes.sum(axis=1) * expit(strengths[second] - strengths[first])
    # What each prompt pulls at each model; a vote is about two of them, so that most of it is 0.
    at = (np.tile(prompt, 2), np.concatenate([second, first]))
    pulls = coo_array((np.concatenate([surprise, -surprise]), at), shape=(prompts, len(ranked))).tocsr()
    moved = np.linalg.inv(curvature) * prompts / max(prompts - 1, 1)
    estimates = [
        estimation.from_jackknife(
            float(value),
            jackknife.Scatter.without(value - pulls @ column),
            prompts,
            (-np.inf, np.inf),
            confidence,
            exact=None,
        )
        for value, column in zip(strengths, moved.T, strict=True)
    ]
    # At the peak of the likelihood all pulls add up to nothing.
    shared = moved.T @ (pulls.T @ pulls).toarray() @ moved / prompts
    apart = np.maximum(shared.diagonal()[:, None] + shared.diagonal() - 2 * shared, 0)
    far = laws.student_quantile(confidence, prompts - 1) * np.sqrt((prompts - 1) * apart)
    above = (strengths[:, None] - strengths > far) & (far > _NOTHING)
    places = np.column_stack([1 + above.sum(axis=0), len(ranked) - above.sum(axis=1)]).tolist()
    names = ranked.tolist()
    return dict(zip(names, estimates, strict=True)), dict(zip(names, places, strict=True))


def fit_strengths(won: Floats) -> tuple[Floats, Floats]:
    """Return the likeliest log-odds, of mean 0, and their curvature; `won` holds the votes of row over column."""
    votes, strengths = won + won.T, np.zeros(len(won))
    for _ in range(_MOST_STEPS):
        chance = expit(strengths[:, None] - strengths)
        weights = votes * chance * (1 - chance)
        curvature = np.diag(weights.sum(axis=1)) - weights + 1 / len(won)
        step = np.linalg.solve(curvature, (won - votes * chance).sum(axis=1))
        # From afar a whole step may pass the peak of the likelihood.
        strengths = strengths + step / max(1.0, np.abs(step).max())
        if np.abs(step).max() < _SAME:
            break
    return strengths, curvature

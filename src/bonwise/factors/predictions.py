"""The average that a human would give each model, also one that no human has rated."""

from __future__ import annotations

import numpy as np

from bonwise.documents.factor_prediction import FactorPredictionDocument, PredictedModel
from bonwise.factors.difference_bands import band_of_draws
from bonwise.factors.human_view import HumanView
from bonwise.factors.leaderboards import unrated
from bonwise.stats.ordinal.likelihood import category_probabilities
from bonwise.stats.sums import Floats

__all__ = ["predict_averages"]


def predict_averages(view: HumanView) -> FactorPredictionDocument:
    """Predict the average rating, or the net win rate, of every model over all prompts.

    Parameters
    ----------
    view : HumanView

    Returns
    -------
    FactorPredictionDocument
        Means over prompts of ``E[Y]``; of a human who compares, of ``P(win) - P(loss)`` against every other model.
    """
    draws = np.stack([_averages(view, at) for at in range(len(view.draws))])
    band = band_of_draws(draws, view.confidence)
    low, high = band.interval
    models = [
        PredictedModel(
            model=view.models[at],
            estimate=float(band.estimate[at]),
            se=float(band.se[at]),
            low=float(low[at]),
            high=float(high[at]),
            human_ratings=view.human_ratings[at],
        )
        for at in np.argsort(-band.estimate, kind="stable")
    ]
    return FactorPredictionDocument(
        quantity="net_win_rate" if view.side_by_side else "mean_rating",
        prompts=len(view.prompts),
        models=models,
        confidence=view.confidence,
        notes=unrated(view),
        human=view.human,
        source=view.source,
        version=view.version,
    )


def _averages(view: HumanView, draw: int) -> Floats:
    """Return the average of each model in one draw, shape (models,)."""
    found = view.draws.models[draw] @ view.draws.prompts[draw].T
    cutoffs, points = view.draws.cutoffs[draw], np.array(view.points)
    models, prompts = found.shape
    if not view.side_by_side:
        expected = category_probabilities(found.ravel(), cutoffs) @ points
        return np.asarray(expected.reshape(models, prompts).mean(axis=1))
    net = np.zeros((models, models))
    for one in range(models):
        for other in range(one):
            chances = category_probabilities(found[one] - found[other], cutoffs)
            net[one, other] = (chances @ np.sign(points)).mean()
    return np.asarray((net - net.T).sum(axis=1) / (models - 1))

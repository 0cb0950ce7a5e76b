"""Pools whose labels are all known: what the estimate of recovery varies by, prompt by prompt."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from bonwise.errors import InputError
from bonwise.planning.drawing.label_population import LabelPopulation
from bonwise.planning.drawing.score_features import own_features, stand_ins
from bonwise.stats.gain_model import cross_fitted
from bonwise.stats.sums import Floats, Sums, prompt_sums
from bonwise.stats.top_of_scores import TopOfScores, top_of_scores

__all__ = ["LabelledPools", "labelled_pools"]

MAY_LACK = 0.05
"""Share of prompts that may lack labels; these are left out."""

_FEWEST_TO_FIT = 100

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LabelledPools:
    """Figures of completely labelled prompts, each of shape (prompts,).

    Parameters
    ----------
    scores : ndarray of float64, shape (cells,)
        Of the audited judge.
    sizes : ndarray of int64
    second : ndarray of float64, shape (cells,), or None
        Mean score of the further judges.
    tops : TopOfScores
    gain, best : ndarray of float64
        Y1 and Y2: label of the pick, and best label, both less the mean label.
    recovery : float
    phi : ndarray of float64
        Y1 - rho Y2.
    left : ndarray of float64
        What a cross-fitted model of the scores leaves of phi.
    label_spread, further_spread : ndarray of float64
        Standard deviation over the candidates of the labels, and of the further judges' scores.
    model : str or None
        In words; None where there are too few prompts to fit one.
    unlabelled : int
        Prompts left out for want of labels.
    """

    scores: Floats = field(repr=False)
    sizes: _Ints = field(repr=False)
    second: Floats | None = field(repr=False)
    tops: TopOfScores = field(repr=False)
    gain: Floats = field(repr=False)
    best: Floats = field(repr=False)
    recovery: float
    phi: Floats = field(repr=False)
    left: Floats = field(repr=False)
    label_spread: Floats = field(repr=False)
    further_spread: Floats = field(repr=False)
    model: str | None
    unlabelled: int
    dropped: tuple[dict[str, str], ...] = field(repr=False)

    def counts(self) -> dict[str, Any]:
        """Return the counts of the document."""
        return {
            "prompts": len(self.sizes),
            "cells": len(self.scores),
            "unlabelled": self.unlabelled,
            "dropped": [dict(one) for one in self.dropped],
            "recovery": self.recovery,
            "model": self.model,
            "all_tied": int((self.tops.tied == self.sizes).sum()),
        }


def labelled_pools(population: LabelPopulation, seed: int) -> LabelledPools:
    """Compute the figures.

    Parameters
    ----------
    population : LabelPopulation
        With labels.
    seed : int
        Of the folds of the model.

    Raises
    ------
    bonwise.errors.InputError
        More than 5 % of the prompts lack labels, labels of a prompt never differ, or the judge's picks are all
        random picks.
    """
    kept, lacking = _complete(population)
    cells = np.repeat(kept, population.panel.sizes)
    sizes, scores = population.panel.sizes[kept], population.panel.scores[cells]
    labels = population.panel.labels[cells]
    sums = Sums(*prompt_sums(scores, labels, sizes))
    gain, best = sums.J - sums.R, sums.M - sums.R
    rho = _recovery(gain, best, population.table.source)
    phi = gain - rho * best
    second = population.second
    further = None if second is None else second[cells]
    left, model = _left(phi, scores, sizes, further, seed)
    return LabelledPools(
        scores,
        sizes,
        further,
        top_of_scores(scores, sizes),
        gain,
        best,
        rho,
        phi,
        left,
        top_of_scores(labels, sizes).spread,
        top_of_scores(scores if further is None else further, sizes).spread,
        model,
        lacking,
        tuple({"prompt_id": one.prompt_id, "reason": one.reason} for one in population.panel.dropped),
    )


def _complete(population: LabelPopulation) -> tuple[npt.NDArray[np.bool_], int]:
    kept = population.complete
    lacking = int((~kept).sum())
    if not kept.any() or lacking > MAY_LACK * len(kept):
        raise InputError(
            f"{population.table.source}: {lacking:,} of {len(kept):,} prompts are not completely labelled, and "
            "designs are compared on labels that are all known",
            hint="give a completely labelled table, such as that of an earlier audit, or --label-file FILE",
        )
    return kept, lacking


def _recovery(gain: Floats, best: Floats, source: str) -> float:
    if float(best.sum()) <= 0:
        raise InputError(
            f"{source}: the labels of a prompt never differ, so there is no recovery to estimate",
            hint="labels must tell candidates of a prompt apart",
        )
    rho = float(gain.sum() / best.sum())
    if float(np.abs(gain - rho * best).max()) < 1e-12:
        raise InputError(
            f"{source}: recovery is {rho:g} in every prompt, so no design has anything to save",
            hint="compare designs on a judge that tells candidates apart",
        )
    return rho


def _left(phi: Floats, scores: Floats, sizes: _Ints, second: Floats | None, seed: int) -> tuple[Floats, str | None]:
    """Return what a model leaves of phi, its prediction tuned so that it never adds variance, and its name."""
    features = {f"own_{name}": values for name, values in own_features(scores, sizes).items()}
    if second is not None:
        features |= stand_ins(scores, sizes, second)
    predicted = cross_fitted(features, phi, seed=seed)
    if len(phi) < _FEWEST_TO_FIT or np.isnan(predicted).any():
        return phi, None
    around = predicted - predicted.mean()
    variance = float(around @ around)
    power = min(max(float(around @ phi) / variance, 0.0), 1.0) if variance > 0 else 0.0
    return phi - power * around, "a cross-fitted ridge regression"

"""What scores leave of the labels where all labels are known: what an estimate from some of them would vary by.

Notation: Y1, Y2 and the other outcomes of `label_features.outcomes`; rho = sum Y1 / sum Y2 is recovery, and
phi = Y1 - rho Y2 what each prompt adds to its error; m predicts the outcomes, lam is its weight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.stats.partial.label_features import LabelFeatures
from bonwise.stats.partial.label_sample import LabelSample
from bonwise.stats.partial.model_choice import choose_model
from bonwise.stats.partial.power_tuning import power_tuning
from bonwise.stats.partial.predictions import predictions, prompt_folds
from bonwise.stats.partial.scaled_sample import ScaledSample
from bonwise.stats.sums import Floats

__all__ = ["ScoreResiduals", "recovery_deviations", "score_residuals"]


class ScoreResiduals(NamedTuple):
    """What is left of phi of every prompt, shape (prompts,), and the name of the model that took its part off."""

    left: Floats
    model: str


def recovery_deviations(Y: Floats) -> tuple[float, Floats]:
    """Return recovery, and phi = Y1 - rho Y2 of every prompt.

    Parameters
    ----------
    Y : ndarray of float64, shape (prompts, 5)
        The outcomes; Y2 must not sum to 0.

    Examples
    --------
    >>> rho, phi = recovery_deviations(np.array([[0.5, 0.1, 0.2, 1, 1], [0.5, 0.0, 0.2, 0, 0]]))
    >>> rho, phi.round(3).tolist()
    (0.25, [0.05, -0.05])
    """
    rho = float(Y[:, 1].sum() / Y[:, 2].sum())
    return rho, Y[:, 1] - rho * Y[:, 2]


def score_residuals(
    Y: Floats, features: LabelFeatures, labelled: npt.NDArray[np.bool_], *, seed: int
) -> ScoreResiduals:
    """Return what is left of phi when a sample of the labels had taught the model that an estimate would rest on.

    The model is the one that as many labels would get, cross-fitted on the labels of the sample alone and given the
    weight that they would give it: ``phi - lam (m1 - rho m2)``, predictions about their mean.

    Parameters
    ----------
    Y : ndarray of float64, shape (prompts, 5)
        The outcomes of all prompts.
    features : LabelFeatures
        Of all prompts.
    labelled : ndarray of bool, shape (prompts,)
        The sample, drawn with equal chances; at least one.
    seed : int
        Of the folds.

    Returns
    -------
    ScoreResiduals
        phi itself where so few labels are used alone.
    """
    rho, phi = recovery_deviations(Y)
    draw = ScaledSample.of(LabelSample.uniform(labelled))
    seen = Y[draw.rows]
    choice = choose_model(features, len(draw.rows))
    m = predictions(choice, features, draw, seen, prompt_folds(features, draw, seen, seed))
    if m is None:
        return ScoreResiduals(phi, choice.name)
    of_phi = m[:, 1] - rho * m[:, 2]
    around = of_phi - of_phi.mean()
    if draw.complete:
        # Where nothing is unlabelled the weight has nothing to learn from; this is what it tends to.
        spread = float(around @ around)
        lam = min(max(float(around @ phi) / spread, 0.0), 1.0) if spread > 0 else 0.0
    else:
        lam = float(power_tuning(m, seen, draw, _first_guess(draw, seen))[1])
    return ScoreResiduals(phi - lam * around, choice.name)


def _first_guess(draw: ScaledSample, seen: Floats) -> float:
    centre = draw.mean(seen)
    return float(centre[1] / centre[2]) if centre[2] > 0 else 0.0

"""The measurement model behind the simulated scores and labels.

A prompt has a level for the labels, a correlated level for the judge, and a difficulty that widens or
narrows how far its candidates lie apart. A candidate deviates from the prompt's level by its own quality,
which the labels see and the judge sees in part; now and then either slips downwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["Latent", "draw", "seen"]


class Latent(NamedTuple):
    """The latent values of some prompts: unbounded, no unit."""

    judge_level: NDArray[np.float64]
    """Where the judge sees a prompt's candidates, and how far apart."""
    score_spread: NDArray[np.float64]
    """Where the judge sees a prompt's candidates, and how far apart."""
    difficulty: NDArray[np.float64]
    """How far the labels lie apart: mean 0, variance 1."""
    quality: NDArray[np.float64]
    """What the judge sees of a candidate in part, and what it sees in it that is not there."""
    judge_error: NDArray[np.float64]
    """What the judge sees of a candidate in part, and what it sees in it that is not there."""
    labels: NDArray[np.float64]


def draw(parameters: Mapping[str, float], rng: np.random.Generator, shape: tuple[int, int]) -> Latent:
    """Draw the latent values that thresholds turn into scores and labels.

    Parameters
    ----------
    parameters : mapping of str to float
        As stored in a preset.
    rng : numpy.random.Generator
        Advanced by the draw.
    shape : (int, int)
        Prompts and candidates.

    Returns
    -------
    Latent
    """
    p = parameters
    level, judge_noise, difficulty, label_noise = rng.standard_normal((4, shape[0], 1))
    judge_level = _blend(level, judge_noise, np.tanh(p["level_correlation_atanh"]))
    label_difficulty = _blend(difficulty, label_noise, np.tanh(p["difficulty_overlap_atanh"]))
    label_spread = _spread(p, "label", label_difficulty, level)
    score_spread = _spread(p, "score", difficulty, judge_level)
    quality = _slipping(rng, shape, p["label_slip"], p["label_slip_logit"])
    judge_error = _slipping(rng, shape, p["score_slip"], p["score_slip_logit"])
    slope, shrink = p["label_spread_difficulty"], p["label_spread_level"]
    hardness = (slope * label_difficulty - shrink * level) / np.hypot(slope, shrink)
    return Latent(judge_level, score_spread, hardness, quality, judge_error, level + label_spread * quality)


def seen(latent: Latent, weight: float, persistent: float = 1.0) -> NDArray[np.float64]:
    """Return how the judge sees the candidates, shape (n, candidates).

    Parameters
    ----------
    latent : Latent
    weight : float
        Correlation of what it sees with the quality that the labels see.
    persistent : float
        Part of the variance of its error that is the same in every call.
    """
    error = np.sqrt(persistent) * latent.judge_error
    return latent.judge_level + latent.score_spread * _blend(latent.quality, error, weight)


def _blend(signal: NDArray[np.float64], noise: NDArray[np.float64], weight: float) -> NDArray[np.float64]:
    """Mix two independent columns; for unit variances the result has unit variance and that correlation."""
    mixed: NDArray[np.float64] = weight * signal + np.sqrt(1 - weight**2) * noise
    return mixed


def _spread(
    parameters: Mapping[str, float], side: str, difficulty: NDArray[np.float64], level: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How far a prompt's candidates lie apart: more when it is difficult, less when they are all good."""
    log, slope, shrink = (parameters[f"{side}_spread_{part}"] for part in ("log", "difficulty", "level"))
    spread: NDArray[np.float64] = np.exp(log + slope * difficulty - shrink * level)
    return spread


def _slipping(
    rng: np.random.Generator, shape: tuple[int, int], slip: float, slip_logit: float
) -> NDArray[np.float64]:
    """Draw standard normal values, a share of which is moved down by `slip`."""
    slipped = rng.random(shape) < 1 / (1 + np.exp(-slip_logit))
    values: NDArray[np.float64] = rng.standard_normal(shape) - slip * slipped
    return values

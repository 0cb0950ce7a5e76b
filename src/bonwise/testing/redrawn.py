"""Further calls of the simulated judge, and the interval widths that it states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bonwise.testing.latent import seen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bonwise.testing.latent import Latent

__all__ = ["Redraws", "calls", "coarse_labels", "widths"]


@dataclass(frozen=True, slots=True)
class Redraws:
    """How the calls of one candidate differ, in units of the judge's own error where nothing else is said."""

    quality_seen: float
    """Correlation of what the judge sees with the quality that the labels see."""
    persistent_variance: float
    """Of the error that all calls share."""
    noise_variance: float
    """Of the error of a single call, for a prompt of mean noise."""
    noise_difficulty: float
    """How much the logarithm of a prompt's noise grows with its difficulty, and its scatter beside that."""
    noise_log_sd: float
    """How much the logarithm of a prompt's noise grows with its difficulty, and its scatter beside that."""
    first_call_capped: float | None
    """Share of prompts in which the first call lacks the noise and no candidate exceeds the second best; in the
    others it lacks the noise. None where the first call is like the others.
    """
    labels_in_tenths: float | None
    """Share of prompts whose labels are multiples of 0.1; the others' are of 0.05. None leaves multiples of 0.01."""
    width_difficulty: float
    """What moves the logarithm of the stated width."""
    width_level: float
    """What moves the logarithm of the stated width."""
    width_log_sd: float
    """What moves the logarithm of the stated width."""


def calls(redraws: Redraws, latent: Latent, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Draw what each call of each candidate sees, shape (count, n, candidates).

    Fewer calls are the first of more.
    """
    persistent = seen(latent, redraws.quality_seen, redraws.persistent_variance)
    capped = rng.random((len(persistent), 1))
    scatter = redraws.noise_log_sd * rng.standard_normal(capped.shape) - redraws.noise_log_sd**2 / 2
    noise = np.sqrt(redraws.noise_variance) * np.exp(redraws.noise_difficulty * latent.difficulty + scatter)
    error = latent.score_spread * np.sqrt(1 - redraws.quality_seen**2) * noise
    found: NDArray[np.float64] = persistent + error * rng.standard_normal((count, *persistent.shape))
    if redraws.first_call_capped is not None:
        second = np.sort(persistent, axis=1)[:, -2:-1]
        found[0] = np.where(capped < redraws.first_call_capped, np.minimum(persistent, second), persistent)
    return found


def coarse_labels(redraws: Redraws, labels: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Round labels as the graders of this population do."""
    if redraws.labels_in_tenths is None:
        return labels
    tenths = rng.random((len(labels), 1)) < redraws.labels_in_tenths
    coarse: NDArray[np.float64] = np.where(tenths, np.round(labels * 10) / 10, np.round(labels * 20) / 20)
    return coarse.round(2)


def widths(redraws: Redraws, latent: Latent, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw the width of the interval that the judge states for a prompt: multiples of 0.02, shape (n, 1)."""
    scatter = redraws.width_log_sd * rng.standard_normal(latent.difficulty.shape)
    log = redraws.width_difficulty * latent.difficulty + redraws.width_level * latent.judge_level + scatter
    steps = np.round((0.04 + 0.08 * np.exp(log)) / 0.02)
    found: NDArray[np.float64] = np.clip(steps, 1, 30) / 50
    return found

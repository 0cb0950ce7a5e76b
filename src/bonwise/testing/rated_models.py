"""Simulated ratings of models by judges and a human, whose capabilities are known."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from bonwise.arrays import Floats, Ints, Mask
from bonwise.table.checks import check_number, check_seed, check_whole

__all__ = ["RatedModels", "simulate_ratings"]

_BASE = (-2.2, -0.8, 0.6, 2.0)
"""Cutoffs of five categories before each rater moves its own."""

_HUMAN_WEIGHTS = (1.3, 0.9, 0.5)
_SPREAD = 1.6
"""Standard deviation of the judges' capabilities."""

_WEAK = 0.35
"""What is left of the weights of every third judge."""


@dataclass(frozen=True, eq=False)
class RatedModels:
    """A population of three skills, and ratings drawn from it."""

    capabilities: Floats = field(repr=False)
    """Of the human first."""
    cutoffs: Floats = field(repr=False)
    human: Ints = field(repr=False)
    """All the human's ratings, from 0."""
    judges: Ints = field(repr=False)
    labelled: Mask = field(repr=False)
    """Which of the human's ratings are in the table."""
    seed: int

    def frame(self) -> pd.DataFrame:
        """Lay the ratings out as `bonwise.factors.ratings.RatingTable` reads them.

        Returns
        -------
        pandas.DataFrame
            Columns ``prompt_id`` (p0000, ...), ``model`` (m0, ...), ``rater`` (human, judge00, ...), ``rating`` (1 to
            5) and ``replicate``.
        """
        replicate, judge, prompt, model = (index.ravel() for index in np.indices(self.judges.shape))
        of_human, by_model = np.nonzero(self.labelled)
        names = np.array(["human", *(f"judge{at:02d}" for at in range(self.judges.shape[1]))], dtype=object)
        prompts = np.array([f"p{at:04d}" for at in range(self.human.shape[0])], dtype=object)
        models = np.array([f"m{at}" for at in range(self.human.shape[1])], dtype=object)
        return pd.DataFrame(
            {
                "prompt_id": prompts[np.concatenate([of_human, prompt])],
                "model": models[np.concatenate([by_model, model])],
                "rater": names[np.concatenate([np.zeros(len(of_human), dtype=np.int64), judge + 1])],
                "rating": np.concatenate([self.human[self.labelled], self.judges.ravel()]) + 1,
                "replicate": np.concatenate([np.zeros(len(of_human), dtype=np.int64), replicate]),
            }
        )

    def true_cross_entropy(self) -> float:
        """Return what the true probabilities lose per unlabelled rating of the human, in nats."""
        from bonwise.stats.ordinal_ratings import log_probability  # noqa: PLC0415 - loads scipy

        held = ~self.labelled
        upper, lower = np.append(self.cutoffs[0], np.inf), np.insert(self.cutoffs[0], 0, -np.inf)
        rating = self.human[held]
        return -float(log_probability(self.capabilities[0][held], upper[rating], lower[rating]).mean())


def simulate_ratings(
    seed: int = 0,
    *,
    prompts: int = 695,
    models: int = 4,
    judges: int = 15,
    replicates: int = 1,
    labelled: float = 0.1,
) -> RatedModels:
    """Draw ratings of the size of BiGGen-Bench from three skills.

    Prompts ask for skills with weights around 0.7, models share a general strength, every third judge is nearly
    uninformative, and no judge has the human's weights.

    Parameters
    ----------
    seed : int
    prompts, models, judges, replicates : int
    labelled : float
        Share of the human's ratings that the table holds, in (0, 1].

    Returns
    -------
    RatedModels

    Examples
    --------
    >>> drawn = simulate_ratings(1, prompts=20, judges=3)
    >>> len(drawn.frame()), round(drawn.true_cross_entropy(), 3) > 0
    (248, True)
    """
    check_seed(seed)
    for name, value in (("prompts", prompts), ("models", models), ("judges", judges), ("replicates", replicates)):
        check_whole(name, value, least=1)
    check_number("labelled", labelled, low=0.0, high=1.0)
    rng = np.random.default_rng(seed)
    skills = len(_HUMAN_WEIGHTS)
    asked = 0.7 + 0.9 * rng.standard_normal((prompts, skills))
    able = 0.7 * rng.standard_normal((models, 1)) + 0.6 * rng.standard_normal((models, skills))
    heeded = rng.gamma(1.2, 0.7, size=(judges + 1, skills))
    heeded[1 : 1 + judges // 3] *= _WEAK
    heeded[0] = _HUMAN_WEIGHTS
    capabilities = np.einsum("rk,pk,mk->rpm", heeded, asked, able)
    capabilities *= _SPREAD / capabilities[1:].std()
    cutoffs = np.array(_BASE) + 0.5 * rng.standard_normal((judges + 1, 1))
    cutoffs += np.cumsum(0.15 * np.abs(rng.standard_normal((judges + 1, len(_BASE)))), axis=1)

    def rated(rater: int) -> Ints:
        noisy = capabilities[rater] + rng.logistic(size=(prompts, models, 1))[..., 0]
        return np.asarray((noisy[..., None] > cutoffs[rater]).sum(axis=-1), dtype=np.int64)

    by_judges = np.stack([np.stack([rated(at + 1) for at in range(judges)]) for _ in range(replicates)])
    by_human = rated(0)
    order = rng.permutation(prompts * models)
    chosen = np.zeros(prompts * models, dtype=bool)
    chosen[order[: max(int(labelled * prompts * models), 1)]] = True
    return RatedModels(capabilities, cutoffs, by_human, by_judges, chosen.reshape(prompts, models), seed)

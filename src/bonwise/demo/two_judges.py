"""Two judges of the same global correlation, of which only one can choose.

Write a score as a prompt effect plus a candidate deviation, ``S = sqrt(b) B + sqrt(1 - b) W``, where ``b`` is
the between-prompt share of its variance, and the oracle likewise. All parts are standard normal; ``r_b``
correlates the two prompt effects and ``r_w`` the two deviations. The correlation over all rows is then

    ``r = sqrt(b_S b_O) r_b + sqrt((1 - b_S)(1 - b_O)) r_w``

and one value of ``r`` is reached along a whole line of pairs ``(r_b, r_w)``. Choosing within a prompt sees
``W`` alone: for normal scores the expected recovery of best-of-n is ``r_w``, whatever ``r_b`` is. With
``b = 0.7`` throughout,

    ``flat:   0.7 * 0.9      + 0.3 * 0   = 0.63``
    ``sharp:  0.7 * 0.642857 + 0.3 * 0.6 = 0.63``

so the two judges look the same from afar, one recovering nothing and the other about 0.6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bonwise.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BETWEEN_SHARE", "GLOBAL_R", "TwoJudges", "two_judges"]

BETWEEN_SHARE = 0.7
"""Share of the variance that lies between prompts, for both judges and the oracle."""

GLOBAL_R = 0.63
"""The correlation with the oracle over all rows, for both judges, in the population."""

_FLAT = {"prompt_r": GLOBAL_R / BETWEEN_SHARE, "deviation_r": 0.0}
_SHARP = {"prompt_r": (GLOBAL_R - (1 - BETWEEN_SHARE) * 0.6) / BETWEEN_SHARE, "deviation_r": 0.6}


@dataclass(frozen=True, eq=False)
class TwoJudges:
    """Scores of two judges and of the oracle, one row per prompt and one column per candidate."""

    flat: NDArray[np.float64] = field(repr=False)
    """A judge that knows which prompts went well and nothing about which candidate did."""
    sharp: NDArray[np.float64] = field(repr=False)
    """A judge that tells the candidates of a prompt apart."""
    oracle: NDArray[np.float64] = field(repr=False)
    """The quality both are compared with."""
    seed: int
    """The seed they were drawn with."""


def two_judges(prompts: int = 5000, candidates: int = 4, seed: int = 0) -> TwoJudges:
    """Draw two judges of equal global correlation, of recovery 0 and about 0.6.

    Parameters
    ----------
    prompts : int
        How many prompts to draw.
    candidates : int
        How many candidates each prompt has, at least 2.
    seed : int
        Fixes the draw.

    Returns
    -------
    TwoJudges
        The scores and the oracle, as read-only arrays.

    Raises
    ------
    UsageError
        If there would be no prompt, or nothing to choose from.

    Examples
    --------
    >>> drawn = two_judges(prompts=3, candidates=2)
    >>> drawn.flat.shape
    (3, 2)
    """
    if prompts < 1 or candidates < 2:
        raise UsageError(
            f"cannot draw {prompts} prompts of {candidates} candidates",
            hint="give at least 1 prompt and 2 candidates",
        )
    generator = np.random.default_rng(seed)
    effects = generator.standard_normal((prompts, 1))
    deviations = generator.standard_normal((prompts, candidates))
    scores = [_echo(effects, deviations, generator, **strength) for strength in (_FLAT, _SHARP)]
    flat, sharp, oracle = (_frozen(*parts) for parts in (*scores, (effects, deviations)))
    return TwoJudges(flat=flat, sharp=sharp, oracle=oracle, seed=seed)


def _echo(
    effects: NDArray[np.float64],
    deviations: NDArray[np.float64],
    generator: np.random.Generator,
    *,
    prompt_r: float,
    deviation_r: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw parts that correlate with the oracle's by the given amounts."""
    return (
        prompt_r * effects + math.sqrt(1 - prompt_r**2) * generator.standard_normal(effects.shape),
        deviation_r * deviations + math.sqrt(1 - deviation_r**2) * generator.standard_normal(deviations.shape),
    )


def _frozen(effects: NDArray[np.float64], deviations: NDArray[np.float64]) -> NDArray[np.float64]:
    scores = math.sqrt(BETWEEN_SHARE) * effects + math.sqrt(1 - BETWEEN_SHARE) * deviations
    scores.setflags(write=False)
    return scores

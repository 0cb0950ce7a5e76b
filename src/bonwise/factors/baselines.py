"""What else could predict human ratings: every baseline is fitted to the same ratings as the factor model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from bonwise.factors.human_design import Block, HumanDesign
from bonwise.factors.prompt_specific import fit_prompt_specific
from bonwise.factors.stage_two import HumanRatings, with_best_ridge
from bonwise.stats.sums import Floats

__all__ = ["BASELINES", "baseline_losses"]

_REGRESSIONS: Mapping[str, tuple[Block, ...]] = MappingProxyType(
    {
        "constant": ("models",),
        "verdicts_only": ("verdicts",),
        "constant_and_verdict": ("models", "mean_verdict"),
        "all_ratings": ("models", "verdicts"),
    }
)

BASELINES = ("frequencies", "constant", "prompt_specific", *tuple(_REGRESSIONS)[1:])
"""``frequencies``: shares of the categories. ``constant``: strengths of the models (Bradley-Terry, or ordered logit).
``prompt_specific``: strengths, and what each prompt adds. ``verdicts_only``: every judge's verdict.
``constant_and_verdict``: strengths and the mean verdict. ``all_ratings``: strengths and every judge's verdict.

Cross-validation chooses the ridge of each.
"""


def baseline_losses(design: HumanDesign, fitted: HumanRatings, held: HumanRatings, prompts: int) -> dict[str, Floats]:
    """Return minus the log-probability of each held-out rating by baseline.

    Parameters
    ----------
    design : HumanDesign
    fitted, held : HumanRatings
        Ratings to fit, and to predict.
    prompts : int
        How many there are.

    Returns
    -------
    dict of str to ndarray of float64, shape (held-out ratings,)
    """
    found: dict[str, Callable[[], Floats]] = {
        "frequencies": lambda: _frequencies(fitted, held),
        "prompt_specific": lambda: fit_prompt_specific(fitted, prompts, design.models).log_probabilities(held),
        **{name: _regression(design, fitted, held, blocks) for name, blocks in _REGRESSIONS.items()},
    }
    return {name: -found[name]() for name in BASELINES}


def _regression(
    design: HumanDesign, fitted: HumanRatings, held: HumanRatings, blocks: tuple[Block, ...]
) -> Callable[[], Floats]:
    return lambda: with_best_ridge(design, fitted, blocks).log_probabilities(held)


def _frequencies(fitted: HumanRatings, held: HumanRatings) -> Floats:
    counts = np.bincount(fitted.rating, fitted.weight, fitted.categories) + 0.5
    if fitted.symmetric:
        counts = counts + counts[::-1]
    return np.asarray(np.log(counts / counts.sum())[held.rating])

"""What the page of a fit draws: how much each judge adds, and the map of the prompts.

What a judge adds is how much less would be known of the human's gaps on a prompt without its ratings.
Its ratings add ``sum h z z'`` to the precision of the factors of a prompt, with ``z = U_r * (M_m - M_m')``
(or ``U_r * M_m``) and ``h`` the curvature of the log-probability. The variance of the human's gap between two models
on the prompt is ``c' Sigma_p c`` with ``c = U_0 * (M_m - M_m')``; here its mean over all pairs of models.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import stats

from bonwise.estimates import EstimateRecord
from bonwise.factors.human_view import HumanView
from bonwise.factors.rating_arrays import RatingArrays
from bonwise.factors.result import JudgeInformation, MapAxis, PromptMap, PromptPlace
from bonwise.factors.stage_one import CapabilityFactors
from bonwise.stats.ordinal_ratings import slope_and_curvature
from bonwise.stats.sums import Floats

__all__ = ["gap_variances", "information_of_judges", "map_of_prompts", "principal_places"]


def gap_variances(
    judges: RatingArrays, found: CapabilityFactors, weights: Floats, prior: float
) -> tuple[Floats, Floats]:
    """Return the mean variance of the human's gaps on each prompt, with all judges and without each.

    `judges` has the ratings of the judges alone, and `found` is stage 1. `weights` are the human's of each skill,
    shape (rank,); `prior` is the precision of the prior of the prompts' factors, above 0. The results have shapes
    (prompts,) and (judges, prompts).
    """
    counted, rank = judges.counted(), found.rank
    z = found.raters[counted.rater] * counted.differences(found.models)
    upper, lower = counted.layout.ends(found.cutoffs)
    eta = (z * found.prompts[counted.prompt]).sum(axis=1)
    bend = counted.weight * slope_and_curvature(eta, upper[counted.category], lower[counted.category])[1]
    rows = bend[:, None] * (z[:, :, None] * z[:, None, :]).reshape(len(z), -1)
    each = np.zeros((counted.raters, counted.prompts, rank, rank))
    for judge in range(counted.raters):
        mine = counted.rater == judge
        each[judge] = (counted.by_prompt[:, mine] @ rows[mine]).reshape(-1, rank, rank)
    precision = each.sum(axis=0) + prior * np.eye(rank)
    heeded = weights * found.models
    off = heeded - heeded.mean(axis=0)
    # The mean of c c' over all pairs of models.
    of_pairs = 2 * off.T @ off / max(len(off) - 1, 1)
    whole = np.einsum("kl,pkl->p", of_pairs, np.linalg.inv(precision))
    without = np.stack([np.einsum("kl,pkl->p", of_pairs, np.linalg.inv(precision - one)) for one in each])
    return whole, without


def information_of_judges(
    names: list[str], variances: tuple[Floats, Floats], confidence: float
) -> Iterator[JudgeInformation]:
    """Yield by which share the variance would grow without each judge, most first.

    `variances` are as `gap_variances` returns them, `names` those of the judges in the same order.
    """
    whole, without = variances
    growth = without.sum(axis=1) / whole.sum() - 1
    count = len(whole)
    for at in np.argsort(-growth, kind="stable"):
        off = (without[at] - (1 + growth[at]) * whole) / whole.sum()
        se = float(np.sqrt(count / max(count - 1, 1) * (off**2).sum()))
        half = float(stats.t.ppf((1 + confidence) / 2, max(count - 1, 1))) * se
        yield JudgeInformation(
            rater=names[at],
            growth=EstimateRecord(
                estimate=float(growth[at]),
                low=float(growth[at]) - half,
                high=float(growth[at]) + half,
                se=se,
                n=count,
                interval="cluster_t",
                method="complete",
            ),
        )


_FLAT = 1e-6
"""Share of the variance below which a second axis says nothing: the model has one skill."""


def principal_places(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Return rows along the principal axes of their columns.

    Values are (rows, columns). Returned are places, shape (rows, axes); axes, shape (axes, columns), unit vectors of
    which the largest entry is positive, because the sign is otherwise open; and the share of the variance of each
    axis.

    Examples
    --------
    >>> places, axes, shares = principal_places(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]]))
    >>> places[:, 0].round(6).tolist(), axes[0].round(6).tolist(), float(shares[0])
    ([1.0, -1.0, 0.0], [1.0, 0.0], 1.0)
    """
    off = values - values.mean(axis=0)
    _, sizes, axes = np.linalg.svd(off, full_matrices=False)
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    axes = axes * np.where(largest < 0, -1.0, 1.0) + 0.0
    squares = sizes**2
    return off @ axes.T + 0.0, axes, squares / max(float(squares.sum()), 1e-300)


def map_of_prompts(view: HumanView) -> PromptMap | None:
    """Return the map of prompts, None where all of them stand on a line."""
    capabilities = _capabilities(view)
    if min(capabilities.shape) < 2:
        return None
    places, axes, shares = principal_places(capabilities)
    if shares[1] < _FLAT:
        return None
    x, y = (
        MapAxis(
            share=float(min(shares[at], 1.0)),
            high=view.models[int(axes[at].argmax())],
            low=view.models[int(axes[at].argmin())],
        )
        for at in range(2)
    )
    return PromptMap(
        x=x,
        y=y,
        prompts=[
            PromptPlace(prompt_id=name, category=category, x=float(place[0]), y=float(place[1]))
            for name, category, place in zip(view.prompts, view.prompt_categories, places, strict=True)
        ],
    )


def _capabilities(view: HumanView) -> Floats:
    """Return mean capabilities over draws, less their mean on the prompt, shape (prompts, models)."""
    mean = np.zeros((len(view.prompts), len(view.models)))
    for models, prompts in zip(view.draws.by_model, view.draws.by_prompt, strict=True):
        mean += prompts @ models.T
    mean /= len(view.draws)
    return np.asarray(mean - mean.mean(axis=1, keepdims=True))

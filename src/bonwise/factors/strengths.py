"""Where a model is strong and weak: the prompts, and groups of them, with its largest and smallest advantage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bonwise.arrays import Floats
from bonwise.errors import UsageError
from bonwise.factors import (
    difference_bands,
    human_view,
    latent_regression,
    leaderboards,
    prompt_columns,
    prompt_properties,
    result_models,
)
from bonwise.printable import quoted
from bonwise.results import given

if TYPE_CHECKING:
    from bonwise.table.reading import RowSource

_RESAMPLES = 8
"""Of the prompts, in each draw."""


def find_strengths(
    view: human_view.HumanView, model: str, *, prompts: RowSource | None = None, tags: Sequence[str] | None = None
) -> result_models.FactorStrengths:
    """Find the groups of prompts, and the prompts, on which a model's advantage is largest and smallest.

    The advantage is over the mean of the other models; a strength has one above the model's own mean, by an interval
    that holds together with all others. `prompts` and `tags` are as in `explain_gaps`. Fewer than five prompts raise
    `InputError`.
    """
    at = view.model_at(model)
    if len(view.prompts) < prompt_columns.FEWEST:
        raise UsageError(
            f"{len(view.prompts)} prompts are too few to find strengths",
            hint=f"fit ratings of at least {prompt_columns.FEWEST} prompts",
        )
    weights = np.full(len(view.models), -1 / (len(view.models) - 1))
    weights[at] = 1.0
    factors = view.prompt_factors(weights)
    groups: list[result_models.GroupAdvantage] = []
    by_rank: list[result_models.NumberByRank] = []
    notes: list[str] = []
    if prompts is not None or any(view.prompt_categories):
        properties, notes = prompt_columns.properties_of_prompts(view, prompts, tags)
        inside, further = prompt_columns.prompt_groups(properties)
        notes += further
        groups = _groups(view, factors, inside)
        for number in (one for one in properties if one.kind in ("number", "length")):
            row = number_by_rank(view, at, number)
            if row is None:
                fewer = (
                    f"fewer than {prompt_columns.FEWEST} prompts on which {model} is the first, or the last, have it"
                )
                notes.append(f"{quoted(number.name)} is left out: {fewer}.")
            else:
                by_rank.append(row)
    whole = factors.regression(np.ones((len(view.prompts), 1)))
    mean = difference_bands.band_of_covariance(
        whole.estimate, whole.covariance, view.confidence, len(view.prompts) - 1, view.seed
    )
    return result_models.FactorStrengths(
        model=model,
        models=len(view.models),
        advantage=result_models.AdvantageRecord(**mean.alone(0), prompts=len(view.prompts)),
        groups=groups,
        **given(numbers=by_rank or None),
        prompts=_prompts(view, factors.gaps),
        notes=[*notes, difference_bands.UNSEEN_TRAITS, *leaderboards.unrated(view)],
        **view.origin,
    )


def _groups(
    view: human_view.HumanView, factors: latent_regression.PromptFactors, inside: Sequence[tuple[str, str, Floats]]
) -> list[result_models.GroupAdvantage]:
    """Return the mean advantage in each group, and how far it lies from the mean of the prompts that are known."""
    if not inside:
        return []
    parts, shares = [], []
    for _, _, values in inside:
        # A prompt of which it is not known whether it is in the group has no weight.
        known = ~np.isnan(values)
        parts.append(factors.regression(np.column_stack([np.ones(len(values)), np.nan_to_num(values)]), weight=known))
        shares.append(values[known].mean())
    found, share = latent_regression.joined_coefficients(parts), np.array(shares)
    count = len(inside)
    to_levels, to_differences = np.zeros((count, 2 * count)), np.zeros((count, 2 * count))
    places = np.arange(count)
    to_levels[places, 2 * places] = to_levels[places, 2 * places + 1] = 1
    to_differences[places, 2 * places + 1] = 1 - share
    degrees = len(view.prompts) - 2

    def band(turn: Floats) -> difference_bands.Band:
        return difference_bands.band_of_covariance(
            turn @ found.estimate, turn @ found.covariance @ turn.T, view.confidence, degrees, view.seed
        )

    level, apart = band(to_levels), band(to_differences)
    rows = [
        result_models.GroupAdvantage(
            column=name, level=word, prompts=int(np.nansum(values)), **_advantage(level, apart, at)
        )
        for at, (name, word, values) in enumerate(inside)
    ]
    return sorted(rows, key=lambda one: -one.difference)


def number_by_rank(
    view: human_view.HumanView, model: int, number: prompt_properties.PromptProperty
) -> result_models.NumberByRank | None:
    """Return the medians of a number where a model is the first and the last; None on fewer than five such prompts.

    In every draw the model has a rank on each prompt, with the prior mean of a prompt on the line of its number, and
    prompts are drawn with replacement: intervals count both.
    """
    rows = np.flatnonzero(~np.isnan(number.values))
    values = number.values[rows]
    line = np.log2(np.maximum(values, 1)) if number.kind == "length" else values
    if not len(rows) or np.ptp(line) == 0:
        return None
    z = np.column_stack([np.ones(len(rows)), (line - line.mean()) / line.std()])
    weights = np.eye(len(view.models))
    others = [at for at in range(len(view.models)) if at != model]
    gaps = [view.prompt_factors(weights[model] - weights[at]).only(rows).around(z).gaps for at in others]
    ranked = [np.min(gaps, axis=0) > 0, np.max(gaps, axis=0) < 0]
    counts = [float(inside.sum(axis=1).mean()) for inside in ranked]
    if min(counts) < prompt_columns.FEWEST:
        return None
    rng = np.random.default_rng(view.seed)
    medians = np.full((len(ranked[0]) * _RESAMPLES, 2), np.nan)
    for at in range(len(medians)):
        chosen = rng.integers(len(rows), size=len(rows))
        for side, inside in enumerate(ranked):
            kept = chosen[inside[at % len(inside)][chosen]]
            medians[at, side] = np.median(values[kept]) if len(kept) else np.nan
    figures = np.column_stack([medians, medians[:, 0] - medians[:, 1]])
    tail = (1 - view.confidence) / 2
    low, middle, high = np.nanquantile(figures, [tail, 0.5, 1 - tail], axis=0).tolist()
    first, last = (
        result_models.RankedMedian(prompts=counts[at], estimate=middle[at], low=low[at], high=high[at])
        for at in range(2)
    )
    apart = first.estimate - last.estimate
    ends = {"low": min(low[2], apart), "high": max(high[2], apart)}
    return result_models.NumberByRank(
        column=number.name, prompts=len(rows), first=first, last=last, estimate=apart, **ends
    )


def _prompts(view: human_view.HumanView, draws: Floats) -> list[result_models.PromptAdvantage]:
    level = difference_bands.band_of_draws(draws, view.confidence)
    apart = difference_bands.band_of_draws(draws - draws.mean(axis=1, keepdims=True), view.confidence)
    return [
        result_models.PromptAdvantage(
            prompt_id=view.prompts[at], category=view.prompt_categories[at], **_advantage(level, apart, at)
        )
        for at in np.argsort(-apart.estimate, kind="stable")
    ]


def _advantage(level: difference_bands.Band, apart: difference_bands.Band, at: int) -> dict[str, Any]:
    """Return the advantage on one item, and by how much it is more than the mean, as the fields of a record."""
    difference = apart.figures(at)
    low, high = difference["band_low"], difference["band_high"]
    return {
        **level.alone(at),
        "difference": difference["estimate"],
        "band_low": low,
        "band_high": high,
        "verdict": "strength" if low > 0 else "weakness" if high < 0 else "open",
    }

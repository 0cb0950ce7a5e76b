"""Two models compared: on every prompt, and their gaps explained by tags of the prompts and by their length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bonwise.arrays import Floats
from bonwise.errors import UsageError
from bonwise.factors import difference_bands, human_view, leaderboards, prompt_columns, replacement, result_models
from bonwise.printable import listed, quoted
from bonwise.results import given

if TYPE_CHECKING:
    from bonwise.table.reading import RowSource


def compare_models(
    view: human_view.HumanView, model: str, other: str, *, equivalence: float | None = None, **known: Any
) -> result_models.FactorComparison:
    """Compare two models on every prompt.

    Per prompt this is the difference of capabilities ``t[m, p] - t[m', p]``, with a simultaneous interval; by
    category it is the mean difference. With a margin `equivalence` in logits it also says on which prompts the model
    can replace the other; `known` are the ``prompts``, ``tags`` and ``prices`` of
    `bonwise.factors.replacement.with_replacement`. An unknown model, or the same one twice, raises `UsageError`.
    """
    one, two = view.model_at(model), view.model_at(other)
    if one == two:
        raise UsageError(f"{quoted(model)} is compared with itself", hint="name two models")
    if equivalence is None and any(value is not None for value in known.values()):
        raise UsageError(f"{listed(known)} are for a replacement", hint="add --equivalence MARGIN, or equivalence=")
    draws = view.draws.differences(one, two)
    comparison = result_models.FactorComparison(
        model=model,
        other=other,
        prompts=_prompts(view, draws),
        gaps=list(_gaps(view, draws)),
        notes=[difference_bands.UNSEEN_TRAITS, *leaderboards.unrated(view)],
        **view.origin,
    )
    if equivalence is None:
        return comparison
    return replacement.with_replacement(view, comparison, draws, equivalence, **known)


def _prompts(view: human_view.HumanView, draws: Floats) -> list[result_models.PromptDifference]:
    band = difference_bands.band_of_draws(draws, view.confidence)
    least, most = band.band
    return [
        result_models.PromptDifference(
            prompt_id=view.prompts[at],
            category=view.prompt_categories[at],
            **band.figures(at),
            verdict="better" if least[at] > 0 else "worse" if most[at] < 0 else "open",
        )
        for at in np.argsort(-band.estimate, kind="stable")
    ]


def _gaps(view: human_view.HumanView, draws: Floats) -> Iterator[result_models.GapRecord]:
    """Yield the mean difference on all prompts, and on those of each category: least squares on categories."""
    named = np.array(view.prompt_categories, dtype=object)
    names = sorted({category for category in view.prompt_categories if category})
    mean = draws.mean(axis=0)
    explained = None
    if len(names) > 1 and mean.std() > 0:
        fitted = np.array([mean[named == one].mean() for one in named])
        explained = float(np.clip(fitted.var() / mean.var(), 0, 1))
    for name in ("", *names):
        rows = np.ones(len(named), dtype=bool) if not name else named == name
        band = difference_bands.band_of_draws(draws[:, rows].mean(axis=1, keepdims=True), view.confidence)
        yield result_models.GapRecord(
            category=name, prompts=int(rows.sum()), **band.alone(0), **given(explained=None if name else explained)
        )


_NO_CAUSES = (
    "Tags that go together with something else that matters get its share: these are associations, not causes."
)


def explain_gaps(
    view: human_view.HumanView,
    model: str,
    other: str,
    *,
    prompts: RowSource | None = None,
    tags: Sequence[str] | None = None,
) -> result_models.FactorExplanation:
    """Regress the gap between two models on tags of the prompts, categories, numbers and the length of the text.

    Least squares over prompts, freed of the fit's pull towards the mean, see `bonwise.factors.latent_regression`.
    `prompts` has ``prompt_id`` and tags, of which `tags` are used, else all. `InputError` on too few prompts.
    """
    one, two = view.model_at(model), view.model_at(other)
    if one == two:
        raise UsageError(f"{quoted(model)} is compared with itself", hint="name two models")
    properties, notes = prompt_columns.properties_of_prompts(view, prompts, tags)
    columns = prompt_columns.PromptColumns.of(properties, len(view.prompts))
    weights = np.eye(len(view.models))
    factors = view.prompt_factors(weights[one] - weights[two]).only(columns.rows)
    design = columns.design
    tag_coefficients = factors.regression(design)
    degrees = len(columns.rows) - design.shape[1]
    bands = [
        difference_bands.band_of_covariance(
            tag_coefficients.estimate[part],
            tag_coefficients.covariance[part, part],
            view.confidence,
            degrees,
            view.seed,
        )
        for part in (slice(1), slice(1, None))
    ]
    constant = bands[0].alone(0)
    shares = tag_coefficients.explained
    ends = np.quantile(shares, [(1 - view.confidence) / 2, (1 + view.confidence) / 2])
    return result_models.FactorExplanation(
        model=model,
        other=other,
        prompts=len(columns.rows),
        left_out=columns.left_out,
        constant=result_models.GapCoefficient(
            column="",
            level="",
            kind="constant",
            unit="without any tag, numbers at their mean",
            prompts=len(columns.rows),
            **constant,
            band_low=constant["low"],
            band_high=constant["high"],
        ),
        coefficients=[
            result_models.GapCoefficient(
                column=column.name,
                level=column.level,
                kind=column.kind,
                unit=column.unit,
                prompts=column.count,
                **bands[1].figures(at),
            )
            for at, column in enumerate(columns.columns)
        ],
        explained=float(shares.mean()),
        explained_low=float(min(ends[0], shares.mean())),
        explained_high=float(max(ends[1], shares.mean())),
        notes=[*notes, *columns.notes, _NO_CAUSES, *leaderboards.unrated(view)],
        **view.origin,
    )

"""Gaps between two models explained by tags of the prompts and by their length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bonwise.data.wording import quoted
from bonwise.documents.factor_explanation import FactorExplanationDocument, GapCoefficient
from bonwise.errors import UsageError
from bonwise.factors.difference_bands import band_of_covariance
from bonwise.factors.human_view import HumanView
from bonwise.factors.leaderboards import unrated
from bonwise.factors.prompt_columns import PromptColumns, properties_of_prompts

if TYPE_CHECKING:
    from bonwise.data.rows import RowSource

__all__ = ["explain_gaps"]

_LIMIT = "Tags that go together with something else that matters get its share: these are associations, not causes."


def explain_gaps(
    view: HumanView,
    model: str,
    other: str,
    *,
    prompts: RowSource | None = None,
    tags: Sequence[str] | None = None,
) -> FactorExplanationDocument:
    """Regress the gap between two models on tags of the prompts, categories, numbers and the length of the text.

    Least squares over prompts, freed of the pull that the fit exerts on every prompt towards the mean of all. See
    `bonwise.stats.latent_regression`.

    Parameters
    ----------
    view : HumanView
    model, other : str
    prompts : str, pathlib.Path, pandas.DataFrame or rows as mappings, optional
        Columns ``prompt_id`` and tags; the category of the ratings counts too.
    tags : sequence of str, optional
        Columns to use; all where it is None.

    Returns
    -------
    FactorExplanationDocument

    Raises
    ------
    bonwise.errors.InputError
        No such model or column, a table that cannot be read, or too few prompts for so many columns.
    """
    one, two = view.model_at(model), view.model_at(other)
    if one == two:
        raise UsageError(f"{quoted(model)} is compared with itself", hint="name two models")
    properties, notes = properties_of_prompts(view, prompts, tags)
    columns = PromptColumns.of(properties, len(view.prompts))
    factors = view.prompt_factors(view.draws.models[:, one] - view.draws.models[:, two]).only(columns.rows)
    design = columns.design
    found = factors.regression(design)
    degrees = len(columns.rows) - design.shape[1]
    constant = band_of_covariance(
        found.estimate[:1], found.covariance[:1, :1], view.confidence, degrees, view.seed
    ).alone(0)
    band = band_of_covariance(found.estimate[1:], found.covariance[1:, 1:], view.confidence, degrees, view.seed)
    shares = found.explained
    ends = np.quantile(shares, [(1 - view.confidence) / 2, (1 + view.confidence) / 2])
    return FactorExplanationDocument(
        model=model,
        other=other,
        prompts=len(columns.rows),
        left_out=columns.left_out,
        constant=GapCoefficient(
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
            GapCoefficient(
                column=column.name,
                level=column.level,
                kind=column.kind,
                unit=column.unit,
                prompts=column.count,
                **band.figures(at),
            )
            for at, column in enumerate(columns.columns)
        ],
        explained=float(shares.mean()),
        explained_low=float(min(ends[0], shares.mean())),
        explained_high=float(max(ends[1], shares.mean())),
        confidence=view.confidence,
        notes=[*notes, *columns.notes, _LIMIT, *unrated(view)],
        human=view.human,
        source=view.source,
        version=view.version,
    )

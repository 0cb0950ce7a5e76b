"""Prompts in two dimensions: near each other where the same models are better."""

from __future__ import annotations

import numpy as np

from bonwise.documents.factor_pictures import MapAxis, PromptMap, PromptPlace
from bonwise.factors.human_view import HumanView
from bonwise.stats.sums import Floats

__all__ = ["map_of_prompts", "principal_places"]

_FLAT = 1e-6
"""Share of the variance below which a second axis says nothing: the model has one skill."""


def principal_places(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Return rows along the principal axes of their columns.

    Parameters
    ----------
    values : ndarray of float64, shape (rows, columns)

    Returns
    -------
    places : ndarray of float64, shape (rows, axes)
    axes : ndarray of float64, shape (axes, columns)
        Unit vectors; the largest entry of each is positive, because the sign is otherwise open.
    shares : ndarray of float64, shape (axes,)
        Of the variance.

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
    """Return the map of prompts, None where all of them stand on a line.

    Parameters
    ----------
    view : HumanView
    """
    found = _capabilities(view)
    if min(found.shape) < 2:
        return None
    places, axes, shares = principal_places(found)
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
    found = np.zeros((len(view.prompts), len(view.models)))
    for models, prompts in zip(view.draws.models, view.draws.prompts, strict=True):
        found += prompts @ models.T
    found /= len(view.draws)
    return np.asarray(found - found.mean(axis=1, keepdims=True))

"""The label as a flexible function: an indicator of each level where there are few, else straight pieces."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = ["MOST_LEVELS", "LabelTerms", "label_terms"]

MOST_LEVELS = 10
"""Different labels up to which each has an indicator of its own."""

_KNOTS = (0.2, 0.4, 0.6, 0.8)


class LabelTerms(NamedTuple):
    """Columns that the label is adjusted for with."""

    kind: Literal["levels", "pieces"]
    values: Floats


def label_terms(labels: Floats) -> LabelTerms:
    """Return the terms of the labels.

    Up to 10 different labels have an indicator each, but for the lowest. More are joined by straight pieces with
    knots at the quintiles of the labels.

    Parameters
    ----------
    labels : ndarray of float64, shape (cells,)
        No NaN.

    Examples
    --------
    >>> label_terms(np.array([0.0, 1.0, 2.0, 1.0])).values.tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    >>> found = label_terms(np.arange(11.0))
    >>> found.kind, found.values.shape, found.values[-1].tolist()
    ('pieces', (11, 5), [1.0, 0.8, 0.6, 0.4, 0.2])
    """
    labels = np.round(labels, TIE_DECIMALS)
    levels = np.unique(labels)
    if len(levels) <= MOST_LEVELS:
        return LabelTerms("levels", (labels[:, None] == levels[1:]).astype(np.float64))
    low, span = levels[0], levels[-1] - levels[0]
    knots = np.unique(np.quantile(labels, _KNOTS))
    starts = np.concatenate([[low], knots[(knots > low) & (knots < levels[-1])]])
    return LabelTerms("pieces", np.round(np.maximum(labels[:, None] - starts, 0.0) / span, 12))

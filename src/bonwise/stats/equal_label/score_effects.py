"""How scores change with what else is known of a candidate, at equal label and within prompts.

``S_xi = a_x + g(O_xi) + z_xi' b + noise`` with an intercept per prompt and g as `label_terms` has it, by least
squares on deviations from prompt means. The slopes b are in standard deviations of the scores within prompts,
``sqrt(sum (S - mean_x S)^2 / sum (K_x - 1))``. Intervals rest on slopes without each unit in turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bonwise.stats.clusters import cluster_sums
from bonwise.stats.equal_label.label_terms import label_terms
from bonwise.stats.sums import Floats

__all__ = ["ScoreEffects", "deviations", "score_effects"]

_Ints = npt.NDArray[np.int64]

_CHUNK = 1 << 13
_NEARLY_0 = 1e-9
_RIDGE = 1e-11  # keeps a level that only the unit left out holds from making the equations singular


@dataclass(frozen=True, eq=False)
class ScoreEffects:
    """Slopes of the scores at equal label."""

    slopes: Floats
    """In the unit of the scores; NaN where nothing varies at equal label."""
    sd: float
    """Standard deviation of the scores within prompts."""
    left_out: Floats = field(repr=False)
    """The slopes without each unit."""
    sd_left_out: Floats = field(repr=False)
    products: Floats = field(repr=False)
    """What each unit adds to the equations."""
    columns: int = field(repr=False)
    """Label terms, attributes and the score."""

    def slopes_without(self, units: npt.NDArray[np.bool_]) -> Floats:
        """Return the slopes without some units, shape (attributes,)."""
        return _slopes(self.products[:, ~units].sum(axis=1)[:, None], self.columns, len(self.slopes))[:, 0]


def score_effects(
    scores: Floats, labels: Floats, attributes: Floats, sizes: _Ints, clusters: _Ints | None = None
) -> ScoreEffects:
    """Fit the slopes of the scores on attributes of the candidates at equal label.

    Parameters
    ----------
    scores, labels : ndarray of float64, shape (cells,)
        Grouped by prompt, no NaN.
    attributes : ndarray of float64, shape (cells, attributes)
        No NaN.
    sizes : ndarray of int64, shape (prompts,)
        Candidates per prompt, 2 or more.
    clusters : ndarray of int64, shape (prompts,), optional
        Units that are left out in turn; without them each prompt is one.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels, longer = rng.integers(0, 3, 40), rng.standard_normal(40)
    >>> found = score_effects(labels + 0.5 * longer, labels.astype(float), longer[:, None], np.full(10, 4))
    >>> round(float(found.slopes[0]), 6)
    0.5
    """
    columns = np.column_stack([label_terms(labels).values, attributes, scores])
    products = cluster_sums(_products(deviations(columns, sizes), sizes), clusters)
    freedom = cluster_sums(np.array([sizes - 1.0]), clusters)[0]
    count, width = attributes.shape[1], columns.shape[1]
    totals, squares = products.sum(axis=1), products[-1]
    slopes = _slopes(totals[:, None], width, count)[:, 0]
    units = products.shape[1]
    left = [_slopes(totals[:, None] - products[:, some], width, count) for some in _chunks(units)]
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(np.maximum(squares.sum() - squares, 0.0) / (freedom.sum() - freedom))
    sd = float(np.sqrt(squares.sum() / freedom.sum()))
    return ScoreEffects(slopes, sd, np.concatenate(left, axis=1), spread, products, width)


def deviations(columns: Floats, sizes: _Ints) -> Floats:
    """Return each column less its mean in the prompt, exactly 0 where it is the same throughout a prompt."""
    starts = np.cumsum(sizes) - sizes
    means = np.add.reduceat(columns, starts, axis=0) / sizes[:, None]
    constant = np.maximum.reduceat(columns, starts, axis=0) == np.minimum.reduceat(columns, starts, axis=0)
    found: Floats = columns - np.repeat(means, sizes, axis=0)
    found[np.repeat(constant, sizes, axis=0)] = 0.0
    return found


def _products(columns: Floats, sizes: _Ints) -> Floats:
    """Return the sums of products of each two columns over each prompt, the upper triangle row by row."""
    starts = np.cumsum(sizes) - sizes
    first, second = np.triu_indices(columns.shape[1])
    return np.array(
        [np.add.reduceat(columns[:, i] * columns[:, j], starts) for i, j in zip(first, second, strict=True)]
    )


def _chunks(units: int) -> Iterator[slice]:
    yield from (slice(start, start + _CHUNK) for start in range(0, units, _CHUNK))


def _slopes(products: Floats, width: int, count: int) -> Floats:
    """Solve the equations of every column of products; returns shape (attributes, columns)."""
    whole = np.empty((products.shape[1], width, width))
    first, second = np.triu_indices(width)
    whole[:, first, second] = whole[:, second, first] = products.T
    terms = width - count - 1
    if terms:
        labels = whole[:, :terms, :terms].copy()
        diagonal = np.arange(terms)
        most = labels[:, diagonal, diagonal].max(axis=1)
        labels[:, diagonal, diagonal] += np.maximum(_RIDGE * most, np.finfo(float).tiny)[:, None]
        across = whole[:, :terms, terms:]
        left = whole[:, terms:, terms:] - np.swapaxes(across, 1, 2) @ np.linalg.solve(labels, across)
    else:
        left = whole
    return _solved(
        left[:, :count, :count], left[:, :count, count], whole[:, terms : terms + count, terms : terms + count]
    )


def _solved(own: Floats, with_score: Floats, before: Floats) -> Floats:
    """Solve for the attributes, after labels were taken out; NaN where one of them no longer varies."""
    diagonal = np.arange(own.shape[1])
    scale = np.sqrt(before[:, diagonal, diagonal])
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = own / (scale[:, :, None] * scale[:, None, :])
    told = np.isfinite(scaled).all(axis=(1, 2))
    told[told] = np.linalg.eigvalsh(scaled[told])[:, 0] > _NEARLY_0
    found = np.full(with_score.shape, np.nan)
    if told.any():
        right = (with_score[told] / scale[told])[:, :, None]
        found[told] = np.linalg.solve(scaled[told], right)[:, :, 0] / scale[told]
    return found.T

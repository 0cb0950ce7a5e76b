"""Labels of single candidates: what the judge's pick, alone or beside one other candidate, measures of a prompt.

Notation: prompt x has K candidates, A is the set of the a with the highest score, i a candidate drawn from A and j
one drawn from the others, both uniformly; S is the judge's score, T the mean score of further judges, O the label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bonwise.stats.partial.candidate_model import Measured, Modelled, modelled
from bonwise.stats.partial.label_features import mean_of_judges
from bonwise.stats.partial.label_sample import LabelSample
from bonwise.stats.partial.scaled_sample import ScaledSample
from bonwise.stats.sums import Floats

__all__ = ["CandidateDraw", "covariates", "known_of_pairs", "model_of"]

FEWEST_TO_FIT = 30
"""Labelled prompts from which a model is fitted."""

_Ints = npt.NDArray[np.int64]
_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class CandidateDraw:
    """Which candidates were drawn and labelled."""

    sizes: _Ints = field(repr=False)
    """K."""
    top: _Mask = field(repr=False)
    """A: cells with the highest score of their prompt."""
    picks: _Ints = field(repr=False)
    """i: cell of the labelled pick, -1 where none is."""
    others: _Ints | None = field(default=None, repr=False)
    """j: cell of the labelled other candidate, -1 where none is. None where picks alone were drawn."""

    @property
    def tied(self) -> Floats:
        """Return a, shape (prompts,)."""
        return self._sum(self.top.astype(float))

    @property
    def all_tied(self) -> _Mask:
        """Whether the judge ties all candidates, so that no other candidate exists."""
        tied: _Mask = self.tied == self.sizes
        return tied

    @property
    def labelled(self) -> _Mask:
        """Whether a prompt has the labels of all that was drawn of it."""
        return (self.picks >= 0) if self.others is None else (self.picks >= 0) & (self.others >= 0)

    def measured(self, values: Floats) -> Floats:
        """Return what the drawn candidates measure, 0 where nothing is labelled.

        The pick alone: ``v_i``. A pair: ``c (v_i - v_j)`` with c = 1 - a/K.
        """
        if self.others is None:
            return np.where(self.labelled, values[self.picks], 0.0)
        c = 1 - self.tied / self.sizes
        return np.where(self.labelled, c * (values[self.picks] - values[self.others]), 0.0)

    def expected(self, values: Floats) -> Floats:
        """Return the mean of `measured` over the draw of candidates.

        The pick alone: ``mean of v over A``. A pair: that less the mean of v over all, exactly 0 where all tie.
        """
        best = self._sum(np.where(self.top, values, 0.0)) / self.tied
        if self.others is None:
            return best
        return np.where(self.all_tied, 0.0, best - self._sum(values) / self.sizes)

    def _sum(self, values: Floats) -> Floats:
        total: Floats = np.add.reduceat(values, np.cumsum(self.sizes) - self.sizes)
        return total


def covariates(draw: CandidateDraw, scores: Floats, others: Sequence[Floats]) -> tuple[Floats, Floats | None]:
    """Return what is known of every candidate: columns, shape (cells, covariates), and T where there is one.

    Pairs: S, and with further judges ``T, T sd T, (T - Tbar)^2``. The pick alone: S, its mean and spread over the
    prompt, and with further judges T, its mean and its spread.

    Parameters
    ----------
    draw : CandidateDraw
    scores : ndarray of float64, shape (cells,)
    others : sequence of ndarray of float64, shape (cells,)
        Scores of further judges, NaN where one did not score: T of a prompt is over those that scored all of it, and
        the mean over the other prompts where none did.
    """
    T = _stand_in(others, draw.sizes)
    paired = draw.others is not None
    columns = [scores] if paired else [scores, *_level(scores, draw.sizes)]
    if T is not None:
        mean, spread = _level(T, draw.sizes)
        columns += [T, T * spread, (T - mean) ** 2] if paired else [T, mean, spread]
    return np.column_stack(columns), T


def _level(values: Floats, sizes: _Ints) -> tuple[Floats, Floats]:
    """Return mean and standard deviation (ddof 0) of each cell's prompt."""
    starts = np.cumsum(sizes) - sizes
    mean = np.repeat(np.add.reduceat(values, starts) / sizes, sizes)
    spread = np.sqrt(np.add.reduceat((values - mean) ** 2, starts) / sizes)
    return mean, np.repeat(spread, sizes)


def _stand_in(others: Sequence[Floats], sizes: _Ints) -> Floats | None:
    T, scored = mean_of_judges(others, sizes)
    cells = np.repeat(scored, sizes)
    return np.where(cells, T, T[cells].mean()) if scored.any() else None


def model_of(
    draw: CandidateDraw, labels: Floats, scores: Floats, others: Sequence[Floats], sample: LabelSample, *, seed: int
) -> Modelled:
    """Model what the drawn candidates measure: value_judge from picks, gain from pairs.

    Y = O_i is worth the judge's pick on average. ``Y = c (O_i - O_j)`` has the mean ``sum_i (w_i - 1/K) O_i`` of the
    prompt, w_i = 1/a on A: what the pick is worth beyond a random pick. The model is fitted to such contrasts
    themselves, so that the level of a prompt cancels; it is 0 where all candidates tie, as Y is.

    Parameters
    ----------
    draw : CandidateDraw
    labels : ndarray of float64, shape (cells,)
        Read at the drawn cells only.
    scores : ndarray of float64, shape (cells,)
    others : sequence of ndarray of float64, shape (cells,)
        Scores of further judges.
    sample : LabelSample
        Of all prompts; for pairs the prompts that the judge ties entirely are labelled with probability 1, for their
        outcome is known to be 0.
    seed : int
        Of the folds.

    Notes
    -----
    Below 30 labelled prompts nothing is fitted: T stands in for the label as it is; without further judges the
    labels are used alone.
    """
    Z, T = covariates(draw, scores, others)
    fit = int(draw.labelled.sum()) >= FEWEST_TO_FIT
    columns = list(Z.T) if fit else [T] if T is not None else []
    none = np.empty((len(draw.sizes), 0))
    measured = Measured(
        draw.measured(labels),
        np.column_stack([draw.measured(column) for column in columns]) if columns else none,
        np.column_stack([draw.expected(column) for column in columns]) if columns else none,
    )
    return modelled(measured, ScaledSample.of(sample), origin=draw.others is not None, fit=fit, seed=seed)


def known_of_pairs(draw: CandidateDraw, labels: Floats) -> tuple[Floats, Floats]:
    """Return the best of the labelled candidates, and what they say of the mean label, 0 where nothing is labelled.

    The best of a pair is at most the best label M of the pool. ``(a O_i + (K - a) O_j) / K`` has the mean label of
    the prompt as its mean over the draw.

    Parameters
    ----------
    draw : CandidateDraw
        Of pairs.
    labels : ndarray of float64, shape (cells,)
    """
    if draw.others is None:
        raise ValueError("picks alone say nothing of the others")
    picked, other = labels[draw.picks], labels[draw.others]
    share = draw.tied / draw.sizes
    best = np.where(draw.labelled, np.maximum(picked, other), 0.0)
    return best, np.where(draw.labelled, share * picked + (1 - share) * other, 0.0)

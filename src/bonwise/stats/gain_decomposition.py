"""Why a signal goes with the gain: how often the judge is wrong, times what that costs (Tables 18 and 22)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bonwise.stats.correlation import correlation, from_influence
from bonwise.stats.estimate import Estimate
from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = ["BINS", "Decomposition", "GainBin", "bins_of", "decompose", "gain_grid", "mean_in"]

BINS = 5
"""Quintiles, as in Table 22."""

_LEAST_BINS = 3
"""Bins below which a correlation across them says nothing."""

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class GainBin:
    """Prompts with about the same signal."""

    prompts: int
    signal: float
    """Mean signal."""
    wrong: Estimate
    """Probability that the judge's pick is not among the best candidates."""
    gap: Estimate
    """Mean gain where it is not."""
    gain: Estimate
    """Mean gain: `wrong` times `gap`."""


@dataclass(frozen=True, slots=True)
class Decomposition:
    """``E[gain | U] = P(wrong | U) x E[gap | wrong, U]`` for one signal U (equation 7)."""

    wrong: Estimate
    """Correlation of the signal with each, over prompts; `gap` over those where the judge may be wrong, weighted by
    how likely it is.
    """
    gap: Estimate
    """Correlation of the signal with each, over prompts; `gap` over those where the judge may be wrong, weighted by
    how likely it is.
    """
    gain: Estimate
    """Correlation of the signal with each, over prompts; `gap` over those where the judge may be wrong, weighted by
    how likely it is.
    """
    binned_wrong: float | None
    """The same across the means of quintile bins, as Table 22 prints them; None where ties leave fewer than three
    bins. Averages hide noise, so these lie far above the former.
    """
    binned_gap: float | None
    """The same across the means of quintile bins, as Table 22 prints them; None where ties leave fewer than three
    bins. Averages hide noise, so these lie far above the former.
    """
    binned_gain: float | None
    """The same across the means of quintile bins, as Table 22 prints them; None where ties leave fewer than three
    bins. Averages hide noise, so these lie far above the former.
    """
    bins: tuple[GainBin, ...]
    """From the lowest signal up; ties stay together."""


def decompose(
    signal: Floats, wrong: Floats, gain: Floats, weights: Floats | None = None, *, confidence: float = 0.95
) -> Decomposition:
    """Split the gain that a signal goes with into its two factors.

    Parameters
    ----------
    signal : ndarray of float64, shape (prompts,)
        A prompt without one (NaN) is left out.
    wrong : ndarray of float64, shape (prompts,)
        Probability, over ties broken at random, that the pick is not among the best candidates.
    gain : ndarray of float64, shape (prompts,)
        Expected gain over the same ties; 0 where `wrong` is 0.
    weights : ndarray of float64, shape (prompts,), optional
    confidence : float
    """
    w = np.ones(len(signal)) if weights is None else weights
    known = ~np.isnan(signal)
    u, e, g, w = signal[known], wrong[known], gain[known], w[known]
    gap = np.divide(g, e, out=np.zeros(len(g)), where=e > 0)
    at = bins_of(u, w)
    bins = tuple(_bin(u, e, g, w, at == one, confidence) for one in np.unique(at))
    means = [(b.signal, b.wrong.estimate, b.gap.estimate, b.gain.estimate) for b in bins]
    of_wrong, of_gap, of_gain = (_across([row[0] for row in means], [row[k] for row in means]) for k in (1, 2, 3))
    return Decomposition(
        correlation(u, e, w, confidence=confidence),
        correlation(u, gap, w * e, confidence=confidence),
        correlation(u, g, w, confidence=confidence),
        of_wrong,
        of_gap,
        of_gain,
        bins,
    )


def bins_of(values: Floats, weights: Floats, bins: int = BINS) -> _Ints:
    """Put prompts into bins of about equal weight by rank, equal values always into one.

    Examples
    --------
    >>> bins_of(np.array([0., 0., 0., 1., 2.]), np.ones(5)).tolist()
    [1, 1, 1, 3, 4]
    """
    distinct, at = np.unique(np.round(values, TIE_DECIMALS), return_inverse=True)
    masses = np.bincount(at, weights=weights, minlength=len(distinct))
    middles = (np.cumsum(masses) - masses / 2) / masses.sum()
    found: _Ints = np.minimum((middles * bins).astype(np.int64), bins - 1)[at]
    return found


def mean_in(top: Floats, bottom: Floats, which: npt.NDArray[np.bool_], *, confidence: float = 0.95) -> Estimate:
    """Estimate ``sum top / sum bottom`` over some prompts, with an interval by prompt.

    Parameters
    ----------
    top, bottom : ndarray of float64, shape (prompts,)
    which : ndarray of bool, shape (prompts,)
    confidence : float
    """
    a, b = top[which], bottom[which]
    total = float(b.sum())
    count = int(np.count_nonzero(b))
    if total <= 0:
        return Estimate.undefined("no prompt to average over", count)
    mean = float(a.sum()) / total
    return from_influence(mean, ((a - mean * b) * count / total)[b > 0], confidence=confidence)


def gain_grid(
    margin: Floats, mean_score: Floats, gain: Floats, weights: Floats, *, confidence: float = 0.95
) -> tuple[tuple[Estimate, ...], ...]:
    """Estimate E[gain | margin, mean_score] in the bins of Table 18.

    Parameters
    ----------
    margin, mean_score : ndarray of float64, shape (prompts,)
        Of scores in [0, 1].
    gain, weights : ndarray of float64, shape (prompts,)
    confidence : float

    Returns
    -------
    tuple of tuple of Estimate
        A row a margin: 0, to .05, to .10, above; a column a mean level: below .7, to .8, to .9, from .9.
    """
    rows = np.digitize(np.round(margin, TIE_DECIMALS), MARGIN_EDGES, right=True)
    columns = np.digitize(np.round(mean_score, TIE_DECIMALS), LEVEL_EDGES)
    return tuple(
        tuple(
            mean_in(weights * gain, weights, (rows == row) & (columns == column), confidence=confidence)
            for column in range(len(LEVEL_EDGES) + 1)
        )
        for row in range(len(MARGIN_EDGES) + 1)
    )


MARGIN_EDGES = (0.0, 0.05, 0.10)
"""Upper ends of the margin bins of Table 18, each belonging to its bin."""

LEVEL_EDGES = (0.7, 0.8, 0.9)
"""Lower ends of the level bins of Table 18 after the first, each belonging to its bin."""


def _bin(u: Floats, e: Floats, g: Floats, w: Floats, which: npt.NDArray[np.bool_], confidence: float) -> GainBin:
    return GainBin(
        int(which.sum()),
        float(np.average(u[which], weights=w[which])),
        mean_in(w * e, w, which, confidence=confidence),
        mean_in(w * g, w * e, which, confidence=confidence),
        mean_in(w * g, w, which, confidence=confidence),
    )


def _across(signal: list[float], figures: list[float | None]) -> float | None:
    """Return the correlation across bins, None where there are too few or nothing varies."""
    pairs = [(u, f) for u, f in zip(signal, figures, strict=True) if f is not None]
    if len(pairs) < _LEAST_BINS:
        return None
    x, y = np.array(pairs).T
    return correlation(x, y).estimate

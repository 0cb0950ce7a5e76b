"""Why a signal goes with the gain, and whether a judge knows when it is right and when asking further would help."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from bonwise.stats.correlation import correlation, from_influence
from bonwise.stats.estimate import Estimate
from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = [
    "BINS",
    "CalibrationCheck",
    "Decomposition",
    "GainBin",
    "bins_of",
    "confidence_calibrated",
    "decompose",
    "gain_grid",
    "mean_in",
    "voi_calibrated",
]

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


Answer = Literal["yes", "no", "inconclusive"]

_LEAST = 20
"""Prompts in a group of margins below which its mean is not compared with its neighbour's."""


@dataclass(frozen=True, slots=True)
class CalibrationCheck:
    """Whether a figure moves with the margin as it should."""

    answer: Answer
    correlation: Estimate
    """Of the margin with the figure."""
    reason: str
    """What the answer rests on."""
    means: tuple[tuple[float, Estimate], ...]
    """Mean margin and mean figure in groups of prompts with about the same margin, from the smallest up."""


def confidence_calibrated(
    margin: Floats, correct: Floats, weights: Floats | None = None, *, confidence: float = 0.95
) -> CalibrationCheck:
    """Check whether P(correct | margin) rises with the margin (definition 1 of appendix K.3).

    Yes where the correlation lies above 0 and no step between neighbouring groups of margins falls;
    no where it lies below 0 or some step falls, each beyond its interval; else inconclusive. The
    intervals of the steps are widened for their number (Bonferroni).

    Parameters
    ----------
    margin : ndarray of float64, shape (prompts,)
    correct : ndarray of float64, shape (prompts,)
        Probability that the pick is among the best candidates, ties in expectation.
    weights : ndarray of float64, shape (prompts,), optional
    confidence : float
    """
    return _check(margin, correct, weights, confidence, up=True)


def voi_calibrated(
    margin: Floats, gain: Floats, weights: Floats | None = None, *, confidence: float = 0.95
) -> CalibrationCheck:
    """Check whether E[gain | margin] falls as the margin rises (definition 2 of appendix K.3).

    The rule is that of `confidence_calibrated` with the direction turned round.

    Parameters
    ----------
    margin, gain : ndarray of float64, shape (prompts,)
    weights : ndarray of float64, shape (prompts,), optional
    confidence : float
    """
    return _check(margin, gain, weights, confidence, up=False)


def _check(
    margin: Floats, figure: Floats, weights: Floats | None, confidence: float, *, up: bool
) -> CalibrationCheck:
    w = np.ones(len(margin)) if weights is None else weights
    found = correlation(margin, figure, w, confidence=confidence)
    at = bins_of(margin, w)
    groups = [at == one for one in np.unique(at) if np.count_nonzero(at == one) >= _LEAST]
    means = tuple(
        (float(np.average(margin[one], weights=w[one])), mean_in(w * figure, w, one, confidence=confidence))
        for one in groups
    )
    wrong_step = _has_wrong_step(figure, w, groups, confidence, up=up)
    answer, reason = _answer(found, wrong_step=wrong_step, up=up)
    return CalibrationCheck(answer, found, reason, means)


def _has_wrong_step(
    figure: Floats, w: Floats, groups: list[npt.NDArray[np.bool_]], confidence: float, *, up: bool
) -> bool:
    """Tell whether some step between neighbouring groups goes the wrong way beyond its interval."""
    if len(groups) < 2:
        return False
    wide = 1 - (1 - confidence) / (len(groups) - 1)
    means = [mean_in(w * figure, w, one, confidence=wide) for one in groups]
    return any(_falls(low, high) if up else _falls(high, low) for low, high in pairwise(means))


def _falls(first: Estimate, second: Estimate) -> bool:
    """Tell whether the second mean lies below the first by more than the interval of their difference."""
    if first.estimate is None or second.estimate is None:
        return False
    return second.estimate - first.estimate < -float(np.hypot(_half(first), _half(second))) - 1e-12


def _half(mean: Estimate) -> float:
    """Return half the width of an interval; a group whose prompts are all alike does not vary."""
    return 0.0 if mean.low is None or mean.high is None else (mean.high - mean.low) / 2


def _answer(found: Estimate, *, wrong_step: bool, up: bool) -> tuple[Answer, str]:
    if found.low is None or found.high is None:
        return "inconclusive", found.reason or "too few prompts"
    low, high = (found.low, found.high) if up else (-found.high, -found.low)
    if high < 0:
        return "no", "the correlation has the wrong sign"
    if wrong_step:
        return "no", "between neighbouring groups of margins it moves the wrong way"
    if low > 0:
        return "yes", "the correlation has the right sign and no step goes the wrong way"
    return "inconclusive", "the interval of the correlation holds 0"

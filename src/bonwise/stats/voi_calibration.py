"""Does a judge know when it is right, and does it know when asking further would help? (appendix K.3)"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from bonwise.stats.correlation import correlation
from bonwise.stats.estimate import Estimate
from bonwise.stats.gain_decomposition import bins_of, mean_in
from bonwise.stats.sums import Floats

__all__ = ["CalibrationCheck", "confidence_calibrated", "voi_calibrated"]

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

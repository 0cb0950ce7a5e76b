"""Why a signal goes with the gain, and whether a judge knows when it is right and when asking further would help."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import numpy as np

from bonwise.arrays import Floats, Mask
from bonwise.estimates import EstimateRecord
from bonwise.flags import TIE_DECIMALS
from bonwise.results import given
from bonwise.routing import gain_model, result
from bonwise.stats.correlation import correlation, from_influence
from bonwise.stats.estimand import Estimate

_LEAST_BINS = 3
"""Bins below which a correlation across them says nothing."""


def decompose(
    signal: Floats,
    wrong: Floats,
    gain: Floats,
    weights: Floats | None = None,
    *,
    best: Floats,
    confidence: float = 0.95,
) -> result.GainDecomposition:
    """Split the gain that a signal goes with into its two factors.

    ``E[gain | U] = P(wrong | U) x E[gap | wrong, U]`` for one signal U (equation 7). The correlation with the gap is
    over the prompts where the judge may be wrong, weighted by how likely it is. Correlations across the means of
    quintile bins, as in Table 22, hide noise, so they lie far above the others; ties stay in one bin. Arrays are by
    prompt: `wrong` is the probability, over ties, that the pick is not among the best, `gain` the expected gain, 0
    where `wrong` is 0, `best` the highest label. A prompt without a signal (NaN) is left out.
    """
    w = np.ones(len(signal)) if weights is None else weights
    known = ~np.isnan(signal)
    u, e, g, w = signal[known], wrong[known], gain[known], w[known]
    gap = np.divide(g, e, out=np.zeros(len(g)), where=e > 0)
    at = gain_model.bins_of(u, w)
    bins = [_bin(u, e, g, w, at == bin_at, confidence) for bin_at in np.unique(at)]
    means = [(b.signal, b.wrong.estimate, b.gap.estimate, b.gain.estimate) for b in bins]
    of_wrong, of_gap, of_gain = (_across([row[0] for row in means], [row[k] for row in means]) for k in (1, 2, 3))
    return result.GainDecomposition(
        corr_wrong=EstimateRecord.of(correlation(u, e, w, confidence=confidence)),
        corr_gap=EstimateRecord.of(correlation(u, gap, w * e, confidence=confidence)),
        corr_best=EstimateRecord.of(correlation(u, best[known], w, confidence=confidence)),
        corr_gain=EstimateRecord.of(correlation(u, g, w, confidence=confidence)),
        across_bins=result.AcrossBins(
            bins=len(bins),
            wrong=of_wrong,
            gap=of_gap,
            gain=of_gain,
            **given(reason="ties leave too few bins" if of_gain is None else None),
        ),
        bins=bins,
    )


def mean_in(top: Floats, bottom: Floats, which: Mask, *, confidence: float = 0.95) -> Estimate:
    """Estimate ``sum top / sum bottom`` over some prompts, with an interval by prompt."""
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
    """Estimate E[gain | margin, mean_score] in the bins of Table 18, scores in [0, 1]; a row a margin."""
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


def _bin(u: Floats, e: Floats, g: Floats, w: Floats, which: Mask, confidence: float) -> result.GainBin:
    return result.GainBin(
        prompts=int(which.sum()),
        signal=float(np.average(u[which], weights=w[which])),
        wrong=EstimateRecord.of(mean_in(w * e, w, which, confidence=confidence)),
        gap=EstimateRecord.of(mean_in(w * g, w * e, which, confidence=confidence)),
        gain=EstimateRecord.of(mean_in(w * g, w, which, confidence=confidence)),
    )


def _across(signal: list[float], figures: list[float | None]) -> float | None:
    """Return the correlation across bins, None where there are too few or nothing varies."""
    pairs = [(u, f) for u, f in zip(signal, figures, strict=True) if f is not None]
    if len(pairs) < _LEAST_BINS:
        return None
    x, y = np.array(pairs).T
    return correlation(x, y).estimate


_LEAST = 20
"""Prompts in a group of margins below which its mean is not compared with its neighbour's."""


def confidence_calibrated(
    margin: Floats, correct: Floats, weights: Floats | None = None, *, confidence: float = 0.95
) -> result.CalibrationCheck:
    """Check by Bonferroni whether P(correct | margin) rises with the margin (definition 1 of appendix K.3)."""
    return _check(margin, correct, weights, confidence, up=True)


def voi_calibrated(
    margin: Floats, gain: Floats, weights: Floats | None = None, *, confidence: float = 0.95
) -> result.CalibrationCheck:
    """Check whether E[gain | margin] falls as the margin rises (definition 2), as `confidence_calibrated` does."""
    return _check(margin, gain, weights, confidence, up=False)


def _check(
    margin: Floats, figure: Floats, weights: Floats | None, confidence: float, *, up: bool
) -> result.CalibrationCheck:
    w = np.ones(len(margin)) if weights is None else weights
    together = correlation(margin, figure, w, confidence=confidence)
    at = gain_model.bins_of(margin, w)
    groups = [at == group for group in np.unique(at) if np.count_nonzero(at == group) >= _LEAST]
    means = [
        result.MarginGroup(
            margin=float(np.average(margin[group], weights=w[group])),
            mean=EstimateRecord.of(mean_in(w * figure, w, group, confidence=confidence)),
        )
        for group in groups
    ]
    wrong_step = _has_wrong_step(figure, w, groups, confidence, up=up)
    answer, reason = _answer(together, wrong_step=wrong_step, up=up)
    return result.CalibrationCheck(
        answer=answer, reason=reason, correlation=EstimateRecord.of(together), groups=means
    )


def _has_wrong_step(figure: Floats, w: Floats, groups: list[Mask], confidence: float, *, up: bool) -> bool:
    """Tell whether some step between neighbouring groups goes the wrong way beyond its interval."""
    if len(groups) < 2:
        return False
    wide = 1 - (1 - confidence) / (len(groups) - 1)
    means = [mean_in(w * figure, w, group, confidence=wide) for group in groups]
    return any(_falls(low, high) if up else _falls(high, low) for low, high in pairwise(means))


def _falls(first: Estimate, second: Estimate) -> bool:
    """Tell whether the second mean lies below the first by more than the interval of their difference."""
    if first.estimate is None or second.estimate is None:
        return False
    return second.estimate - first.estimate < -float(np.hypot(_half(first), _half(second))) - 1e-12


def _half(mean: Estimate) -> float:
    """Return half the width of an interval; a group whose prompts are all alike does not vary."""
    return 0.0 if mean.low is None or mean.high is None else (mean.high - mean.low) / 2


def _answer(figure: Estimate, *, wrong_step: bool, up: bool) -> tuple[Literal["yes", "no", "inconclusive"], str]:
    if figure.low is None or figure.high is None:
        return "inconclusive", figure.reason or "too few prompts"
    low, high = (figure.low, figure.high) if up else (-figure.high, -figure.low)
    if high < 0:
        return "no", "the correlation has the wrong sign"
    if wrong_step:
        return "no", "between neighbouring groups of margins it moves the wrong way"
    if low > 0:
        return "yes", "the correlation has the right sign and no step goes the wrong way"
    return "inconclusive", "the interval of the correlation holds 0"

"""Is a stated confidence worth what it says? Calibration by bins (Landesberg, 2026, appendix J), and Brier score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from bonwise.arrays import Floats, Ints
from bonwise.flags import TIE_DECIMALS
from bonwise.stats import estimand, estimation, jackknife, laws


@dataclass(frozen=True, slots=True)
class Logit:
    """A share in (0, 1): log-odds plus or minus t times ``se / (v (1 - v))``, turned back, so within 0 and 1."""

    estimate: float
    se: float
    df: int
    kind: str = "logit"

    def at(self, confidence: float) -> laws.Ends:
        """Return the interval."""
        half = laws.student_quantile(confidence, self.df) * self.se / (self.estimate * (1 - self.estimate))
        middle = special.logit(self.estimate)
        return float(special.expit(middle - half)), float(special.expit(middle + half))


@dataclass(frozen=True, slots=True)
class BinError:
    """What is known of the mean stated probability of a bin less its share of wins."""

    stated: float
    observed: float
    """Both: the two, in [0, 1]."""
    share: laws.Law | None
    """Of the observed share; None where it has no interval."""
    se: float
    """Of the difference, clustered by prompt; not finite where it is unknown."""
    df: int
    """Prompts of the bin less 1."""

    def at(self, confidence: float) -> tuple[float, float]:
        """Return the ends of the absolute difference, the wider of two each; all that can be without intervals."""
        ends = None if self.share is None else self.share.at(confidence)
        share = (0.0, 1.0) if ends is None else ends
        d, half = self.stated - self.observed, 0.0
        if self.df > 0 and np.isfinite(self.se):
            half = laws.student_quantile(confidence, self.df) * self.se
        low, high = min(self.stated - share[1], d - half), max(self.stated - share[0], d + half)
        most = max(self.stated, 1 - self.stated)
        return max(0.0, low, -high), min(max(abs(low), abs(high)), most)


@dataclass(frozen=True, slots=True, eq=False)
class BinErrors:
    """A weighted mean of the absolute differences of bins, from intervals that hold for all bins at once.

    Each bin has the confidence 1 - (1 - c) / bins (Bonferroni). The estimate of an absolute value is above the truth
    where a judge is well calibrated: no interval around it would hold. This one does, and is wide for it.
    """

    bins: tuple[BinError, ...]
    """Those that hold a statement."""
    weights: Floats
    """Not negative, of sum 1; taken as they are."""
    kind: str = "bins"

    def at(self, confidence: float) -> laws.Ends:
        """Return the interval."""
        each = 1 - (1 - confidence) / len(self.bins)
        ends = np.array([one.at(each) for one in self.bins])
        low, high = self.weights @ ends
        return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Calibration:
    """How stated probabilities fare, by bins of equal width; the upper end belongs to the last bin alone."""

    statements: tuple[int, ...]
    """In each bin."""
    stated: tuple[float | None, ...]
    """Mean stated probability of each bin, None where it is empty."""
    observed: tuple[estimand.Estimate, ...]
    """Share of wins in each bin."""
    error: tuple[estimand.Estimate, ...]
    """Absolute difference of the two, with an interval from that of the share."""
    brier: estimand.Estimate
    """Mean of (p - y)^2."""
    mean_bin_error: estimand.Estimate
    """Unweighted mean of the errors of the bins that hold a statement; its interval is that of
    `bonwise.stats.confidence.BinErrors`.
    """
    expected_calibration_error: estimand.Estimate
    """The same, each bin weighted by its statements."""


def mean_bin_error(stated: Floats, observed: Floats) -> Floats:
    """Average the absolute errors of bins, empty ones (NaN) left out; the last axis runs over the bins."""
    errors = np.abs(stated - observed)
    known = ~np.isnan(errors)
    return _over(np.where(known, errors, 0.0).sum(axis=-1), known.sum(axis=-1).astype(np.float64))


def calibration(stated: Floats, won: Floats, prompt: Ints, *, bins: int = 5, confidence: float = 0.95) -> Calibration:
    """Compare stated probabilities, binned at equal width, with `won` (0, 1, tie 1/2), clustered by `prompt`."""
    # Rounded first, for 1 - 0.8 belongs where 0.2 does.
    at = np.minimum((np.round(stated, TIE_DECIMALS) * bins).astype(np.int64), bins - 1)
    sums = _grouped((np.ones(len(stated)), stated, won), at, prompt, bins)
    totals = sums.sum(axis=2)
    left = totals[:, :, None] - sums
    means = _over(totals[1:], totals[0])
    rest = _over(left[1:], left[0])
    errors = np.abs(means[0] - means[1]), np.abs(rest[0] - rest[1])
    prompts = np.count_nonzero(sums[0], axis=1)
    units = sums.shape[2]
    overall = float(mean_bin_error(means[0], means[1])), mean_bin_error(rest[0].T, rest[1].T)
    weighted = float(_weighted(errors[0], totals[0])), _weighted(errors[1], left[0])
    observed = [
        _estimate(means[1, b], rest[1, b], int(prompts[b]), confidence, average=True, share=True) for b in range(bins)
    ]
    signed = _se(rest[0] - rest[1])
    known = [
        BinError(float(means[0, b]), float(means[1, b]), share.law, float(signed[b]), int(prompts[b]) - 1)
        for b, share in enumerate(observed)
    ]
    alone = np.ones(1)
    some = np.flatnonzero(totals[0])
    held, count = [known[b] for b in some], totals[0, some]
    return Calibration(
        tuple(int(count) for count in totals[0]),
        tuple(None if np.isnan(known[b].stated) else known[b].stated for b in range(bins)),
        tuple(observed),
        tuple(
            _of_bins(float(errors[0][b]), errors[1][b], int(prompts[b]), confidence, [known[b]], alone)
            for b in range(bins)
        ),
        clustered_mean((stated - won) ** 2, prompt, confidence),
        _of_bins(*overall, units, confidence, held, np.full(len(some), 1 / len(some))),
        _of_bins(*weighted, units, confidence, held, count / count.sum()),
    )


def clustered_mean(values: Floats, prompt: Ints, confidence: float, *, share: bool = False) -> estimand.Estimate:
    """Estimate the mean of values in [0, 1], clustered by prompt; see `means_by_group`."""
    (found,) = means_by_group(values, np.zeros(len(values), dtype=np.int64), prompt, 1, confidence, share=share)
    return found


def means_by_group(
    values: Floats, group: Ints, prompt: Ints, groups: int, confidence: float, *, share: bool = False
) -> list[estimand.Estimate]:
    """Estimate means of values in [0, 1] by group, clustered by prompt; with `share` (0s and 1s) on log-odds."""
    sums = _grouped((np.ones(len(values)), values), group, prompt, groups)
    totals = sums.sum(axis=2)
    left = totals[:, :, None] - sums
    means, rest = _over(totals[1], totals[0]), _over(left[1], left[0])
    prompts = np.count_nonzero(sums[0], axis=1)
    return [
        _estimate(means[g], rest[g], int(prompts[g]), confidence, average=True, share=share) for g in range(groups)
    ]


def _grouped(columns: tuple[Floats, ...], group: Ints, prompt: Ints, groups: int) -> Floats:
    """Return sums by column, group and prompt."""
    units, owner = np.unique(prompt, return_inverse=True)
    cell = group * len(units) + owner
    rows = [np.bincount(cell, weights=column, minlength=groups * len(units)) for column in columns]
    return np.array(rows, dtype=np.float64).reshape(len(columns), groups, len(units))


def _weighted(errors: Floats, counts: Floats) -> Floats:
    return _over(np.where(counts > 0, errors * counts, 0.0).sum(axis=0), counts.sum(axis=0))


def _over(numerator: Floats, denominator: Floats) -> Floats:
    numerator, denominator = np.broadcast_arrays(numerator, denominator)
    quotient: Floats = np.divide(
        numerator, denominator, out=np.full(np.shape(numerator), np.nan), where=denominator > 0.5
    )
    return quotient


def _se(left_out: Floats) -> Floats:
    """Return the jackknife standard error from the values without each prompt in turn, along the last axis."""
    units = left_out.shape[-1]
    found: Floats = (
        np.sqrt((units - 1) * left_out.var(axis=-1)) if units > 1 else np.full(left_out.shape[:-1], np.nan)
    )
    return found


def _estimate(
    value: float, left_out: Floats, n: int, confidence: float, *, average: bool = False, share: bool = False
) -> estimand.Estimate:
    """Give a value its interval from the values without each prompt in turn."""
    value = float(value)
    if np.isnan(value):
        return estimand.Estimate.undefined("no statement", n)
    scatter = jackknife.Scatter.without(left_out)
    exact = (lambda: laws.Exact(value, n, (0.0, 1.0))) if average else None
    law = Logit(value, scatter.se, n - 1) if share and 0 < value < 1 else None
    return estimation.from_jackknife(value, scatter, n, (0.0, 1.0), confidence, exact=exact, law=law)


def _of_bins(
    value: float, left_out: Floats, n: int, confidence: float, bins: list[BinError], weights: Floats
) -> estimand.Estimate:
    """Give a mean of absolute errors the interval that follows from those of its bins."""
    if np.isnan(value) or n < 2:
        return _estimate(value, left_out, n, confidence)
    return estimation.under(BinErrors(tuple(bins), weights), confidence, estimate=value, se=float(_se(left_out)), n=n)

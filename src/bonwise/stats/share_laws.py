"""Intervals of shares, and of what binned statements are off by, which hold with few prompts and at the ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from bonwise.stats.laws import Ends, Law, student_quantile
from bonwise.stats.sums import Floats

__all__ = ["BinError", "BinErrors", "Logit"]


@dataclass(frozen=True, slots=True)
class Logit:
    """A share strictly between 0 and 1: log-odds plus or minus t times their standard error, turned back.

    The standard error of log(v / (1 - v)) is se / (v (1 - v)) with se clustered by prompt. Near 0 and 1 the ends lie
    at unequal distances, as the share itself scatters, and never beyond.

    Examples
    --------
    >>> [round(end, 3) for end in Logit(0.95, 0.02, 39).at(0.95)]
    [0.89, 0.978]
    """

    estimate: float
    se: float
    df: int
    kind: str = "logit"

    def at(self, confidence: float) -> Ends:
        """Return the interval."""
        half = student_quantile(confidence, self.df) * self.se / (self.estimate * (1 - self.estimate))
        middle = special.logit(self.estimate)
        return float(special.expit(middle - half)), float(special.expit(middle + half))


@dataclass(frozen=True, slots=True)
class BinError:
    """What is known of the mean stated probability of a bin less its share of wins."""

    stated: float
    """The two, in [0, 1]."""
    observed: float
    """The two, in [0, 1]."""
    share: Law | None
    """Of the observed share; None where it has no interval."""
    se: float
    """Of the difference, clustered by prompt; not finite where it is unknown."""
    df: int
    """Prompts of the bin less 1."""

    def at(self, confidence: float) -> tuple[float, float]:
        """Return the ends of the absolute difference.

        The wider of two intervals at either end: that of the share, with the mean stated probability as it is, and
        the jackknife's of the difference. All that can be where there is neither.
        """
        ends = None if self.share is None else self.share.at(confidence)
        share = (0.0, 1.0) if ends is None else ends
        d, half = self.stated - self.observed, 0.0
        if self.df > 0 and np.isfinite(self.se):
            half = student_quantile(confidence, self.df) * self.se
        low, high = min(self.stated - share[1], d - half), max(self.stated - share[0], d + half)
        most = max(self.stated, 1 - self.stated)
        return max(0.0, low, -high), min(max(abs(low), abs(high)), most)


@dataclass(frozen=True, slots=True, eq=False)
class BinErrors:
    """A weighted mean of the absolute differences of bins, from intervals that hold for all bins at once.

    Each bin gets an interval at the confidence 1 - (1 - c) / bins (Bonferroni), and the mean of their lower and that
    of their upper ends are the ends. An absolute value is never below 0 and its estimate is above the truth where a
    judge is well calibrated, so that no interval around the estimate holds: this one does, and is wide for it.
    """

    bins: tuple[BinError, ...]
    """Those that hold a statement."""
    weights: Floats
    """Not negative, of sum 1; taken as they are."""
    kind: str = "bins"

    def at(self, confidence: float) -> Ends:
        """Return the interval."""
        each = 1 - (1 - confidence) / len(self.bins)
        ends = np.array([one.at(each) for one in self.bins])
        low, high = self.weights @ ends
        return float(low), float(high)

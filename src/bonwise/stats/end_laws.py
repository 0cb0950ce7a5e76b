"""Intervals of means that lie near an end of their range, where Student's t passes too often."""

from __future__ import annotations

from dataclasses import dataclass

from bonwise.stats.laws import Ends, Law, student_quantile

__all__ = ["EffectiveShare", "RecoveryNearOne"]

_HALF = 0.5


@dataclass(frozen=True, slots=True)
class EffectiveShare:
    """Clopper-Pearson on as many draws as the standard error is worth (Korn and Graubard, 1998).

    With ``v = (estimate - lo) / (hi - lo)`` and its standard error s, the mean counts as a share of
    ``n* = v (1 - v) / s^2 (z / t_df)^2`` draws; the ends are quantiles of Beta(v n*, (1 - v) n* + 1) and
    Beta(v n* + 1, (1 - v) n*).

    Examples
    --------
    >>> low, high = EffectiveShare(0.98, 0.0140705, 99, (0.0, 1.0)).at(0.9)  # 98 of 100
    >>> round(low, 3), round(high, 3)
    (0.937, 0.997)
    """

    estimate: float
    """The standard error above 0: where all prompts are alike `bonwise.stats.laws.Exact` holds."""
    se: float
    """The standard error above 0: where all prompts are alike `bonwise.stats.laws.Exact` holds."""
    df: float
    """Of Student's t."""
    limits: tuple[float, float] = (0.0, 1.0)
    """lo and hi, finite: the range of the values that the estimate is a mean of."""
    kind: str = "clopper-pearson"

    def at(self, confidence: float) -> Ends:
        """Return the interval."""
        # Estimates are in saved routers too, and a router in production has no use for scipy.
        from scipy import special  # noqa: PLC0415

        low, high = self.limits
        width, tail = high - low, (1 - confidence) / 2
        share, se = (self.estimate - low) / width, self.se / width
        draws = share * (1 - share) / se**2
        draws *= (float(special.ndtri(1 - tail)) / student_quantile(confidence, self.df)) ** 2
        hits, misses = share * draws, (1 - share) * draws
        least = float(special.betaincinv(hits, misses + 1, tail)) if hits > 0 else 0.0
        most = float(special.betaincinv(hits + 1, misses, 1 - tail)) if misses > 0 else 1.0
        return low + width * least, low + width * most


@dataclass(frozen=True, slots=True)
class RecoveryNearOne:
    """The interval of a recovery above one half: its lost share is a share, and Fieller's low end passes too often.

    The low end is the smaller of the ratio's own and of 1 minus the upper end of the lost share.
    """

    ratio: Law
    """Of the recovery as a ratio of means."""
    lost: EffectiveShare
    """Of 1 - recovery."""

    @property
    def kind(self) -> str:
        """Name of the ratio's rule."""
        return self.ratio.kind

    def at(self, confidence: float) -> Ends:
        """Return the interval, None where that of the ratio is unbounded."""
        ends, lost = self.ratio.at(confidence), self.lost.at(confidence)
        return None if ends is None or lost is None else (min(ends[0], 1 - lost[1]), ends[1])

    @classmethod
    def over(cls, ratio: Law, recovery: float, se: float, df: float) -> Law:
        """Return the law of a recovery, which up to one half is the ratio's own.

        Parameters
        ----------
        ratio : Law
        recovery, se : float
            The linearised standard error of the ratio.
        df : float
        """
        if not _HALF < recovery < 1 or se <= 0:
            return ratio
        return cls(ratio, EffectiveShare(1 - recovery, se, df))

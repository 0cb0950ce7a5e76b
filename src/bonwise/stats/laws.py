"""Intervals of an estimate at any confidence, those of means that lie near an end of their range included."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from bonwise.arrays import Floats

Ends = tuple[float, float] | None


class Law(Protocol):
    """What every interval can do."""

    @property
    def kind(self) -> str:
        """Name of the rule: jackknife, fieller, clopper-pearson, bootstrap, exact, logit or bins."""
        ...

    def at(self, confidence: float) -> Ends:
        """Return the two-sided interval, or None where there is none."""
        ...


_COMPILED = "scipy.special._ufuncs"


def special() -> Any:
    """Return the special functions of scipy: the package, or the compiled ones where these are loaded alone."""
    # Estimates are in saved routers too, and a router in production has no use for scipy.
    return sys.modules.get(_COMPILED) or import_module("scipy.special")


def load_compiled() -> None:
    """Load the compiled special functions alone: the package around them takes half of a small audit's time."""
    package, _, _ = _COMPILED.rpartition(".")
    spec = find_spec(package)
    if package in sys.modules or spec is None:
        return
    # Its own file is not run: the compiled module needs to know nothing but where the package is.
    sys.modules[package] = bare = ModuleType(package)
    bare.__path__ = list(spec.submodule_search_locations or ())
    try:
        import_module(_COMPILED)
    except ImportError:  # another layout of scipy: `special` then loads the package
        sys.modules.pop(_COMPILED, None)
    finally:
        del sys.modules[package]


def student_quantile(confidence: float, df: float) -> float:
    """Return the two-sided critical value of Student's t."""
    return float(special().stdtrit(df, 0.5 + confidence / 2))


def student_quantiles(confidence: Floats | float, df: Floats) -> Floats:
    """Return those of many degrees of freedom."""
    found: Floats = special().stdtrit(df, 0.5 + np.asarray(confidence) / 2)
    return found


_NO_SKEW = 1e-9


def student_ends(
    estimates: Floats,
    errors: Floats,
    df: Floats,
    limits: tuple[Floats | float, Floats | float],
    skew: Floats | float,
    confidence: float,
) -> tuple[Floats, Floats]:
    """Return the ends of many intervals of `Student`."""
    t = student_quantiles(confidence, df)
    with np.errstate(divide="ignore", invalid="ignore"):
        below, above = (
            np.where(np.abs(a) < _NO_SKEW, t, np.maximum(t, 3 / a * (np.cbrt(1 + a * (t - a / 6)) - 1)))
            for a in (np.asarray(skew), -np.asarray(skew))
        )
    return np.maximum(estimates - below * errors, limits[0]), np.minimum(estimates + above * errors, limits[1])


def fisher_ends(
    estimates: Floats | float, errors: Floats | float, df: Floats | float, confidence: float
) -> tuple[Floats, Floats]:
    """Return the ends of many intervals of `FisherZ`."""
    z, t = np.arctanh(estimates), student_quantiles(confidence, np.asarray(df))
    half = t * errors / (1 - np.square(estimates))
    return np.tanh(z - half), np.tanh(z + half)


def difference_ends(
    estimates: tuple[float, float], first: tuple[float, float], second: tuple[float, float], correlation: float = 0.0
) -> tuple[float, float]:
    """Return the ends of a difference from those of its two parts and their correlation (Zou and Donner 2008)."""

    def reach(one: float, other: float) -> float:
        return math.sqrt(max(one**2 + other**2 - 2 * correlation * one * other, 0.0))

    left, right = estimates
    below, above = reach(left - first[0], second[1] - right), reach(first[1] - left, right - second[0])
    return left - right - below, left - right + above


def power_of_two(size: float) -> float:
    """Return the power of two next above a size, to divide by without rounding; 1 for 0."""
    return math.ldexp(1.0, math.frexp(size)[1])


@dataclass(frozen=True, slots=True)
class Student:
    """Estimate plus or minus t times its error, cut; for skewed values Hall's (1992) end where that is wider."""

    estimate: float
    se: float
    df: float
    limits: tuple[float, float]
    kind: str = "jackknife"
    skew: float = 0.0
    """a, the skewness of the estimate, ``sum d^3 / (sum d^2)^1.5`` over its contributions d; 0 leaves plain t."""

    def at(self, confidence: float) -> Ends:
        """Return the interval."""
        estimate, se, df = np.array([self.estimate, self.se, self.df])
        low, high = student_ends(estimate, se, df, self.limits, self.skew, confidence)
        return float(low), float(high)


@dataclass(frozen=True, slots=True)
class FisherZ:
    """Student's t about ``z = atanh(r)`` of a correlation, its standard error ``se / (1 - r^2)``, turned back."""

    estimate: float
    se: float
    df: float
    kind: str = "jackknife"

    def at(self, confidence: float) -> Ends:
        """Return the interval."""
        low, high = fisher_ends(self.estimate, self.se, self.df, confidence)
        return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Fieller:
    """A ratio of means: all rho with ``(a - rho b)^2 <= t^2 (caa - 2 rho cab + rho^2 cbb)``."""

    a: float
    b: float
    caa: float
    cab: float
    cbb: float
    df: float
    limits: tuple[float, float] = (-np.inf, np.inf)
    kind: str = "fieller"

    @property
    def se(self) -> float:
        """Standard error of the ratio, linearised."""
        ratio = self.a / self.b
        return float(np.sqrt(max(self.caa - 2 * ratio * self.cab + ratio**2 * self.cbb, 0.0))) / abs(self.b)

    def at(self, confidence: float) -> Ends:
        """Return the interval, None where the set is unbounded."""
        t2, unit = student_quantile(confidence, self.df) ** 2, power_of_two(max(abs(self.a), abs(self.b)))
        # In a unit of their own, so that no power of large or small labels leaves the range of doubles.
        a, b = self.a / unit, self.b / unit
        caa, cab, cbb = (part / unit / unit for part in (self.caa, self.cab, self.cbb))
        lead = b**2 - t2 * cbb
        if lead <= 0:
            return None
        middle = a * b - t2 * cab
        root = np.sqrt(max(middle**2 - lead * (a**2 - t2 * caa), 0.0))
        low, high = (middle - root) / lead, (middle + root) / lead
        return max(float(low), self.limits[0]), min(float(high), self.limits[1])


@dataclass(frozen=True, slots=True)
class Turned:
    """The interval of a number less a figure: of 1 less a ratio, or of a difference whose sides are exchanged."""

    law: Law
    number: float = 0.0

    @property
    def kind(self) -> str:
        """Name of the figure's rule."""
        return self.law.kind

    def at(self, confidence: float) -> Ends:
        """Return the interval, None where the figure has none."""
        ends = self.law.at(confidence)
        return None if ends is None else (self.number - ends[1], self.number - ends[0])


@dataclass(frozen=True, slots=True, eq=False)
class Percentile:
    """Percentiles of bootstrap replicates."""

    replicates: Floats
    kind: str = "bootstrap"

    def at(self, confidence: float) -> Ends:
        """Return the interval, None where a replicate is undefined."""
        if not np.isfinite(self.replicates).all():
            return None
        # numpy's own quantile, linear between order statistics, at a tenth of its price for a thousand.
        tail, last = (1 - confidence) / 2, len(self.replicates) - 1
        ordered = np.sort(self.replicates)
        low, high = np.interp([tail * last, (1 - tail) * last], np.arange(last + 1), ordered)
        return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Exact:
    """The bound when all n prompts are alike (Clopper-Pearson with no success).

    At confidence c a share ``p = 1 - ((1 - c) / 2)^(1/n)`` of prompts at most differs from what was seen: an average
    in [lo, hi] that was v lies in ``[v - p (v - lo), v + p (hi - v)]``. With weights up to `stretch` times the mean p
    is ``p s / (p s + 1 - p)``.
    """

    estimate: float
    n: int
    limits: tuple[float, float]
    stretch: float = 1.0
    kind: str = "exact"

    def at(self, confidence: float) -> Ends:
        """Return the bound, None where the metric has no finite range."""
        low, high = self.limits
        if not np.isfinite([low, high]).all():
            return None
        alike = ((1 - confidence) / 2) ** (1 / self.n)
        share = (1 - alike) * self.stretch / ((1 - alike) * self.stretch + alike)
        return self.estimate - share * (self.estimate - low), self.estimate + share * (high - self.estimate)


_HALF = 0.5


@dataclass(frozen=True, slots=True)
class EffectiveShare:
    """Clopper-Pearson on as many draws as the standard error is worth (Korn and Graubard, 1998).

    With ``v = (estimate - lo) / (hi - lo)`` and its standard error s, the mean counts as a share of
    ``n* = v (1 - v) / s^2 (z / t_df)^2`` draws; the ends are quantiles of Beta(v n*, (1 - v) n* + 1) and
    Beta(v n* + 1, (1 - v) n*).
    """

    estimate: float
    se: float
    """The standard error above 0: where all prompts are alike `bonwise.stats.laws.Exact` holds."""
    df: float
    """Of Student's t."""
    limits: tuple[float, float] = (0.0, 1.0)
    """lo and hi, finite: the range of the values that the estimate is a mean of."""
    kind: str = "clopper-pearson"
    most: float = np.inf
    """Draws that it is worth at most: as many as there are prompts, where nearly all of them say the same."""

    def at(self, confidence: float) -> Ends:
        """Return the interval."""
        functions = special()
        low, high = self.limits
        width, tail = high - low, (1 - confidence) / 2
        share, se = (self.estimate - low) / width, self.se / width
        draws = share * (1 - share) / se**2
        draws *= (float(functions.ndtri(1 - tail)) / student_quantile(confidence, self.df)) ** 2
        draws = min(draws, self.most)
        hits, misses = share * draws, (1 - share) * draws
        least = float(functions.betaincinv(hits, misses + 1, tail)) if hits > 0 else 0.0
        most = float(functions.betaincinv(hits + 1, misses, 1 - tail)) if misses > 0 else 1.0
        return low + width * least, low + width * most


@dataclass(frozen=True, slots=True)
class RecoveryNearOne:
    """A recovery above one half: its low end is the lower one of the ratio's and of that by its lost share."""

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
        """Return the law of a recovery, up to one half the ratio's own; `se` is the ratio's linearised one."""
        if not _HALF < recovery < 1 or se <= 0:
            return ratio
        return cls(ratio, EffectiveShare(1 - recovery, se, df))


_STAKES = np.arange(1, 50) / 50
_HALVINGS = 50


@dataclass(frozen=True, slots=True, eq=False)
class BoundedMeans:
    """All v that bets against a mean, or a ratio of means, do not refute, where labels have a known range.

    If the mean of ``X = above - v below`` is at most 0 and X never falls below -c, the capital
    ``mean over stakes s of prod(1 + s X / c)`` reaches 1 / a with probability a at most, whatever the law and however
    few the units.
    """

    above: Floats
    """By unit, as the range of them has it."""
    below: Floats
    """Above 0 somewhere; 1 throughout for a mean."""
    ends: tuple[float, float]
    """Of a mean those of its values; of a ratio the width of the labels, turned and as it is."""
    limits: tuple[float, float]
    """Of the mean or the ratio."""
    ratio: bool = False
    kind: str = "bounded"

    def at(self, confidence: float) -> Ends:
        """Return the interval; each end is a bound at half of the rest."""
        needed = float(np.log(2 / (1 - confidence)))
        low, high = self.limits
        reach = 1.0
        while not np.isfinite(low) and self._capital(-reach, 1) < needed:
            reach *= 2
        start = low if np.isfinite(low) else -reach
        return self._bound(start, high, 1, needed), self._bound(high, start, -1, needed)

    def _bound(self, refuted: float, kept: float, side: int, needed: float) -> float:
        """Return the end between one that is refuted, or is the limit, and the other limit."""
        if self._capital(refuted, side) < needed:
            return refuted
        for _ in range(_HALVINGS):
            middle = (refuted + kept) / 2
            if self._capital(middle, side) >= needed:
                refuted = middle
            else:
                kept = middle
        return refuted

    def _capital(self, v: float, side: int) -> float:
        """Return the logarithm of the capital against v from one side."""
        least, gains = self._least(v, side), side * (self.above - v * self.below)
        if least <= 0:  # at the limit nothing can be lost
            return np.inf if gains.max() > 0 else 0.0
        grown = np.log1p(_STAKES[:, None] * gains / least).sum(axis=1)
        return float(grown.max() + np.log(np.exp(grown - grown.max()).mean()))

    def _least(self, v: float, side: int) -> float:
        """Return c, the most that a unit can lose."""
        low, high = self.ends
        if self.ratio:
            return high * max(v if side > 0 else 1 - v, 1.0)
        return v - low if side > 0 else high - v

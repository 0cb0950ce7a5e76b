"""Which of several judges, or of two sets of picks, is the best, and intervals that hold after it was chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import ceil

from bonwise.documents.choice import CHOSEN_BY, ChoiceConfidences, ChoiceRecord, DifferenceFromBest
from bonwise.documents.record import given
from bonwise.stats.estimate import Estimate
from bonwise.stats.laws import Ends, Percentile, Turned
from bonwise.stats.simultaneous import JointConfidence, UnitInfluences, aligned, joint_confidence

__all__ = ["BestChoice", "Compared", "choices", "turned"]

_BEYOND = 5
"""Resamples beyond an end of an interval below which that end is an accident of a few of them."""

_SAME = 1e-12
"""Estimates that differ by less are equal but for rounding."""

_UNBOUNDED = "unbounded at the confidence that a choice among several takes"

_BY_CANDIDATE = "where single candidates were drawn for labels, their joint scatter is not known"


@dataclass(frozen=True, eq=False)
class Compared:
    """One of those that are compared."""

    metrics: Mapping[str, Estimate]
    influences: UnitInfluences | None
    """How much every unit moves its gain and its recovery; None where that is not known."""


@dataclass(frozen=True, eq=False)
class BestChoice:
    """The best of several by one metric, and intervals that hold after it was chosen."""

    metric: str
    best: tuple[str, ...]
    """Whose estimate is the highest: several where estimates are equal."""
    estimate: float
    """Of the best."""
    before: Ends
    """Its interval had nothing been chosen."""
    after: Ends
    """Its interval that holds although the highest estimate was chosen: the lower end is as low as that of a
    simultaneous interval. With several best ones it spans theirs.
    """
    simultaneous: Mapping[str, Ends]
    """Intervals of all that were compared, which hold together, whatever is chosen among them."""
    differences: Mapping[str, Estimate] = field(repr=False)
    """The best less each of the others, with intervals that hold together for every two."""
    confidences: JointConfidence | None = None
    """At which the single intervals are made."""
    reason: str | None = None
    """Why intervals are missing."""

    def record(self) -> ChoiceRecord:
        """Return what a document holds."""
        at = self.confidences
        return ChoiceRecord(
            best=list(self.best),
            estimate=self.estimate,
            before=_listed(self.before),
            after=_listed(self.after),
            simultaneous={name: _listed(ends) for name, ends in self.simultaneous.items()},
            differences={
                name: DifferenceFromBest(estimate=one.estimate, interval=_listed(_ends_of(one)))
                for name, one in self.differences.items()
            },
            **given(
                confidences=None
                if at is None
                else ChoiceConfidences(after=at.lower, simultaneous=at.each, differences=at.differences),
                reason=self.reason,
            ),
        )


def choices(
    compared: Mapping[str, Compared],
    difference: Callable[[str, str, str], Estimate | None],
    confidence: float,
    *,
    seed: int,
) -> dict[str, BestChoice]:
    """Choose the best by each metric that two or more of those compared have.

    Parameters
    ----------
    compared : mapping of str to Compared
    difference : callable
        Two names and a metric to the difference, first less second, paired by prompt; None where there is none.
    confidence : float
        Two-sided.
    seed : int
        Of the draws that say how estimates vary together.
    """
    found = {}
    for metric in CHOSEN_BY:
        of = {name: one for name, one in compared.items() if one.metrics[metric].estimate is not None}
        if len(of) > 1:
            found[metric] = _choice(metric, of, difference, confidence, seed)
    return found


def turned(found: Estimate) -> Estimate:
    """Return a difference of a and b as that of b and a.

    Examples
    --------
    >>> found = turned(Estimate(0.1, -0.1, 0.3, 0.1, 50, "jackknife"))
    >>> found.estimate, found.low, found.high
    (-0.1, -0.3, 0.1)
    """
    if found.estimate is None:
        return found
    low, high = (None, None) if found.low is None or found.high is None else (-found.high, -found.low)
    law = None if found.law is None else Turned(found.law)
    return replace(found, estimate=0.0 - found.estimate, low=low, high=high, law=law)


def _choice(
    metric: str,
    of: Mapping[str, Compared],
    difference: Callable[[str, str, str], Estimate | None],
    confidence: float,
    seed: int,
) -> BestChoice:
    estimates = {name: one.metrics[metric] for name, one in of.items()}
    values = {name: one.estimate for name, one in estimates.items() if one.estimate is not None}
    highest = max(values.values())
    best = tuple(name for name, value in values.items() if value >= highest - _SAME)
    others = {name: difference(best[0], name, metric) for name in of if name != best[0]}
    before = _spanned([_ends_of(estimates[name]) for name in best])
    known = [
        one.influences for one in of.values() if one.influences is not None and metric in one.influences.by_metric
    ]
    at = None
    reason = _BY_CANDIDATE
    if len(known) == len(of):
        at = joint_confidence(aligned(known, metric), confidence, seed=seed)
        reason = _too_few([*estimates.values(), *(one for one in others.values() if one is not None)], at)
        at = None if reason else at
    after = None if at is None else _spanned([_after(estimates[name], at) for name in best])
    if at is not None and after is None:
        whys = (estimates[name].reason for name in best)
        reason = next((why.removeprefix("no interval: ") for why in whys if why), _UNBOUNDED)
    return BestChoice(
        metric,
        best,
        highest,
        before,
        after,
        {name: None if at is None else one.bounds(at.each) for name, one in estimates.items()},
        {name: _at(one, at) for name, one in others.items() if one is not None},
        at,
        reason or None,
    )


def _after(found: Estimate, at: JointConfidence) -> Ends:
    """Return the interval of an estimate that was chosen because it is the highest.

    The choice favours estimates that are too high, so the lower end is one of those that hold together. The upper end
    needs no such care: an estimate that is far too low is seldom the highest.
    """
    lower, own = found.bounds(at.lower), _ends_of(found)
    return None if lower is None or own is None else (lower[0], own[1])


def _at(difference: Estimate, at: JointConfidence | None) -> Estimate:
    """Return a difference with the interval that holds together with all others."""
    ends = None if at is None else difference.bounds(at.differences)
    low, high = (None, None) if ends is None else ends
    return replace(difference, low=low, high=high, interval=difference.interval if ends else None, law=None)


def _too_few(found: list[Estimate], at: JointConfidence) -> str:
    """Say how many resamples are needed where a bootstrap has too few; empty where it has enough."""
    laws = [one.law.law if isinstance(one.law, Turned) else one.law for one in found]
    drawn = [len(law.replicates) for law in laws if isinstance(law, Percentile)]
    needed = ceil(_BEYOND * 2 / (1 - max(at.each, at.lower, at.differences)))
    if not drawn or min(drawn) >= needed:
        return ""
    return f"intervals that hold together need {needed:,} resamples of the bootstrap, and there are {min(drawn):,}"


def _spanned(ends: list[Ends]) -> Ends:
    known = [one for one in ends if one is not None]
    if len(known) < len(ends):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _ends_of(found: Estimate) -> Ends:
    return None if found.low is None or found.high is None else (found.low, found.high)


def _listed(ends: Ends) -> list[float] | None:
    return None if ends is None else list(ends)

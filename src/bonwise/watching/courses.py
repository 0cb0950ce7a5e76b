"""The course of one signal: its evidence at every look, and the first alarm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import special

from bonwise.arrays import Floats, Ints
from bonwise.report.numbers import counted
from bonwise.results import given
from bonwise.stats import laws, running_ratio
from bonwise.watching import drift, signals
from bonwise.watching.result import LevelRecord, WatchedSignal, WatchSettings

FEWEST = 3
"""Periods below which a level has no interval."""

_ENOUGH = 20
"""Periods below which their correlation says little."""

_STRIKING = 3.0
"""Standard errors, 1 / sqrt(periods), beyond which the correlation of neighbours is told."""


def level_over(u: Floats, v: Floats, picks: Floats, confidence: float, *, share: bool = False) -> LevelRecord:
    """Return ``sum u / sum v`` with Fieller's interval by periods, a `share` with Clopper and Pearson's."""
    estimate, low, high, reason = _interval_over(u, v, confidence, share=share)
    return LevelRecord(
        estimate=estimate, low=low, high=high, periods=len(u), picks=int(picks.sum()), **given(reason=reason)
    )


def _interval_over(
    u: Floats, v: Floats, confidence: float, *, share: bool
) -> tuple[float | None, float | None, float | None, str | None]:
    """Return estimate, lower and upper end, and why these are missing."""
    count = len(u)
    if not v.sum():
        return None, None, None, "no pick tells it"
    estimate = float(u.sum() / v.sum())
    if count < FEWEST:
        return estimate, None, None, f"an interval needs {FEWEST} periods"
    running = running_ratio.RunningRatio.of(u, v).at(np.array([count]))
    if not running.varies(estimate)[0]:
        return estimate, None, None, "all periods are alike"
    if share:
        se = float(running.gap(estimate)[1][0] / running.b[0])
        ends = laws.EffectiveShare(estimate, se, count - 1).at(confidence)
        return estimate, *(ends or (None, None)), None
    squared = np.array([float(special.stdtrit(count - 1, 0.5 + confidence / 2)) ** 2])
    low, high = (float(end[0]) for end in running.limits(squared))
    if np.isnan(low) or np.isnan(high):
        return estimate, None, None, "the interval is unbounded"
    return estimate, low, high, None


def highest_share(estimate: float, se: float, count: int, chance: float) -> float:
    """Return the upper bound, passed by `chance`, of a share: the larger of Student's t and Clopper and Pearson."""
    student = estimate - float(special.stdtrit(max(count - 1, 1), chance)) * se
    hits = estimate * count
    exact = float(special.betaincinv(hits + 1, count - hits, 1 - chance)) if hits < count else 1.0
    return min(max(student, exact), 1.0)


def lowest_share(estimate: float, se: float, count: int, chance: float) -> float:
    """Return the lower bound, as `highest_share` does for the upper one."""
    return 1 - highest_share(1 - estimate, se, count, chance)


def lowest_recovery(estimate: float, se: float, count: int, draws: float, chance: float) -> float:
    """Return a recovery's lower bound, the lower of Student's and Clopper-Pearson's by `draws` of possible gain."""
    student = estimate + float(special.stdtrit(max(count - 1, 1), chance)) * se
    if estimate <= 0:
        return student
    hits = min(estimate, 1.0) * draws
    return min(student, float(special.betaincinv(hits, draws - hits + 1, chance)))


def neighbour_correlation(values: Floats) -> float | None:
    """Return the correlation of neighbouring periods where it is striking, None where it is not."""
    apart = values - values.mean()
    total = float(apart @ apart)
    if len(values) < _ENOUGH or total <= 0:
        return None
    correlation = float(apart[1:] @ apart[:-1]) / total
    return correlation if correlation > _STRIKING / np.sqrt(len(values)) else None


_FEWEST = 5
"""Looks below which a baseline ranks nothing."""

_NEAR_ONE = 1 - 1e-9
"""Of a recovery of 1 nothing can be lost, and no stake is too high."""

_LOG_10 = float(np.log(10))


@dataclass(frozen=True, slots=True)
class WatchRule:
    """What all signals are watched by."""

    settings: WatchSettings
    names: tuple[str, ...]
    """Of all periods, those of the baseline first."""
    baseline: int
    """How many of them are the baseline."""

    @property
    def share(self) -> float:
        """What each signal has of the chance: the same whether or not the others are watched."""
        return (1 - self.settings.confidence) / len(signals.SIGNALS)


@dataclass(frozen=True, slots=True)
class AuditedLevel:
    """What an audit found of a signal."""

    source: str
    estimate: float
    se: float
    low: float | None
    high: float | None
    count: int
    """Prompts behind it."""
    draws: float | None = None
    """Of recovery: `count` times the mean possible gain, labels in [0, 1]; 1 each where it is missing."""

    def record(self) -> LevelRecord:
        """Return it as a document holds a level."""
        return LevelRecord(estimate=self.estimate, low=self.low, high=self.high, periods=0, picks=self.count)


def not_watched(signal: signals.LoggedSignal, reason: str, *, early: bool = False) -> WatchedSignal:
    """Return a signal that is not watched, with the reason."""
    return WatchedSignal(
        unit=signal.unit,
        status="too early" if early else "not watched",
        reason=reason,
        undefined=dict(signal.undefined),
        looks=[],
    )


def by_ranks(signal: signals.LoggedSignal, rule: WatchRule, source: str) -> WatchedSignal:
    """Watch a signal by how its periods rank among those before them; `source` is what the baseline is."""
    seed = (rule.settings.seed, list(signals.SIGNALS).index(signal.name))
    looks = drift.Looks.of(
        signal.u,
        signal.v,
        signal.period,
        periods=len(rule.names),
        baseline=rule.baseline,
        # Labels are few, so a look takes all that a usual period has.
        part=1.0 if signal.name == signals.RECOVERY else drift.PART,
        seed=seed,
    )
    watched = len(looks.u) - looks.baseline
    if looks.baseline < _FEWEST:
        return not_watched(signal, f"its baseline has {counted(looks.baseline, 'look')}, and ranks need {_FEWEST}")
    if not watched:
        return not_watched(signal, "it waits for the first look after the baseline", early=True)
    draws = np.random.default_rng(seed).random(watched)
    scores = drift.normal_scores(looks.u, looks.v, looks.baseline, draws)
    evidence = drift.scores_evidence(
        scores, rule.settings.year, "below" if signal.name == signals.RECOVERY else "both"
    )
    totals = signal.totals(len(rule.names))
    course = SignalCourse(
        signal, rule, totals, evidence, looks.first, looks.last, rule.share, source, before=looks.baseline
    )
    return WatchedSignal.of(course, course.level(0, rule.baseline), look_size=looks.size)


def by_bound(signal: signals.LoggedSignal, rule: WatchRule, audited: AuditedLevel) -> WatchedSignal:
    """Watch a signal by the mean of each period against the bounds of an audit's figure, half of its chance each."""
    totals = signal.totals(len(rule.names))
    seen = np.flatnonzero(totals.picks > 0)
    seen = seen[seen >= rule.baseline]
    if not seen.size:
        return not_watched(signal, "it waits for the first pick that tells it", early=True)
    u, v, chance = totals.u[seen] / totals.picks[seen], totals.v[seen] / totals.picks[seen], rule.share / 2
    evidence = (_below if signal.name == signals.RECOVERY else _either_side)(
        u, v, audited, chance, rule.settings.year
    )
    course = SignalCourse(signal, rule, totals, evidence, seen, seen, chance, audited.source)
    return WatchedSignal.of(course, audited.record())


def _below(u: Floats, v: Floats, audited: AuditedLevel, chance: float, year: int) -> drift.ChangeEvidence:
    """Return the evidence that a ratio is below the lower bound of the audit: that ``bound v - u`` is above 0."""
    draws = audited.count if audited.draws is None else audited.draws
    bound = min(lowest_recovery(audited.estimate, audited.se, audited.count, draws, chance), _NEAR_ONE)
    return drift.bounded_evidence(bound * v - u, 1 - bound, year)


def _either_side(u: Floats, v: Floats, audited: AuditedLevel, chance: float, year: int) -> drift.ChangeEvidence:
    """Return the evidence that a mean of values in [0, 1] is above the upper bound, or below the lower one."""
    del v  # each pick counts once
    most, least = (
        bound(audited.estimate, audited.se, audited.count, chance / 2) for bound in (highest_share, lowest_share)
    )
    rise = drift.bounded_evidence(u - most, most, year)
    fall = drift.bounded_evidence(least - u, 1 - least, year)
    log_e = np.logaddexp(rise.log_e, fall.log_e) - np.log(2)
    return drift.ChangeEvidence(log_e, np.where(rise.log_e >= fall.log_e, rise.start, fall.start))


@dataclass(frozen=True, eq=False)
class SignalCourse:
    """A watched signal: its looks, and the evidence at each."""

    signal: signals.LoggedSignal
    rule: WatchRule
    totals: signals.PeriodTotals
    evidence: drift.ChangeEvidence
    """At each look after the baseline."""
    first: Ints
    last: Ints
    """Both: the periods that each look spans."""
    chance: float
    """Of a false alarm."""
    source: str
    """What the baseline is."""
    before: int = 0
    """Looks of the baseline, which are the first ones."""

    @property
    def threshold(self) -> float:
        """What the evidence must reach, its logarithm to base 10."""
        return -float(np.log10(self.chance))

    def alarm(self, baseline: float | None) -> tuple[int, int, bool] | None:
        """Return the periods since which the signal moved and at which that showed, and whether it fell."""
        at = drift.first_alarm(self.evidence.log_e, self.chance)
        if at is None:
            return None
        since, until = int(self.first[self.before + int(self.evidence.start[at])]), int(self.last[self.before + at])
        # The level that raised the alarm says which way, also where it has gone back since.
        then = self.totals.over(since, until) or 0.0
        return since, until, self.signal.name == signals.RECOVERY or then < (baseline or 0.0)

    def level(self, start: int, end: int) -> LevelRecord:
        """Return the level of the periods from `start` to before `end`."""
        totals = self.totals.between(start, end)
        share = self.signal.unit == "share" and self.signal.name != signals.RECOVERY
        return level_over(totals.u, totals.v, totals.picks, self.rule.settings.confidence, share=share)

    def looks(self) -> Iterator[tuple[int, int, float | None]]:
        """Yield the periods of each look, and its evidence to base 10; None in the baseline."""
        evidence = [None] * self.before + [log_e / _LOG_10 for log_e in self.evidence.log_e.tolist()]
        yield from zip(self.first.tolist(), self.last.tolist(), evidence, strict=True)

    def neighbours(self, *, moved: bool) -> float | None:
        """Return the striking correlation of neighbouring looks, of those of the baseline where the signal moved."""
        looks = list(self.looks())[: self.before if moved else None]
        values = [self.totals.over(first, last) for first, last, _ in looks]
        return neighbour_correlation(np.array([value for value in values if value is not None]))

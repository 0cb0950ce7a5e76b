"""The course of one signal: its evidence at every look, and the first alarm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bonwise.auditing.watching.signals import RECOVERY, SIGNALS, Signal
from bonwise.documents.record import given
from bonwise.documents.watch import Alarm, LevelRecord, WatchedLook, WatchedSignal
from bonwise.stats.drift.change import Evidence, bounded_evidence, first_alarm, scores_evidence
from bonwise.stats.drift.levels import highest_share, level_over, lowest_share, neighbour_correlation
from bonwise.stats.drift.looks import HALF, Looks
from bonwise.stats.drift.normal_scores import normal_scores
from bonwise.stats.sums import Floats

__all__ = ["AuditedLevel", "Rule", "by_bound", "by_ranks", "not_watched"]

_FEWEST = 5
"""Looks below which a baseline ranks nothing."""

_LOG_10 = float(np.log(10))


@dataclass(frozen=True, slots=True)
class Rule:
    """What all signals are watched by.

    Parameters
    ----------
    confidence : float
        1 minus it is the chance of any false alarm within a year of looks.
    year, seed : int
    names : tuple of str
        Of all periods, those of the baseline first.
    baseline : int
        How many of them are the baseline.
    """

    confidence: float
    year: int
    seed: int
    names: tuple[str, ...]
    baseline: int

    @property
    def share(self) -> float:
        """What each signal has of the chance: the same whether or not the others are watched."""
        return (1 - self.confidence) / len(SIGNALS)


@dataclass(frozen=True, slots=True)
class AuditedLevel:
    """What an audit found of a signal.

    Parameters
    ----------
    source : str
    estimate, se : float
    low, high : float or None
    count : int
        Prompts behind it.
    """

    source: str
    estimate: float
    se: float
    low: float | None
    high: float | None
    count: int

    def record(self) -> LevelRecord:
        """Return it as a document holds a level."""
        return LevelRecord(estimate=self.estimate, low=self.low, high=self.high, periods=0, picks=self.count)


def not_watched(signal: Signal, reason: str, *, early: bool = False) -> WatchedSignal:
    """Return a signal that is not watched, with the reason."""
    status = "too early" if early else "not watched"
    return WatchedSignal(
        unit=signal.unit, status=status, reason=reason, undefined=dict(signal.undefined), looks=[]
    )


def by_ranks(signal: Signal, rule: Rule, source: str) -> WatchedSignal:
    """Watch a signal by how its periods rank among those before them."""
    periods = len(rule.names)
    u, v, picks = signal.sums(periods)
    seed = (rule.seed, list(SIGNALS).index(signal.name))
    looks = Looks.of(
        signal.u,
        signal.v,
        signal.period,
        periods=periods,
        baseline=rule.baseline,
        # Labels are few, so that each look takes all that a usual period has.
        part=1.0 if signal.name == RECOVERY else HALF,
        seed=seed,
    )
    if looks.baseline < _FEWEST:
        return not_watched(signal, f"its baseline has {looks.baseline} looks, and ranks need {_FEWEST}")
    if not v[: rule.baseline].sum():
        return not_watched(signal, "nothing in the baseline tells it")
    watched = len(looks.u) - looks.baseline
    if not watched:
        return not_watched(signal, "it waits for the first look after the baseline", early=True)
    draws = np.random.default_rng(seed).random(watched)
    scores = normal_scores(looks.u, looks.v, looks.baseline, draws)
    evidence = scores_evidence(scores, rule.year, "below" if signal.name == RECOVERY else "both")
    first, last = looks.first[looks.baseline :], looks.last[looks.baseline :]
    before = level_over(*_there(u, v, picks, 0, rule.baseline), rule.confidence, share=_is_share(signal))
    alarm = _alarm(signal, rule, evidence, rule.share, first, last, float(before.estimate or 0.0))
    spans = list(zip(looks.first.tolist(), looks.last.tolist(), strict=True))
    values = [_ratio(u, v, start, end) for start, end in spans]
    told = [*(None for _ in range(looks.baseline)), *evidence.log_e.tolist()]
    steady = np.array([one for one in values[: looks.baseline + (watched if alarm is None else 0)] if one is not None])
    return WatchedSignal(
        unit=signal.unit,
        status="not moved" if alarm is None else "moved",
        method="ranks",
        baseline=_level(signal, rule, 0, rule.baseline),
        baseline_source=source,
        now=_level(signal, rule, rule.baseline, periods),
        look_size=looks.size,
        threshold=-float(np.log10(rule.share)),
        undefined=dict(signal.undefined),
        looks=_looks(rule.names, spans, values, told),
        **given(alarm=alarm, neighbours=neighbour_correlation(steady)),
    )


def by_bound(signal: Signal, rule: Rule, audited: AuditedLevel) -> WatchedSignal:
    """Watch a signal against what an audit found: the mean of each period against the bounds of that figure.

    Half of the signal's chance is spent on the bounds, half on the evidence. Both u and v lie in [0, 1], u at most v.
    """
    periods = len(rule.names)
    u, v, picks = signal.sums(periods)
    there = np.flatnonzero(picks > 0)
    there = there[there >= rule.baseline]
    if not there.size:
        return not_watched(signal, "it waits for the first pick that tells it", early=True)
    mean_u, mean_v = u[there] / picks[there], v[there] / picks[there]
    chance = rule.share / 2
    if signal.name == RECOVERY:
        student = level_quantile(audited, chance)
        evidence = bounded_evidence(student * mean_v - mean_u, max(1 - student, 1e-9), rule.year)
    else:
        most = highest_share(audited.estimate, audited.se, audited.count, chance / 2)
        least = lowest_share(audited.estimate, audited.se, audited.count, chance / 2)
        evidence = _either(
            bounded_evidence(mean_u - most, max(most, 1e-9), rule.year),
            bounded_evidence(least - mean_u, max(1 - least, 1e-9), rule.year),
        )
    alarm = _alarm(signal, rule, evidence, chance, there, there, audited.estimate)
    spans = [(int(at), int(at)) for at in there]
    values = [_ratio(u, v, at, at) for at in there]
    return WatchedSignal(
        unit=signal.unit,
        status="not moved" if alarm is None else "moved",
        method="bound",
        baseline=audited.record(),
        baseline_source=audited.source,
        now=_level(signal, rule, rule.baseline, periods),
        threshold=-float(np.log10(chance)),
        undefined=dict(signal.undefined),
        looks=_looks(rule.names, spans, values, evidence.log_e.tolist()),
        **given(alarm=alarm),
    )


def level_quantile(audited: AuditedLevel, chance: float) -> float:
    """Return the lower bound of an audited ratio by Student's t, below 1."""
    from scipy import special  # noqa: PLC0415 - the rest of this module needs arrays alone

    return float(audited.estimate + special.stdtrit(max(audited.count - 1, 1), chance) * audited.se)


def _either(rise: Evidence, fall: Evidence) -> Evidence:
    """Average two bets, and say the start of the better one."""
    log_e = np.logaddexp(rise.log_e, fall.log_e) - np.log(2)
    return Evidence(log_e, np.where(rise.log_e >= fall.log_e, rise.start, fall.start))


def _alarm(  # noqa: PLR0913, PLR0917 - the parts of one alarm
    signal: Signal, rule: Rule, evidence: Evidence, chance: float, first: Floats, last: Floats, before: float
) -> Alarm | None:
    at = first_alarm(evidence.log_e, chance)
    if at is None:
        return None
    since, until = int(first[int(evidence.start[at])]), int(last[at])
    u, v, _ = signal.sums(len(rule.names))
    # What raised the alarm says which way, also where the level has gone back since.
    then = _ratio(u, v, since, until)
    rose = then is not None and then > before and signal.name != RECOVERY
    return Alarm(
        period=rule.names[until],
        since=rule.names[since],
        direction="rose" if rose else "fell",
        level=_level(signal, rule, since, len(rule.names)),
    )


def _level(signal: Signal, rule: Rule, start: int, end: int) -> LevelRecord:
    u, v, picks = signal.sums(len(rule.names))
    mine = _there(u, v, picks, start, end)
    found = level_over(*mine, rule.confidence, share=_is_share(signal))
    return LevelRecord(
        estimate=found.estimate,
        low=found.low,
        high=found.high,
        periods=len(mine[0]),
        picks=int(picks[start:end].sum()),
        **given(reason=found.reason or None),
    )


def _there(u: Floats, v: Floats, picks: Floats, start: int, end: int) -> tuple[Floats, Floats]:
    told = picks[start:end] > 0
    return u[start:end][told], v[start:end][told]


def _is_share(signal: Signal) -> bool:
    return signal.unit == "share" and signal.name != RECOVERY


def _ratio(u: Floats, v: Floats, first: int, last: int) -> float | None:
    below = v[first : last + 1].sum()
    return float(u[first : last + 1].sum() / below) if below else None


def _looks(
    names: Sequence[str],
    spans: Sequence[tuple[int, int]],
    values: Sequence[float | None],
    log_e: Sequence[float | None],
) -> list[WatchedLook]:
    return [
        WatchedLook(
            first=names[first], last=names[last], value=value, log10_e=None if told is None else told / _LOG_10
        )
        for (first, last), value, told in zip(spans, values, log_e, strict=True)
    ]

"""Labelled picks of production with known truth, and audits of pools of the same law."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bonwise.watching.courses import AuditedLevel, WatchRule, by_bound, by_ranks
from bonwise.watching.result import WatchSettings
from bonwise.watching.signals import RECOVERY, LoggedSignal

CANDIDATES = 4


@dataclass(frozen=True)
class LabelledLaw:
    """Pools of four candidates whose labels are uniform in [0, 1], or 0 and 1.

    A score is the label and an error of standard deviation `noise` times the effect of the day, whose own standard
    deviation is `effect`. `picks` are labelled on a day, Poisson around it.
    """

    noise: float = 0.3
    effect: float = 0.3
    picks: float = 5.0
    binary: bool = False


LAWS = {
    "uniform labels": LabelledLaw(),
    "labels of 0 and 1": LabelledLaw(noise=0.5, binary=True),
    "recovery near 1": LabelledLaw(noise=0.25, binary=True),
    "ten labelled picks a day, strong days": LabelledLaw(picks=10.0, effect=0.6),
}


def pools_of(law, days, number, chance):
    """Return the gain of the pick, the possible gain, and the day of each pick; `number` of picks per day."""
    spread = np.sqrt(np.log1p(law.effect**2))
    noise = law.noise * np.exp(spread * chance.normal(size=days) - spread**2 / 2)
    day = np.repeat(np.arange(days), number)
    labels = chance.random((len(day), CANDIDATES))
    if law.binary:
        labels = np.round(labels)
    scores = labels + noise[day, None] * chance.normal(size=labels.shape)
    mean = labels.mean(axis=1)
    return labels[np.arange(len(day)), scores.argmax(axis=1)] - mean, labels.max(axis=1) - mean, day


def rule_of(year, seed, periods, baseline):
    """Return the rule of a watch over periods that are named by their number."""
    settings = WatchSettings(confidence=0.95, by="day", year=year, seed=seed, version="1")
    return WatchRule(settings, tuple(map(str, range(periods))), baseline)


def recovery_alarm(law, baseline, days, seed):
    """Tell whether recovery that is ranked raises an alarm within a year of `days` looks."""
    chance = np.random.default_rng(seed)
    whole = baseline + days
    u, v, day = pools_of(law, whole, chance.poisson(law.picks, whole), chance)
    rule = rule_of(days, seed[-1], whole, baseline)
    return by_ranks(LoggedSignal(RECOVERY, u, v, day), rule, "days").alarm is not None


def audited_recovery(law, prompts, chance):
    """Return what an audit of pools of many days finds, with its jackknife standard error."""
    u, v, _ = pools_of(law, prompts, np.ones(prompts, dtype=int), chance)
    room, differ = v.mean(), v > 0
    u, v = u[differ], v[differ]
    count = len(u)
    without = (u.sum() - u) / (v.sum() - v)
    se = np.sqrt((count - 1) / count * ((without - without.mean()) ** 2).sum())
    return AuditedLevel("audit", float(u.sum() / v.sum()), float(se), None, None, count, count * room)


def bound_alarm(law, prompts, days, seed):
    """Tell whether recovery raises an alarm against the audit of as many prompts."""
    chance = np.random.default_rng(seed)
    audited = audited_recovery(law, prompts, chance)
    u, v, day = pools_of(law, days, chance.poisson(law.picks, days), chance)
    rule = rule_of(days, 0, days, 0)
    return by_bound(LoggedSignal(RECOVERY, u, v, day), rule, audited).alarm is not None


def tie_alarm(level, prompts, days, seed, effect=0.3, picks=40):
    """Tell whether a tie rate raises an alarm against the audit of as many prompts."""
    chance = np.random.default_rng(seed)
    spread = np.sqrt(np.log1p(effect**2))

    def tied(number):
        shares = level * np.exp(spread * chance.normal(size=len(number)) - spread**2 / 2)
        return (chance.random(number.sum()) < np.repeat(shares, number)).astype(float)

    found = tied(np.ones(prompts, dtype=int))
    se = float(found.std(ddof=1) / np.sqrt(prompts))
    audited = AuditedLevel("audit", float(found.mean()), se, None, None, prompts)
    number = chance.poisson(picks, days)
    u, day = tied(number), np.repeat(np.arange(days), number)
    rule = rule_of(days, 0, days, 0)
    return by_bound(LoggedSignal("tie_rate", u, np.ones(len(u)), day), rule, audited).alarm is not None

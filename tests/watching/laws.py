"""Streams of picks with known truth: picks of one day depend on each other, and a level may shift."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bonwise.watching.drift import Looks, normal_scores, scores_evidence

YEAR = 365


@dataclass(frozen=True)
class Law:
    """One signal of a stream.

    `level` is its mean, `effect` how strongly the picks of a day move together: the standard deviation of the day's
    level as a part of the level. `after` multiplies the level from day `at` on. `memory` is the correlation of the
    effects of neighbouring days. `weekend` multiplies the level of two days of each week.
    """

    kind: str
    level: float
    effect: float
    picks: int = 100
    traffic: str = "level"
    memory: float = 0.0
    weekend: float = 1.0
    after: float = 1.0
    at: int = 10**9


SIX = {
    "tie rate": Law("share", 0.2, 0.2),
    "margin": Law("normal", 0.3, 0.1),
    "order effect": Law("pairs", 0.1, 0.5),
    "unscored share": Law("share", 0.005, 0.8),
    "cost per pick": Law("lognormal", 0.01, 0.2),
    "length": Law("gamma", 800.0, 0.1),
}
"""A usual share, a level, a ratio with its own counts, a rare event, heavy tails, and positive values."""


def counts(law, days, chance):
    """Return how many picks each day has, Poisson around its traffic."""
    day = np.arange(days)
    factor = {
        "level": np.ones(days),
        "weekly": np.where(day % 7 < 5, 1.0, 0.2),
        "growing": np.geomspace(0.3, 3, days),
        "shrinking": np.geomspace(3, 0.3, days),
    }[law.traffic]
    return np.maximum(chance.poisson(law.picks * factor), 1)


def day_levels(law, days, chance):
    """Return the level of each day; its effects are positive and skewed."""
    steps = chance.normal(size=days)
    effect = np.empty(days)
    effect[0] = steps[0]
    for day in range(1, days):
        effect[day] = law.memory * effect[day - 1] + np.sqrt(1 - law.memory**2) * steps[day]
    spread = np.sqrt(np.log1p(law.effect**2))
    day = np.arange(days)
    shift = np.where(day >= law.at, law.after, 1.0) * np.where(day % 7 < 5, 1.0, law.weekend)
    return law.level * np.exp(spread * effect - spread**2 / 2) * shift


def picks_of(law: Law, days: int, chance: np.random.Generator):
    """Return numerator, denominator and day of each pick."""
    number = counts(law, days, chance)
    day = np.repeat(np.arange(days), number)
    level, size = day_levels(law, days, chance)[day], number.sum()
    one = np.ones(size)
    if law.kind == "share":
        return (chance.random(size) < level).astype(float), one, day
    if law.kind == "normal":
        return level + 0.2 * chance.normal(size=size), one, day
    if law.kind == "pairs":
        pairs = chance.integers(1, 7, size).astype(float)
        return pairs * level + 0.5 * np.sqrt(pairs) * chance.normal(size=size), pairs, day
    if law.kind == "lognormal":
        return level * np.exp(1.5 * chance.normal(size=size) - 1.125), one, day
    return level * chance.gamma(4, 0.25, size), one, day


def looks_of(law: Law, periods: int, baseline: int, seed: tuple[int, ...], every: int = 1):
    """Return the looks of one stream and their normal scores; a period is as many days as `every` says."""
    chance = np.random.default_rng(seed)
    u, v, day = picks_of(law, periods * every, chance)
    looks = Looks.of(u, v, day // every, periods=periods, baseline=baseline, seed=seed)
    scores = normal_scores(looks.u, looks.v, looks.baseline, chance.random(len(looks.u) - looks.baseline))
    return looks, scores


def alarm_day(
    law: Law, days: int, baseline: int, seed: tuple[int, ...], chance: float, year: int = YEAR, every: int = 1
):
    """Return the period of the first alarm, a day unless it is said otherwise; None where there is none."""
    looks, scores = looks_of(law, days, baseline, seed, every)
    evidence = scores_evidence(scores, year)
    reached = np.flatnonzero(evidence.log_e >= -np.log(chance))
    return int(looks.last[looks.baseline + reached[0]]) if reached.size else None

"""Did a stream change at some unknown time: looks of one size, their ranks as normal scores, bets on these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy import special

from bonwise.arrays import Floats, Ints
from bonwise.flags import TIE_DECIMALS

Sides = Literal["both", "above", "below"]

SPREAD = 1.0
"""Standard deviation of the shifts that are bet on, in standard deviations of a period."""

STAKES = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95)
"""Shares of the largest stake that cannot lose more than everything."""


class ChangeEvidence(NamedTuple):
    """What a stream says at each of its looks."""

    log_e: Floats
    """Natural logarithm of ``M_t``."""
    start: Ints
    """The start whose bet is worth most, counted as looks from 0."""


def scores_evidence(scores: Floats, year: int, sides: Sides = "both") -> ChangeEvidence:
    """Return the evidence that independent standard normal scores have moved.

    The bet from s on is the likelihood ratio of a shift that is itself drawn from a normal law of mean 0 and standard
    deviation `SPREAD`, or from its half above or below 0. With k scores of sum S since s and ``c = 1 + k SPREAD^2``:
    ``E = exp(S^2 SPREAD^2 / (2 c)) / sqrt(c)``, of one half times ``2 Phi(+-S SPREAD / sqrt(c))``. `scores` is
    (..., looks), see `bonwise.watching.drift.normal_scores`; `year` is L, the looks over which the chance of a false
    alarm is spent.
    """
    sign = -1.0 if sides == "below" else 1.0

    def bets(at: int, first: int) -> Floats:
        since = np.cumsum(scores[..., first : at + 1][..., ::-1], axis=-1)[..., ::-1]
        spread = 1 + np.arange(at - first + 1, 0, -1.0) * SPREAD**2
        worth = since**2 * SPREAD**2 / (2 * spread) - np.log(spread) / 2
        if sides != "both":
            worth = worth + np.log(2.0) + special.log_ndtr(sign * since * SPREAD / np.sqrt(spread))
        return np.asarray(worth, dtype=np.float64)

    return _averaged(scores.shape, year, bets)


def bounded_evidence(gains: Floats, reach: float, year: int) -> ChangeEvidence:
    """Return the evidence that a bounded stream has a mean above 0, whatever its law.

    The bet from s on is the average over `STAKES` of the product of ``1 + stake x gain / reach``, the wealth of a
    bettor who starts with 1 (Waudby-Smith and Ramdas, arXiv:2010.09686). `gains` is (..., looks): where nothing
    moved, none has a mean above 0, given what came before, and no gain is below ``-reach``. `year` is the number of
    looks over which the chance of a false alarm is spent.
    """
    logs = np.log1p(np.multiply.outer(np.array(STAKES), np.maximum(gains, -reach) / reach))

    def bets(at: int, first: int) -> Floats:
        since = np.cumsum(logs[..., first : at + 1][..., ::-1], axis=-1)[..., ::-1]
        return np.asarray(special.logsumexp(since, axis=0) - np.log(len(STAKES)), dtype=np.float64)

    return _averaged(gains.shape, year, bets)


def _averaged(shape: tuple[int, ...], year: int, bets: Callable[[int, int], Floats]) -> ChangeEvidence:
    """Average the bets of all starts of a year, at every look."""
    log_e, start = np.empty(shape), np.empty(shape, dtype=np.int64)
    for at in range(shape[-1]):
        first = at - at % year
        worth = bets(at, first)
        unused = year - worth.shape[-1]
        total = special.logsumexp(worth, axis=-1)
        log_e[..., at] = np.logaddexp(total, np.log(unused) if unused else -np.inf) - np.log(year)
        start[..., at] = first + np.argmax(worth, axis=-1)
    return ChangeEvidence(log_e, start)


def first_alarm(log_e: Floats, chance: float) -> int | None:
    """Return the first look at which the evidence reaches ``1 / chance``; None where none does."""
    reached = np.flatnonzero(log_e >= -np.log(chance))
    return int(reached[0]) if reached.size else None


PART = 0.75
"""Part of the usual period that a look holds: a day with less traffic than usual has as many picks."""


def look_size(picks: Ints, part: float = PART) -> int:
    """Return the size of a look, at least 1: a part of the median picks of the baseline periods that have any."""
    there = picks[picks > 0]
    return max(int(part * np.median(there)), 1) if there.size else 1


@dataclass(frozen=True, eq=False)
class Looks:
    """A signal at each look: ``sum u / sum v`` over the picks of that look."""

    size: int
    """Picks per look."""
    u: Floats
    v: Floats
    """Both: sums of numerators and of denominators."""
    first: Ints
    last: Ints
    """Both: periods that a look spans."""
    baseline: int
    """Looks of the baseline, which come first."""

    @classmethod
    def of(
        cls,
        numerator: Floats,
        denominator: Floats,
        period: Ints,
        *,
        periods: int,
        baseline: int,
        part: float = PART,
        seed: int | tuple[int, ...] = 0,
    ) -> Looks:
        """Divide picks into looks: thin periods join, large ones are drawn from by a seed; the last may lack."""
        picks = np.bincount(period, minlength=periods)
        ends = np.cumsum(picks)
        size = look_size(picks[:baseline], part)
        spans = [*_spans(picks, size, 0, baseline), *_spans(picks, size, baseline, periods)]
        drawn = np.empty((len(spans), size), dtype=np.int64)
        for at, (first, last) in enumerate(spans):
            start = ends[first] - picks[first]
            chance = np.random.default_rng([*np.atleast_1d(seed), first])
            drawn[at] = start + chance.choice(ends[last] - start, size, replace=False)
        bounds = np.array(spans, dtype=np.int64).reshape(-1, 2)
        return cls(
            size,
            numerator[drawn].sum(axis=1),
            denominator[drawn].sum(axis=1),
            bounds[:, 0],
            bounds[:, 1],
            sum(last < baseline for _, last in spans),
        )


def _spans(picks: Ints, size: int, start: int, end: int) -> list[tuple[int, int]]:
    """Return the first and the last period of each look."""
    spans, first, held = [], start, 0
    for at in range(start, end):
        if not held:
            first = at
        held += int(picks[at])
        if held >= size:
            spans.append((first, at))
            held = 0
    return spans


_LEAST = 1e-12
"""Of a uniform draw: 0 has no normal score."""


def normal_scores(u: Floats, v: Floats, baseline: int, draws: Floats) -> Floats:
    """Return a normal score for each look after the baseline by its rank among those before, ties by `draws`."""
    looks = u.shape[-1]
    scores = np.empty((*u.shape[:-1], max(looks - baseline, 0)))
    for at in range(baseline, looks):
        values, weights = u[..., : at + 1], v[..., : at + 1]
        totals = values.sum(axis=-1, keepdims=True), weights.sum(axis=-1, keepdims=True)
        level = np.divide(totals[0], totals[1], out=np.zeros_like(totals[0]), where=totals[1] != 0)
        apart = values - level * weights
        largest = np.abs(apart).max(axis=-1, keepdims=True)
        # A part of the largest distance is rounding, whatever the unit.
        gaps = np.round((apart - apart[..., -1:]) / np.where(largest > 0, largest, 1.0), TIE_DECIMALS)
        above, equal = (gaps > 0).sum(axis=-1), (gaps == 0).sum(axis=-1)
        share = (above + np.maximum(draws[..., at - baseline], _LEAST) * equal) / (at + 1)
        scores[..., at - baseline] = -special.ndtri(share)
    return scores

"""The three rules that say when to stop labelling, each applied to all looks so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bonwise.arrays import Floats, Mask
from bonwise.monitoring.result import Look, MonitorVerdict
from bonwise.results import given
from bonwise.stats import repeated_looks, running_ratio, support

_FARTHEST = 1_000_000

CLOSE = "the estimate lies within one standard error of the reference"
TOO_EARLY = "there was no look yet"
_FAR = f"if nothing changes, the rule would not stop within {_FARTHEST:,}"

_SHOWN = 12
_TOP = 1.0  # a pick gains at most what the best candidate does


@dataclass(frozen=True, eq=False)
class Watched:
    """What a rule says."""

    now: Look
    """After all labels."""
    look: Callable[[int], Look] = field(repr=False)
    """Makes each of the looks so far."""
    count: int
    """Of the looks so far."""
    stop: tuple[int, MonitorVerdict] | None
    """The first look at which the rule said stop, and what it said; labels after it do not change the verdict."""
    next_look: int | None
    """Number of prompts at which the rule looks next; None where it has stopped."""
    expected: Expected
    """About how many more are to come until it stops, if things stay as they are."""

    @property
    def verdict(self) -> MonitorVerdict:
        """What the rule says."""
        return "continue" if self.stop is None else self.stop[1]

    @property
    def stopped(self) -> Look | None:
        """The look at which it said stop."""
        return None if self.stop is None else self.look(self.stop[0])

    def shown(self) -> dict[str, Any]:
        """Return its part of the result, with at most a dozen looks."""
        return {
            "verdict": self.verdict,
            "now": self.now,
            "stopped": self.stopped,
            "next_look": self.next_look,
            "expected_more": self.expected.more,
            **given(expected_more_reason=self.expected.reason),
            "looks": [self.look(at) for at in _spread(self.count, None if self.stop is None else self.stop[0])],
        }


def watch_precision(
    running: running_ratio.RunningRatio, *, half_width: float, first: int, confidence: float
) -> Watched:
    """Stop at the first look, after `first` prompts, whose half-width, in units of recovery, is small enough."""
    prompts = len(running.prompts)
    numbers = repeated_looks.looks(first, running)
    low, high = repeated_looks.precision_limits(running.at(numbers), confidence)
    narrow = repeated_looks.precise(running.at(numbers), half_width, confidence)
    made = _looks_of_ratio(running.at(numbers), low, high)
    now = _early(running, first, repeated_looks.EARLIEST_LOOK, repeated_looks.TELLING)
    if numbers.size:
        now = _looks_of_ratio(running, *repeated_looks.precision_limits(running, confidence))(prompts - 1)
    if narrow.any():
        at = int(narrow.argmax())
        return Watched(now, made, len(numbers), (at, "stop: precise enough"), None, _STOPPED)
    upcoming = max(first, first + repeated_looks.STEP * ((prompts - first) // repeated_looks.STEP + 1))

    def enough(upto: Floats) -> Mask:
        then = running.projected(upto)
        return repeated_looks.precise(then, half_width, confidence) & support.enough(upto, then.effective)

    expected = expected_until(enough, upcoming, prompts) if numbers.size else _EARLY
    return Watched(now, made, len(numbers), None, upcoming, expected)


def watch_significance(
    running: running_ratio.RunningRatio, *, than: float, first: int, target: float, confidence: float
) -> Watched:
    """Stop at the first look whose confidence sequence, narrowest after `target` units, leaves a recovery out."""
    prompts = len(running.prompts)
    numbers = np.arange(first, prompts + 1, dtype=np.int64)
    seen = running.at(numbers)
    numbers = numbers[(seen.count >= repeated_looks.EARLIEST) & support.enough(seen.prompts, seen.effective)]
    seen = running.at(numbers)
    side = repeated_looks.sides(seen, than, target, confidence)
    made = _looks_of_ratio(seen, *repeated_looks.sequence_limits(seen, target, confidence))
    now = made(len(numbers) - 1) if numbers.size else _early(running, first, repeated_looks.EARLIEST)
    if side.any():
        at = int(np.flatnonzero(side)[0])
        return Watched(now, made, len(numbers), (at, _side(side[at])), None, _STOPPED)

    def enough(upto: Floats) -> Mask:
        then = running.projected(upto)
        beyond = repeated_looks.sides(then, than, target, confidence) != 0
        return np.asarray(beyond & support.enough(upto, then.effective))

    upcoming = max(first, prompts + 1)
    expected = _EARLY
    if numbers.size:
        mean, se = seen.gap(than)
        close = abs(mean[-1]) <= se[-1]
        expected = Expected(None, CLOSE) if close else expected_until(enough, upcoming, prompts)
    return Watched(now, made, len(numbers), None, upcoming, expected)


def watch_votes(values: Floats, *, than: float, weight: float, confidence: float) -> Watched:
    """Stop at the first vote whose sequence leaves a share out; ties are 1/2, `weight` is a of the Beta(a, a)."""
    votes, wins = np.arange(1.0, len(values) + 1), np.cumsum(values)
    side = repeated_looks.vote_sides(wins, votes, weight, than, confidence)

    def made(at: int) -> Look:
        low, high = repeated_looks.share_limits(float(wins[at]), float(votes[at]), weight, confidence)
        return _look(at + 1, float(wins[at] / votes[at]), (float(low), float(high)))

    now = made(len(values) - 1) if len(values) else _nothing(0, None, "no votes yet")
    if side.any():
        at = int(np.flatnonzero(side)[0])
        return Watched(now, made, len(values), (at, _side(side[at])), None, _STOPPED)

    def enough(count: Floats) -> Mask:
        return np.asarray(repeated_looks.log_wealth(share * count, count, weight, than) >= -np.log1p(-confidence))

    expected = _EARLY
    if len(values):
        share = float(np.mean(values))
        # The spread at the reference: that of a few equal votes is 0 and says nothing.
        close = abs(share - than) <= np.sqrt(than * (1 - than) / len(values))
        expected = Expected(None, CLOSE) if close else expected_until(enough, len(values) + 1, len(values))
    return Watched(now, made, len(values), None, len(values) + 1, expected)


def _side(side: float) -> MonitorVerdict:
    return "stop: better" if side > 0 else "stop: not better"


def _early(running: running_ratio.RunningRatio, first: int, units: int, telling: int = 0) -> Look:
    """Return the estimate alone: an interval before the first look invites to stop at it."""
    if not len(running.prompts):
        return _nothing(0, None, "no prompt is completely labelled yet")
    prompts, value = len(running.prompts), _or_none(running.estimate[-1])
    if value is None:
        return _nothing(prompts, None, _FLAT)
    if prompts < first:
        return _nothing(prompts, value, f"no interval before the first look at {first:,} labelled prompts")
    count, told = int(running.count[-1]), int(running.telling[-1])
    if count < units:
        return _nothing(
            prompts, value, f"no interval before there are {units:,} clusters: so far there are {count:,}"
        )
    kind = "prompts" if count == prompts else "clusters"
    if (worth := running.effective[-1]) < support.FEWEST:
        return _nothing(
            prompts,
            value,
            f"no interval before the labels are worth {support.FEWEST} {kind} in what there is to gain: so far a few "
            f"hold most of it, and they are worth {int(worth)}",
        )
    return _nothing(
        prompts,
        value,
        f"no interval before the pick gains or loses against a random one in {telling:,} {kind}: so far it does in "
        f"{told:,}",
    )


_FLAT = "all labels are equal so far: there was nothing to recover"
_UNBOUNDED = "no interval: what there is to recover cannot be told from 0"
_ALIKE = "no interval: all prompts recovered alike, so their spread is not known"


def _looks_of_ratio(running: running_ratio.RunningRatio, low: Floats, high: Floats) -> Callable[[int], Look]:
    estimate, varies = running.estimate, running.varies(running.estimate)

    def made(at: int) -> Look:
        n, value = int(running.prompts[at]), _or_none(estimate[at])
        if value is None:
            return _nothing(n, None, _FLAT)
        if np.isnan(low[at]):
            return _nothing(n, value, _UNBOUNDED if varies[at] else _ALIKE)
        return _look(n, value, (float(low[at]), float(high[at])))

    return made


def _look(n: int, estimate: float, ends: tuple[float, float]) -> Look:
    low, high = ends
    return Look(n=n, estimate=estimate, low=low, high=min(high, _TOP), half_width=(high - low) / 2)


def _nothing(n: int, estimate: float | None, reason: str) -> Look:
    """Return a look without an interval."""
    return Look(n=n, estimate=estimate, low=None, high=None, half_width=None, reason=reason)


def _or_none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _spread(count: int, stop: int | None) -> Iterator[int]:
    """Yield at most a dozen looks, spread over all of them, with the last and the one that stopped among them."""
    chosen = set(np.unique(np.linspace(0, count - 1, _SHOWN).round().astype(int)).tolist()) if count else set()
    yield from sorted(chosen | ({stop} if stop is not None else set()))


@dataclass(frozen=True, slots=True)
class Expected:
    """A number of further prompts or votes."""

    more: int | None
    """About how many are to come until the rule stops; None where no number can be named."""
    reason: str | None = None
    """Why not."""


_STOPPED, _EARLY = Expected(0), Expected(None, TOO_EARLY)


def expected_until(enough: Callable[[Floats], Mask], start: int, now: int) -> Expected:
    """Return how many more are to come until there are `enough`; `now` labels are there, `start` at the next look."""
    counts = np.unique(np.geomspace(start, max(_FARTHEST, 2 * start), 4000).round())
    found = enough(counts)
    return Expected(int(counts[found.argmax()]) - now) if found.any() else Expected(None, _FAR)

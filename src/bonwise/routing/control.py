"""What is known of a pool after its first pass, and the control that sends a share on without seeing the future."""

from __future__ import annotations

import hashlib
import math
import random
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bonwise.errors import UsageError
from bonwise.table.checks import check_number, check_whole
from bonwise.table.verdicts import Score, Verdict

GAIN = 0.01
"""Share added a prompt that the count lags behind: in the long run a lag is made up within about 1 / GAIN prompts."""

HASTE = 0.15
"""After t prompts the gain is at least HASTE / sqrt(t): a short stream has no time to make up for a slow start."""

SLACK = 2.2
"""Standard deviations of the count that are held back, so that a burst of high signals seldom meets the cap."""

EARLY = 20
"""Prompts after which half of that is held back: at first a prompt not sent is more expensive than a burst."""

BAND = 2.0
"""Standard deviations of the count from where on it is steered harder: chance seldom leads there, a drift does."""

STEEP = 0.1
"""Share added a prompt beyond that band."""


@dataclass(frozen=True, slots=True)
class RouteDecision:
    """What was decided about one prompt."""

    send: bool
    held_back: bool
    """Whether it would have been sent but for the cap."""


class ShareControl:
    """Sends the prompts with the highest signals so that their count follows a share of all prompts.

    A signal is ranked among the latest ones, ties at random: ``u = (below + v (tied + 1)) / (window + 1)`` with v
    uniform, so that u is uniform however the signal is distributed. The prompt is sent if ``u > 1 - w`` with
    ``w = share + gain * lag`` cut to [0, 1] and ``gain = max(GAIN, HASTE / sqrt(seen))``. The lag is
    ``share * seen - slack - sent``. The count's standard deviation is ``sqrt(share (1 - share) / (2 gain))``; the
    slack is ``SLACK * seen / (seen + EARLY)`` of them, and beyond `BAND` of them the lag counts `STEEP` in addition.
    After every prompt ``sent <= share * seen + 1``; without `cap` the count is only steered, and may pass that.

    v is drawn by the seed and the key of a prompt: the same stream gives the same decisions. The window starts with
    `calibration`, signals of earlier prompts, or at most `window` quantiles of them; after a drift its `window`
    signals are all new after so many prompts.
    """

    def __init__(
        self, share: float, seed: int = 0, calibration: Iterable[float] = (), window: int = 500, *, cap: bool = True
    ) -> None:
        check_number("share", share, low=0, high=1)
        check_whole("window", window, least=1)
        self.share = float(share)
        self.seen = 0
        self.sent = 0
        self._seed = seed
        self._window = window
        self._cap = cap
        self._ordered = _quantiles(calibration, window)
        shuffled = list(self._ordered)
        # The oldest go first: in their order they would drag the window up as they leave it.
        random.Random(seed).shuffle(shuffled)  # noqa: S311 - a repeatable order, no secret
        self._latest = deque(shuffled)

    def decide(self, signal: float | None, key: str = "", *, at_random: bool = False) -> RouteDecision:
        """Decide about the next prompt, unknown signals first or `at_random`; ties fall by `key` and the seed."""
        known = signal is not None and not math.isnan(signal)
        value = float(signal) if signal is not None and known else math.inf
        self.seen += 1
        by_chance = at_random and not known
        at_once = not known and self._cap and self.share > 0
        place = self._luck(key) if by_chance else self._rank(value, key)
        wanted = (at_once and not by_chance) or place > 1 - self._share_now()
        if not by_chance:
            self._remember(value)
        held_back = wanted and self._cap and self.sent + 1 > self.share * self.seen + 1
        send = wanted and not held_back
        self.sent += send
        return RouteDecision(send, held_back)

    @property
    def threshold(self) -> float | None:
        """The signal above which the next prompt is sent; None while no signal is known there."""
        place = math.floor((1 - self._share_now()) * len(self._ordered))
        at_place = self._ordered[min(place, len(self._ordered) - 1)] if self._ordered else math.inf
        return None if math.isinf(at_place) else at_place

    def _share_now(self) -> float:
        gain = max(GAIN, HASTE / math.sqrt(max(self.seen, 1)))
        deviation = math.sqrt(self.share * (1 - self.share) / (2 * gain))
        slack = SLACK * deviation * self.seen / (self.seen + EARLY) if self._cap else 0.0
        lag = self.share * self.seen - slack - self.sent
        beyond = math.copysign(max(abs(lag) - BAND * deviation, 0.0), lag)
        return min(max(self.share + gain * lag + STEEP * beyond, 0.0), 1.0)

    def _rank(self, value: float, key: str) -> float:
        below = bisect_left(self._ordered, value)
        tied = bisect_right(self._ordered, value, lo=below) - below
        return (below + self._luck(key) * (tied + 1)) / (len(self._ordered) + 1)

    def _luck(self, key: str) -> float:
        """Return a number above 0 and at most 1 that depends on nothing but the seed and the key."""
        text = f"{self._seed}\0{key}" if key else f"{self._seed}\0\0{self.seen}"
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return (int.from_bytes(digest) + 1) / 2**64

    def _remember(self, value: float) -> None:
        self._ordered.insert(bisect_right(self._ordered, value), value)
        self._latest.append(value)
        if len(self._latest) > self._window:
            del self._ordered[bisect_left(self._ordered, self._latest.popleft())]


def _quantiles(calibration: Iterable[float], most: int) -> list[float]:
    """Return the signals in order, of more than so many that many quantiles."""
    ordered = sorted(float(signal) for signal in calibration)
    if not all(map(math.isfinite, ordered)):
        raise UsageError("a signal to calibrate by is not finite", hint="leave out prompts without a signal")
    if len(ordered) <= most:
        return ordered
    return [ordered[int((place + 0.5) * len(ordered) / most)] for place in range(most)]


@dataclass(frozen=True, slots=True)
class FirstPass:
    """The first verdicts on the candidates of one prompt."""

    verdicts: Sequence[Verdict]
    """One a candidate, by the judge that selects; a score holds the interval and the draws that it came with."""
    others: Sequence[Sequence[Verdict]] = ()
    """The verdicts of further judges on the same candidates, where a router asks for them."""
    p_best: Sequence[float | None] = ()
    """Posterior probability that each candidate is the best, where a strategy knows it."""

    @property
    def scores(self) -> list[float | None]:
        """The values, None where unscored."""
        return [verdict.value if isinstance(verdict, Score) else None for verdict in self.verdicts]


@dataclass(frozen=True, slots=True)
class Route:
    """What a router made of one pool."""

    strong: bool
    """Whether the stronger judge decides."""
    signal: float | None
    """The value of the signal; None where it could not be computed."""
    reason: str
    """In plain words: ``above the threshold``, ``share is used up``, ``no signal: nothing was scored`` ..."""
    contenders: tuple[int, ...] = ()
    """Positions among which the stronger judge decides; empty for all."""

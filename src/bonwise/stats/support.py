"""What a figure rests on, and the one rule that decides a gate on it, its floors included."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, isfinite, log
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.stats import catalog, clusters, estimand, jackknife, laws, no_gain, sums

if TYPE_CHECKING:
    from bonwise.stats.estimation import IntervalRule

FEWEST = 20
"""Prompts, and effective prompts, below which no gate is met and no verdict is settled."""

FEWEST_ON_OPEN_SCALE = 30
"""The same for a mean label without a known range: of 20 prompts 12 % hold no loss that a tenth of all prompts have,
of 30 prompts 4 %, and nothing else in such a table tells of it.
"""

ONE_SIDED = 0.95
"""Confidence of the bound that decides a gate; the printed interval stays two-sided."""

REACHING = frozenset({"gain", "recovery", "value_judge"})
"""Figures whose differences reach to further prompts."""

MOST_TIMES = 100
"""Times the prompts at hand beyond which no number is named: the estimate lies at the gate."""

_LARGE = 0.25 - 1e-9
_DECIMALS = 9  # equal weights count as many as they are


def effective_count(weights: Floats, of_clusters: Ints | None = None) -> float:
    """Return ``(sum w)^2 / sum w^2``, so many times fewer in clusters as their design effect; 0 where all are 0."""
    square = float(weights @ weights)
    if square <= 0:
        return 0.0
    count = float(weights.sum()) ** 2 / square
    if of_clusters is not None:
        count /= clusters.design_effect(weights, of_clusters)
    return round(count, _DECIMALS)


_FEWEST_ALIKE = 2  # that say anything of their own scatter


def too_light(count: float, what: str) -> str:
    """Return why no interval can rest on weights worth so many equal ones: one heavy label then is the estimate."""
    reason = f"the weights are worth {count:.1f} {what}, and an interval needs {_FEWEST_ALIKE}"
    return "" if count > _FEWEST_ALIKE - 1e-9 else reason


def enough(prompts: Floats | float, count: Floats | float, needed: int = FEWEST) -> Mask:
    """Tell whether prompts, and the effective ones among them, are as many as a gate needs."""
    return np.asarray((np.asarray(prompts) >= FEWEST) & (np.round(count, _DECIMALS) >= needed))


class Further(NamedTuple):
    """What further picks do to a figure A / D: each adds p to A and q to D."""

    pull: float
    """What they add to A beyond what keeps the figure: ``m (p - A / D q)`` for m picks."""
    total: float
    own: float
    """D, and what they add to it."""
    what: str
    """Which picks, as the subject of a sentence."""

    def shift(self) -> float:
        """Return how far they move the figure."""
        return self.pull / (self.total + self.own) if self.total + self.own > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Support:
    """What a figure rests on."""

    count: float
    """Effective prompts."""
    prompts: int
    """Prompts that they are worth."""
    needed: int = FEWEST
    """Effective prompts below which nothing is settled."""
    loss: Further | None = None
    win: Further | None = None
    """Both: what further losses, and wins, would do; None for a figure that its interval alone tells of."""
    own: tuple[float, float] | None = None
    """The two-sided interval that the figure would have without them."""

    @property
    def thin(self) -> bool:
        """Whether they are too few."""
        return self.count < self.needed

    def moved(self, estimate: float, ends: tuple[float, float]) -> tuple[float, float]:
        """Return an interval that reaches to where further losses and wins would take the figure."""
        down, up = (further.shift() if further else 0.0 for further in (self.loss, self.win))
        return min(ends[0], estimate + down), max(ends[1], estimate + up)

    def across(self, estimate: float, value: float) -> Further | None:
        """Return what takes the figure from one side of a value to it or beyond; None where nothing does."""
        further = self.loss if estimate > value else self.win
        low, high = self.moved(estimate, (estimate, estimate))
        return further if low <= value <= high and estimate != value else None

    def times(self, ratio: float) -> Support:
        """Return the support of the same figure on so many times as many prompts."""
        loss, win = (further and further._replace(total=further.total * ratio) for further in (self.loss, self.win))
        return Support(self.count * ratio, max(round(self.prompts * ratio), 1), self.needed, loss, win)

    def turned(self) -> Support:
        """Return the support of a difference whose two sides are exchanged."""
        win, loss = (further and further._replace(pull=-further.pull) for further in (self.loss, self.win))
        return replace(self, loss=loss, win=win, own=self.own and (-self.own[1], -self.own[0]))

    def ratio_needed(self, estimate: float, value: float) -> float | None:
        """Return how many times the prompts settle a value on these grounds; None where no number does."""
        if self.count <= 0:
            return None
        found = max(self.needed / self.count, 1.0)
        if further := self.across(estimate, value):
            found = max(found, (further.pull / (value - estimate) - further.own) / further.total)
        return found


class LossesSoFar(NamedTuple):
    """After each prompt, the losses to reckon with beyond those seen: of which prompt, its gain, and how many."""

    at: Ints
    gain: Floats
    further: Floats


def unseen_losses(confidence: float = ONE_SIDED) -> int:
    """Return how many losses of a size that no pick shows may be expected, at a one-sided confidence: 3 at 95 %."""
    return ceil(-log(1 - confidence))


def losses_so_far(gained: Floats, possible: Floats, worst: Floats, confidence: float = ONE_SIDED) -> LossesSoFar:
    """Return one more loss of the largest size that the picks show, prompt by prompt.

    Where none is a quarter as large as the worst pick that a pool allows, that size is unseen: such a loss counts
    `unseen_losses` times, at that confidence. Arguments are J - R, M - R and R less the lowest label; those of labels
    turned round, R - J, R less the lowest label and M - R, give further wins.
    """
    return _losses(gained, possible, worst, confidence, _first_largest)


def _after_all(gained: Floats, possible: Floats, worst: Floats) -> tuple[int, float, int]:
    """Return what `losses_so_far` has after the last prompt: of which prompt, its gain, and how many."""
    at, gain, further = _losses(gained, possible, worst, ONE_SIDED, lambda values: np.array([values.argmax()]))
    return int(at[0]), float(gain[0]), int(further[0])


def _losses(
    gained: Floats, possible: Floats, worst: Floats, confidence: float, largest_of: Callable[[Floats], Ints]
) -> LossesSoFar:
    lost, span = np.nan_to_num(possible - gained), possible + worst  # a pick without a label shows no loss
    largest, widest = largest_of(lost), largest_of(span)
    seen = shows_losses(lost[largest], span[widest])
    at = np.where(seen, largest, widest)
    gain = np.where(seen, np.nan_to_num(gained[at]), -worst[at])
    return LossesSoFar(at, gain, np.where(seen, 1.0, unseen_losses(confidence)))


def shows_losses(lost: Floats, span: Floats) -> Mask:
    """Tell whether the largest loss of a pick is a quarter as large as the worst pick that a pool allows."""
    return np.asarray(lost >= _LARGE * span)  # some of the picks of a tie may lose it, but for rounding


def _first_largest(values: Floats) -> Ints:
    """Return after each value the position of the largest so far, the first of equal ones."""
    before = np.concatenate([[-np.inf], np.maximum.accumulate(values)[:-1]])
    return np.maximum.accumulate(np.where(values > before, np.arange(len(values)), 0))


@dataclass(frozen=True, slots=True)
class Worth:
    """What a figure is worth in prompts."""

    count: float
    """Effective prompts."""
    prompts: int
    """Prompts that they are worth."""
    room: float = 0.0
    """Sum of ``B = M - R`` over these prompts."""


class FurtherPick(NamedTuple):
    """The picks to reckon with beyond those that there are: gain, room and label of each, and how many."""

    gain: float
    room: float
    value: float
    times: int
    prompts: float
    """What the prompt of such a pick weighs."""
    side: int
    """-1 of losses, 1 of wins."""
    df: float
    """Degrees of freedom that the tail of the labels on that side leaves a mean of them."""

    @classmethod
    def beyond(
        cls, gained: Floats, room: Floats, random: Floats, lowest: Floats, prompts: Floats | None = None
    ) -> list[FurtherPick]:
        """Return losses and wins for J - R, M - R, R and the lowest label of each labelled pick, times `prompts`."""
        below, picks = random - lowest, []
        for side, own, best, worst in ((-1, gained, room, below), (1, -gained, below, room)):
            at, lost, times = _after_all(own, best, worst)
            gain = -side * lost
            weight = 1.0 if prompts is None else float(prompts[at])
            value, df = float(random[at]) + gain, max(jackknife.kurtosis_df(worst), jackknife.FEWEST_DF)
            picks.append(cls(gain, float(room[at]), value, times, weight, side, df))
        return picks

    def on(self, name: str, estimate: float, worth: Worth) -> Further | None:
        """Return what they do to a figure."""
        parts = {
            "gain": (self.gain, self.prompts, worth.prompts),
            "recovery": (self.gain, self.room, worth.room),
            "value_judge": (self.value, self.prompts, worth.prompts),
        }
        if name not in parts:
            return None
        above, own, total = parts[name]
        verb, end = ("gain", "best") if self.side > 0 else ("lose", "worst")
        what = f"{self.times} picks that {verb} as much as their pools allow, as none here did,"
        if self.times == 1:
            what = f"one more pick that {verb}s as much as the {end} one here"
        return Further(self.times * (above - estimate * own), total, self.times * own, what)


def with_support(
    metrics: Mapping[str, estimand.Estimate],
    worth: Mapping[str, Worth],
    further: Sequence[FurtherPick],
    rule: IntervalRule,
    weights: Floats | None = None,
) -> dict[str, estimand.Estimate]:
    """Return figures with what they rest on: a rate's n*, or what unequal weights leave."""
    out = {}
    share = 1.0 if weights is None else effective_count(weights) / len(weights)
    for e in catalog.ESTIMANDS:
        figure = metrics.get(e.name)
        if figure is None or figure.estimate is None:
            continue
        ends = rule.label_range if e.limits is None else e.limits
        if e.average_over is not None and not e.contrast and all(map(isfinite, ends)):
            draws = min(_draws(figure, ends), share * figure.n)
            out[e.name] = replace(figure, support=Support(draws, figure.n))
        elif e.name in worth:
            own = worth[e.name]
            needed = FEWEST_ON_OPEN_SCALE if e.limits is None and not e.contrast else FEWEST
            sides = {pick.side: pick.on(e.name, figure.estimate, own) for pick in further}
            rests = Support(own.count, own.prompts, needed, sides.get(-1), sides.get(1))
            if e.limits is None and isinstance(figure.law, laws.Student) and not all(map(isfinite, ends)):
                law = replace(figure.law, df=min([figure.law.df, *(pick.df for pick in further)]))
                low, high = law.at(rule.confidence) or ends
                figure = replace(figure, law=law, low=low, high=high)
            out[e.name] = reaching(replace(figure, support=rests))
    return out


def reaching(figure: estimand.Estimate) -> estimand.Estimate:
    """Return a figure whose interval reaches to where further picks would take it."""
    if figure.support is None or figure.estimate is None or figure.low is None or figure.high is None:
        return figure
    rests, own = figure.support, (figure.low, figure.high)
    low, high = rests.moved(figure.estimate, own)
    sides = (("lower", low < own[0], rests.loss), ("upper", high > own[1], rests.win))
    words = (f"its {side} end is where {pick.what} would take it" for side, out, pick in sides if out and pick)
    return replace(figure, low=low, high=high, support=replace(rests, own=own), moved="; ".join(words) or None)


def of_whole_prompts(
    metrics: Mapping[str, estimand.Estimate],
    t: sums.Sums,
    lowest: Floats,
    rule: IntervalRule,
    weights: Floats | None = None,
) -> dict[str, estimand.Estimate]:
    """Return figures with ``(sum w)^2 / sum w^2`` over the `weight` of the metric, of prompts labelled whole."""
    w = np.ones(len(t.R)) if weights is None else weights / weights.mean()
    room = t.M - t.R
    weighed = {e.name: e.weight for e in catalog.ESTIMANDS if e.weight is not None}
    counts = {weight: effective_count(w * weight(t), rule.clusters) for weight in dict.fromkeys(weighed.values())}
    worth = {name: Worth(counts[weight], len(room), float(w @ room)) for name, weight in weighed.items()}
    further = FurtherPick.beyond(t.J - t.R, room, t.R, lowest, t.prompts)
    return with_support(metrics, worth, further, rule, t.prompts)


def of_difference(
    differences: Mapping[str, estimand.Estimate],
    sides: tuple[Mapping[str, estimand.Estimate], Mapping[str, estimand.Estimate]],
    paired: tuple[Floats, sums.Sums, Floats] | None = None,
) -> dict[str, estimand.Estimate]:
    """Return differences with what the thinner side rests on, and further prompts that differ."""
    out = dict(differences)
    most = _FurthestApart.of(*paired) if paired is not None and paired[0].size else None
    for name, apart in differences.items():
        both = [side[name].support for side in sides if name in side]
        if apart.estimate is None or len(both) < 2 or None in both:
            continue
        thinner = min((own for own in both if own is not None), key=lambda own: own.count)
        rests = replace(thinner, loss=None, win=None)
        if most is not None and name in REACHING:
            rests = replace(rests, **most.on(name, apart.estimate))
        out[name] = reaching(replace(apart, support=rests))
    return out


class _FurthestApart(NamedTuple):
    """Further prompts on which two judges differ most: by how much, how many, and their room beside that of all."""

    size: float
    times: int
    room: float
    every_room: float
    prompts: float

    @classmethod
    def of(cls, gained: Floats, t: sums.Sums, lowest: Floats) -> _FurthestApart:
        """Return them for differences of the labels of picks, the sums of one side, and the lowest labels."""
        at, size, times = _after_all(-np.abs(gained), np.zeros(len(gained)), t.M - lowest)
        room = t.M - t.R
        return cls(size, times, float(room[at]), float(room.sum()), float(t.prompts.sum()))

    def on(self, name: str, apart: float) -> dict[str, Any]:
        """Return what they do to a difference, to either side."""
        own, total = (self.room, self.every_room) if name == "recovery" else (1.0, self.prompts)
        what = f"{self.times} prompts on which the two differ as much as a pool allows, as on none here,"
        if self.times == 1:
            what = "one more prompt on which the two differ as much as they ever do here"
        ends, times = {"loss": self.size, "win": -self.size}, self.times
        return {side: Further(times * (end - apart * own), total, times * own, what) for side, end in ends.items()}


def worth_of_mean(added: Floats, prompts: float, of_clusters: Ints | None = None) -> float:
    """Return n_B where B is known of some prompts: ``1 / (1 / m + se^2 / mean^2)``."""
    mean = float(added.mean())
    if mean <= 0 or prompts <= 0:
        return 0.0
    apart = clusters.cluster_sums(added - mean, of_clusters) / (len(added) * mean)
    return round(1 / (1 / prompts + float(apart @ apart)), _DECIMALS)


class SeenPools(NamedTuple):
    """Of prompts with two labels or more: pick, mean, largest and smallest of these, as far as labels go."""

    J: Floats
    R: Floats
    M: Floats
    lowest: Floats

    @classmethod
    def of(cls, labels: Floats, top: Mask, sizes: Ints) -> SeenPools:
        """Return them for labels, NaN where there is none, as is what a pick without a label is worth."""
        starts, known = np.cumsum(sizes) - sizes, ~np.isnan(labels)
        counts, picks = (np.add.reduceat(some.astype(np.float64), starts) for some in (known, known & top))
        filled, some = np.where(known, labels, 0.0), counts > 1
        R = np.add.reduceat(filled, starts) / np.maximum(counts, 1)
        J = np.where(picks > 0, np.add.reduceat(filled * top, starts) / np.maximum(picks, 1), np.nan)
        M = np.maximum.reduceat(np.where(known, labels, -np.inf), starts)
        lowest = np.minimum.reduceat(np.where(known, labels, np.inf), starts)
        return cls(J[some], R[some], M[some], lowest[some])

    @property
    def further(self) -> list[FurtherPick]:
        """The picks to reckon with beyond theirs; empty where there is no such prompt."""
        return FurtherPick.beyond(self.J - self.R, self.M - self.R, self.R, self.lowest) if len(self.R) else []


def _draws(figure: estimand.Estimate, ends: tuple[float, float]) -> float:
    """Return n*, the yes-or-no draws that a rate is worth, at most its prompts: n where values are 0 and 1."""
    low, high = ends
    if figure.estimate is None or not figure.se:
        return float(figure.n)
    variance = (figure.estimate - low) * (high - figure.estimate)
    return min(round(variance / figure.se**2 + 1, _DECIMALS), float(figure.n))


class GateDecision(NamedTuple):
    """What a gate is, and which of its conditions kept it open."""

    state: Literal["met", "not met", "inconclusive"]
    ends: tuple[float, float]
    """One-sided bounds, which reach to where further picks would take the figure."""
    own: tuple[float, float]
    """Those of the interval alone."""
    open_by: Literal["", "count", "loss", "interval", "dealt labels"] = ""
    """Empty where it is decided."""


def open_ground(figure: estimand.Estimate, value: float) -> Literal["", "count", "loss"]:
    """Return on which ground a figure settles nothing of a value, whatever its interval; empty for none."""
    if figure.support is None or figure.estimate is None:
        return ""
    if figure.support.thin:
        return "count"
    return "loss" if figure.support.across(figure.estimate, value) else ""


def deals_disagree(figure: estimand.Estimate, value: float, ends: tuple[float, float]) -> bool:
    """Tell whether a gate is one of no gain whose bounds clear 0, and labels dealt at random do not agree."""
    if value != 0 or figure.no_gain is None or ends[0] <= 0 <= ends[1]:
        return False
    z = figure.no_gain.z or 0.0
    return (z if ends[0] > 0 else -z) <= no_gain.Z_NEEDED


def decide(found: estimand.Estimate, value: float) -> GateDecision | None:
    """Decide whether a figure lies above a value, None without bounds; see `enough` for the labels it takes."""
    law = found.no_gain.law if value == 0 and found.no_gain is not None else found.law
    own = None if found.estimate is None or law is None else law.at(2 * ONE_SIDED - 1)
    if own is None or found.estimate is None:
        return None
    ends = own if found.support is None else found.support.moved(found.estimate, own)
    if open_ground(found, value) == "count":
        return GateDecision("inconclusive", ends, own, "count")
    if own[0] <= value <= own[1]:
        return GateDecision("inconclusive", ends, own, "interval")
    if deals_disagree(found, value, own):
        return GateDecision("inconclusive", own, own, "dealt labels")
    if ends[0] <= value <= ends[1]:
        return GateDecision("inconclusive", ends, own, "loss")
    return GateDecision("met" if ends[0] > value else "not met", ends, own)


def passes(figure: estimand.Estimate | None, value: float) -> bool:
    """Tell whether the bounds of a figure lie above a value, whatever it rests on."""
    decided = None if figure is None else decide(replace(figure, support=None), value)
    return decided is not None and decided.state == "met"


def more_prompts(
    found: estimand.Estimate, prompts: int, value: float, ends: tuple[float, float] | None = None
) -> float | None:
    """Return how many more prompts decide a gate that is open, floors included, if the estimate holds.

    `ends` are of the interval that decides, one-sided where they are not given. The half-width shrinks as 1 /
    sqrt(prompts), z of dealt labels grows as that root. None where the estimate is so close to the gate that these
    would be more than `MOST_TIMES` as many, or where nothing is known of what more prompts would show.
    """
    decided = decide(found, value)
    if decided is None or found.estimate is None:
        return None
    low, high = ends or decided.own
    distance = found.estimate - value
    half = found.estimate - low if distance > 0 else high - found.estimate
    if not distance or distance**2 * MOST_TIMES < half**2 * (1 - 1e-9):  # but for rounding
        return None
    ratio = max((half / distance) ** 2, 1.0)
    if found.no_gain is not None and deals_disagree(found, value, decided.own):
        z = found.no_gain.z
        if not z or (z > 0) != (distance > 0):
            return None
        ratio = max(ratio, (no_gain.Z_NEEDED / z) ** 2)
    if found.support is not None:
        own = found.support.ratio_needed(found.estimate, value)
        if own is None:
            return None
        ratio = max(ratio, own)
    return max(prompts * ratio, FEWEST) - prompts or 1e-9

"""What a figure rests on, and the one rule that decides a gate on it, its floors included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil, isfinite, log
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.stats import catalog, clusters, estimand, no_gain
from bonwise.stats.sums import Floats, Sums

__all__ = [
    "FEWEST",
    "FEWEST_ON_OPEN_SCALE",
    "MOST_TIMES",
    "ONE_SIDED",
    "FurtherLoss",
    "GateDecision",
    "Loss",
    "LossesSoFar",
    "SeenPools",
    "Support",
    "Worth",
    "deals_disagree",
    "decide",
    "effective_count",
    "enough",
    "ground_of_difference",
    "losses_so_far",
    "more_prompts",
    "of_difference",
    "of_whole_prompts",
    "open_ground",
    "passes",
    "shows_losses",
    "unseen_losses",
    "with_support",
    "worth_of_mean",
]

FEWEST = 20
"""Prompts, and effective prompts, below which no gate is met and no verdict is settled."""

FEWEST_ON_OPEN_SCALE = 30
"""The same for a mean label without a known range: of 20 prompts 12 % hold no loss that a tenth of all prompts have,
of 30 prompts 4 %, and nothing else in such a table tells of it.
"""

ONE_SIDED = 0.95
"""Confidence of the bound that decides a gate; the printed interval stays two-sided."""

MOST_TIMES = 100
"""Times the prompts at hand beyond which no number is named: the estimate lies at the gate."""

_LARGE = 0.5 - 1e-9
_DECIMALS = 9  # equal weights count as many as they are

_Ints = npt.NDArray[np.int64]


def effective_count(weights: Floats, of_clusters: _Ints | None = None) -> float:
    """Return ``(sum w)^2 / sum w^2``, the equal weights that these are worth; 0 where all are 0.

    Weights of prompts in clusters are worth so many times fewer as their design effect is.

    Examples
    --------
    >>> effective_count(np.array([1.0, 1.0, 0.0, 0.0])), round(effective_count(np.array([50.0, 1.0, 1.0])), 2)
    (2.0, 1.08)
    """
    square = float(weights @ weights)
    if square <= 0:
        return 0.0
    count = float(weights.sum()) ** 2 / square
    if of_clusters is not None:
        count /= clusters.design_effect(weights, of_clusters)
    return round(count, _DECIMALS)


def enough(prompts: Floats | float, count: Floats | float, needed: int = FEWEST) -> npt.NDArray[np.bool_]:
    """Tell whether prompts, and the effective ones among them, are as many as a gate needs."""
    return np.asarray((np.asarray(prompts) >= FEWEST) & (np.round(count, _DECIMALS) >= needed))


class Loss(NamedTuple):
    """What further losses of the largest size do to a figure A / D: each adds p to A and q to D."""

    pull: float
    """What they add to A beyond what keeps the figure: ``m (p - A / D q)`` for m losses."""
    total: float
    """D, and what they add to it."""
    own: float
    """D, and what they add to it."""
    losses: int
    """m."""

    def shift(self, ratio: float = 1.0) -> float:
        """Return how far they move the figure, with `ratio` times as many prompts."""
        below = self.total * ratio + self.own
        return min(self.pull / below, 0.0) if below > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Support:
    """What a figure rests on."""

    count: float
    """Effective prompts."""
    prompts: int
    """Prompts that they are worth."""
    needed: int = FEWEST
    """Effective prompts below which nothing is settled."""
    loss: Loss | None = None
    """What further losses would do; None for a figure that no loss moves further than its interval says."""

    @property
    def thin(self) -> bool:
        """Whether they are too few."""
        return self.count < self.needed

    def crosses(self, estimate: float, value: float) -> bool:
        """Tell whether further losses take the figure from above a value to it or below."""
        return self.loss is not None and estimate > value >= estimate + self.loss.shift()

    def times(self, ratio: float) -> Support:
        """Return the support of the same figure on so many times as many prompts."""
        loss = None if self.loss is None else self.loss._replace(total=self.loss.total * ratio)
        return replace(self, count=self.count * ratio, prompts=max(round(self.prompts * ratio), 1), loss=loss)

    def ratio_needed(self, estimate: float, value: float) -> float | None:
        """Return how many times the prompts settle a value on these grounds; None where no number does."""
        if self.count <= 0:
            return None
        found = max(self.needed / self.count, 1.0)
        if self.crosses(estimate, value) and self.loss is not None:
            found = max(found, (self.loss.pull / (value - estimate) - self.loss.own) / self.loss.total)
        return found


class LossesSoFar(NamedTuple):
    """After each prompt, the losses to reckon with beyond those seen: of which prompt, its gain, and how many."""

    at: _Ints
    gain: Floats
    further: Floats


def unseen_losses(confidence: float = ONE_SIDED) -> int:
    """Return how many losses of a size that no pick shows may be expected, at a one-sided confidence: 3 at 95 %."""
    return ceil(-log(1 - confidence))


def losses_so_far(gained: Floats, possible: Floats, worst: Floats, confidence: float = ONE_SIDED) -> LossesSoFar:
    """Return one more loss of the largest size that the picks show, prompt by prompt.

    Where none is half as large as the worst pick that a pool allows, that size is unseen: such a loss counts
    `unseen_losses` times, at that confidence. Arguments are J - R, M - R and R less the lowest label.

    Examples
    --------
    >>> room = np.array([0.5, 25.5])
    >>> losses_so_far(np.array([-0.5, 25.5]), room, room).further.tolist()  # a loss of 1 says nothing of one of 51
    [1.0, 3.0]
    """
    lost, span = possible - gained, possible + worst
    largest, widest = _first_largest(lost), _first_largest(span)
    seen = shows_losses(lost[largest], span[widest])
    at = np.where(seen, largest, widest)
    return LossesSoFar(at, np.where(seen, gained[at], -worst[at]), np.where(seen, 1.0, unseen_losses(confidence)))


def shows_losses(lost: Floats, span: Floats) -> npt.NDArray[np.bool_]:
    """Tell whether the largest loss of a pick is half as large as the worst pick that a pool allows."""
    return np.asarray(lost >= _LARGE * span)  # half of the picks of a tie may lose it, but for rounding


def _first_largest(values: Floats) -> _Ints:
    """Return after each value the position of the largest so far, the first of equal ones."""
    before = np.concatenate([[-np.inf], np.maximum.accumulate(values)[:-1]])
    positions: _Ints = np.maximum.accumulate(np.where(values > before, np.arange(len(values)), 0))
    return positions


@dataclass(frozen=True, slots=True)
class Worth:
    """What a figure is worth in prompts."""

    count: float
    """Effective prompts."""
    prompts: int
    """Prompts that they are worth."""
    room: float = 0.0
    """Sum of ``B = M - R`` over these prompts."""


class FurtherLoss(NamedTuple):
    """The losses to reckon with beyond those that picks show: gain, room and label of each, and how many."""

    gain: float
    room: float
    value: float
    times: int
    prompts: float = 1.0
    """What the prompt of such a loss weighs."""

    @classmethod
    def beyond(
        cls, gained: Floats, room: Floats, random: Floats, lowest: Floats, prompts: Floats | None = None
    ) -> FurtherLoss:
        """Return them for J - R, M - R, R and the lowest label of each labelled pick, times what `prompts` weigh."""
        every = losses_so_far(gained, room, random - lowest)
        at, gain = every.at[-1], float(every.gain[-1])
        own = 1.0 if prompts is None else float(prompts[at])
        return cls(gain, float(room[at]), float(random[at]) + gain, int(every.further[-1]), own)

    def on(self, name: str, estimate: float, worth: Worth) -> Loss | None:
        """Return what they do to a figure."""
        parts = {
            "gain": (self.gain, self.prompts, worth.prompts),
            "recovery": (self.gain, self.room, worth.room),
            "value_judge": (self.value, self.prompts, worth.prompts),
        }
        if name not in parts:
            return None
        above, own, total = parts[name]
        return Loss(self.times * (above - estimate * own), total, self.times * own, self.times)


def with_support(
    metrics: Mapping[str, estimand.Estimate],
    worth: Mapping[str, Worth],
    further: FurtherLoss | None,
    limits: tuple[float, float],
    weights: Floats | None = None,
) -> dict[str, estimand.Estimate]:
    """Return figures with what they rest on: the `worth` of some, n* up to n of rates, of what unequal weights leave.

    `limits` is the range of the labels: with one, a mean label is a rate.
    """
    out = {}
    share = 1.0 if weights is None else effective_count(weights) / len(weights)
    for e in catalog.ESTIMANDS:
        figure = metrics.get(e.name)
        if figure is None or figure.estimate is None:
            continue
        ends = limits if e.limits is None else e.limits
        if e.average_over is not None and not e.contrast and all(map(isfinite, ends)):
            draws = min(_draws(figure, ends), share * figure.n)
            out[e.name] = replace(figure, support=Support(draws, figure.n))
        elif e.name in worth:
            own = worth[e.name]
            needed = FEWEST_ON_OPEN_SCALE if e.limits is None and not e.contrast else FEWEST
            loss = None if further is None else further.on(e.name, figure.estimate, own)
            out[e.name] = replace(figure, support=Support(own.count, own.prompts, needed, loss))
    return out


def of_whole_prompts(
    metrics: Mapping[str, estimand.Estimate],
    t: Sums,
    lowest: Floats,
    limits: tuple[float, float],
    of_clusters: _Ints | None = None,
    weights: Floats | None = None,
) -> dict[str, estimand.Estimate]:
    """Return figures with what they rest on: ``(sum w)^2 / sum w^2`` over w, the `weight` of the metric.

    `t` and the `lowest` labels are of prompts labelled whole, `weights` their 1 / pi in a sample.
    """
    w = np.ones(len(t.R)) if weights is None else weights / weights.mean()
    room = t.M - t.R
    weighed = {e.name: e.weight for e in catalog.ESTIMANDS if e.weight is not None}
    counts = {weight: effective_count(w * weight(t), of_clusters) for weight in dict.fromkeys(weighed.values())}
    worth = {name: Worth(counts[weight], len(room), float(w @ room)) for name, weight in weighed.items()}
    further = FurtherLoss.beyond(t.J - t.R, room, t.R, lowest, t.prompts)
    return with_support(metrics, worth, further, limits, t.prompts)


def of_difference(
    differences: Mapping[str, estimand.Estimate],
    sides: tuple[Mapping[str, estimand.Estimate], Mapping[str, estimand.Estimate]],
    paired: tuple[Floats, Sums] | None = None,
) -> dict[str, estimand.Estimate]:
    """Return differences with what they rest on: what the thinner side does, and a further loss of what is ahead.

    `paired` are the differences of the labels of the picks, and the sums of one side.
    """
    out = dict(differences)
    for name, apart in differences.items():
        both = [side[name].support for side in sides if name in side]
        if apart.estimate is None or len(both) < 2 or None in both:
            continue
        thinner = min((own for own in both if own is not None), key=lambda own: own.count)
        loss = None if paired is None else _loss_of_ahead(name, apart.estimate, *paired)
        out[name] = replace(apart, support=replace(thinner, loss=loss))
    return out


def _loss_of_ahead(name: str, apart: float, gained: Floats, t: Sums) -> Loss | None:
    """Return what a further prompt does to a difference, on which the side ahead loses as much as either ever did."""
    if name not in ("gain", "recovery", "value_judge"):
        return None
    at, room = int(np.abs(gained).argmax()), t.M - t.R
    own, total = (float(room[at]), float(room.sum())) if name == "recovery" else (1.0, float(len(room)))
    return Loss(-abs(float(gained[at])) - abs(apart) * own, total, own, 1)


def ground_of_difference(apart: estimand.Estimate) -> Literal["", "count", "loss"]:
    """Return on which ground a difference does not tell what is ahead, whatever its interval says."""
    return "" if apart.estimate is None else open_ground(replace(apart, estimate=abs(apart.estimate)), 0.0)


def worth_of_mean(added: Floats, prompts: float, of_clusters: _Ints | None = None) -> float:
    """Return n_B where B is known of some prompts: of what each of all adds to its mean, and how many are labelled.

    ``1 / (1 / m + se^2 / mean^2)``; with every B known this is ``(sum B)^2 / sum B^2``.

    Examples
    --------
    >>> worth_of_mean(np.array([1.0, 1.0, 0.0, 0.0]), 4)
    2.0
    """
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
    def of(cls, labels: Floats, top: npt.NDArray[np.bool_], sizes: _Ints) -> SeenPools:
        """Return them for labels, NaN where there is none; a pick without a label is worth a random candidate."""
        starts, known = np.cumsum(sizes) - sizes, ~np.isnan(labels)
        counts, picks = (np.add.reduceat(some.astype(np.float64), starts) for some in (known, known & top))
        filled, some = np.where(known, labels, 0.0), counts > 1
        R = np.add.reduceat(filled, starts) / np.maximum(counts, 1)
        J = np.where(picks > 0, np.add.reduceat(filled * top, starts) / np.maximum(picks, 1), R)
        M = np.maximum.reduceat(np.where(known, labels, -np.inf), starts)
        lowest = np.minimum.reduceat(np.where(known, labels, np.inf), starts)
        return cls(J[some], R[some], M[some], lowest[some])

    @property
    def further(self) -> FurtherLoss | None:
        """The losses to reckon with beyond theirs; None where there is no such prompt."""
        return FurtherLoss.beyond(self.J - self.R, self.M - self.R, self.R, self.lowest) if len(self.R) else None


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
    """One-sided bounds."""
    open_by: Literal["", "count", "loss", "interval", "dealt labels"] = ""
    """Empty where it is decided."""


def open_ground(figure: estimand.Estimate, value: float) -> Literal["", "count", "loss"]:
    """Return on which ground a figure settles nothing of a value, whatever its interval says; empty for none.

    Effective prompts are too few on either side of the value; further losses only take what lies above it below.
    """
    if figure.support is None or figure.estimate is None:
        return ""
    if figure.support.thin:
        return "count"
    return "loss" if figure.support.crosses(figure.estimate, value) else ""


def deals_disagree(figure: estimand.Estimate, value: float, ends: tuple[float, float]) -> bool:
    """Tell whether a gate is one of no gain whose bounds clear 0, and labels dealt at random do not agree."""
    if value != 0 or figure.no_gain is None or ends[0] <= 0 <= ends[1]:
        return False
    z = figure.no_gain.z or 0.0
    return (z if ends[0] > 0 else -z) <= no_gain.Z_NEEDED


def decide(found: estimand.Estimate, value: float) -> GateDecision | None:
    """Decide whether a figure lies above a value; None where it has no bounds.

    That `FEWEST` prompts have labels is checked by who counts them, see `enough`.
    """
    ends = None if found.estimate is None else found.bounds(2 * ONE_SIDED - 1)
    if ends is not None and value == 0 and found.no_gain is not None:
        ends = found.no_gain.law.at(2 * ONE_SIDED - 1)
    if ends is None:
        return None
    ground = open_ground(found, value)
    if ground == "count":
        return GateDecision("inconclusive", ends, ground)
    if ends[0] <= value <= ends[1]:
        return GateDecision("inconclusive", ends, "interval")
    above = ends[0] > value
    if deals_disagree(found, value, ends):
        return GateDecision("inconclusive", ends, "dealt labels")
    if above and ground == "loss":
        return GateDecision("inconclusive", ends, ground)
    return GateDecision("met" if above else "not met", ends)


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

    Examples
    --------
    >>> from bonwise.stats import laws
    >>> found = estimand.Estimate(0.6, 0.4, 0.8, 0.1, 100, "jackknife", law=laws.Student(0.6, 0.1, 99, (0, 1)))
    >>> round(more_prompts(found, 100, 0.5) or 0)
    176
    """
    decided = decide(found, value)
    if decided is None or found.estimate is None:
        return None
    low, high = ends or decided.ends
    distance = found.estimate - value
    half = found.estimate - low if distance > 0 else high - found.estimate
    if not distance or distance**2 * MOST_TIMES < half**2 * (1 - 1e-9):  # but for rounding
        return None
    ratio = max((half / distance) ** 2, 1.0)
    if found.no_gain is not None and deals_disagree(found, value, decided.ends):
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

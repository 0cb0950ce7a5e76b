"""What picks bring for what they cost, in ratios of means over prompts as in Landesberg (2026), Table 16."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from bonwise.arrays import Floats
from bonwise.stats import catalog, estimand, estimation, jackknife, laws


@dataclass(frozen=True, eq=False)
class Spent:
    """What picks brought and took, prompt by prompt."""

    gain: Floats = field(repr=False)
    """Label of the pick minus the mean label, J - R."""
    room: Floats = field(repr=False)
    """Best label minus the mean label, M - R."""
    answers: Floats | None = field(repr=False)
    tokens: Floats | None = field(repr=False)
    """Answers of a model that were used, and their tokens; None where unknown."""
    no_answers: str = "unknown"
    no_tokens: str = "unknown"
    """Why they are unknown."""

    def cost(self, kind: str) -> Floats | None:
        """Return answers, tokens, or tokens in thousands."""
        if kind == "call":
            return self.answers
        return self.tokens if kind == "token" or self.tokens is None else self.tokens / 1000


_Measure = Callable[[Floats, Floats, Floats, Floats], Floats]
"""Totals of gain, room, cost and prompts to a value; NaN where undefined."""

_MEASURES: dict[str, tuple[str, _Measure]] = {
    "calls_per_prompt": ("call", lambda gain, room, cost, prompts: cost / prompts),  # noqa: ARG005 - one signature
    "tokens_per_prompt": ("token", lambda gain, room, cost, prompts: cost / prompts),  # noqa: ARG005
    "gain_per_call": ("call", lambda gain, room, cost, prompts: catalog.ratio(gain, cost)),  # noqa: ARG005
    "gain_per_1000_tokens": ("1000 tokens", lambda gain, room, cost, prompts: catalog.ratio(gain, cost)),  # noqa: ARG005
    "recovery_per_call": ("call", lambda gain, room, cost, prompts: catalog.ratio(gain * prompts, room * cost)),
    "recovery_per_1000_tokens": (
        "1000 tokens",
        lambda gain, room, cost, prompts: catalog.ratio(gain * prompts, room * cost),
    ),
}

MEASURES = tuple(_MEASURES)


def efficiency(spent: Spent, confidence: float) -> dict[str, estimand.Estimate]:
    """Estimate the `MEASURES` of one set of picks: jackknife intervals; Fieller's for the gain per unit of cost."""
    return {name: _estimate(name, (spent,), confidence) for name in MEASURES}


def efficiency_difference(first: Spent, second: Spent, confidence: float) -> dict[str, estimand.Estimate]:
    """Estimate the differences, first minus second, paired by prompt: both hold the same ones in one order."""
    return {name: _estimate(name, (first, second), confidence) for name in MEASURES}


def _estimate(name: str, sets: Sequence[Spent], confidence: float) -> estimand.Estimate:
    kind, measure = _MEASURES[name]
    n = len(sets[0].gain)
    reason = _undefined(name, kind, sets, confidence)
    if reason:
        return estimand.Estimate.undefined(reason, n)
    value, scatter = _jackknife(measure, [_rows(one, kind) for one in sets])
    limits = (0.0, np.inf) if name.endswith("per_prompt") and len(sets) == 1 else (-np.inf, np.inf)
    law = _fieller(sets[0], kind) if name.startswith("gain") and len(sets) == 1 and n > 1 else None
    if law is not None and law.at(confidence) is None:
        return estimand.Estimate.undefined(estimand.NOT_DISTINGUISHABLE, n)
    return estimation.from_jackknife(
        value, scatter, n, limits, confidence, exact=lambda: laws.Exact(value, n, limits), law=law
    )


def _undefined(name: str, kind: str, sets: Sequence[Spent], confidence: float) -> str:
    """Say why a measure does not exist, empty where it does."""
    for one in sets:
        cost = one.cost(kind)
        if cost is None:
            return one.no_answers if kind == "call" else one.no_tokens
        if not name.endswith("per_prompt") and not cost.any():
            return "no answers of a model were used" if kind == "call" else "no tokens were used"
        if name.startswith("recovery") and _room_may_be_0(one, confidence):
            return estimand.NOT_DISTINGUISHABLE
    return ""


def _room_may_be_0(spent: Spent, confidence: float) -> bool:
    if len(spent.gain) < 2:
        return not spent.room.any()
    return _law(spent.gain, spent.room).at(confidence) is None or spent.room.sum() <= 0


def _rows(spent: Spent, kind: str) -> Floats:
    cost = spent.cost(kind)
    return np.array([spent.gain, spent.room, cost, np.ones(len(spent.gain))])


def _jackknife(measure: _Measure, matrices: Sequence[Floats]) -> tuple[float, jackknife.Scatter]:
    """Return the estimate and how it varies when a prompt is left out, of a difference where there are two."""
    n = matrices[0].shape[1]
    values, left_out = [], []
    for matrix in matrices:
        totals = matrix.sum(axis=1)
        values.append(float(measure(*totals)))
        left_out.append(measure(*(totals[:, None] - matrix)) if n > 1 else np.full(1, np.nan))
    value = values[0] - sum(values[1:])
    replicates = left_out[0] - sum(left_out[1:])
    return value, jackknife.Scatter.without(replicates)


def _fieller(spent: Spent, kind: str) -> laws.Fieller:
    cost = spent.cost(kind)
    return _law(spent.gain, np.zeros(len(spent.gain)) if cost is None else cost)


def _law(numerator: Floats, denominator: Floats) -> laws.Fieller:
    n = len(numerator)
    covariance = np.cov(numerator, denominator, ddof=1) / n
    a, b = float(numerator.mean()), float(denominator.mean())
    df = jackknife.kurtosis_df(numerator - a / b * denominator) if b else n - 1.0
    return laws.Fieller(a, b, float(covariance[0, 0]), float(covariance[0, 1]), float(covariance[1, 1]), df)

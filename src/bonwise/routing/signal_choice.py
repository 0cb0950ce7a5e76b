"""The best of several signals, and an interval for it that counts the choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

import numpy as np
from scipy import special

from bonwise.routing import gain_model
from bonwise.stats.routing import Outcomes, routed_part
from bonwise.stats.sums import Floats

__all__ = ["confidence_of_choice"]

_LEAST_DEALS, _MOST_DEALS = 199, 1999
"""How often the gains are dealt anew; at 95 % confidence 199 deals give the level exactly."""

_MOST_PROMPTS = 2000
"""Prompts, evenly spaced, on which they are: how signals go together takes no more to know."""


def confidence_of_choice(
    signals: Sequence[Floats | Mapping[str, Floats]], outcomes: Outcomes, shares: Sequence[float], confidence: float
) -> float:
    """Return the confidence at which to give the interval of the best signal, so that the choice is counted.

    Where no signal carries anything, gains are exchangeable over prompts. Dealt anew, they say how large the largest
    lift over all signals and `shares` becomes by chance, in standard errors; what is learnt is learnt again from each
    deal. The interval of one signal at the confidence returned has that half-width. `signals` are values of labelled
    prompts, NaN for those sent last, or the features of a learnt signal. The deals are always the same.
    """
    n = len(outcomes.gain)
    some = np.linspace(0, n - 1, min(n, _MOST_PROMPTS)).round().astype(int)
    w, rng = outcomes.relative[some] / outcomes.relative[some].mean(), np.random.default_rng(0)
    deals = min(max(_LEAST_DEALS, ceil(10 / (1 - confidence)) - 1), _MOST_DEALS)
    around = outcomes.gain[some] - np.average(outcomes.gain[some], weights=w)
    gains = np.stack([rng.permutation(around) for _ in range(deals)], axis=1)
    ranked = [
        values[some]
        if isinstance(values, np.ndarray)
        else gain_model.cross_fitted_again({name: feature[some] for name, feature in values.items()}, gains, w)
        for values in signals
    ]
    largest = np.full(deals, -np.inf)
    centred = w[:, None] * (gains - np.average(gains, axis=0, weights=w))
    for share in shares:
        for values in ranked:
            part = routed_part(values, share, w)[:, None] if values.ndim == 1 else _sent(values, w, share)
            moves = centred * (part - share)
            scatter = moves.std(axis=0) / np.sqrt(max(len(some) - 1, 1))
            sizes = np.divide(moves.mean(axis=0), scatter, out=np.zeros(deals), where=scatter > 0)
            largest = np.maximum(largest, sizes)
    place = min(ceil((1 + confidence) / 2 * (deals + 1)), deals)
    edge = float(np.sort(largest)[place - 1])
    return max(confidence, 2 * float(special.ndtr(edge)) - 1)


def _sent(values: Floats, w: Floats, share: float) -> Floats:
    """Return the probability of being sent, for each column of learnt values, which have no ties to speak of."""
    order = np.argsort(np.where(np.isnan(values), np.inf, -values), axis=0, kind="stable")
    before = np.cumsum(w[order], axis=0) - w[order]
    part = np.empty(values.shape)
    np.put_along_axis(part, order, np.clip((share * w.sum() - before) / w[order], 0, 1), axis=0)
    return part

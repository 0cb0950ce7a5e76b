"""Shares of weighted pairs clustered by prompt, and what the order of presentation did to verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from bonwise.arrays import Floats, Ints
from bonwise.flags import TIE_DECIMALS
from bonwise.stats import estimand, estimation, jackknife, laws
from bonwise.stats.confidence import Logit

__all__ = ["Share", "order_differences", "order_effects", "pair_share", "share_difference", "verdict_metrics"]


class Share(NamedTuple):
    """A share of some pairs, each of shape (pairs,)."""

    hit: Floats  # 1, 0, or 1/2 for a tie; anything where it does not count
    counted: Floats  # 1 where the pair counts, 0 where not


def pair_share(share: Share, prompt: Ints, confidence: float, weights: Floats | None = None) -> estimand.Estimate:
    """Estimate a share, clustered by the prompt of each pair; weights are 1 / probability of its being drawn."""
    top, base = _sums(share, prompt, weights)
    n = int(np.count_nonzero(base))
    if not n:
        return estimand.Estimate.undefined("undefined: no such pair", 0)
    top, base = top[base > 0], base[base > 0]
    value = min(max(float(top.sum() / base.sum()), 0.0), 1.0)
    scatter = jackknife.Scatter.without(_ratio(top.sum() - top, base.sum() - base))
    stretch = float(base.max() / base.mean())
    law = Logit(value, scatter.se, n - 1) if 0 < value < 1 else None
    exact = partial(laws.Exact, value, n, (0.0, 1.0), stretch)
    return estimation.from_jackknife(value, scatter, n, (0.0, 1.0), confidence, exact=exact, law=law)


def share_difference(
    first: Share, second: Share, prompt: Ints, confidence: float, weights: Floats | None = None
) -> estimand.Estimate:
    """Estimate the first share minus the second, paired by prompt; the other parameters as in `pair_share`."""
    sides = [_sums(one, prompt, weights) for one in (first, second)]
    n = int(np.count_nonzero(np.minimum(sides[0][1], sides[1][1])))
    if any(not base.any() for _, base in sides):
        return estimand.Estimate.undefined("undefined: no such pair", 0)
    value = float(sides[0][0].sum() / sides[0][1].sum() - sides[1][0].sum() / sides[1][1].sum())
    return _differing(value, [_ratio(top.sum() - top, base.sum() - base) for top, base in sides], n, confidence)


def mean_difference(
    first: Floats, second: Floats, prompt: Ints, confidence: float, weights: Floats | None = None
) -> estimand.Estimate:
    """Estimate the mean of the first values minus that of the second, both in [0, 1], paired by pair."""
    ones = np.ones(len(first))
    return share_difference(Share(first, ones), Share(second, ones), prompt, confidence, weights)


def _differing(value: float, left: Sequence[Floats], n: int, confidence: float) -> estimand.Estimate:
    limits = (-1.0, 1.0)
    exact = partial(laws.Exact, value, n, limits)
    return estimation.from_jackknife(
        value, jackknife.Scatter.without(left[0] - left[1]), n, limits, confidence, exact=exact
    )


def _sums(share: Share, prompt: Ints, weights: Floats | None) -> tuple[Floats, Floats]:
    units, owner = np.unique(prompt, return_inverse=True)
    counted = share.counted if weights is None else share.counted * weights
    hit = np.where(share.counted > 0, share.hit, 0.0)
    top, base = (np.bincount(owner, weights=part, minlength=len(units)) for part in (hit * counted, counted))
    return top.astype(np.float64), base.astype(np.float64)


def _ratio(top: Floats, base: Floats) -> Floats:
    scale = float(base.max(initial=0.0))
    out: Floats = np.divide(top, base, out=np.full(len(top), np.nan), where=base > 1e-9 * max(scale, 1e-300))
    return out


OF_VERDICTS = ("tie_rate", "agreement", "accuracy_decided")


def verdict_metrics(values: Floats, oracle: Floats, prompt: Ints, confidence: float) -> dict[str, estimand.Estimate]:
    """Estimate how verdicts fare against an oracle's by prompt: ``tie_rate``, ``agreement``, decided accuracy."""
    return {name: pair_share(share, prompt, confidence) for name, share in _shares(values, oracle).items()}


def order_differences(
    first: Floats, second: Floats, oracle: Floats, prompt: Ints, confidence: float
) -> dict[str, estimand.Estimate]:
    """Estimate the differences of the metrics of two ways to a verdict on the same pairs, first minus second."""
    left, right = _shares(first, oracle), _shares(second, oracle)
    return {name: share_difference(left[name], right[name], prompt, confidence) for name in OF_VERDICTS}


def order_effects(
    one: Floats, other: Floats, prompt: Ints, confidence: float, weights: Floats | None = None
) -> Mapping[str, estimand.Estimate]:
    """Estimate what order did to what the first earned: ``first_shown_advantage`` and ``flips``."""
    flips = (_sign(one) != _sign(other)).astype(float)
    return {
        "first_shown_advantage": mean_difference(one, other, prompt, confidence, weights),
        "flips": pair_share(Share(flips, np.ones(len(flips))), prompt, confidence, weights),
    }


def _shares(values: Floats, oracle: Floats) -> dict[str, Share]:
    judge, gold = _sign(values), _sign(oracle)
    ones, right = np.ones(len(values)), (1 + judge * gold) / 2
    return {
        "tie_rate": Share((judge == 0).astype(float), ones),
        "agreement": Share(right, (gold != 0).astype(float)),
        "accuracy_decided": Share(right, ((gold != 0) & (judge != 0)).astype(float)),
    }


def _sign(values: Floats) -> Floats:
    return np.sign(np.round(values - 0.5, TIE_DECIMALS))

"""Does a preference rest on a few prompts, and how much do votes that share one widen a standard error?"""

from __future__ import annotations

import numpy as np
from scipy import special

from bonwise.arrays import Floats, Ints
from bonwise.stats import estimand, estimation, jackknife
from bonwise.votes.result import Homogeneity, PairConcentration, PairVariance

_CHUNK_CELLS = 1 << 20


def kept_types(types: int, share: float) -> int:
    """Return how many of m types a retention share keeps, ``ceil(q m)``."""
    return int(np.ceil(round(share * types, 9)))


def kappa(squares: Floats, share: float) -> Floats:
    """Return the concentration of squares (..., types), ``sum_{S_q} d_i^2 / (q sum_i d_i^2)``; NaN if all are 0."""
    top = np.sort(squares, axis=-1)[..., -kept_types(squares.shape[-1], share) :].sum(axis=-1)
    whole = squares.sum(axis=-1)
    found: Floats = np.divide(top, share * whole, out=np.full(np.shape(whole), np.nan), where=whole > 1e-12)
    return found


def mass_fraction(squares: Floats, weights: Floats, share: float) -> Floats:
    """Return the part of squares (..., types) in the largest; equal ones at the border have their mean weight."""
    kept = kept_types(squares.shape[-1], share)
    border = np.sort(squares, axis=-1)[..., -kept, None]
    above, equal = squares > border + 1e-12, np.abs(squares - border) <= 1e-12
    places = kept - above.sum(axis=-1, keepdims=True)
    part = above + equal * places / equal.sum(axis=-1, keepdims=True)
    whole = (weights * squares).sum(axis=-1)
    top = (part * weights * squares).sum(axis=-1)
    found: Floats = np.divide(top, whole, out=np.full(np.shape(whole), np.nan), where=whole > 1e-12)
    return found


def debiased_squares(values: Floats, type_: Ints) -> tuple[Floats, Floats]:
    """Return each type's unbiased squared margin ``(rate - 1/2)^2 - s^2 / n``, and votes; types of one left out."""
    _, owner = np.unique(type_, return_inverse=True)
    n = np.bincount(owner).astype(np.float64)
    rate = np.bincount(owner, weights=values) / n
    scatter = np.bincount(owner, weights=(values - rate[owner]) ** 2)
    several = n > 1
    n, rate, scatter = n[several], rate[several], scatter[several]
    return (rate - 0.5) ** 2 - scatter / (n - 1) / n, n


def signal(values: Floats, type_: Ints, confidence: float = 0.95) -> estimand.Estimate:
    """Estimate the types' mean squared margin, by votes, without the bias of squares; a jackknife over types."""
    squares, n = debiased_squares(values, type_)
    if len(n) < 2:
        return estimand.Estimate.undefined("fewer than two prompts hold two votes", len(n))
    total, whole = float(squares @ n), float(n.sum())
    left_out = (total - squares * n) / (whole - n)
    return estimation.from_jackknife(
        total / whole, jackknife.Scatter.without(left_out), len(n), (-np.inf, 0.25), confidence, exact=None
    )


def homogeneity(sums: Floats, votes: Floats) -> Floats:
    """Return the chi-squared distance of win rates, of `sums` (..., types), from their mean; NaN if votes agree."""
    common = sums.sum(axis=-1, keepdims=True) / votes.sum()
    apart = (votes * (sums / votes - common) ** 2).sum(axis=-1)
    spread = (common * (1 - common))[..., 0]
    found: Floats = np.divide(apart, spread, out=np.full(np.shape(apart), np.nan), where=spread > 1e-12)
    return found


def concentration(
    values: Floats, type_: Ints, *, share: float = 0.2, threshold: float = 1.5, permutations: int = 999, seed: int = 0
) -> PairConcentration | None:
    """Measure how concentrated a preference is, and what chance alone would make of it.

    Of `values`, 1 is for the second model, 0 for the first, 1/2 half a vote each. `type_` is the prompt of each vote
    or its type of prompt; types weigh by their votes. `share` is q, `threshold` what kappa has to exceed, besides
    chance, where screening is recommended; below 19 `permutations` .05 cannot be reached. None where there is one
    type, all votes are alike, or every type is exactly split.
    """
    _, owner = np.unique(type_, return_inverse=True)
    votes = np.bincount(owner).astype(np.float64)
    sums: Floats = np.asarray(np.bincount(owner, weights=values), dtype=np.float64)
    squares = (sums / votes - 0.5) ** 2
    seen = float(kappa(squares, share)), float(homogeneity(sums, votes))
    if len(votes) < 2 or not np.isfinite(seen).all():
        return None
    null = _permuted(values, votes, share, permutations, seed)
    by_chance = _rarely_exceeded(null[0])
    above = bool(seen[0] > threshold), bool(seen[0] > by_chance)
    return PairConcentration(
        kappa=seen[0],
        null_quantile=by_chance,
        p=_as_large(null[0], seen[0]),
        mass=float(mass_fraction(squares, votes, share)),
        mass_null_quantile=_rarely_exceeded(null[1]),
        kept=kept_types(len(votes), share),
        homogeneity=Homogeneity(
            chi2=seen[1],
            df=len(votes) - 1,
            p=float(special.chdtrc(len(votes) - 1, seen[1])),
            p_permuted=_as_large(null[2], seen[1]),
        ),
        permutations=permutations,
        exceeds_threshold=above[0],
        exceeds_chance=above[1],
        recommend_two_stage=all(above),
    )


def _permuted(values: Floats, votes: Floats, share: float, permutations: int, seed: int) -> Floats:
    """Return kappa, mass and chi2 with the votes permuted over the types, shape (3, permutations)."""
    rng = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(votes)[:-1]]).astype(np.int64)
    step = max(1, _CHUNK_CELLS // len(values))
    parts = []
    for at in range(0, permutations, step):
        rows = min(step, permutations - at)
        shuffled = rng.permuted(np.tile(values, (rows, 1)), axis=1)
        sums = np.asarray(np.add.reduceat(shuffled, starts, axis=1), dtype=np.float64)
        squares = (sums / votes - 0.5) ** 2
        # A permutation in which every type is split evenly has no signal to concentrate.
        found = [kappa(squares, share), mass_fraction(squares, votes, share), homogeneity(sums, votes)]
        parts.append(np.nan_to_num(np.array(found), nan=0.0))
    return np.concatenate(parts, axis=1)


def _rarely_exceeded(null: Floats) -> float:
    """Return the order statistic that the data exceed with probability .05 at most under the null."""
    last = int(0.05 * (len(null) + 1) + 1e-9)
    return float(np.sort(null)[-last]) if last else float("inf")


def _as_large(null: Floats, seen: float) -> float:
    return float(((null >= seen - 1e-9).sum() + 1) / (len(null) + 1))


def cluster_ratio(values: Floats, cluster: Ints) -> float:
    """Return the cluster-robust error of a mean over that of independent votes, whose square is the design effect."""
    off = values - values.mean()
    apart = float((off**2).sum())
    if apart <= 1e-12:
        return float("nan")
    _, owner = np.unique(cluster, return_inverse=True)
    together = float((np.bincount(owner, weights=off) ** 2).sum())
    return float(np.sqrt(together / apart))


def variance_split(values: Floats, prompt: Ints) -> PairVariance | None:
    """Split the variance of win rates over prompts: chance within prompts, and differences between them.

    ``total`` is the variance of the win rates of the prompts with two votes or more, divisor m - 1; ``within`` the
    mean of s_q^2 / n_q over these, s_q^2 with divisor n_q - 1, for votes of 0 and 1 ``x_q (1 - x_q) / (n_q - 1)``;
    ``between`` is ``total - within``. All are unbiased, so that ``between`` may fall below 0. The ``within`` of Lee
    (2026), over all prompts with ``x_q (1 - x_q) / n_q``, is too small by the factor (n_q - 1) / n_q, and 0 for a
    single vote. `values` lie in [0, 1]. None where fewer than two prompts hold two votes: clusters of one vote cannot
    tell the two parts apart.
    """
    _, owner = np.unique(prompt, return_inverse=True)
    count = np.bincount(owner).astype(np.float64)
    rate = np.bincount(owner, weights=values) / count
    several = count > 1
    if several.sum() < 2:
        return None
    total, within = _unbiased_split(values, owner)
    published = float(rate.var(ddof=1)), float((rate * (1 - rate) / count).mean())
    return PairVariance(
        total=total,
        within=within,
        between=total - within,
        prompts=int(several.sum()),
        alone=int((~several).sum()),
        published_total=published[0],
        published_within=published[1],
        published_between=published[0] - published[1],
    )


def _unbiased_split(values: Floats, owner: Ints) -> tuple[float, float]:
    """Return the variance of the rates of prompts with two votes or more, and the part of it within prompts."""
    count = np.bincount(owner).astype(np.float64)
    rate = np.bincount(owner, weights=values) / count
    several = count > 1
    scatter = np.bincount(owner, weights=(values - rate[owner]) ** 2)[several]
    n = count[several]
    return float(rate[several].var(ddof=1)), float((scatter / (n - 1) / n).mean())


def likely_rates(values: Floats, prompt: Ints) -> tuple[Floats, Floats] | None:
    """Return win rates shrunk to vary as prompts differ, for planning, where two have two votes; else None."""
    _, owner = np.unique(prompt, return_inverse=True)
    count = np.bincount(owner).astype(np.float64)
    several = count > 1
    if several.sum() < 2:
        return None
    total, within = _unbiased_split(values, owner)
    rate: Floats = (np.bincount(owner, weights=values) / count)[several]
    part = np.sqrt(max(total - within, 0.0) / total) if total > 0 else 0.0
    rates: Floats = np.clip(rate.mean() + part * (rate - rate.mean()), 0.0, 1.0)
    return rates, count[several]

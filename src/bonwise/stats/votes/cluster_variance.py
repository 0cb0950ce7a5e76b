"""Votes that share a prompt: how much they widen a standard error, and how win rates vary between prompts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bonwise.stats.sums import Floats

__all__ = ["VarianceSplit", "cluster_ratio", "likely_rates", "variance_split"]

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class VarianceSplit:
    """Variance of the win rates of prompts, split into chance within prompts and differences between them."""

    total: float
    """Variance of the win rates of the prompts with two votes or more, divisor m - 1."""
    within: float
    """Mean of s_q^2 / n_q over these prompts, s_q^2 with divisor n_q - 1: unbiased. For votes of 0 and 1 it is x_q (1
    - x_q) / (n_q - 1).
    """
    between: float
    """``total - within``: unbiased, so it may fall below 0 where prompts do not differ."""
    prompts: int
    """Behind the three figures."""
    alone: int
    """Prompts with a single vote, left out: they say nothing of the variance within."""
    published_total: float
    """The split as Lee (2026) prints it: all prompts, and x_q (1 - x_q) / n_q, which is too small by the factor (n_q
    - 1) / n_q and 0 for a prompt with a single vote.
    """
    published_within: float
    """The split as Lee (2026) prints it: all prompts, and x_q (1 - x_q) / n_q, which is too small by the factor (n_q
    - 1) / n_q and 0 for a prompt with a single vote.
    """
    published_between: float
    """The split as Lee (2026) prints it: all prompts, and x_q (1 - x_q) / n_q, which is too small by the factor (n_q
    - 1) / n_q and 0 for a prompt with a single vote.
    """


def cluster_ratio(values: Floats, cluster: _Ints) -> float:
    """Return the cluster-robust standard error of a mean over that of independent votes.

    ``sqrt(sum_g (sum_{i in g} e_i)^2) / sqrt(sum_i e_i^2)`` with ``e_i = y_i - mean(y)``. Its square is the design
    effect: by so much more votes are needed. It is 1 where no two votes share a cluster, and NaN where all votes
    are equal.

    Parameters
    ----------
    values : ndarray of float64, shape (votes,)
    cluster : ndarray of int64, shape (votes,)

    Examples
    --------
    >>> round(cluster_ratio(np.array([1.0, 1, 0, 0]), np.array([0, 0, 1, 1])), 3)
    1.414
    """
    off = values - values.mean()
    apart = float((off**2).sum())
    if apart <= 1e-12:
        return float("nan")
    _, owner = np.unique(cluster, return_inverse=True)
    together = float((np.bincount(owner, weights=off) ** 2).sum())
    return float(np.sqrt(together / apart))


def variance_split(values: Floats, prompt: _Ints) -> VarianceSplit | None:
    """Split the variance of win rates over prompts.

    Parameters
    ----------
    values : ndarray of float64, shape (votes,)
        In [0, 1].
    prompt : ndarray of int64, shape (votes,)

    Returns
    -------
    VarianceSplit or None
        None where fewer than two prompts hold two votes: from clusters of one vote the two parts cannot be told
        apart.

    Examples
    --------
    >>> found = variance_split(np.array([1.0, 1, 0, 1]), np.array([0, 0, 1, 1]))
    >>> found.total, found.within, found.between
    (0.125, 0.125, 0.0)
    """
    _, owner = np.unique(prompt, return_inverse=True)
    count = np.bincount(owner).astype(np.float64)
    rate = np.bincount(owner, weights=values) / count
    several = count > 1
    if several.sum() < 2:
        return None
    scatter = np.bincount(owner, weights=(values - rate[owner]) ** 2)[several]
    n = count[several]
    total, within = float(rate[several].var(ddof=1)), float((scatter / (n - 1) / n).mean())
    published = float(rate.var(ddof=1)), float((rate * (1 - rate) / count).mean())
    return VarianceSplit(
        total,
        within,
        total - within,
        int(several.sum()),
        int((~several).sum()),
        *published,
        published[0] - published[1],
    )


def likely_rates(values: Floats, prompt: _Ints) -> tuple[Floats, Floats] | None:
    """Return win rates that vary between prompts as much as prompts differ, chance within prompts taken out.

    ``x + (x_q - x) sqrt(max(between, 0) / total)`` with the mean x of the rates x_q: the rates as seen vary more than
    those behind them. A supposition for planning, no estimate of the rate of any one prompt.

    Parameters
    ----------
    values : ndarray of float64, shape (votes,)
        In [0, 1].
    prompt : ndarray of int64, shape (votes,)

    Returns
    -------
    rates, votes : ndarray of float64, shape (prompts with two votes or more,)
        None where fewer than two prompts hold two votes.

    Examples
    --------
    >>> found = likely_rates(np.array([1.0, 1, 1, 0, 0, 0]), np.array([0, 0, 1, 1, 2, 2]))
    >>> found[0].round(3).tolist(), found[1].tolist()
    ([0.908, 0.5, 0.092], [2.0, 2.0, 2.0])
    """
    split = variance_split(values, prompt)
    if split is None:
        return None
    _, owner = np.unique(prompt, return_inverse=True)
    count = np.bincount(owner).astype(np.float64)
    several = count > 1
    rate: Floats = (np.bincount(owner, weights=values) / count)[several]
    part = np.sqrt(max(split.between, 0.0) / split.total) if split.total > 0 else 0.0
    rates: Floats = np.clip(rate.mean() + part * (rate - rate.mean()), 0.0, 1.0)
    return rates, count[several]

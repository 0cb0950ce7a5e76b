"""Best of two: pairs as pools of two candidates, their sums added up by prompt."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bonwise.stats.estimand import Estimand
from bonwise.stats.label_strategy.borda import Pairs
from bonwise.stats.sums import Floats, prompt_sums

__all__ = ["OF_PAIRS", "gap_groups", "of_pairs", "pair_scores", "pair_sums"]

_Ints = npt.NDArray[np.int64]

OF_PAIRS = ("tie_rate", "sign_agreement", "effective_agreement_decided", "effective_agreement", "gain", "recovery")
"""What a matched-pair audit reports of each way of asking (the columns of Table 4, and the gain behind recovery)."""


def of_pairs(estimands: tuple[Estimand, ...]) -> list[Estimand]:
    """Return the estimands of `OF_PAIRS`, in their order."""
    by_name = {e.name: e for e in estimands}
    return [by_name[name] for name in OF_PAIRS]


def pair_scores(values: Floats) -> Floats:
    """Return the scores of pools of two from what the first of the two earned.

    Examples
    --------
    >>> pair_scores(np.array([1., .25])).tolist()
    [1.0, 0.0, 0.25, 0.75]
    """
    return np.column_stack([values, 1 - values]).ravel()


def pair_sums(scores: Floats, labels: Floats, pairs: Pairs, weights: Floats | None = None) -> Floats:
    """Compute the sums of pairs as pools of two, added up by prompt.

    Parameters
    ----------
    scores, labels : ndarray of float64, shape (2 * pairs,)
        Of both candidates of each pair, `i` before `j`.
    pairs : Pairs
    weights : ndarray of float64, shape (pairs,), optional
        1 over the probability with which the pair was drawn; made to average 1.

    Returns
    -------
    ndarray of float64, shape (len(Sums._fields), prompts with a pair)
        ``prompts`` counts pairs: ``recovery`` of these sums is that of best of two.
    """
    found = prompt_sums(scores, labels, np.full(len(pairs.prompt), 2))
    if weights is not None:
        found = found * (weights / weights.mean())
    units, owner = np.unique(pairs.prompt, return_inverse=True)
    return np.array([np.bincount(owner, weights=row, minlength=len(units)) for row in found])


def gap_groups(gaps: Floats, groups: int) -> tuple[_Ints, Floats]:
    """Cut gaps into groups at their quantiles; equal gaps stay together.

    Parameters
    ----------
    gaps : ndarray of float64, shape (pairs,)
        Above 0.
    groups : int
        At most this many.

    Returns
    -------
    ndarray of int64, shape (pairs,)
        The group of each, from 0.
    ndarray of float64, shape (groups + 1,)
        The ends; a gap at an upper end belongs below it.

    Examples
    --------
    >>> found, ends = gap_groups(np.array([.1, .2, .2, .3, .4, .5]), 3)
    >>> found.tolist(), ends.tolist()
    ([0, 0, 0, 1, 2, 2], [0.1, 0.2, 0.3, 0.5])
    """
    cuts = np.quantile(gaps, np.arange(1, groups) / groups, method="inverted_cdf")
    cuts = np.unique(cuts[cuts < gaps.max()])
    group = np.searchsorted(cuts, gaps)
    return group, np.concatenate([[gaps.min()], cuts, [gaps.max()]])

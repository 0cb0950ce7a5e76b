"""Agreement on binary or pairwise verdicts, split between and within contexts.

The laws of total covariance and total variance of Landesberg (2026), equations 5 and 6: J and O say
whether judge and oracle prefer the first candidate of a pair, X is the context the pair belongs to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.stats.jackknife import Jackknife, from_left_out
from bonwise.stats.sums import Floats

__all__ = ["PREFERENCE_METRICS", "preference_jackknife"]

_Ints = npt.NDArray[np.int64]

PREFERENCE_METRICS = (
    "agreement",
    "judge_tie_rate",
    "phi",
    "phi_within",
    "covariance",
    "covariance_between",
    "covariance_within",
    "covariance_between_share",
    "oracle_variance",
    "oracle_variance_between",
    "oracle_variance_within",
    "oracle_between_share",
)


class _PairSums(NamedTuple):
    """Sums over pairs, and the three sums over contexts ``x`` of (sum_x u)(sum_x v) / n_x."""

    pairs: Floats
    J: Floats
    O: Floats
    JJ: Floats
    OO: Floats
    JO: Floats
    agree: Floats
    tied: Floats
    between_JO: Floats
    between_OO: Floats
    between_JJ: Floats


def preference_jackknife(J: Floats, O: Floats, prompt: _Ints, context: _Ints) -> Jackknife:
    """Estimate the decomposition and its standard errors, one prompt left out at a time.

    Parameters
    ----------
    J, O : ndarray of float64, shape (pairs,)
        1 where the first candidate is preferred, 0 where the second, 1/2 for a tie (for J: also two
        presentation orders that contradict each other).
    prompt : ndarray of int64, shape (pairs,)
        The unit that is left out; pairs of one prompt belong to one context.
    context : ndarray of int64, shape (pairs,)

    Notes
    -----
    Leaving a prompt out changes the sums of its own context alone, so all n leave-outs together
    cost as much as a few passes over the pairs.
    """
    units, owner = np.unique(prompt, return_inverse=True)
    home = np.zeros(len(units), dtype=np.int64)
    home[owner] = context
    columns = (np.ones(len(J)), J, O, J * J, O * O, J * O, 1 - np.abs(J - O), (J == 0.5).astype(float))
    own = np.array([np.bincount(owner, weights=column) for column in columns])
    if len(units) < 2:
        alone = _metrics(_PairSums(*own[:, 0], *_terms(own)[:, 0]))
        return from_left_out(alone, alone[:, None])
    by_context = np.array([np.bincount(home, weights=row) for row in own])
    terms = _terms(by_context)
    everything = np.concatenate([own.sum(axis=1), terms.sum(axis=1)])
    rest = by_context[:, home] - own
    left = np.concatenate([everything[:8, None] - own, everything[8:, None] - terms[:, home] + _terms(rest)])
    estimate, left_out = _metrics(_PairSums(*everything)), _metrics(_PairSums(*left))
    return from_left_out(estimate, left_out)


def _terms(sums: Floats) -> Floats:
    """Return (sum_x u)(sum_x v) / n_x for JO, OO and JJ; an empty context adds nothing."""
    count, J, O = sums[:3]
    products = np.array([J * O, O * O, J * J])
    shares: Floats = np.divide(products, count, out=np.zeros_like(products), where=count > 0.5)
    return shares


def _metrics(t: _PairSums) -> Floats:
    n = t.pairs
    cov, cov_between = t.JO / n - t.J * t.O / n**2, t.between_JO / n - t.J * t.O / n**2
    var_O, var_O_between = t.OO / n - t.O**2 / n**2, t.between_OO / n - t.O**2 / n**2
    var_J, var_J_between = t.JJ / n - t.J**2 / n**2, t.between_JJ / n - t.J**2 / n**2
    cov_within, var_O_within = cov - cov_between, var_O - var_O_between
    return np.array(
        [
            t.agree / n,
            t.tied / n,
            _over(cov, _reach(var_J, var_O)),
            _over(cov_within, _reach(var_J - var_J_between, var_O_within)),
            cov,
            cov_between,
            cov_within,
            _over(cov_between, cov),
            var_O,
            var_O_between,
            var_O_within,
            _over(var_O_between, var_O),
        ]
    )


def _reach(var_J: Floats, var_O: Floats) -> Floats:
    """Return the most that a covariance can be; 0 where a variance is nothing but what rounding left."""
    least = np.minimum(var_J, var_O)
    reach: Floats = np.where(least > 1e-12, np.sqrt(np.maximum(var_J * var_O, 0.0)), 0.0)
    return reach


def _over(numerator: Floats, denominator: Floats) -> Floats:
    usable = np.abs(denominator) > 1e-12
    quotient: Floats = np.divide(numerator, denominator, out=np.full(np.shape(numerator), np.nan), where=usable)
    return quotient

"""Agreement on binary or pairwise verdicts, split between and within contexts.

The laws of total covariance and total variance of Landesberg (2026), equations 5 and 6: J and O say
whether judge and oracle prefer the first candidate of a pair, X is the context the pair belongs to.
The means of contexts with few pairs scatter by chance; the divisors here keep that out of the part between.
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
    """Sums over pairs, then over contexts.

    Of contexts ``x`` with n_x pairs and S_uv the sum over them of (u - mean_x u)(v - mean_x v): ``inside_uv`` is the
    sum of S_uv, ``spread_uv`` that of S_uv n_x / (n_x - 1) over contexts of two pairs or more, ``several`` that of
    their n_x.
    """

    pairs: Floats
    J: Floats
    O: Floats
    JJ: Floats
    OO: Floats
    JO: Floats
    agree: Floats
    tied: Floats
    inside_JO: Floats
    inside_OO: Floats
    inside_JJ: Floats
    spread_JO: Floats
    spread_OO: Floats
    several: Floats


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
    With S_x the sum of products of deviations in context x, ``within = sum n_x S_x / (n_x - 1) / sum n_x`` over the
    contexts of two pairs or more; a context of one pair is lent that. The total adds to the products about the
    overall means what estimating those costs, ``sum (n_x / N)^2 S_x / ((n_x - 1) n_x)``; between is the total minus
    within.
    Contexts are taken as given, and pairs as drawn one by one within them.

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
    """Return what each context adds to the sums over contexts; an empty context adds nothing."""
    count, J, O, JJ, OO, JO = sums[:6]
    n = np.maximum(count, 1.0)
    inside = np.array([JO - J * O / n, OO - O * O / n, JJ - J * J / n])
    several = np.where(count > 1.5, count, 0.0)
    freed: Floats = np.divide(several, count - 1, out=np.zeros_like(several), where=several > 0)
    return np.concatenate([inside, inside[:2] * freed, several[None]])


def _metrics(t: _PairSums) -> Floats:
    products = t.JO - t.J * t.O / t.pairs
    squares_O, squares_J = t.OO - t.O**2 / t.pairs, t.JJ - t.J**2 / t.pairs
    cov, var_O = _parts(t, products, t.spread_JO), _parts(t, squares_O, t.spread_OO)
    return np.array(
        [
            t.agree / t.pairs,
            t.tied / t.pairs,
            _over(products / t.pairs, _reach(squares_J / t.pairs, squares_O / t.pairs)),
            _over(t.inside_JO / t.pairs, _reach(t.inside_JJ / t.pairs, t.inside_OO / t.pairs)),
            *cov,
            _over(cov[1], cov[0]),
            *var_O,
            _over(var_O[1], var_O[0]),
        ]
    )


def _parts(t: _PairSums, about_the_mean: Floats, spread: Floats) -> tuple[Floats, Floats, Floats]:
    """Return a covariance and its parts between and within contexts, undefined where no context has two pairs."""
    total = about_the_mean / t.pairs + spread / t.pairs**2
    within = _over(spread, t.several)
    return total, total - within, within


def _reach(var_J: Floats, var_O: Floats) -> Floats:
    """Return the most that a covariance can be; 0 where a variance is nothing but what rounding left."""
    least = np.minimum(var_J, var_O)
    reach: Floats = np.where(least > 1e-12, np.sqrt(np.maximum(var_J * var_O, 0.0)), 0.0)
    return reach


def _over(numerator: Floats, denominator: Floats) -> Floats:
    usable = np.abs(denominator) > 1e-12
    quotient: Floats = np.divide(numerator, denominator, out=np.full(np.shape(numerator), np.nan), where=usable)
    return quotient

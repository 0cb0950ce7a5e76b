"""What the interval of an estimate would be on another number of prompts, if the estimate stayed as it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bonwise.stats.end_laws import EffectiveShare, RecoveryNearOne
from bonwise.stats.estimate import NOT_DISTINGUISHABLE, Estimate
from bonwise.stats.kurtosis import FEWEST_DF
from bonwise.stats.laws import Exact, Fieller, Law, Percentile, Student

__all__ = ["distance", "projected"]


def projected(found: Estimate, ratio: float, confidence: float) -> Estimate | None:
    """Return an estimate with the interval that `ratio` times as many prompts would give it.

    Variances and covariances of means shrink as ``1 / ratio``. Degrees of freedom grow as the units do:
    ``df' = (df + 1) ratio - 1``, not below 3 and not above the prompts less 1. Replicates of a bootstrap move towards
    the estimate by ``1 / sqrt(ratio)``.

    Parameters
    ----------
    found : Estimate
    ratio : float
        Prompts to come over prompts there are, above 0. Labelled and unlabelled prompts, and clusters, are taken to
        grow alike.
    confidence : float
        Of the two-sided interval.

    Returns
    -------
    Estimate or None
        None where nothing is known of the estimate beside itself, so that nothing can be projected.

    Examples
    --------
    >>> now = Estimate.under(Student(0.2, 0.05, 99, (-1, 1)), 0.95, estimate=0.2, se=0.05, n=100)
    >>> later = projected(now, 4, 0.95)
    >>> later.n, later.se, round(later.low, 3), round(later.high, 3)
    (400, 0.025, 0.151, 0.249)
    """
    if found.estimate is None or found.law is None:
        return None
    n = max(round(found.n * ratio), 1)
    law = found.law if ratio == 1 else _scaled(found.law, found.estimate, ratio, n)
    if law is None:
        return None
    se = np.nan if found.se is None else found.se / np.sqrt(ratio)
    if law.at(confidence) is None:
        return Estimate.undefined(NOT_DISTINGUISHABLE, n).with_method(found.method)
    made = Estimate.under(law, confidence, estimate=found.estimate, se=float(se), n=n)
    return made.with_method(found.method)


def _scaled(law: Law, estimate: float, ratio: float, n: int) -> Law | None:
    """Return a law on other prompts; None for one that says nothing of how it depends on their number."""
    if isinstance(law, Fieller):
        caa, cab, cbb = (one / ratio for one in (law.caa, law.cab, law.cbb))
        return replace(law, caa=caa, cab=cab, cbb=cbb, df=_df(law.df, ratio, n))
    if isinstance(law, Student | EffectiveShare):
        return replace(law, se=float(law.se / np.sqrt(ratio)), df=_df(law.df, ratio, n))
    if isinstance(law, RecoveryNearOne):
        inside, lost = _scaled(law.ratio, estimate, ratio, n), _scaled(law.lost, estimate, ratio, n)
        return RecoveryNearOne(inside, lost) if inside is not None and isinstance(lost, EffectiveShare) else None
    if isinstance(law, Exact):
        return replace(law, n=max(round(law.n * ratio), 1))
    if isinstance(law, Percentile):
        return replace(law, replicates=estimate + (law.replicates - estimate) / np.sqrt(ratio))
    return None


def _df(df: float, ratio: float, n: int) -> float:
    return min(max((df + 1) * ratio - 1, FEWEST_DF), max(n - 1.0, 1.0))


def distance(found: Estimate, value: float) -> float | None:
    """Return by how many standard errors an estimate lies above a value; None where there is no standard error.

    Of a ratio of means ``a / b`` that is ``(a - value b) / sqrt(caa - 2 value cab + value^2 cbb)``, on which
    Fieller's interval rests; of other estimates ``(estimate - value) / se``.

    Examples
    --------
    >>> distance(Estimate(0.5, 0.4, 0.6, 0.05, 100, "jackknife"), 0.4)
    2.0
    """
    if found.estimate is None:
        return None
    law = found.law.ratio if isinstance(found.law, RecoveryNearOne) else found.law
    apart, se = found.estimate - value, found.se
    if isinstance(law, Fieller):
        apart = law.a - value * law.b
        se = float(np.sqrt(max(law.caa - 2 * value * law.cab + value**2 * law.cbb, 0.0)))
    return None if se is None or se <= 0 else float(np.round(apart / se, 12))

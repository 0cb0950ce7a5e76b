"""The largest bias of a calibrated candidate mean, from the cells that are labelled."""

from __future__ import annotations

import numpy as np

from bonwise.stats.cells.table import CellTable, Ints
from bonwise.stats.estimate import Estimate
from bonwise.stats.kurtosis import kurtosis_df
from bonwise.stats.largest_bias import LargestOf, recurring_names
from bonwise.stats.level_bias import FOLDS, calibrated
from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = ["cell_level_bias"]


def cell_level_bias(table: CellTable, rates: Floats | None, folds: Ints, confidence: float) -> Estimate:
    """Estimate ``max_c |mean f(S_c) - mean O_c|`` over candidate names c that recur.

    f is an isotonic fit of labels on scores over the labelled cells of the other folds; cells weigh 1 / pi.

    Parameters
    ----------
    table : CellTable
    rates : ndarray of float64, shape (cells,), or None
    folds : ndarray of int64, shape (prompts,)
    confidence : float
    """
    some = table.labelled
    pools = len(np.unique(table.owners[some]))
    if table.names is None or not (recurring := recurring_names(table.names, table.prompts)).size:
        return Estimate.undefined("undefined: candidate names do not recur across prompts", pools)
    names, units = table.names[some], table.units[table.owners[some]]
    if len(np.unique(units)) < 2 * FOLDS:
        return Estimate.undefined(
            f"undefined: {FOLDS} folds need {2 * FOLDS} prompts or clusters with a label", pools
        )
    w = np.ones(len(names)) if rates is None else 1 / rates[some]
    labels = table.labels[some]
    residuals = calibrated(np.round(table.scores[some], TIE_DECIMALS), labels, w, folds[table.owners[some]]) - labels
    found = [_mean(residuals[names == c], w[names == c], units[names == c]) for c in recurring.tolist()]
    if any(one is None for one in found):
        return Estimate.undefined("undefined: a candidate that recurs has labels on fewer than two prompts", pools)
    biases, errors, df = np.array([one for one in found if one is not None]).T
    worst = int(np.abs(biases).argmax())
    size = float(abs(biases[worst]))
    if errors.max() <= 1e-12:
        return Estimate(size, None, None, 0.0, pools, None, reason="no interval: all prompts are off by the same")
    law = LargestOf(biases, errors, df)
    return Estimate.under(law, confidence, estimate=size, se=float(errors[worst]), n=pools)


def _mean(residuals: Floats, w: Floats, units: Ints) -> tuple[float, float, float] | None:
    """Return a weighted mean, its standard error over units, and the degrees of freedom."""
    known, codes = np.unique(units, return_inverse=True)
    if len(known) < 2:
        return None
    mean = float(w @ residuals / w.sum())
    pull = np.bincount(codes, weights=w * (residuals - mean)) / w.sum()
    se = float(np.sqrt(len(known) / (len(known) - 1) * np.sum(pull**2)))
    return mean, se, kurtosis_df(pull)

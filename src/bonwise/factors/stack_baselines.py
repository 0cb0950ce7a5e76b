"""What a stack is compared with: rules that need no labels, and a model of the labels, each as scores of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bonwise.stats.estimate import Estimate
from bonwise.stats.estimation import IntervalRule, difference, estimate
from bonwise.stats.ordinal.regression import fit_ordinal
from bonwise.stats.stacking.figures import COMPARED, METRICS
from bonwise.stats.stacking.folds import Deal
from bonwise.stats.stacking.procedure import StackPools
from bonwise.stats.sums import TIE_DECIMALS, Floats, prompt_sums

__all__ = ["BASELINES", "Baseline", "baselines"]

_MOST_CLASSES, _CLASSES = 10, 5


@dataclass(frozen=True, eq=False)
class Baseline:
    """Picks by another rule."""

    metrics: Mapping[str, Estimate] = field(repr=False)
    """Gain and recovery, out of fold where the rule is fitted."""
    difference: Mapping[str, Estimate] = field(repr=False)
    """Of gain and recovery: the stack less this rule, paired by prompt."""


def mean_of_z_scores(pools: StackPools, _: Deal) -> Floats:
    """Return the mean of the judges' scores, centred within prompts and on one scale, gaps filled."""
    found: Floats = pools.features[:, list(pools.own)].mean(axis=1)
    return found


def majority_of_picks(pools: StackPools, _: Deal) -> Floats:
    """Return the share of judges that pick each candidate; a judge with several at the top votes for each in part."""
    starts = np.cumsum(pools.sizes) - pools.sizes
    known = np.where(np.isnan(pools.judges), -np.inf, np.round(pools.judges, TIE_DECIMALS))
    top = known == np.repeat(np.maximum.reduceat(known, starts, axis=0), pools.sizes, axis=0)
    votes = top / np.repeat(np.add.reduceat(top, starts, axis=0, dtype=np.float64), pools.sizes, axis=0)
    found: Floats = votes.mean(axis=1)
    return found


def ordinal_logit(pools: StackPools, deal: Deal) -> Floats:
    """Return what a proportional odds model of the labels on all scores says, out of fold.

    Labels with many values are put into five classes of equal size. Scores are not centred within prompts: the model
    is one of how good an answer is, whatever its prompt.
    """
    scores, labels = _over_all_cells(pools.judges), _classes(pools.labels)
    count = int(labels.max()) + 1
    folds = np.repeat(deal.folds[0][deal.parts], pools.sizes)
    out = np.zeros(len(labels))
    for fold in np.unique(folds).tolist():
        held = folds == fold
        out[held] = scores[held] @ fit_ordinal(scores[~held], labels[~held], count, ridge=1.0).coefficients
    return out


def _over_all_cells(judges: Floats) -> Floats:
    """Return the scores of each judge less their mean, divided by their standard deviation, 0 where there is none."""
    spread = np.nanstd(judges, axis=0)
    scaled = (judges - np.nanmean(judges, axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.asarray(np.nan_to_num(scaled))


def _classes(labels: Floats) -> npt.NDArray[np.int64]:
    values, codes = np.unique(np.round(labels, TIE_DECIMALS), return_inverse=True)
    if len(values) <= _MOST_CLASSES:
        return codes.reshape(-1).astype(np.int64)
    ends = np.unique(np.quantile(labels, np.arange(1, _CLASSES) / _CLASSES))
    return np.unique(np.searchsorted(ends, labels, side="left"), return_inverse=True)[1].reshape(-1).astype(np.int64)


BASELINES: Mapping[str, Callable[[StackPools, Deal], Floats]] = {
    "mean of z-scores": mean_of_z_scores,
    "majority of picks": majority_of_picks,
    "ordinal logit": ordinal_logit,
}
"""Rules by name."""


def baselines(pools: StackPools, deal: Deal, whole: Floats, rule: IntervalRule) -> dict[str, Baseline]:
    """Compare the stack with every rule, on the same prompts.

    Parameters
    ----------
    pools : StackPools
    deal : Deal
        Prompts that a fitted rule holds out together.
    whole : ndarray of float64, shape (len(Sums._fields), prompts)
        Sums of the stack, out of fold.
    rule : IntervalRule
    """
    compared = [one for one in METRICS if one.name in COMPARED]
    found = {}
    for name, scores_of in BASELINES.items():
        sums = prompt_sums(scores_of(pools, deal), pools.labels, pools.sizes)
        found[name] = Baseline(estimate(compared, sums, rule), difference(compared, whole, sums, rule))
    return found

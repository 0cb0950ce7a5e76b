"""What a calibration does to the picks, and how often it orders tied pairs as the labels do."""

from __future__ import annotations

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.stats import estimand, estimation, jackknife, top_of_scores
from bonwise.stats.sums import compared
from bonwise.studies.calibration.result import PickCounts

__all__ = ["one_tie_break", "pick_changes", "rising_groups", "tie_break_agreement", "tie_break_sums"]


def pick_changes(raw: Floats, calibrated: Floats, sizes: Ints) -> tuple[PickCounts, PickCounts]:
    """Count the changes on all prompts, and on those untied at the raw top; cells are grouped by prompt, no NaN."""
    starts = np.cumsum(sizes) - sizes
    before, after = top_of_scores.at_top(raw, sizes), top_of_scores.at_top(calibrated, sizes)
    were, are, left = (np.add.reduceat(top.astype(np.int64), starts) for top in (before, after, before & after))
    return _counts(were, are, left, np.ones(len(sizes), dtype=bool)), _counts(were, are, left, were == 1)


def _counts(were: Ints, are: Ints, left: Ints, some: Mask) -> PickCounts:
    newly_tied = (were == 1) & (left == 1) & (are > 1)
    prompts = {
        "prompts": some,
        "picks_changed": some & ((left == 0) | newly_tied),
        "picks_newly_tied": some & newly_tied,
        "ties_broken": some & (left > 0) & (left < were),
        "top_kept": some & (left == were) & (are == were),
    }
    return PickCounts(**{name: int(np.count_nonzero(marked)) for name, marked in prompts.items()})


def rising_groups(raw: Floats, calibrated: Floats, groups: Ints) -> int:
    """Count the groups, each of one map, in which the calibrated value never falls as the raw one rises."""
    return sum(_rises(raw[groups == group], calibrated[groups == group]) for group in np.unique(groups))


def _rises(raw: Floats, calibrated: Floats) -> bool:
    order = np.lexsort((calibrated, raw))
    steps, same = np.diff(calibrated[order]), np.diff(raw[order]) == 0
    return not ((steps < 0).any() or (steps[same] > 0).any())


def tie_break_agreement(
    raw: Floats, calibrated: Floats, labels: Floats, sizes: Ints, *, confidence: float
) -> estimand.Estimate:
    """Estimate the agreement on pairs tied raw, told apart calibrated, of unequal labels; 0.5 by guessing."""
    sums = tie_break_sums(raw, calibrated, labels, sizes)
    agree, pairs = sums
    rest = pairs.sum() - pairs
    left_out = np.divide(agree.sum() - agree, rest, out=np.full(len(pairs), np.nan), where=rest > 0)
    return one_tie_break(sums, float(np.sqrt((len(pairs) - 1) * left_out.var())), confidence)


def one_tie_break(sums: Floats, se: float, confidence: float, *, df: int | None = None) -> estimand.Estimate:
    """Give the agreement its interval, or the reason for none; `se` is NaN where no such pair is left."""
    agree, pairs = sums
    n = int(np.count_nonzero(pairs))
    if not n:
        return estimand.Estimate.undefined("undefined: needs a tie that is broken where labels differ", n)
    value, limits = float(agree.sum() / pairs.sum()), (0.0, 1.0)
    scatter = jackknife.Scatter(se, n - 1.0 if df is None else min(df, n - 1.0))
    return estimation.from_jackknife(value, scatter, n, limits, confidence, exact=None)


def tie_break_sums(raw: Floats, calibrated: Floats, labels: Floats, sizes: Ints) -> Floats:
    """Count raw ties told apart where labels differ: those going the labels' way, and all; (2, prompts)."""
    raw, calibrated, labels = (compared(values) for values in (raw, calibrated, labels))
    owner = np.repeat(np.arange(len(sizes)), sizes)
    agree, pairs = np.zeros(len(sizes)), np.zeros(len(sizes))
    for apart in range(1, int(sizes.max())):
        tied = (owner[apart:] == owner[:-apart]) & (raw[apart:] == raw[:-apart])
        at = np.flatnonzero(tied)
        signs = np.sign(calibrated[at + apart] - calibrated[at]) * np.sign(labels[at + apart] - labels[at])
        pairs += np.bincount(owner[at], weights=signs != 0, minlength=len(sizes))
        agree += np.bincount(owner[at], weights=signs > 0, minlength=len(sizes))
    return np.stack([agree, pairs])

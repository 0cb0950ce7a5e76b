"""What a calibration changes, with intervals that hold what learning the maps again would change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bonwise.arrays import Floats, Ints, Mask
from bonwise.progress import counting
from bonwise.stats import catalog, estimand, estimation, jackknife, laws, top_of_scores
from bonwise.stats.estimand import NOT_DISTINGUISHABLE, Estimand, Estimate
from bonwise.stats.sums import Sums, compared
from bonwise.studies.calibration.result import CalibratedMethod, PickCounts


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


GROUPS = 20


SumsOf = Callable[[Mask], Floats]
"""Takes a mask of the prompts kept; returns per-prompt sums of shape (sums, prompts kept), all learned on them."""


@dataclass(frozen=True, eq=False)
class Refits:
    """Sums learned on all prompts, and their totals when each group was left out."""

    whole: Floats
    rests: Floats
    """Totals over the prompts that remain, learned on them alone."""

    @property
    def groups(self) -> int:
        """Return the number of groups."""
        return int(self.rests.shape[1])

    @property
    def totals(self) -> Floats:
        """Return the totals over all prompts, shape (sums,)."""
        totals: Floats = self.whole.sum(axis=1)
        return totals

    def rows(self, some: slice) -> Refits:
        """Return some of the sums."""
        return Refits(self.whole[some], self.rests[some])


def deal_groups(folds: Ints, seed: int) -> Ints:
    """Deal 4 prompts or more to 20 groups, or half as many as prompts, none with a whole fold of two or more."""
    n = len(folds)
    order = np.lexsort((np.random.default_rng([seed, n]).permutation(n), folds))
    groups = np.empty(n, dtype=np.int64)
    groups[order] = np.arange(n) % min(GROUPS, n // 2)
    return groups


def refits(sums_of: SumsOf, groups: Ints) -> Refits:
    """Learn the sums on all prompts, and again without each group; `groups` is that of each prompt, from 0."""
    whole = sums_of(np.ones(len(groups), dtype=bool))
    rests = []
    with counting("refit", int(groups.max()) + 1) as step:
        for group in range(int(groups.max()) + 1):
            rests.append(sums_of(groups != group).sum(axis=1))
            step()
    return Refits(whole, np.column_stack(rests))


def group_error(values: Floats) -> Floats:
    """Return the root of ``(G - 1) / G * sum_g (theta_(-g) - mean theta_(-g))^2``; NaN where one value is."""
    error: Floats = np.sqrt((values.shape[-1] - 1) * values.var(axis=-1))
    return error


def relative_change(
    estimands: Sequence[Estimand], after: Floats, before: Floats, rule: estimation.IntervalRule
) -> dict[str, Estimate]:
    """Estimate ``after / before - 1`` paired by prompt, at t(n - 1); a reason where before may be 0 or below."""
    found, alone = (
        jackknife.jackknife(ratios_less_1(estimands), [after, before]),
        estimation.estimate(estimands, before, rule),
    )
    rows = zip(estimands, *found[:3], strict=True)
    return {
        e.name: one_relative(float(value), jackknife.Scatter(float(se), float(df)), alone[e.name], e, rule)
        for e, value, se, df in rows
    }


def ratios_less_1(estimands: Sequence[Estimand]) -> Callable[[Sums, Sums], Floats]:
    """Return the function of two judges' totals that gives ``first / second - 1`` of each metric."""

    def functional(after: Sums, before: Sums) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.stack([np.asarray(e.of(after) / e.of(before) - 1) for e in estimands])

    return functional


def _no_ratio(before: Estimate) -> str:
    """Return why a change is not told as a share of what was before; empty where it can be."""
    if before.estimate is None or not (before.estimate < 0 or estimation.may_be_0(before)):
        return ""
    wrong = "the raw figure is below 0, so a percent of it would have the wrong sign"
    return NOT_DISTINGUISHABLE if estimation.may_be_0(before) else wrong


def one_relative(
    value: float, scatter: jackknife.Scatter, before: Estimate, e: Estimand, rule: estimation.IntervalRule
) -> Estimate:
    """Give a relative change, NaN where undefined, its interval or a reason; `before` is the metric before."""
    if reason := _no_ratio(before):
        return Estimate.undefined(reason, before.n)
    if not np.isfinite(value):
        return Estimate.undefined(f"undefined: needs {e.needs}", before.n)
    return estimation.from_jackknife(value, scatter, before.n, (-np.inf, np.inf), rule.confidence, exact=None)


class JudgeChange(NamedTuple):
    """One judge before and after one way of calibrating, and the records of that; fixed maps have no refits."""

    after: Refits
    before: Refits
    own: CalibratedMethod


def over_judges(
    estimands: Sequence[Estimand],
    relative: Sequence[Estimand],
    judges: Sequence[JudgeChange],
    rule: estimation.IntervalRule,
) -> dict[str, dict[str, Estimate]]:
    """Estimate changes over judges on the same prompts, left out together; no value where one judge has none."""

    def means(of: Callable[[Floats, Floats], Floats], some: Sequence[Estimand], key: str) -> dict[str, Estimate]:
        by_metric = {}
        for e, value, scatter in zip(some, *_mean_over(of, some, judges), strict=True):
            each = [getattr(judge.own, key)[e.name] for judge in judges]
            n = min(record.n for record in each)
            why = next((record.reason for record in each if record.estimate is None), None)
            mean = estimation.from_jackknife(value, scatter, n, (-np.inf, np.inf), rule.confidence, exact=None)
            by_metric[e.name] = mean if why is None else Estimate.undefined(why, n)
        return by_metric

    raw = means(lambda _, before: before.mean(axis=0), relative, "metrics")
    of_mean = means(lambda after, before: after.sum(axis=0) / before.sum(axis=0) - 1, relative, "metrics")
    wild = {name: Estimate.undefined(why, own.n) for name, own in raw.items() if (why := _no_ratio(own))}
    return {
        "changes": means(lambda after, before: (after - before).mean(axis=0), estimands, "changes"),
        "percent_of_mean": {**of_mean, **wild},
        "mean_of_percents": means(lambda after, before: (after / before - 1).mean(axis=0), relative, "relative"),
    }


def _mean_over(
    of: Callable[[Floats, Floats], Floats], estimands: Sequence[Estimand], judges: Sequence[JudgeChange]
) -> tuple[list[float], list[jackknife.Scatter]]:
    """Return values and scatter of what `of` makes of metrics after and before, each (judges, metrics, ...)."""

    def functional(*sums: Sums) -> Floats:
        values = np.stack([np.stack([np.asarray(e.of(totals)) for e in estimands]) for totals in sums])
        with np.errstate(divide="ignore", invalid="ignore"):
            return of(values[: len(judges)], values[len(judges) :])

    every = [*(judge.after for judge in judges), *(judge.before for judge in judges)]
    values, errors, dfs, _ = jackknife.jackknife(functional, [side.whole for side in every])
    if groups := judges[0].after.groups:
        errors = group_error(functional(*(Sums(*side.rests) for side in every)))
        dfs = np.full(len(values), groups - 1.0)
    return values.tolist(), [jackknife.Scatter(*both) for both in zip(errors.tolist(), dfs.tolist(), strict=True)]


_SAME = 1e-12  # as in estimation: an error below this share of the values is rounding


def refitted_estimate(
    estimands: Sequence[Estimand], found: Refits, rule: estimation.IntervalRule
) -> dict[str, Estimate]:
    """Estimate metrics by the delete-a-group jackknife, Student's t with G - 1 df whatever the rule's kind."""
    estimates = _estimates(estimands, [found], rule)
    return estimation.without_wild(estimands, estimates, lambda below: [estimates[below.name]])


def refitted_difference(
    estimands: Sequence[Estimand],
    first: Refits,
    second: Refits,
    alone: Sequence[Mapping[str, Estimate]],
    rule: estimation.IntervalRule,
) -> dict[str, Estimate]:
    """Estimate metric differences, first minus second, paired by prompt and refit; `alone` has those of each."""
    estimates = _estimates(estimands, [first, second], rule)
    return estimation.without_wild(estimands, estimates, lambda below: [one[below.name] for one in alone])


def refitted_relative(
    estimands: Sequence[Estimand],
    after: Refits,
    before: Refits,
    alone: Mapping[str, Estimate],
    rule: estimation.IntervalRule,
) -> dict[str, Estimate]:
    """Estimate ``after / before - 1``, as `relative_change` does, by refits; `alone` holds the metrics before."""
    functional = ratios_less_1(estimands)
    values = functional(Sums(*after.totals), Sums(*before.totals))
    rests = functional(Sums(*after.rests), Sums(*before.rests))
    return {
        e.name: one_relative(float(value), jackknife.Scatter(float(se), after.groups - 1.0), alone[e.name], e, rule)
        for e, value, se in zip(estimands, values, group_error(rests), strict=True)
    }


def refitted_tie_breaks(found: Refits, confidence: float) -> Estimate:
    """Estimate what `tie_break_agreement` does, from refits of the two sums of `tie_break_sums`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rests = found.rests[0] / found.rests[1]
    return one_tie_break(found.whole, float(group_error(rests)), confidence, df=found.groups - 1)


def _estimates(
    estimands: Sequence[Estimand], found: Sequence[Refits], rule: estimation.IntervalRule
) -> dict[str, Estimate]:
    functional = catalog.functional_of(estimands)
    sample = estimation.JudgeSums([one.whole for one in found], rule)
    values, alike, *_ = jackknife.jackknife(functional, sample.matrices)
    errors = group_error(functional(*(Sums(*one.rests) for one in found)))
    rows = zip(estimands, values, errors, alike, strict=True)
    df = found[0].groups - 1
    return {e.name: _one(e, sample, float(value), float(se), float(same), df) for e, value, se, same in rows}


def _one(e: Estimand, sample: estimation.JudgeSums, value: float, se: float, of_prompts: float, df: int) -> Estimate:
    """Return an estimate; the bound for prompts that are all alike asks that they be, not groups of them."""
    n, tiny = sample.count(e), _SAME * max(1.0, abs(value))
    if np.isfinite(value):
        reason = None
        if not np.isfinite(se):
            reason = "the metric loses its meaning when some group of prompts is left out"
        elif se <= tiny < of_prompts:
            reason = "leaving out any group of prompts changes nothing"
        if reason is not None:
            return Estimate(value, None, None, None, n, None, reason=f"no interval: {reason}")
    # Where fewer prompts than groups contribute, the groups vary no more freely than those prompts.
    law = laws.Student(value, se, min(df, n - 1), sample.limits(e)) if e.parts is not None else None
    return estimation.one_estimate(e, sample, value, jackknife.Scatter(se, df, df), law)

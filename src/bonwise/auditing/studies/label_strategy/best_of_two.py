"""The matched-pair audit: scores and verdicts on the same pairs, and what verdicts decide where scores tie."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bonwise.auditing.same_picks import differing_by_nothing, pick_alike
from bonwise.auditing.settings import Settings
from bonwise.auditing.studies.label_strategy.matched_verdicts import MatchedVerdicts
from bonwise.documents.estimate import EstimateRecord, estimate_records
from bonwise.documents.label_strategy.pairs import (
    GapGroup,
    MatchedPairs,
    OrderEffects,
    PairWay,
    WayMetrics,
    WhereTied,
)
from bonwise.documents.record import given
from bonwise.stats.catalog import ESTIMANDS
from bonwise.stats.estimate import under_method
from bonwise.stats.estimation import difference, estimate
from bonwise.stats.label_strategy.matched import OF_PAIRS, gap_groups, of_pairs, pair_scores, pair_sums
from bonwise.stats.label_strategy.order_effect import order_effects
from bonwise.stats.label_strategy.shares import Share, pair_share
from bonwise.stats.sums import TIE_DECIMALS, Floats

__all__ = ["best_of_two"]


def best_of_two(matched: MatchedVerdicts, settings: Settings, groups: int, *, method: str) -> MatchedPairs:
    """Audit the pairs that were judged both ways, as pools of two.

    Parameters
    ----------
    matched : MatchedVerdicts
        At least one pair.
    settings : Settings
    groups : int
        Of oracle gaps.
    method : str
        ``complete`` or ``labelled_only``; ``weighted`` where pairs were drawn.

    Returns
    -------
    MatchedPairs
        The metrics of each way, and their differences to scores; what the order of presentation did; what verdicts
        decide where scores tie.
    """
    pairs, panel = matched.pairs, matched.panel
    method = method if matched.weights is None else "weighted"
    labels = _of_both(matched, panel.labels)
    scores: dict[PairWay, Floats] = {
        "pointwise": _of_both(matched, panel.scores),
        "pairwise": pair_scores(matched.both),
    }
    if matched.orders == 2:
        scores["pairwise_one_order"] = pair_scores(matched.one)
    wanted, rule = of_pairs(ESTIMANDS), settings.rule(panel.labels)
    sums = {name: pair_sums(one, labels, pairs, matched.weights) for name, one in scores.items()}
    ways: dict[PairWay, WayMetrics] = {}
    for name, mine in sums.items():
        metrics = estimate_records(under_method(estimate(wanted, mine, rule), method))
        if name == "pointwise":
            ways[name] = WayMetrics(metrics=metrics)
            continue
        less = difference(wanted, mine, sums["pointwise"], rule)
        if pick_alike(scores[name], scores["pointwise"], np.full(len(pairs.prompt), 2)):
            # Of two candidates the pick is the whole order.
            less = differing_by_nothing(less, OF_PAIRS)
        ways[name] = WayMetrics(metrics=metrics, minus_pointwise=estimate_records(under_method(less, method)))
    return MatchedPairs(
        prompts=len(np.unique(pairs.prompt)),
        pairs=len(pairs.prompt),
        oracle_decided_pairs=int(np.count_nonzero(_gaps(matched))),
        orders=matched.orders,
        weighted=matched.weights is not None,
        ways=ways,
        **given(order=_order(matched, settings.confidence, method) if matched.orders == 2 else None),
        where_pointwise_tied=_where_tied(matched, settings.confidence, groups, method),
    )


def _order(matched: MatchedVerdicts, confidence: float, method: str) -> OrderEffects:
    shown = matched.shown_first, matched.shown_second
    effects = order_effects(*shown, matched.pairs.prompt, confidence, matched.weights)
    return OrderEffects(**estimate_records(under_method(effects, method)))


def _where_tied(matched: MatchedVerdicts, confidence: float, groups: int, method: str) -> WhereTied:
    """Say what verdicts decide on the pairs that scores tie and the oracle does not, and how well."""
    scores, pairs, gap = matched.panel.scores, matched.pairs, _gaps(matched)
    tied = (np.round(scores[pairs.i] - scores[pairs.j], TIE_DECIMALS) == 0) & (gap != 0)
    verdict = np.sign(np.round(matched.both - 0.5, TIE_DECIMALS))
    decided = tied & (verdict != 0)
    right = (verdict == np.sign(gap)).astype(np.float64)

    def share(hit: Floats, counted: np.ndarray) -> EstimateRecord:
        one = Share(hit, counted.astype(np.float64))
        return EstimateRecord.of(pair_share(one, pairs.prompt, confidence, matched.weights).with_method(method))

    by_gap = []
    for low, high, mine in _gap_groups(gap, tied, groups):
        by_gap.append(
            GapGroup(
                low=low,
                high=high,
                pairs=int(mine.sum()),
                decided_pairs=int((decided & mine).sum()),
                accuracy=share(right, decided & mine),
            )
        )
    return WhereTied(
        pairs=int(tied.sum()),
        decided_pairs=int(decided.sum()),
        decided=share((verdict != 0).astype(np.float64), tied),
        accuracy=share(right, decided),
        by_gap=by_gap,
    )


def _gap_groups(gap: Floats, tied: np.ndarray, groups: int) -> Iterator[tuple[float, float, np.ndarray]]:
    """Yield the ends of each group of gaps, and its pairs."""
    if not tied.any():
        return
    group, ends = gap_groups(np.abs(gap[tied]), groups)
    where = np.full(len(gap), -1)
    where[tied] = group
    for at in range(len(ends) - 1):
        yield float(ends[at]), float(ends[at + 1]), where == at


def _gaps(matched: MatchedVerdicts) -> Floats:
    """Return by how much the oracle puts the first candidate of each pair above the second."""
    labels, pairs = matched.panel.labels, matched.pairs
    gaps: Floats = np.round(labels[pairs.i] - labels[pairs.j], TIE_DECIMALS)
    return gaps


def _of_both(matched: MatchedVerdicts, values: Floats) -> Floats:
    return np.column_stack([values[matched.pairs.i], values[matched.pairs.j]]).ravel()
